//! Verification of JSON-RPC responses: id, error, tool error, and expectations of the load.
//!
//! A response that equals an earlier verified one in all bytes except its id needs no parsing: the earlier one contained its
//! id once, as the value of `id`, so the same bytes with another id have the same meaning.

use std::{borrow::Cow, sync::Arc};

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::request::ID_DIGITS;
use crate::bench::{
    CallFailure,
    connect::{INPUT_REQUIRED, TOOL_ERROR},
    expectation::ResultExpectation,
};

/// Error kind of a message that is not valid JSON-RPC.
pub(super) const INVALID_MESSAGE: &str = "protocol-violation";

/// One message of a server.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// A response to the request with this id.
    Response {
        /// The id.
        id: u64,
        /// Whether the result is as expected.
        outcome: Result<(), CallFailure>,
    },
    /// A request of the server, which expects a response.
    Request {
        /// Its id, as JSON.
        id: String,
        /// Its method.
        method: String,
    },
    /// A notification.
    Notification,
    /// Not a message.
    Invalid(CallFailure),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ResultHead<'a> {
    #[serde(rename = "isError", default)]
    is_error: bool,
    #[serde(rename = "resultType", borrow)]
    result_type: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ErrorHead<'a> {
    code: i64,
    #[serde(borrow)]
    message: Cow<'a, str>,
}

/// Reads messages and verifies results.
#[derive(Debug, Clone)]
pub(super) struct Verifier {
    expected: Arc<ResultExpectation>,
    /// The bytes around the id of the last response that was verified.
    known: Option<(Vec<u8>, Vec<u8>)>,
}

impl Verifier {
    pub(super) fn new(expected: Arc<ResultExpectation>) -> Self {
        Self { expected, known: None }
    }

    /// Reads one message.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Message {
        if let Some(id) = self.known_id(bytes) {
            return Message::Response { id, outcome: Ok(()) };
        }
        let envelope: Envelope<'_> = match serde_json::from_slice(bytes) {
            Ok(envelope) => envelope,
            Err(cause) => {
                let text = format!("the response is not a JSON-RPC message: {cause}");
                return Message::Invalid(CallFailure::new(INVALID_MESSAGE, text).with_frame(bytes));
            }
        };
        if let Some(method) = envelope.method {
            return match envelope.id {
                Some(id) => Message::Request { id: id.get().to_owned(), method: method.into_owned() },
                None => Message::Notification,
            };
        }
        let Some(id) = envelope.id.and_then(|id| id.get().parse().ok()) else {
            let failure = match envelope.error {
                Some(error) => rpc_error(error),
                None => CallFailure::new(INVALID_MESSAGE, "the response has another id"),
            };
            return Message::Invalid(failure.with_frame(bytes));
        };
        let outcome = match (envelope.jsonrpc.as_deref(), envelope.result, envelope.error) {
            (Some("2.0"), Some(result), None) => self.verify(result.get()),
            (Some("2.0"), None, Some(error)) => Err(rpc_error(error)),
            (Some("2.0"), _, _) => Err(CallFailure::new(INVALID_MESSAGE, "neither or both of `result` and `error`")),
            _ => Err(CallFailure::new(INVALID_MESSAGE, "`jsonrpc` is not \"2.0\"")),
        };
        let outcome = outcome.map_err(|failure| failure.with_frame(bytes));
        if outcome.is_ok() {
            self.remember(bytes, id);
        }
        Message::Response { id, outcome }
    }

    fn known_id(&self, bytes: &[u8]) -> Option<u64> {
        let (before, after) = self.known.as_ref()?;
        if bytes.len() != before.len() + ID_DIGITS + after.len()
            || !bytes.starts_with(before)
            || !bytes.ends_with(after)
        {
            return None;
        }
        let digits = &bytes[before.len()..before.len() + ID_DIGITS];
        if digits[0] == b'0' {
            return None;
        }
        digits.iter().try_fold(0u64, |id, digit| digit.is_ascii_digit().then(|| id * 10 + u64::from(digit - b'0')))
    }

    fn remember(&mut self, bytes: &[u8], id: u64) {
        let digits = id.to_string();
        let mut found = memmem::find_iter(bytes, digits.as_bytes());
        self.known = match (found.next(), found.next()) {
            (Some(at), None) if digits.len() == ID_DIGITS => {
                Some((bytes[..at].to_vec(), bytes[at + ID_DIGITS..].to_vec()))
            }
            _ => None,
        };
    }

    fn verify(&self, result: &str) -> Result<(), CallFailure> {
        let head: ResultHead<'_> = serde_json::from_str(result)
            .map_err(|cause| CallFailure::new("malformed-result", format!("the result is malformed: {cause}")))?;
        if head.is_error {
            return Err(CallFailure::new(TOOL_ERROR, "the result has `isError`"));
        }
        match head.result_type.as_deref() {
            None | Some("complete") => self.expected.check(result),
            Some(other) => Err(CallFailure::new(INPUT_REQUIRED, format!("the result has the type `{other}`"))),
        }
    }
}

fn rpc_error(error: &RawValue) -> CallFailure {
    match serde_json::from_str::<ErrorHead<'_>>(error.get()) {
        Ok(ErrorHead { code, message }) => CallFailure::new("rpc-error", format!("error {code}: {message}")),
        Err(_) => CallFailure::new(INVALID_MESSAGE, "the error has no code or no message"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verifier(expected: ResultExpectation) -> Verifier {
        Verifier::new(Arc::new(expected))
    }

    fn outcome(verifier: &mut Verifier, text: &str) -> Result<u64, String> {
        match verifier.read(text.as_bytes()) {
            Message::Response { id, outcome } => outcome.map(|()| id).map_err(|failure| failure.kind.into_owned()),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn errors_of_every_level_fail() {
        let mut verifier = verifier(ResultExpectation::default());
        for (text, kind) in [
            (r#"{"jsonrpc":"2.0","id":1000000001,"error":{"code":-32602,"message":"no"}}"#, "rpc-error"),
            (r#"{"jsonrpc":"2.0","id":1000000001,"result":{"content":[],"isError":true}}"#, TOOL_ERROR),
            (r#"{"jsonrpc":"2.0","id":1000000001,"result":{"resultType":"input_required"}}"#, INPUT_REQUIRED),
            (r#"{"jsonrpc":"2.0","id":1000000001,"result":[]}"#, "malformed-result"),
            (r#"{"jsonrpc":"2.0","id":1000000001}"#, INVALID_MESSAGE),
            (r#"{"jsonrpc":"1.0","id":1000000001,"result":{}}"#, INVALID_MESSAGE),
        ] {
            assert_eq!(outcome(&mut verifier, text), Err(kind.to_owned()), "{text}");
        }
        assert!(matches!(verifier.read(b"{"), Message::Invalid(_)));
        assert!(matches!(verifier.read(br#"{"jsonrpc":"2.0","method":"notifications/x"}"#), Message::Notification));
        let request = Message::Request { id: "\"a\"".to_owned(), method: "ping".to_owned() };
        assert_eq!(verifier.read(br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#), request);
    }

    #[test]
    fn the_shortcut_reads_the_id_and_accepts_nothing_else() {
        let mut verifier = verifier(ResultExpectation::default());
        let text = |id: &str, word: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{word}"}}]}}}}"#)
        };
        assert_eq!(outcome(&mut verifier, &text("1000000001", "a")), Ok(1_000_000_001));
        assert!(verifier.known.is_some());
        assert_eq!(outcome(&mut verifier, &text("1000000002", "a")), Ok(1_000_000_002));
        // Bytes that differ are parsed.
        assert_eq!(outcome(&mut verifier, &text("1000000003", "b")), Ok(1_000_000_003));
        assert_eq!(verifier.known_id(text("0000000003", "b").as_bytes()), None);
        assert_eq!(verifier.known_id(text("10000000x3", "b").as_bytes()), None);
        let error = r#"{"jsonrpc":"2.0","id":1000000004,"error":{"code":1,"message":"no"}}"#;
        assert_eq!(outcome(&mut verifier, error), Err("rpc-error".to_owned()));
    }

    #[test]
    fn a_response_that_repeats_its_id_is_parsed_each_time() {
        let mut verifier = verifier(ResultExpectation::default());
        let text = r#"{"jsonrpc":"2.0","id":1000000001,"result":{"content":[],"n":1000000001}}"#;
        assert_eq!(outcome(&mut verifier, text), Ok(1_000_000_001));
        assert!(verifier.known.is_none());
    }
}

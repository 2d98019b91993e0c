//! Verification of JSON-RPC responses: id, error, tool error, and expectations of the load.
//!
//! A response that equals an earlier verified one in all bytes except its id needs no parsing: the earlier one contained its
//! id once, as the value of `id`, so the same bytes with another id have the same meaning.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::bench::{
    CallFailure,
    connect::{INPUT_REQUIRED, MALFORMED_RESULT, TOOL_ERROR},
    expectation::ResultExpectation,
    iteration::Iterations,
    template::ID_DIGITS,
};
use crate::model::ListKind;

/// Error kind of a message that is not valid JSON-RPC.
pub(super) const INVALID_MESSAGE: &str = "protocol-violation";

/// One message of a server.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// A response to the request with this id.
    Response {
        /// The id.
        id: u64,
        /// Whether the result is as expected, and the cursor of a further page.
        outcome: Result<Option<String>, CallFailure>,
    },
    /// A request of the server, which expects a response.
    Request {
        /// Its id, as JSON.
        id: String,
        /// Its method.
        method: String,
    },
    /// A notification.
    Notification {
        /// The token of the request whose progress it reports.
        progress_of: Option<u64>,
    },
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
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ProgressParams {
    #[serde(rename = "progressToken")]
    token: u64,
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
    operations: Vec<ResultVerifier>,
}

/// Verifies the results of one operation.
#[derive(Debug, Clone)]
struct ResultVerifier {
    expected: Arc<ResultExpectation>,
    list: Option<ListKind>,
    /// The bytes around the id of the last response that was verified, unless a page followed it.
    known: Option<(Vec<u8>, Vec<u8>)>,
}

impl Verifier {
    pub(super) fn new(iterations: &Iterations) -> Self {
        let operations = iterations.operations().iter().map(|operation| ResultVerifier {
            expected: Arc::clone(&operation.expectation),
            list: operation.list(),
            known: None,
        });
        Self { operations: operations.collect() }
    }

    /// Reads one message. `operation_of` has the operation of each open request by its id; results of others are not
    /// verified.
    pub(super) fn read(&mut self, bytes: &[u8], operation_of: impl Fn(u64) -> Option<usize>) -> Message {
        for (number, operation) in self.operations.iter().enumerate() {
            if let Some(id) = operation.known_id(bytes)
                && operation_of(id) == Some(number)
            {
                return Message::Response { id, outcome: Ok(None) };
            }
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
                None => Message::Notification { progress_of: progress_token(&method, envelope.params) },
            };
        }
        let Some(id) = envelope.id.and_then(|id| id.get().parse().ok()) else {
            let failure = match envelope.error {
                Some(error) => rpc_error(error),
                None => CallFailure::new(INVALID_MESSAGE, "the response has another id"),
            };
            return Message::Invalid(failure.with_frame(bytes));
        };
        let mut operation = operation_of(id).map(|number| &mut self.operations[number]);
        let outcome = match (envelope.jsonrpc.as_deref(), envelope.result, envelope.error) {
            (Some("2.0"), Some(result), None) => {
                operation.as_ref().map_or(Ok(None), |operation| operation.verify(result.get()))
            }
            (Some("2.0"), None, Some(error)) => Err(rpc_error(error)),
            (Some("2.0"), _, _) => Err(CallFailure::new(INVALID_MESSAGE, "neither or both of `result` and `error`")),
            _ => Err(CallFailure::new(INVALID_MESSAGE, "`jsonrpc` is not \"2.0\"")),
        };
        let outcome = outcome.map_err(|failure| failure.with_frame(bytes));
        if let (Ok(None), Some(operation)) = (&outcome, &mut operation) {
            operation.remember(bytes, id);
        }
        Message::Response { id, outcome }
    }
}

impl ResultVerifier {
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

    /// Returns the cursor of a further page.
    fn verify(&self, result: &str) -> Result<Option<String>, CallFailure> {
        let malformed = |text: String| CallFailure::new(MALFORMED_RESULT, text);
        let head: ResultHead<'_> =
            serde_json::from_str(result).map_err(|cause| malformed(format!("the result is malformed: {cause}")))?;
        if head.is_error {
            return Err(CallFailure::new(TOOL_ERROR, "the result has `isError`"));
        }
        if let Some(other) = head.result_type.as_deref().filter(|kind| *kind != "complete") {
            return Err(CallFailure::new(INPUT_REQUIRED, format!("the result has the type `{other}`")));
        }
        if let Some(list) = self.list {
            let members: HashMap<&str, &RawValue> =
                serde_json::from_str(result).map_err(|cause| malformed(format!("the result is malformed: {cause}")))?;
            if !members.get(list.field()).is_some_and(|items| items.get().starts_with('[')) {
                return Err(malformed(format!("the result has no array `{}`", list.field())));
            }
            let cursor = members.get("nextCursor").map(|cursor| serde_json::from_str(cursor.get())).transpose();
            return cursor
                .map(Option::flatten)
                .map_err(|cause| malformed(format!("`nextCursor` is malformed: {cause}")));
        }
        self.expected.check(result).map(|()| None)
    }
}

/// The token of a notification about progress. Other tokens than those of the load are not numbers, or unknown ones.
fn progress_token(method: &str, params: Option<&RawValue>) -> Option<u64> {
    let params = params.filter(|_| method == "notifications/progress")?;
    serde_json::from_str::<ProgressParams>(params.get()).ok().map(|params| params.token)
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

    fn verifier() -> Verifier {
        let operation = |list| ResultVerifier { expected: Arc::new(ResultExpectation::default()), list, known: None };
        Verifier { operations: vec![operation(None), operation(Some(ListKind::Tools))] }
    }

    fn read(verifier: &mut Verifier, text: &str) -> Message {
        verifier.read(text.as_bytes(), |_| Some(0))
    }

    fn outcome(verifier: &mut Verifier, text: &str) -> Result<u64, String> {
        match read(verifier, text) {
            Message::Response { id, outcome } => outcome.map(|_| id).map_err(|failure| failure.kind.into_owned()),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn errors_of_every_level_fail() {
        let mut verifier = verifier();
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
        assert!(matches!(read(&mut verifier, "{"), Message::Invalid(_)));
        assert!(matches!(
            read(&mut verifier, r#"{"jsonrpc":"2.0","method":"notifications/x"}"#),
            Message::Notification { progress_of: None }
        ));
        let progress =
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#;
        assert_eq!(read(&mut verifier, progress), Message::Notification { progress_of: Some(7) });
        let other = progress.replace(":7,", ":\"a\",");
        assert_eq!(read(&mut verifier, &other), Message::Notification { progress_of: None });
        let request = Message::Request { id: "\"a\"".to_owned(), method: "ping".to_owned() };
        assert_eq!(read(&mut verifier, r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#), request);
    }

    #[test]
    fn the_shortcut_reads_the_id_and_accepts_nothing_else() {
        let mut verifier = verifier();
        let text = |id: &str, word: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{word}"}}]}}}}"#)
        };
        assert_eq!(outcome(&mut verifier, &text("1000000001", "a")), Ok(1_000_000_001));
        assert!(verifier.operations[0].known.is_some());
        assert_eq!(outcome(&mut verifier, &text("1000000002", "a")), Ok(1_000_000_002));
        // Bytes that differ are parsed.
        assert_eq!(outcome(&mut verifier, &text("1000000003", "b")), Ok(1_000_000_003));
        assert_eq!(verifier.operations[0].known_id(text("0000000003", "b").as_bytes()), None);
        assert_eq!(verifier.operations[0].known_id(text("10000000x3", "b").as_bytes()), None);
        let error = r#"{"jsonrpc":"2.0","id":1000000004,"error":{"code":1,"message":"no"}}"#;
        assert_eq!(outcome(&mut verifier, error), Err("rpc-error".to_owned()));
    }

    #[test]
    fn a_response_that_repeats_its_id_is_parsed_each_time() {
        let mut verifier = verifier();
        let text = r#"{"jsonrpc":"2.0","id":1000000001,"result":{"content":[],"n":1000000001}}"#;
        assert_eq!(outcome(&mut verifier, text), Ok(1_000_000_001));
        assert!(verifier.operations[0].known.is_none());
    }

    #[test]
    fn a_list_has_its_array_and_pages() {
        let mut verifier = verifier();
        for (result, expected) in [
            (r#"{"tools":[]}"#, Ok(None)),
            (r#"{"tools":[],"nextCursor":null}"#, Ok(None)),
            (r#"{"tools":[],"nextCursor":"a\"b"}"#, Ok(Some("a\"b"))),
            (r#"{"tools":{}}"#, Err("the result has no array `tools`")),
            (r#"{"prompts":[]}"#, Err("the result has no array `tools`")),
            (r#"{"tools":[],"nextCursor":2}"#, Err("`nextCursor` is malformed")),
        ] {
            // The second time some are known.
            for id in [1_000_000_001_u64, 1_000_000_002] {
                let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                let Message::Response { outcome, .. } = verifier.read(text.as_bytes(), |_| Some(1)) else { panic!() };
                match (outcome, &expected) {
                    (Ok(cursor), Ok(wanted)) => assert_eq!(cursor.as_deref(), *wanted, "{text}"),
                    (Err(failure), Err(start)) => assert!(failure.text.starts_with(start), "{failure:?}"),
                    (outcome, _) => panic!("{text}: {outcome:?}"),
                }
            }
        }
    }

    #[test]
    fn a_result_of_another_operation_is_verified_as_such() {
        let mut verifier = verifier();
        let text = r#"{"jsonrpc":"2.0","id":1000000001,"result":{"content":[]}}"#;
        assert_eq!(outcome(&mut verifier, text), Ok(1_000_000_001));
        let same = text.replace("1000000001", "1000000002");
        let Message::Response { outcome, .. } = verifier.read(same.as_bytes(), |_| Some(1)) else { panic!() };
        assert_eq!(outcome.unwrap_err().kind, "malformed-result");
    }
}

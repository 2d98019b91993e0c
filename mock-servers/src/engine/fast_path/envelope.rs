//! Envelopes of simple calls. Clients repeat the bytes around the id and the arguments in call after call. The envelope
//! of the last call is stored, and if the next call has the same one, only the id and the arguments are parsed.

use super::call::{self, SimpleCall};

/// Parses simple calls, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Envelope(Option<KnownEnvelope>);

/// The bytes around the two values of a fully parsed call, and its other values.
#[derive(Debug)]
struct KnownEnvelope {
    before: Vec<u8>,
    between: Vec<u8>,
    after: Vec<u8>,
    id_comes_first: bool,
    name: String,
    version: Option<String>,
    has_capabilities: bool,
}

impl Envelope {
    /// Reads a message; `None` if it is not a simple call.
    pub(crate) fn read<'a>(&'a mut self, bytes: &'a [u8]) -> Option<SimpleCall<'a>> {
        if let Some((id, arguments)) = self.0.as_ref().and_then(|known| known.values(bytes)) {
            let known = self.0.as_ref()?;
            return Some(SimpleCall {
                id,
                name: &known.name,
                arguments: Some(call::arguments(arguments)?),
                version: known.version.as_deref(),
                has_capabilities: known.has_capabilities,
            });
        }
        let (call, arguments) = SimpleCall::with_arguments(bytes)?;
        self.0 = arguments.and_then(|arguments| KnownEnvelope::new(bytes, &call, arguments));
        Some(call)
    }
}

impl KnownEnvelope {
    fn new(bytes: &[u8], call: &SimpleCall<'_>, arguments: &str) -> Option<Self> {
        // Both are borrowed from these bytes, so their addresses give the position.
        let place =
            |part: &str| (part.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize).map(|at| (at, part.len()));
        let (id, arguments) = (place(call.id)?, place(arguments)?);
        let id_comes_first = id < arguments;
        let ((first, first_length), (second, second_length)) =
            if id_comes_first { (id, arguments) } else { (arguments, id) };
        Some(Self {
            before: bytes.get(..first)?.into(),
            between: bytes.get(first + first_length..second)?.into(),
            after: bytes.get(second + second_length..)?.into(),
            id_comes_first,
            name: call.name.to_owned(),
            version: call.version.map(str::to_owned),
            has_capabilities: call.has_capabilities,
        })
    }

    /// The id and the arguments of a message with the same envelope and a natural number as its id.
    fn values<'a>(&self, bytes: &'a [u8]) -> Option<(&'a str, &'a str)> {
        let both = bytes.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        // The id ends after its digits; the rest are the arguments.
        let digit = u8::is_ascii_digit;
        let (id, arguments) = if self.id_comes_first {
            let (id, rest) = both.split_at(both.iter().position(|byte| !digit(byte))?);
            (id, rest.strip_prefix(&*self.between)?)
        } else {
            let (rest, id) = both.split_at(both.iter().rposition(|byte| !digit(byte))? + 1);
            (id, rest.strip_suffix(&*self.between)?)
        };
        let (id, arguments) = (str::from_utf8(id).ok()?, str::from_utf8(arguments).ok()?);
        // JSON writes no leading zeros, and numbers beyond this length may not fit.
        let is_natural = (1..20).contains(&id.len()) && (id == "0" || !id.starts_with('0'));
        is_natural.then_some((id, arguments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_is_known_again_with_other_values_in_it() {
        for pattern in [
            r#"{"id":ID,"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","arguments":ARGUMENTS}}"#,
            r#"{"method":"tools/call","params":{"name":"a","arguments":ARGUMENTS},"jsonrpc":"2.0","id":ID}"#,
        ] {
            let call = |id: &str, arguments: &str| pattern.replace("ID", id).replace("ARGUMENTS", arguments);
            let mut envelope = Envelope::default();
            assert!(envelope.read(call("1", "{}").as_bytes()).is_some());
            let known = envelope.0.as_ref().unwrap();
            let arguments = r#"{"a":"2,\"b\":{}"}"#;
            assert_eq!(known.values(call("1234", arguments).as_bytes()), Some(("1234", arguments)));
            assert_eq!(known.values(call("\"1\"", "{}").as_bytes()), None);
            assert_eq!(known.values(call("01", "{}").as_bytes()), None);
            assert_eq!(known.values(call("1", "{}").replace("\"a\"", "\"b\"").as_bytes()), None);
        }
    }
}

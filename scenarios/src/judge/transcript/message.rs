//! One JSON-RPC message of a frame. Batches (2025-03-26) are split, so checks see single messages.

use serde_json::Value;

use super::{Direction, Frame};

/// The member of the metadata of a request of 2026-07-28 with its revision (basic/index#meta).
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

/// A message, and the frame that carried it. Its members are looked up once, because every check reads them.
#[derive(Debug, Clone, Copy)]
pub(in crate::judge) struct Message<'a> {
    pub(in crate::judge) frame: &'a Frame,
    pub(in crate::judge) json: &'a Value,
    has_method: bool,
    by_client: bool,
    method: Option<&'a str>,
    id: Option<&'a Value>,
    id_key: Option<IdKey<'a>>,
    params: Option<&'a Value>,
    result: Option<&'a Value>,
    error: Option<&'a Value>,
    revision: Option<&'a Value>,
}

impl<'a> Message<'a> {
    /// The messages of a frame; none if it carried no JSON.
    pub(in crate::judge) fn all_of(frame: &'a Frame) -> impl Iterator<Item = Self> {
        let (batch, single) = match frame.json() {
            Some(Value::Array(messages)) => (messages.as_slice(), None),
            single => (&[][..], single),
        };
        batch.iter().chain(single).map(move |json| Self::new(frame, json))
    }

    fn new(frame: &'a Frame, json: &'a Value) -> Self {
        let by_client = frame.direction == Direction::ClientToServer;
        let mut message = Self {
            frame,
            json,
            has_method: false,
            by_client,
            method: None,
            id: None,
            id_key: None,
            params: None,
            result: None,
            error: None,
            revision: None,
        };
        for (name, value) in json.as_object().into_iter().flatten() {
            match name.as_str() {
                "method" => (message.has_method, message.method) = (true, value.as_str()),
                "id" => (message.id, message.id_key) = (Some(value), Some(IdKey::new(value))),
                "params" => message.params = Some(value),
                "result" => message.result = Some(value),
                "error" => message.error = Some(value),
                _ => {}
            }
        }
        message.revision = message.param("_meta").and_then(|meta| meta.get(REVISION));
        message
    }

    pub(in crate::judge) fn seq(&self) -> u64 {
        super::count_work();
        self.frame.seq
    }

    pub(in crate::judge) fn at_us(&self) -> u64 {
        self.frame.at_us
    }

    pub(in crate::judge) fn by_client(&self) -> bool {
        super::count_work();
        self.by_client
    }

    pub(in crate::judge) fn method(&self) -> Option<&'a str> {
        super::count_work();
        self.method
    }

    pub(in crate::judge) fn id(&self) -> Option<&'a Value> {
        super::count_work();
        self.id
    }

    /// The id of a request as a key.
    pub(in crate::judge) fn id_key(&self) -> Option<IdKey<'a>> {
        super::count_work();
        self.id_key
    }

    pub(in crate::judge) fn params(&self) -> Option<&'a Value> {
        self.params
    }

    pub(in crate::judge) fn param(&self, name: &str) -> Option<&'a Value> {
        self.params()?.get(name)
    }

    pub(in crate::judge) fn result(&self) -> Option<&'a Value> {
        self.result
    }

    pub(in crate::judge) fn error(&self) -> Option<&'a Value> {
        self.error
    }

    pub(in crate::judge) fn is_request(&self) -> bool {
        self.method().is_some() && self.id().is_some()
    }

    pub(in crate::judge) fn is(&self, method: &str) -> bool {
        self.method() == Some(method)
    }

    /// Whether it is a response, well-formed or not.
    pub(in crate::judge) fn is_response(&self) -> bool {
        !self.has_method && (self.result.is_some() || self.error.is_some())
    }

    /// Whether it is a response, or an object with an id that can only be meant as one.
    pub(in crate::judge) fn may_be_response(&self) -> bool {
        !self.has_method && (self.result.is_some() || self.error.is_some() || self.id.is_some())
    }

    /// Whether it is a response in a form that its receiver must understand. A conforming client may drop others.
    pub(in crate::judge) fn is_sound_response(&self) -> bool {
        let jsonrpc = self.json.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        let result = self.result().is_some_and(Value::is_object);
        let error = self.error().is_some_and(Value::is_object);
        !self.has_method && jsonrpc && (result != error)
    }

    /// Whether it is a request of 2026-07-28. A client of both eras probes with one (2026-07-28, basic/versioning), so it
    /// may precede any handshake.
    pub(in crate::judge) fn is_modern(&self) -> bool {
        self.is("server/discover") || self.revision().is_some()
    }

    /// The revision in the metadata of a request of 2026-07-28.
    pub(in crate::judge) fn revision(&self) -> Option<&'a Value> {
        self.revision
    }

    /// The tool of a `tools/call` request.
    pub(in crate::judge) fn tool(&self) -> Option<&'a str> {
        if !self.is("tools/call") || !self.is_request() {
            return None;
        }
        self.param("name")?.as_str()
    }

    /// Whether the name and the arguments are those of another call.
    pub(in crate::judge) fn is_same_call(&self, other: &Self) -> bool {
        ["name", "arguments"].into_iter().all(|key| self.param(key) == other.param(key))
    }

    /// The id of the request that a `notifications/cancelled` cancels.
    pub(in crate::judge) fn cancels(&self) -> Option<&'a Value> {
        if !self.is("notifications/cancelled") {
            return None;
        }
        self.param("requestId")
    }
}

/// A JSON-RPC id as a key: `1` and `1.0` are the same number, `1` and `"1"` are different ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::judge) enum IdKey<'a> {
    /// The bits of a number.
    Number(u64),
    /// Any other value.
    Other(&'a Value),
}

impl<'a> IdKey<'a> {
    pub(in crate::judge) fn new(id: &'a Value) -> Self {
        match id.as_f64() {
            // Adding zero makes -0.0 equal to 0.0.
            Some(number) => Self::Number((number + 0.0).to_bits()),
            None => Self::Other(id),
        }
    }
}

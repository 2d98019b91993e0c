//! Simple calls, parsed from their bytes: only known members, none twice, no escapes in names. All other messages take
//! the normal path.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value, value::RawValue};

use super::{super::message::CAPABILITIES_KEY, super::revision::VERSION_KEY, skipped::Skipped};

/// Maximum nesting of arguments; the normal path limits the depth of messages.
const DEPTH: usize = 100;

/// A simple call of a tool.
#[derive(Debug)]
pub(crate) struct SimpleCall<'a> {
    /// The id as written, a string without escapes or an integer, which the response repeats byte by byte.
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: Option<Map<String, Value>>,
    pub(super) version: Option<&'a str>,
    /// Whether its metadata contains client capabilities.
    pub(super) has_capabilities: bool,
}

#[derive(Debug, Default)]
struct Params<'a> {
    name: Option<&'a str>,
    arguments: Option<&'a RawValue>,
    meta: Option<Meta<'a>>,
}

#[derive(Debug, Default)]
struct Meta<'a> {
    version: Option<&'a str>,
    capabilities: Option<Skipped>,
}

impl<'a> SimpleCall<'a> {
    /// Reads a message; `None` if it is not a simple call.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        Self::with_arguments(bytes).map(|(call, _)| call)
    }

    /// The same, with the bytes of the arguments.
    pub(super) fn with_arguments(bytes: &'a [u8]) -> Option<(Self, Option<&'a str>)> {
        let Message { version: Some("2.0"), id, method: Some("tools/call"), params } =
            serde_json::from_str(str::from_utf8(bytes).ok()?).ok()?
        else {
            return None;
        };
        let (id, Params { name, arguments: written, meta }) = (id?.get(), params?);
        let arguments = match written {
            Some(text) => Some(arguments(text.get())?),
            None => None,
        };
        let Meta { version, capabilities } = meta.unwrap_or_default();
        let has_capabilities = capabilities == Some(Skipped::Object);
        let call = Self { id, name: name?, arguments, version, has_capabilities };
        is_repeatable(id).then_some((call, written.map(RawValue::get)))
    }

    /// The tool.
    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    /// The revision that its metadata names.
    pub(crate) fn version(&self) -> Option<&'a str> {
        self.version
    }
}

/// Reads arguments.
pub(super) fn arguments(text: &str) -> Option<Map<String, Value>> {
    let is_flat = text.len() <= DEPTH || text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() <= DEPTH;
    if is_flat { serde_json::from_str(text).ok() } else { None }
}

/// Whether an id is written in the canonical form.
fn is_repeatable(id: &str) -> bool {
    match id.as_bytes() {
        [b'"', ..] => !id.contains('\\'),
        // The negative zero of JSON is not an integer.
        [b'-', digits @ ..] => digits != b"0" && id.parse::<i64>().is_ok(),
        _ => id.parse::<u64>().is_ok(),
    }
}

/// Receives the members of an object one by one.
trait Object<'de>: Sized {
    /// Receives one member.
    fn member<A: MapAccess<'de>>(&mut self, name: &'de str, members: &mut A) -> Result<(), A::Error>;
}

/// Parses an object.
struct Reader<T>(T);

impl<'de, T: Object<'de>> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<T, A::Error> {
        while let Some(name) = members.next_key::<&'de str>()? {
            self.0.member(name, &mut members)?;
        }
        Ok(self.0)
    }
}

fn read<'de, D: Deserializer<'de>, T: Object<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Reader(T::default()))
}

/// Sets a value that must be set only once.
fn once<T, E: Error>(place: &mut Option<T>, value: T) -> Result<(), E> {
    if place.replace(value).is_some() { Err(E::custom("twice")) } else { Ok(()) }
}

/// A partially parsed message.
#[derive(Default)]
struct Message<'a> {
    version: Option<&'a str>,
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    params: Option<Params<'a>>,
}

impl<'de> Object<'de> for Message<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &'de str, members: &mut A) -> Result<(), A::Error> {
        match name {
            "jsonrpc" => once(&mut self.version, members.next_value()?),
            "id" => once(&mut self.id, members.next_value()?),
            "method" => once(&mut self.method, members.next_value()?),
            "params" => once(&mut self.params, members.next_value()?),
            _ => Err(A::Error::custom("unknown")),
        }
    }
}

impl<'de> Object<'de> for Params<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &'de str, members: &mut A) -> Result<(), A::Error> {
        match name {
            "name" => once(&mut self.name, members.next_value()?),
            "arguments" => once(&mut self.arguments, members.next_value()?),
            "_meta" => once(&mut self.meta, members.next_value()?),
            _ => Err(A::Error::custom("unknown")),
        }
    }
}

impl<'de> Object<'de> for Meta<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &'de str, members: &mut A) -> Result<(), A::Error> {
        match name {
            VERSION_KEY => once(&mut self.version, members.next_value()?),
            CAPABILITIES_KEY => once(&mut self.capabilities, members.next_value()?),
            // The client's name and progress token have no effect on a simple reply.
            "io.modelcontextprotocol/clientInfo" | "progressToken" => members.next_value::<Skipped>().map(drop),
            _ => Err(A::Error::custom("unknown")),
        }
    }
}

impl<'de> Deserialize<'de> for Message<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de> Deserialize<'de> for Params<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de> Deserialize<'de> for Meta<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

//! A plain call, read straight from its bytes: no member that is not known here, none twice, no escape where a name is
//! expected. Anything else is read the long way.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::{super::modern::CAPABILITIES_KEY, super::revision::VERSION_KEY, skipped::Skipped};

/// A call of a tool with nothing special about it.
#[derive(Debug)]
pub(crate) struct PlainCall<'a> {
    id: Id<'a>,
    params: Params<'a>,
}

/// The id of a request.
#[derive(Debug)]
enum Id<'a> {
    Text(&'a str),
    Natural(u64),
    Negative(i64),
}

#[derive(Debug, Default)]
struct Params<'a> {
    name: Option<&'a str>,
    arguments: Option<Map<String, Value>>,
    meta: Option<Meta<'a>>,
}

#[derive(Debug, Default)]
struct Meta<'a> {
    version: Option<&'a str>,
    capabilities: Option<Skipped>,
}

impl<'a> PlainCall<'a> {
    /// Reads a message; none if it is no plain call.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// The tool.
    pub(crate) fn name(&self) -> &'a str {
        self.params.name.unwrap_or_default()
    }

    /// The arguments, if there are any.
    pub(super) fn arguments(&self) -> Option<&Map<String, Value>> {
        self.params.arguments.as_ref()
    }

    /// The revision that its metadata names.
    pub(crate) fn version(&self) -> Option<&'a str> {
        self.params.meta.as_ref()?.version
    }

    /// Whether its metadata says what the client can do.
    pub(super) fn is_well_founded(&self) -> bool {
        self.params.meta.as_ref().is_some_and(|meta| meta.capabilities == Some(Skipped::Object))
    }

    /// Writes the id as JSON.
    pub(super) fn write_id(&self, out: &mut Vec<u8>) {
        // A vector takes everything, and these three have a JSON form.
        let written = match self.id {
            Id::Text(text) => serde_json::to_writer(out, text),
            Id::Natural(number) => serde_json::to_writer(out, &number),
            Id::Negative(number) => serde_json::to_writer(out, &number),
        };
        if let Err(cause) = written {
            tracing::error!(%cause, "an id has no JSON form");
        }
    }
}

/// Takes the members of an object one by one.
trait Object<'de>: Sized {
    type Whole;

    /// Takes one.
    fn member<A: MapAccess<'de>>(&mut self, name: &'de str, members: &mut A) -> Result<(), A::Error>;

    /// All have been taken.
    fn whole<E: Error>(self) -> Result<Self::Whole, E>;
}

/// Reads an object, and nothing in its place.
struct Reader<T>(T);

impl<'de, T: Object<'de>> Visitor<'de> for Reader<T> {
    type Value = T::Whole;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<T::Whole, A::Error> {
        while let Some(name) = members.next_key::<&'de str>()? {
            self.0.member(name, &mut members)?;
        }
        self.0.whole()
    }
}

fn read<'de, D: Deserializer<'de>, T: Object<'de>>(deserializer: D, empty: T) -> Result<T::Whole, D::Error> {
    deserializer.deserialize_any(Reader(empty))
}

/// Sets what must be set once only.
fn once<T, E: Error>(place: &mut Option<T>, value: T) -> Result<(), E> {
    if place.replace(value).is_some() { Err(E::custom("twice")) } else { Ok(()) }
}

/// A message while it is read.
#[derive(Default)]
struct Message<'a> {
    version: Option<&'a str>,
    id: Option<Id<'a>>,
    method: Option<&'a str>,
    params: Option<Params<'a>>,
}

impl<'de> Object<'de> for Message<'de> {
    type Whole = PlainCall<'de>;

    fn member<A: MapAccess<'de>>(&mut self, name: &'de str, members: &mut A) -> Result<(), A::Error> {
        match name {
            "jsonrpc" => once(&mut self.version, members.next_value()?),
            "id" => once(&mut self.id, members.next_value()?),
            "method" => once(&mut self.method, members.next_value()?),
            "params" => once(&mut self.params, members.next_value()?),
            _ => Err(A::Error::custom("unknown")),
        }
    }

    fn whole<E: Error>(self) -> Result<PlainCall<'de>, E> {
        match (self.version, self.id, self.method, self.params) {
            (Some("2.0"), Some(id), Some("tools/call"), Some(params)) if params.name.is_some() => {
                Ok(PlainCall { id, params })
            }
            _ => Err(E::custom("no call")),
        }
    }
}

impl<'de> Object<'de> for Params<'de> {
    type Whole = Self;

    fn member<A: MapAccess<'de>>(&mut self, name: &'de str, members: &mut A) -> Result<(), A::Error> {
        match name {
            "name" => once(&mut self.name, members.next_value()?),
            "arguments" => once(&mut self.arguments, members.next_value()?),
            "_meta" => once(&mut self.meta, members.next_value()?),
            _ => Err(A::Error::custom("unknown")),
        }
    }

    fn whole<E: Error>(self) -> Result<Self, E> {
        Ok(self)
    }
}

impl<'de> Object<'de> for Meta<'de> {
    type Whole = Self;

    fn member<A: MapAccess<'de>>(&mut self, name: &'de str, members: &mut A) -> Result<(), A::Error> {
        match name {
            VERSION_KEY => once(&mut self.version, members.next_value()?),
            CAPABILITIES_KEY => once(&mut self.capabilities, members.next_value()?),
            // Who the client is, and where it wants progress told, changes nothing about a plain reply.
            "io.modelcontextprotocol/clientInfo" | "progressToken" => members.next_value::<Skipped>().map(drop),
            _ => Err(A::Error::custom("unknown")),
        }
    }

    fn whole<E: Error>(self) -> Result<Self, E> {
        Ok(self)
    }
}

impl<'de> Deserialize<'de> for PlainCall<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer, Message::default())
    }
}

impl<'de> Deserialize<'de> for Params<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer, Self::default())
    }
}

impl<'de> Deserialize<'de> for Meta<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer, Self::default())
    }
}

impl<'de> Deserialize<'de> for Id<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdReader)
    }
}

struct IdReader;

impl<'de> Visitor<'de> for IdReader {
    type Value = Id<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a whole number")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Id<'de>, E> {
        Ok(Id::Text(text))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Id<'de>, E> {
        Ok(Id::Natural(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Id<'de>, E> {
        Ok(Id::Negative(number))
    }
}

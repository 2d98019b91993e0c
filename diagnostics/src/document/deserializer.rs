//! The one [`serde::Deserializer`] over documents. There is one instance for all syntaxes, so each type is instantiated
//! once.

use std::str::FromStr;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer as _, MapAccess, SeqAccess, VariantAccess, Visitor,
    value::StrDeserializer,
};

use super::{
    Content, Document, NodeId,
    error::{Cause, ReadError, Slot},
};

/// Deserializes one node.
#[derive(Clone, Copy)]
pub(super) struct NodeDeserializer<'t> {
    document: &'t Document,
    node: NodeId,
    /// Whether the node is the name of a variant without a value, which is what would be deserialized.
    is_missing: bool,
}

impl<'t> NodeDeserializer<'t> {
    pub(super) fn new(document: &'t Document, node: NodeId) -> Self {
        Self { document, node, is_missing: false }
    }

    fn content(self) -> &'t Content {
        if self.is_missing { &Content::Null } else { &self.document.node(self.node).content }
    }

    fn expected<T>(self, expected: &'static str) -> Result<T, ReadError> {
        Err(ReadError::new(match (self.is_missing, expected) {
            (false, _) => Cause::Expected(expected),
            (true, "a table") => Cause::NeedsValue("{}"),
            (true, _) => Cause::NeedsValue("..."),
        })
        .at(self.node))
    }

    fn located<T>(self, result: Result<T, ReadError>) -> Result<T, ReadError> {
        result.map_err(|error| error.at(self.node))
    }

    fn array<'de, V: Visitor<'de>>(self, items: &'t [NodeId], visitor: V) -> Result<V::Value, ReadError> {
        self.located(visitor.visit_seq(Items { document: self.document, array: self.node, items, next: 0 }))
    }

    fn table<'de, V: Visitor<'de>>(self, entries: &'t [(NodeId, NodeId)], visitor: V) -> Result<V::Value, ReadError> {
        self.located(visitor.visit_map(Entries { document: self.document, table: self.node, entries, next: 0 }))
    }

    /// An integer in decimal, hexadecimal or octal notation.
    fn integer<T: TryFrom<i128>>(self) -> Option<T> {
        let text = match self.content() {
            Content::Number(text) => text,
            Content::Placeholder => "0",
            _ => return None,
        };
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let magnitude = if let Some(digits) = digits.strip_prefix("0x") {
            i128::from_str_radix(digits, 16)
        } else if let Some(digits) = digits.strip_prefix("0o") {
            i128::from_str_radix(digits, 8)
        } else {
            i128::from_str(digits)
        };
        T::try_from(sign * magnitude.ok()?).ok()
    }

    fn float(self) -> Option<f64> {
        let text = match self.content() {
            Content::Number(text) => text,
            Content::Placeholder => "0",
            _ => return None,
        };
        let integer = self.integer::<i64>().filter(|_| text.contains(['x', 'o']));
        #[expect(clippy::cast_precision_loss, reason = "a float was asked for")]
        let float = integer.map_or_else(|| text.parse().ok(), |integer| Some(integer as f64));
        float.filter(|float: &f64| float.is_finite())
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty, $expected:literal;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            match self.integer::<$type>() {
                Some(number) => self.located(visitor.$visit(number)),
                None => self.expected($expected),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for NodeDeserializer<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.content() {
            Content::Null if self.is_missing => self.expected("a value"),
            Content::Null | Content::Placeholder => self.located(visitor.visit_unit()),
            Content::Bool(value) => self.located(visitor.visit_bool(*value)),
            Content::Number(_) => {
                if let Some(number) = self.integer() {
                    self.located(visitor.visit_u64(number))
                } else if let Some(number) = self.integer() {
                    self.located(visitor.visit_i64(number))
                } else if let Some(number) = self.float() {
                    self.located(visitor.visit_f64(number))
                } else {
                    self.expected("a finite number")
                }
            }
            Content::String(text) => self.located(visitor.visit_str(text)),
            Content::Date => self.located(visitor.visit_str(self.document.written(self.node))),
            Content::Array(items) => self.array(items, visitor),
            Content::Table(entries) => self.table(entries, visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.content() {
            Content::Bool(value) => self.located(visitor.visit_bool(*value)),
            Content::Placeholder => self.located(visitor.visit_bool(false)),
            _ => self.expected("a boolean"),
        }
    }

    integers! {
        deserialize_u8 visit_u8 u8, "a whole number from 0 to 255";
        deserialize_u16 visit_u16 u16, "a whole number from 0 to 65535";
        deserialize_u32 visit_u32 u32, "a whole number, 0 or more";
        deserialize_u64 visit_u64 u64, "a whole number, 0 or more";
        deserialize_i8 visit_i8 i8, "a whole number from -128 to 127";
        deserialize_i16 visit_i16 i16, "a whole number from -32768 to 32767";
        deserialize_i32 visit_i32 i32, "a whole number";
        deserialize_i64 visit_i64 i64, "a whole number";
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.float() {
            Some(number) => self.located(visitor.visit_f64(number)),
            None => self.expected("a number"),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.content() {
            Content::String(text) => self.located(visitor.visit_str(text)),
            Content::Placeholder => self.located(visitor.visit_str("")),
            _ => self.expected("a string"),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.content() {
            Content::Null | Content::Placeholder => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.content() {
            Content::Null | Content::Placeholder => visitor.visit_unit(),
            _ => self.expected("nothing"),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        self.located(visitor.visit_newtype_struct(self))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.content() {
            Content::Array(items) => self.array(items, visitor),
            Content::Placeholder => self.array(&[], visitor),
            _ => self.expected("an array"),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.content() {
            Content::Table(entries) => self.table(entries, visitor),
            Content::Placeholder => self.table(&[], visitor),
            _ => self.expected("a table"),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let document = self.document;
        let variant = match self.content() {
            Content::String(text) => Variant { document, text, name: self.node, value: None },
            Content::Placeholder => {
                let text = variants.first().copied().unwrap_or_default();
                Variant { document, text, name: self.node, value: Some(self.node) }
            }
            Content::Table(entries) => match entries[..] {
                [(name, value)] => Variant { document, text: document.key(name), name, value: Some(value) },
                [_, (second, _), ..] => {
                    let slot = Slot { parent: self.node, index: 1 };
                    return Err(ReadError::new(Cause::SecondKey).at(second).within(slot));
                }
                [] => return self.expected("one key"),
            },
            Content::Null | Content::Bool(_) | Content::Number(_) | Content::Date | Content::Array(_) => {
                return self.expected("a string");
            }
        };
        self.located(visitor.visit_enum(variant))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit_struct tuple_struct }
}

/// The elements of an array.
struct Items<'t> {
    document: &'t Document,
    array: NodeId,
    items: &'t [NodeId],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(&node) = self.items.get(self.next) else { return Ok(None) };
        let slot = Slot { parent: self.array, index: self.next };
        self.next += 1;
        let value = seed.deserialize(NodeDeserializer::new(self.document, node));
        value.map(Some).map_err(|error| error.at(node).within(slot))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

/// The entries of a table.
struct Entries<'t> {
    document: &'t Document,
    table: NodeId,
    entries: &'t [(NodeId, NodeId)],
    /// The entry whose key comes next.
    next: usize,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        let Some(&(key, _)) = self.entries.get(self.next) else { return Ok(None) };
        let slot = Slot { parent: self.table, index: self.next };
        self.next += 1;
        let name: StrDeserializer<'_, ReadError> = self.document.key(key).into_deserializer();
        seed.deserialize(name).map(Some).map_err(|error| error.at(key).within(slot))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let index = self.next - 1;
        let (key, node) = self.entries[index];
        let value = seed.deserialize(NodeDeserializer::new(self.document, node));
        value.map_err(|error| error.at(node).named(key, node).within(Slot { parent: self.table, index }))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len() - self.next)
    }
}

/// A value of an enum: a string, or a table whose only key is the string.
struct Variant<'t> {
    document: &'t Document,
    text: &'t str,
    name: NodeId,
    value: Option<NodeId>,
}

impl<'t> Variant<'t> {
    fn value(&self) -> NodeDeserializer<'t> {
        let node = self.value.unwrap_or(self.name);
        NodeDeserializer { document: self.document, node, is_missing: self.value.is_none() }
    }
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        let name: StrDeserializer<'_, ReadError> = self.text.into_deserializer();
        let variant = seed.deserialize(name).map_err(|error| error.at(self.name))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.value {
            Some(value) if !matches!(self.document.node(value).content, Content::Null | Content::Placeholder) => {
                Err(ReadError::new(Cause::TakesNoValue(self.text.to_owned())).at(value))
            }
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        let value = self.value();
        value.located(seed.deserialize(value)).map_err(|error| error.named(self.name, value.node))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.value().deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, ReadError> {
        let value = self.value();
        value.deserialize_map(visitor).map_err(|error| error.named(self.name, value.node))
    }
}

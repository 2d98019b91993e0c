//! The registration of faults: a table with one row per fault.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::ParameterProblem;

/// Declares a set of faults. A row consists of
/// - the fault's type, which implements [`FaultHooks`](super::FaultHooks): `timing::Silence` has no parameters;
///   `timing::Latency(Latency, Latency::problems)` has those of a type, checked by a function. [`any`] accepts all;
/// - its classification, a value of the set's class.
///
/// The documentation of the type is the description of the fault in the JSON Schema.
macro_rules! fault_set {
    ($(#[doc = $doc:literal])* $Set:ident: $Class:ty {
        $($module:ident::$Variant:ident $(($Params:ident, $check:expr))? => $class:expr;)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $Set {
            $(#[doc = concat!("The fault `", stringify!($Variant), "`.")] $Variant $(($Params))?,)*
        }

        impl $Set {
            /// The classification of the fault.
            #[must_use]
            pub fn class(&self) -> $Class {
                match self { $(Self::$Variant { .. } => $class,)* }
            }

            /// The name of the fault in scripts.
            #[must_use]
            pub fn name(&self) -> String {
                match self { $(Self::$Variant { .. } => $crate::faults::set::name(stringify!($Variant)),)* }
            }

            /// The names of all faults of the set.
            #[must_use]
            pub fn names() -> Vec<String> {
                vec![$($crate::faults::set::name(stringify!($Variant))),*]
            }

            /// The parameters that cannot have been intended.
            #[must_use]
            pub fn problems(&self) -> Vec<$crate::faults::ParameterProblem> {
                match self {
                    $(Self::$Variant $((second!($Params fault)))? => first!($($check(second!($Params fault)),)? Vec::new()),)*
                }
            }

            pub(crate) fn hooks(&self) -> &dyn $crate::faults::FaultHooks {
                match self {
                    $(Self::$Variant $((second!($Params fault)))? => first!($(second!($Params fault),)? &$module::$Variant),)*
                }
            }
        }

        impl schemars::JsonSchema for $Set {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Set).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                use $crate::faults::set::{variants, with_parameters, without_parameters};
                let all = vec![$(first!(
                    $(with_parameters::<$Params>(generator, stringify!($Variant)),)?
                    without_parameters::<$module::$Variant>(generator, stringify!($Variant))
                )),*];
                variants(concat!($($doc, "\n"),*), &all)
            }
        }
    };
}

/// The first of one or two expressions.
macro_rules! first {
    ($first:expr $(, $second:expr)?) => {
        $first
    };
}

/// The second of two tokens: it repeats an identifier where the first token was repeated.
macro_rules! second {
    ($first:ident $second:ident) => {
        $second
    };
}

/// Accepts all values of the parameters.
pub(super) fn any<T>(_: &T) -> Vec<ParameterProblem> {
    Vec::new()
}

/// The name in scripts: `wrong-id` for `WrongId`, as serde's `kebab-case` has it.
pub(super) fn name(variant: &str) -> String {
    let mut name = String::with_capacity(variant.len() + 4);
    for letter in variant.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

pub(super) fn variants(documentation: &str, all: &[Value]) -> Schema {
    let lines: Vec<_> = documentation.lines().map(str::trim).collect();
    json_schema!({ "oneOf": all, "description": lines.join("\n") })
}

pub(super) fn without_parameters<T: JsonSchema>(generator: &mut SchemaGenerator, variant: &str) -> Value {
    json!({ "type": "string", "const": name(variant), "description": description::<T>(generator) })
}

pub(super) fn with_parameters<T: JsonSchema>(generator: &mut SchemaGenerator, variant: &str) -> Value {
    let name = name(variant);
    json!({
        "type": "object",
        "properties": { &name: generator.subschema_for::<T>() },
        "required": [name],
        "additionalProperties": false,
        "description": description::<T>(generator),
    })
}

fn description<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    T::json_schema(generator).get("description").cloned().unwrap_or_default()
}

//! JSON Schemas of scripts, generated from their types, for editors.
//!
//! They check types and keys; the readers check more.

use schemars::{JsonSchema, generate::SchemaSettings};

use crate::{Script, oauth::AuthScript};

/// The file of the schema of mock servers' scripts, relative to the root of the workspace, and its text.
#[must_use]
pub fn script_file() -> (&'static str, String) {
    ("mock-servers/schema/script-1.schema.json", text::<Script>("Script of a mock server, format 1"))
}

/// The same for the scripts of authorization servers.
#[must_use]
pub fn authorization_script_file() -> (&'static str, String) {
    let title = "Script of an authorization server, format 1";
    ("mock-servers/schema/authorization-script-1.schema.json", text::<AuthScript>(title))
}

fn text<T: JsonSchema>(title: &str) -> String {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    // `{:#}` is pretty-printed JSON, and cannot fail.
    format!("{:#}\n", schema.to_value())
}

//! The format of `scenarios/shapes/*.yaml`.

use std::collections::BTreeMap;

use diagnostics::{
    Diagnostics,
    document::{Document, Format, Limits, Source},
};
use include_dir::{Dir, include_dir};
use serde::Deserialize;

use crate::model::Revision;

const FORMAT: Format = Format {
    noun: "file of shapes",
    example: "contains definitions, as in `definitions: { root: { fields: { uri: uri } } }`",
    limits: Limits::SMALL,
    noun_of: |_, _| None,
    renamed: &[],
};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/shapes");

/// One file, or all of them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) definitions: BTreeMap<String, DefinitionEntry>,
    #[serde(default)]
    pub(super) requests: BTreeMap<String, MethodEntry>,
    #[serde(default)]
    pub(super) notifications: BTreeMap<String, MethodEntry>,
}

/// A definition. The keys are explained in `messages.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DefinitionEntry {
    #[serde(default)]
    pub(super) schema: Option<String>,
    #[serde(default)]
    pub(super) since: Option<Revision>,
    #[serde(default)]
    pub(super) until: Option<Revision>,
    #[serde(default)]
    pub(super) part: bool,
    #[serde(default)]
    pub(super) extends: Vec<String>,
    #[serde(default)]
    pub(super) fields: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) choose: Vec<String>,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
}

/// A method of requests or of notifications.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MethodEntry {
    pub(super) schema: String,
    #[serde(default)]
    pub(super) since: Option<Revision>,
    #[serde(default)]
    pub(super) until: Option<Revision>,
    pub(super) from: Sender,
    pub(super) params: String,
    /// Whether `params` is required although none of its members is.
    #[serde(default)]
    pub(super) required: bool,
    /// The result of a request.
    #[serde(default)]
    pub(super) result: Option<String>,
}

/// The sender of a request or notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sender {
    Client,
    Server,
    Both,
}

/// Whether a definition, method or type exists in a revision.
pub(super) fn exists(since: Option<Revision>, until: Option<Revision>, revision: Revision) -> bool {
    since.is_none_or(|since| since <= revision) && until.is_none_or(|until| revision <= until)
}

/// All files that are part of the program, as one.
pub(super) fn built_in() -> Result<File, Diagnostics> {
    let mut all = File::default();
    for file in FILES.files() {
        let text = file.contents_utf8().unwrap_or_default();
        let name = file.path().display().to_string();
        let read: File = Document::parse(Source::named(&name, text), &FORMAT)?.read()?;
        all.definitions.extend(read.definitions);
        all.requests.extend(read.requests);
        all.notifications.extend(read.notifications);
    }
    Ok(all)
}

//! What there is to do with each server, and what it has to answer.

mod notebook;
mod published;

use serde_json::Value;

use super::{Kind, Place, Subject};
use crate::interop::expect::Expect;

/// Something to do.
#[derive(Debug)]
pub(super) enum Deed {
    /// List the names of the tools.
    Tools,
    /// List the URIs of the resources.
    Resources,
    /// List the templates.
    Templates,
    /// List the names of the prompts.
    Prompts,
    /// Call a tool; its text is seen.
    Call(&'static str, Value),
    /// Call a tool; this place in its structured content is seen.
    Structured(&'static str, Value, &'static str),
    /// Call a tool that has to fail; its complaint is seen, or the kind of the error.
    Refused(&'static str, Value),
    /// Call a tool; the progress that it tells is seen.
    Progress(&'static str, Value),
    /// Read a resource.
    Read(&'static str),
    /// Have a prompt filled in.
    Prompt(&'static str, Value),
    /// Complete this argument of a prompt or a template from its beginning.
    Complete(Value, &'static str, &'static str),
    /// Say where the user works.
    WorkAt(String),
}

/// A deed, and what should be seen of it.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) deed: Deed,
    pub(super) expect: Expect,
    /// Whether the server may take its time: the deed is done again until it shows.
    pub(super) by_and_by: bool,
}

impl Step {
    fn new(name: &'static str, deed: Deed, expect: Expect) -> Self {
        Self { name, deed, expect, by_and_by: false }
    }

    fn by_and_by(self) -> Self {
        Self { by_and_by: true, ..self }
    }
}

/// The steps of a visit.
pub(super) fn steps(subject: Subject, place: &Place) -> Vec<Step> {
    match subject.kind {
        Kind::Everything => published::everything(),
        Kind::Filesystem => published::filesystem(place),
        Kind::Memory => published::memory(),
        Kind::Time => published::time(),
        Kind::Fetch => published::fetch(place),
        Kind::Git => published::git(place),
        Kind::TypeScript1 | Kind::TypeScript2 | Kind::Python => notebook::steps(subject),
    }
}

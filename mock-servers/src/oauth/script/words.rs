//! Format of authorization servers' scripts for the reader: limits and names in errors.

use diagnostics::document::{Format, Limits};

use crate::script::RENAMED;

/// Scripts of authorization servers as files of their own.
pub(super) const FORMAT: Format = Format {
    noun: "script of an authorization server",
    example: "contains keys, as in `issuer_path: /tenant1`; an empty one is `{}`",
    limits: Limits::SMALL,
    noun_of: name_of_words,
    renamed: RENAMED,
};

fn name_of_words(known: &[&str], _: Option<&str>) -> Option<&'static str> {
    let names = [
        ("slow-document", "fault"),
        ("never-answers", "user"),
        ("authorization_code", "grant type"),
        ("client_secret_basic", "authentication method"),
        ("S256", "code challenge method"),
    ];
    names.into_iter().find(|(word, _)| known.contains(word)).map(|(_, name)| name)
}

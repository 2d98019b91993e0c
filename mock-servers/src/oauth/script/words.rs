//! What a reader of authorization servers' scripts has to know of the format beyond its shape.

use crate::reading::{Format, Limits};

/// Scripts of authorization servers as files of their own.
pub(super) const FORMAT: Format = Format {
    noun: "script of an authorization server",
    opening: "holds keys, as in `issuer_path: /tenant1`; an empty one is `{}`",
    limits: Limits { bytes: 1 << 20, depth: 64, values: 20_000, aliases: 200, replayed: 20_000 },
    name_of_words,
    words_with_values: &["tell"],
};

fn name_of_words(known: &[&str], _: Option<&str>) -> Option<&'static str> {
    let names = [
        ("slow-document", "lie"),
        ("never-answers", "user"),
        ("authorization_code", "grant type"),
        ("client_secret_basic", "authentication method"),
        ("S256", "code challenge method"),
    ];
    names.into_iter().find(|(word, _)| known.contains(word)).map(|(_, name)| name)
}

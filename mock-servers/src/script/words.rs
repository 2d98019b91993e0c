//! Format of scripts for the reader: limits and names in errors.

use diagnostics::document::{Format, Limits};

/// Scripts of mock servers as files of their own.
pub(crate) const FORMAT: Format = Format {
    noun: "script",
    example: "contains keys, as in `name: mine`; an empty one is `{}`",
    limits: Limits { bytes: 4 << 20, depth: 100, values: 200_000, aliases: 1_000, expanded: 100_000 },
    noun_of: |known, _| name_of_words(known),
    renamed: RENAMED,
};

/// Earlier names of keys in scripts of mock servers and of authorization servers, and their present names.
pub const RENAMED: &[(&str, &str)] = &[("amid", "inside"), ("lies", "faults"), ("tell", "fault")];

/// The description of an enum's values, by one of them.
#[must_use]
pub fn name_of_words(known: &[&str]) -> Option<&'static str> {
    let names = [("silence", "fault"), ("reply", "action"), ("shell", "wrapper"), ("resource_link", "content")];
    names.into_iter().find(|(word, _)| known.contains(word)).map(|(_, name)| name)
}

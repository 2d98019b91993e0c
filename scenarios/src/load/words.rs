//! What a reader of scenarios has to know of the format beyond its shape.

use mock_servers::{
    reading::{Format, Limits},
    script,
};

/// Scenarios as files.
pub(super) const FORMAT: Format = Format {
    noun: "scenario",
    opening: "begins with `scenario: <area>/<name>`",
    limits: Limits { bytes: 1 << 20, depth: 64, values: 20_000, aliases: 200, replayed: 20_000 },
    name_of_words,
    words_with_values: &["steps", "do", "fault", "shape"],
};

fn name_of_words(known: &[&str], key: Option<&str>) -> Option<&'static str> {
    if key == Some("subject") {
        return Some("subject");
    }
    let names = [
        ("finish", "step"),
        ("stdio", "transport"),
        ("2025-11-25", "revision"),
        ("closed", "load shape"),
        ("pinned", "protocol setup"),
        ("tools-changed", "event"),
        ("client", "party"),
    ];
    let name = names.into_iter().find(|(word, _)| known.contains(word)).map(|(_, name)| name);
    name.or_else(|| script::name_of_words(known))
}

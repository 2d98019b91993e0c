//! Names of the parts of a scenario in error messages.

use diagnostics::document::{Format, Limits};
use mock_servers::script;

/// The format of scenario files.
pub(super) const FORMAT: Format = Format {
    noun: "scenario",
    example: "begins with `scenario: <area>/<name>`",
    limits: Limits::SMALL,
    noun_of: name_of_words,
    renamed: script::RENAMED,
};

fn name_of_words(known: &[&str], key: Option<&str>) -> Option<&'static str> {
    if key == Some("subject") {
        return Some("subject");
    }
    let names = [
        ("finish", "step"),
        ("pages", "step"),
        ("stdio", "transport"),
        ("2025-11-25", "revision"),
        ("closed", "load shape"),
        ("pinned", "revision setup"),
        ("tools-changed", "event"),
        ("client", "sender"),
    ];
    let name = names.into_iter().find(|(word, _)| known.contains(word)).map(|(_, name)| name);
    name.or_else(|| script::name_of_words(known))
}

//! A comparison as a comment on a pull request: what broke first, the rest folded.

use super::{Change, ChangeKind, Comparison, changes, limit, notes, transition};
use crate::render::markdown::{Page, code, escaped, linked};

/// Length of the table of one kind, in bytes, after which no row is added: all kinds fit on the page.
const MAX_SECTION: usize = 6_000;

/// Renders a comparison as GitHub Flavored Markdown of at most 65,000 characters; the text ends with a line feed.
#[must_use]
pub fn markdown(comparison: &Comparison) -> String {
    let mut page = Page::default();
    let word = if comparison.is_broken() { "broken" } else { "nothing broke" };
    page.push(&format!("## {}: {word}\n\n", escaped(&comparison.new.subject, 200)));
    page.push(&format!(
        "Compared with {} ({}).\n",
        code(&comparison.old.run_id),
        escaped(&comparison.old.subject, 200)
    ));
    for note in notes(comparison) {
        page.push(&format!("\n> {}\n", escaped(&note, 500)));
    }
    page.push(
        "\n| broken | flaky | warned | slower | fixed | removed | new | unchanged |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let counts: Vec<String> =
        ChangeKind::ALL.into_iter().map(|kind| comparison.counts.count(kind).to_string()).collect();
    page.push(&format!("| {} | {} |\n", counts.join(" | "), comparison.unchanged));
    for kind in ChangeKind::ALL {
        push_kind(&mut page, comparison, kind);
    }
    page.finish()
}

fn push_kind(page: &mut Page, comparison: &Comparison, kind: ChangeKind) {
    let (changes, limit) = (changes(comparison, kind), limit(kind));
    if changes.is_empty() {
        return;
    }
    let is_open = kind == ChangeKind::Broken;
    let open = if is_open { " open" } else { "" };
    let (count, name) = (changes.len(), kind.as_str());
    let mut section = format!("\n<details{open}><summary><b>{name}</b> ({count})</summary>\n\n");
    section.push_str("| case | check | change | observed |\n| --- | --- | --- | --- |\n");
    let mut shown = 0;
    while shown < count.min(limit) && section.len() < MAX_SECTION {
        section.push_str(&row(changes[shown]));
        shown += 1;
    }
    if shown < count {
        section.push_str(&format!("\n{} more are in the JSON output.\n", count - shown));
    }
    // A table that ends in the middle would lose the end of its section, so it is one piece.
    page.push(&(section + "\n</details>\n"));
}

fn row(change: &Change) -> String {
    let check = change.check.as_deref().map(|check| match &change.requirement {
        Some(requirement) => linked(&code(check), &requirement.url),
        None => code(check),
    });
    let observed = if change.measured.is_some() { String::new() } else { escaped(&change.observed, 300) };
    format!(
        "| {} | {} | {} | {observed} |\n",
        code(&change.case),
        check.unwrap_or_default(),
        escaped(&transition(change), 200)
    )
}

//! Links in the documentation to local files exist. Web addresses are not checked: the result must not depend on other
//! servers.

use pulldown_cmark::{Event, Parser, Tag};

use super::Problem;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.ending(".md") {
        for (event, range) in Parser::new(&file.text).into_offset_iter() {
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else { continue };
            if let Some((what, remedy)) = broken(tree, file, &dest_url) {
                problems.push(Problem::new(&file.path, file.line_of(range.start), what, remedy));
            }
        }
    }
    problems
}

fn broken(tree: &Tree, file: &File, target: &str) -> Option<(String, &'static str)> {
    let path = target.split(['#', '?']).next().unwrap_or(target);
    if path.is_empty() || is_address(target) {
        return None;
    }
    let Some(place) = resolved(&file.path, &path.replace("%20", " ")) else {
        return Some((format!("the link `{target}` leads out of the workspace"), "link a file of the workspace"));
    };
    let exists = tree.root.join(&place).exists();
    (!exists).then(|| (format!("the link `{target}` leads to {place}, which does not exist"), "correct the link"))
}

/// Whether a target has a scheme, as `https:` and `mailto:` (RFC 3986, section 3.1).
fn is_address(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.chars().all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character))
    })
}

/// The path below the root to which a link of a file leads; none if it leads out of it.
fn resolved(from: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::problems;

    fn found(text: &str) -> Vec<String> {
        problems(check, &[("docs/a.md", text), ("docs/b.md", ""), ("README.md", "")])
    }

    #[test]
    fn refuses_links_that_lead_nowhere() {
        assert_eq!(
            found("# A\n\nSee [it](gone.md#part).\n"),
            ["docs/a.md:3: the link `gone.md#part` leads to docs/gone.md, which does not exist; correct the link"],
        );
        assert!(found("![plot](plot.svg)\n")[0].contains("docs/plot.svg"));
        assert!(found("[x][ref]\n\n[ref]: ../gone.md\n")[0].contains("leads to gone.md"));
    }

    #[test]
    fn refuses_links_out_of_the_workspace() {
        assert!(found("[x](../../other/README.md)\n")[0].contains("leads out of the workspace"));
        assert!(found("[x](/etc/hosts)\n")[0].contains("leads out of the workspace"));
    }

    #[test]
    fn lets_pass_what_leads_somewhere_and_what_is_no_link() {
        let text = "[a](b.md) [b](../README.md#x) [c](#here) [d](.) [e](https://x.org/gone) <mailto:a@x.org>\n\n    [code](gone.md)\n\n`[code](gone.md)`\n";
        assert_eq!(found(text), [""; 0]);
    }
}

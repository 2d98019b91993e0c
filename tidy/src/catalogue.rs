//! The id of a scenario is the place of its file, so that a report leads to it.

use std::collections::BTreeMap;

use super::Problem;
use super::tree::{File, Tree};

const CATALOGUE: &str = "scenarios/catalog/";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen = BTreeMap::new();
    for file in tree.files.iter().filter(|file| file.path.starts_with(CATALOGUE)) {
        let place = &file.path[CATALOGUE.len()..];
        let Some(wanted) = place.strip_suffix(".yaml") else {
            if place.ends_with(".yml") {
                problems.push(Problem::new(&file.path, 1, "a scenario ends in `.yaml`", "rename it"));
            }
            continue;
        };
        if wanted.split('/').count() != 2 {
            let what = "the path of a scenario is `scenarios/catalog/<area>/<name>.yaml`";
            problems.push(Problem::new(&file.path, 1, what, "move it to its area"));
        }
        let Some((line, id)) = first_key(file) else {
            let what = "the first key of a scenario is `scenario`";
            problems.push(Problem::new(&file.path, 1, what, format!("open it with `scenario: {wanted}`")));
            continue;
        };
        if let Some(other) = seen.insert(id.to_owned(), file.path.as_str()) {
            let what = format!("the id `{id}` is also that of {other}");
            problems.push(Problem::new(&file.path, line, what, "ids are unique"));
        }
        if id != wanted {
            let what = format!("the id `{id}` is not the place of the file");
            problems.push(Problem::new(&file.path, line, what, format!("call it `{wanted}`, or move the file")));
        }
    }
    problems
}

/// The line and the value of `scenario`, if it is the first key.
fn first_key(file: &File) -> Option<(usize, &str)> {
    let mut lines = file.text.lines().enumerate();
    let (number, line) = lines.find(|(_, line)| !line.trim().is_empty() && !line.starts_with('#') && *line != "---")?;
    let value = line.strip_prefix("scenario:")?;
    let value = value.split(" #").next().unwrap_or(value).trim();
    Some((number + 1, value.trim_matches(|quote| quote == '"' || quote == '\'')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::problems;

    const STUCK: &str = "scenarios/catalog/tools/stuck.yaml";

    #[test]
    fn refuses_an_id_that_is_not_the_place_of_its_file() {
        assert_eq!(
            problems(check, &[(STUCK, "# Why.\n\nscenario: tools/stock\nsubject: client\n")]),
            [format!(
                "{STUCK}:3: the id `tools/stock` is not the place of the file; call it `tools/stuck`, or move the file"
            )],
        );
    }

    #[test]
    fn refuses_the_same_id_twice() {
        let text = "scenario: tools/stuck\n";
        let found = problems(check, &[(STUCK, text), ("scenarios/catalog/tools/twin.yaml", text)]);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("is also that of scenarios/catalog/tools/stuck.yaml"), "{}", found[0]);
    }

    #[test]
    fn refuses_files_without_an_id_or_at_another_depth() {
        for text in ["", "# Only words.\n", "subject: client\nscenario: tools/stuck\n"] {
            assert!(problems(check, &[(STUCK, text)])[0].contains("open it with `scenario: tools/stuck`"), "{text:?}");
        }
        assert!(problems(check, &[("scenarios/catalog/a.yaml", "scenario: a\n")])[0].contains("<area>/<name>"));
        assert!(problems(check, &[("scenarios/catalog/a/b.yml", "scenario: a/b\n")])[0].contains("rename"));
    }

    #[test]
    fn lets_pass_quotes_comments_and_other_files() {
        for text in
            ["scenario: tools/stuck\n", "---\nscenario: \"tools/stuck\"  # one\n", "# Why.\nscenario: 'tools/stuck'\n"]
        {
            assert_eq!(problems(check, &[(STUCK, text), ("scenarios/catalog/README.md", "")]), [""; 0], "{text:?}");
        }
    }
}

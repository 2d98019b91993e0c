//! Names, prose and help follow the style guide: standard terms, no metaphors, help in the imperative.

mod rules;
mod source;

use regex::Regex;
use rules::{EXCEPTIONS, RULES, Rule, Scope};
use source::Fragment;

use super::Problem;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let style = Style::new();
    tree.files.iter().flat_map(|file| style.problems(file)).collect()
}

struct Style {
    rules: Vec<(Regex, &'static Rule)>,
    exceptions: Vec<(&'static str, Regex)>,
}

impl Style {
    fn new() -> Self {
        // The tests compile every pattern.
        let compile = |pattern: &str| Regex::new(pattern).ok();
        Self {
            rules: RULES.iter().filter_map(|rule| Some((compile(rule.pattern)?, rule))).collect(),
            exceptions: EXCEPTIONS.iter().filter_map(|one| Some((one.path, compile(one.pattern)?))).collect(),
        }
    }

    fn problems(&self, file: &File) -> Vec<Problem> {
        let mut problems = Vec::new();
        for Fragment { scope, line, text } in fragments(file) {
            for (offset, words) in text.lines().enumerate() {
                for (pattern, rule) in self.rules.iter().filter(|(_, rule)| rule.scope == scope) {
                    if let Some(found) = pattern.find_iter(words).find(|found| !self.is_exception(file, words, found)) {
                        let what = match scope {
                            Scope::Name => format!("the name `{words}`"),
                            Scope::Prose => format!("`{}`", found.as_str()),
                            Scope::Help => format!("help that starts with `{}`", found.as_str().trim()),
                        };
                        problems.push(Problem::new(&file.path, line + offset, what, rule.remedy));
                    }
                }
            }
        }
        problems
    }

    fn is_exception(&self, file: &File, words: &str, found: &regex::Match<'_>) -> bool {
        let covers = |pattern: &Regex| {
            pattern.find_iter(words).any(|one| one.start() < found.end() && found.start() < one.end())
        };
        self.exceptions.iter().any(|(path, pattern)| file.path.starts_with(path) && covers(pattern))
    }
}

/// The names and texts of a file that the rules apply to.
fn fragments(file: &File) -> Vec<Fragment> {
    let stem = file.path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
    let is_test = file.path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "corpus" | "broken"));
    let mut fragments = if let Some(extension) = file.path.rsplit_once('.').map(|(_, extension)| extension) {
        match extension {
            "rs" => source::fragments(&file.text).unwrap_or_default(),
            "md" if file.path != "CHANGELOG.md" => lines(&file.text, |_| true),
            // Released sections do not change.
            "md" => lines(file.text.split("\n## ").take(2).collect::<Vec<_>>().join("\n## ").as_str(), |_| true),
            "yaml" if file.path.starts_with("scenarios/catalog/") => {
                lines(&file.text, |line| line.starts_with("title:"))
            }
            _ => return Vec::new(),
        }
    } else {
        return Vec::new();
    };
    fragments.retain(|fragment| fragment.scope == Scope::Name || !is_test);
    fragments.push(Fragment { scope: Scope::Name, line: 1, text: stem.to_owned() });
    fragments
}

fn lines(text: &str, wanted: fn(&str) -> bool) -> Vec<Fragment> {
    let numbered = text.lines().enumerate().filter(|(_, line)| wanted(line));
    numbered.map(|(number, line)| Fragment { scope: Scope::Prose, line: number + 1, text: line.to_owned() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::problems;

    fn found(path: &str, text: &str) -> Vec<String> {
        problems(check, &[(path, text)])
    }

    #[test]
    fn every_pattern_is_a_regular_expression() {
        let style = Style::new();
        assert_eq!((style.rules.len(), style.exceptions.len()), (RULES.len(), EXCEPTIONS.len()));
    }

    #[test]
    fn refuses_names_of_types_functions_modules_files_and_format_values() {
        for source in [
            "struct Teller;",
            "enum Place {}",
            "fn turn_away() {}",
            "mod farewell {}",
            "trait Front {}",
            "#[cfg(test)]\nmod tests { fn problems_are_told() {} }",
            "#[derive(Serialize)]\nenum Kind { Farewell }",
        ] {
            assert_eq!(found("a/src/lib.rs", source).len(), 1, "{source}");
        }
        assert!(found("a/src/teller.rs", "")[0].starts_with("a/src/teller.rs:1: the name `teller`"));
        assert_eq!(found("a/src/lib.rs", "enum Kind { Found }\nfn pop_front() {}\nstruct Placement;"), [""; 0]);
    }

    #[test]
    fn refuses_prose_in_comments_literals_documents_and_titles() {
        for (path, text, line) in [
            ("a/src/lib.rs", "/// Fine.\n/// Nobody listens.\nfn a() {}", 2),
            ("a/src/lib.rs", "fn a() {\n    // The server lies.\n}", 2),
            ("a/src/lib.rs", "fn a() {\n    b!(\"it makes no sense\");\n}", 2),
            ("a/src/lib.rs", "const A: &str = \"one\\ntwo of no use\";", 2),
            ("docs/a.md", "Fine.\n\nWhat the client is told.", 3),
            ("scenarios/catalog/a/b.yaml", "scenario: a/b\ntitle: nobody waits\n", 2),
        ] {
            let found = found(path, text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with(&format!("{path}:{line}: ")), "{found:?}");
        }
    }

    #[test]
    fn prose_of_tests_and_released_changes_may_be_anything() {
        let test = "#[cfg(test)]\nmod tests {\n    // Nobody.\n    const A: &str = \"nobody\";\n}\n";
        assert_eq!(found("a/src/lib.rs", test), [""; 0]);
        assert_eq!(found("a/tests/b.rs", "// Nobody.\n"), [""; 0]);
        let log = "# Changelog\n\n## Unreleased\n\nFine.\n\n## 0.1.0\n\nNobody.\n";
        assert_eq!(found("CHANGELOG.md", log), [""; 0]);
        assert_eq!(found("CHANGELOG.md", &log.replace("Fine", "Nobody")).len(), 1);
    }

    #[test]
    fn refuses_help_that_is_neither_imperative_nor_a_noun() {
        for source in [
            "#[derive(Subcommand)]\nenum Command {\n    /// Be a server.\n    Serve,\n}",
            "#[derive(Debug, clap::Args)]\nstruct Args {\n    /// How many calls.\n    calls: usize,\n}",
            "#[derive(ValueEnum)]\nenum Form {\n    /// What a person reads.\n    Text,\n}",
        ] {
            let found = found("a/src/lib.rs", source);
            assert!(found.len() == 1 && found[0].starts_with("a/src/lib.rs:3: help that starts with"), "{found:?}");
        }
        assert_eq!(found("a/src/lib.rs", "/// How it works.\nstruct A;"), [""; 0]);
    }

    #[test]
    fn exceptions_cover_only_their_own_words() {
        assert_eq!(found("a.md", "It is no longer there, and the lock is held for a moment."), [""; 0]);
        assert_eq!(found("a.md", "It is no longer there, and nobody waits.").len(), 1);
        assert_eq!(found("a.md", "The RFC says \u{201c}anybody\u{201d}."), [""; 0]);
    }
}

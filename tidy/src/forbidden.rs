//! Words that must not be in any text of the workspace: unfinished code, silenced lints, paths of one machine.

use super::Problem;
use super::tree::Tree;

// Each is put together from parts, so that this file does not hold it.
const WORDS: [(&str, &str); 5] = [
    (concat!("to", "do!("), "finish it, or leave it out"),
    (concat!("unimple", "mented!("), "finish it, or leave it out"),
    (concat!("db", "g!("), "use `tracing`"),
    (concat!("#[al", "low("), "use `#[expect(…, reason = \"…\")]`"),
    (concat!("#![al", "low("), "use `#![expect(…, reason = \"…\")]`"),
];

const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for (number, line) in file.text.lines().enumerate() {
            for (word, remedy) in WORDS.iter().filter(|(word, _)| holds(line, word, is_part_of_name)) {
                problems.push(Problem::new(&file.path, number + 1, format!("`{word}` is not used here"), *remedy));
            }
            for path in MACHINE_PATHS.iter().filter(|path| holds(line, path, is_part_of_path)) {
                let what = format!("`{path}…` is a path of one machine");
                problems.push(Problem::new(&file.path, number + 1, what, "use a path below the workspace"));
            }
        }
    }
    problems
}

/// Whether a line contains a word that does not go on to the left.
fn holds(line: &str, word: &str, goes_on: fn(char) -> bool) -> bool {
    line.match_indices(word).any(|(place, _)| !line[..place].chars().next_back().is_some_and(goes_on))
}

fn is_part_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// `file:///a/` and `target/a/` are not paths that begin at the root of a machine.
fn is_part_of_path(character: char) -> bool {
    character.is_alphanumeric() || "_-./}>~*".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::problems;

    #[test]
    fn refuses_each_word_with_its_place() {
        for (word, remedy) in WORDS {
            let found = problems(check, &[("a.rs", &format!("fine\n    {word}x)\n"))]);
            assert_eq!(found, [format!("a.rs:2: `{word}` is not used here; {remedy}")]);
        }
    }

    #[test]
    fn refuses_paths_of_one_machine() {
        for path in MACHINE_PATHS {
            for line in [format!("cd {path}main"), format!("\"{path}x\""), format!("{path}x"), format!("A={path}x")] {
                assert_eq!(problems(check, &[("a.md", &line)]).len(), 1, "{line}");
            }
        }
    }

    #[test]
    fn lets_pass_words_that_only_end_like_it() {
        let [work, root] = MACHINE_PATHS;
        let fine = format!("my_{}\nfile://{root}a target{work}a ~{root}\nallow(\n", WORDS[0].0);
        assert_eq!(problems(check, &[("a.rs", &fine)]), [""; 0]);
    }
}

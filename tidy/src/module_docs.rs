//! Every module opens with what it owns and what it refuses to do.

use super::Problem;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let sources = tree.ending(".rs").filter(|file| file.path.split('/').any(|part| part == "src"));
    sources
        // The tests of a module are described by the module.
        .filter(|file| !file.path.ends_with("/tests.rs") && !opens_with_documentation(&file.text))
        .map(|file| {
            let what = "the module has no documentation";
            Problem::new(
                &file.path,
                1,
                what,
                "open it with `//!` lines that say what it owns and what it refuses to do",
            )
        })
        .collect()
}

/// Whether the first line that is not an attribute, a plain comment or blank is documentation of the module.
fn opens_with_documentation(text: &str) -> bool {
    let ignored = |line: &str| line.is_empty() || line.starts_with("#!") || is_plain_comment(line);
    let first = text.lines().map(str::trim).find(|line| !ignored(line));
    first.and_then(|line| line.strip_prefix("//!")).is_some_and(|words| !words.trim().is_empty())
}

fn is_plain_comment(line: &str) -> bool {
    line.starts_with("//") && !line.starts_with("//!") && !line.starts_with("///")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::problems;

    #[test]
    fn refuses_a_module_that_does_not_say_what_it_is() {
        for text in ["", "fn a() {}\n", "/// A function.\nfn a() {}\n", "//!\nfn a() {}\n", "use a;\n//! Late.\n"] {
            let found = problems(check, &[("a/src/b.rs", text)]);
            assert_eq!(found.len(), 1, "{text:?}");
            assert!(found[0].starts_with("a/src/b.rs:1: the module has no documentation; "), "{}", found[0]);
        }
    }

    #[test]
    fn lets_pass_documented_modules_and_what_is_no_module() {
        let documented = ["//! Words.\n", "#![forbid(unsafe_code)]\n\n//! Words.\n", "// A licence.\n//! Words.\n"];
        for text in documented {
            assert_eq!(problems(check, &[("a/src/b.rs", text)]), [""; 0], "{text:?}");
        }
        assert_eq!(problems(check, &[("a/build.rs", ""), ("a/src/b/tests.rs", ""), ("a/src/b.txt", "")]), [""; 0]);
    }
}

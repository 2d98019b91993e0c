//! Files and functions that are short enough to read.
//!
//! Tests do not count (`tests.rs`, files below `tests/`, modules under `#[cfg(test)]`), nor do generated files (those
//! that say `@generated` in one of their first lines).

use std::ops::RangeInclusive;

use proc_macro2::Span;
use syn::visit::{self, Visit};

use super::Problem;
use super::tree::{File, Tree};

/// The most lines of a file, without its tests.
const FILE_LIMIT: usize = 600;
/// The most lines of a function, from its signature to its last brace.
const FUNCTION_LIMIT: usize = 80;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.ending(".rs").filter(|file| !is_apart(file)).flat_map(measure).collect()
}

fn is_apart(file: &File) -> bool {
    let generated = file.text.lines().take(5).any(|line| line.starts_with("//") && line.contains("@generated"));
    generated || file.path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

fn measure(file: &File) -> Vec<Problem> {
    let syntax = match syn::parse_file(&file.text) {
        Ok(syntax) => syntax,
        Err(error) => {
            let what = format!("not Rust: {error}");
            return vec![Problem::new(&file.path, error.span().start().line, what, "correct it")];
        }
    };
    let mut ruler = Ruler::default();
    ruler.visit_file(&syntax);
    let tests: usize = ruler.tests.iter().map(|lines| lines.clone().count()).sum();
    let length = file.text.lines().count() - tests;
    let mut problems = Vec::new();
    if length > FILE_LIMIT {
        let what = format!("{length} lines without tests; {FILE_LIMIT} are the limit");
        problems.push(Problem::new(&file.path, 1, what, "split it by responsibility"));
    }
    for (name, lines) in ruler.functions {
        let length = lines.clone().count();
        if length > FUNCTION_LIMIT {
            let what = format!("`{name}` has {length} lines; {FUNCTION_LIMIT} are the limit");
            problems.push(Problem::new(&file.path, *lines.start(), what, "give its parts names of their own"));
        }
    }
    problems
}

#[derive(Default)]
struct Ruler {
    functions: Vec<(String, RangeInclusive<usize>)>,
    tests: Vec<RangeInclusive<usize>>,
}

impl Ruler {
    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let lines = lines(signature.fn_token.span, body.brace_token.span.close());
        self.functions.push((signature.ident.to_string(), lines));
    }
}

impl<'ast> Visit<'ast> for Ruler {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        match (&module.content, module.attrs.iter().find(|attribute| is_test(attribute))) {
            (Some((brace, _)), Some(first)) => {
                self.tests.push(lines(first.pound_token.span, brace.span.close()));
            }
            _ => visit::visit_item_mod(self, module),
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.function(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn lines(from: Span, to: Span) -> RangeInclusive<usize> {
    from.start().line..=to.end().line
}

/// Whether an attribute is `#[cfg(test)]`, or `#[cfg(all(test, …))]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let condition: String = list.tokens.to_string().split_whitespace().collect();
    list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all(test,"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::problems;

    fn found(path: &str, text: &str) -> Vec<String> {
        problems(check, &[(path, text)])
    }

    fn body(lines: usize) -> String {
        "    work();\n".repeat(lines)
    }

    #[test]
    fn refuses_a_long_function_wherever_it_is() {
        let long = format!("fn long() {{\n{}}}\n", body(79));
        assert_eq!(
            found("a/src/lib.rs", &format!("//! x\n{long}")),
            ["a/src/lib.rs:2: `long` has 81 lines; 80 are the limit; give its parts names of their own"],
        );
        for around in ["impl A {\n", "trait A {\n", "mod inner {\n", "fn outer() {\n"] {
            assert!(found("a/src/lib.rs", &format!("{around}{long}}}\n"))[0].contains("`"), "{around}");
        }
        assert_eq!(found("a/src/lib.rs", &format!("fn short() {{\n{}}}\n", body(78))), [""; 0]);
    }

    #[test]
    fn does_not_count_the_documentation_of_a_function() {
        let text = format!("{}fn short() {{\n{}}}\n", "/// word\n".repeat(50), body(70));
        assert_eq!(found("a/src/lib.rs", &text), [""; 0]);
    }

    #[test]
    fn refuses_a_long_file() {
        assert_eq!(
            found("a/src/lib.rs", &"const A: u8 = 1;\n".repeat(601)),
            ["a/src/lib.rs:1: 601 lines without tests; 600 are the limit; split it by responsibility"],
        );
        assert_eq!(found("a/src/lib.rs", &"const A: u8 = 1;\n".repeat(600)), [""; 0]);
    }

    #[test]
    fn tests_and_generated_files_do_not_count() {
        let long = format!("fn long() {{\n{}}}\n", body(700));
        for attribute in ["#[cfg(test)]", "#[cfg(all(test, unix))]"] {
            let tested = format!("const A: u8 = 1;\n{attribute}\nmod tests {{\n{long}}}\n");
            assert_eq!(found("a/src/lib.rs", &tested), [""; 0]);
        }
        assert_eq!(found("a/src/b/tests.rs", &long), [""; 0]);
        assert_eq!(found("a/tests/b.rs", &long), [""; 0]);
        assert_eq!(found("a/src/b.rs", &format!("// @generated by x\n{long}")), [""; 0]);
        let other = format!("#[cfg(not(test))]\nmod inner {{\n{long}}}\n");
        assert_eq!(found("a/src/lib.rs", &other).len(), 2);
    }

    #[test]
    fn says_where_a_file_is_not_rust() {
        assert!(found("a/src/lib.rs", "fn a() {}\nfn {\n")[0].starts_with("a/src/lib.rs:2: not Rust: "));
    }
}

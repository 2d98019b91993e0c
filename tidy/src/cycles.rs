//! Sibling modules do not import each other in cycles, directly or through other siblings.
//!
//! A module counts with everything inside it: `a::x` that imports `b` makes `a` import its sibling `b`. Imports between a
//! module and its parent or its children are not counted.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Problem;
use super::tree::Tree;

/// Known cycles: the first module of the cycle, and the reason.
const KNOWN: [(&str, &str); 1] =
    [("client", "its core around the request tracker and rmcp's service loop is to be replaced as a whole")];

/// A module path below the crate: `["auth", "token"]`.
type Path = Vec<String>;
/// The modules of a crate: the file of each, and the paths that it imports with their lines.
type Modules<'a> = BTreeMap<Path, (&'a str, Vec<(Path, usize)>)>;
/// The siblings below one parent, with what each imports and where: path and line.
type Siblings = BTreeMap<String, BTreeMap<String, (String, usize)>>;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for file in tree.ending(".rs") {
        let Some((name, below)) = file.path.split_once("/src/") else { continue };
        let path = module_path(below);
        // Tests may use everything.
        if name.contains('/') || path.last().is_some_and(|last| last == "tests") {
            continue;
        }
        let imports = imports(&file.text, &path);
        crates.entry(name).or_default().insert(path, (&file.path, imports));
    }
    let mut problems = Vec::new();
    for (name, modules) in crates {
        for (parent, siblings) in by_parent(&modules) {
            problems
                .extend(cycles(&siblings).into_iter().filter_map(|cycle| problem(name, &parent, &siblings, &cycle)));
        }
    }
    problems
}

fn problem(name: &str, parent: &Path, siblings: &Siblings, cycle: &BTreeSet<String>) -> Option<Problem> {
    let known = KNOWN.iter().any(|(known, _)| parent.is_empty() && *known == name);
    if known {
        return None;
    }
    let edges = cycle.iter().filter_map(|module| Some((module, siblings.get(module)?)));
    let mut edges = edges.flat_map(|(module, imports)| {
        imports.iter().filter(|(other, _)| cycle.contains(*other)).map(move |(other, place)| (module, other, place))
    });
    let (_, _, (path, line)) = edges.next()?;
    let modules: Vec<&str> = cycle.iter().map(String::as_str).collect();
    let parent = std::iter::once(name).chain(parent.iter().map(String::as_str)).collect::<Vec<_>>().join("::");
    let what = format!("the modules {} of `{parent}` import each other in a cycle", modules.join(", "));
    Some(Problem::new(path, *line, what, "move what they share into a module below both"))
}

/// The path of the module in a file below `src`.
fn module_path(below: &str) -> Path {
    let mut parts: Path = below.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| matches!(last.as_str(), "lib" | "main" | "mod")) {
        parts.pop();
    }
    parts
}

/// For each parent module its children, and what each imports from its siblings.
fn by_parent(modules: &Modules<'_>) -> BTreeMap<Path, Siblings> {
    let mut parents: BTreeMap<Path, Siblings> = BTreeMap::new();
    for (from, (file, imports)) in modules {
        for (to, line) in imports {
            let common = from.iter().zip(to).take_while(|(one, other)| one == other).count();
            let (Some(one), Some(other)) = (from.get(common), to.get(common)) else { continue };
            let sibling: Path = to[..=common].to_vec();
            // A name in the parent, not a module.
            if !modules.keys().any(|module| module.starts_with(&sibling)) {
                continue;
            }
            let siblings = parents.entry(from[..common].to_vec()).or_default();
            siblings
                .entry(one.clone())
                .or_default()
                .entry(other.clone())
                .or_insert_with(|| ((*file).to_owned(), *line));
        }
    }
    parents
}

/// The groups of siblings that reach each other.
fn cycles(siblings: &Siblings) -> Vec<BTreeSet<String>> {
    let reached = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from.to_owned()];
        while let Some(next) = open.pop() {
            for other in siblings.get(&next).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(other.clone()) {
                    open.push(other.clone());
                }
            }
        }
        reached
    };
    let reach: BTreeMap<&str, BTreeSet<String>> = siblings.keys().map(|one| (one.as_str(), reached(one))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (one, reached) in &reach {
        let cycle: BTreeSet<String> = reached
            .iter()
            .filter(|other| reach.get(other.as_str()).is_some_and(|back| back.contains(*one)))
            .cloned()
            .collect();
        if cycle.len() > 1 && !found.contains(&cycle) {
            found.push(cycle);
        }
    }
    found
}

/// The paths that a file names with `crate`, `super` or `self`, outside of its tests, with their lines.
fn imports(text: &str, module: &Path) -> Vec<(Path, usize)> {
    let mut found = Vec::new();
    if let Ok(tokens) = text.parse::<TokenStream>() {
        scan(tokens, module, &mut found);
    }
    found
}

fn scan(tokens: TokenStream, module: &Path, found: &mut Vec<(Path, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut test_item = false;
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        match token {
            TokenTree::Ident(name) if name == "crate" || name == "super" || name == "self" => {
                let line = name.span().start().line;
                index = read_path(&tokens, index, module.clone(), line, found);
                continue;
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => test_item = false,
            TokenTree::Group(group) => {
                let attribute: String = group.stream().to_string().split_whitespace().collect();
                if group.delimiter() == Delimiter::Bracket {
                    test_item |= attribute.starts_with("cfg(test") || attribute.starts_with("cfg(all(test");
                    // Visibilities such as `pub(in crate::a)` are in parentheses; attributes import nothing.
                }
                if !(test_item && group.delimiter() == Delimiter::Brace) {
                    scan(group.stream(), module, found);
                } else {
                    test_item = false;
                }
            }
            _ => {}
        }
        index += 1;
    }
}

/// Reads a path from `index` on, and each of its branches in braces; returns the index after it.
fn read_path(tokens: &[TokenTree], index: usize, base: Path, line: usize, found: &mut Vec<(Path, usize)>) -> usize {
    let (mut path, mut index, mut first) = (base, index, true);
    loop {
        match tokens.get(index) {
            Some(TokenTree::Ident(name)) => match name.to_string().as_str() {
                "crate" => path.clear(),
                "super" => drop(path.pop()),
                "self" => {}
                name => path.push(name.to_owned()),
            },
            Some(TokenTree::Group(group)) if !first && group.delimiter() == Delimiter::Brace => {
                branches(group.stream(), &path, found);
                return index + 1;
            }
            _ => break,
        }
        first = false;
        index += 1;
        if !is_separator(tokens, index) {
            break;
        }
        index += 2;
    }
    found.push((path, line));
    index
}

fn branches(tokens: TokenStream, base: &Path, found: &mut Vec<(Path, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for branch in tokens.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')) {
        if let Some(first) = branch.first() {
            read_path(branch, 0, base.clone(), first.span().start().line, found);
        }
    }
}

fn is_separator(tokens: &[TokenTree], index: usize) -> bool {
    let colon = |index| matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    colon(index) && colon(index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::problems;

    #[test]
    fn refuses_siblings_that_import_each_other() {
        let found = problems(
            check,
            &[
                ("a/src/lib.rs", "mod one; mod two;"),
                ("a/src/one.rs", "use crate::{two::Two, fine};"),
                ("a/src/two.rs", "mod inner;"),
                ("a/src/two/inner.rs", "\nuse super::super::one;\n"),
            ],
        );
        let what = "the modules one, two of `a` import each other in a cycle";
        assert_eq!(found, [format!("a/src/one.rs:1: {what}; move what they share into a module below both")]);
    }

    #[test]
    fn refuses_longer_cycles_inside_a_module() {
        let found = problems(
            check,
            &[
                ("a/src/m/x.rs", "fn f() { super::y::g(); }"),
                ("a/src/m/y.rs", "use crate::m::{self, z};"),
                ("a/src/m/z.rs", "use super::{x::{self, X}};"),
            ],
        );
        assert!(found.len() == 1 && found[0].contains("modules x, y, z of `a::m`"), "{found:?}");
    }

    #[test]
    fn lets_pass_parents_children_tests_and_names() {
        let files = [
            ("a/src/lib.rs", "mod one; mod two; use one::A;"),
            ("a/src/one.rs", "mod child; use crate::two::Two; pub(crate) struct A;"),
            ("a/src/one/child.rs", "use super::A; use crate::Result;"),
            ("a/src/two.rs", "#[cfg(test)]\nmod tests { use crate::one::A; }\nstruct Two;"),
            ("a/src/two/tests.rs", "use crate::one::A;"),
        ];
        assert_eq!(problems(check, &files), [""; 0]);
    }

    #[test]
    fn known_cycles_belong_to_their_crate() {
        let root = [("client/src/a.rs", "use crate::b;"), ("client/src/b.rs", "use crate::a;")];
        assert_eq!(problems(check, &root), [""; 0]);
        let other = [("reports/src/a.rs", "use crate::b;"), ("reports/src/b.rs", "use crate::a;")];
        assert_eq!(problems(check, &other).len(), 1);
    }
}

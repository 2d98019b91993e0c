//! Names and prose of a Rust file, with their lines. Names in tests count, prose in tests does not.

use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::rules::Scope;

/// A name or a text with its first line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) scope: Scope,
    pub(super) line: usize,
    pub(super) text: String,
}

/// The names, comments, string literals and help lines of a file; `None` if it is not Rust.
pub(super) fn fragments(text: &str) -> Option<Vec<Fragment>> {
    let tokens: TokenStream = text.parse().ok()?;
    let syntax = syn::parse_file(text).ok()?;
    let mut reader = Reader::default();
    reader.read(tokens, false);
    let tests = reader.tests;
    let in_tests = |line: usize| tests.iter().any(|(first, last)| (*first..=*last).contains(&line));
    for (number, line) in text.lines().enumerate() {
        // Documentation is among the literals.
        let comment = line.trim_start().strip_prefix("//").filter(|rest| !rest.starts_with(['/', '!']));
        if let Some(comment) = comment.filter(|_| !in_tests(number + 1)) {
            reader.fragments.push(Fragment { scope: Scope::Prose, line: number + 1, text: comment.trim().to_owned() });
        }
    }
    let mut help = Help { fragments: reader.fragments };
    help.visit_file(&syntax);
    Some(help.fragments)
}

/// Reads names and literals from tokens, which include the arguments of macros.
#[derive(Default)]
struct Reader {
    fragments: Vec<Fragment>,
    /// First and last line of each module under `#[cfg(test)]`.
    tests: Vec<(usize, usize)>,
}

impl Reader {
    fn read(&mut self, tokens: TokenStream, in_test: bool) {
        let (mut declares, mut test_item) = (false, false);
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    let text = name.to_string();
                    if declares {
                        self.push(Scope::Name, name.span().start().line, text.clone());
                    }
                    declares = matches!(text.as_str(), "fn" | "struct" | "enum" | "trait" | "type" | "mod");
                }
                TokenTree::Literal(literal) => {
                    declares = false;
                    if !in_test {
                        self.literal(&literal);
                    }
                }
                TokenTree::Group(group) => {
                    declares = false;
                    let is_test = test_item && group.delimiter() == Delimiter::Brace;
                    if is_test {
                        self.tests.push((group.span_open().start().line, group.span_close().end().line));
                        test_item = false;
                    }
                    if group.delimiter() == Delimiter::Bracket {
                        let attribute: String = group.stream().to_string().split_whitespace().collect();
                        test_item |= attribute.starts_with("cfg(test") || attribute.starts_with("cfg(all(test");
                    }
                    self.read(group.stream(), in_test || is_test);
                }
                TokenTree::Punct(punct) => {
                    declares = false;
                    test_item &= punct.as_char() != ';';
                }
            }
        }
    }

    fn literal(&mut self, literal: &Literal) {
        let syn::Lit::Str(text) = syn::Lit::new(literal.clone()) else { return };
        self.push(Scope::Prose, literal.span().start().line, text.value());
    }

    fn push(&mut self, scope: Scope, line: usize, text: String) {
        self.fragments.push(Fragment { scope, line, text });
    }
}

/// Finds the names of values of formats, and the first line of the help of commands, arguments and values.
struct Help {
    fragments: Vec<Fragment>,
}

impl Help {
    fn first_line(&mut self, attributes: &[syn::Attribute]) {
        let first = attributes.iter().find_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text),
                _ => None,
            },
            _ => None,
        });
        if let Some(text) = first {
            let (line, text) = (text.span().start().line, text.value().trim().to_owned());
            self.fragments.push(Fragment { scope: Scope::Help, line, text });
        }
    }
}

impl<'ast> Visit<'ast> for Help {
    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let derives = derives(&item.attrs);
        for variant in &item.variants {
            if ["Serialize", "Deserialize", "ValueEnum"].iter().any(|derive| derives.contains(derive)) {
                let (line, text) = (variant.ident.span().start().line, variant.ident.to_string());
                self.fragments.push(Fragment { scope: Scope::Name, line, text });
            }
            if ["Subcommand", "ValueEnum"].iter().any(|derive| derives.contains(derive)) {
                self.first_line(&variant.attrs);
            }
        }
        visit::visit_item_enum(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if ["Args", "Parser"].iter().any(|derive| derives(&item.attrs).contains(derive)) {
            item.fields.iter().for_each(|field| self.first_line(&field.attrs));
        }
        visit::visit_item_struct(self, item);
    }
}

/// What an item derives, as text.
fn derives(attributes: &[syn::Attribute]) -> String {
    let derive = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    derive.filter_map(|attribute| attribute.meta.require_list().ok()).map(|list| list.tokens.to_string()).collect()
}

//! Syntax of mentions.

use proptest::prelude::*;

use super::*;

fn servers() -> Vec<String> {
    ["docs", "docs:v2", "plugin:x:y", "städte", ""].map(str::to_owned).to_vec()
}

fn found(text: &str) -> Vec<(String, String)> {
    mentions(text, &servers()).into_iter().map(|mention| (mention.server, mention.uri)).collect()
}

#[test]
fn mentions_are_distinguished_from_similar_text() {
    for (text, expected) in [
        ("see @docs:file:///a.md", vec![("docs", "file:///a.md")]),
        ("@docs:a and (@docs:b), @docs:c.", vec![("docs", "a"), ("docs", "b"), ("docs", "c")]),
        ("two servers: @docs:x @plugin:x:y:z://1", vec![("docs", "x"), ("plugin:x:y", "z://1")]),
        ("the longest name: @docs:v2:x", vec![("docs:v2", "x")]),
        ("@städte:köln/dom", vec![("städte", "köln/dom")]),
        ("blanks: @docs:<file:///my file.md>!", vec![("docs", "file:///my file.md")]),
        ("a bracket of its own: @docs:wiki/A_(b)", vec![("docs", "wiki/A_(b)")]),
        ("(@docs:wiki/A_(b))", vec![("docs", "wiki/A_(b)")]),
        ("who writes to me@docs:x or ssh git@docs:x", vec![]),
        ("@nobody:x @docs @docs: @: @docs:<>", vec![]),
        ("@docs:<never closed", vec![]),
        ("@docs:x\n@docs:y", vec![("docs", "x"), ("docs", "y")]),
        ("@docs:?a=b&c=@d", vec![("docs", "?a=b&c=@d")]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(server, uri)| (server.to_owned(), uri.to_owned())).collect();
        assert_eq!(found(text), expected, "{text}");
    }
}

#[test]
fn a_mention_has_its_byte_range() {
    let text = "ä @docs:x, @docs:<y z>";
    let ranges: Vec<&str> = mentions(text, &servers()).into_iter().map(|mention| &text[mention.range]).collect();
    assert_eq!(ranges, ["@docs:x", "@docs:<y z>"]);
}

proptest! {
    #[test]
    fn any_text_can_be_parsed(text in "([@:<>(). a-cé\n]|docs|docs:v2){0,30}") {
        let mut end = 0;
        for mention in mentions(&text, &servers()) {
            prop_assert!(mention.range.start >= end && !mention.uri.is_empty());
            end = mention.range.end;
            let begins = text[mention.range].starts_with(&format!("@{}:", mention.server));
            prop_assert!(begins);
        }
    }

    #[test]
    fn formatted_mentions_are_read_back(uri in "[a-z:/?#(). é]{1,20}[a-z.)]") {
        let written = parse::write("docs", &uri);
        let text = format!("({written}) and so on");
        prop_assume!(!uri.starts_with("v2:"));
        prop_assert_eq!(found(&text), [("docs".to_owned(), uri)]);
    }
}

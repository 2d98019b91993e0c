//! Parsing of slash commands.

use proptest::prelude::*;
use serde_json::json;

use super::{
    command::{arguments, split, unknown_command},
    *,
};

fn prompt(arguments: Value) -> Prompt {
    Prompt { server: "s".to_owned(), wire: json!({"name": "p", "arguments": arguments}) }
}

#[test]
fn whitespace_separates_values_and_quotes_join_them() {
    for (text, expected) in [
        ("a b", &["a", "b"][..]),
        ("  a\t\n b ", &["a", "b"]),
        ("", &[]),
        ("\"a b\" c", &["a b", "c"]),
        ("'a \"b\"' c", &["a \"b\"", "c"]),
        (r#""say \"hi\"" x"#, &["say \"hi\"", "x"]),
        ("it's o'clock", &["it's", "o'clock"]),
        (r"C:\new\dir \d", &[r"C:\new\dir", r"\d"]),
        ("'it's'", &["it's"]),
        ("\"\" x", &["", "x"]),
        ("天 気", &["天", "気"]),
    ] {
        assert_eq!(values(text).unwrap(), expected, "{text}");
    }
    assert_eq!(values("a \"b c"), Err(CommandError::OpenQuote { at: 3 }));
    assert!(values("a \"b c").unwrap_err().to_string().contains("character 3"));
}

#[test]
fn values_are_assigned_in_order() {
    let issue = prompt(json!([{"name": "title", "required": true}, {"name": "priority"}]));
    let fill = |values: &[&str]| arguments(&issue, "c", values.iter().map(|&value| value.to_owned()).collect());
    assert_eq!(Value::from(fill(&["bug"]).unwrap()), json!({"title": "bug"}));
    assert_eq!(Value::from(fill(&["bug", "high"]).unwrap()), json!({"title": "bug", "priority": "high"}));
    assert_eq!(Value::from(fill(&["bug", "very", "high"]).unwrap())["priority"], "very high");
    let error = fill(&[]).unwrap_err().to_string();
    assert!(error.contains("`title`; usage: `/c <title> [priority]`"), "{error}");
    let late = prompt(json!([{"name": "a"}, {"name": "b", "required": true}]));
    assert!(
        matches!(arguments(&late, "c", vec!["x".into()]), Err(CommandError::Missing { argument, .. }) if argument == "b")
    );
    let none = prompt(json!([]));
    assert_eq!(arguments(&none, "c", vec![]).unwrap().len(), 0);
    assert_eq!(arguments(&none, "c", vec!["x".into()]), Err(CommandError::NoArguments { name: "c".into() }));
}

#[test]
fn a_command_is_a_slash_and_a_name() {
    assert_eq!(split(" /mcp__a__b  x y").unwrap(), ("mcp__a__b", " x y"));
    assert_eq!(split("/n").unwrap(), ("n", ""));
    for text in ["", "/", "/ x", "x", "hello /x"] {
        assert_eq!(split(text), Err(CommandError::NotACommand), "{text}");
    }
    let known = ["mcp__a__summary".to_owned(), "mcp__b__other".to_owned()];
    assert!(unknown_command("mcp__a__sumary", known.iter()).to_string().contains("did you mean `/mcp__a__summary`?"));
    assert!(!unknown_command("zzz", known.iter()).to_string().contains("did you mean"));
}

proptest! {
    #[test]
    fn any_text_is_values_or_an_open_quote(text in "[a '\"\\\\\n天]{0,20}") {
        match values(&text) {
            Ok(values) => prop_assert!(values.len() <= text.chars().count()),
            Err(CommandError::OpenQuote { at }) => prop_assert!(at <= text.chars().count()),
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn plain_words_are_themselves(words in prop::collection::vec("[a-z.:/]{1,8}", 0..6)) {
        prop_assert_eq!(values(&words.join(" ")).unwrap(), words);
    }
}

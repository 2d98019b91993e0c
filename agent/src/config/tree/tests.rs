use proptest::prelude::*;

use super::*;

fn read_as(format: Format, text: &str) -> Result<Node, Diagnostic> {
    read(&Arc::new(Source::new("f", None, text, format)))
}

/// What is read, without places.
fn shown(node: &Node) -> String {
    match &node.data {
        Data::Null => "null".to_owned(),
        Data::Bool(value) => value.to_string(),
        Data::Number(value) => value.to_string(),
        Data::Text(text) => format!("{text:?}"),
        Data::Date => "date".to_owned(),
        Data::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(",")),
        Data::Table(entries) => {
            let entries = entries.iter().map(|entry| format!("{}={}", entry.key, shown(&entry.value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}

#[test]
fn both_formats_become_the_same_tree_in_the_order_of_the_file() {
    let toml = "z = 1\n[b]\nc = [true, 1.5, 'x']\n[b.a]\n'd e' = \"\\u00e4\"\n[q]\n";
    let json =
        "{ // why\n\"z\": 1, \"b\": {\"c\": [true, 1.5, \"x\"], \"a\": {\"d e\": \"\\u00e4\",},}, /* no */ \"q\": {} }";
    let expected = "{z=1,b={c=[true,1.5,\"x\"],a={d e=\"ä\"}},q={}}";
    assert_eq!(shown(&read_as(Format::Toml, toml).unwrap()), expected);
    assert_eq!(shown(&read_as(Format::Json, json).unwrap()), expected);
}

#[test]
fn places_are_those_of_keys_and_values() {
    for (format, text) in [(Format::Toml, "[a]\nbc = \"de\"\n"), (Format::Json, "{\"a\": {\"bc\": \"de\"}}")] {
        let root = read_as(format, text).unwrap();
        let [entry] = root.get("a").unwrap().entries() else { panic!("{text}") };
        assert_eq!(text[entry.key_span.clone()].trim_matches('"'), "bc");
        assert_eq!(&text[entry.value.span.clone()], "\"de\"");
    }
}

#[test]
fn what_is_too_much_is_refused() {
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read_as(Format::Json, &deep(MAX_DEPTH - 1)).is_ok());
    for (format, text, problem) in [
        (Format::Json, deep(MAX_DEPTH), "nested more than 32 levels deep"),
        (Format::Json, deep(200_000), "not JSON: maximum nesting depth exceeded"),
        (Format::Toml, format!("a = {}", deep(MAX_DEPTH)), "nested more than 32 levels deep"),
        (Format::Toml, format!("a = {}", deep(200_000)), "not TOML: "),
        (Format::Toml, format!("a{} = 1", ".a".repeat(70)), "nested more than 32 levels deep"),
        (Format::Json, format!("[{}1]", "1,".repeat(MAX_VALUES)), "more than 50000 values in one file"),
        (Format::Json, " ".repeat(MAX_BYTES + 1), "larger than 1048576 bytes"),
        (Format::Json, "\u{feff}{}".to_owned(), "a byte order mark"),
        (Format::Json, "{\"a\": 1, \"\\u0061\": 2}".to_owned(), "`a` is given twice"),
        (Format::Toml, "a = 1\na = 2\n".to_owned(), "the key is given twice"),
        (Format::Json, "{\"a\": 1e999}".to_owned(), "not a number that can be held"),
        (Format::Toml, "a = 99999999999999999999\n".to_owned(), "not a number that can be held"),
        (Format::Json, String::new(), "the file is empty"),
    ] {
        let told = read_as(format, &text).unwrap_err().message;
        assert!(told.starts_with(problem), "{problem}: {told}");
    }
}

#[test]
fn text_that_is_of_neither_format_shows_no_secret() {
    for (format, text) in [
        (Format::Json, "{\"env\": {\"KEY\": \"hunter2\" \"B\": 1}}"),
        (Format::Json, "{\"env\": {\"KEY\": 'hunter2'}}"),
        (Format::Json, "{\"env\": {\"KEY\": hunter2}}"),
        (Format::Json, "{\"env\": {\"KEY\": \"hunter2}}"),
        (Format::Toml, "KEY = hunter2\n"),
        (Format::Toml, "KEY = \"hunter2\n"),
        (Format::Toml, "KEY = \"\"\"\nhunter2 \\q\n\"\"\"\n"),
        (Format::Toml, "hunter2\n"),
        (Format::Toml, "KEY = \"hunter2\" KEY\n"),
    ] {
        let told = read_as(format, text).unwrap_err().to_string();
        assert!(!told.contains("hunter2"), "{told}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_odd(text in "\\PC*", mixed in "([\\[\\]{}\",:=#/.\\n\\\\']|[a-z0-9ü]|true|null)*") {
        for text in [text, mixed] {
            for format in [Format::Toml, Format::Json] {
                match read_as(format, &text) {
                    Ok(node) => prop_assert!(text.get(node.span).is_some()),
                    Err(problem) => drop(problem.to_string()),
                }
            }
        }
    }
}

use proptest::prelude::*;

use super::*;

fn parse_error(format: Format, text: &str) -> Diagnostic {
    match parse(text, "f", format) {
        Ok(_) => panic!("{text} was parsed"),
        Err(problem) => problem,
    }
}

#[test]
fn hostile_and_empty_files_are_rejected() {
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&deep(31), "f", Format::Json).is_ok());
    for (format, text, message) in [
        (Format::Json, deep(32), "nested more than 32 levels deep"),
        (Format::Json, deep(200_000), "nested more than 32 levels deep"),
        (Format::Toml, format!("a = {}", deep(32)), "nested more than 32 levels deep"),
        (Format::Toml, format!("a = {}", deep(200_000)), "not TOML: "),
        (Format::Toml, format!("a{} = 1", ".a".repeat(70)), "nested more than 32 levels deep"),
        (Format::Json, format!("[{}1]", "1,".repeat(100_000)), "more than 100000 values in one file"),
        (Format::Json, " ".repeat(MAX_BYTES + 1), "larger than 1048576 bytes"),
        (Format::Json, "\u{feff}{}".to_owned(), "the file starts with a byte order mark"),
        (Format::Json, "{\"a\": 1, \"\\u0061\": 2}".to_owned(), "duplicate key `a`"),
        (Format::Toml, "a = 1\na = 2\n".to_owned(), "duplicate key"),
        (Format::Json, "{\"a\": 1e999}".to_owned(), "number out of range"),
        (Format::Toml, "a = 99999999999999999999\n".to_owned(), "number out of range"),
        (Format::Json, String::new(), "the file is empty"),
    ] {
        let found = parse_error(format, &text).message;
        assert!(found.starts_with(message), "{message}: {found}");
    }
}

#[test]
fn errors_of_unparsed_files_show_no_secret() {
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
        let error = parse_error(format, text).to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}

proptest! {
    #[test]
    fn arbitrary_text_is_parsed_or_rejected(
        text in "\\PC*",
        mixed in "([\\[\\]{}\",:=#/.\\n\\\\']|[a-z0-9ü]|true|null)*",
    ) {
        for text in [text, mixed] {
            for format in [Format::Toml, Format::Json] {
                match parse(&text, "f", format) {
                    Ok(document) => prop_assert!(text.get(document.root().span().clone()).is_some()),
                    Err(problem) => drop(problem.to_string()),
                }
            }
        }
    }
}

//! Files that were made to hurt: each is refused with a message, in bounded time, without a panic.

use std::time::{Duration, Instant};

use mcp_workbench_scenarios::{
    load::{self, Diagnostic, Vocabulary},
    model::Subject,
};
use proptest::prelude::*;

const GOOD: &str = "scenario: tools/stuck\ntitle: One stuck tool leaves the others usable.\nsubject: client\nrequirement: \
                    calls/timeout\nserver:\n  tools: [{ name: stuck }]\n  on:\n    - when: { method: tools/call }\n      \
                    do: { fault: { delay: 5s } }\nsteps:\n  - call: { tool: stuck, expect: { error: timed-out, within: \
                    2s } }\n";

fn vocabulary() -> Vocabulary {
    Vocabulary::new(["calls/timeout"], [("timeout-sends-cancel", Subject::Client)])
}

/// The only thing that is wrong with these bytes, which has to be found out quickly.
fn refused(bytes: &[u8]) -> Diagnostic {
    let began = Instant::now();
    let errors = load::from_bytes(bytes, "hostile.yaml", &vocabulary()).expect_err("an error");
    assert!(began.elapsed() < Duration::from_secs(5), "took {:?}", began.elapsed());
    assert!(errors.to_string().len() < 2_000, "a message of {} bytes", errors.to_string().len());
    errors.as_slice()[0].clone()
}

/// Its message, line and column.
fn first_error(text: &str) -> (String, usize, usize) {
    let diagnostic = refused(text.as_bytes());
    let place = diagnostic.location.expect("a place");
    (diagnostic.message, place.line, place.column)
}

#[test]
fn the_good_file_is_good() {
    load::from_bytes(GOOD.as_bytes(), "good.yaml", &vocabulary()).expect("loaded");
}

#[test]
fn aliases_of_aliases_are_refused() {
    let mut text = String::from("tags: &a [x, x, x, x, x, x, x, x, x]\n");
    for (one, other) in ('a'..'i').zip('b'..='i') {
        let aliases = vec![format!("*{one}"); 9].join(", ");
        text.push_str(&format!("k{other}: &{other} [{aliases}]\n"));
    }
    // As keys they are unknown anyway, so the bomb is put where anything may stand.
    let indented = text.replace('\n', "\n          ");
    let bomb = format!("{GOOD}  - call:\n      tool: stuck\n      arguments:\n          {indented}\n");
    assert_eq!(first_error(&bomb).0, "aliases expand to too many values");
}

#[test]
fn an_alias_within_what_it_stands_for_is_refused() {
    assert_eq!(first_error("tags: &a [x, *a]"), ("alias inside its own anchor".to_owned(), 1, 14));
}

#[test]
fn deep_nesting_is_refused() {
    for (text, column) in [("[".repeat(100_000), 65), ("{a: ".repeat(10_000), 257), ("- ".repeat(10_000), 129)] {
        assert_eq!(first_error(&text), ("nested more than 64 levels deep".to_owned(), 1, column));
    }
}

#[test]
fn a_file_of_ten_megabytes_is_refused_unread() {
    let diagnostic = refused(&vec![b'a'; 10 << 20]);
    assert_eq!(diagnostic.message, "file size is 10485760 bytes; the limit for a scenario is 1 MiB");
    assert_eq!(diagnostic.location, None);
}

#[test]
fn a_file_with_no_end_is_refused() {
    let errors = load::from_file(std::path::Path::new("/dev/zero"), &vocabulary()).expect_err("an error");
    assert!(errors.to_string().contains("the limit for a scenario is 1 MiB"), "{errors}");
}

#[test]
fn many_values_are_refused() {
    let text = format!("{GOOD}tags: [{}]\n", "a,".repeat(40_000));
    assert_eq!(first_error(&text).0, "more than 20000 values in one file");
}

#[test]
fn no_list_is_so_long_that_looking_at_it_takes_long() {
    let many = |count: usize, element: &dyn Fn(usize) -> String| (0..count).map(element).collect::<String>();
    for (what, text) in [
        ("keys", format!("{GOOD}client:\n{}", many(9_000, &|n| format!("  k{n}: 1\n")))),
        ("tags", format!("{GOOD}tags:\n{}", many(9_000, &|n| format!("  - A{n}\n")))),
        ("checks", format!("{GOOD}checks:\n{}", many(9_000, &|_| "  - none\n".to_owned()))),
        ("steps", format!("{GOOD}{}", many(3_000, &|n| format!("  - start: {{ tool: a, as: a{n} }}\n")))),
        ("servers", {
            let servers = many(2_500, &|n| format!("  s{n}: {{}}\n"));
            let steps = many(2_500, &|n| format!("  - list: {{ server: x{n} }}\n"));
            format!("scenario: a/b\ntitle: t\nsubject: client\nrequirement: x\nservers:\n{servers}steps:\n{steps}")
        }),
        ("rules", {
            let rules = many(2_500, &|n| format!("    - {{ when: {{ tool: x{n} }}, do: default }}\n"));
            GOOD.replace("steps:\n", &format!("{rules}steps:\n"))
        }),
    ] {
        let began = Instant::now();
        let errors = load::from_bytes(text.as_bytes(), "hostile.yaml", &vocabulary()).expect_err(what);
        assert!(began.elapsed() < Duration::from_secs(5), "{what} took {:?}", began.elapsed());
        assert!(errors.as_slice().len() <= 51, "{} messages", errors.as_slice().len());
    }
}

#[test]
fn a_long_line_is_cut_in_the_message() {
    let text = format!("{GOOD}tags: [{}]\n", "'xxxxxxxxxx', ".repeat(2_000) + "5");
    let diagnostic = refused(text.as_bytes());
    assert_eq!(diagnostic.location.as_ref().map(|place| place.column), Some(28_008));
    assert!(diagnostic.to_string().len() < 1_000, "{diagnostic}");
}

#[test]
fn control_characters_are_refused_where_they_stand() {
    assert_eq!(first_error("title: a\u{0}b"), ("control character U+0000".to_owned(), 1, 9));
    assert_eq!(first_error("title: a\nx: \u{1b}[2J"), ("control character U+001B".to_owned(), 2, 4));
}

#[test]
fn bytes_that_are_no_text_are_refused_where_they_stand() {
    for (bytes, message, column) in [
        (&b"title: a\xffb"[..], "the byte 0xff is not UTF-8", 9),
        (b"title: \xc3", "the byte 0xc3 is not UTF-8", 8),
        (b"\xff\xfet\0", "the byte 0xff is not UTF-8", 1),
    ] {
        let diagnostic = refused(bytes);
        assert_eq!(
            (diagnostic.message.as_str(), diagnostic.location.map(|place| place.column)),
            (message, Some(column))
        );
    }
}

#[test]
fn files_of_nothing_are_refused() {
    for text in ["", "\n\n", "# a comment\n", "---\n", "~", "null", "\u{feff}"] {
        let (message, ..) = first_error(text);
        assert!(
            matches!(message.as_str(), "the file is empty" | "a scenario must be a mapping"),
            "{text:?}: {message}"
        );
    }
}

#[test]
fn a_byte_order_mark_and_other_line_ends_change_neither_meaning_nor_places() {
    let plain = load::from_bytes(GOOD.as_bytes(), "f", &vocabulary()).expect("loaded");
    let broken = first_error(&format!("{GOOD}tags: [5]\n"));
    for (start, end) in [("\u{feff}", "\n"), ("", "\r\n"), ("", "\r"), ("\u{feff}", "\r\n")] {
        let written = |text: &str| format!("{start}{}", text.replace('\n', end));
        assert_eq!(load::from_bytes(written(GOOD).as_bytes(), "f", &vocabulary()).expect("loaded"), plain);
        assert_eq!(first_error(&written(&format!("{GOOD}tags: [5]\n"))), broken);
    }
}

#[test]
fn a_message_never_carries_what_a_terminal_acts_upon() {
    let diagnostic = refused(format!("{GOOD}\"\\e[2J\\u202e\": 1\n").as_bytes());
    assert!(!diagnostic.to_string().chars().any(|ch| ch == '\u{1b}' || ch == '\u{202e}'), "{diagnostic:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn arbitrary_text_never_panics(text in "(?s).{0,200}") {
        let loaded = load::from_bytes(text.as_bytes(), "f", &vocabulary());
        if let Err(errors) = loaded {
            prop_assert!(!errors.to_string().is_empty());
        }
    }

    #[test]
    fn text_that_looks_like_yaml_never_panics(text in "[-{}\\[\\]:,&*!|>'\"#%@`a-c \n\t~<]{0,80}") {
        if let Err(errors) = load::from_bytes(text.as_bytes(), "f", &vocabulary()) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }

    /// A good file with a part cut out, doubled or replaced is either valid or has an error with a location in it.
    #[test]
    fn errors_of_a_damaged_file_are_within_its_lines(
        start in 0..GOOD.len(), length in 0..20_usize, put in "[-{}\\[\\]:, \na-z0-9'\"]{0,6}",
    ) {
        let end = (start + length).min(GOOD.len());
        let text = format!("{}{put}{}", &GOOD[..start], &GOOD[end..]);
        if let Err(errors) = load::from_bytes(text.as_bytes(), "f", &vocabulary()) {
            for diagnostic in errors.as_slice() {
                let place = diagnostic.location.as_ref().expect("a place");
                let lines = text.split('\n').count();
                prop_assert!(place.line >= 1 && place.line <= lines + 1, "{}", diagnostic);
                prop_assert!(place.column <= place.excerpt.chars().count() + 1, "{}", diagnostic);
            }
        }
    }
}

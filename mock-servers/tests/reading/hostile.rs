//! Scripts that were made to hurt: each is refused with a message, in bounded time, and none reaches the terminal.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use diagnostics::printable;
use mcp_workbench_mock_servers::{oauth, profile};

/// What both readers say of a text; each has to refuse it quickly and briefly.
fn refused(text: &str, file: &str) -> [String; 2] {
    let began = Instant::now();
    let told = [
        profile::parse(text, file).expect_err("a script").to_string(),
        oauth::script::parse(text, file).expect_err("a script of an authorization server").to_string(),
    ];
    assert!(began.elapsed() < Duration::from_secs(10), "took {:?}", began.elapsed());
    for words in &told {
        assert!(words.len() < 2_000, "a message of {} bytes", words.len());
        let shown: Vec<String> = words.lines().map(printable).collect();
        assert_eq!(shown.join("\n"), *words, "something that a terminal acts upon");
    }
    told
}

fn begin(told: &[String; 2], words: &str) {
    for told in told {
        assert!(told.starts_with(words), "{told}");
    }
}

#[test]
fn what_a_terminal_acts_upon_is_shown_escaped_wherever_it_stands() {
    let told = refused("\"na\\e[31mme\": 1\n", "a\u{1b}[2J.yaml");
    begin(
        &told,
        "error: unknown key `na\\u{1b}[31mme`\n  a\\u{1b}[2J.yaml:1:1\n1 | \"na\\e[31mme\": 1\n  | ^^^^^^^^^^^^ ",
    );
    // In JSON too, and as a value of which one of several words was wanted.
    begin(&refused("{\"na\\u001bme\": 1}", "a\u{7}.json"), "error: unknown key `na\\u{1b}me`\n  a\\u{7}.json:1:2\n");
    let told = profile::parse("on: [{ when: {}, do: { fault: \"sile\\ence\" } }]\n", "f").expect_err("an error");
    assert!(told.to_string().starts_with("error: unknown fault `sile\\u{1b}nce`\n  f:1:31\n"), "{told}");
    // As it is, in the text, where YAML has no place for it.
    begin(&refused("name: \u{1b}[2J\n", "f"), "error: control character U+001B\n  f:1:7\n1 | name: \u{fffd}[2J\n");
    // And in what is extended, and where JSON has no place for it.
    let told = profile::parse("extends: \"min\\u202eimal\"\n", "f").expect_err("an error");
    assert!(told.to_string().starts_with("error: unknown profile `min\\u{202e}imal`\n  f:1:10\n"), "{told}");
    begin(
        &refused("{\"a\": \u{1b}}", "f.json"),
        "error: control character U+001B\n  f.json:1:7\n1 | {\"a\": \u{fffd}}\n",
    );
}

#[test]
fn a_wide_character_in_front_moves_the_caret_by_two_columns() {
    begin(
        &refused("{ \"漢字\": 1 }\n", "宛先.yaml"),
        "error: unknown key `漢字`\n  宛先.yaml:1:3\n1 | { \"漢字\": 1 }\n  |   ^^^^^^ ",
    );
    let told = profile::parse("tools: [{ name: 漢字, titel: x }]\n", "f").expect_err("an error");
    assert_eq!(
        told.to_string(),
        "error: unknown key `titel`\n  f:1:21\n1 | tools: [{ name: 漢字, titel: x }]\n  |                       ^^^^^ did you mean `title`?"
    );
}

#[test]
fn aliases_of_aliases_are_refused() {
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (one, other) in ('a'..'i').zip('b'..='i') {
        bomb.push_str(&format!("  {other}: &{other} [{}]\n", vec![format!("*{one}"); 9].join(", ")));
    }
    // Where anything may stand, so that it is no unknown key.
    let script = format!("capabilities:\n  {bomb}");
    let told = profile::parse(&script, "f").expect_err("an error").to_string();
    assert!(told.starts_with("error: aliases expand to too many values\n  f:"), "{told}");
    let script = format!("metadata:\n  {bomb}");
    let told = oauth::script::parse(&script, "f").expect_err("an error").to_string();
    assert!(told.starts_with("error: aliases expand to too many values\n  f:"), "{told}");
    begin(&refused("a: &a [x, *a]", "f"), "error: alias inside its own anchor\n  f:1:11\n");
}

#[test]
fn deep_nesting_is_refused() {
    for text in ["[".repeat(100_000), "{a: ".repeat(10_000), "- ".repeat(10_000)] {
        let [script, authorization] = refused(&text, "f.yaml");
        assert!(script.starts_with("error: nested more than 100 levels deep\n  f.yaml:1:"), "{script}");
        assert!(authorization.starts_with("error: nested more than 64 levels deep\n  f.yaml:1:"), "{authorization}");
    }
    let text = format!("{{\"capabilities\":{}", "[".repeat(100_000));
    let told = profile::parse(&text, "f.json").expect_err("an error").to_string();
    assert!(told.starts_with("error: nested more than 100 levels deep\n  f.json:1:"), "{told}");
}

#[test]
fn ten_megabytes_are_refused_unread() {
    let large = "a".repeat(10 << 20);
    let [script, authorization] = refused(&large, "f.yaml");
    assert_eq!(
        script,
        "error: file size is 10485760 bytes; the limit for a script is 4 MiB\n  f.yaml\n  help: check that this is a script"
    );
    assert!(authorization.starts_with("error: file size is 10485760 bytes; "), "{authorization}");
    // From a file no more is read than what shows that it is too large: this one has no end.
    let told = oauth::script::load(Path::new("/dev/zero")).expect_err("an error").to_string();
    assert!(told.starts_with("error: file size is more than 1048576 bytes; "), "{told}");
    let told = profile::load("/dev/zero").expect_err("an error").to_string();
    assert!(told.starts_with("error: file size is more than 4194304 bytes; "), "{told}");
}

#[test]
fn as_many_lines_as_a_file_may_hold_are_looked_at_once() {
    // Each value spans two lines, whose width has to be found; the mistake is the last of them.
    let text = format!("instructions: x\ncapabilities: {{ a: [{}] }}\nnmae: x\n", "\"b\n c\", ".repeat(190_000));
    let [script, _] = refused(&text, "f.yaml");
    assert!(script.starts_with("error: unknown key `nmae`\n  f.yaml:190003:1\n"), "{script}");
}

#[test]
fn what_is_no_text_is_refused_where_it_stands() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("f.yaml");
    std::fs::write(&path, b"name: a\ninfo: \xff\n").expect("written");
    for told in [
        profile::load(path.to_str().expect("a name")).expect_err("an error").to_string(),
        oauth::script::load(&path).expect_err("an error").to_string(),
    ] {
        assert!(told.starts_with("error: the byte 0xff is not UTF-8\n"), "{told}");
        assert!(told.ends_with("f.yaml:2:7\n2 | info: \u{fffd}\n  |       ^ save the file as UTF-8"), "{told}");
    }
}

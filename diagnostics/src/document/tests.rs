use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;
use crate::Diagnostics;

const FORMAT: Format = Format {
    noun: "test",
    example: "has keys",
    limits: Limits::SMALL,
    noun_of: |_, _| None,
    renamed: &[("label", "name")],
};

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Team {
    name: String,
    #[serde(default)]
    size: u16,
    #[serde(default)]
    members: Vec<Member>,
    #[serde(default)]
    notes: BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Member {
    Guest,
    Person { name: String },
    Robot(u8),
}

fn errors(file: &str, text: &str) -> Vec<(String, usize, usize)> {
    let document = Document::parse(Source::named(file, text), &FORMAT);
    let errors = document.map_err(Diagnostics::from).and_then(|mut document| document.read::<Team>()).unwrap_err();
    let position = |error: &Diagnostic| error.location.as_ref().map_or((0, 0), |at| (at.line, at.column));
    errors.as_slice().iter().map(|error| (error.message.clone(), position(error).0, position(error).1)).collect()
}

#[test]
fn all_syntaxes_read_the_same_value() {
    let yaml = "name: x\nsize: 0x10\nmembers: [guest, { robot: 5 }, { person: { name: y } }]\nnotes: { a: [1, -2, 1.5, null, yes] }\n";
    let json = r#"{"name": "x", "size": 16, // sixteen
        "members": ["guest", {"robot": 5}, {"person": {"name": "y"}}], "notes": {"a": [1, -2, 1.5, null, "yes"]},}"#;
    let read = |file: &str, text: &str| {
        Document::parse(Source::named(file, text), &FORMAT)
            .map_err(Diagnostics::from)
            .and_then(|mut document| document.read::<Team>())
            .unwrap()
    };
    assert_eq!(read("f.yaml", yaml), read("f.json", json));
    let toml = "name = 'x'\nsize = 0x10\nmembers = ['guest', { robot = 5 }, { person = { name = 'y' } }]\n";
    assert_eq!(read("f.toml", toml).members, read("f.yaml", yaml).members);
}

#[test]
fn entries_keep_the_order_and_the_spans_of_the_file() {
    for (file, text) in [
        ("f.toml", "z = 1\n[b]\n'd e' = \"de\"\n[q]\n[b.a]\nc = true\n"),
        ("f.json", "{ // why\n\"z\": 1, \"b\": {\"d e\": \"de\", \"a\": {\"c\": true,},}, /* no */ \"q\": {} }"),
    ] {
        let document = Document::parse(Source::named(file, text), &FORMAT).unwrap();
        let root = document.root();
        assert_eq!(root.entries().filter_map(TreeCursor::name).collect::<Vec<_>>(), ["z", "b", "q"]);
        assert_eq!(root.key("b").entries().filter_map(TreeCursor::name).collect::<Vec<_>>(), ["d e", "a"]);
        let entry = root.key("b").key("d e");
        assert_eq!(text[entry.key_span().clone()].trim_matches(['"', '\'']), "d e");
        assert_eq!(&text[entry.span().clone()], "\"de\"");
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let expected = |found: &[(String, usize, usize)], wanted: &[(&str, usize)]| {
        let found: Vec<_> = found.iter().map(|(message, line, _)| (message.as_str(), *line)).collect();
        assert_eq!(found, wanted);
    };
    expected(
        &errors(
            "f.yaml",
            "nmae: x\nsize: many\nmembers:\n  - gest\n  - robot: 300\n  - guest: 5\n  - person\nhelp: 1\n",
        ),
        &[
            ("unknown key `nmae`", 1),
            ("expected a whole number from 0 to 65535, found `many`", 2),
            ("unknown value `gest`", 4),
            ("expected a whole number from 0 to 255, found `300`", 5),
            ("`guest` takes no value", 6),
            ("`person` needs a value", 7),
            ("unknown key `help`", 8),
        ],
    );
    expected(
        &errors("f.json", "{\n\"size\": true,\n\"members\": [{\"person\": {}},\n{\"robot\": 1, \"guest\": 2}]}"),
        &[
            ("missing key `name`", 2),
            ("expected a whole number from 0 to 65535, found `true`", 2),
            ("missing key `name` in `person`", 3),
            ("unexpected key `guest` next to `robot`", 4),
        ],
    );
    expected(
        &errors("f.toml", "name = 5\nsize = -1\n"),
        &[("expected a string, found `5`", 1), ("expected a whole number from 0 to 65535, found `-1`", 2)],
    );
}

#[test]
fn an_earlier_name_of_a_key_suggests_the_present_one() {
    let read = |text: &str| {
        let document = Document::parse(Source::named("f.yaml", text), &FORMAT);
        document.unwrap().read::<Team>().unwrap_err().to_string()
    };
    let expected = "error: unknown key `label`\n  f.yaml:1:1\n1 | label: x\n  | ^^^^^ did you mean `name`?";
    assert_eq!(read("label: x\n"), expected);
    // Where the present name is not valid, it is not suggested.
    let inside = read("name: x\nmembers: [{ person: { name: y } }, { label: 3 }]\n");
    assert!(!inside.contains("did you mean"), "{inside}");
}

#[test]
fn control_characters_are_rejected_as_each_syntax_requires() {
    for (file, text, is_valid) in [
        ("f.json", "{\"name\": \"\u{85}\u{7f}\"}", true),
        ("f.json", "{\"name\": \"\u{1}\"}", false),
        ("f.yaml", "name: \"\u{7f}\"", false),
    ] {
        assert_eq!(Document::parse(Source::named(file, text), &FORMAT).is_ok(), is_valid, "{text:?}");
    }
}

#[test]
fn all_missing_keys_are_reported() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "never read successfully")]
    struct Server {
        name: String,
        member: Member,
        ports: Vec<u16>,
        limits: BTreeMap<String, u8>,
        load: f64,
        team: Option<String>,
        is_on: bool,
    }
    let errors = |text: &str| {
        let mut document = Document::parse(Source::named("f.yaml", text), &FORMAT).unwrap();
        let errors = document.read::<BTreeMap<String, Server>>().unwrap_err();
        errors.into_vec().into_iter().map(|error| error.message).collect::<Vec<_>>()
    };
    let missing = |keys: &[&str]| keys.iter().map(|key| format!("missing key `{key}` in `a`")).collect::<Vec<_>>();
    assert_eq!(errors("a: {}"), missing(&["name", "member", "ports", "limits", "load", "is_on"]));
    // A misspelled key is not missing.
    let mut expected = missing(&["name", "limits", "load"]);
    expected.extend(["unknown key `prots` in `a`".to_owned(), "unknown key `x` in `b`".to_owned()]);
    let complete = "name: b, member: guest, ports: [], limits: {}, load: 1, is_on: no, x: 1";
    let text = format!("a:\n  is_on: true\n  member: guest\n  prots: []\nb: {{ {complete} }}");
    let mut found = errors(&text.replace("is_on: no", "is_on: false"));
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn aliases_stay_within_the_limits() {
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (one, other) in ('a'..'i').zip('b'..='i') {
        bomb.push_str(&format!("{other}: &{other} [{}]\n", vec![format!("*{one}"); 9].join(", ")));
    }
    assert_eq!(errors("f", &bomb)[0].0, "aliases expand to too many values");
    assert_eq!(errors("f", "a: &a [x, *a]"), [("alias inside its own anchor".to_owned(), 1, 11)]);
    // Each alias is one level deeper than the one before.
    let chain: String = (1..100).map(|n| format!("k{n}: &a{n} [*a{}]\n", n - 1)).collect();
    assert_eq!(errors("f", &format!("k0: &a0 x\n{chain}"))[0].0, "nested more than 64 levels deep");
}

#[test]
fn a_file_with_very_many_errors_is_reported_quickly() {
    let text: String = (0..9_000).map(|n| format!("k{n}: 1\n")).collect();
    let began = std::time::Instant::now();
    assert_eq!(errors("f", &text).len(), 50);
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn entry(value: Value) -> Map<String, Value> {
    let Value::Object(entry) = value else { panic!("no object: {value}") };
    entry
}

fn add(name: &str, value: Value) -> Edit {
    Edit::Add { name: name.to_owned(), entry: entry(value), replace: false }
}

fn replace(name: &str, value: Value) -> Edit {
    Edit::Add { name: name.to_owned(), entry: entry(value), replace: true }
}

fn remove(name: &str) -> Edit {
    Edit::Remove { name: name.to_owned() }
}

fn enable(name: &str, enabled: bool) -> Edit {
    Edit::Enable { name: name.to_owned(), enabled }
}

fn list(name: &str, disabled: bool) -> Edit {
    Edit::List { name: name.to_owned(), disabled }
}

fn toml(text: &str, edit: &Edit) -> String {
    apply(text, Format::Toml, edit).unwrap_or_else(|error| panic!("{error:?} for {text}"))
}

fn json_text(text: &str, edit: &Edit) -> String {
    apply(text, Format::Json, edit).unwrap_or_else(|error| panic!("{error:?} for {text}"))
}

const TOML: &str = "\
# Mine.
model = \"x\"   # kept

[mcp_servers.a] # the first
command = \"a\"
enabled = false # for now

# Apart from what follows.

# About b.
[mcp_servers.b]
url = \"https://h/mcp\"

[mcp_servers.b.http_headers]
x = \"y\"

# About the profile.
[profiles.p]
z = 1
# The end.
";

const JSON: &str = "\
{
  // Mine.
  \"mcpServers\": {
    \"a\": { \"command\": \"a\", \"enabled\": false /* for now */ },

    // About b.
    \"b\": {
      \"url\": \"https://h/mcp\"
    }
  }
  // The end.
}
";

#[test]
fn a_server_is_added_after_the_others() {
    let stdio = json!({"command": "c", "args": ["-x"], "env": {"K": "v"}});
    let changed = toml(TOML, &add("c d", stdio.clone()));
    let block = "\n[mcp_servers.\"c d\"]\ncommand = \"c\"\nargs = [\"-x\"]\nenv = { K = \"v\" }\n";
    assert!(changed.contains(block), "{changed}");
    assert_eq!(changed.replace(block, ""), TOML);
    let changed = json_text(JSON, &add("c", stdio));
    assert!(changed.contains("    \"c\": {\n      \"command\": \"c\",\n"), "{changed}");
    assert!(changed.contains("// Mine.") && changed.contains("/* for now */") && changed.contains("// The end."));
}

#[test]
fn keys_have_the_names_of_their_format() {
    let remote = json!({
        "type": "http", "url": "https://h/mcp", "headers": {"X-A": "1"}, "bearerTokenEnvVar": "T",
        "oauth": {"clientId": "me", "callbackPort": 80}, "timeout": 500,
    });
    let changed = toml("", &add("r", remote));
    let expected = "\
[mcp_servers.r]
type = \"http\"
url = \"https://h/mcp\"
http_headers = { X-A = \"1\" }
bearer_token_env_var = \"T\"
oauth = { client_id = \"me\", callback_port = 80 }
tool_timeout_ms = 500
";
    assert_eq!(changed, expected);
}

#[test]
fn a_new_file_contains_one_server() {
    let changed = json_text(empty(Format::Json), &add("a", json!({"command": "a"})));
    assert_eq!(changed, "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"a\"\n    }\n  }\n}\n");
    assert_eq!(toml(empty(Format::Toml), &add("a", json!({"command": "a"}))), "[mcp_servers.a]\ncommand = \"a\"\n");
}

#[test]
fn a_server_is_replaced_in_place_if_requested() {
    for (format, text) in [(Format::Toml, TOML), (Format::Json, JSON)] {
        let error = apply(text, format, &add("a", json!({"command": "z"})));
        assert_eq!(error, Err(EditError::Exists { name: "a".to_owned() }));
    }
    let changed = toml(TOML, &replace("a", json!({"command": "z"})));
    assert!(changed.contains("[mcp_servers.a] # the first\ncommand = \"z\"\n"), "{changed}");
    assert!(!changed.contains("for now"));
    let changed = json_text(JSON, &replace("a", json!({"command": "z"})));
    let (a, b) = (changed.find("\"z\"").unwrap(), changed.find("\"b\"").unwrap());
    assert!(a < b, "{changed}");
}

#[test]
fn a_server_is_removed_with_its_comment() {
    let changed = toml(TOML, &remove("b"));
    assert!(changed.contains("# Apart from what follows.") && !changed.contains("About b"), "{changed}");
    assert!(changed.contains("# About the profile.\n[profiles.p]\nz = 1\n# The end.\n"), "{changed}");
    assert!(!changed.contains("http_headers"));
    let changed = json_text(JSON, &remove("b"));
    assert!(changed.contains("\"a\": { \"command\": \"a\", \"enabled\": false /* for now */ }"), "{changed}");
    let last = "[mcp_servers.a]\ncommand = \"a\"\n\n# Apart.\n\n[mcp_servers.b]\ncommand = \"b\"\n";
    assert_eq!(toml(last, &remove("b")), "[mcp_servers.a]\ncommand = \"a\"\n\n# Apart.\n\n");
    for (format, text) in [(Format::Toml, TOML), (Format::Json, JSON)] {
        assert_eq!(apply(text, format, &remove("q")), Err(EditError::Missing { name: "q".to_owned() }));
    }
}

#[test]
fn enabling_and_disabling_changes_one_value() {
    assert_eq!(toml(TOML, &enable("a", true)), TOML.replace("enabled = false # for now", "enabled = true # for now"));
    assert_eq!(json_text(JSON, &enable("a", true)), JSON.replace("\"enabled\": false", "\"enabled\": true"));
    let changed = toml(TOML, &enable("b", false));
    assert_eq!(changed.replace("enabled = false\n", ""), TOML.replace("enabled = false\n", ""));
    assert_eq!(toml(TOML, &enable("b", true)), TOML);
    assert_eq!(json_text(JSON, &enable("b", true)), JSON);
    assert!(json_text(JSON, &enable("b", false)).contains("\"https://h/mcp\",\n      \"enabled\": false\n"));
}

#[test]
fn the_list_of_disabled_servers_is_edited() {
    for (format, text) in [(Format::Toml, TOML), (Format::Json, JSON), (Format::Toml, "")] {
        let one = apply(text, format, &list("plugin:p:s", true)).unwrap();
        let two = apply(&one, format, &list("b", true)).unwrap();
        assert_eq!(ConfigFile::parse(&two, "f", format).disabled, ["plugin:p:s", "b"]);
        assert_eq!(apply(&two, format, &list("b", true)).unwrap(), two);
        let back = apply(&two, format, &list("plugin:p:s", false)).unwrap();
        assert_eq!(ConfigFile::parse(&back, "f", format).disabled, ["b"]);
    }
}

#[test]
fn inline_tables_and_line_ends_are_kept() {
    let inline = "mcp_servers = { a = { command = \"a\" } }\n";
    assert_eq!(
        toml(inline, &add("b", json!({"command": "b"}))),
        "mcp_servers = { a = { command = \"a\" }, b = { command = \"b\" } }\n"
    );
    let windows = TOML.replace('\n', "\r\n");
    let changed = toml(&windows, &add("c", json!({"command": "c"})));
    assert!(!changed.replace("\r\n", "").contains('\n'), "{changed:?}");
    assert_eq!(changed.replace("\r\n", "\n"), toml(TOML, &add("c", json!({"command": "c"}))));
    let windows = JSON.replace('\n', "\r\n");
    let changed = json_text(&windows, &add("c", json!({"command": "c"})));
    assert!(!changed.replace("\r\n", "").contains('\n'), "{changed:?}");
}

#[test]
fn invalid_edits_are_rejected() {
    for text in ["{", "[]", "{\"mcpServers\": []}"] {
        let error = apply(text, Format::Json, &add("a", json!({"command": "a"})));
        assert!(matches!(error, Err(EditError::Unread { .. } | EditError::Unsupported { .. })), "{text}: {error:?}");
    }
    let error = apply("a = \n", Format::Toml, &remove("a")).unwrap_err();
    assert!(matches!(error, EditError::Unread { .. }), "{error:?}");
    for value in [json!({"comand": "a"}), json!({}), json!({"command": "a", "url": "https://h"}), json!({"command": 1})]
    {
        let error = apply("{}", Format::Json, &add("a", value)).unwrap_err();
        let EditError::Wrong { problems } = error else { panic!("{error:?}") };
        assert!(problems[0].help.is_some());
    }
    let error = apply("{}", Format::Json, &add("plugin:a:b", json!({"command": "a"})));
    assert!(matches!(error, Err(EditError::Wrong { .. })));
}

/// A server as in `.mcp.json`.
fn servers() -> impl Strategy<Value = Map<String, Value>> {
    let text = "[ -~äß\"\\\\'#\n\t\u{7f}\u{85}]{0,12}[a-z]";
    let pairs = || proptest::collection::btree_map("[A-Za-z][A-Za-z0-9_-]{0,6}", text, 0..3);
    let stdio = (text, proptest::collection::vec(text, 0..3), pairs(), any::<bool>())
        .prop_map(|(command, args, env, on)| json!({"command": command, "args": args, "env": env, "enabled": on}));
    let remote = ("[a-z]{1,8}", pairs()).prop_filter_map("headers differ by more than case", |(host, headers)| {
        let lower: std::collections::BTreeSet<_> = headers.keys().map(|name| name.to_ascii_lowercase()).collect();
        let headers = json!(headers);
        (lower.len() == headers.as_object()?.len())
            .then(|| json!({"type": "sse", "url": format!("https://{host}/mcp"), "headers": headers, "timeout": 10}))
    });
    prop_oneof![stdio, remote].prop_map(entry)
}

/// The lines without commas, because an edit adds a comma to the line before a new entry.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim_end_matches(',').to_owned()).collect()
}

/// Whether `all` contains the lines of `some`, in order.
fn has_lines(all: &str, some: &str) -> bool {
    let all = lines(all);
    let mut rest = all.iter();
    lines(some).iter().all(|line| rest.any(|other| other == line))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn an_added_server_is_read_and_nothing_else_changes(
        name in "[a-zA-Z0-9_ .äü\"\\\\-]{0,10}[a-z]",
        added in servers(),
        second in servers(),
    ) {
        prop_assume!(name != "a" && name != "b" && name != "z");
        let alone = json!({"mcpServers": {"x": &added}}).to_string();
        let alone = ConfigFile::parse(&alone, "f", Format::Json);
        let expected = alone.servers[0].server.clone();
        prop_assert!(expected.is_some(), "{:?}", alone.servers[0].problems);
        for (format, text) in [(Format::Toml, TOML), (Format::Json, JSON)] {
            let edit = Edit::Add { name: name.clone(), entry: added.clone(), replace: false };
            let changed = apply(text, format, &edit).unwrap();
            prop_assert!(has_lines(&changed, text), "{}", changed);
            let file = ConfigFile::parse(&changed, "f", format);
            prop_assert_eq!(file.get(&name).map(|server| server.server.clone()), Some(expected.clone()));
            // Add a second one, and remove both.
            let edit = Edit::Add { name: "z".to_owned(), entry: second.clone(), replace: false };
            let more = apply(&changed, format, &edit).unwrap();
            prop_assert!(has_lines(&more, &changed), "{}", more);
            let less = apply(&more, format, &remove("z")).unwrap();
            prop_assert!(has_lines(&less, text), "{}", less);
            let back = apply(&less, format, &remove(&name)).unwrap();
            prop_assert_eq!(back.trim_end(), text.trim_end());
        }
    }

    #[test]
    fn arbitrary_text_is_edited_or_rejected(text in "([\\[\\]{}\",:=#.\\n ]|mcp_servers|mcpServers|a|1)*") {
        for format in [Format::Toml, Format::Json] {
            for edit in [add("a", json!({"command": "a"})), remove("a"), enable("a", false), list("a", true)] {
                drop(apply(&text, format, &edit));
            }
        }
    }
}

#[test]
fn a_replaced_file_keeps_its_mode_and_its_links() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/config.toml");
    edit_file(&path, &add("a", json!({"command": "a"})), true).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "[mcp_servers.a]\ncommand = \"a\"\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let link = directory.path().join("link.toml");
        symlink("deep/config.toml", &link).unwrap();
        assert_eq!(edit_file(&link, &enable("a", false), true).unwrap(), path);
        assert_eq!(mode(&path), 0o640);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        let shared = directory.path().join(".mcp.json");
        edit_file(&shared, &add("a", json!({"command": "a"})), false).unwrap();
        assert_eq!(mode(&shared), 0o644);
    }
    let before = std::fs::read_to_string(&path).unwrap();
    assert!(edit_file(&path, &remove("b"), true).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    let left: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn concurrent_edits_are_all_applied() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let path = &path;
            scope.spawn(move || edit_file(path, &add(&format!("s{number}"), json!({"command": "a"})), true).unwrap());
        }
    });
    let file = ConfigFile::load(&path, "f", Role::Own).unwrap();
    assert_eq!(file.servers.len(), 8);
}

#[test]
fn an_allow_rule_is_added_to_a_server_in_both_formats() {
    let allow = Edit::Allow { name: "a".into(), rule: "get".into() };
    for (format, text, expected) in [
        (
            Format::Toml,
            "[mcp_servers.a] # mine\ncommand = \"a\"\n",
            "[mcp_servers.a] # mine\ncommand = \"a\"\npermissions = { allow = [\"get\"] }\n",
        ),
        (
            Format::Toml,
            "[mcp_servers.a]\ncommand = \"a\"\n[mcp_servers.a.permissions]\nallow = [\"put\"]\n",
            "[mcp_servers.a]\ncommand = \"a\"\n[mcp_servers.a.permissions]\nallow = [\"put\", \"get\"]\n",
        ),
        (
            Format::Json,
            "{\"mcpServers\": {\"a\": {\"command\": \"a\", \"permissions\": {\"allow\": [\"put\"]}}}}",
            "{\"mcpServers\": {\"a\": {\"command\": \"a\", \"permissions\": {\"allow\": [\"put\", \"get\"]}}}}",
        ),
    ] {
        assert_eq!(apply(text, format, &allow).unwrap(), expected);
    }
    let other = Edit::Allow { name: "b".into(), rule: "get".into() };
    assert!(matches!(apply("", Format::Toml, &other), Err(EditError::Missing { .. })));
}

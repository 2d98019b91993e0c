use std::{fs, sync::LazyLock};

use client::{HttpEndpoint, StdioEndpoint};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;
use url::Url;

use super::*;

fn stdio(name: &str, command: &[&str]) -> ServerConfig {
    let args = command[1..].iter().map(|&argument| argument.to_owned()).collect();
    let endpoint = StdioEndpoint { command: command[0].into(), args, ..StdioEndpoint::default() };
    ServerConfig::new(name, Endpoint::Stdio(endpoint))
}

fn http(name: &str, url: &str) -> ServerConfig {
    ServerConfig::new(name, Endpoint::StreamableHttp(HttpEndpoint { url: url.into(), ..HttpEndpoint::default() }))
}

/// A root with these files in the directory of the workbench.
fn root(exclusive: Option<&str>, settings: Option<&str>) -> TempDir {
    let root = TempDir::new().unwrap();
    let directory = PolicyDirectory::own(Platform::Linux);
    fs::create_dir_all(directory.settings(root.path()).parent().unwrap()).unwrap();
    for (path, text) in [(directory.exclusive(root.path()), exclusive), (directory.settings(root.path()), settings)] {
        if let Some(text) = text {
            fs::write(path, text).unwrap();
        }
    }
    root
}

fn read(exclusive: Option<&str>, settings: Option<&str>) -> Policy {
    Policy::read(&PolicyDirectory::own(Platform::Linux), root(exclusive, settings).path())
}

fn lists(settings: serde_json::Value) -> Policy {
    let policy = read(None, Some(&settings.to_string()));
    assert!(policy.problem().is_none(), "{:?}", policy.problem());
    policy
}

fn allowed(policy: &Policy, server: &ServerConfig) -> bool {
    policy.decide(server, Origin::User).allowed
}

#[test]
fn without_an_allow_list_all_servers_are_allowed_and_an_empty_list_allows_none() {
    let servers = [stdio("a", &["npx", "a"]), http("b", "https://b.test/mcp")];
    for server in &servers {
        assert!(allowed(&read(None, None), server));
        assert!(allowed(&lists(json!({})), server));
        assert!(allowed(&lists(json!({"deniedMcpServers": []})), server));
        assert!(!allowed(&lists(json!({"allowedMcpServers": []})), server));
    }
}

#[test]
fn the_deny_list_takes_precedence() {
    let policy = lists(json!({
        "allowedMcpServers": [{"serverName": "bad"}, {"serverName": "ok"}, {"serverName": "web"}],
        "deniedMcpServers": [
            {"serverName": "bad"},
            {"serverCommand": ["npx", "-y", "evil"]},
            {"serverUrl": "https://*.evil.test/*"},
        ],
    }));
    assert!(!allowed(&policy, &stdio("bad", &["fine"])));
    assert!(!allowed(&policy, &stdio("ok", &["npx", "-y", "evil"])));
    assert!(!allowed(&policy, &http("web", "https://a.evil.test/mcp")));
    assert!(!allowed(&policy, &http("bad", "https://fine.test/mcp")));
    assert!(allowed(&policy, &stdio("ok", &["npx", "-y", "evil", "--not"])));
    assert!(allowed(&policy, &http("web", "https://fine.test/mcp")));
    let decision = policy.decide(&stdio("ok", &["npx", "-y", "evil"]), Origin::Managed);
    assert_eq!(
        decision,
        PolicyDecision { allowed: false, reason: "the administrator denies the command `npx -y evil`".into() }
    );
}

#[test]
fn a_name_is_not_sufficient_if_commands_or_urls_are_listed() {
    let policy = lists(json!({"allowedMcpServers": [
        {"serverName": "github"}, {"serverCommand": ["npx", "-y", "files"]},
    ]}));
    assert!(allowed(&policy, &stdio("any", &["npx", "-y", "files"])));
    assert!(!allowed(&policy, &stdio("github", &["npx", "-y", "other"])), "the user chooses the name");
    for other in [&["npx", "files"][..], &["npx", "-y", "files", "/"], &["npx", "files", "-y"], &["npx -y files"]] {
        assert!(!allowed(&policy, &stdio("any", other)), "{other:?}");
    }
    assert!(allowed(&policy, &http("github", "https://anywhere.test/")), "no URL is listed, so the name is sufficient");
    assert!(!allowed(&policy, &http("other", "https://anywhere.test/")));
    let policy = lists(json!({"allowedMcpServers": [
        {"serverName": "github"}, {"serverUrl": "https://mcp.company.test/*"},
    ]}));
    assert!(allowed(&policy, &http("any", "https://mcp.company.test/x")));
    assert!(!allowed(&policy, &http("github", "https://other.test/x")));
    assert!(allowed(&policy, &stdio("github", &["any"])));
    assert!(!allowed(&policy, &stdio("other", &["any"])));
}

#[test]
fn an_exclusive_file_rejects_other_servers_and_the_lists_apply_to_its_own() {
    let exclusive = r#"{"mcpServers": {"a": {"command": "npx"}, "b": {"url": "https://b.test"}}}"#;
    let policy = read(Some(exclusive), Some(r#"{"deniedMcpServers": [{"serverName": "b"}]}"#));
    let names: Vec<_> = policy.exclusive().unwrap().keys().collect();
    assert_eq!(names, ["a", "b"]);
    assert!(policy.decide(&stdio("a", &["npx"]), Origin::Managed).allowed);
    assert!(!policy.decide(&stdio("a", &["npx"]), Origin::User).allowed, "a user's server of the same name");
    assert!(!policy.decide(&http("b", "https://b.test"), Origin::Managed).allowed);
    let none = read(Some(r#"{"mcpServers": {}}"#), None);
    assert!(!allowed(&none, &stdio("a", &["npx"])));
}

#[test]
fn an_invalid_file_rejects_all_servers_and_reports_the_position() {
    let broken = [
        ("", "1:1"),
        ("{", "1:1"),
        ("[]", "1:1"),
        ("{\n  \"deniedMcpServer\": []\n}", "2:3"),
        ("{\n \"deniedMcpServers\": [],\n \"deniedMcpServers\": []}", "3:"),
        ("{\"deniedMcpServers\": null}", "1:"),
        ("{\"deniedMcpServers\": {}}", "1:"),
        ("{\"deniedMcpServers\": [\"bad\"]}", "1:"),
        ("{\"deniedMcpServers\": [{}]}", "1:"),
        ("{\"deniedMcpServers\": [{\"serverName\": \"\"}]}", "1:"),
        ("{\"deniedMcpServers\": [\n{\"serverName\": \"a\", \"serverUrl\": \"*\"}]}", "2:"),
        ("{\"deniedMcpServers\": [{\"servername\": \"a\"}]}", "1:"),
        ("{\"deniedMcpServers\": [{\"serverCommand\": []}]}", "1:"),
        ("{\"deniedMcpServers\": [{\"serverCommand\": \"npx\"}]}", "1:"),
        ("{\"deniedMcpServers\": [{\"serverUrl\": \"evil.test\"}]}", "1:"),
        ("{\"allowedMcpServers\": [{\"serverName\": \"a\"}],}", "1:"),
        ("{} {}", "1:4"),
    ];
    for (text, position) in broken {
        let policy = read(None, Some(text));
        let problem = policy.problem().unwrap_or_else(|| panic!("{text} was accepted")).to_string();
        assert!(problem.contains(&format!("managed-settings.json:{position}")), "{problem}");
        for origin in [Origin::User, Origin::Managed] {
            let decision = policy.decide(&stdio("a", &["npx"]), origin);
            assert!(!decision.allowed && decision.reason.contains("managed-settings.json"), "{decision:?}");
        }
    }
    for text in
        ["{}", "{\"mcpServers\": []}", "{\"mcpServers\": {\"a\": {}, \"a\": {}}}", "{\"mcpServers\": {}, \"x\": 1}"]
    {
        let policy = read(Some(text), None);
        assert!(policy.problem().is_some_and(|problem| problem.to_string().contains("managed-mcp.json:1:")), "{text}");
        assert!(!allowed(&policy, &stdio("a", &["npx"])));
    }
}

#[test]
fn all_errors_of_a_file_are_reported_at_once() {
    let text = "{\n\"deniedMcpServer\": [],\n\"allowedMcpServers\": [{\"serverName\": 5},\n{}],\n\"x\": 1}";
    let problem = read(None, Some(text)).problem().unwrap().to_string();
    for position in [":2:1: unknown key", ":3:38: expected a string", ":4:1: an entry has", ":5:1: unknown key"] {
        assert!(problem.contains(position), "{position}: {problem}");
    }
}

#[test]
fn a_misspelled_key_has_a_suggestion() {
    let policy = read(None, Some("{\n  \"deniedMcpServer\": [] }"));
    let problem = policy.problem().unwrap().to_string();
    assert!(problem.contains("unknown key `deniedMcpServer`, did you mean `deniedMcpServers`?"), "{problem}");
    // A shared file may contain other keys, but no misspelled one.
    let directory = PolicyDirectory::claude_code(Platform::Linux);
    let root = TempDir::new().unwrap();
    fs::create_dir_all(directory.settings(root.path()).parent().unwrap()).unwrap();
    for (text, rejected) in
        [(r#"{"permissions": {}, "deniedMcpServers": []}"#, false), (r#"{"allowedMcpservers": []}"#, true)]
    {
        fs::write(directory.settings(root.path()), text).unwrap();
        assert_eq!(Policy::read(&directory, root.path()).problem().is_some(), rejected, "{text}");
    }
}

#[test]
fn an_unreadable_file_rejects_all_servers() {
    let root = root(None, None);
    // A directory can be opened but not read, also by root.
    fs::create_dir(PolicyDirectory::own(Platform::Linux).settings(root.path())).unwrap();
    let policy = Policy::read(&PolicyDirectory::own(Platform::Linux), root.path());
    assert!(matches!(policy.problem(), Some(PolicyError::Unreadable { .. })), "{:?}", policy.problem());
    assert!(!allowed(&policy, &stdio("a", &["npx"])));
    let root = self::root(None, Some("\u{feff}{}"));
    assert!(
        Policy::read(&PolicyDirectory::own(Platform::Linux), root.path()).problem().is_none(),
        "editors add a byte order mark"
    );
    let settings = PolicyDirectory::own(Platform::Linux).settings(root.path());
    fs::write(&settings, b"{\"a\": \"\xff\"}").unwrap();
    assert!(Policy::read(&PolicyDirectory::own(Platform::Linux), root.path()).problem().is_some());
    fs::write(&settings, " ".repeat(5 << 20)).unwrap();
    let policy = Policy::read(&PolicyDirectory::own(Platform::Linux), root.path());
    let problem = policy.problem().unwrap().to_string();
    assert!(problem.contains("the limit for a policy is 4 MiB"), "{problem}");
}

#[test]
fn every_operating_system_has_a_directory() {
    let at = |directory: PolicyDirectory| directory.settings(Path::new("/")).to_string_lossy().replace('\\', "/");
    assert_eq!(at(PolicyDirectory::own(Platform::Linux)), "/etc/mcp-workbench/managed-settings.json");
    let mac = "/Library/Application Support/mcp-workbench/managed-settings.json";
    assert_eq!(at(PolicyDirectory::own(Platform::MacOs)), mac);
    assert_eq!(at(PolicyDirectory::own(Platform::Windows)), "/Program Files/mcp-workbench/managed-settings.json");
    assert_eq!(at(PolicyDirectory::claude_code(Platform::Linux)), "/etc/claude-code/managed-settings.json");
    assert_eq!(at(PolicyDirectory::claude_code(Platform::Windows)), "/Program Files/ClaudeCode/managed-settings.json");
}

fn sure(pattern: &str, url: &str) -> bool {
    UrlPattern::parse(pattern).unwrap().definitely_matches(url)
}

fn may(pattern: &str, url: &str) -> bool {
    UrlPattern::parse(pattern).unwrap().may_match(url)
}

#[test]
fn urls_match_part_by_part_after_normalization() {
    for (pattern, url) in [
        ("https://good.test/*", "https://good.test/"),
        ("https://good.test/*", "HTTPS://GOOD.TEST:443/a/b?c=d"),
        ("https://good.test/*", "https://user:secret@good.test/a"),
        ("https://good.test/*", "https://good.test./a"),
        ("https://GOOD.test:443/mcp", "https://good.test/x/../mcp"),
        ("https://*.good.test/*", "https://a.b.good.test/mcp"),
        ("*://*.good.test:*/*", "http://a.good.test:8080/mcp"),
        ("http://localhost:*/*", "http://localhost:1234/mcp"),
        ("http://127.0.0.1/*", "http://0x7f.1/"),
        ("https://bücher.test/*", "https://xn--bcher-kva.test/"),
        ("https://good.test", "https://good.test"),
        ("unix:///run/mcp.sock", "unix:///run/mcp.sock#/mcp"),
        ("*", "https://anything.test/"),
        ("https://good.test/%7euser/*", "https://good.test/~user/x"),
    ] {
        assert!(sure(pattern, url), "{pattern} {url}");
        assert!(may(pattern, url), "{pattern} {url}");
    }
}

#[test]
fn a_url_of_another_host_never_matches() {
    for (pattern, url) in [
        ("https://good.test/*", "https://good.test@evil.test/"),
        ("https://good.test/*", "https://good.test:x@evil.test/"),
        ("https://good.test/*", "https://evil.test/https://good.test/"),
        ("https://good.test/*", "https://evil.test#@good.test/"),
        ("https://good.test/*", "https://evil.test\\@good.test/"),
        ("https://good.test/*", "https://good.test.evil.test/"),
        ("https://good.test/*", "http://good.test/"),
        ("https://good.test/*", "https://good.test:8443/"),
        ("https://*.good.test/*", "https://evil.test/.good.test/"),
        ("https://*.good.test/*", "https://evil.test?.good.test/"),
        ("https://*.good.test/*", "https://evil.test\\.good.test/"),
        ("https://*.good.test/*", "https://good.test/"),
        ("https://*.good.test/*", "https://evilgood.test/"),
        ("https://*/mcp", "https://evil.test/x"),
        ("https://good.test:*/*", "ftp://good.test/"),
    ] {
        assert!(!sure(pattern, url), "{pattern} {url}");
        assert!(!may(pattern, url), "{pattern} {url}");
    }
}

#[test]
fn an_allow_list_requires_all_readings_of_a_path_and_a_deny_list_one() {
    for (pattern, url) in [
        ("https://good.test/public/*", "https://good.test/public/..%2fadmin"),
        ("https://good.test/public/*", "https://good.test/public/%252e%252e/admin"),
        ("https://good.test/public/*", "https://good.test/public/..%5cadmin"),
        ("https://good.test", "https://good.test/mcp"),
        ("https://good.test/mcp", "https://good.test/mcp?as=admin"),
    ] {
        assert!(!sure(pattern, url), "{pattern} {url}");
        assert!(may(pattern, url), "{pattern} {url}");
    }
    for (pattern, url) in [
        ("https://x.test/admin/*", "https://x.test/%61dmin/"),
        ("https://x.test/admin/*", "https://x.test//admin/a"),
        ("https://x.test/admin/*", "https://x.test/a/..%2fadmin/b"),
        ("http://127.0.0.1/*", "http://[::ffff:127.0.0.1]/"),
        ("https://x.test/*", "https://"),
        ("https://x.test/*", "no url at all"),
    ] {
        assert!(may(pattern, url), "{pattern} {url}");
    }
    assert!(!sure("*", "no url at all"));
}

#[test]
fn a_pattern_that_no_url_can_match_is_rejected() {
    for pattern in [
        "",
        "good.test",
        "ftp://good.test/*",
        "https:///x",
        "https://a b/",
        "https://u@good.test/",
        "https://x:y/",
        "https://x:99999/",
        "https://x/../y",
        "https://x/%2e%2e/y",
        "https://x/a b",
        "https://x/#y",
        "https://*.bücher.test/",
    ] {
        assert!(UrlPattern::parse(pattern).is_err(), "{pattern}");
    }
}

fn hostile_url() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("good.test"),
        Just("evil.test"),
        Just("https://"),
        Just("http:"),
        Just("@"),
        Just("/"),
        Just("\\"),
        Just("."),
        Just(":"),
        Just("443"),
        Just("?"),
        Just("#"),
        Just("%2f"),
        Just("%40"),
        Just(".."),
        Just("a"),
        Just("\t"),
        Just("[::1]"),
        Just("*")
    ];
    prop::collection::vec(piece, 0..7).prop_map(|pieces| format!("https://{}", pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn allowed_urls_have_the_host_of_the_pattern(url in hostile_url()) {
        for (pattern, ending) in [("https://good.test/*", "good.test"), ("https://*.good.test/*", ".good.test")] {
            if sure(pattern, &url) {
                let reached = Url::parse(&url).unwrap();
                let host = reached.host_str().unwrap().trim_end_matches('.').to_owned();
                prop_assert!(host.ends_with(ending), "{} reaches {}", url, host);
                prop_assert_eq!((reached.scheme(), reached.port_or_known_default()), ("https", Some(443)));
            }
        }
    }

    #[test]
    fn an_entry_denies_all_that_it_allows(url in hostile_url(), pattern in "https://(\\*|\\*\\.good\\.test|good\\.test)(:\\*)?(/\\*|/a|/a/\\*|)") {
        prop_assert!(!sure(&pattern, &url) || may(&pattern, &url));
    }

    #[test]
    fn denied_urls_are_never_allowed(url in hostile_url()) {
        let reached = Url::parse(&url).ok();
        let to_good = reached.is_none_or(|url| url.host_str() == Some("good.test") && url.port().is_none());
        prop_assert!(!to_good || !allowed(&BOTH, &http("a", &url)), "{}", url);
    }
}

/// Allows by name and by URL the server that it denies.
static BOTH: LazyLock<Policy> = LazyLock::new(|| {
    lists(json!({
        "allowedMcpServers": [{"serverName": "a"}, {"serverUrl": "*"}, {"serverUrl": "https://good.test/*"}],
        "deniedMcpServers": [{"serverUrl": "https://good.test/*"}],
    }))
});

fn machine(files: &[(&str, &str)]) -> Policy {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join("etc").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Policy::machine(Platform::Linux, root.path())
}

#[test]
fn files_in_toml_have_the_same_meaning() {
    let text = "denied_mcp_servers = [{ server_name = \"evil\" }, { server_command = [\"rm\"] }]\n";
    let policy = machine(&[("mcp-workbench/managed-settings.toml", text)]);
    assert!(!policy.decide(&stdio("evil", &["x"]), Origin::User).allowed);
    assert!(!policy.decide(&stdio("a", &["rm"]), Origin::User).allowed);
    assert!(policy.decide(&stdio("a", &["ls"]), Origin::User).allowed);
    let policy = machine(&[("mcp-workbench/managed-mcp.toml", "[mcp_servers.a]\ncommand = \"ls\"\n")]);
    assert!(policy.exclusive_path().unwrap().ends_with("managed-mcp.toml"));
    assert!(!policy.decide(&stdio("a", &["ls"]), Origin::User).allowed);
    assert!(policy.decide(&stdio("a", &["ls"]), Origin::Managed).allowed);
    for (files, part) in [
        (&[("mcp-workbench/managed-settings.toml", "deniedMcpServer = []\n")][..], "unknown key `deniedMcpServer`"),
        (&[("mcp-workbench/managed-settings.toml", "denied_mcp_servers = 1\n")], "managed-settings.toml:1:"),
        (
            &[("mcp-workbench/managed-settings.toml", ""), ("mcp-workbench/managed-settings.json", "{}")],
            "exists in JSON",
        ),
    ] {
        let policy = machine(files);
        let problem = policy.problem().expect(part).to_string();
        assert!(problem.contains(part), "{problem}");
        assert!(!policy.decide(&stdio("a", &["ls"]), Origin::User).allowed);
    }
}

#[test]
fn the_files_of_claude_code_apply_if_the_workbench_has_none() {
    let denied = r#"{"deniedMcpServers": [{"serverName": "evil"}], "permissions": {}}"#;
    let allows = |policy: &Policy| policy.decide(&stdio("evil", &["x"]), Origin::User).allowed;
    assert!(!allows(&machine(&[("claude-code/managed-settings.json", denied)])));
    // Keys of other programs are errors only in the files of the workbench.
    assert!(machine(&[("mcp-workbench/managed-settings.json", denied)]).problem().is_some());
    let own = [("claude-code/managed-settings.json", denied), ("mcp-workbench/managed-settings.json", "{}")];
    assert!(allows(&machine(&own)));
    assert!(allows(&machine(&[])));
}

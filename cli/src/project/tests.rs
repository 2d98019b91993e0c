use clap::CommandFactory as _;

use super::*;
use crate::cli::Cli;

fn errors(text: &str) -> String {
    parse(text, FILE, &Cli::command()).expect_err(text).to_string()
}

#[test]
fn a_target_becomes_the_command_line_of_its_command() {
    let text = r#"
        servers.remote = { url = "https://example.com/mcp", headers = { Authorization = "Bearer ${WORKBENCH_TEST_UNSET}" } }
        servers.local = { command = ["node", "a b.js"], env = { MODE = "test" } }
        [bench.remote]
        tool = "echo"
        arguments = { text = "hi", count = 2 }
        rate = 50
        duration = "1500ms"
        threshold = ["p99 < 50ms", "error_rate <= 1%"]
        [bench.file]
        file = "load.yaml"
        [validate.z]
        server = "local"
        only = ["tools-*", "server/tools"]
        revision = ["2025-11-25"]
        quick = false
        allow_flaky = true
        fail_on = "should"
        [validate.local]
        [conformance.client]
        client_command = "python3 client.py"
        only = ["pagination/*"]
        profile = "sdk"
        transport = ["sse"]
        time_factor = 2.5
    "#;
    let targets = parse(text, FILE, &Cli::command()).unwrap();
    let lines: Vec<_> = targets.iter().map(|target| format!("{}: {}", target.id, target.command_line())).collect();
    assert_eq!(
        lines,
        [
            "validate.z: validate --only 'tools-*' --only server/tools --revision 2025-11-25 --fail-on should --allow-flaky \
             --env 'MODE=test' -- node 'a b.js'",
            "validate.local: validate --env 'MODE=test' -- node 'a b.js'",
            "conformance.client: conformance --client-command 'python3 client.py' --transport sse --profile sdk \
             --time-factor 2.5 'pagination/*'",
            "bench.remote: bench --tool echo --arguments '{\"text\":\"hi\",\"count\":2}' --rate 50.0 --duration '1s 500ms' \
             --threshold 'p99 < 50ms' --threshold 'error_rate <= 1%' --url https://example.com/mcp \
             --header 'Authorization: Bearer ${WORKBENCH_TEST_UNSET}'",
            "bench.file: bench load.yaml",
        ]
    );
    let error = targets[3].arguments(&[]).unwrap_err();
    assert_eq!(error.message(), "bench.remote: the environment variable `WORKBENCH_TEST_UNSET` is not set");
    let arguments = targets[1].arguments(&["--quiet".to_owned()]).unwrap();
    assert_eq!(arguments, ["validate", "--quiet", "--env=MODE=test", "--", "node", "a b.js"]);
    for (name, count) in
        [("validate", 2), ("local", 1), ("bench.remote", 1), ("remote", 1), ("val", 0), ("file.bench", 0)]
    {
        assert_eq!(targets.iter().filter(|target| target.is_named(name)).count(), count, "{name}");
    }
}

#[test]
fn all_errors_are_reported_with_their_location() {
    let text = "\
[servers.a]
[servers.b]
command = [\"true\"]
url = \"http://localhost\"
[servers.c]
command = [\"true\"]
headers = { A = \"b\" }
[validate.c]
server = \"bb\"
[bench.b]
tool = \"echo\"
users = 2
rate = 5
[bench.c]
tool = \"echo\"
min_rate = \"1%\"
users = 1
";
    assert_eq!(
        errors(text),
        "\
error: no server `bb` in `[servers]`
  mcp-workbench.toml:9:10
9 | server = \"bb\"
  |          ^^^^ did you mean `b`?

error: the argument '--users <USERS>' cannot be used with '--rate <RATE>'
  mcp-workbench.toml:12:9
12 | users = 2
   |         ^

error: the argument '--users <USERS>' cannot be used with '--min-rate <PERCENT>'
  mcp-workbench.toml:17:9
17 | users = 1
   |         ^

error: server `a` has neither `command` nor `url`
  mcp-workbench.toml:1:10
1 | [servers.a]
  |          ^ add `command = [\"program\", \"argument\"]`, or `url = \"https://…\"`

error: server `b` has both `command` and `url`
  mcp-workbench.toml:4:1
4 | url = \"http://localhost\"
  | ^^^ remove one of them

error: `headers` has no effect for a server with `command`
  mcp-workbench.toml:7:1
7 | headers = { A = \"b\" }
  | ^^^^^^^ use `env`"
    );
}

#[test]
fn misspelled_keys_and_wrong_values_have_help() {
    let text = "[validate.a]\nonyl = []\nrevision = [\"2025-13-01\"]\n[server.a]\nurl = \"http://localhost\"\n";
    let found = errors(text);
    for expected in [
        "2 | onyl = []\n  | ^^^^ did you mean `only`?",
        "mcp-workbench.toml:3:13",
        "4 | [server.a]\n  |  ^^^^^^ did you mean `servers`?",
    ] {
        assert!(found.contains(expected), "{found}");
    }
    assert_eq!(
        errors("[servers.a]\nurl = \"http://localhost\"\n"),
        "error: the project file has no targets\n  mcp-workbench.toml\n  help: has targets, as in `[validate.my-server]`"
    );
}

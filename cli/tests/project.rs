//! `run` and `init`: project files as processes.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-workbench");

/// Runs the program in a directory, with the program in the `PATH`.
fn run(directory: &Path, arguments: &[&str]) -> Output {
    let programs = Path::new(PROGRAM).parent().unwrap();
    let search = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .current_dir(directory)
        .env("PATH", search)
        .env("MCP_WORKBENCH_RUNS", directory.join("runs"));
    command.output().unwrap()
}

/// Checks the exit code, and returns the two outputs.
fn expect(directory: &Path, arguments: &[&str], code: i32) -> (String, String) {
    let output = run(directory, arguments);
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}:\n{out}\n{err}");
    (out, err)
}

const PROJECT: &str = r#"
[servers.good]
command = ["mcp-workbench", "mock", "stdio", "minimal"]
[servers.bad]
command = ["mcp-workbench", "mock", "stdio", "defect.yaml"]
[servers.absent]
command = ["no-such-program-of-mcp-workbench"]
[servers.secret]
url = "https://example.com/mcp"
headers = { Authorization = "Bearer ${WORKBENCH_TEST_UNSET}" }

[validate.bad]
only = ["server/tools"]
revision = ["2025-11-25"]
[validate.good]
only = ["server/tools"]
revision = ["2025-11-25"]
[validate.absent]
[validate.secret]
[bench.good]
tool = "echo"
arguments = { text = "hi" }
users = 1
warmup = "0ms"
duration = "100ms"
threshold = ["error_rate <= 0%"]
[conformance.built-in]
only = ["pagination/one-page@stdio@2025-11-25"]
"#;

/// A directory with the project file and a server whose tools have invalid schemas.
fn project() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let defect = "extends: minimal\nfaults:\n  \
                  - { fault: { rewrite: { set: { /result/tools/*/inputSchema/type: nonsense } } }, when: { method: tools/list } }\n";
    fs::write(directory.path().join("mcp-workbench.toml"), PROJECT).unwrap();
    fs::write(directory.path().join("defect.yaml"), defect).unwrap();
    directory
}

#[test]
fn run_executes_the_named_targets_and_exits_as_the_worst_one() {
    let directory = project();
    // The file is found from a directory below it, and its commands run in its own directory.
    let below = directory.path().join("src/deep");
    fs::create_dir_all(&below).unwrap();
    let (out, err) = expect(&below, &["run", "good", "built-in", "--output", "reports", "--format", "json"], 0);
    let summary = "validate.good         PASSED\nconformance.built-in  PASSED\nbench.good            PASSED\n";
    assert!(err.ends_with(summary), "{err}");
    assert_eq!(out.matches("PASSED").count(), 3, "{out}");
    for target in ["validate.good", "conformance.built-in", "bench.good"] {
        let report = fs::read_to_string(below.join("reports").join(target).join("run.json")).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&report).is_ok(), "{report}");
    }
    let (_, err) = expect(&below, &["run", "validate.bad", "validate.good", "--quiet"], 1);
    assert!(err.ends_with("validate.bad   FAILED\nvalidate.good  PASSED\n"), "{err}");
    let (_, err) = expect(directory.path(), &["run", "validate.good", "absent", "secret", "bad", "--quiet"], 3);
    assert!(err.contains("validate.secret: the environment variable `WORKBENCH_TEST_UNSET` is not set"), "{err}");
    let summary = "validate.bad     FAILED\nvalidate.good    PASSED\nvalidate.absent  ERROR\nvalidate.secret  ERROR\n";
    assert!(err.ends_with(summary), "{err}");
}

#[test]
fn targets_are_listed_without_the_values_of_variables() {
    let directory = project();
    let output = Command::new(PROGRAM)
        .args(["run", "--list", "--project"])
        .arg(directory.path().join("mcp-workbench.toml"))
        .env("WORKBENCH_TEST_UNSET", "hunter2")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("validate.good  validate --only server/tools --revision 2025-11-25 -- mcp-workbench"),
        "{text}"
    );
    assert!(text.contains("${WORKBENCH_TEST_UNSET}") && !text.contains("hunter2"), "{text}");
    assert_eq!(text.lines().count(), 6, "{text}");
    let (_, err) = expect(directory.path(), &["run", "validate.goood"], 2);
    assert_eq!(err, "error: no target `validate.goood`\n  help: did you mean `validate.good`?\n");
    let empty = tempfile::tempdir().unwrap();
    let (_, err) = expect(empty.path(), &["run"], 2);
    assert!(err.contains("there is no mcp-workbench.toml in") && err.contains("mcp-workbench init"), "{err}");
}

#[test]
fn check_reports_the_errors_of_project_files() {
    let directory = project();
    let (out, _) = expect(directory.path(), &["check", "mcp-workbench.toml", "defect.yaml"], 0);
    assert_eq!(out, "1 script and 1 project file are valid\n");
    fs::write(directory.path().join("broken.toml"), "[validate.a]\nserver = \"x\"\nquik = true\n").unwrap();
    for arguments in [&["check", "broken.toml"] as &[&str], &["run", "--project", "broken.toml"]] {
        let (_, err) = expect(directory.path(), arguments, 2);
        assert!(err.contains("broken.toml:3:1\n3 | quik = true\n  | ^^^^ did you mean `quick`?"), "{err}");
    }
}

#[test]
fn init_writes_files_that_are_valid_and_pass() {
    let directory = tempfile::tempdir().unwrap();
    let (out, _) = expect(directory.path(), &["init"], 0);
    assert_eq!(out.matches("wrote ").count(), 4, "{out}");
    expect(directory.path(), &["check", "mcp-workbench.toml", "scenarios"], 0);
    let (out, err) = expect(directory.path(), &["run"], 0);
    assert!(err.ends_with("validate.my-server  PASSED\n"), "{err}");
    assert!(out.contains("\nPASSED"), "{out}");
    // The example scenario runs, and fails for a server that violates it.
    let script = "tools: [{ name: bare, reply: { text: hi } }]\n";
    fs::write(directory.path().join("bare.yaml"), script).unwrap();
    let validate = ["validate", "--scenarios", "scenarios", "--no-built-in", "--", PROGRAM, "mock", "stdio"];
    expect(directory.path(), &[&validate[..], &["minimal"]].concat(), 0);
    let (out, _) = expect(directory.path(), &[&validate[..], &["bare.yaml"]].concat(), 1);
    assert!(out.contains("my-server/tools@stdio@2025-11-25"), "{out}");
    let workflow = fs::read_to_string(directory.path().join(".github/workflows/mcp-workbench.yml")).unwrap();
    assert!(workflow.contains("mcp-workbench run") && !workflow.contains("{repository}"), "{workflow}");
}

#[test]
fn init_replaces_no_file_without_force() {
    let directory = tempfile::tempdir().unwrap();
    let baseline = directory.path().join("baseline.txt");
    fs::write(&baseline, "mine").unwrap();
    let (out, _) = expect(directory.path(), &["init", "--name", "files", "--", "node", "a \"b\".js"], 0);
    assert!(out.contains("exists  baseline.txt\n") && out.contains("wrote   mcp-workbench.toml\n"), "{out}");
    assert_eq!(fs::read_to_string(&baseline).unwrap(), "mine");
    let (listed, _) = expect(directory.path(), &["run", "--list"], 0);
    assert!(listed.ends_with("-- node 'a \"b\".js'\n"), "{listed}");
    let (_, err) = expect(directory.path(), &["init", "--name", "files"], 2);
    assert!(err.contains("all files exist") && err.contains("--force"), "{err}");
    let (_, _) =
        expect(directory.path(), &["init", "--force", "--name", "files", "--url", "http://127.0.0.1:1/mcp"], 0);
    assert!(fs::read_to_string(&baseline).unwrap().starts_with("# Known failures"));
    let (listed, _) = expect(directory.path(), &["run", "--list"], 0);
    assert!(listed.contains("--url http://127.0.0.1:1/mcp"), "{listed}");
}

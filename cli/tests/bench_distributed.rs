//! The commands of a distributed load that need no master. Those that do are tests of `cargo xtask interop --only locust`.

use std::{
    fs,
    net::TcpListener,
    process::{Command, Output},
    thread,
};

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mcp-workbench")).arg("bench").args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_file_of_the_master_is_not_replaced_without_being_asked() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("locustfile.py");
    let output = path.to_str().expect("UTF-8");
    let printed = run(&["locustfile"]).stdout;
    assert!(text(&printed).contains("class McpUser(User)"), "{}", text(&printed));
    assert!(run(&["locustfile", "--output", output]).status.success());
    assert_eq!(fs::read(&path).expect("the file"), printed);
    fs::write(&path, "mine").expect("writable");
    let kept = run(&["locustfile", "--output", output]);
    assert_eq!((kept.status.code(), fs::read(&path).expect("the file")), (Some(2), b"mine".to_vec()));
    assert!(text(&kept.stderr).contains("--force"), "{}", text(&kept.stderr));
    assert!(run(&["locustfile", "--output", output, "--force"]).status.success());
    assert_eq!(fs::read(&path).expect("the file"), printed);
}

#[test]
fn histograms_of_several_logs_have_common_percentiles() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = env!("CARGO_BIN_EXE_mcp-workbench");
    let mut logs = Vec::new();
    for name in ["a", "b"] {
        let output = directory.path().join(name);
        let output = output.to_str().expect("UTF-8");
        let load = ["--users", "1", "--duration", "200ms", "--warmup", "1ms", "--tool", "echo", "--arguments"];
        let rest = [r#"{"message":"hi"}"#, "--quiet", "--format", "hdr", "--output", output];
        let server = ["--", program, "mock", "stdio", "minimal"];
        let bench = run(&[&load[..], &rest, &server].concat());
        assert!(bench.status.success(), "{}", text(&bench.stderr));
        logs.push(format!("{output}/latency.hlog"));
    }
    let json = |logs: &[&str]| -> Value {
        let merged = run(&[&["merge-histograms", "--json"], logs].concat());
        serde_json::from_slice(&merged.stdout).unwrap_or_else(|cause| panic!("{cause}: {}", text(&merged.stderr)))
    };
    let count = |merged: &Value| merged["total"]["count"].as_u64().expect("a count");
    let (one, two) = (json(&[&logs[0]]), json(&[&logs[1]]));
    let both = json(&[&logs[0], &logs[1]]);
    assert!(count(&one) > 0 && count(&both) == count(&one) + count(&two), "{both}");
    let table = text(&run(&["merge-histograms", &logs[0]]).stdout);
    let last = table.lines().last().unwrap_or_default();
    assert!(
        table.starts_with("worker") && last.starts_with("all") && last.contains(&count(&one).to_string()),
        "{table}"
    );
    fs::write(&logs[0], "no log\n").expect("writable");
    let invalid = run(&["merge-histograms", &logs[0]]);
    assert_eq!(invalid.status.code(), Some(2), "{}", text(&invalid.stderr));
    assert!(text(&invalid.stderr).contains("line 1"), "{}", text(&invalid.stderr));
}

#[test]
fn a_worker_checks_the_tool_before_it_looks_for_a_master() {
    // A master that is never reached: the worker must not even try.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let connected = thread::spawn(move || listener.accept());
    let server = ["--", env!("CARGO_BIN_EXE_mcp-workbench"), "mock", "stdio", "minimal"];
    let unknown = run(&[&["worker", "--locust", &address, "--tool", "ecko"][..], &server].concat());
    assert_eq!(unknown.status.code(), Some(2), "{}", text(&unknown.stderr));
    assert!(text(&unknown.stderr).contains("echo"), "{}", text(&unknown.stderr));
    assert!(!connected.is_finished());
    let rate =
        run(&[&["worker", "--locust", &address, "--tool", "echo", "--rate-per-user", "0"][..], &server].concat());
    assert_eq!(rate.status.code(), Some(2), "{}", text(&rate.stderr));
    for wrong in [&["worker", "--tool", "echo"][..], &["worker", "--locust", "nowhere", "--tool", "echo"]] {
        assert_eq!(run(wrong).status.code(), Some(2));
    }
}

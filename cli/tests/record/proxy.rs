//! What passes through the recorder is unchanged: bytes, ends of streams, signals and exit codes.

use std::io::Write as _;

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{exchange, frames, read_exactly, start};

/// Input with invalid JSON, CRLF, an empty line, bytes that are not UTF-8, and a last line without its end.
const ODD: &[u8] = b"{\"jsonrpc\":\"2.0\"}\r\nnot json\n\n\xff\xfe\n{\"a\": 1}\n{\"partial\":";

#[test]
fn every_byte_passes_in_both_directions() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = exchange(directory.path(), &["cat"], ODD);
    assert_eq!(output.stdout, ODD);
    assert_eq!(output.status.code(), Some(0));
    let frames = frames(directory.path());
    let bodies = |direction: &str| {
        let sent = frames.iter().filter(|frame| frame["direction"] == direction);
        sent.map(|frame| frame["body"].to_string()).filter(|body| !body.contains("event")).collect::<Vec<_>>()
    };
    let expected = [
        "{\"json\":{\"jsonrpc\":\"2.0\"}}",
        "{\"text\":\"not json\"}",
        "{\"text\":\"\"}",
        "{\"text\":\"\u{fffd}\u{fffd}\"}",
        "{\"json\":{\"a\":1}}",
        "{\"text\":\"{\\\"partial\\\":\"}",
    ];
    assert_eq!(bodies("client-to-server"), expected);
    assert_eq!(bodies("server-to-client"), expected);
}

#[test]
fn a_partial_line_is_passed_on_before_its_end() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut child = start(directory.path(), &["cat"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"{\"half").expect("it is open");
    assert_eq!(read_exactly(&mut child, 6), b"{\"half");
    stdin.write_all(b"\": 1}\n").expect("it is open");
    assert_eq!(read_exactly(&mut child, 6), b"\": 1}\n");
    drop(stdin);
    assert!(child.wait().expect("it exits").success());
}

#[test]
fn standard_error_and_the_exit_code_are_those_of_the_server() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = exchange(directory.path(), &["sh", "-c", "printf 'a log\\n' >&2; exit 37"], b"");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(37), &b"a log\n"[..]));
}

#[test]
fn a_server_that_closes_its_output_closes_that_of_the_recorder() {
    let directory = tempfile::tempdir().expect("a directory");
    // It exits only after the end of its input, which the test closes after the end of the output.
    let mut child = start(directory.path(), &["sh", "-c", "exec >&-; cat >/dev/null"]);
    let mut rest = Vec::new();
    std::io::Read::read_to_end(child.stdout.as_mut().expect("a pipe"), &mut rest).expect("it ends");
    assert!(rest.is_empty() && child.try_wait().expect("a status").is_none());
    drop(child.stdin.take());
    assert!(child.wait().expect("it exits").success());
}

#[test]
fn signals_reach_the_server_and_its_death_by_a_signal_is_passed_on() {
    let signal = |child: &std::process::Child, signal| {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, signal).expect("it runs");
    };
    let directory = tempfile::tempdir().expect("a directory");
    let trap = "trap 'echo caught; exit 5' TERM; echo ready; while :; do read line || sleep 0.05; done";
    let mut child = start(&directory.path().join("caught"), &["sh", "-c", trap]);
    assert_eq!(read_exactly(&mut child, 6), b"ready\n");
    signal(&child, Signal::TERM);
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("it exits").code(), Some(5));

    let mut child = start(&directory.path().join("killed"), &["sh", "-c", "echo ready; exec cat"]);
    assert_eq!(read_exactly(&mut child, 6), b"ready\n");
    // `wait` would close it, and the server might exit at the end of its input before the signal reaches it.
    let input = child.stdin.take();
    // SIGINT and SIGHUP may be ignored by the process that started this test, and so by all below it.
    signal(&child, Signal::TERM);
    let status = child.wait().expect("it exits");
    drop(input);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
}

#[test]
fn a_server_that_cannot_start_is_an_environment_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = exchange(directory.path(), &["/nonexistent/server"], b"");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn secrets_are_not_recorded() {
    let directory = tempfile::tempdir().expect("a directory");
    let line = b"{\"access_token\":\"s3cret\",\"note\":\"Bearer s3cret\"}\n";
    let output = exchange(directory.path(), &["sh", "-c", "cat", "--password=s3cret"], line);
    assert_eq!(output.stdout, line);
    for file in ["frames.jsonl", "recording.json"] {
        let text = std::fs::read_to_string(directory.path().join(file)).expect("the file");
        assert!(!text.contains("s3cret"), "{file}: {text}");
    }
}

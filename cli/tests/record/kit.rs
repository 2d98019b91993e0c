//! Starts `record` between a test and a server.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-workbench");

/// Runs the program.
pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program starts")
}

/// Standard output, after a check of the exit code.
pub(crate) fn stdout(output: &Output, code: i32) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// A path as an argument.
pub(crate) fn path(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}

/// Starts a server behind the recorder, with all streams as pipes.
pub(crate) fn start(directory: &Path, server: &[&str]) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(["record", "--output", path(directory), "--"]).args(server);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// Writes the input of a server behind the recorder, closes it, and returns what the server wrote.
pub(crate) fn exchange(directory: &Path, server: &[&str], input: &[u8]) -> Output {
    let mut child = start(directory, server);
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the program exits");
    writer.join().expect("the writer ends");
    output
}

/// Reads exactly this many bytes of a child's output.
pub(crate) fn read_exactly(child: &mut Child, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut bytes).expect("enough output");
    bytes
}

/// The recorded frames.
pub(crate) fn frames(directory: &Path) -> Vec<Value> {
    let text = fs::read_to_string(directory.join("frames.jsonl")).expect("the frames");
    text.lines().map(|line| serde_json::from_str(line).expect("a frame")).collect()
}

/// The JSON bodies of one direction.
pub(crate) fn bodies(frames: &[Value], direction: &str) -> Vec<Value> {
    let sent = frames.iter().filter(|frame| frame["direction"] == direction);
    sent.filter_map(|frame| frame["body"].get("json").cloned()).collect()
}

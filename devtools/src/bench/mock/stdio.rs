//! Calls over stdio with blocking reads and writes, one at a time or many in flight.

use std::{
    io::{BufRead as _, BufReader, Read, Write},
    process::{ChildStdin, ChildStdout},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use tempfile::NamedTempFile;

use super::{
    messages,
    rounds::{Comparison, Side, interleave},
    server::BenchServer,
};

/// Size of a read in bytes.
const READ_SIZE: usize = 64 * 1024;

/// A connected server over stdio.
pub(super) struct StdioConnection {
    pub(super) server: BenchServer,
    input: ChildStdin,
    output: ChildStdout,
    request: Vec<u8>,
    reply: Vec<u8>,
}

/// Both servers.
pub(super) struct Pair {
    mock: StdioConnection,
    baseline: StdioConnection,
}

impl Pair {
    /// Starts both servers. The baseline server sends the same response as the mock server.
    pub(super) fn start(revision: &str) -> anyhow::Result<Self> {
        let mock = StdioConnection::mock(revision)?;
        let mut file = NamedTempFile::new().context("cannot write the response file")?;
        file.write_all(&mock.reply).context("cannot write the response file")?;
        let mut server = BenchServer::baseline_stdio(file.path())?;
        let (input, output) = server.pipes()?;
        let (request, reply) = (mock.request.clone(), mock.reply.clone());
        let mut baseline = StdioConnection { server, input, output, request, reply };
        // After one call the server has read the file, which is deleted next.
        baseline.call(1, |made| made >= 1)?;
        Ok(Self { mock, baseline })
    }

    /// Compares both servers.
    pub(super) fn compare(&mut self, in_flight: usize, rounds: usize, each: Duration) -> anyhow::Result<Comparison> {
        interleave(rounds, |side| {
            let connection = if side == Side::Mock { &mut self.mock } else { &mut self.baseline };
            connection.for_time(in_flight, each)
        })
    }

    /// The mock server.
    pub(super) fn into_mock(self) -> StdioConnection {
        self.mock
    }
}

impl StdioConnection {
    fn mock(revision: &str) -> anyhow::Result<Self> {
        let mut server = BenchServer::mock_stdio(revision)?;
        let (mut input, output) = server.pipes()?;
        let mut output = BufReader::new(output);
        let mut reply = Vec::new();
        if messages::has_sessions(revision) {
            writeln!(input, "{}", messages::initialize(revision))?;
            output.read_until(b'\n', &mut reply)?;
            reply.clear();
            writeln!(input, "{}", messages::initialized())?;
        }
        let request = (messages::call(revision) + "\n").into_bytes();
        input.write_all(&request)?;
        output.read_until(b'\n', &mut reply)?;
        if !messages::is_result(&reply) {
            bail!("the mock server did not return a result: {}", String::from_utf8_lossy(&reply));
        }
        // The buffer is empty, because all requests have responses.
        Ok(Self { server, input, output: output.into_inner(), request, reply })
    }

    /// Calls for this time, after a warm-up of a fifth of it, and returns the calls per second.
    fn for_time(&mut self, in_flight: usize, each: Duration) -> anyhow::Result<f64> {
        let warm = Instant::now() + each / 5;
        self.call(in_flight, |_| Instant::now() >= warm)?;
        let start = Instant::now();
        let made = self.call(in_flight, |_| start.elapsed() >= each)?;
        Ok(made as f64 / start.elapsed().as_secs_f64())
    }

    /// Keeps the number of calls in flight until `is_done`, and returns the number of finished calls.
    pub(super) fn call(&mut self, in_flight: usize, is_done: impl Fn(u64) -> bool) -> anyhow::Result<u64> {
        // All responses are equal, so the input is compared with repeated copies of the first one, from any offset.
        let expected = self.reply.repeat(READ_SIZE / self.reply.len() + 2);
        let (mut buffer, mut offset) = (vec![0; READ_SIZE], 0);
        let (mut made, mut open) = (0_u64, in_flight);
        self.input.write_all(&self.request.repeat(in_flight))?;
        while open > 0 {
            let count = self.output.read(&mut buffer)?;
            if count == 0 {
                bail!("the server closed its output");
            }
            if buffer[..count] != expected[offset..offset + count] {
                bail!("a response differs from the first: {}", String::from_utf8_lossy(&buffer[..count]));
            }
            let finished = (offset + count) / self.reply.len();
            offset = (offset + count) % self.reply.len();
            made += finished as u64;
            if is_done(made) {
                open -= finished;
                continue;
            }
            // Each call is written separately, as independent callers do.
            for _ in 0..finished {
                self.input.write_all(&self.request)?;
            }
        }
        Ok(made)
    }
}

//! Calls over stdio: blocking reads and writes on this side too, one call at a time or many in flight.

use std::{
    io::{BufRead as _, BufReader, Read, Write},
    process::{ChildStdin, ChildStdout},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use tempfile::NamedTempFile;

use super::{
    rounds::{Comparison, Side, interleave},
    speech,
    subject::Subject,
};

/// How much is read at a time.
const READ: usize = 64 * 1024;

/// A server at the other end of two pipes, ready to be called.
pub(super) struct Line {
    pub(super) subject: Subject,
    input: ChildStdin,
    output: ChildStdout,
    request: Vec<u8>,
    reply: Vec<u8>,
}

/// Both servers.
pub(super) struct Pair {
    mock: Line,
    bare: Line,
}

impl Pair {
    /// Starts both servers; the bare one gives the very reply that the mock gives.
    pub(super) fn start(revision: &str) -> anyhow::Result<Self> {
        let mock = Line::mock(revision)?;
        let mut file = NamedTempFile::new().context("cannot write the reply down")?;
        file.write_all(&mock.reply).context("cannot write the reply down")?;
        let mut subject = Subject::bare_stdio(file.path())?;
        let (input, output) = subject.pipes()?;
        let (request, reply) = (mock.request.clone(), mock.reply.clone());
        let mut bare = Line { subject, input, output, request, reply };
        // One call, so that the reply has been read before its file goes.
        bare.call(1, |made| made >= 1)?;
        Ok(Self { mock, bare })
    }

    /// Measures the one against the other.
    pub(super) fn compare(&mut self, in_flight: usize, rounds: usize, each: Duration) -> anyhow::Result<Comparison> {
        interleave(rounds, |side| {
            let line = if side == Side::Mock { &mut self.mock } else { &mut self.bare };
            line.for_time(in_flight, each)
        })
    }

    /// The mock.
    pub(super) fn into_mock(self) -> Line {
        self.mock
    }
}

impl Line {
    fn mock(revision: &str) -> anyhow::Result<Self> {
        let mut subject = Subject::mock_stdio(revision)?;
        let (mut input, output) = subject.pipes()?;
        let mut output = BufReader::new(output);
        let mut reply = Vec::new();
        if speech::has_sessions(revision) {
            writeln!(input, "{}", speech::initialize(revision))?;
            output.read_until(b'\n', &mut reply)?;
            reply.clear();
            writeln!(input, "{}", speech::initialized())?;
        }
        let request = (speech::call(revision) + "\n").into_bytes();
        input.write_all(&request)?;
        output.read_until(b'\n', &mut reply)?;
        if !speech::is_result(&reply) {
            bail!("the mock does not answer the call with a result: {}", String::from_utf8_lossy(&reply));
        }
        // Nothing is left in the buffer: every message that was sent has been answered.
        Ok(Self { subject, input, output: output.into_inner(), request, reply })
    }

    /// Calls for this time, after a fifth of it that does not count, and returns the calls a second.
    fn for_time(&mut self, in_flight: usize, each: Duration) -> anyhow::Result<f64> {
        let warm = Instant::now() + each / 5;
        self.call(in_flight, |_| Instant::now() >= warm)?;
        let began = Instant::now();
        let made = self.call(in_flight, |_| began.elapsed() >= each)?;
        Ok(made as f64 / began.elapsed().as_secs_f64())
    }

    /// Keeps so many calls in flight until it is enough, and returns how many were answered.
    pub(super) fn call(&mut self, in_flight: usize, enough: impl Fn(u64) -> bool) -> anyhow::Result<u64> {
        // Every answer is the same, so what is read is held against a row of them, wherever in the row it begins.
        let row = self.reply.repeat(READ / self.reply.len() + 2);
        let (mut buffer, mut offset) = (vec![0; READ], 0);
        let (mut made, mut open) = (0_u64, in_flight);
        self.input.write_all(&self.request.repeat(in_flight))?;
        while open > 0 {
            let count = self.output.read(&mut buffer)?;
            if count == 0 {
                bail!("the server closed its output");
            }
            if buffer[..count] != row[offset..offset + count] {
                bail!("an answer is not like the first: {}", String::from_utf8_lossy(&buffer[..count]));
            }
            let answered = (offset + count) / self.reply.len();
            offset = (offset + count) % self.reply.len();
            made += answered as u64;
            if enough(made) {
                open -= answered;
                continue;
            }
            // Each call is written by itself, as clients do who know nothing of each other.
            for _ in 0..answered {
                self.input.write_all(&self.request)?;
            }
        }
        Ok(made)
    }
}

//! The lines of standard input in one large buffer: one read contains many messages, and none is copied.

use std::{
    io::{self, Read},
    ops::Range,
};

/// Number of bytes per read.
const READ: usize = 64 * 1024;
/// Number of recorded bytes of a line that is too long.
const REMNANT: usize = 256 * 1024;

/// One line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// The whole line, at this range of the buffer.
    Whole(Range<usize>),
    /// The beginning of a line that is too long; the rest is dropped.
    TooLong(Range<usize>),
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    input: R,
    longest: usize,
    buffer: Vec<u8>,
    /// The range of unread lines. The buffer after it is free.
    unread: Range<usize>,
    /// The end of the next line, if it is known.
    end: Option<usize>,
    /// The number of searched bytes.
    searched: usize,
    ended: bool,
}

impl<R: Read> LineReader<R> {
    /// Creates a reader with this maximum length.
    pub(super) fn new(input: R, longest: usize) -> Self {
        Self { input, longest, buffer: vec![0; READ], unread: 0..0, end: None, searched: 0, ended: false }
    }

    /// The bytes of the last line.
    pub(super) fn bytes(&self, place: Range<usize>) -> &[u8] {
        &self.buffer[place]
    }

    /// The next line; `None` at the end of the input. Bytes after the last line feed are a line as well.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        let mut too_long = false;
        loop {
            if self.is_whole() {
                let line = self.unread.start..self.end.take().unwrap_or(self.unread.end);
                self.unread.start = line.end + 1;
                self.searched = self.unread.start;
                return Ok(Some(if too_long { Line::TooLong(line) } else { Line::Whole(line) }));
            }
            if self.ended {
                let line = self.unread.clone();
                self.unread = 0..0;
                self.searched = 0;
                return Ok((!line.is_empty()).then_some(if too_long {
                    Line::TooLong(line)
                } else {
                    Line::Whole(line)
                }));
            }
            if self.unread.len() > self.longest || too_long {
                too_long = true;
                self.unread.end = self.unread.end.min(self.unread.start + REMNANT.min(self.longest));
                self.searched = self.unread.end;
            }
            self.fill()?;
        }
    }

    /// Whether another line is available without blocking.
    pub(super) fn is_whole(&mut self) -> bool {
        if self.end.is_none() {
            let found = memchr::memchr(b'\n', &self.buffer[self.searched..self.unread.end]);
            self.end = found.map(|at| self.searched + at);
            self.searched = self.end.unwrap_or(self.unread.end);
        }
        self.end.is_some()
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.unread.start > 0 {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.searched -= self.unread.start;
            self.unread = 0..self.unread.len();
        }
        // Frees the memory of one long line.
        let room = (self.unread.end + READ).next_power_of_two();
        if self.buffer.len() < self.unread.end + READ {
            self.buffer.resize(room, 0);
        } else if self.buffer.len() > 4 * room {
            self.buffer.truncate(room);
            self.buffer.shrink_to_fit();
        }
        loop {
            match self.input.read(&mut self.buffer[self.unread.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.unread.end += count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(cause),
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns its bytes in pieces of these sizes, repeatedly.
    struct Pieces {
        bytes: Vec<u8>,
        sizes: Vec<usize>,
        at: usize,
    }

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.sizes[self.at % self.sizes.len()].min(self.bytes.len()).min(buffer.len());
            self.at += 1;
            buffer[..size].copy_from_slice(&self.bytes[..size]);
            self.bytes.drain(..size);
            Ok(size)
        }
    }

    fn lines(bytes: &[u8], sizes: &[usize], longest: usize) -> Vec<(Vec<u8>, bool)> {
        let mut lines = LineReader::new(Pieces { bytes: bytes.to_vec(), sizes: sizes.to_vec(), at: 0 }, longest);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let (Line::Whole(place) | Line::TooLong(place)) = line.clone();
            all.push((lines.bytes(place).to_vec(), matches!(line, Line::Whole(_))));
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

        #[test]
        fn gives_the_same_lines_however_they_come(
            texts in prop::collection::vec("[a-z]{0,9}", 0..12),
            ended in any::<bool>(),
            sizes in prop::collection::vec(1_usize..7, 1..5),
        ) {
            let mut bytes = texts.join("\n").into_bytes();
            if ended && !texts.is_empty() {
                bytes.push(b'\n');
            }
            let mut expected: Vec<(Vec<u8>, bool)> =
                bytes.split(|byte| *byte == b'\n').map(|line| (line.to_vec(), true)).collect();
            // Bytes after the last line feed are a line only if there are any.
            if expected.last().is_some_and(|(line, _)| line.is_empty()) {
                expected.pop();
            }
            prop_assert_eq!(lines(&bytes, &sizes, 100), expected);
        }

        #[test]
        fn lets_go_of_what_is_too_long_and_finds_the_next_line(
            length in 0_usize..40,
            sizes in prop::collection::vec(1_usize..7, 1..5),
        ) {
            let bytes = [b"first\n".to_vec(), vec![b'x'; length], b"\nlast".to_vec()].concat();
            let all = lines(&bytes, &sizes, 10);
            prop_assert_eq!(all.len(), 3);
            prop_assert_eq!(&all[0], &(b"first".to_vec(), true));
            prop_assert_eq!(&all[2], &(b"last".to_vec(), true));
            // A line is only too long if it does not end in the read that exceeds the limit; the bytes of that read are
            // kept.
            let (line, whole) = &all[1];
            prop_assert!(if length <= 10 { *whole } else { *whole || line.len() <= 10 + 6 }, "{} {}", length, line.len());
            prop_assert!(!whole || line.len() == length);
            prop_assert!(*whole || length > 10);
            prop_assert!(length < 20 || !whole, "far too long");
        }
    }

    #[test]
    fn takes_many_lines_from_one_read_and_gives_memory_back() {
        let long = vec![b'y'; 5_000_000];
        let bytes = [b"a\nb\n".to_vec(), long.clone(), b"\n".repeat(200_000)].concat();
        let mut lines = LineReader::new(&bytes[..], 10_000_000);
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(0..1)));
        assert!(lines.is_whole());
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(2..3)));
        assert!(!lines.is_whole());
        let Some(Line::Whole(place)) = lines.next().unwrap() else { panic!("no line") };
        assert!(lines.bytes(place) == long);
        while lines.next().unwrap().is_some() {}
        assert!(lines.buffer.capacity() <= 1024 * 1024, "{}", lines.buffer.capacity());
    }
}

//! Log lines on standard output, which over stdio is for messages alone (all revisions, transports, stdio): before a
//! message, or in the middle of one, as two threads that write at once make it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Framed, Turn};
use crate::engine::Step;

/// How many lines are written at once, so that a script's slip does not eat the memory.
const MOST: u32 = 100_000;

/// Log lines where messages belong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct LogLines {
    /// How many; 1 if absent, 100,000 at most.
    pub count: u32,
    /// The text of each, without its number and without the end of the line.
    pub text: String,
    /// Where they are written.
    #[serde(rename = "where")]
    pub place: Place,
}

/// Where log lines are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Before what is said next.
    #[default]
    Before,
    /// In the middle of every message that follows.
    Amid,
}

impl Default for LogLines {
    fn default() -> Self {
        Self { count: 1, text: "INFO mock: still here".to_owned(), place: Place::Before }
    }
}

impl LogLines {
    pub(super) fn turn(&self) -> Turn {
        match self.place {
            Place::Before => Turn::Do(self.lines().map(Step::Raw).collect()),
            Place::Amid => Turn::Join,
        }
    }

    pub(super) fn reframe(&self, framed: &mut Framed) {
        let middle = framed.payload.start + framed.payload.len() / 2;
        let text: String = self.lines().map(|line| line + "\n").collect();
        framed.insert(middle, text.as_bytes());
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        (1..=self.count.min(MOST)).map(|number| format!("{} {number}", self.text))
    }
}

//! More on standard error than a pipe holds: a client that does not read it stops the server at a write that never
//! returns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Turn;
use crate::engine::{Deed, Step};

/// A flood on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct StderrFlood {
    /// How many bytes, in lines of 80. A pipe holds 65,536 on Linux.
    pub bytes: usize,
}

impl StderrFlood {
    pub(super) fn turn(self) -> Turn {
        Turn::Do(vec![Step::Process(Deed::Stderr { bytes: self.bytes })])
    }
}

//! The end of the connection in the place of an answer. Over stdio that is standard output closed early, by a process
//! that lives on.

use super::Turn;
use crate::engine::Step;

pub(super) fn turn() -> Turn {
    Turn::End(Step::Close)
}

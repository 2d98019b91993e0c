//! A process that stops listening to SIGTERM in the middle of its life.

use super::Turn;
use crate::engine::{Deed, Step};

pub(super) fn turn() -> Turn {
    Turn::Do(vec![Step::Process(Deed::IgnoreSigterm)])
}

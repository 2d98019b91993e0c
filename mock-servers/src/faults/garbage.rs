//! Text where a message belongs: a stray print, a stack trace.

use super::Turn;
use crate::engine::{Facts, Step};

pub(super) fn turn(text: &str, facts: &Facts<'_>) -> Turn {
    Turn::Do(vec![Step::Raw(facts.fill_text(text))])
}

//! A fixed wait before whatever follows.

use super::Turn;
use crate::period::Period;

pub(super) fn turn(period: Period) -> Turn {
    Turn::Wait(period.0)
}

//! An answer that comes although its request has been cancelled: the cancellation may cross it on the way, so clients
//! have to ignore it (all revisions, cancellation).

use super::Turn;
use crate::period::Period;

pub(super) fn turn(period: Period) -> Turn {
    Turn::WaitRegardless(period.0)
}

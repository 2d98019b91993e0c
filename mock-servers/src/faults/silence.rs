//! No answer, ever: the commonest fault there is, and the one that a client must not wait for without a limit.

use super::Turn;

pub(super) fn turn() -> Turn {
    Turn::Hold
}

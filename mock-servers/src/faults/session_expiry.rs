//! A session that ends without a word: the client learns of it by a 404, and has to initialize anew (2025-03-26 to
//! 2025-11-25, transports, session management).

use super::Turn;

pub(super) fn turn() -> Turn {
    Turn::ForgetSession
}

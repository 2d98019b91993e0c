//! An answer that breaks off.

use super::{Finish, How, shape::Draft};

pub(super) fn play(bytes: usize, draft: &mut Draft) {
    draft.end_at(bytes, Finish::Amid(How::Close));
}

//! A process that the server starts while it serves, and never looks after.

use super::Turn;
use crate::{
    engine::{Deed, Step},
    script::ChildScript,
};

pub(super) fn turn(child: &ChildScript) -> Turn {
    Turn::Do(vec![Step::Process(Deed::Start(child.clone()))])
}

//! The end of the connection, at a moment and in a manner of choice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finish, Turn, shape::Draft};
use crate::engine::Step;

/// The end of the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Disconnect {
    /// When.
    pub moment: Moment,
    /// How.
    pub by: How,
    /// Amid the answer: after how many bytes of it; after half of them if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

/// When a connection ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// Before anything else is said.
    #[default]
    Before,
    /// In the middle of the answer.
    Amid,
    /// After the answer; over HTTP in spite of keep-alive.
    After,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// In good order: the client reads the end of the stream.
    #[default]
    Close,
    /// By a TCP reset: the client's read fails. Over stdio and Unix sockets as `close`, for they know no reset.
    Reset,
}

impl Disconnect {
    pub(super) fn turn(self) -> Turn {
        match (self.moment, self.by) {
            (Moment::Before, How::Close) => Turn::End(Step::Close),
            (Moment::Before, How::Reset) => Turn::End(Step::Reset),
            _ => Turn::Join,
        }
    }

    pub(super) fn play(self, draft: &mut Draft) {
        match self.moment {
            Moment::Before => {}
            Moment::Amid => {
                let half = draft.framed.payload.len() / 2;
                draft.end_at(self.at.unwrap_or(half), Finish::Amid(self.by));
            }
            Moment::After => draft.finish = Finish::After(self.by),
        }
    }
}

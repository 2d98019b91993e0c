//! Reports of progress.

use serde_json::{Map, Value, json};

use super::{
    Engine, Output, Step,
    dispatch::{Dispatch, Flow},
    features::SchemaType,
    message::outgoing,
};
use crate::script::{Action, Progress};

/// Maximum number of notifications at once, so that a typing error in a script does not exhaust the memory.
const MAX_REPORTS: u32 = 100_000;

impl Engine {
    /// Sends one progress notification, and queues the others.
    pub(crate) fn report_progress(
        &self,
        dispatch: &mut Dispatch,
        mut progress: Progress,
        out: &mut Vec<Output>,
    ) -> Flow {
        let Some(token) = dispatch.message.pointer("/params/_meta/progressToken").cloned() else { return Flow::Next };
        if progress.times == Some(0) {
            return Flow::Next;
        }
        if let Some(every) = progress.every.take() {
            // The wait precedes the notification, which is an action of its own, and then the rest.
            let times = progress.times.unwrap_or(1);
            if times > 1 {
                let rest = Progress {
                    progress: progress.progress + 1.0,
                    times: Some(times - 1),
                    every: Some(every),
                    ..progress.clone()
                };
                dispatch.remaining.push_front(Action::Progress(rest));
            }
            dispatch.remaining.push_front(Action::Progress(Progress { times: Some(1), ..progress }));
            return dispatch.wait(every.0, out);
        }
        for _ in 0..progress.times.unwrap_or(1).min(MAX_REPORTS) {
            let message = self.progress_message(dispatch, &token, &progress);
            dispatch.push(out, Step::Send(message));
            progress.progress += 1.0;
        }
        Flow::Next
    }

    fn progress_message(&self, dispatch: &Dispatch, token: &Value, progress: &Progress) -> Value {
        let mut params = Map::new();
        params.insert("progressToken".into(), token.clone());
        params.insert("progress".into(), number(progress.progress));
        if let Some(total) = progress.total {
            params.insert("total".into(), number(total));
        }
        if let Some(message) = &progress.message {
            params.insert("message".into(), dispatch.context().fill_text(message).into());
        }
        self.features(dispatch).fit_members(SchemaType::Progress, &mut params);
        outgoing(None, "notifications/progress", Some(Value::Object(params)))
    }
}

/// A number, as an integer if possible: some clients accept only integers.
fn number(value: f64) -> Value {
    // Every whole number below 2^53 is exact in a double, so nothing is lost here.
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 { json!(value as i64) } else { json!(value) }
}

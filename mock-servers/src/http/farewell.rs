//! The end of a server: subscriptions get their last word, streams end, and what still comes is waited for.

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::{
    hub::{Core, Hub},
    responder::Subject,
};
use crate::{engine::ExchangeId, listen::serving::Farewell};

impl Farewell for Hub {
    fn bid_farewell(self: Arc<Self>, patience: Duration) {
        let mut core = self.lock();
        core.awaited.end_after(patience);
        let outputs = core.engine.end_subscriptions();
        self.play(&mut core, outputs);
        self.end_what_is_over(&mut core);
    }
}

impl Hub {
    /// While the server closes: ends in good order all streams on which nothing more will be said, and hangs up on those
    /// who wait for an answer that will not come.
    pub(super) fn end_what_is_over(&self, core: &mut Core) {
        if !self.stop.is_closing() {
            return;
        }
        let awaited: HashSet<_> = core.awaited.worth_waiting(&core.engine).collect();
        let comes = |id: ExchangeId| {
            awaited.contains(&id) || core.engine.waits_for(id).iter().any(|other| awaited.contains(other))
        };
        let mut over: Vec<_> = core.responders.keys().copied().filter(|id| !comes(*id)).collect();
        over.sort_unstable();
        // What the server says of its own accord, it may say because of any message that is under way.
        let all_is_said = awaited.is_empty();
        for id in over {
            let Some(responder) = core.responders.get_mut(&id) else { continue };
            let carries_the_rest = matches!(responder.subject, Subject::Listen | Subject::Resume(_)) && !all_is_said;
            if carries_the_rest {
                continue;
            }
            if responder.is_undecided() {
                responder.close();
            }
            responder.end_stream();
            self.settle(core, id);
        }
    }
}

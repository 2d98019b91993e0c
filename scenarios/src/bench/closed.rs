//! The closed loop: each user sends its next call after a response.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};

use super::{Caller, Generated, iterate, shared::Shared};
use crate::model::Closed;

/// Runs the users until the end. A call is due when it is sent, so all offered calls are sent.
pub(super) async fn generate<C: Caller>(closed: &Closed, shared: Arc<Shared<C>>) -> Generated {
    let numbers = Arc::new(AtomicU64::new(0));
    let mut users = JoinSet::new();
    let counted = Arc::new(AtomicU64::new(0));
    for number in 1..=closed.users as u64 {
        let think_time = closed.think_time.map_or(Duration::ZERO, |time| time.0);
        users.spawn(user(Arc::clone(&shared), number, think_time, Arc::clone(&numbers), Arc::clone(&counted)));
    }
    // The call of a user that panicked counts as sent and unfinished.
    while users.join_next().await.is_some() {}
    let sent = counted.load(Relaxed);
    Generated { offered: sent, sent, ..Generated::default() }
}

async fn user<C: Caller>(
    shared: Arc<Shared<C>>,
    user: u64,
    think_time: Duration,
    numbers: Arc<AtomicU64>,
    counted: Arc<AtomicU64>,
) {
    while shared.timing.is_sending() {
        let now = Instant::now();
        let Some(number) = shared.timing.take_call(now, numbers.fetch_add(1, Relaxed)) else { break };
        counted.fetch_add(u64::from(shared.timing.counts(now)), Relaxed);
        iterate(&shared, number, user, now).await;
        if !think_time.is_zero() && !shared.timing.sent_all() {
            shared.timing.while_sending(tokio::time::sleep(think_time)).await;
        }
        // Calls that finish at once must not starve the other users.
        tokio::task::coop::consume_budget().await;
    }
}

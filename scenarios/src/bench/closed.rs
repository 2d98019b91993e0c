//! The closed loop: users, each of whom begins a call when the last one ended.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use tokio::{task::JoinSet, time::Instant};

use super::{Caller, Generated, call_once, shared::Shared};
use crate::model::Closed;

/// Lets the users call until the end. A call is due when it is sent, so all that was offered was sent.
pub(super) async fn generate<C: Caller>(closed: &Closed, shared: Arc<Shared<C>>) -> Generated {
    let numbers = Arc::new(AtomicU64::new(0));
    let mut users = JoinSet::new();
    let counted = Arc::new(AtomicU64::new(0));
    for _ in 0..closed.users {
        users.spawn(user(Arc::clone(&shared), Arc::clone(&numbers), Arc::clone(&counted)));
    }
    // A user who panicked is missed by the arithmetic: its call was sent and never ended.
    while users.join_next().await.is_some() {}
    let sent = counted.load(Relaxed);
    Generated { offered: sent, sent, ..Generated::default() }
}

/// One user.
async fn user<C: Caller>(shared: Arc<Shared<C>>, numbers: Arc<AtomicU64>, counted: Arc<AtomicU64>) {
    while shared.timing.is_sending() {
        let now = Instant::now();
        counted.fetch_add(u64::from(shared.timing.counts(now)), Relaxed);
        call_once(&shared, numbers.fetch_add(1, Relaxed), now).await;
        // Calls that end at once must not keep the others from their turn.
        tokio::task::coop::consume_budget().await;
    }
}

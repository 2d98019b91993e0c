//! Drives the engine of one server: one lock, wake-ups, execution of outputs, and shutdown.
//!
//! The [`Sink`] of each transport writes the outputs to its connections.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    engine::{DispatchId, Engine, Output, Step, Target},
    faults::FaultState,
    listen::{fault_control::FaultControl, serving::GracefulShutdown},
};

/// Writes the outputs of an engine to the connections of one transport.
pub(crate) trait Sink: Sized + Send + Sync + 'static {
    /// Connections, under the conductor's lock.
    type State: Send;
    /// The target of a dispatch's outputs, if its id does not determine it.
    type Route: Copy + Send;

    /// Executes one output, which is not a wake-up.
    fn execute(conductor: &Arc<Conductor<Self>>, core: &mut Core<Self>, route: Self::Route, output: Output);

    /// Called with outputs before they are executed; `woken` is the dispatch whose wake-up produced them.
    fn prepare(_core: &mut Core<Self>, _woken: Option<DispatchId>, _outputs: &[Output]) {}

    /// Runs after the outputs of a wake-up.
    fn after_wake(_conductor: &Arc<Conductor<Self>>, _core: &mut Core<Self>) {}

    /// Closes streams without pending messages, at the beginning of a shutdown.
    fn begin_shutdown(_conductor: &Arc<Conductor<Self>>, _core: &mut Core<Self>) {}

    /// Calls [`Conductor::wake`] after this time.
    fn schedule(conductor: &Arc<Conductor<Self>>, after: Duration, dispatch: DispatchId, route: Self::Route) {
        let conductor = Arc::downgrade(conductor);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Some(conductor) = conductor.upgrade() {
                conductor.wake(dispatch, route);
            }
        });
    }
}

/// Drives one engine for one transport.
pub(crate) struct Conductor<S: Sink> {
    core: Mutex<Core<S>>,
    /// The part of the transport that never changes.
    pub(crate) sink: S,
}

/// What the conductor's lock protects.
pub(crate) struct Core<S: Sink> {
    pub(crate) engine: Engine,
    pub(crate) pending: PendingWakeups<S::Route>,
    pub(crate) state: S::State,
}

impl<S: Sink> Core<S> {
    /// Passes an input to the engine, after the time.
    pub(crate) fn input<R>(&mut self, input: impl FnOnce(&mut Engine) -> R) -> R {
        self.engine.advance_to(Instant::now());
        input(&mut self.engine)
    }
}

impl<S: Sink> Conductor<S> {
    pub(crate) fn new(engine: Engine, sink: S, state: S::State) -> Self {
        Self { core: Mutex::new(Core { engine, pending: PendingWakeups::default(), state }), sink }
    }

    /// Locks engine and connections. A panic elsewhere leaves no state that matters to a mock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Core<S>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes outputs in their order.
    pub(crate) fn execute(self: &Arc<Self>, core: &mut Core<S>, route: S::Route, outputs: Vec<Output>) {
        self.execute_for(core, None, route, outputs);
    }

    /// Continues a dispatch whose wake-up is due.
    pub(crate) fn wake(self: &Arc<Self>, dispatch: DispatchId, route: S::Route) {
        let core = &mut *self.lock();
        core.pending.remove(dispatch);
        let outputs = core.input(|engine| engine.on_wake(dispatch));
        self.execute_for(core, Some(dispatch), route, outputs);
        S::after_wake(self, core);
    }

    /// Ends all subscriptions with their final response.
    pub(crate) fn end_subscriptions(self: &Arc<Self>, core: &mut Core<S>, route: S::Route) {
        let outputs = core.engine.end_subscriptions();
        self.execute(core, route, outputs);
    }

    fn execute_for(
        self: &Arc<Self>,
        core: &mut Core<S>,
        woken: Option<DispatchId>,
        route: S::Route,
        outputs: Vec<Output>,
    ) {
        S::prepare(core, woken, &outputs);
        for output in outputs {
            if let (Target::Dispatch(id), Step::Wake(after)) = (output.to, &output.step) {
                core.pending.set(id, *after, route);
                S::schedule(self, *after, id, route);
            } else {
                S::execute(self, core, route, output);
            }
        }
    }
}

impl<S: Sink> GracefulShutdown for Conductor<S> {
    fn begin_shutdown(self: Arc<Self>, grace_period: Duration) {
        let core = &mut *self.lock();
        core.pending.set_deadline(grace_period);
        S::begin_shutdown(&self, core);
    }
}

impl<S: Sink> FaultControl for Conductor<S> {
    fn switch(&self, name: &str, enabled: bool) -> bool {
        self.lock().engine.switch(name, enabled)
    }

    fn faults(&self) -> Vec<FaultState> {
        self.lock().engine.faults()
    }

    fn reset(&self) {
        self.lock().engine.reset();
    }
}

/// The dispatches to wake, the time, and the target of their outputs. During a shutdown they show which responses are
/// pending.
#[derive(Debug)]
pub(crate) struct PendingWakeups<R> {
    due: HashMap<DispatchId, (Instant, R)>,
    deadline: Option<Instant>,
    /// Whether the shutdown has begun, and with it the end of the subscriptions.
    ending: bool,
}

impl<R> Default for PendingWakeups<R> {
    fn default() -> Self {
        Self { due: HashMap::new(), deadline: None, ending: false }
    }
}

impl<R: Copy> PendingWakeups<R> {
    fn set(&mut self, dispatch: DispatchId, after: Duration, route: R) {
        // A time that the clock cannot represent never comes.
        if let Some(at) = Instant::now().checked_add(after) {
            self.due.insert(dispatch, (at, route));
        }
    }

    fn remove(&mut self, dispatch: DispatchId) {
        self.due.remove(&dispatch);
    }

    /// Ignores wake-ups later than this from now on.
    pub(crate) fn set_deadline(&mut self, grace_period: Duration) {
        self.deadline = Instant::now().checked_add(grace_period);
        self.ending = true;
    }

    /// Whether the shutdown has begun. The server refuses connections a moment earlier.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending
    }

    /// The dispatches that are woken before the deadline and then have pending work.
    pub(crate) fn before_deadline(&self, engine: &Engine) -> impl Iterator<Item = (DispatchId, R)> {
        let in_time = |at: &Instant| self.deadline.is_none_or(|deadline| *at < deadline);
        let waiting = move |(id, (at, _)): &(&DispatchId, &(Instant, R))| in_time(at) && engine.has_pending_work(**id);
        self.due.iter().filter(waiting).map(|(id, (_, route))| (*id, *route))
    }
}

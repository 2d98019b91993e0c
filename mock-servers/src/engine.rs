//! The engine of a mock server: a pure state machine from messages to outputs.
//!
//! The engine owns the meaning of a [`Script`] and the default behavior of both eras. It does no I/O, reads no clock and
//! draws only seeded randomness. A transport passes each message in, executes the [`Output`]s in their order, and calls
//! [`Engine::on_wake`] when a [`Step::Wake`] is due. Changes of a script take effect when their action runs, so a delayed
//! response shows the server as it is then.

mod actions;
mod batch;
mod capabilities;
mod clock;
mod completion;
mod content;
mod cursor;
mod dispatch;
mod dispatcher;
mod fast_path;
mod fault_injection;
mod features;
mod generated;
mod inbound;
mod input_requests;
mod inputs;
mod item_list;
mod listen;
mod lists;
mod logging;
mod message;
mod modern;
mod output;
mod persistent_faults;
mod progress;
mod prompts;
mod reordering;
mod reply;
mod resources;
mod responses;
mod revision;
mod rules;
mod sealed;
mod server_lists;
mod skills;
mod subscriptions;
mod tasks;
mod template;
mod timers;
mod tools;
mod uri_template;

#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::{Instant, SystemTime},
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value};

use self::{
    batch::Batches,
    capabilities::DefaultCapabilities,
    clock::VirtualClock,
    cursor::Cursors,
    dispatch::Dispatch,
    fast_path::FastPath,
    inbound::InboundMessage,
    inputs::UsedStates,
    listen::Listener,
    persistent_faults::PersistentFaults,
    reordering::DelayedResponse,
    rules::Rules,
    sealed::Seal,
    server_lists::{List, ServerLists},
    skills::Skills,
    tasks::Tasks,
    timers::Timers,
};
pub(crate) use self::{
    fast_path::{Envelope, SimpleCall},
    features::Rules as RevisionRules,
    revision::era as era_of,
};
pub use self::{
    output::{DispatchId, DispatchOutput, Origin, Output, Rejection, SessionKey, Step, Target},
    revision::{SupportedRevisions, VERSION_KEY, requested_version},
};
pub use evidence::Era;

use crate::{
    profile,
    script::{Cache, HttpScript, Info, Script, Tool},
};

/// The default name of a mock server.
pub const DEFAULT_NAME: &str = "mcp-workbench-mock";

/// State machine of a mock server. Each part owns its state; the methods are in the modules of the features.
#[derive(Debug, Clone)]
pub struct Engine {
    settings: Settings,
    items: Items,
    pagination: Pagination,
    rules: Rules,
    random: ChaCha8Rng,
    faults: Faults,
    sessions: Sessions,
    dispatches: Dispatches,
    requests: ServerRequests,
    listeners: BTreeMap<DispatchId, Listener>,
    batches: Batches,
    request_states: RequestStates,
    tasks: Tasks,
    background: Background,
}

/// The part of a script that never changes.
#[derive(Debug, Clone)]
struct Settings {
    /// `serverInfo`, with the members of all revisions.
    info: Map<String, Value>,
    instructions: Option<String>,
    cache: Cache,
    support: SupportedRevisions,
    http: HttpScript,
    capabilities: Map<String, Value>,
    default_capabilities: DefaultCapabilities,
    anachronisms: bool,
    seed: u64,
}

/// Tools, resources, prompts and skills, and how often each tool was called.
#[derive(Debug, Clone)]
struct Items {
    lists: ServerLists,
    skills: Skills,
    calls: HashMap<String, u64>,
    /// Responses to simple calls.
    fast_path: FastPath,
}

/// The page size, and the cursors of all lists.
#[derive(Debug, Clone)]
struct Pagination {
    page_size: Option<usize>,
    cursors: [Cursors; 4],
    extension_cursors: Cursors,
}

/// Persistent faults, and the messages that faults delay.
#[derive(Debug, Clone)]
struct Faults {
    persistent: PersistentFaults,
    inbound: HashMap<DispatchId, InboundMessage>,
    delayed: BTreeMap<DispatchId, DelayedResponse>,
}

/// The open sessions.
#[derive(Debug, Clone, Default)]
struct Sessions {
    open: BTreeMap<SessionKey, Session>,
    next: u64,
}

impl Sessions {
    fn negotiated_revision(&self, key: Option<SessionKey>) -> Option<&str> {
        self.open.get(&key?)?.revision.as_deref()
    }
}

/// Dispatches that wait for a time, for the client, or forever.
#[derive(Debug, Clone, Default)]
struct Dispatches {
    suspended: HashMap<DispatchId, Dispatch>,
    /// The dispatch of each of the client's requests, for cancellation.
    in_flight: HashMap<(SessionKey, String), DispatchId>,
    next: u64,
}

/// The server's requests without a response: the dispatch that waits for it, and the key of the response.
#[derive(Debug, Clone, Default)]
struct ServerRequests {
    open: HashMap<(SessionKey, String), (DispatchId, String)>,
    next: u64,
}

/// The `requestState` values of multi round-trip requests.
#[derive(Debug, Clone)]
struct RequestStates {
    seal: Seal,
    used: UsedStates,
    next: u64,
}

/// Work that starts after the message at hand: task workers, further outputs, timers.
#[derive(Debug, Clone)]
struct Background {
    workers: VecDeque<Dispatch>,
    outputs: Vec<Output>,
    clock: VirtualClock,
    timers: Timers,
}

/// The state of a session.
#[derive(Debug, Clone, Default)]
struct Session {
    /// The negotiated revision; `None` before `initialize`.
    revision: Option<String>,
    /// The capabilities from `initialize`.
    client_capabilities: Option<Value>,
    /// The log level that the client set.
    level: Option<logging::Level>,
    /// URIs of subscribed resources.
    subscriptions: HashSet<String>,
}

impl Engine {
    /// Creates the engine of a script. The same seed gives the same bytes. Without `revisions` in the script, the server
    /// supports `revision`. Unknown profiles in `extends` are logged and skipped; [`profile::resolve`] reports them instead.
    #[must_use]
    pub fn new(script: Script, revision: &str, seed: u64) -> Self {
        let mut script = profile::resolve_or_report(script);
        let capabilities = capabilities::declared(&script);
        let default_capabilities = DefaultCapabilities::new(&script);
        let tasks = default_capabilities.has_tasks() || capabilities.contains_key("tasks");
        let skills = Skills::new(&script.skills);
        script.resources.extend(skills.resources());
        let lists = ServerLists::from_script(&mut script, tasks);
        let fast_path = FastPath::new(&script, &lists, &capabilities);
        let revisions = script.revisions.filter(|list| !list.is_empty()).unwrap_or_else(|| vec![revision.to_owned()]);
        Self {
            settings: Settings {
                info: info(script.name, script.info),
                instructions: script.instructions,
                cache: modern::cache(script.cache, script.ttl),
                support: SupportedRevisions::new(revisions),
                http: script.http,
                capabilities,
                default_capabilities,
                anachronisms: script.anachronisms,
                seed,
            },
            items: Items { lists, skills, calls: HashMap::new(), fast_path },
            pagination: Pagination {
                page_size: script.page_size,
                cursors: List::ALL.map(|list| Cursors::new(seed ^ list as u64)),
                extension_cursors: Cursors::new(!seed),
            },
            rules: Rules::new(script.on, 1),
            random: ChaCha8Rng::seed_from_u64(seed),
            faults: Faults {
                persistent: PersistentFaults::new(script.faults, seed),
                inbound: HashMap::new(),
                delayed: BTreeMap::new(),
            },
            sessions: Sessions::default(),
            dispatches: Dispatches::default(),
            requests: ServerRequests::default(),
            listeners: BTreeMap::new(),
            batches: Batches::default(),
            request_states: RequestStates { seal: Seal::new(seed), used: UsedStates::default(), next: 0 },
            tasks: Tasks::default(),
            background: Background {
                workers: VecDeque::new(),
                outputs: Vec::new(),
                clock: VirtualClock::new(),
                timers: Timers::default(),
            },
        }
    }

    /// Sets the number of this run of the server's process, counted from 1.
    #[must_use]
    pub fn with_run(mut self, run: u64) -> Self {
        self.set_run(run);
        self
    }

    /// Changes the number of this run.
    pub(crate) fn set_run(&mut self, run: u64) {
        self.rules.set_run(run);
    }

    /// Starts the engine's clock at this time instead of a fixed one. Tasks take their timestamps from it.
    #[must_use]
    pub fn with_epoch(mut self, epoch: SystemTime) -> Self {
        self.background.clock.start_at(epoch);
        self
    }

    /// Lets the engine's clock follow the calendar: `epoch` is the time at `begun`, and [`Engine::is_now`] advances it.
    #[must_use]
    pub fn with_calendar(mut self, epoch: SystemTime, begun: Instant) -> Self {
        self.background.clock.start_at(epoch);
        self.background.clock.follow_since(begun);
        self
    }

    /// Advances the clock of an engine that follows the calendar. Other engines ignore it.
    pub fn advance_to(&mut self, now: Instant) {
        self.background.clock.advance_to(now);
    }

    /// The revisions that the server supports.
    #[must_use]
    pub fn support(&self) -> &SupportedRevisions {
        &self.settings.support
    }

    /// The script's settings of Streamable HTTP.
    pub(crate) fn http(&self) -> &HttpScript {
        &self.settings.http
    }

    /// A tool of the current list.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<Cow<'_, Tool>> {
        self.items.lists.tools.get(name)
    }

    /// Whether the server declares the tasks extension of 2026-07-28.
    #[must_use]
    pub fn has_task_extension(&self) -> bool {
        self.has_extension(tasks::EXTENSION)
    }

    /// Opens a session.
    pub fn open_session(&mut self) -> SessionKey {
        let key = SessionKey(self.sessions.next);
        self.sessions.next += 1;
        self.sessions.open.insert(key, Session::default());
        key
    }

    /// Opens a session with a negotiated revision.
    pub(crate) fn open_negotiated_session(&mut self, revision: &str) -> SessionKey {
        let key = self.open_session();
        if let Some(session) = self.sessions.open.get_mut(&key) {
            session.revision = Some(revision.to_owned());
        }
        key
    }

    /// Closes a session with its dispatches and tasks.
    pub fn close_session(&mut self, key: SessionKey) {
        self.sessions.open.remove(&key);
        self.dispatches.suspended.retain(|_, dispatch| dispatch.session != Some(key));
        self.faults.inbound.retain(|_, inbound| inbound.session() != Some(key));
        self.faults.delayed.retain(|_, held| held.session != Some(key));
        self.dispatches.in_flight.retain(|(session, _), _| *session != key);
        self.requests.open.retain(|(session, _), _| *session != key);
        self.tasks.end_session(key);
        self.batches.end_session(key);
    }

    /// The negotiated revision of a session; `None` before `initialize`.
    #[must_use]
    pub fn negotiated_revision(&self, key: SessionKey) -> Option<&str> {
        self.sessions.negotiated_revision(Some(key))
    }

    /// A new token of 128 seeded bits in hexadecimal, for example a session id.
    pub fn token(&mut self) -> String {
        format!("{:016x}{:016x}", self.random.next_u64(), self.random.next_u64())
    }

    /// Handles a message from the client.
    pub fn on_message(&mut self, origin: &Origin, message: &Value) -> DispatchOutput {
        let dispatch = self.new_dispatch();
        let mut outputs = Vec::new();
        self.arrive(dispatch, origin, message, &mut outputs);
        self.conclude(&mut outputs);
        DispatchOutput { dispatch, outputs }
    }

    /// Handles bytes from the client that are not JSON.
    pub fn on_garbage(&mut self) -> DispatchOutput {
        let dispatch = self.new_dispatch();
        let mut outputs = Vec::new();
        self.reject_unparsable(dispatch, &mut outputs);
        DispatchOutput { dispatch, outputs }
    }

    /// Continues a dispatch whose [`Step::Wake`] is due.
    pub fn on_wake(&mut self, dispatch: DispatchId) -> Vec<Output> {
        let mut outputs = Vec::new();
        // Every wake-up advances the engine's clock.
        let timer = self.timer_is_due(dispatch);
        if let Some(inbound) = self.faults.inbound.remove(&dispatch) {
            self.forward(inbound, &mut outputs);
        } else if let Some(held) = self.release(dispatch) {
            outputs = held;
        } else if !timer && let Some(dispatch) = self.take(dispatch) {
            self.run(dispatch, &mut outputs);
        }
        self.conclude(&mut outputs);
        outputs
    }

    /// Whether a wake-up of the dispatch has an effect. It has none for canceled dispatches and for timers.
    pub(crate) fn has_pending_work(&self, id: DispatchId) -> bool {
        self.dispatches.suspended.contains_key(&id)
            || self.faults.inbound.contains_key(&id)
            || self.faults.delayed.contains_key(&id)
    }

    /// The dispatches on which the response of this one depends: the messages of a batch, and the worker of a task
    /// whose result it waits for.
    pub(crate) fn waits_for(&self, id: DispatchId) -> Vec<DispatchId> {
        let mut others = self.batches.members(id);
        others.extend(self.tasks.worker_for(id));
        others
    }

    /// Handles that the client has closed the stream of this dispatch. From 2026-07-28 on that is a cancellation
    /// (Streamable HTTP, cancellation). Before, the dispatch continues without a stream (2025-11-25, transports).
    pub fn on_closed(&mut self, dispatch: DispatchId) {
        for member in self.batches.members(dispatch) {
            self.on_closed(member);
        }
        self.listeners.remove(&dispatch);
        let cancels = self.settings.http.cancel_on_disconnect;
        if self.dispatches.suspended.get(&dispatch).is_some_and(|dispatch| dispatch.ends_with_its_stream(cancels)) {
            self.take(dispatch);
        }
    }

    /// Runs the workers and outputs that an input queued, and collects the responses of batches.
    fn conclude(&mut self, outputs: &mut Vec<Output>) {
        self.run_workers(outputs);
        self.note_wakes(outputs);
        self.gather(outputs);
    }

    fn new_dispatch(&mut self) -> DispatchId {
        self.dispatches.next += 1;
        DispatchId(self.dispatches.next)
    }
}

/// `serverInfo`.
fn info(name: Option<String>, info: Info) -> Map<String, Value> {
    let text = |text: Option<String>| text.map(Value::from);
    let mut members = Map::new();
    server_lists::add(
        &mut members,
        [
            ("name", Some(name.unwrap_or_else(|| DEFAULT_NAME.to_owned()).into())),
            ("title", text(info.title)),
            ("version", Some(info.version.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()).into())),
            ("description", text(info.description)),
            ("icons", info.icons),
            ("websiteUrl", text(info.website_url)),
        ],
    );
    members
}

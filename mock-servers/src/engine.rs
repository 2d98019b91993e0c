//! What a mock server says: a pure state machine from messages to outputs.
//!
//! The engine owns the meaning of a [`Script`] and the default behaviour of both eras. It does no I/O, reads no clock
//! and draws only seeded randomness: a front hands it each message, plays the [`Output`]s in their order, and calls
//! [`Engine::on_wake`] when a [`Step::Wake`] is due. What a script changes, it changes when its turn comes, so an
//! answer given late speaks of the server as it is then.

mod actions;
mod answers;
mod arrival;
mod batch;
mod capabilities;
mod catalogue;
mod completion;
mod content;
mod cursor;
mod dialect;
mod exchange;
mod generated;
mod inputs;
mod listen;
mod lists;
mod logging;
mod message;
mod misbehaviour;
mod modern;
mod output;
mod overtaking;
mod progress;
mod prompts;
mod quick;
mod reply;
mod resources;
mod revision;
mod rules;
mod sealed;
mod shelf;
mod skills;
mod subscriptions;
mod tasks;
mod template;
mod time;
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
    arrival::Arrival,
    batch::Batches,
    capabilities::Extras,
    catalogue::{Catalogue, List},
    cursor::Cursors,
    exchange::Exchange,
    inputs::Spent,
    listen::Listener,
    overtaking::HeldBack,
    quick::Quick,
    rules::Rules,
    sealed::Seal,
    skills::Skills,
    tasks::Tasks,
    time::Time,
    timers::Timers,
};
pub(crate) use self::{
    message::outgoing,
    quick::{Envelope, PlainCall},
    rules::{Arrived, matches},
    template::Facts,
};
pub use self::{
    output::{Deed, Defect, ExchangeId, Origin, Output, Reaction, SessionKey, Step, Target},
    revision::{Era, LEGACY, MODERN, Support, VERSION_KEY, requested_version},
};
use crate::{
    faults::Standing,
    profile,
    script::{Cache, HttpScript, Info, Script, Tool},
};

/// The name that a mock server gives itself unless its script names another.
pub const DEFAULT_NAME: &str = "mcp-workbench-mock";

/// A mock server's mind.
#[derive(Debug, Clone)]
pub struct Engine {
    /// `serverInfo`, with everything that any revision has.
    info: Map<String, Value>,
    instructions: Option<String>,
    page_size: Option<usize>,
    cache: Cache,
    support: Support,
    http: HttpScript,
    capabilities: Map<String, Value>,
    extras: Extras,
    catalogue: Catalogue,
    /// Those of each list.
    cursors: [Cursors; 4],
    /// Those of the lists of extensions.
    other_cursors: Cursors,
    anachronisms: bool,
    rules: Rules,
    random: ChaCha8Rng,
    seed: u64,
    standing: Standing,
    /// Messages that faults keep on their way.
    arrivals: HashMap<ExchangeId, Arrival>,
    /// Answers that faults keep back.
    held_back: BTreeMap<ExchangeId, HeldBack>,
    sessions: BTreeMap<SessionKey, Session>,
    /// Exchanges that wait for a time, for the client, or for ever.
    exchanges: HashMap<ExchangeId, Exchange>,
    /// Which exchange answers which of the client's requests, for cancellation.
    in_flight: HashMap<(SessionKey, String), ExchangeId>,
    /// Which exchange waits for the answer to which of the server's own requests, and under which key.
    asked: HashMap<(SessionKey, String), (ExchangeId, String)>,
    listeners: BTreeMap<ExchangeId, Listener>,
    batches: Batches,
    skills: Skills,
    seal: Seal,
    spent: Spent,
    tasks: Tasks,
    /// What goes on in the background as soon as the message at hand is dealt with.
    workers: VecDeque<Exchange>,
    /// What is to be said besides, once the message at hand is answered.
    asides: Vec<Output>,
    time: Time,
    timers: Timers,
    /// Calls that need no more than a look into here.
    quick: Quick,
    calls: HashMap<String, u64>,
    next_exchange: u64,
    next_session: u64,
    next_request: u64,
    next_state: u64,
}

/// What the engine knows of a session.
#[derive(Debug, Clone, Default)]
struct Session {
    /// The revision agreed on by `initialize`; none before.
    revision: Option<String>,
    /// What the client declared in `initialize`.
    client_capabilities: Option<Value>,
    /// The log level that the client has set; none before.
    level: Option<logging::Level>,
    /// The resources that the client has subscribed to.
    subscriptions: HashSet<String>,
}

impl Engine {
    /// The mind of a server that follows this script in a case of this revision. The same seed gives the same bytes.
    /// Profiles that the script extends are looked up; what is no profile's name is reported to the log and left out, so
    /// whoever reads scripts resolves them before ([`profile::resolve`]).
    #[must_use]
    pub fn new(script: Script, revision: &str, seed: u64) -> Self {
        let mut script = profile::resolve_or_report(script);
        let capabilities = capabilities::declared(&script);
        let extras = Extras::of(&script);
        let tasks = extras.has_tasks() || capabilities.contains_key("tasks");
        let skills = Skills::new(&script.skills);
        script.resources.extend(skills.resources());
        let catalogue = Catalogue::of(&mut script, tasks);
        let quick = Quick::of(&script, &catalogue, &capabilities);
        let revisions = script.revisions.filter(|list| !list.is_empty()).unwrap_or_else(|| vec![revision.to_owned()]);
        Self {
            info: info(script.name, script.info),
            instructions: script.instructions,
            page_size: script.page_size,
            cache: modern::cache(script.cache, script.ttl),
            support: Support::new(revisions),
            http: script.http,
            capabilities,
            extras,
            catalogue,
            cursors: List::ALL.map(|list| Cursors::new(seed ^ list as u64)),
            other_cursors: Cursors::new(!seed),
            anachronisms: script.anachronisms,
            rules: Rules::new(script.on, 1),
            random: ChaCha8Rng::seed_from_u64(seed),
            seed,
            standing: Standing::new(script.faults, seed),
            arrivals: HashMap::new(),
            held_back: BTreeMap::new(),
            sessions: BTreeMap::new(),
            exchanges: HashMap::new(),
            in_flight: HashMap::new(),
            asked: HashMap::new(),
            listeners: BTreeMap::new(),
            batches: Batches::default(),
            skills,
            seal: Seal::new(seed),
            spent: Spent::default(),
            tasks: Tasks::default(),
            workers: VecDeque::new(),
            asides: Vec::new(),
            time: Time::new(),
            timers: Timers::default(),
            quick,
            calls: HashMap::new(),
            next_exchange: 0,
            next_session: 0,
            next_request: 0,
            next_state: 0,
        }
    }

    /// The same mind in the n-th run of the server's process, counted from 1.
    #[must_use]
    pub fn with_run(mut self, run: u64) -> Self {
        self.rules.set_run(run);
        self
    }

    /// The same mind, whose own time begins at this moment instead of a fixed one. Timestamps of tasks are made of it.
    #[must_use]
    pub fn with_epoch(mut self, epoch: SystemTime) -> Self {
        self.time.begin_at(epoch);
        self
    }

    /// The same mind, whose own time is that of the calendar: the clock showed this moment when the calendar showed that
    /// time, and [`Engine::is_now`] says what it shows since.
    #[must_use]
    pub fn with_calendar(mut self, epoch: SystemTime, begun: Instant) -> Self {
        self.time.begin_at(epoch);
        self.time.go_by_since(begun);
        self
    }

    /// Tells a mind that goes by the calendar what the clock shows. Any other mind takes no notice.
    pub fn is_now(&mut self, now: Instant) {
        self.time.is_now(now);
    }

    /// The revisions that the server supports.
    #[must_use]
    pub fn support(&self) -> &Support {
        &self.support
    }

    /// How the server behaves over Streamable HTTP.
    pub(crate) fn http(&self) -> &HttpScript {
        &self.http
    }

    /// A tool on offer at the moment.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<Cow<'_, Tool>> {
        self.catalogue.tools.get(name)
    }

    /// Whether the server declares the tasks extension of 2026-07-28.
    #[must_use]
    pub fn has_task_extension(&self) -> bool {
        self.has_extension(tasks::EXTENSION)
    }

    /// Opens a session.
    pub fn open_session(&mut self) -> SessionKey {
        let key = SessionKey(self.next_session);
        self.next_session += 1;
        self.sessions.insert(key, Session::default());
        key
    }

    /// Opens a session that has agreed on this revision already.
    pub(crate) fn open_agreed_session(&mut self, revision: &str) -> SessionKey {
        let key = self.open_session();
        if let Some(session) = self.sessions.get_mut(&key) {
            session.revision = Some(revision.to_owned());
        }
        key
    }

    /// Ends a session and everything in it.
    pub fn close_session(&mut self, key: SessionKey) {
        self.sessions.remove(&key);
        self.exchanges.retain(|_, exchange| exchange.session != Some(key));
        self.arrivals.retain(|_, arrival| arrival.session() != Some(key));
        self.held_back.retain(|_, held| held.session != Some(key));
        self.in_flight.retain(|(session, _), _| *session != key);
        self.asked.retain(|(session, _), _| *session != key);
        self.tasks.end_session(key);
        self.batches.end_session(key);
    }

    /// The revision agreed on in a session; none before `initialize`.
    #[must_use]
    pub fn agreed_revision(&self, key: SessionKey) -> Option<&str> {
        self.sessions.get(&key)?.revision.as_deref()
    }

    /// A new token of 128 seeded bits, in hexadecimal: a session id, say.
    pub fn token(&mut self) -> String {
        format!("{:016x}{:016x}", self.random.next_u64(), self.random.next_u64())
    }

    /// What to do about a message from the client.
    pub fn on_message(&mut self, origin: &Origin, message: &Value) -> Reaction {
        let exchange = self.new_exchange();
        let mut outputs = Vec::new();
        self.arrive(exchange, origin, message, &mut outputs);
        self.conclude(&mut outputs);
        Reaction { exchange, outputs }
    }

    /// What to do about bytes from the client that are no JSON.
    pub fn on_garbage(&mut self) -> Reaction {
        let exchange = self.new_exchange();
        let mut outputs = Vec::new();
        self.garbage(exchange, &mut outputs);
        Reaction { exchange, outputs }
    }

    /// What to do when a [`Step::Wake`] of this exchange is due.
    pub fn on_wake(&mut self, exchange: ExchangeId) -> Vec<Output> {
        let mut outputs = Vec::new();
        // Whatever it is that is due, the server's own time goes on by it.
        let timer = self.timer_is_due(exchange);
        if let Some(arrival) = self.arrivals.remove(&exchange) {
            self.forward(arrival, &mut outputs);
        } else if let Some(held) = self.release(exchange) {
            outputs = held;
        } else if !timer && let Some(exchange) = self.take(exchange) {
            self.run(exchange, &mut outputs);
        }
        self.conclude(&mut outputs);
        outputs
    }

    /// Whether the engine has something left to do in an exchange when it is woken: one that was cancelled, or that
    /// nothing but the server's own time waits for, has not.
    pub(crate) fn has_more_to_say(&self, id: ExchangeId) -> bool {
        self.exchanges.contains_key(&id) || self.arrivals.contains_key(&id) || self.held_back.contains_key(&id)
    }

    /// The exchanges that have to go on before this one is answered: those of the messages of a batch, and the work of a
    /// task whose result is waited for.
    pub(crate) fn waits_for(&self, id: ExchangeId) -> Vec<ExchangeId> {
        let mut others = self.batches.members(id);
        others.extend(self.tasks.worker_for(id));
        others
    }

    /// Tells the engine that the client has closed the stream of this exchange. From 2026-07-28 on that is a
    /// cancellation (Streamable HTTP, cancellation); before, the exchange goes on unheard (2025-11-25, transports).
    pub fn on_closed(&mut self, exchange: ExchangeId) {
        for member in self.batches.members(exchange) {
            self.on_closed(member);
        }
        self.listeners.remove(&exchange);
        if self.exchanges.get(&exchange).is_some_and(Exchange::ends_with_its_stream) {
            self.take(exchange);
        }
    }

    /// Does what has come about while a message was dealt with, now that it is.
    fn conclude(&mut self, outputs: &mut Vec<Output>) {
        self.run_workers(outputs);
        self.note_wakes(outputs);
        self.gather(outputs);
    }

    fn new_exchange(&mut self) -> ExchangeId {
        self.next_exchange += 1;
        ExchangeId(self.next_exchange)
    }
}

/// `serverInfo`.
fn info(name: Option<String>, info: Info) -> Map<String, Value> {
    let text = |text: Option<String>| text.map(Value::from);
    let mut members = Map::new();
    catalogue::add(
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

//! The tools of all servers as the model sees them: converted, deferred or loaded.
//!
//! Lists are read in the background, each server on its own. A server that does not respond delays only its own tools.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{Arc, OnceLock},
};

use client::{
    Fingerprint, Naming, Tool, ToolCatalog, ToolList, catalog::Entry, manager::StartMode, manager::UseError,
    names::may_belong_to,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{Host, HostConfig, HostEvent, HostOptions, Inner, lock};
use crate::{
    permissions::ExplanationCache,
    schema::{self, Converted, Provider},
    search::{Query, ToolIndex, mode, tool as search_tool},
};

/// Whether the definition of a tool is in the context of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visibility {
    /// It is.
    Shown,
    /// It was deferred, and then loaded by a search or a call.
    Loaded,
    /// Only the search tool finds it.
    Deferred,
}

/// A tool of a server.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) server: String,
    pub(super) tool: Arc<Tool>,
    /// Hash of the definition, against which calls are checked.
    pub(super) fingerprint: Fingerprint,
    conversion: Option<Conversion>,
    tokens: OnceLock<usize>,
    /// Why calls are allowed or not.
    pub(super) explanation: ExplanationCache,
}

/// The conversion of a tool for the provider of the host. Of thousands of deferred tools few are ever needed.
#[derive(Debug)]
struct Conversion {
    provider: Provider,
    options: schema::Options,
    converted: OnceLock<Result<Converted, String>>,
}

impl Offer {
    /// The tool for the provider, or why it cannot be converted; `None` without a provider.
    pub(super) fn converted(&self, name: &str) -> Option<&Result<Converted, String>> {
        let Conversion { provider, options, converted } = self.conversion.as_ref()?;
        Some(
            converted.get_or_init(|| {
                schema::convert(*provider, name, &self.tool, options).map_err(|reason| reason.to_string())
            }),
        )
    }
}

/// A tool for the model.
#[derive(Debug, Clone)]
pub struct HostTool {
    /// Qualified name.
    pub name: String,
    /// Whether the model has its definition.
    pub visibility: Visibility,
    offer: Arc<Offer>,
}

impl HostTool {
    /// The server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.offer.server
    }

    /// The tool as the server defines it.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.offer.tool
    }

    /// The definition for the model.
    ///
    /// # Errors
    /// Why the tool cannot be converted for the provider. The model cannot use it.
    pub fn definition(&self) -> Result<Value, &str> {
        match self.offer.converted(&self.name) {
            Some(Ok(converted)) => Ok(converted.definition.clone()),
            Some(Err(reason)) => Err(reason),
            None => {
                let mut wire = self.offer.tool.wire().clone();
                wire.insert("name".to_owned(), self.name.as_str().into());
                Ok(wire.into())
            }
        }
    }

    /// Tokens of the definition.
    #[must_use]
    pub fn tokens(&self) -> usize {
        *self.offer.tokens.get_or_init(|| mode::tokens(&self.name, &self.offer.tool))
    }
}

/// The tools of a host at one time.
#[derive(Debug, Clone, Default)]
pub struct Toolset {
    /// All tools by qualified name, deferred ones included.
    pub tools: Vec<HostTool>,
    /// The search tool, if tools are deferred.
    pub search: Option<Value>,
    /// The servers whose tools could not be read.
    pub missing: BTreeMap<String, Arc<UseError>>,
    references: bool,
}

impl Toolset {
    /// The definitions for a request to the model: the tools that it may call, and the search tool. If the model supports
    /// references, deferred tools are included with `defer_loading`.
    #[must_use]
    pub fn definitions(&self) -> Vec<Value> {
        let visible = self.tools.iter().filter_map(|tool| {
            let deferred = tool.visibility != Visibility::Shown;
            match tool.visibility {
                Visibility::Deferred if !self.references => None,
                _ => tool.definition().ok().map(|mut definition| {
                    // A loaded tool stays deferred for the provider, which keeps the prefix of the prompt unchanged.
                    if self.references && deferred {
                        definition["defer_loading"] = true.into();
                    }
                    definition
                }),
            }
        });
        visible.chain(self.search.clone()).collect()
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&HostTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// The result of reading the tools of one server.
struct Read {
    /// Number of the read; an older one does not replace a newer one.
    ticket: u64,
    outcome: Result<Arc<ToolList>, Arc<UseError>>,
}

/// The tools of all servers.
pub(super) struct ToolState {
    catalog: ToolCatalog,
    offers: HashMap<String, Arc<Offer>>,
    reads: BTreeMap<String, Read>,
    /// Number of the last read that was started, by server.
    tickets: BTreeMap<String, u64>,
    next_ticket: u64,
    /// The definitions that the model has.
    seen: HashMap<String, Fingerprint>,
    loaded: BTreeSet<String>,
    deferred: Option<Arc<HashSet<String>>>,
    index: ToolIndex,
}

impl ToolState {
    pub(super) fn new(naming: Naming) -> Self {
        Self {
            catalog: ToolCatalog::new(naming),
            offers: HashMap::new(),
            reads: BTreeMap::new(),
            tickets: BTreeMap::new(),
            next_ticket: 0,
            seen: HashMap::new(),
            loaded: BTreeSet::new(),
            deferred: None,
            index: ToolIndex::default(),
        }
    }

    fn begin(&mut self, server: &str) -> u64 {
        self.next_ticket += 1;
        self.tickets.insert(server.to_owned(), self.next_ticket);
        self.next_ticket
    }

    fn is_current(&self, server: &str, list: &Arc<ToolList>) -> bool {
        let known = self.reads.get(server).and_then(|read| read.outcome.as_ref().ok());
        known.is_some_and(|known| Arc::ptr_eq(known, list) || known.tools == list.tools)
    }

    /// Stores the result of a read. Returns false if a newer one is known or the server is gone.
    fn store(&mut self, server: &str, read: Read, offers: Option<Vec<(String, Arc<Offer>)>>) -> bool {
        let is_newest = self.reads.get(server).is_none_or(|known| known.ticket < read.ticket);
        if !is_newest || !self.tickets.contains_key(server) {
            return false;
        }
        if let Some(offers) = offers {
            self.remove_tools(server);
            let tools: Vec<_> = offers.iter().map(|(_, offer)| Arc::clone(&offer.tool)).collect();
            self.catalog.set_server(server, &tools);
            for (name, offer) in &offers {
                self.index.insert(name, server, &offer.tool);
            }
            self.offers.extend(offers);
        }
        if read.outcome.is_err() {
            self.remove_tools(server);
        }
        self.reads.insert(server.to_owned(), read);
        true
    }

    fn remove_tools(&mut self, server: &str) {
        let names: Vec<_> =
            self.catalog.iter().filter(|(_, entry)| entry.server == server).map(|(name, _)| name.to_owned()).collect();
        for name in names {
            self.offers.remove(&name);
            self.index.remove(&name);
        }
        self.catalog.remove_server(server);
        self.deferred = None;
    }

    fn remove_server(&mut self, server: &str) {
        self.remove_tools(server);
        self.reads.remove(server);
        self.tickets.remove(server);
    }

    /// The deferred tools. Those of servers with `always_load` are never deferred.
    fn deferred(&mut self, options: &HostOptions, config: &HostConfig) -> Arc<HashSet<String>> {
        let catalog = &self.catalog;
        let always_shown = |server: &str| config.server_named(server).is_some_and(|server| server.always_load);
        let deferred = self.deferred.get_or_insert_with(|| {
            let names = options.search.deferred(catalog, always_shown, options.context_tokens);
            Arc::new(names.into_iter().map(|(name, _)| name.to_owned()).collect())
        });
        Arc::clone(deferred)
    }

    fn visibility(&self, name: &str, deferred: &HashSet<String>) -> Visibility {
        match (deferred.contains(name), self.loaded.contains(name)) {
            (false, _) => Visibility::Shown,
            (true, true) => Visibility::Loaded,
            (true, false) => Visibility::Deferred,
        }
    }
}

/// A resolved name.
pub(super) struct Resolved {
    pub(super) offer: Arc<Offer>,
    /// The definition that the model has, if it was shown.
    pub(super) seen: Fingerprint,
    /// Whether the model has it.
    pub(super) is_loaded: bool,
}

impl Host {
    /// The tools that were read so far. From now on, calls are checked against these definitions.
    #[must_use]
    pub fn tools(&self) -> Toolset {
        let (config, options) = (self.config(), &self.inner.options);
        let mut state = lock(&self.inner.tools);
        let deferred = state.deferred(options, &config);
        let tool = |(name, _): (&str, &Entry)| {
            let visibility = state.visibility(name, &deferred);
            Some(HostTool { name: name.to_owned(), visibility, offer: Arc::clone(state.offers.get(name)?) })
        };
        let tools: Vec<HostTool> = state.catalog.iter().filter_map(tool).collect();
        let visible = tools.iter().filter(|tool| tool.visibility != Visibility::Deferred);
        let seen: Vec<_> = visible.map(|tool| (tool.name.clone(), tool.offer.fingerprint)).collect();
        state.seen.extend(seen);
        let failed =
            |(server, read): (&String, &Read)| Some((server.clone(), Arc::clone(read.outcome.as_ref().err()?)));
        let missing = state.reads.iter().filter_map(failed).collect();
        let servers: BTreeSet<&str> =
            tools.iter().filter(|tool| deferred.contains(&tool.name)).map(HostTool::server).collect();
        let search = (!deferred.is_empty()).then(|| search_definition(servers, options));
        Toolset { tools, search, missing, references: options.references }
    }

    /// The tools of one server as it defines them, without those that its configuration disables.
    ///
    /// # Errors
    /// If the server cannot be used, or its list cannot be read.
    pub async fn server_tools(&self, server: &str) -> Result<Arc<ToolList>, UseError> {
        self.inner.manager.tools(server).await
    }

    /// Waits until the tools of all servers were read or failed. Starts servers that start on demand.
    pub async fn ready(&self) {
        let config = self.config();
        let enabled = config.servers.iter().filter(|server| server.managed.enabled);
        self.ready_servers(enabled.map(|server| server.managed.name().to_owned()).collect()).await;
    }

    async fn ready_servers(&self, servers: Vec<String>) {
        let mut reads = self.inner.reads.subscribe();
        for server in servers.iter().filter(|server| !self.uses_tools(server) || self.has_outdated_failure(server)) {
            self.read_tools(server);
        }
        // Reads that start later are not awaited: a list may change all the time.
        let awaited: Vec<(String, u64)> = {
            let tickets = &lock(&self.inner.tools).tickets;
            servers
                .into_iter()
                .filter_map(|server| tickets.get(&server).copied().map(|ticket| (server, ticket)))
                .collect()
        };
        let is_ready = |state: &ToolState, (server, ticket): &(String, u64)| {
            state.reads.get(server).is_some_and(|read| read.ticket >= *ticket) || !state.tickets.contains_key(server)
        };
        while !awaited.iter().all(|one| is_ready(&lock(&self.inner.tools), one)) {
            // The sender lives as long as this host.
            if reads.changed().await.is_err() {
                return;
            }
        }
    }

    /// Whether the last read failed, and the server has connected since then, for example after a login.
    fn has_outdated_failure(&self, server: &str) -> bool {
        let has_failed = lock(&self.inner.tools).reads.get(server).is_some_and(|read| read.outcome.is_err());
        has_failed && self.inner.manager.status(server) == Some(client::Status::Connected)
    }

    /// Reads the tools of a server in the background.
    pub(super) fn read_tools(&self, server: &str) {
        let ticket = lock(&self.inner.tools).begin(server);
        let (host, server) = (Arc::downgrade(&self.inner), server.to_owned());
        let manager = self.inner.manager.clone();
        tokio::spawn(async move {
            let outcome = manager.tools(&server).await.map_err(Arc::new);
            drop(manager);
            let Some(inner) = host.upgrade() else { return };
            let offers = match &outcome {
                Ok(list) if !lock(&inner.tools).is_current(&server, list) => Some(inner.offers(&server, list)),
                _ => None,
            };
            if lock(&inner.tools).store(&server, Read { ticket, outcome }, offers) {
                inner.reads.send_modify(|reads| *reads += 1);
            }
        });
    }

    /// Receives a notification after each read of tools.
    #[must_use]
    pub fn tool_changes(&self) -> watch::Receiver<u64> {
        self.inner.reads.subscribe()
    }

    /// The tool of a qualified name. Servers that could have it and were not read yet are read first.
    pub(super) async fn resolve(&self, name: &str) -> Option<Resolved> {
        if let Some(known) = self.known(name) {
            return Some(known);
        }
        let naming = self.inner.options.naming;
        let config = self.config();
        let candidates = config.servers.iter().map(|server| server.managed.name());
        let candidates = candidates.filter(|server| may_belong_to(name, server, naming)).map(str::to_owned);
        self.ready_servers(candidates.collect()).await;
        self.known(name)
    }

    /// The tool of a qualified name. Servers that could have it are started if necessary.
    pub async fn tool(&self, name: &str) -> Option<HostTool> {
        self.resolve(name).await?;
        self.tools().get(name).cloned()
    }

    fn known(&self, name: &str) -> Option<Resolved> {
        let state = lock(&self.inner.tools);
        let offer = Arc::clone(state.offers.get(name)?);
        let seen = state.seen.get(name).copied().unwrap_or(offer.fingerprint);
        let deferred = state.deferred.as_ref();
        let is_loaded = deferred.is_some_and(|deferred| state.visibility(name, deferred) != Visibility::Deferred);
        Some(Resolved { offer, seen, is_loaded })
    }

    /// The first error of a server that could have a tool of this name, and the most similar name.
    pub(super) fn unknown(&self, name: &str) -> (Option<Arc<UseError>>, Option<String>) {
        let (naming, state) = (self.inner.options.naming, lock(&self.inner.tools));
        let failed = state.reads.iter().filter(|(server, _)| may_belong_to(name, server, naming));
        let error = failed.filter_map(|(_, read)| read.outcome.as_ref().err().cloned()).next();
        let nearest = diagnostics::nearest::nearest(name, state.offers.keys().map(String::as_str));
        (error, nearest.map(str::to_owned))
    }

    /// Searches all tools that were read. The results are loaded: the model may call them from now on.
    pub fn search(&self, query: &str, limit: usize) -> Vec<HostTool> {
        let found = lock(&self.inner.tools).index.search(&Query::parse(query), limit);
        self.load(found.into_iter().map(|found| found.name).collect())
    }

    /// Runs a call of the search tool.
    ///
    /// # Errors
    /// A message for the model.
    pub(super) fn search_call(&self, arguments: &Value) -> Result<Vec<HostTool>, String> {
        let empty = serde_json::Map::new();
        let arguments = arguments.as_object().unwrap_or(&empty);
        let found = search_tool::call(&lock(&self.inner.tools).index, arguments);
        Ok(self.load(found?))
    }

    /// Names of the deferred tools that were loaded.
    #[must_use]
    pub fn loaded(&self) -> BTreeSet<String> {
        lock(&self.inner.tools).loaded.clone()
    }

    /// Loads deferred tools, and returns those of these names that exist.
    pub(super) fn load(&self, names: Vec<String>) -> Vec<HostTool> {
        let config = self.config();
        let mut state = lock(&self.inner.tools);
        let deferred = state.deferred(&self.inner.options, &config);
        let (mut tools, mut loaded) = (Vec::new(), Vec::new());
        for name in names {
            let Some(offer) = state.offers.get(&name).cloned() else { continue };
            if deferred.contains(&name) && state.loaded.insert(name.clone()) {
                state.seen.insert(name.clone(), offer.fingerprint);
                loaded.push(name.clone());
            }
            let visibility = state.visibility(&name, &deferred);
            tools.push(HostTool { name, visibility, offer });
        }
        drop(state);
        if !loaded.is_empty() {
            self.inner.report(|| HostEvent::Loaded { tools: loaded });
        }
        tools
    }
}

impl Inner {
    fn offers(&self, server: &str, list: &ToolList) -> Vec<(String, Arc<Offer>)> {
        let HostOptions { provider, schema, naming, .. } = &self.options;
        let offer = |tool: &Arc<Tool>| {
            let name = client::qualified_name(server, tool.name(), *naming);
            let conversion =
                provider.map(|provider| Conversion { provider, options: schema.clone(), converted: OnceLock::new() });
            let (tool, fingerprint) = (Arc::clone(tool), tool.fingerprint());
            let offer = Offer {
                server: server.to_owned(),
                tool,
                fingerprint,
                conversion,
                tokens: OnceLock::new(),
                explanation: ExplanationCache::default(),
            };
            (name, Arc::new(offer))
        };
        list.tools.iter().map(offer).collect()
    }
}

impl Host {
    /// Removes the tools of servers that are gone, and reads those of new and changed servers that start at once. An
    /// unchanged server is not read again, because that would start one that has failed.
    pub(super) fn apply_tools(&self, before: &HostConfig) {
        let config = self.config();
        {
            let mut state = lock(&self.inner.tools);
            let gone: Vec<_> =
                state.tickets.keys().filter(|name| config.server_named(name).is_none()).cloned().collect();
            gone.iter().for_each(|server| state.remove_server(server));
        }
        self.inner.reads.send_modify(|reads| *reads += 1);
        for server in &config.servers {
            let managed = &server.managed;
            let is_known = before.server_named(managed.name()).is_some_and(|server| server.managed == *managed);
            if managed.enabled && !is_known && (managed.required || managed.start == StartMode::AtOnce) {
                self.read_tools(managed.name());
            }
        }
    }

    /// Whether a read of the tools of a server has ended.
    pub(super) fn has_read_tools(&self, server: &str) -> bool {
        lock(&self.inner.tools).reads.contains_key(server)
    }

    /// Whether the tools of a server were requested.
    fn uses_tools(&self, server: &str) -> bool {
        lock(&self.inner.tools).tickets.contains_key(server)
    }
}

fn search_definition<'a>(servers: impl IntoIterator<Item = &'a str>, options: &HostOptions) -> Value {
    let wire = json!({
        "name": search_tool::NAME,
        "description": search_tool::description(servers),
        "inputSchema": search_tool::input_schema(),
    });
    let converted = options.provider.and_then(|provider| {
        let (tool, _) = Tool::read(wire.clone()).ok()?;
        schema::convert(provider, search_tool::NAME, &tool, &options.schema).ok()
    });
    converted.map_or(wire, |converted| converted.definition)
}

//! The builder of mock servers.

use std::{
    path::PathBuf,
    time::{Instant, SystemTime},
};

use tokio::io::DuplexStream;

use super::{HttpTransport, MockServer, expectations::ExpectationSet, running::Description};
use crate::{
    engine::{DEFAULT_NAME, Engine},
    listen::{Address, Options, StartError, Tls},
    oauth::OAuthMock,
    script::{FaultRule, Prompt, Resource, ResourceTemplate, Rule, Script, Tool},
};
use evidence::{Recorder, Revision};

/// The description of a mock server.
#[derive(Debug, Clone, Default)]
#[must_use = "a description does nothing until it is started"]
pub struct Builder {
    script: Script,
    transport: HttpTransport,
    revision: Option<String>,
    seed: u64,
    calendar: bool,
    recorder: Option<Recorder>,
    listen: Options,
}

impl Builder {
    /// Sets the script. Later additions extend it.
    pub fn script(self, script: Script) -> Self {
        Self { script, ..self }
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.script.tools.push(tool);
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.script.resources.push(resource);
        self
    }

    /// Adds a resource template.
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.script.resource_templates.push(template);
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.script.prompts.push(prompt);
        self
    }

    /// Adds a rule. The first rule that matches a message applies.
    pub fn on(mut self, rule: Rule) -> Self {
        self.script.on.push(rule);
        self
    }

    /// Adds a persistent fault. By default it acts on every message until it is disabled.
    pub fn fault(mut self, fault: impl Into<FaultRule>) -> Self {
        self.script.faults.push(fault.into());
        self
    }

    /// Supports only this revision, unless the script names revisions [default: all].
    pub fn revision(self, revision: impl Into<String>) -> Self {
        Self { revision: Some(revision.into()), ..self }
    }

    /// Sets the random seed. The same seed gives the same bytes.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Uses the system's time for timestamps, which then differ between runs.
    pub fn calendar(self) -> Self {
        Self { calendar: true, ..self }
    }

    /// Sets the transport [default: Streamable HTTP].
    pub fn transport(self, transport: HttpTransport) -> Self {
        Self { transport, ..self }
    }

    /// Sets the listener [default: a port of 127.0.0.1 that the system chooses, for clients of this machine].
    pub fn listen(self, listen: Options) -> Self {
        Self { listen, ..self }
    }

    /// Listens on a Unix socket at this path.
    pub fn unix(mut self, path: impl Into<PathBuf>) -> Self {
        self.listen.address = Address::Unix(path.into());
        self
    }

    /// Uses TLS with a generated certificate. Clients have to trust [`MockServer::certificate_pem`].
    pub fn tls(self) -> Self {
        Self { listen: self.listen.with_tls(Tls::ThrowAway), ..self }
    }

    /// Sets the recorder of frames [default: in memory]. Expectations need a recorder that keeps frames in memory.
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// The resulting script.
    #[must_use]
    pub fn to_script(&self) -> &Script {
        &self.script
    }

    /// Starts the server.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start(self) -> Result<MockServer, StartError> {
        self.start_behind(None).await
    }

    /// Starts the server as a protected resource: requests without a token of this authorization server get a
    /// challenge.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start_protected(self, authority: &OAuthMock) -> Result<MockServer, StartError> {
        self.start_behind(Some(authority)).await
    }

    /// Starts the server in this process, and returns it with the client's end of a stream of lines, as over stdio. The
    /// address, and process settings of the script, have no effect.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn duplex(self) -> (MockServer, DuplexStream) {
        let (_, description) = self.finish();
        let expectations = ExpectationSet::new(description.recorder.clone());
        let (front, stream) = description.start_duplex();
        (MockServer::new(front, expectations), stream)
    }

    async fn start_behind(self, authority: Option<&OAuthMock>) -> Result<MockServer, StartError> {
        let (transport, description) = self.finish();
        let expectations = ExpectationSet::new(description.recorder.clone());
        let front = match (transport, authority) {
            (transport, Some(authority)) => description.start_protected(transport, authority).await?,
            (transport, None) => description.start(transport).await?,
        };
        Ok(MockServer::new(front, expectations))
    }

    /// Fills in the defaults.
    fn finish(mut self) -> (HttpTransport, Description) {
        if self.revision.is_none() && self.script.revisions.is_none() {
            self.script.revisions = Some(self.transport.revisions());
        }
        let revision = self.revision.unwrap_or_else(|| Revision::NEWEST_LEGACY.to_string());
        let recorder = self.recorder.unwrap_or_else(|| Recorder::in_memory(DEFAULT_NAME));
        let engine = Engine::new(self.script, &revision, self.seed);
        let engine = if self.calendar { engine.with_calendar(SystemTime::now(), Instant::now()) } else { engine };
        let description = Description { engine, recorder, listen: self.listen };
        (self.transport, description)
    }
}

impl HttpTransport {
    /// The revisions of the transport. 2026-07-28 no longer has HTTP+SSE (transports).
    fn revisions(self) -> Vec<String> {
        Revision::ALL.iter().filter(|one| self == Self::Http || !one.is_modern()).map(ToString::to_string).collect()
    }
}

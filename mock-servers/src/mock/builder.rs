//! How a server is described before it runs.

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
    /// What the server does, as a script file says it. What is added after this is added to it.
    pub fn script(self, script: Script) -> Self {
        Self { script, ..self }
    }

    /// Offers a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.script.tools.push(tool);
        self
    }

    /// Offers a resource.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.script.resources.push(resource);
        self
    }

    /// Offers a family of resources.
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.script.resource_templates.push(template);
        self
    }

    /// Offers a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.script.prompts.push(prompt);
        self
    }

    /// Departs from the default behaviour. The first rule that matches a message decides.
    pub fn on(mut self, rule: Rule) -> Self {
        self.script.on.push(rule);
        self
    }

    /// Has a standing fault: for every message, until it is switched off or unless it says otherwise.
    pub fn fault(mut self, fault: impl Into<FaultRule>) -> Self {
        self.script.faults.push(fault.into());
        self
    }

    /// Speaks one protocol revision alone, where the script names none. Otherwise it speaks all of them.
    pub fn revision(self, revision: impl Into<String>) -> Self {
        Self { revision: Some(revision.into()), ..self }
    }

    /// The seed of everything drawn at random: the same seed gives the same bytes.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Goes by the calendar: timestamps are those of today, and not the same in every run. For servers that people look
    /// at.
    pub fn calendar(self) -> Self {
        Self { calendar: true, ..self }
    }

    /// How messages travel; Streamable HTTP unless this says otherwise.
    pub fn transport(self, transport: HttpTransport) -> Self {
        Self { transport, ..self }
    }

    /// Where the server listens, and whom it lets in; a port of 127.0.0.1 that the system chooses, for clients of this
    /// machine, unless this says otherwise.
    pub fn listen(self, listen: Options) -> Self {
        Self { listen, ..self }
    }

    /// Listens on a Unix socket at this path.
    pub fn unix(mut self, path: impl Into<PathBuf>) -> Self {
        self.listen.address = Address::Unix(path.into());
        self
    }

    /// Encrypts, under a throw-away certificate: [`MockServer::certificate_pem`] is what the client has to trust.
    pub fn tls(self) -> Self {
        Self { listen: self.listen.with_tls(Tls::ThrowAway), ..self }
    }

    /// Where frames go; into memory unless this says otherwise. A recorder that keeps nothing in memory leaves nothing
    /// to hold expectations against.
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// The script that has come together.
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

    /// Starts the server as a protected resource: requests without a token of this authorization server are challenged.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start_protected(self, authority: &OAuthMock) -> Result<MockServer, StartError> {
        self.start_behind(Some(authority)).await
    }

    /// Starts the server in this process; what comes back beside it is the client's end of a stream of lines, as over
    /// stdio. Where it would listen is of no meaning then, nor what its script says about processes.
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

    /// Settles what was left open.
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
    /// The revisions that it can carry. The modern one knows HTTP+SSE no more (2026-07-28, transports).
    fn revisions(self) -> Vec<String> {
        Revision::ALL.iter().filter(|one| self == Self::Http || !one.is_modern()).map(ToString::to_string).collect()
    }
}

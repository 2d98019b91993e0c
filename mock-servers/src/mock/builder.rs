//! How a server is described before it runs.

use super::{MockServer, Transport, front::Front};
use crate::{
    engine,
    listen::{Options, StartError},
    record::Recorder,
    script::Script,
};

/// The description of a mock server.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    script: Script,
    transport: Transport,
    revision: Option<String>,
    seed: u64,
    recorder: Option<Recorder>,
    listen: Options,
}

impl Builder {
    /// What the server does: the same that a script file says.
    #[must_use]
    pub fn script(self, script: Script) -> Self {
        Self { script, ..self }
    }

    /// How messages travel; Streamable HTTP unless this says otherwise.
    #[must_use]
    pub fn transport(self, transport: Transport) -> Self {
        Self { transport, ..self }
    }

    /// The protocol revision to speak where the script names none; 2025-11-25 unless this says otherwise.
    #[must_use]
    pub fn revision(self, revision: impl Into<String>) -> Self {
        Self { revision: Some(revision.into()), ..self }
    }

    /// The seed of everything drawn at random: the same seed gives the same bytes.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Where frames go; in memory unless this says otherwise.
    #[must_use]
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Where the server listens, and whom it lets in; a port of 127.0.0.1 that the system chooses, for clients of this
    /// machine, unless this says otherwise.
    #[must_use]
    pub fn listen(self, listen: Options) -> Self {
        Self { listen, ..self }
    }

    /// Starts the server.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start(self) -> Result<MockServer, StartError> {
        let recorder = self.recorder.unwrap_or_else(|| Recorder::in_memory(engine::DEFAULT_NAME));
        let revision = self.revision.as_deref().unwrap_or(engine::LEGACY[3]);
        let front =
            Front::start(self.transport, self.script, revision, self.seed, recorder.clone(), self.listen).await?;
        Ok(MockServer { front, recorder })
    }
}

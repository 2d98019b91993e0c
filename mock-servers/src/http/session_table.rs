//! The sessions of one server by id, limited in number, each with its streams.

use std::collections::{HashMap, VecDeque};

use crate::engine::{DispatchId, Output, SessionKey};

/// Maximum number of stored messages of a session without a stream.
const MAX_BACKLOG: usize = 1_000;
/// Maximum number of streams per session without a connection. The oldest is dropped for a new one.
const MAX_IDLE_STREAMS: usize = 32;

/// The sessions of one server.
pub(super) struct SessionTable {
    sessions: HashMap<SessionKey, Session>,
    by_id: HashMap<String, SessionKey>,
    most: usize,
    uses: u64,
}

/// The streams and stored messages of a session.
#[derive(Default)]
pub(super) struct Session {
    id: String,
    /// The connected GET streams, newest last. A message is sent on one of them only (2025-11-25, transports, multiple
    /// connections).
    streams: Vec<DispatchId>,
    /// Resumable streams without a connection, oldest first.
    idle: VecDeque<DispatchId>,
    backlog: VecDeque<Output>,
    used: u64,
}

impl SessionTable {
    pub(super) fn new(most: usize) -> Self {
        Self { sessions: HashMap::new(), by_id: HashMap::new(), most, uses: 0 }
    }

    /// Adds a session; returns the one to close for it.
    pub(super) fn enter(&mut self, key: SessionKey, id: String) -> Option<SessionKey> {
        let idle = (self.sessions.len() >= self.most).then(|| {
            let quiet = |session: &Session| (!session.streams.is_empty(), session.used);
            self.sessions.iter().min_by_key(|(_, session)| quiet(session)).map(|(key, _)| *key)
        });
        self.uses += 1;
        self.by_id.insert(id.clone(), key);
        self.sessions.insert(key, Session { id, used: self.uses, ..Session::default() });
        idle.flatten()
    }

    /// The session of an id; marks it as used.
    pub(super) fn find(&mut self, id: &str) -> Option<SessionKey> {
        let key = *self.by_id.get(id)?;
        self.uses += 1;
        self.sessions.get_mut(&key)?.used = self.uses;
        Some(key)
    }

    /// The session that was opened or used last.
    pub(super) fn newest(&self) -> Option<SessionKey> {
        self.sessions.iter().max_by_key(|(_, session)| session.used).map(|(key, _)| *key)
    }

    pub(super) fn get_mut(&mut self, key: SessionKey) -> Option<&mut Session> {
        self.sessions.get_mut(&key)
    }

    /// Removes a session.
    pub(super) fn strike(&mut self, key: SessionKey) {
        if let Some(session) = self.sessions.remove(&key) {
            self.by_id.remove(&session.id);
        }
    }
}

impl Session {
    /// The stream for the server's own messages.
    pub(super) fn stream(&self) -> Option<DispatchId> {
        self.streams.last().copied()
    }

    /// Stores a message until a stream is open. The oldest message is dropped for a new one.
    pub(super) fn keep(&mut self, output: Output) {
        if self.backlog.len() == MAX_BACKLOG {
            self.backlog.pop_front();
        }
        self.backlog.push_back(output);
    }

    /// Adds an open GET stream; returns the stored messages.
    pub(super) fn open(&mut self, stream: DispatchId) -> VecDeque<Output> {
        self.forget(stream);
        self.streams.push(stream);
        std::mem::take(&mut self.backlog)
    }

    /// Removes a stream.
    pub(super) fn forget(&mut self, stream: DispatchId) {
        self.streams.retain(|one| *one != stream);
        self.idle.retain(|one| *one != stream);
    }

    /// Stores a stream without a connection; returns the one to drop for it.
    pub(super) fn store_idle(&mut self, stream: DispatchId) -> Option<DispatchId> {
        self.forget(stream);
        self.idle.push_back(stream);
        if self.idle.len() > MAX_IDLE_STREAMS { self.idle.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_too_many_ends_the_one_that_was_idle_for_longest() {
        let mut sessions = SessionTable::new(3);
        for number in 0..3 {
            assert_eq!(sessions.enter(SessionKey(number), number.to_string()), None);
        }
        assert_eq!(sessions.find("0"), Some(SessionKey(0)));
        sessions.get_mut(SessionKey(1)).unwrap().open(DispatchId(9));
        assert_eq!(sessions.enter(SessionKey(3), "3".to_owned()), Some(SessionKey(2)), "neither used nor heard");
        sessions.strike(SessionKey(2));
        assert_eq!(sessions.find("2"), None);
        assert_eq!(sessions.enter(SessionKey(4), "4".to_owned()), Some(SessionKey(0)));
    }

    #[test]
    fn a_session_stores_a_limited_number_of_idle_streams() {
        let mut session = Session::default();
        for number in 0..MAX_IDLE_STREAMS as u64 {
            assert_eq!(session.store_idle(DispatchId(number)), None);
        }
        assert_eq!(session.store_idle(DispatchId(0)), None, "it is parked already");
        assert_eq!(session.store_idle(DispatchId(MAX_IDLE_STREAMS as u64)), Some(DispatchId(1)));
    }
}

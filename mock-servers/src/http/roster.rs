//! The sessions of one server: found by their ids, bounded in number, each with its streams.

use std::collections::{HashMap, VecDeque};

use crate::engine::{ExchangeId, Output, SessionKey};

/// How many of the server's own messages are kept for a session that has no stream open.
const LONGEST_BACKLOG: usize = 1_000;
/// How many streams of a session are kept that nobody hears at the moment. One more lets go of the oldest.
const MOST_PARKED: usize = 8;

/// The sessions of one server.
pub(super) struct Roster {
    sessions: HashMap<SessionKey, Session>,
    by_id: HashMap<String, SessionKey>,
    most: usize,
    uses: u64,
}

/// What a session has besides its place in the engine.
#[derive(Default)]
pub(super) struct Session {
    id: String,
    /// The GET streams that somebody hears, newest last. A message goes out on one of them only (2025-11-25,
    /// transports, multiple connections).
    streams: Vec<ExchangeId>,
    /// The streams that can be resumed and that nobody hears, oldest first.
    parked: VecDeque<ExchangeId>,
    backlog: VecDeque<Output>,
    used: u64,
}

impl Roster {
    pub(super) fn new(most: usize) -> Self {
        Self { sessions: HashMap::new(), by_id: HashMap::new(), most, uses: 0 }
    }

    /// Enters a session; returns the one that has to go for it.
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

    /// The session of an id, which is in use by that.
    pub(super) fn find(&mut self, id: &str) -> Option<SessionKey> {
        let key = *self.by_id.get(id)?;
        self.uses += 1;
        self.sessions.get_mut(&key)?.used = self.uses;
        Some(key)
    }

    pub(super) fn get_mut(&mut self, key: SessionKey) -> Option<&mut Session> {
        self.sessions.get_mut(&key)
    }

    /// Strikes a session off.
    pub(super) fn strike(&mut self, key: SessionKey) {
        if let Some(session) = self.sessions.remove(&key) {
            self.by_id.remove(&session.id);
        }
    }
}

impl Session {
    /// The stream that the server's own messages go out on.
    pub(super) fn stream(&self) -> Option<ExchangeId> {
        self.streams.last().copied()
    }

    /// Keeps a message until a stream is open; of too many the oldest is lost.
    pub(super) fn keep(&mut self, output: Output) {
        if self.backlog.len() == LONGEST_BACKLOG {
            self.backlog.pop_front();
        }
        self.backlog.push_back(output);
    }

    /// A GET stream is open from now on; returns what has waited for it.
    pub(super) fn open(&mut self, stream: ExchangeId) -> VecDeque<Output> {
        self.forget(stream);
        self.streams.push(stream);
        std::mem::take(&mut self.backlog)
    }

    /// Nobody hears this stream any more.
    pub(super) fn forget(&mut self, stream: ExchangeId) {
        self.streams.retain(|one| *one != stream);
        self.parked.retain(|one| *one != stream);
    }

    /// Nobody hears this stream at the moment; returns the one to let go for it.
    pub(super) fn park(&mut self, stream: ExchangeId) -> Option<ExchangeId> {
        self.forget(stream);
        self.parked.push_back(stream);
        if self.parked.len() > MOST_PARKED { self.parked.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_too_many_ends_the_one_that_was_idle_for_longest() {
        let mut roster = Roster::new(3);
        for number in 0..3 {
            assert_eq!(roster.enter(SessionKey(number), number.to_string()), None);
        }
        assert_eq!(roster.find("0"), Some(SessionKey(0)));
        roster.get_mut(SessionKey(1)).unwrap().open(ExchangeId(9));
        assert_eq!(roster.enter(SessionKey(3), "3".to_owned()), Some(SessionKey(2)), "neither used nor heard");
        roster.strike(SessionKey(2));
        assert_eq!(roster.find("2"), None);
        assert_eq!(roster.enter(SessionKey(4), "4".to_owned()), Some(SessionKey(0)));
    }

    #[test]
    fn a_session_keeps_a_bounded_number_of_streams_that_nobody_hears() {
        let mut session = Session::default();
        for number in 0..8 {
            assert_eq!(session.park(ExchangeId(number)), None);
        }
        assert_eq!(session.park(ExchangeId(0)), None, "it is parked already");
        assert_eq!(session.park(ExchangeId(8)), Some(ExchangeId(1)));
    }
}

//! The habits with the cases in which they show, and clients that differ from others without a defect.

use reports::model::Verdict;

use crate::client::Habit::{self, *};

/// With the habit, no check of the cases is violated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HabitRow {
    /// The habit of the client.
    pub(crate) habit: Habit,
    /// The profile.
    pub(crate) profile: &'static str,
    /// Patterns of ids of cases.
    pub(crate) cases: &'static [&'static str],
    /// The most severe verdict that is correct.
    pub(crate) most: Verdict,
}

const fn accepted(habit: Habit, profile: &'static str, cases: &'static [&'static str]) -> HabitRow {
    HabitRow { habit, profile, cases, most: Verdict::Passed }
}

/// Cases with requests of servers to the user, and with tasks.
pub(crate) const FEATURES: [&str; 4] = [
    "client-features/*@stdio@*",
    "client-features/*@streamable-http@*",
    "tasks/*@stdio@*",
    "tasks/*@streamable-http@*",
];

/// All rows.
pub(crate) const HABITS: &[HabitRow] = &[
    accepted(KeepsTimeouts, "sdk", &["timeouts/*progress*@stdio@*", "timeouts/*progress*@streamable-http@*"]),
    accepted(RejectsNullCursors, "sdk", &["pagination/null-cursor@stdio@*"]),
    accepted(RejectsNullCursors, "agent", &["pagination/null-cursor@streamable-http@*"]),
    accepted(RejectsInvalidLists, "sdk", &["pagination/bad-tool-costs-itself@stdio@*"]),
    accepted(OwnPageLimit, "sdk", &["pagination/*@stdio@2025-11-25", "pagination/*@streamable-http@2026-07-28"]),
    accepted(OwnPageLimit, "agent", &["pagination/*curs*@stdio@2026-07-28"]),
    accepted(TruncatesLists, "sdk", &["pagination/*@stdio@2026-07-28", "pagination/*@streamable-http@2025-11-25"]),
    accepted(ProbesAside, "sdk", &["*@stdio@2025-11-25"]),
    accepted(ProbesAside, "agent", &["drift/between-restarts@stdio@*", "orphans/timed-out-call-leaves-the-server@*"]),
    accepted(NeverDiscovers, "sdk", &["*@stdio@2026-07-28", "*@streamable-http@2026-07-28"]),
    accepted(NeverDiscovers, "agent", &["handshake/*@stdio@2026-07-28", "handshake/*@streamable-http@2026-07-28"]),
    accepted(CancelsInBackground, "sdk", &["timeouts/*@stdio@2025-11-25", "timeouts/*@streamable-http@2025-11-25"]),
    accepted(CancelsInBackground, "agent", &["timeouts/*@stdio@2026-07-28", "timeouts/*@streamable-http@2026-07-28"]),
    accepted(ReportsNoEvents, "sdk", &["handshake/*@stdio@2025-11-25", "timeouts/*@stdio@2025-11-25"]),
    accepted(DeclaresNothing, "sdk", &FEATURES),
    accepted(DeclaresNothing, "agent", &FEATURES),
    HabitRow {
        most: Verdict::Blocked,
        ..accepted(SkipsRefresh, "agent", &["drift/*@stdio@2025-11-25", "drift/*@streamable-http@2026-07-28"])
    },
    accepted(KnowsNoAuthorization, "sdk", &["authorization/*"]),
    accepted(KnowsNoAuthorization, "agent", &["authorization/*"]),
    accepted(AuthorizesFirst, "sdk", &["authorization/*@2025-11-25", "authorization/*@2026-07-28"]),
    accepted(AuthorizesFirst, "agent", &["authorization/*@2025-06-18", "authorization/*@2026-07-28"]),
    HabitRow { most: Verdict::Warned, ..accepted(RegistersEachTime, "sdk", &["authorization/*"]) },
    accepted(KnowsOnlyGivenClients, "sdk", &["authorization/*"]),
    accepted(KnowsOnlyGivenClients, "agent", &["authorization/*"]),
    accepted(KeepsNoScopes, "sdk", &["authorization/*@2025-11-25"]),
    accepted(ResumesStream, "sdk", &["http/stream-that-breaks@*"]),
    accepted(ResumesStream, "agent", &["http/stream-that-breaks@*"]),
];

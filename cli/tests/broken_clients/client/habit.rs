//! Correct but unusual behavior of the client, one habit at a time. No case may fail because of it. The code of a habit is
//! next to the usual code, after [`Flaw::has`](super::defect::Flaw::has).

use clap::ValueEnum;

/// A habit. Its name on the command line is in kebab case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Habit {
    /// Progress does not restart a timeout (2025-11-25, basic/lifecycle#timeouts: "MAY choose to reset").
    KeepsTimeouts,
    /// A page with a null cursor fails the list: the schema has no null.
    RejectsNullCursors,
    /// A tool that violates the schema fails the list.
    RejectsInvalidLists,
    /// A list of more pages than a limit of the client's own fails. Repeated cursors are not detected before.
    OwnPageLimit,
    /// The same, but the list ends there without an error.
    TruncatesLists,
    /// A process of its own probes each stdio server, and exits before the connection is opened.
    ProbesAside,
    /// No `server/discover`: a client of 2026-07-28 need not call it (basic/versioning).
    NeverDiscovers,
    /// Cancellations are sent a moment later, while the client goes on.
    CancelsInBackground,
    /// The report contains no events.
    ReportsNoEvents,
    /// It has no user and no tasks, and declares no capability for them.
    DeclaresNothing,
    /// It takes no part in authorization.
    KnowsNoAuthorization,
    /// It looks for the authorization server before the first request, without a challenge.
    AuthorizesFirst,
    /// It registers for each authorization, and has no other registration.
    RegistersEachTime,
    /// It has no registration other than given credentials.
    KnowsOnlyGivenClients,
    /// A new authorization has the scopes of the challenge only (2025-11-25).
    KeepsNoScopes,
    /// The step `refresh` is reported as skipped.
    SkipsRefresh,
    /// The stream for messages of the server is resumed whenever it breaks. If that fails, the connection is lost.
    ResumesStream,
}

//! The ways in which the client can be broken on purpose, one at a time. The code of a defect stands where the good
//! behaviour stands, behind [`Flaw::is`].

use clap::ValueEnum;

/// One way to be broken. Its name on the command line is the name in kebab case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Defect {
    // Handshake.
    NoInitializedNotification,
    AcceptsAnyRevision,
    AsksForToolsWithoutCapability,
    IgnoresPing,
    NoStartupLimit,
    DiesOnGarbage,
    TakesAWrongId,
    HidesRpcError,
    NoModernMeta,
    WrongProtocolHeader,
    NoAcceptHeader,
    ForgetsSessionId,
    FallsBackFromModernPinned,
    SilentSpawnFailure,
    // HTTP.
    KeepsLostSession,
    RenewsForEachCall,
    ComesBackAtOnce,
    TakesOnlyStreams,
    TakesOnlyObjects,
    NeverComesBack,
    ComesBackTooSoon,
    NeedsAStream,
    ReopensAtOnce,
    WantsNoAnswer,
    DiesOfOversize,
    CarriesCredentials,
    /// Nothing needs breaking: this client does not speak HTTP+SSE.
    SpeaksNoSse,
    // What servers ask.
    RefusesWhatItDeclares,
    AcceptsForTheUser,
    LeavesOutDefaults,
    SpeaksAsTheUser,
    KeepsRootsToItself,
    AnswersOneForAll,
    TakesQuestionsForResults,
    LosesState,
    // Tasks.
    TakesTasksForResults,
    AsksAboutTasksAllTheTime,
    LeavesTasksWaiting,
    LeavesTasksRunning,
    HidesFailedTasks,
    // Pagination.
    FirstPageOnly,
    FollowsForEver,
    ChangesCursors,
    HidesErrorOnPageTwo,
    StopsAtEmptyPage,
    BadToolDropsList,
    SecondRequestAfterEnd,
    // Names.
    Flattens,
    NoSanitising,
    NoLengthLimit,
    LastOneWins,
    RenumbersOnJoin,
    ResolvesBySplitting,
    // Drift.
    SendsStaleCall,
    IgnoresListChanged,
    CallsEverythingCompatible,
    FailedRefreshDropsList,
    // Timeouts.
    NoTimeout,
    NoCancel,
    IgnoresProgress,
    NoCeiling,
    OneCallAtATime,
    ConnectsOneByOne,
    TakesLateReply,
    WaitsForDeadServer,
    // Processes.
    LeavesServer,
    DisconnectsLate,
    KillsOnlyDirectChild,
    KillsWithoutClosingInput,
    LeavesFailedStart,
    /// Nothing needs breaking: a process group does not hold a grandchild that left it.
    KillsOnlyTheGroup,
    /// Nothing needs breaking: nobody is left to end a stubborn server when this client is killed.
    NoParentDeath,
}

impl Defect {
    /// Whether a client that is broken like this waits for the time limit of a case, or nearly so.
    pub(crate) fn is_slow(self) -> bool {
        use Defect::{
            DisconnectsLate, FollowsForEver, IgnoresPing, NoCeiling, NoStartupLimit, NoTimeout, WaitsForDeadServer,
        };
        matches!(
            self,
            DisconnectsLate
                | FollowsForEver
                | IgnoresPing
                | NoCeiling
                | NoStartupLimit
                | NoTimeout
                | WaitsForDeadServer
        )
    }
}

/// How the client is broken, if it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flaw(pub(crate) Option<Defect>);

impl Flaw {
    /// Whether it is broken in this way.
    pub(crate) fn is(self, defect: Defect) -> bool {
        self.0 == Some(defect)
    }
}

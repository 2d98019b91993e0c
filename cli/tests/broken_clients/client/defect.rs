//! The defects of the client, one at a time. The code of a defect is next to the correct code, after [`Flaw::is`].

use clap::ValueEnum;

use serde_json::Value;

use super::{alter::Change, habit::Habit};

/// A defect. Its name on the command line is in kebab case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Defect {
    // Handshake.
    NoInitializedNotification,
    AcceptsAnyRevision,
    AsksForToolsWithoutCapability,
    IgnoresPing,
    AnswersPingsLate,
    NoStartupLimit,
    DiesOnGarbage,
    TakesAWrongId,
    HidesRpcError,
    GivesUpWhenRejected,
    NoModernMeta,
    WrongProtocolHeader,
    NoAcceptHeader,
    ForgetsSessionId,
    FallsBackFromModernPinned,
    SilentSpawnFailure,
    FailsOnStderr,
    WritesBlankLines,
    NamesRequestedRevision,
    IgnoresListedRevisions,
    ProbesAgain,
    KnowsOneFallbackCode,
    NeverRestarts,
    AnswersStatelessServers,
    DropsBatches,
    ReadsFirstOfBatch,
    // HTTP.
    OmitsParameterHeaders,
    OmitsZeros,
    SendsPlainParameters,
    KeepsLostSession,
    RenewsForEachCall,
    ComesBackAtOnce,
    TakesOnlyStreams,
    TakesOnlyObjects,
    NeverComesBack,
    ComesBackTooSoon,
    ComesBackToTheFirst,
    KeepsFirstRetry,
    NeedsAStream,
    ReopensAtOnce,
    WantsNoAnswer,
    DiesOfOversize,
    CarriesCredentials,
    FollowsWithGet,
    SpeaksNoSse,
    /// Appends the endpoint of a stream to its origin.
    AppendsEndpoint,
    CallsInvalidTools,
    ListsInvalidTools,
    PutsMessages,
    FailsOnComments,
    NeedsEventTypes,
    NeedsExactContentTypes,
    TakesLastDataLine,
    NeedsSpacesInEvents,
    ReadsLatin1,
    ReadsOnlyLineFeeds,
    GivesUpOnMismatch,
    FetchesReferences,
    FetchesUrls,
    // Authorization.
    IgnoresCredentials,
    IgnoresMetadataUrl,
    ReadsFirstChallenge,
    NeedsCapitalScheme,
    TriesRootFirst,
    NeverTriesRoot,
    KnowsOnlyOAuthMetadata,
    TriesOpenIdFirst,
    TrustsAnyResource,
    TrustsAnyIssuer,
    TrustsMissingIssuer,
    AssumesPkce,
    NeedsMetadata,
    HasNoDocument,
    AssumesDocumentSupport,
    HasPlainDocument,
    OmitsApplicationType,
    OmitsRefreshGrant,
    RegistersForEver,
    InventsClientId,
    /// Asks for a redirect to another URI than the registered one.
    RedirectsElsewhere,
    AddsSlash,
    ReusesCredentials,
    RefreshesElsewhere,
    AnswersWithoutToken,
    CallsWithoutToken,
    IgnoresMethod,
    KnowsOnlyBasic,
    RedirectsToPlainHttp,
    OmitsPkce,
    UsesPlainPkce,
    UsesFirstPkceMethod,
    OmitsVerifier,
    OmitsResource,
    OmitsResourceOfTokens,
    NamesAnotherResource,
    OmitsState,
    RepeatsState,
    RepeatsVerifier,
    KeepsFirstRefreshToken,
    OmitsResourceOfRefreshes,
    OmitsResourceOfCredentials,
    IgnoresState,
    IgnoresIssuer,
    NormalizesIssuer,
    RejectsIssuer,
    NeedsIssuer,
    AcceptsMissingIssuer,
    IgnoresChallengedScopes,
    InventsScopes,
    AddsSupportedScopes,
    DropsEarlierScopes,
    AlwaysWantsOfflineAccess,
    IgnoresMissingScopes,
    StepsUpForEver,
    KeepsExpiredToken,
    GivesUpAfterRefresh,
    PutsTokenIntoUrl,
    ForgetsTokenOfStreams,
    SendsTokenEverywhere,
    SharesToken,
    SendsBoundAsBearer,
    RepeatsProofs,
    OmitsTokenOfProofs,
    IgnoresNonces,
    SignsForAnotherServer,
    SkipsExchange,
    SendsExpiredAssertion,
    // Requests of servers.
    RefusesWhatItDeclares,
    AcceptsForTheUser,
    LeavesOutDefaults,
    SendsInvalidValues,
    SpeaksAsTheUser,
    KeepsRootsToItself,
    TellsOneServerOfRoots,
    AnswersOneForAll,
    AnswersElsewhere,
    AnswersWithdrawn,
    RepeatsResponses,
    TakesQuestionsForResults,
    LosesState,
    TakesAnyResultType,
    NeedsResultType,
    MixesUpStates,
    IgnoresSupportedRevisions,
    SubscribesOnce,
    /// Sends the request of a subscription whose stream broke again, with its id.
    RepeatsBrokenRequest,
    SubscribesToOneAgain,
    FallsBackFromModernErrors,
    ProbesWithTools,
    KeepsStaleLists,
    AnswersUndeclared,
    RefusesFormsWithMode,
    // Tasks.
    ForgetsTaskOfAnswers,
    TakesTasksForResults,
    AwaitsTasksOfReads,
    AsksAboutTasksAllTheTime,
    KeepsFirstInterval,
    AnswersInputAgain,
    LeavesTasksWaiting,
    LeavesTasksRunning,
    HidesFailedTasks,
    // Pagination.
    FirstPageOnly,
    FollowsForEver,
    ChangesCursors,
    HidesErrorOnPageTwo,
    StopsAtEmptyPage,
    StopsAtShortPage,
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
    // Resources, prompts, completion and logging.
    UsesUndeclared,
    HidesFeatureErrors,
    DropsParts,
    NormalizesUris,
    ReadsOnlyListed,
    ConfusesCache,
    CachesRetries,
    KeepsReads,
    TrustsStructuredContent,
    TrustsUncheckedContent,
    AnswersMixedResults,
    OneLifetimeForAllPages,
    CachesByMethod,
    NeedsItsDialect,
    IgnoresUpdates,
    NeverUnsubscribes,
    TakesForeignUpdates,
    RejectsEmptyLists,
    RejectsIcons,
    DropsArguments,
    DropsMedia,
    DropsMediaOfResults,
    DiesOfUnknown,
    DropsBegunValues,
    DropsContext,
    DropsTotal,
    NeedsTotal,
    ForgetsLevel,
    FailsOnLogs,
    // Agents.
    CallsWhatIsDenied,
    DeniesByToolAlone,
    AllowsBeforeDeny,
    NeverAsks,
    AsksOnlyOnce,
    AsksAgain,
    TakesSilenceForConsent,
    IgnoresDestructiveHints,
    AsksForEveryRead,
    AsksDeniedQuestions,
    StartsDeniedServers,
    StartsDisabledServers,
    LeavesVariables,
    PrefersDefaults,
    ShowsUnselectedTools,
    CallsUnselectedTools,
    ForgetsApprovals,
    ApprovesTheServer,
    KeepsSessionApprovals,
    RestartsWithoutServers,
    LogsInUnasked,
    ForgetsLogins,
    HidesLostLogins,
    NoOutputLimit,
    KeepsTheEnd,
    HidesTheLimit,
    HidesLongErrors,
    LimitsEachBlock,
    CutsCharacters,
    TrimsResults,
    ShowsAllTools,
    ForgetsWhatItFound,
    SearchesOnlyNames,
    SearchesOnlyDescriptions,
    FindsOneServer,
    SplitsQuotedValues,
    SendsIncompleteCommands,
    IgnoresMentions,
    ReportsAllAsConnected,
    // Load.
    HoardsMemory,
    // Timeouts.
    NoTimeout,
    NoCancel,
    IgnoresProgress,
    NoCeiling,
    OneCallAtATime,
    ConnectsOneByOne,
    TakesLateReply,
    DiesOfLateReply,
    DiesOfLateProgress,
    WaitsForDeadServer,
    // Processes.
    LeavesServer,
    DisconnectsLate,
    KillsOnlyDirectChild,
    KillsWithoutClosingInput,
    LeavesFailedStart,
    /// No code: a process can leave its process group.
    KillsOnlyTheGroup,
    /// No code: after SIGKILL this client cannot stop its servers.
    NoParentDeath,
}

impl Defect {
    /// Whether a client with this defect waits until the timeout of a case, or nearly so.
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

/// What makes the client different from others: a defect or a habit, if any.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flaw {
    pub(crate) defect: Option<Defect>,
    pub(crate) habit: Option<Habit>,
    pub(crate) change: Option<&'static Change>,
}

impl Flaw {
    /// Whether this is the defect.
    pub(crate) fn is(self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// The messages that are sent instead of this one, whose name is its method.
    pub(crate) fn altered(self, name: &str, message: Value) -> Vec<Value> {
        match self.change {
            Some(change) => change.apply(name, message),
            None => vec![message],
        }
    }

    /// Whether this is the habit.
    pub(crate) fn has(self, habit: Habit) -> bool {
        self.habit == Some(habit)
    }
}

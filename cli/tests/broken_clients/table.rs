//! The defects with the case and the check that must detect them.

use reports::model::Verdict;

use crate::client::Defect::{self, *};

/// With the defect, the check has this verdict in the case. Without it, the case passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The defect of the client.
    pub(crate) defect: Defect,
    /// ID of the case.
    pub(crate) case: &'static str,
    /// ID of the check.
    pub(crate) check: &'static str,
    /// Expected verdict of the check.
    pub(crate) verdict: Verdict,
    /// Whether the client without a defect passes the case. It controls its servers only by a process group, so it cannot
    /// stop a process that leaves the group, nor any process after SIGKILL of the client.
    pub(crate) sound_client_passes: bool,
}

const fn fails(defect: Defect, case: &'static str, check: &'static str) -> Row {
    Row { defect, case, check, verdict: Verdict::Failed, sound_client_passes: true }
}

const fn warns(defect: Defect, case: &'static str, check: &'static str) -> Row {
    Row { verdict: Verdict::Warned, ..fails(defect, case, check) }
}

const fn unsupported(defect: Defect, case: &'static str, check: &'static str) -> Row {
    Row { sound_client_passes: false, ..fails(defect, case, check) }
}

/// All rows.
pub(crate) const ROWS: &[Row] = &[
    // Handshake.
    warns(NoStartupLimit, "handshake/never-answers@stdio@2025-11-25", "steps[0].connect"),
    warns(NoStartupLimit, "handshake/never-answers@stdio@2025-11-25", "subject-takes-part"),
    warns(NoStartupLimit, "handshake/never-answers@streamable-http@2026-07-28", "steps[0].connect"),
    fails(IgnoresPing, "handshake/ping-from-server@stdio@2025-11-25", "answers-server-requests"),
    fails(IgnoresPing, "handshake/ping-from-server@streamable-http@2025-03-26", "answers-server-requests"),
    fails(NoInitializedNotification, "handshake/basic@stdio@2024-11-05", "initialized-before-operation"),
    fails(NoInitializedNotification, "handshake/basic@streamable-http@2025-11-25", "initialized-before-operation"),
    warns(AcceptsAnyRevision, "handshake/unknown-revision@stdio@2024-11-05", "steps[0].connect"),
    warns(AcceptsAnyRevision, "handshake/unknown-revision@streamable-http@2025-11-25", "no-request-after-failure"),
    warns(AcceptsAnyRevision, "handshake/revision-from-the-future@stdio@2025-11-25", "steps[0].connect"),
    warns(AsksForToolsWithoutCapability, "handshake/no-tools-capability@stdio@2025-11-25", "expect.frames[0]"),
    fails(
        AsksForToolsWithoutCapability,
        "handshake/no-tools-capability@stdio@2025-11-25",
        "uses-negotiated-capabilities",
    ),
    warns(
        AsksForToolsWithoutCapability,
        "handshake/no-tools-capability@streamable-http@2026-07-28",
        "expect.frames[0]",
    ),
    fails(DiesOnGarbage, "handshake/banner-on-stdout@stdio@2026-07-28", "connect[mock]"),
    fails(DiesOnGarbage, "handshake/garbage-before-reply@stdio@2025-11-25", "connect[mock]"),
    fails(TakesAWrongId, "handshake/wrong-id@stdio@2025-11-25", "steps[0].connect"),
    fails(TakesAWrongId, "handshake/wrong-id@streamable-http@2025-11-25", "expect.frames[0]"),
    fails(HidesRpcError, "handshake/refused-with-an-error@stdio@2025-11-25", "steps[0].connect.message"),
    fails(HidesRpcError, "handshake/refused-with-an-error@streamable-http@2026-07-28", "steps[0].connect.message"),
    warns(
        GivesUpWhenRejected,
        "handshake/rejected-first-request@streamable-http@2026-07-28",
        "selects-supported-revision",
    ),
    fails(NoModernMeta, "handshake/basic@stdio@2026-07-28", "modern-request-metadata"),
    warns(NoModernMeta, "handshake/basic@stdio@2026-07-28", "modern-client-info"),
    fails(NoModernMeta, "handshake/basic@streamable-http@2026-07-28", "modern-http-headers"),
    warns(WrongProtocolHeader, "handshake/basic@streamable-http@2025-11-25", "speaks-negotiated-revision"),
    fails(NoAcceptHeader, "handshake/basic@streamable-http@2025-06-18", "http-accept"),
    fails(ForgetsSessionId, "handshake/basic@streamable-http@2025-11-25", "http-session-echoed"),
    fails(FallsBackFromModernPinned, "handshake/older-server-modern-client@stdio@2026-07-28", "steps[0].connect"),
    fails(
        FallsBackFromModernPinned,
        "handshake/older-server-modern-client@streamable-http@2026-07-28",
        "expect.frames[0]",
    ),
    Row {
        verdict: Verdict::Blocked,
        ..fails(SilentSpawnFailure, "handshake/no-such-command@stdio@2025-11-25", "subject-takes-part")
    },
    warns(FailsOnStderr, "handshake/stderr-output@stdio@2025-11-25", "steps[0].call"),
    warns(FailsOnStderr, "handshake/stderr-output@stdio@2026-07-28", "steps[1].call"),
    // HTTP.
    fails(KeepsLostSession, "http/lost-session@streamable-http@2025-03-26", "steps[1].call"),
    fails(KeepsLostSession, "http/lost-session@streamable-http@2025-11-25", "expect.frames[0]"),
    fails(RenewsForEachCall, "http/lost-session-of-many-calls@streamable-http@2025-06-18", "expect.frames[0]"),
    fails(RenewsForEachCall, "http/lost-session-of-many-calls@streamable-http@2025-11-25", "expect.frames[0]"),
    fails(OmitsParameterHeaders, "http/parameter-headers@streamable-http@2026-07-28", "steps[1].call"),
    fails(
        OmitsParameterHeaders,
        "http/encoded-parameter-headers@streamable-http@2026-07-28",
        "parameters-are-mirrored",
    ),
    fails(SendsPlainParameters, "http/parameter-headers@streamable-http@2026-07-28", "parameters-are-mirrored"),
    fails(
        CallsInvalidTools,
        "http/invalid-parameter-headers@streamable-http@2026-07-28",
        "invalid-parameter-headers-rejected",
    ),
    fails(FetchesReferences, "tools/network-reference@streamable-http@2026-07-28", "no-network-references"),
    fails(SendsPlainParameters, "http/parameter-headers@streamable-http@2026-07-28", "expect.frames[2]"),
    fails(ComesBackAtOnce, "http/asked-to-wait@streamable-http@2025-11-25", "waits-as-asked"),
    fails(ComesBackAtOnce, "http/asked-to-wait@streamable-http@2026-07-28", "waits-as-asked"),
    fails(TakesOnlyStreams, "http/answer-as-json@streamable-http@2025-11-25", "connect[mock]"),
    fails(TakesOnlyObjects, "http/answer-as-stream@streamable-http@2026-07-28", "connect[mock]"),
    warns(NeverComesBack, "http/polled-answer@streamable-http@2025-11-25", "steps[0].call"),
    warns(NeverComesBack, "http/broken-stream@streamable-http@2025-06-18", "expect.frames[0]"),
    warns(ComesBackTooSoon, "http/polled-answer@streamable-http@2025-11-25", "steps[0].call.not_before"),
    fails(ComesBackTooSoon, "http/retry-interval@streamable-http@2025-11-25", "waits-for-retry-interval"),
    fails(NeedsAStream, "http/no-stream-of-its-own@streamable-http@2025-03-26", "connect[mock]"),
    fails(ReopensAtOnce, "http/stream-that-breaks@streamable-http@2025-11-25", "expect.frames[0]"),
    fails(WantsNoAnswer, "http/notification-answered@streamable-http@2025-11-25", "steps[0].connect"),
    fails(DiesOfOversize, "http/oversize-reply@stdio@2025-11-25", "steps[1].call"),
    fails(DiesOfOversize, "http/oversize-reply@streamable-http@2026-07-28", "steps[1].call"),
    fails(CarriesCredentials, "http/redirect-to-another-origin@streamable-http@2025-11-25", "expect.frames[1]"),
    fails(CarriesCredentials, "http/redirect-to-another-origin@streamable-http@2026-07-28", "expect.frames[1]"),
    Row {
        sound_client_passes: false,
        ..warns(SpeaksNoSse, "http/falls-back-to-sse@sse@2025-11-25", "steps[0].connect")
    },
    // Requests of servers.
    fails(RefusesWhatItDeclares, "client-features/form-accepted@stdio@2025-11-25", "steps[0].call.text"),
    fails(RefusesWhatItDeclares, "client-features/url-agreed@streamable-http@2026-07-28", "steps[0].call"),
    fails(RefusesWhatItDeclares, "client-features/sampling@stdio@2024-11-05", "steps[0].call.text"),
    fails(RefusesWhatItDeclares, "client-features/roots@streamable-http@2025-11-25", "steps[0].call.text"),
    fails(AcceptsForTheUser, "client-features/form-declined@stdio@2025-06-18", "steps[0].call.text"),
    fails(AcceptsForTheUser, "client-features/form-dismissed@streamable-http@2026-07-28", "steps[0].call"),
    fails(AcceptsForTheUser, "client-features/no-user@streamable-http@2025-11-25", "steps[0].call.values[0]"),
    warns(LeavesOutDefaults, "client-features/form-defaults@stdio@2025-11-25", "steps[0].call.text"),
    warns(LeavesOutDefaults, "client-features/form-defaults@streamable-http@2026-07-28", "steps[0].call.text"),
    warns(LeavesOutDefaults, "client-features/form-with-all-defaults@streamable-http@2025-11-25", "expect.frames[0]"),
    fails(SpeaksAsTheUser, "client-features/sampling@streamable-http@2026-07-28", "steps[0].call.text"),
    fails(KeepsRootsToItself, "client-features/roots-changed@stdio@2025-11-25", "expect.frames[0]"),
    fails(KeepsRootsToItself, "client-features/roots-changed@streamable-http@2025-11-25", "expect.frames[0]"),
    fails(AnswersOneForAll, "client-features/several-at-once@stdio@2026-07-28", "steps[0].call"),
    fails(TakesQuestionsForResults, "client-features/form-accepted@streamable-http@2026-07-28", "steps[0].call.text"),
    fails(TakesQuestionsForResults, "client-features/several-at-once@streamable-http@2026-07-28", "steps[0].call.text"),
    fails(TakesQuestionsForResults, "client-features/state-alone@stdio@2026-07-28", "expect.frames[0]"),
    fails(LosesState, "client-features/rounds@stdio@2026-07-28", "steps[0].call"),
    fails(LosesState, "client-features/state-alone@streamable-http@2026-07-28", "steps[0].call"),
    fails(TakesAnyResultType, "client-features/unknown-result-type@stdio@2026-07-28", "steps[0].call"),
    fails(NeedsResultType, "client-features/absent-result-type@streamable-http@2026-07-28", "steps[0].call"),
    fails(MixesUpStates, "client-features/states-of-two-calls@stdio@2026-07-28", "input-only-for-its-request"),
    warns(IgnoresSupportedRevisions, "handshake/probe-names-revisions@stdio@2025-11-25", "uses-a-supported-revision"),
    warns(
        IgnoresSupportedRevisions,
        "handshake/probe-names-revisions@streamable-http@2025-11-25",
        "uses-a-supported-revision",
    ),
    fails(SubscribesOnce, "drift/subscribed-again@stdio@2026-07-28", "subscribes-again"),
    warns(KeepsStaleLists, "drift/stale-at-once@stdio@2026-07-28", "expect.frames[0]"),
    warns(KeepsStaleLists, "drift/lifetime-over@streamable-http@2026-07-28", "steps[2].list.values[0]"),
    warns(KeepsStaleLists, "drift/lifetime-negative@stdio@2026-07-28", "steps[2].list.values[0]"),
    warns(KeepsStaleLists, "drift/lifetime-absent@stdio@2026-07-28", "steps[2].list.values[0]"),
    fails(AnswersUndeclared, "client-features/undeclared@stdio@2025-11-25", "features-are-declared"),
    fails(AnswersUndeclared, "client-features/undeclared@streamable-http@2025-06-18", "features-are-declared"),
    fails(AnswersUndeclared, "client-features/undeclared-url@stdio@2025-11-25", "undeclared-mode-rejected"),
    fails(AnswersUndeclared, "client-features/undeclared-sampling-tools@stdio@2025-11-25", "sampling-tools-rejected"),
    fails(RefusesFormsWithMode, "client-features/form-with-mode@stdio@2025-11-25", "steps[0].call.text"),
    fails(RefusesFormsWithMode, "client-features/form-with-mode@streamable-http@2026-07-28", "steps[0].call"),
    // Tasks.
    fails(TakesTasksForResults, "tasks/awaited@stdio@2026-07-28", "steps[0].call.text"),
    fails(TakesTasksForResults, "tasks/awaited@streamable-http@2026-07-28", "expect.frames[0]"),
    warns(AsksAboutTasksAllTheTime, "tasks/polled-as-asked@stdio@2026-07-28", "expect.frames[0]"),
    warns(LeavesTasksWaiting, "tasks/asks-meanwhile@streamable-http@2026-07-28", "steps[0].call"),
    fails(LeavesTasksRunning, "tasks/cancelled@stdio@2026-07-28", "expect.frames[0]"),
    fails(LeavesTasksRunning, "tasks/cancelled@streamable-http@2026-07-28", "expect.frames[0]"),
    fails(HidesFailedTasks, "tasks/failed@streamable-http@2026-07-28", "steps[0].call"),
    // Pagination.
    fails(FollowsForEver, "pagination/repeated-cursor@stdio@2025-11-25", "steps[0].list"),
    fails(FollowsForEver, "pagination/cyclic-cursors@stdio@2026-07-28", "steps[0].list"),
    fails(FollowsForEver, "pagination/empty-cursor-forever@stdio@2026-07-28", "steps[0].list"),
    fails(FollowsForEver, "pagination/page-limit@streamable-http@2025-11-25", "steps[0].list"),
    fails(FollowsForEver, "pagination/endless-cursors@streamable-http@2025-11-25", "steps[0].list"),
    fails(FirstPageOnly, "pagination/exact-multiple@stdio@2025-11-25", "all-pages-read"),
    fails(FirstPageOnly, "pagination/exact-multiple@streamable-http@2026-07-28", "steps[0].list.values[0]"),
    fails(ChangesCursors, "pagination/odd-characters-in-cursor@stdio@2025-11-25", "cursors-are-echoed"),
    fails(ChangesCursors, "pagination/odd-characters-in-cursor@streamable-http@2026-07-28", "expect.frames[0]"),
    fails(HidesErrorOnPageTwo, "pagination/error-on-page-two@stdio@2025-11-25", "steps[0].list"),
    fails(HidesErrorOnPageTwo, "pagination/cursor-expired@streamable-http@2026-07-28", "steps[0].list"),
    fails(StopsAtEmptyPage, "pagination/empty-page-in-between@stdio@2025-11-25", "steps[0].list.values[0]"),
    fails(BadToolDropsList, "pagination/bad-tool-costs-itself@streamable-http@2025-11-25", "steps[0].list"),
    fails(SecondRequestAfterEnd, "pagination/one-page@stdio@2024-11-05", "expect.frames[0]"),
    fails(SecondRequestAfterEnd, "pagination/null-cursor@streamable-http@2026-07-28", "expect.frames[0]"),
    // Names.
    fails(Flattens, "names/flattened-separator@stdio@2025-11-25", "steps[0].list.values[1]"),
    fails(Flattens, "names/underscores-at-the-seam@stdio@2025-11-25", "steps[0].list.values[1]"),
    fails(Flattens, "names/characters-that-become-one@stdio@2026-07-28", "steps[0].list.values[1]"),
    fails(NoSanitising, "names/illegal-characters@stdio@2025-11-25", "steps[0].list.values[0]"),
    fails(NoSanitising, "names/illegal-server-name@stdio@2025-11-25", "steps[0].list.values[0]"),
    fails(NoSanitising, "names/unicode@streamable-http@2026-07-28", "steps[0].list.values[2]"),
    fails(NoLengthLimit, "names/too-long@stdio@2025-11-25", "steps[0].list.values[1]"),
    fails(NoLengthLimit, "names/exactly-at-the-limit@stdio@2025-11-25", "steps[0].list.values[1]"),
    fails(NoLengthLimit, "names/beyond-128@stdio@2025-11-25", "steps[0].list.values[0]"),
    fails(LastOneWins, "names/characters-that-become-one@stdio@2025-11-25", "steps[0].list.values[0]"),
    fails(RenumbersOnJoin, "names/stable-when-others-join@stdio@2025-11-25", "steps[4].list.values[2]"),
    fails(RenumbersOnJoin, "names/same-tool-on-two-servers@streamable-http@2025-11-25", "steps[0].list.values[0]"),
    fails(ResolvesBySplitting, "names/unknown-name@stdio@2025-11-25", "expect.frames[0]"),
    // Drift.
    fails(SendsStaleCall, "drift/tool-removed@stdio@2025-11-25", "stale-call-not-sent"),
    fails(SendsStaleCall, "drift/required-argument-added@streamable-http@2025-11-25", "steps[5].call"),
    fails(SendsStaleCall, "drift/between-restarts@stdio@2026-07-28", "expect.frames[0]"),
    fails(IgnoresListChanged, "drift/tool-added@stdio@2025-11-25", "steps[2].await"),
    fails(IgnoresListChanged, "drift/tool-added@streamable-http@2025-11-25", "steps[2].await"),
    fails(IgnoresListChanged, "drift/tool-added@stdio@2026-07-28", "steps[2].await"),
    fails(IgnoresListChanged, "drift/tool-added@streamable-http@2026-07-28", "steps[2].await"),
    fails(CallsEverythingCompatible, "drift/required-argument-added@stdio@2025-11-25", "steps[4].refresh.values[0]"),
    fails(CallsEverythingCompatible, "drift/type-changed@stdio@2026-07-28", "steps[3].refresh.values[0]"),
    fails(CallsEverythingCompatible, "drift/read-only-no-more@stdio@2025-11-25", "steps[3].refresh.values[0]"),
    fails(FailedRefreshDropsList, "drift/failed-refresh-keeps-the-list@stdio@2025-11-25", "steps[3].call"),
    // Timeouts.
    warns(NoTimeout, "timeouts/call-times-out@stdio@2025-11-25", "steps[0].call"),
    warns(NoTimeout, "timeouts/call-times-out@stdio@2025-11-25", "subject-takes-part"),
    warns(NoTimeout, "timeouts/silent-list@streamable-http@2026-07-28", "steps[0].list"),
    warns(NoCeiling, "timeouts/ceiling-in-spite-of-progress@stdio@2025-11-25", "steps[0].call"),
    fails(WaitsForDeadServer, "timeouts/exit-in-mid-call@stdio@2025-11-25", "steps[0].call"),
    fails(WaitsForDeadServer, "timeouts/stdout-closed-in-mid-call@stdio@2026-07-28", "steps[0].call"),
    warns(NoCancel, "timeouts/call-times-out@stdio@2025-11-25", "timeout-sends-cancel"),
    warns(NoCancel, "timeouts/call-times-out@stdio@2026-07-28", "timeout-sends-cancel"),
    warns(NoCancel, "timeouts/call-times-out@streamable-http@2025-11-25", "timeout-sends-cancel"),
    warns(NoCancel, "timeouts/cancel-on-request@stdio@2025-11-25", "timeout-sends-cancel"),
    fails(IgnoresProgress, "timeouts/progress-resets-the-clock@stdio@2025-11-25", "steps[0].call"),
    fails(IgnoresProgress, "timeouts/progress-then-silence@streamable-http@2026-07-28", "steps[0].call.not_before"),
    fails(OneCallAtATime, "timeouts/stuck-tool-leaves-others-usable@stdio@2025-11-25", "steps[1].call.within"),
    fails(
        OneCallAtATime,
        "timeouts/stuck-tool-leaves-others-usable@streamable-http@2026-07-28",
        "steps[1].call.within",
    ),
    fails(ConnectsOneByOne, "timeouts/one-of-two-servers-hangs@stdio@2025-11-25", "steps[0].connect.within"),
    fails(TakesLateReply, "timeouts/late-reply-ignored@stdio@2025-11-25", "steps[2].call.text"),
    // Processes.
    fails(LeavesServer, "orphans/ignores-closed-input@stdio@2025-11-25", "no-process-left"),
    warns(DisconnectsLate, "orphans/normal-close@stdio@2025-11-25", "expect.processes.gone_after_disconnect"),
    fails(KillsOnlyDirectChild, "orphans/grandchild@stdio@2025-11-25", "no-process-left"),
    fails(KillsOnlyDirectChild, "orphans/server-killed-in-mid-call@stdio@2026-07-28", "no-process-left"),
    fails(LeavesFailedStart, "orphans/refused-start@stdio@2025-11-25", "no-process-left"),
    warns(KillsWithoutClosingInput, "orphans/normal-close@stdio@2025-11-25", "closes-before-killing"),
    unsupported(KillsOnlyTheGroup, "orphans/grandchild-in-another-session@stdio@2025-11-25", "no-process-left"),
    unsupported(KillsOnlyTheGroup, "orphans/server-exits-grandchild-stays@stdio@2025-11-25", "no-process-left"),
    unsupported(NoParentDeath, "orphans/client-killed-stubborn-server@stdio@2025-11-25", "no-process-left"),
    unsupported(NoParentDeath, "orphans/client-killed-in-mid-call@stdio@2026-07-28", "no-process-left"),
];

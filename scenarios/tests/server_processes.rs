//! Whole cases against small servers written as shell scripts: real processes, real pipes.

use std::{future::Future, num::NonZeroUsize, process::ExitCode, sync::Arc, time::Duration};

use libtest_mimic::{Arguments, Trial};
use mcp_workbench_scenarios::{
    self as scenarios, Evidence, Scenario,
    catalog::ScenarioCatalog,
    evidence::{Outcome, ProcessEvidence},
    judge::judge,
    load,
    model::{Revision, Transport},
    peer::{PeerError, ProbeResult, ServerCommand, ServerIdentity, ServerTarget, VainWork},
    run::{
        FinishedRun, RunDirectory, RunError, RunPlan, ToolPolicy, ValidatePlan,
        server_case::{Timeouts, applies, run_server_cases},
    },
};
use reports::model::{PassPolicy, Run, Verdict};
use scenarios::select::CheckSelection;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Answers `initialize` and `ping`, and everything else with -32601, as long as there is input.
const GOOD: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|-\{0,1\}[0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}\n' "$id" ;;
    *'"method":"ping"'*) printf '{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
    *'"method":"notifications/'*) ;;
    *) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
"#;

fn main() -> ExitCode {
    if let Some(code) = client::process::supervisor::main_if_requested() {
        return code;
    }
    let tests = vec![
        trial(
            "finds_out_what_a_server_speaks_and_skips_what_it_does_not_declare",
            finds_out_what_a_server_speaks_and_skips_what_it_does_not_declare,
        ),
        trial("a_program_that_is_no_server_is_no_verdict", a_program_that_is_no_server_is_no_verdict),
        trial(
            "a_server_that_cannot_complete_the_handshake_gets_verdicts",
            a_server_that_cannot_complete_the_handshake_gets_verdicts,
        ),
        trial("an_answer_is_found_by_its_id_among_other_messages", an_answer_is_found_by_its_id_among_other_messages),
        trial("a_step_without_anything_to_take_it_with_is_skipped", a_step_without_anything_to_take_it_with_is_skipped),
        trial("a_silent_server_costs_its_own_time_and_no_more", a_silent_server_costs_its_own_time_and_no_more),
        trial("an_error_without_an_id_ends_the_wait", an_error_without_an_id_ends_the_wait),
        trial("a_server_without_a_handshake_may_start_slowly", a_server_without_a_handshake_may_start_slowly),
        trial("a_server_that_works_has_more_time", a_server_that_works_has_more_time),
        trial(
            "a_scenario_continues_the_session_of_another_one_that_declared_the_same",
            a_scenario_continues_the_session_of_another_one_that_declared_the_same,
        ),
        trial(
            "what_fails_only_in_the_process_of_another_scenario_passes",
            what_fails_only_in_the_process_of_another_scenario_passes,
        ),
        trial("a_banner_on_standard_output_is_recorded_and_judged", a_banner_on_standard_output_is_recorded_and_judged),
        trial(
            "a_process_that_outlives_its_server_is_named_and_killed",
            a_process_that_outlives_its_server_is_named_and_killed,
        ),
        trial(
            "a_server_that_ignores_the_end_of_its_input_is_ended_soon",
            a_server_that_ignores_the_end_of_its_input_is_ended_soon,
        ),
        trial("a_server_behind_a_shell_is_ended_as_soon", a_server_behind_a_shell_is_ended_as_soon),
        trial(
            "a_server_is_started_again_to_see_its_exit_if_it_may_work_on_a_cancelled_call",
            a_server_is_started_again_to_see_its_exit_if_it_may_work_on_a_cancelled_call,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// A test that runs in a runtime of its own; a failed assertion is its failure.
fn trial<F: Future<Output = ()> + 'static>(name: &str, test: fn() -> F) -> Trial {
    Trial::test(name, move || {
        tokio::runtime::Runtime::new()?.block_on(test());
        Ok(())
    })
}

const STARTUP: Duration = Duration::from_secs(20);

fn server(script: &str) -> ServerTarget {
    let args = vec!["-c".to_owned(), script.to_owned()];
    ServerTarget::Command(ServerCommand { program: "sh".to_owned(), args, ..ServerCommand::default() })
}

fn scenario(text: &str) -> Scenario {
    let head = "scenario: server/test\ntitle: a test\nsubject: server\nrequirement: messages/every-request-answered\n";
    load::from_str(&format!("{head}{text}"), "test.yaml").expect("a scenario")
}

/// What discovery finds out about [`GOOD`].
fn facts() -> ProbeResult {
    let capabilities = json!({ "tools": {} }).as_object().cloned().unwrap_or_default();
    let identity = ServerIdentity { server_info: json!({ "name": "sh", "version": "1" }), capabilities };
    ProbeResult {
        transport: Transport::Stdio,
        identities: [(Revision::V2025_11_25, identity)].into(),
        restricted: false,
        has_handshake: None,
        answered_otherwise: [].into(),
        notes: Vec::new(),
        startup: Duration::ZERO,
        vain_work: VainWork::default(),
    }
}

async fn run(script: &str, scenario: &Scenario) -> (Evidence, ProbeResult) {
    let evidence = run_all(&server(script), std::slice::from_ref(scenario), Revision::V2025_11_25).await.remove(0);
    (evidence, facts())
}

async fn run_all(server: &ServerTarget, scenarios: &[Scenario], revision: Revision) -> Vec<Evidence> {
    let timeouts = Timeouts { startup: STARTUP, leniency: 1 };
    let policy = ToolPolicy::default();
    let scenarios: Vec<Arc<Scenario>> = scenarios.iter().cloned().map(Arc::new).collect();
    run_server_cases(server, &scenarios, &facts(), revision, timeouts, &policy).await
}

/// Validates a server with the built-in scenarios.
async fn validate(target: ServerTarget, startup: Duration) -> Result<Run, RunError> {
    validate_with(target, startup, ScenarioCatalog::built_in().expect("the catalog").scenarios().collect()).await
}

async fn validate_with(
    target: ServerTarget,
    startup: Duration,
    scenarios: Vec<Arc<Scenario>>,
) -> Result<Run, RunError> {
    let plan = ValidatePlan {
        target,
        subject: "sh".to_owned(),
        scenarios,
        selection: CheckSelection::default(),
        baseline: None,
        seed: 1,
        revisions: Vec::new(),
        transport: None,
        startup,
        jobs: NonZeroUsize::MIN,
        policy: PassPolicy::default(),
        call_tools: ToolPolicy::default(),
        portability: None,
    };
    let directory = tempfile::tempdir().expect("a directory");
    let directory = RunDirectory::Exact(directory.path().to_owned());
    let finished =
        scenarios::run::run(RunPlan::Validate(Box::new(plan)), &directory, &mut |_| {}, CancellationToken::new()).await;
    finished.map(|FinishedRun { run, .. }| run)
}

fn verdict(scenario: &Scenario, evidence: &Evidence, id: &str) -> String {
    let result = judge("test", scenario, evidence);
    let judgement = result.checks.iter().find(|judgement| judgement.id == id);
    judgement.map_or_else(|| "absent".to_owned(), |judgement| format!("{:?}", judgement.verdict))
}

async fn finds_out_what_a_server_speaks_and_skips_what_it_does_not_declare() {
    let run = validate(server(GOOD), STARTUP).await.expect("a server");
    assert!(run.cases.iter().all(|case| case.revision == "2025-11-25"), "{:?}", run.cases);
    assert!(run.cases.iter().any(|case| case.verdict == Verdict::Passed), "{:?}", run.cases);
    let facts = facts();
    let tools = scenario("needs: tools\nsteps: [{ request: { method: ping } }]\n");
    let prompts = scenario("needs: prompts\nsteps: [{ request: { method: ping } }]\n");
    assert_eq!(applies(&tools, &facts, Revision::V2025_11_25), Ok(()));
    assert_eq!(
        applies(&prompts, &facts, Revision::V2025_11_25),
        Err("the server does not declare `prompts`".to_owned())
    );
}

async fn a_program_that_is_no_server_is_no_verdict() {
    let error = validate(server("echo why >&2"), STARTUP).await.expect_err("no server");
    assert!(
        matches!(&error, RunError::Peer(PeerError::Silent(server)) if server.stderr == "why\n" && server.exit.as_deref() == Some("exited with code 0")),
        "{error:?}"
    );
    let command = ServerCommand { program: "/nonexistent/server".to_owned(), ..ServerCommand::default() };
    let error = validate(ServerTarget::Command(command), STARTUP).await.expect_err("no program");
    assert!(matches!(error, RunError::Peer(PeerError::Start { .. })), "{error:?}");
}

async fn a_server_that_cannot_complete_the_handshake_gets_verdicts() {
    let text = validate(server("echo 'Server ready'; cat >/dev/null"), Duration::from_secs(1)).await.expect("verdicts");
    let broken = GOOD.replace(r#"*'"method":"initialize"'*) printf '{"#, r#"*'"method":"initialize"'*) printf '[{"#);
    let broken = validate(server(&broken), Duration::from_secs(1)).await.expect("verdicts");
    for run in [text, broken] {
        assert!(!run.passed());
        let case = &run.cases[0];
        assert_eq!((case.scenario.as_str(), case.verdict), ("server/handshake", Verdict::Failed), "{case:?}");
        assert!(!case.frames.is_empty(), "{case:?}");
    }
}

async fn an_answer_is_found_by_its_id_among_other_messages() {
    let steps = "steps:\n  - request: { method: ping, id: '7', times: 3 }\n  - request: { method: x, either: true }\n  - request: { method: y }\n";
    let scenario = scenario(steps);
    let (evidence, _) = run(GOOD, &scenario).await;
    let outcomes: Vec<&Outcome> = evidence.steps.iter().map(|step| &step.outcome).collect();
    assert!(
        matches!(outcomes[1], Outcome::Value(value) if value["answers"].as_array().is_some_and(|all| all.len() == 3))
    );
    assert!(matches!(outcomes[2], Outcome::Value(value) if value["error"]["code"] == -32601), "{outcomes:?}");
    assert!(matches!(outcomes[3], Outcome::Error(error) if error.code == Some(-32601)), "{outcomes:?}");
}

async fn a_step_without_anything_to_take_it_with_is_skipped() {
    let steps = "steps:\n  - request: { method: ping }\n  - request: { method: x, params: { uri: '{{$.steps[0].items[0]}}' } }\n";
    let (evidence, _) = run(GOOD, &scenario(steps)).await;
    assert!(matches!(&evidence.steps[2].outcome, Outcome::Skipped(why) if why.contains("has no value at")));
}

async fn a_silent_server_costs_its_own_time_and_no_more() {
    let silent = GOOD.replace(r#"*'"method":"ping"'*) printf"#, r#"*'"method":"ping"'*) true"#);
    let (evidence, _) = run(&silent, &scenario("limit: 300ms\nsteps:\n  - request: { method: ping }\n")).await;
    assert!(evidence.timed_out);
    assert!(matches!(&evidence.steps[1].outcome, Outcome::Error(error) if error.kind == "timed-out"));
}

async fn an_error_without_an_id_ends_the_wait() {
    let nameless = GOOD.replace(r#""id":%s,"error""#, r#""id":null,"error""#);
    let steps = "limit: 90s\nsteps:\n  - request: { method: a, within: 60s, expect: { either: true } }\n  - request: { method: ping }\n";
    let (evidence, _) = run(&nameless, &scenario(steps)).await;
    assert!(matches!(&evidence.steps[1].outcome, Outcome::Error(error) if error.kind == "timed-out"));
    assert!(matches!(&evidence.steps[2].outcome, Outcome::Value(_)), "{:?}", evidence.steps);
    assert!(evidence.elapsed_us < 30_000_000, "{} us", evidence.elapsed_us);
}

/// The tool is done when a file exists. Until then its server works, or waits in another process.
async fn a_server_that_works_has_more_time() {
    let case =
        scenario("limit: 3s\nsteps: [{ request: { method: tools/call, params: { name: build }, within: 2s } }]\n");
    let run = async |work: &str, spent: Duration| {
        let directory = tempfile::tempdir().expect("a directory");
        let done = directory.path().join("done");
        let call = format!("*tools/call*) {}; printf", work.replace("DONE", &done.display().to_string()));
        let text = r#"'{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n' "$id" ;;"#;
        let script = GOOD.replace("*'\"method\":\"ping\"'*)", &format!("{call} {text} *'\"method\":\"ping\"'*)"));
        let facts = facts();
        facts.vain_work.add(spent);
        let (timeouts, policy) = (Timeouts { startup: STARTUP, leniency: 1 }, ToolPolicy::default());
        let (server, cases) = (server(&script), [Arc::new(case.clone())]);
        let finishing = async {
            tokio::time::sleep(Duration::from_millis(3_500)).await;
            std::fs::write(&done, "").expect("a file");
        };
        let running = run_server_cases(&server, &cases, &facts, Revision::V2025_11_25, timeouts, &policy);
        let (evidence, ()) = tokio::join!(running, finishing);
        evidence[0].steps[1].outcome.clone()
    };
    let works = "while ! [ -e DONE ]; do :; done";
    let (done, idle, spent) = tokio::join!(
        run(works, Duration::ZERO),
        run("tail -f /dev/null & wait $!", Duration::ZERO),
        run(works, Duration::from_secs(60)),
    );
    assert!(matches!(&done, Outcome::Value(_)), "{done:?}");
    for late in [idle, spent] {
        assert!(matches!(&late, Outcome::Error(error) if error.kind == "timed-out"), "{late:?}");
    }
}

async fn a_server_without_a_handshake_may_start_slowly() {
    let scenario = scenario("revisions: [\"2026-07-28\"]\nlimit: 2s\nsteps:\n  - request: { method: ping }\n");
    let slow = server(&format!("sleep 3\n{GOOD}"));
    let evidence = run_all(&slow, &[scenario], Revision::V2026_07_28).await.remove(0);
    assert!(matches!(evidence.steps[1].outcome, Outcome::Value(_)), "{:?}", evidence.steps);
}

/// A scenario with a handshake of its own.
fn negotiation(capabilities: &str) -> Scenario {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":"negotiate","method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"a","version":"1"}}}}}}"#
    );
    scenario(&format!("steps:\n  - raw: {{ text: '{text}' }}\n"))
}

async fn what_fails_only_in_the_process_of_another_scenario_passes() {
    // It rejects a `ping` after the handshake of the first scenario.
    let reject = r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"confused"}}\n' "$id"; continue"#;
    let confused = GOOD.replace(
        "case \"$line\" in",
        &format!("case \"$broken$line\" in *negotiate*) broken=1 ;; 1*ping*) {reject} ;; esac\n  case \"$line\" in"),
    );
    let later = "capabilities: { elicitation: {} }\ncontinues: server/test\nsteps:\n  - request: { method: ping }\n";
    let later = Scenario { scenario: "server/later".to_owned(), ..scenario(later) };
    let scenarios = vec![Arc::new(negotiation(r#"{"elicitation":{}}"#)), Arc::new(later)];
    let verdict_of_ping = async |script: &str| {
        let run = validate_with(server(script), STARTUP, scenarios.clone()).await.expect("a server");
        let checks = run.cases.into_iter().filter(|case| case.scenario == "server/later").flat_map(|case| case.checks);
        checks.filter(|check| check.id == "steps[0].request").map(|check| check.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdict_of_ping(&confused).await, [Verdict::Passed]);
    let always = confused.replace("1*ping*)", "*ping*)");
    assert_eq!(verdict_of_ping(&always).await, [Verdict::Failed]);
}

async fn a_scenario_continues_the_session_of_another_one_that_declared_the_same() {
    let later = "capabilities: { elicitation: {} }\nsteps:\n  - request: { method: ping }\n";
    for (capabilities, is_shared) in [(r#"{"elicitation":{}}"#, true), ("{}", false)] {
        let evidence =
            run_all(&server(GOOD), &[negotiation(capabilities), scenario(later)], Revision::V2025_11_25).await;
        let [first, second] = &evidence[..] else { panic!("two scenarios") };
        assert_eq!(first.process.is_none(), is_shared, "the process belongs to the last scenario");
        assert!(second.process.is_some());
        let sent = second.frames.iter().filter(|frame| frame.from_client());
        let methods: Vec<&str> = sent.filter_map(|frame| frame.json()?.get("method")?.as_str()).collect();
        assert_eq!(methods, ["initialize", "notifications/initialized", "ping"]);
    }
    let exits = server("read -r line\nexit 1\n");
    let evidence =
        run_all(&exits, &[negotiation(r#"{"elicitation":{}}"#), scenario(later)], Revision::V2025_11_25).await;
    assert!(evidence[1].broken.is_some(), "after a failure it runs on its own");
}

async fn a_banner_on_standard_output_is_recorded_and_judged() {
    let scenario = scenario("steps:\n  - request: { method: ping }\n");
    let (good, _) = run(GOOD, &scenario).await;
    let (bad, _) = run(&format!("echo Listening\n{GOOD}"), &scenario).await;
    assert_eq!(verdict(&scenario, &good, "stdout-holds-only-messages"), "Passed");
    assert_eq!(verdict(&scenario, &bad, "stdout-holds-only-messages"), "Failed");
}

async fn a_process_that_outlives_its_server_is_named_and_killed() {
    let scenario = scenario("steps:\n  - request: { method: ping }\n");
    let (evidence, _) = run(&format!("sleep 61 <&- >&- 2>&- &\n{GOOD}"), &scenario).await;
    let process = evidence.process.expect("a process");
    assert_eq!(process.signal, None, "it ended by itself");
    assert!(process.left.iter().any(|left| left.command == "sleep 61"), "{:?}", process.left);
    let left = process.left[0].pid;
    assert!(!std::path::Path::new(&format!("/proc/{left}/fd/0")).exists(), "it was killed");
}

async fn a_server_that_ignores_the_end_of_its_input_is_ended_soon() {
    let stubborn = format!("trap '' TERM\n{GOOD}\nwhile :; do sleep 1; done");
    let process = ended_soon(&stubborn).await;
    assert_eq!(process.and_then(|process| process.signal), Some(9));
}

/// A wrapper such as `npx` waits for the server, and only a signal to both ends them.
async fn a_server_behind_a_shell_is_ended_as_soon() {
    let process = ended_soon(&format!("( {GOOD}\nsleep 62 )\ntrue")).await;
    let left = process.map(|process| process.left).unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
}

/// What became of the process of a server, which must end within two seconds of the last step.
async fn ended_soon(script: &str) -> Option<ProcessEvidence> {
    let scenario = scenario("steps:\n  - request: { method: ping }\n");
    let (evidence, _) = run(script, &scenario).await;
    let last = evidence.steps.last().map_or(0, |step| step.ended_us);
    assert!(evidence.elapsed_us - last < 2_000_000, "it took {} us", evidence.elapsed_us - last);
    evidence.process
}

/// It may still work on the call, so its late exit says nothing. A later call that has a response shows that it does not.
async fn a_server_is_started_again_to_see_its_exit_if_it_may_work_on_a_cancelled_call() {
    let listed = "session: shared\nsteps:\n  - pages: { method: tools/list, items: tools }\n  - call-tools: ";
    let cancelled = format!("{listed}{{ tools: '$.steps[0].items', cancel: true }}\n");
    let called = format!("{cancelled}  - call-tools: {{ tools: '$.steps[0].items' }}\n");
    let end = "session: shared\nchecks: [exits-when-input-closes]\nsteps:\n  - close: {}\n";
    let named = |name: &str, text: &str| Arc::new(Scenario { scenario: name.to_owned(), ..scenario(text) });
    let starts_with = async |work: &str, at_end: &str| {
        let directory = tempfile::tempdir().expect("a directory");
        let starts = directory.path().join("starts");
        let tool = r#"{"name":"work","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
        let list = format!(r#"printf '{{"jsonrpc":"2.0","id":%s,"result":{{"tools":[{tool}]}}}}\n' "$id" ;;"#);
        let call = r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n' "$id" ;;"#;
        let ping = "*'\"method\":\"ping\"'*)";
        let cases = format!("*tools/list*) {list}\n *workbench-call*) is_busy=1 ;;\n *tools/call*) {call}\n {ping}");
        let script = GOOD.replacen(ping, &cases, 1);
        let script = format!("echo start >>{}\n{script}\n{at_end}", starts.display());
        let scenarios = vec![named("server/end", end), named("server/work", work)];
        let run = validate_with(server(&script), STARTUP, scenarios).await.expect("a server");
        let mut checks = run.cases.iter().flat_map(|case| &case.checks);
        let exits = checks.find(|check| check.id == "exits-when-input-closes").expect("the check");
        let starts = std::fs::read_to_string(&starts).expect("the server has started").lines().count();
        (exits.verdict, starts)
    };
    let (verdict, starts) = starts_with(&called, "").await;
    assert_eq!(verdict, Verdict::Passed);
    assert_eq!(starts_with(&cancelled, "[ -z \"$is_busy\" ] || sleep 100").await, (Verdict::Passed, starts + 1));
}

//! Whole cases against small servers written as shell scripts: real processes, real pipes.

use std::{future::Future, process::ExitCode, time::Duration};

use libtest_mimic::{Arguments, Trial};
use mcp_workbench_scenarios::{
    Evidence, Scenario,
    evidence::Outcome,
    judge::judge,
    load,
    model::Revision,
    peer::{PeerError, ProbeResult, ServerCommand, ServerTarget, probe},
    run::server_case::{applies, run_server_case},
};

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
        trial("an_answer_is_found_by_its_id_among_other_messages", an_answer_is_found_by_its_id_among_other_messages),
        trial("a_step_without_anything_to_take_it_with_is_skipped", a_step_without_anything_to_take_it_with_is_skipped),
        trial("a_silent_server_costs_its_own_time_and_no_more", a_silent_server_costs_its_own_time_and_no_more),
        trial("a_banner_on_standard_output_is_recorded_and_judged", a_banner_on_standard_output_is_recorded_and_judged),
        trial(
            "a_process_that_outlives_its_server_is_named_and_killed",
            a_process_that_outlives_its_server_is_named_and_killed,
        ),
        trial(
            "a_server_that_ignores_the_end_of_its_input_is_ended_soon",
            a_server_that_ignores_the_end_of_its_input_is_ended_soon,
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

async fn run(script: &str, scenario: &Scenario) -> (Evidence, ProbeResult) {
    let facts = probe(&server(GOOD), STARTUP).await.expect("a server");
    let evidence = run_server_case(&server(script), scenario, &facts, Revision::V2025_11_25, STARTUP).await;
    (evidence, facts)
}

fn verdict(scenario: &Scenario, evidence: &Evidence, id: &str) -> String {
    let result = judge("test", scenario, evidence);
    let judgement = result.checks.iter().find(|judgement| judgement.id == id);
    judgement.map_or_else(|| "absent".to_owned(), |judgement| format!("{:?}", judgement.verdict))
}

async fn finds_out_what_a_server_speaks_and_skips_what_it_does_not_declare() {
    let facts = probe(&server(GOOD), STARTUP).await.expect("a server");
    assert_eq!(facts.revisions().collect::<Vec<_>>(), [Revision::V2025_11_25]);
    let tools = scenario("needs: tools\nsteps: [{ request: { method: ping } }]\n");
    let prompts = scenario("needs: prompts\nsteps: [{ request: { method: ping } }]\n");
    assert_eq!(applies(&tools, &facts, Revision::V2025_11_25), Ok(()));
    assert_eq!(
        applies(&prompts, &facts, Revision::V2025_11_25),
        Err("the server does not declare `prompts`".to_owned())
    );
}

async fn a_program_that_is_no_server_is_no_verdict() {
    let error = probe(&server("echo no; echo why >&2"), STARTUP).await.expect_err("no server");
    assert!(
        matches!(&error, PeerError::Silent(server) if server.stderr == "why\n" && server.exit.as_deref() == Some("exited with code 0")),
        "{error:?}"
    );
    let command = ServerCommand { program: "/nonexistent/server".to_owned(), ..ServerCommand::default() };
    let error = probe(&ServerTarget::Command(command), STARTUP).await.expect_err("no program");
    assert!(matches!(error, PeerError::Start { .. }), "{error:?}");
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
    let scenario = scenario("steps:\n  - request: { method: ping }\n");
    let (evidence, _) = run(&stubborn, &scenario).await;
    let last = evidence.steps.last().map_or(0, |step| step.ended_us);
    assert!(evidence.elapsed_us - last < 2_000_000, "it took {} us", evidence.elapsed_us - last);
    assert_eq!(evidence.process.and_then(|process| process.signal), Some(9));
}

use super::*;
use crate::sample;

fn rendered(run: &Run) -> String {
    Github.render(run, &Style::default()).unwrap()
}

/// Decodes a command as the runner does: severity, title and message.
fn decoded(line: &str) -> (String, String, String) {
    let (head, message) = line.strip_prefix("::").expect("a command").split_once("::").expect("data");
    let (command, title) = head.split_once(" title=").expect("a title");
    assert!(!title.contains(['\n', ':', ',']), "{title}");
    let decode = |text: &str| {
        let text = text.replace("%3A", ":").replace("%2C", ",").replace("%0D", "\r").replace("%0A", "\n");
        text.replace("%25", "%")
    };
    (command.to_owned(), decode(title), decode(message))
}

#[test]
fn hostile_text_cannot_start_a_command_or_a_property() {
    let mut case = sample::case("tools/one", Verdict::Failed);
    case.checks[0].id = "a,file=x::b%0A".to_owned();
    case.checks[0].observed = "100%\r\n::stop-commands::x\n##[add-mask]y".to_owned();
    let text = rendered(&sample::run(vec![case]));
    assert!(text.lines().all(|line| line.starts_with("::error title=") || line.starts_with("::notice title=")));
    let (command, title, message) = decoded(text.lines().next().unwrap());
    assert_eq!((command.as_str(), title.as_str()), ("error", "failed a,file=x::b%0A"));
    assert!(message.starts_with("observed: 100%\\r\\n::stop-commands::x\\n##[add-mask]y\nexpected: "), "{message}");
}

#[test]
fn ten_of_a_severity_are_shown_and_the_others_are_counted() {
    let case = |number: usize, verdict| {
        let mut case = sample::case(&format!("tools/{number}"), verdict);
        case.checks[0].id = format!("{}-{number}", verdict.as_str());
        case
    };
    let mut cases: Vec<_> = (0..10).map(|number| case(number, Verdict::Failed)).collect();
    cases.extend((0..13).map(|number| case(number, Verdict::Warned)));
    let text = rendered(&sample::run(cases));
    let lines: Vec<_> = text.lines().map(decoded).collect();
    let titles = |severity: &str| -> Vec<&str> {
        lines.iter().filter(|line| line.0 == severity).map(|line| line.1.as_str()).collect()
    };
    assert_eq!(titles("error").len(), 10);
    assert_eq!(titles("error")[9], "failed failed-9");
    assert_eq!(titles("warning").len(), 10);
    assert_eq!(titles("warning")[9], "4 more warnings");
    assert_eq!(titles("notice"), ["conformance failed"]);
}

#[test]
fn a_known_failure_is_a_notice() {
    let text = rendered(&sample::everything());
    let known = text.lines().map(decoded).find(|line| line.1.contains("refreshes-once")).unwrap();
    assert_eq!((known.0.as_str(), known.1.as_str()), ("notice", "failed refreshes-once (known failure)"));
}

#[test]
fn a_run_has_errors_exactly_if_it_failed() {
    assert!(!rendered(&sample::run(vec![sample::case("tools/one", Verdict::Warned)])).contains("::error"));
    let mut run = sample::run(vec![]);
    run.loads = vec![sample::load()];
    assert!(rendered(&run).starts_with("::error title=load test tools/call echo::threshold failed: errors < 1%25"));
    run.loads[0].thresholds.clear();
    assert!(!rendered(&run).contains("::error"));
}

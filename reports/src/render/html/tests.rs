//! The page of a run that uses everything, and of hostile servers. `cli/tests/browser` opens pages in a browser.

use super::*;
use crate::{
    model::{RunKind, ToolCalls, Verdict},
    sample,
};

/// Strings that would do harm in a page.
const HOSTILE: [&str; 8] = [
    "</script><script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<!--<script>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "user\u{202e}nimda\u{2066}",
    "a\u{0}b\u{2028}c\u{2029}",
    "{{ 7 * 7 }} ${7 * 7} {% include %}",
];

fn page(run: &Run) -> String {
    Html.render(run, &Style::default()).unwrap()
}

/// A run with this text in every place.
fn hostile(text: &str) -> Run {
    let mut run = sample::everything();
    let text = text.to_owned();
    (run.header.subject, run.header.run_id, run.header.started) = (text.clone(), text.clone(), text.clone());
    run.header.workbench.clone_from(&text);
    for case in &mut run.cases {
        (case.id, case.scenario, case.title) = (text.clone(), text.clone(), text.clone());
        (case.transport, case.revision, case.stderr) = (text.clone(), text.clone(), text.clone());
        for check in &mut case.checks {
            (check.id, check.expected, check.observed) = (text.clone(), text.clone(), text.clone());
            let requirement = &mut check.requirement;
            (requirement.id, requirement.text, requirement.url) = (text.clone(), text.clone(), text.clone());
            requirement.advice = Some(text.clone());
        }
        for frame in &mut case.frames {
            (frame.server, frame.http) = (text.clone(), Some(text.clone()));
            frame.headers = [(text.clone(), text.clone())].into();
            frame.body = (&serde_json::json!({ (&text): [&text] })).into();
        }
    }
    for load in &mut run.loads {
        (load.name, load.shape, load.transport) = (text.clone(), text.clone(), text.clone());
        load.errors = [(text.clone(), 3)].into();
        load.warnings = vec![text.clone()];
        load.thresholds[0].threshold.clone_from(&text);
    }
    run.tool_calls = vec![ToolCalls { tool: text.clone(), calls: 0, reason: Some(text) }];
    run
}

/// The number of these parts in a page without hostile text: text can add none.
fn count(shown: &str, part: &str) -> usize {
    shown.matches(part).count()
}

/// The page without the style and the script, which are constants.
fn without_source(shown: &str) -> String {
    shown.replace(STYLE, "").replace(SCRIPT, "")
}

#[test]
fn hostile_text_adds_no_markup() {
    let harmless = without_source(&page(&hostile("harmless")));
    for text in HOSTILE {
        for kind in [RunKind::Conformance, RunKind::Validate] {
            let mut run = hostile(text);
            run.header.kind = kind;
            let shown = without_source(&page(&run));
            for part in ["<script", "</script", "</style", "<img", "<!--", "<iframe", "href=\"javascript"] {
                assert!(count(&shown, part) <= count(&harmless, part), "{part} with {text:?}");
            }
            let is_unsafe = |c: char| c != '\n' && (c.is_control() || crate::render::text::is_unsafe(c));
            assert_eq!(shown.chars().find(|c| is_unsafe(*c)), None, "{text:?}");
        }
    }
}

#[test]
fn only_https_urls_become_links() {
    let mut run = sample::run(vec![sample::failed()]);
    assert!(page(&run).contains("href=\"https://modelcontextprotocol.io/"));
    for check in &mut run.cases[0].checks {
        check.requirement.url = "javascript:alert(1)".to_owned();
    }
    let shown = page(&run);
    assert!(!without_source(&shown).contains("Specification</a>"));
    assert!(shown.contains("\"link\":null"));
}

#[test]
fn the_policy_allows_the_style_and_the_script_of_the_page_and_nothing_else() {
    let shown = page(&sample::everything());
    let inline = |tag: &str, end: &str| {
        let start = shown.rfind(tag).unwrap() + tag.len();
        let text = &shown[start..start + shown[start..].find(end).unwrap()];
        source_hash(text)
    };
    let policy = format!(
        "content=\"default-src 'none'; script-src {}; style-src {}; base-uri 'none'",
        inline("<script>", "</script>"),
        inline("<style>", "</style>")
    );
    assert!(shown.contains(&policy), "{policy}");
    // Attributes would need other sources.
    assert!(!without_source(&shown).contains(" style=") && !without_source(&shown).contains(" onclick="));
}

#[test]
fn the_page_loads_nothing() {
    let shown = without_source(&page(&sample::everything()));
    for attribute in [" src=", "@import", "url(", "<link", "<base", "<iframe", "<object"] {
        assert!(!shown.contains(attribute), "{attribute}");
    }
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    for call in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "import("] {
        assert!(!SCRIPT.contains(call), "{call}");
    }
}

#[test]
fn the_summary_does_not_need_the_script() {
    let shown = page(&sample::everything());
    let statics = &shown[..shown.find("<script type").unwrap()];
    for text in [
        "built-in client",
        ">Failed<",
        "the run was interrupted: 7 of 8 planned cases finished",
        "2026-07-28 10:11:12 UTC",
        "timeout-sends-cancel",
        "no cancellation; the connection was closed after 3.2 s",
        "auth/refresh-once@stdio@2025-11-25",
        "Latency by percentile",
        "tools, stdio 2025-11-25, 1/3: 1 failed, 1 warned, 1 passed",
    ] {
        assert!(statics.contains(text), "{text}");
    }
}

#[test]
fn findings_come_first_and_failures_before_warnings() {
    let shown = page(&sample::everything());
    let position = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}"));
    let order =
        ["id=\"findings-0\"", "finding failed", "finding blocked", "finding warned", "id=\"matrix-0\"", "id=\"cases\""];
    assert!(order.windows(2).all(|pair| position(pair[0]) < position(pair[1])));
}

#[test]
fn several_runs_share_a_page() {
    let mut second = sample::run(vec![sample::case("tools/one", Verdict::Passed)]);
    second.header.subject = "other client".to_owned();
    let runs = [sample::everything(), second];
    let shown = Html.render_combined(&runs, &Style::default()).unwrap().unwrap();
    assert!(shown.contains("<h1 id=\"subjects\">2 runs</h1>"));
    assert!(shown.contains("href=\"#cases?area=tools&#38;run=1\""));
    assert!(shown.contains("?run=0\""), "links to cases name their run");
    assert_eq!(count(&shown, "<h1"), 1);
}

#[test]
fn a_large_run_has_a_limited_static_part() {
    let cases = (0..2_000).map(|number| {
        let mut case = sample::case(&format!("area{number}/one"), Verdict::Failed);
        case.checks[0].id = format!("check-{number}");
        case
    });
    let shown = page(&sample::run(cases.collect()));
    assert_eq!(count(&shown, "<details class=\"finding"), 100);
    assert!(shown.contains("1900 more findings are in the list of cases."));
    assert!(shown.contains("1900 more areas are in the list of cases."));
    assert!(shown.find("<script type").unwrap() < 400_000);
}

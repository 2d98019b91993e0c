//! Every format with a run that uses every part of the model.

use unicode_width::UnicodeWidthStr;

use crate::model::{Run, Verdict};
use crate::render::{FORMATS, Format as _, Style, Verbosity, json::Json, markdown::Markdown, terminal::Terminal};
use crate::{sample, saved};

fn terminal(run: &Run, style: Style) -> String {
    Terminal.render(run, &style).unwrap()
}

fn with_verbosity(verbosity: Verbosity) -> String {
    terminal(&sample::everything(), Style { verbosity, ..Style::default() })
}

fn json(run: &Run) -> String {
    Json.render(run, &Style::default()).unwrap()
}

#[test]
fn each_format_renders_a_run_that_uses_everything() {
    for format in FORMATS {
        let rendered = format.render(&sample::everything(), &Style::default()).unwrap();
        insta::assert_snapshot!(format.name(), without_source(&rendered));
    }
}

#[test]
fn reports_for_readers_have_a_row_for_each_operation() {
    let mut run = sample::run(vec![]);
    run.loads = vec![sample::mix()];
    for (name, rows) in [
        (
            "terminal",
            ["  echo                        -        15.0        -   158  150       7           1", "  tools/list"],
        ),
        (
            "markdown",
            ["| · echo | | | 15.0 | 7 | 1.40 ms | 2.90 ms | 14.0 ms |", "| · tools/list | | | 4.0 | 0 | - | - | - |"],
        ),
        (
            "html",
            [
                "<td>echo</td><td>158</td><td>150</td><td>7</td><td>15.0/s</td><td>1.40 ms</td>",
                "<td>tools/list</td><td>40</td>",
            ],
        ),
    ] {
        let rendered = crate::render::format(name).unwrap().render(&run, &Style::default()).unwrap();
        for row in rows {
            assert!(rendered.contains(row), "{row}\n{rendered}");
        }
    }
}

/// A page without its style, its script and their hashes, which have tests of their own.
fn without_source(rendered: &str) -> String {
    let mut out = rendered.to_owned();
    for (start, end) in [("<style>", "</style>"), ("<script>", "</script>"), ("'sha256-", "'")] {
        let mut from = 0;
        while let Some(position) = out[from..].find(start) {
            let begin = from + position + start.len();
            let Some(length) = out[begin..].find(end) else { break };
            out.replace_range(begin..begin + length, "…");
            from = begin + "…".len() + end.len();
        }
    }
    out
}

#[test]
fn formats_have_unique_names_and_files() {
    for (position, format) in FORMATS.iter().enumerate() {
        let others = FORMATS.iter().skip(position + 1);
        assert!(others.clone().all(|other| other.name() != format.name() && other.file_name() != format.file_name()));
        assert!(crate::render::format(format.name()).is_some_and(|found| found.name() == format.name()));
    }
    assert!(crate::render::format("yaml").is_none());
}

#[test]
fn the_terminal_report_depends_on_verbosity() {
    insta::assert_snapshot!("terminal-quiet", with_verbosity(Verbosity::Quiet));
    insta::assert_snapshot!("terminal-verbose", with_verbosity(Verbosity::Verbose));
}

#[test]
fn colors_change_only_colors() {
    let colored = terminal(&sample::everything(), Style { color: true, ..Style::default() });
    assert!(colored.contains("\u{1b}[1m\u{1b}[31m"));
    assert!(!with_verbosity(Verbosity::Normal).contains('\u{1b}'));
    insta::assert_snapshot!("terminal-color", colored.replace('\u{1b}', "␛"));
}

#[test]
fn a_run_that_passed_ends_with_that_word() {
    let run = sample::run(vec![sample::case("tools/one", Verdict::Passed)]);
    insta::assert_snapshot!(terminal(&run, Style::default()), @r"
    conformance of built-in client
    1 passed; 1 planned, 2.3 s, seed 42
    PASSED
    ");
}

#[test]
fn text_of_a_case_is_not_wider_than_the_terminal() {
    // Ids and URLs are not wrapped, so that they can be copied.
    let wraps = |line: &str| line.starts_with(' ') && !line.contains("https://");
    for width in [60, 80, 120] {
        let mut case = sample::failed();
        case.frames[1].body = (&serde_json::Value::from("日本語 x ".repeat(100))).into();
        case.checks[0].observed = "many words ".repeat(50);
        case.stderr = "word ".repeat(100);
        let shown = terminal(&sample::run(vec![case]), Style { width, ..Style::default() });
        let wide = shown.lines().find(|line| line.width() > width && wraps(line));
        assert_eq!(wide, None, "at {width} columns");
    }
}

#[test]
fn tables_of_load_tests_fit_80_columns() {
    let mut run = sample::run(vec![]);
    let mut long = sample::load();
    long.name = "load/a-scenario-with-a-long-name@streamable-http@2026-07-28".to_owned();
    (long.offered, long.sent, long.succeeded) = (120_000, 119_000, 118_000);
    (long.offered_rate, long.achieved_rate) = (2_000.0, 1_966.7);
    run.loads = vec![sample::load(), long];
    let shown = terminal(&run, Style { width: 80, ..Style::default() });
    let tables: String = shown.split_inclusive('\n').take_while(|line| !line.starts_with("failed")).collect();
    assert_eq!(tables.lines().find(|line| line.width() > 80), None, "{tables}");
    // The names of load tests are not wrapped.
    let wide = shown.lines().find(|line| line.width() > 80 && line.starts_with(' '));
    assert!(shown.contains("warning: ") && wide.is_none(), "{wide:?}");
    insta::assert_snapshot!("tables-80", tables);
}

#[test]
fn a_long_body_is_truncated_with_a_note() {
    let mut case = sample::failed();
    case.frames[1].body = (&(0..1_000).collect::<serde_json::Value>()).into();
    let shown = terminal(&sample::run(vec![case]), Style::default());
    assert!(shown.contains("… [986 more lines]"), "{shown}");
}

#[test]
fn a_thousand_failures_are_listed_but_only_fifty_have_details() {
    let cases = (0..1_000).map(|number| sample::case(&format!("tools/{number}"), Verdict::Failed)).collect();
    let shown = terminal(&sample::run(cases), Style::default());
    assert_eq!(shown.matches("failed  tools/").count(), 1_000);
    assert_eq!(shown.matches("observed").count(), 50);
}

#[test]
fn markdown_escapes_all_markup() {
    let mut case = sample::case("tools/one", Verdict::Failed);
    case.id = "a`b|c".to_owned();
    case.checks[0].observed = "<img src=x> [l](http://x) | @all www.x.org\n# *b*".to_owned();
    case.checks[0].requirement.url = "javascript:alert(1)".to_owned();
    case.checks[0].id = "<b>`x`|@all".to_owned();
    let shown = Markdown.render(&sample::run(vec![case]), &Style::default()).unwrap();
    let folded: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("<details>")).collect();
    insta::assert_snapshot!(folded.join("\n"), @r"
    <details><summary><b>failed</b> <code>&lt;b&gt;`x`|@all</code> (1 case)</summary>

    - **MUST:** When a request times out, the sender issues a cancellation for it and stops waiting. (`lifecycle.timeouts.cancel`)
    - **expected:** a \`notifications/cancelled\` that names request 2 within 1 s of the timeout
    - **observed:** &lt;img src=x&gt; \[l\](http\://x) \| \@all www&#46;x.org\\n\# \*b\*
    - **affects:** `a'b\|c`

    </details>
    ");
}

#[test]
fn the_markdown_summary_fits_into_a_comment() {
    let case = |number: usize| {
        let mut case = sample::case(&format!("tools/{number}"), Verdict::Failed);
        case.checks[0].id = format!("check-{number}-{}", "[".repeat(100));
        case.checks[0].observed = "<".repeat(2_000);
        case
    };
    let shown = Markdown.render(&sample::run((0..1_000).map(case).collect()), &Style::default()).unwrap();
    assert!(shown.chars().count() <= 65_000, "{}", shown.chars().count());
    assert!(shown.ends_with("do not fit on this page; the JSON report has everything.\n"));
}

#[test]
fn a_saved_number_keeps_its_last_bit() {
    let mut run = sample::everything();
    for rate in [31.245270191439438, 1.0 / 3.0, 7.205_759_403_792_794e16, 5e-324] {
        run.loads[0].offered_rate = rate;
        assert_eq!(saved::read(&json(&run)).unwrap().loads[0].offered_rate.to_bits(), rate.to_bits());
    }
}

#[test]
fn distinguishes_a_newer_saved_run_from_a_damaged_one() {
    let text = json(&sample::everything());
    let newer = text.replacen("\"format\": 1", "\"format\": 7", 1);
    insta::assert_snapshot!(saved::read(&newer).unwrap_err(), @"the saved run has format 7, but this version of mcp-workbench reads format 1; use the version that wrote it");
    let damaged = text.replacen("\"run_id\"", "\"id\"", 1);
    insta::assert_snapshot!(saved::read(&damaged).unwrap_err(), @"the saved run is not valid for format 1; see reports/schema/run-1.schema.json");
    insta::assert_snapshot!(saved::read("[]").unwrap_err(), @"not a saved run; expected a JSON report of mcp-workbench");
}

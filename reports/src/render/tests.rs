//! Each format, on a run in which everything happens.

use unicode_width::UnicodeWidthStr;

use crate::model::Verdict;
use crate::render::terminal::{Options, Verbosity};
use crate::render::{json, junit, markdown, terminal};
use crate::{sample, saved};

fn terminal(verbosity: Verbosity, colour: bool) -> String {
    terminal::render(&sample::everything(), &Options { colour, width: 100, verbosity })
}

#[test]
fn terminal_at_each_verbosity() {
    insta::assert_snapshot!("terminal-quiet", terminal(Verbosity::Quiet, false));
    insta::assert_snapshot!("terminal-normal", terminal(Verbosity::Normal, false));
    insta::assert_snapshot!("terminal-verbose", terminal(Verbosity::Verbose, false));
}

#[test]
fn colours_change_nothing_but_colours() {
    let coloured = terminal(Verbosity::Normal, true);
    assert!(coloured.contains("\u{1b}[1m\u{1b}[31m"));
    assert!(!terminal(Verbosity::Normal, false).contains('\u{1b}'));
    insta::assert_snapshot!("terminal-colour", coloured.replace('\u{1b}', "␛"));
}

#[test]
fn a_run_that_held_ends_with_that_word() {
    let run = sample::run(vec![sample::case("tools/one", Verdict::Passed)]);
    insta::assert_snapshot!(terminal::render(&run, &Options::default()), @r"
    conformance of built-in client
    1 passed; 1 planned, 2.3 s, seed 42
    HELD
    ");
}

#[test]
fn what_was_said_is_no_wider_than_the_terminal() {
    // Ids and addresses stay in one piece, so that they can be copied and followed.
    let said = |line: &str| line.starts_with(' ') && !line.contains("https://");
    for width in [60, 80, 120] {
        let options = Options { width, ..Options::default() };
        let mut case = sample::failed();
        case.exhibits[1].body = "日本語 x ".repeat(100).into();
        case.judgements[0].observed = "many words ".repeat(50);
        case.stderr = "word ".repeat(100);
        let shown = terminal::render(&sample::run(vec![case]), &options);
        let wide = shown.lines().find(|line| line.width() > width && said(line));
        assert_eq!(wide, None, "at {width} columns");
    }
}

#[test]
fn a_long_body_is_cut_with_a_mark() {
    let mut case = sample::failed();
    case.exhibits[1].body = (0..1_000).collect();
    let shown = terminal::render(&sample::run(vec![case]), &Options::default());
    assert!(shown.contains("… [cut: 986 more lines]"), "{shown}");
}

#[test]
fn a_thousand_failures_are_named_but_not_all_shown() {
    let cases = (0..1_000).map(|number| sample::case(&format!("tools/{number}"), Verdict::Failed)).collect();
    let shown = terminal::render(&sample::run(cases), &Options::default());
    assert_eq!(shown.matches("failed  tools/").count(), 1_000);
    assert_eq!(shown.matches("observed").count(), 50);
}

#[test]
fn junit_of_everything() {
    insta::assert_snapshot!("junit", junit::render(&sample::everything()).unwrap());
}

#[test]
fn markdown_of_everything() {
    insta::assert_snapshot!("markdown", markdown::render(&sample::everything()));
}

#[test]
fn markdown_reads_nothing_as_markup() {
    let mut case = sample::case("tools/one", Verdict::Failed);
    case.id = "a`b|c".to_owned();
    case.judgements[0].observed = "<img src=x> [l](http://x) | @all www.x.org\n# *b*".to_owned();
    case.judgements[0].requirement.url = "javascript:alert(1)".to_owned();
    let shown = markdown::render(&sample::run(vec![case]));
    insta::assert_snapshot!(shown.lines().last().unwrap(), @r"| failed | `a'b\|c` | &lt;img src=x&gt; \[l\](http\://x) \| \@all www&#46;x.org\\n\# \*b\* | MUST: When a request times out, the sender issues a cancellation for it and stops waiting. |");
}

#[test]
fn json_of_everything() {
    insta::assert_snapshot!("json", json::render(&sample::everything()).unwrap());
}

#[test]
fn a_number_comes_back_to_the_last_bit() {
    let mut run = sample::everything();
    for rate in [31.245270191439438, 1.0 / 3.0, 7.205_759_403_792_794e16, 5e-324] {
        run.loads[0].offered_rate = rate;
        assert_eq!(saved::read(&json::render(&run).unwrap()).unwrap().loads[0].offered_rate.to_bits(), rate.to_bits());
    }
}

#[test]
fn a_saved_run_of_another_version_is_told_from_a_broken_one() {
    let text = json::render(&sample::everything()).unwrap();
    let newer = text.replacen("\"format\": 1", "\"format\": 7", 1);
    insta::assert_snapshot!(saved::read(&newer).unwrap_err(), @"a saved run of format 7, but this workbench reads format 1; use the workbench that wrote it");
    let broken = text.replacen("\"run_id\"", "\"id\"", 1);
    insta::assert_snapshot!(saved::read(&broken).unwrap_err(), @"a saved run that does not have the shape of format 1; see reports/schema/run-1.schema.json");
    insta::assert_snapshot!(saved::read("[]").unwrap_err(), @"not a saved run; expected the JSON report that a run of the workbench wrote");
}

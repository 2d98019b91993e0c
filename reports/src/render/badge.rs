//! A badge for a README: how many cases passed and failed, as a small SVG image without scripts, fonts or links.

use super::{Format, RenderError, Style, outcome, text};
use crate::model::{Run, RunKind, Verdict};

/// Width of a character of Verdana at 11 pixels. Digits and lower-case letters are about that wide.
const CHARACTER: usize = 7;
/// Space on both sides of a text, in pixels.
const PADDING: usize = 10;

const GREEN: &str = "#2b7a2b";
const YELLOW: &str = "#8a6d00";
const RED: &str = "#b3261e";
const GRAY: &str = "#5c5c5c";

/// An SVG badge.
#[derive(Debug)]
pub struct Badge;

impl Format for Badge {
    fn name(&self) -> &'static str {
        "badge"
    }

    fn about(&self) -> &'static str {
        "SVG badge with the numbers of passed and failed cases"
    }

    fn file_name(&self) -> &'static str {
        "badge.svg"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let label = match run.header.kind {
            RunKind::Conformance | RunKind::Validate => "MCP",
            RunKind::Bench => "MCP load",
        };
        let (message, color) = result(run);
        let title = format!("{}: {message}", text::bounded_line(&run.header.subject, 200));
        Ok(svg(label, &message, color, &title))
    }
}

/// The message and its color. A run without results, or an interrupted one, never looks passed.
fn result(run: &Run) -> (String, &'static str) {
    if !run.complete {
        return ("interrupted".to_owned(), GRAY);
    }
    let cases = run.cases.iter().filter(|case| case.verdict != Verdict::Skipped);
    let (failed, passed): (Vec<_>, Vec<_>) = cases.partition(|case| run.header.policy.fails(case.verdict));
    let known = failed.iter().filter(|case| outcome::is_known(run, case)).count();
    let failed_loads = run.loads.iter().filter(|load| !load.passed()).count();
    let warned = passed.iter().filter(|case| case.verdict == Verdict::Warned).count();
    let failed = failed.len() - known + failed_loads;
    let passed = passed.len() + run.loads.len() - failed_loads;
    let mut message = match (passed, failed) {
        (0, 0) if known == 0 => "no results".to_owned(),
        (passed, 0) if warned > 0 => format!("{passed} passed, {warned} with warnings"),
        (passed, 0) => format!("{passed} passed"),
        (passed, failed) => format!("{passed} passed, {failed} failed"),
    };
    if known > 0 {
        message.push_str(&format!(", {known} known"));
    }
    let color = match (run.passed(), warned) {
        (true, 0) => GREEN,
        (true, _) => YELLOW,
        (false, _) if passed + failed + known == 0 => GRAY,
        (false, _) => RED,
    };
    (message, color)
}

fn svg(label: &str, message: &str, color: &str, title: &str) -> String {
    let width = |text: &str| text.chars().count() * CHARACTER + PADDING;
    let (left, right) = (width(label), width(message));
    let total = left + right;
    let (label_x, message_x) = (left / 2, left + right / 2);
    let (label, message, title) = (escaped(label), escaped(message), escaped(title));
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{label}: {message}">
<title>{title}</title>
<rect width="{total}" height="20" rx="3" fill="{color}"/>
<path d="M3 0h{inner}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#333"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{label_x}" y="14">{label}</text>
<text x="{message_x}" y="14">{message}</text>
</g>
</svg>
"##,
        inner = left - 3,
    )
}

/// Escapes XML for text and attributes. Characters that XML does not allow were escaped before.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_color_is_that_of_the_result() {
        let of = |cases| result(&sample::run(cases));
        let case = |verdict| sample::case("tools/one", verdict);
        assert_eq!(of(vec![case(Verdict::Passed), case(Verdict::Skipped)]), ("1 passed".to_owned(), GREEN));
        let warned = of(vec![case(Verdict::Passed), case(Verdict::Warned)]);
        assert_eq!(warned, ("2 passed, 1 with warnings".to_owned(), YELLOW));
        let failed = of(vec![case(Verdict::Passed), case(Verdict::Blocked)]);
        assert_eq!(failed, ("1 passed, 1 failed".to_owned(), RED));
        assert_eq!(of(vec![]), ("no results".to_owned(), GRAY));
        let mut run = sample::run(vec![case(Verdict::Passed)]);
        run.complete = false;
        assert_eq!(result(&run), ("interrupted".to_owned(), GRAY));
    }

    #[test]
    fn the_subject_is_text() {
        let mut run = sample::run(vec![sample::case("tools/one", Verdict::Passed)]);
        run.header.subject = "</title><script>alert('1')</script>\u{0}&\"".to_owned();
        let svg = Badge.render(&run, &Style::default()).unwrap();
        assert!(!svg.contains("<script"), "{svg}");
        let mut reader = quick_xml::Reader::from_str(&svg);
        let mut tags = Vec::new();
        loop {
            match reader.read_event().unwrap() {
                quick_xml::events::Event::Start(tag) | quick_xml::events::Event::Empty(tag) => {
                    tags.push(String::from_utf8(tag.name().as_ref().to_vec()).unwrap());
                }
                quick_xml::events::Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(tags, ["svg", "title", "rect", "path", "g", "text", "text"]);
    }
}

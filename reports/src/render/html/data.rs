//! The cases as JSON in the page: an index that is read when the page opens, and blocks of details that are read when a
//! case is opened. Equal texts and rules are stored once.
//!
//! The order of the values is that of the readers in `templates/data.js`.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::{labels::kind, link, matrix};
use crate::{
    model::{CaseEnd, CaseResult, CheckResult, FrameBody, ReportFrame, Run, Verdict},
    render::{outcome, text},
};

/// Number of cases in a block of details.
const BLOCK: usize = 50;
/// All verdicts, in the order of their numbers.
const VERDICTS: [Verdict; 7] = [
    Verdict::Skipped,
    Verdict::Passed,
    Verdict::Noted,
    Verdict::Warned,
    Verdict::Flaky,
    Verdict::Blocked,
    Verdict::Failed,
];

/// JSON texts that are inert in HTML.
pub(super) struct Embedded {
    pub(super) index: String,
    pub(super) rules: String,
    pub(super) blocks: Vec<String>,
}

impl Embedded {
    /// # Errors
    /// If serialization fails.
    pub(super) fn new(runs: &[Run]) -> Result<Self, serde_json::Error> {
        let mut index = Index::new(runs);
        let mut rules = Rules::default();
        let mut blocks = Vec::new();
        let mut details = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            for case in &run.cases {
                index.add(run, number, case);
                details.push(rules.details(case));
                if details.len() == BLOCK {
                    blocks.push(inert(&serde_json::to_string(&details)?));
                    details.clear();
                }
            }
        }
        if !details.is_empty() {
            blocks.push(inert(&serde_json::to_string(&details)?));
        }
        Ok(Self {
            index: inert(&serde_json::to_string(&index)?),
            rules: inert(&serde_json::to_string(&rules)?),
            blocks,
        })
    }
}

/// Replaces the characters that have a meaning in HTML, and those that [`text`] escapes, by JSON escapes. In JSON without
/// white space they occur in strings only.
fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut units = [0; 2];
    for character in json.chars() {
        if matches!(character, '<' | '>' | '&') || text::is_unsafe(character) {
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(character);
        }
    }
    out
}

/// Values in order of their first use.
#[derive(Default)]
struct Interned<'r> {
    values: Vec<&'r str>,
    positions: HashMap<&'r str, usize>,
}

impl<'r> Interned<'r> {
    fn position(&mut self, value: &'r str) -> usize {
        *self.positions.entry(value).or_insert_with(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }
}

impl Serialize for Interned<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values.serialize(serializer)
    }
}

#[derive(Serialize)]
struct Index<'r> {
    runs: Vec<RunHead<'r>>,
    verdicts: [&'static str; VERDICTS.len()],
    areas: Interned<'r>,
    transports: Interned<'r>,
    revisions: Interned<'r>,
    texts: Interned<'r>,
    block: usize,
    cases: Vec<IndexEntry<'r>>,
}

#[derive(Serialize)]
struct RunHead<'r> {
    subject: &'r str,
    kind: &'static str,
    seed: String,
}

/// Run, verdict, whether the failure is known, transport, revision, milliseconds, id, title, areas with their verdicts,
/// and ids of the checks that did not pass.
#[derive(Serialize)]
struct IndexEntry<'r>(usize, usize, u8, usize, usize, u64, &'r str, usize, Vec<(usize, usize)>, Vec<usize>);

impl<'r> Index<'r> {
    fn new(runs: &'r [Run]) -> Self {
        let head = |run: &'r Run| RunHead {
            subject: &run.header.subject,
            kind: kind(run.header.kind),
            // A number of JavaScript has 53 bits.
            seed: run.header.seed.to_string(),
        };
        Self {
            runs: runs.iter().map(head).collect(),
            verdicts: VERDICTS.map(Verdict::as_str),
            areas: Interned::default(),
            transports: Interned::default(),
            revisions: Interned::default(),
            texts: Interned::default(),
            block: BLOCK,
            cases: Vec::new(),
        }
    }

    fn add(&mut self, run: &'r Run, number: usize, case: &'r CaseResult) {
        let areas = matrix::areas(run, case);
        let areas = areas.into_iter().map(|(area, verdict)| (self.areas.position(area), verdict as usize)).collect();
        let failed = case.checks.iter().filter(|check| check.verdict > Verdict::Passed);
        let failed = failed.map(|check| self.texts.position(&check.id)).collect();
        self.cases.push(IndexEntry(
            number,
            case.verdict as usize,
            outcome::is_known(run, case).into(),
            self.transports.position(&case.transport),
            self.revisions.position(&case.revision),
            case.elapsed_ms,
            &case.id,
            self.texts.position(&case.title),
            areas,
            failed,
        ));
    }
}

/// What the checks of all cases share.
#[derive(Default, Serialize)]
struct Rules<'r> {
    rules: Vec<Rule<'r>>,
    texts: Interned<'r>,
    #[serde(skip)]
    positions: HashMap<(&'r str, &'r str, &'r str, &'r str), usize>,
}

#[derive(Serialize)]
struct Rule<'r> {
    check: &'r str,
    expected: &'r str,
    requirement: &'r str,
    level: &'static str,
    text: &'r str,
    url: &'r str,
    /// The URL, if it can be a link.
    link: Option<String>,
    advice: Option<&'r str>,
}

#[derive(Serialize)]
struct Details<'r> {
    checks: Vec<Checked<'r>>,
    frames: Vec<Framed<'r>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    stderr: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<&'r CaseEnd>,
}

/// Rule, verdict, text of the observation, and frames.
#[derive(Serialize)]
struct Checked<'r>(usize, usize, usize, &'r [u64]);

/// Position, microseconds, whether the client sent it, server, HTTP envelope, headers, message, whether it was truncated.
#[derive(Serialize)]
struct Framed<'r>(u64, u64, u8, &'r str, Option<&'r str>, &'r BTreeMap<String, String>, &'r FrameBody, u8);

impl<'r> Rules<'r> {
    fn details(&mut self, case: &'r CaseResult) -> Details<'r> {
        let checks = case.checks.iter().map(|check| {
            let observed = self.texts.position(&check.observed);
            Checked(self.position(check), check.verdict as usize, observed, &check.frames)
        });
        let checks = checks.collect();
        Details {
            checks,
            frames: case.frames.iter().map(framed).collect(),
            stderr: &case.stderr,
            end: case.end.as_ref(),
        }
    }

    fn position(&mut self, check: &'r CheckResult) -> usize {
        let requirement = &check.requirement;
        // The text and the URL of a requirement depend on the revision.
        let key = (check.id.as_str(), check.expected.as_str(), requirement.url.as_str(), requirement.text.as_str());
        let next = self.rules.len();
        let position = *self.positions.entry(key).or_insert(next);
        if position == next {
            self.rules.push(Rule {
                check: &check.id,
                expected: &check.expected,
                requirement: &requirement.id,
                level: requirement.level.as_str(),
                text: &requirement.text,
                url: &requirement.url,
                link: link::to_source(&requirement.url),
                advice: requirement.advice.as_deref(),
            });
        }
        position
    }
}

fn framed(frame: &ReportFrame) -> Framed<'_> {
    Framed(
        frame.seq,
        frame.at_us,
        frame.from_client.into(),
        &frame.server,
        frame.http.as_deref(),
        &frame.headers,
        &frame.body,
        frame.truncated.into(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::sample;

    #[test]
    fn the_number_of_a_verdict_is_its_position() {
        for (position, verdict) in VERDICTS.into_iter().enumerate() {
            assert_eq!(verdict as usize, position);
        }
    }

    #[test]
    fn inert_json_has_the_same_value_and_no_markup() {
        let value = Value::from("</script><!-- & \u{0}\u{2028}\u{202e}\u{e0001}\u{fffe} é 😀");
        let shown = inert(&value.to_string());
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
        assert_eq!(
            shown,
            "\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u0000\\u2028\\u202e\\udb40\\udc01\\ufffe é 😀\""
        );
    }

    #[test]
    fn equal_texts_are_stored_once_and_blocks_are_limited() {
        let run = sample::run((0..120).map(|number| sample::case(&format!("a/{number}"), Verdict::Passed)).collect());
        let embedded = Embedded::new(std::slice::from_ref(&run)).unwrap();
        assert_eq!(embedded.blocks.len(), 3);
        let rules: Value = serde_json::from_str(&embedded.rules).unwrap();
        assert_eq!(rules["rules"].as_array().map(Vec::len), Some(1));
        assert_eq!(rules["texts"].as_array().map(Vec::len), Some(1));
        let index: Value = serde_json::from_str(&embedded.index).unwrap();
        assert_eq!(index["cases"][119][6], "a/119@stdio@2025-11-25");
        assert_eq!(index["texts"].as_array().map(Vec::len), Some(1));
    }
}

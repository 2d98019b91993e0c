//! Annotations of GitHub Actions: [workflow commands][1], one per line, which the runner reads from standard output.
//!
//! Every line is a command, and line breaks in data are escaped, so text of a server cannot start a command of its own. The
//! runner would also find the older form `##[…]` anywhere in a line that is not a command.
//!
//! [1]: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands

use super::{
    Format, RenderError, Style,
    findings::{self, Finding},
    outcome,
    severity::Severity,
    text,
};
use crate::model::{LoadResult, Run, RunKind, Verdict};

/// Maximum number of annotations of one severity. GitHub shows that many of each for one step and ignores the others.
const MAX_ANNOTATIONS: usize = 10;
/// Maximum length of a title, in characters. GitHub allows 255.
const MAX_TITLE: usize = 200;
/// Maximum length of one line of a message, in characters.
const MAX_LINE: usize = 1_000;
/// Maximum number of affected cases that are listed.
const MAX_AFFECTED: usize = 4;

/// Workflow commands: errors, warnings and notices.
#[derive(Debug)]
pub struct Github;

impl Format for Github {
    fn name(&self) -> &'static str {
        "github"
    }

    fn about(&self) -> &'static str {
        "Annotations for GitHub Actions, which reads them from standard output"
    }

    fn file_name(&self) -> &'static str {
        "annotations.txt"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let mut all = run_failures(run);
        all.extend(run.loads.iter().flat_map(load));
        all.extend(findings::findings(run).iter().filter_map(|finding| annotation(run, finding)));
        let mut out = String::new();
        for severity in Severity::ALL {
            let kind: Vec<&Annotation> = all.iter().filter(|annotation| annotation.severity == severity).collect();
            // One notice is the result of the run.
            let limit = if severity == Severity::Note { MAX_ANNOTATIONS - 1 } else { MAX_ANNOTATIONS };
            push_limited(&mut out, severity, &kind, limit);
        }
        result(run).push(&mut out);
        Ok(out)
    }
}

/// One workflow command.
#[derive(Debug)]
struct Annotation {
    severity: Severity,
    title: String,
    /// The lines of the message.
    message: Vec<String>,
}

impl Annotation {
    fn push(&self, out: &mut String) {
        let command = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let title = property(&text::bounded_line(&self.title, MAX_TITLE));
        let lines: Vec<String> = self.message.iter().map(|line| text::bounded_line(line, MAX_LINE)).collect();
        out.push_str(&format!("::{command} title={title}::{}\n", data(&lines.join("\n"))));
    }
}

/// Prints the annotations, the first ones only if there are more than `limit`, and how many were omitted.
fn push_limited(out: &mut String, severity: Severity, annotations: &[&Annotation], limit: usize) {
    let shown = if annotations.len() > limit { limit - 1 } else { annotations.len() };
    for annotation in &annotations[..shown] {
        annotation.push(out);
    }
    let rest = annotations.len() - shown;
    if rest > 0 {
        let word = match severity {
            Severity::Error => "errors",
            Severity::Warning => "warnings",
            Severity::Note => "notices",
        };
        let title = format!("{rest} more {word}");
        let message = vec![format!("{rest} more {word} are in the reports and in the journal of the run.")];
        Annotation { severity, title, message }.push(out);
    }
}

fn run_failures(run: &Run) -> Vec<Annotation> {
    let failures = outcome::run_failures(run).into_iter();
    let annotation = |(name, sentence): (&str, String)| Annotation {
        severity: Severity::Error,
        title: name.to_owned(),
        message: vec![sentence],
    };
    failures.map(annotation).collect()
}

/// The errors and the warnings of a load test.
fn load(load: &LoadResult) -> Vec<Annotation> {
    let mut failures: Vec<String> = outcome::failed_thresholds(load).collect();
    if load.succeeded == 0 {
        failures.push("all calls failed".to_owned());
    }
    let title = format!("load test {}", load.name);
    [(Severity::Error, failures), (Severity::Warning, load.warnings.clone())]
        .into_iter()
        .filter(|(_, message)| !message.is_empty())
        .map(|(severity, message)| Annotation { severity, title: title.clone(), message })
        .collect()
}

fn annotation(run: &Run, finding: &Finding<'_>) -> Option<Annotation> {
    let severity = Severity::new(run, finding.verdict, finding.is_known)?;
    let (check, requirement) = (finding.check, &finding.check.requirement);
    let note = if finding.is_known { " (known failure)" } else { "" };
    let observed = if finding.verdict == Verdict::Blocked { "reason" } else { "observed" };
    let mut message = vec![
        format!("{observed}: {}", check.observed),
        format!("expected: {}", check.expected),
        format!("{}: {} ({})", requirement.level.as_str(), requirement.text, requirement.id),
        requirement.url.clone(),
        affected(finding),
    ];
    message.extend(requirement.advice.as_ref().map(|advice| format!("advice: {advice}")));
    Some(Annotation { severity, title: format!("{} {}{note}", finding.verdict.as_str(), check.id), message })
}

fn affected(finding: &Finding<'_>) -> String {
    let listed: Vec<&str> = finding.affected.iter().take(MAX_AFFECTED).copied().collect();
    let more = finding.affected.len().saturating_sub(MAX_AFFECTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("affects: {}{more}", listed.join(", "))
}

/// The result of the run, as the last notice.
fn result(run: &Run) -> Annotation {
    let kind = match run.header.kind {
        RunKind::Conformance => "conformance",
        RunKind::Validate => "validation",
        RunKind::Bench => "load test",
    };
    let mut parts: Vec<String> =
        outcome::counts(run).into_iter().map(|(verdict, count)| format!("{count} {}", verdict.as_str())).collect();
    let failed = run.loads.iter().filter(|load| !load.passed()).count();
    if !run.loads.is_empty() {
        parts.push(format!("{failed} of {} load tests failed", run.loads.len()));
    }
    Annotation {
        severity: Severity::Note,
        title: format!("{kind} {}", outcome::word(run.passed())),
        message: vec![format!("{kind} of {}: {}", run.header.subject, parts.join(", "))],
    }
}

/// Escapes the data of a command: the runner decodes these three escapes.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property, which a colon or a comma would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests;

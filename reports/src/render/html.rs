//! One self-contained page that opens from disk: result, matrix, findings, load tests, and a list of all cases with a page
//! for each.
//!
//! The summary is static HTML. Lists and pages of cases are rendered by a script from the data of [`data`], because a run
//! can have ten thousand cases.
//!
//! Messages of servers are hostile. The template engine escapes all text, [`data`] escapes all JSON, and the Content
//! Security Policy of the page allows only the style and the script of this module, no network and no HTML from strings.

mod chart;
mod data;
mod findings;
mod labels;
mod link;
mod load;
mod matrix;
mod summary;

#[cfg(test)]
mod tests;

use askama::Template;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

use super::{Format, RenderError, Style};
use crate::model::Run;

// Macros, because `concat!` takes literals only.
macro_rules! case_style {
    () => {
        concat!(
            include_str!("../../templates/theme.css"),
            include_str!("../../templates/page.css"),
            include_str!("../../templates/case.css"),
        )
    };
}

macro_rules! case_script {
    () => {
        concat!(
            include_str!("../../templates/elements.js"),
            include_str!("../../templates/messages.js"),
            include_str!("../../templates/checks.js"),
        )
    };
}

/// Style of pages that show cases.
pub const CASE_STYLE: &str = case_style!();
/// Declarations of scripts that show a case, among them `element` and `sectionsOf`.
pub const CASE_SCRIPT: &str = case_script!();
const STYLE: &str = concat!(case_style!(), include_str!("../../templates/print.css"));
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    case_script!(),
    include_str!("../../templates/data.js"),
    include_str!("../../templates/list.js"),
    include_str!("../../templates/case.js"),
    include_str!("../../templates/page.js"),
    "})();\n",
);

/// The sources of the script and of the style in the Content Security Policy of a report. A page that opens a report as a
/// `blob:` URL must allow them, because the report inherits its policy.
#[must_use]
pub fn policy_sources() -> [String; 2] {
    [source_hash(SCRIPT), source_hash(STYLE)]
}

/// A page for browsers.
#[derive(Debug)]
pub struct Html;

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn about(&self) -> &'static str {
        "Page with matrix, findings and the messages of each case; one file that opens from disk"
    }

    fn file_name(&self) -> &'static str {
        "report.html"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        self.page(std::slice::from_ref(run))
    }

    fn render_combined(&self, runs: &[Run], _: &Style) -> Option<Result<String, RenderError>> {
        Some(self.page(runs))
    }
}

impl Html {
    fn page(&self, runs: &[Run]) -> Result<String, RenderError> {
        let page = Page::new(runs).map_err(|error| RenderError::new(self, error))?;
        page.render().map_err(|error| RenderError::new(self, error))
    }
}

/// The whole page.
#[derive(Template)]
#[template(path = "report.html")]
struct Page {
    title: String,
    /// The `script-src` and `style-src` of the Content Security Policy.
    script_hash: String,
    style_hash: String,
    style: &'static str,
    script: &'static str,
    passed: bool,
    /// Results of several runs side by side.
    subjects: Option<matrix::Matrix>,
    runs: Vec<summary::RunSummary>,
    case_count: usize,
    data: data::Embedded,
}

impl Page {
    fn new(runs: &[Run]) -> Result<Self, serde_json::Error> {
        let title = match runs {
            [run] => summary::title(run),
            _ => format!("{} runs of mcp-workbench", runs.len()),
        };
        Ok(Self {
            title,
            script_hash: source_hash(SCRIPT),
            style_hash: source_hash(STYLE),
            style: STYLE,
            script: SCRIPT,
            passed: runs.iter().all(Run::passed),
            subjects: (runs.len() > 1).then(|| matrix::subjects(runs)),
            runs: runs
                .iter()
                .enumerate()
                .map(|(number, run)| summary::RunSummary::new(run, number, runs.len()))
                .collect(),
            case_count: runs.iter().map(|run| run.cases.len()).sum(),
            data: data::Embedded::new(runs)?,
        })
    }
}

/// The source expression that allows this inline text (Content Security Policy Level 3, hash-source).
fn source_hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

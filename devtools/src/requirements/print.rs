//! Output of `requirements`.

use std::io::{self, Write};

use scenarios::statements::{Coverage, Statement};

use super::{
    Report,
    coverage::{Count, RevisionCoverage},
};

/// Prints the report as JSON.
pub(super) fn json(report: &Report) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{}", serde_json::to_string_pretty(report)?)
}

/// Prints a table for each revision, and the percentage that the threshold applies to.
pub(super) fn tables(report: &Report, gaps: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for coverage in &report.revisions {
        table(&mut out, coverage)?;
        if gaps {
            coverage.gaps.iter().try_for_each(|statement| gap(&mut out, statement))?;
            writeln!(out)?;
        }
    }
    writeln!(out, "MUST and SHOULD statements on servers that have a check (threshold: {:.1} %)", report.threshold)?;
    for RevisionCoverage { revision, servers, .. } in &report.revisions {
        let (percent, tested, observable) = (servers.percent(), servers.tested, servers.observable);
        let verdict = if percent >= report.threshold { "passed" } else { "failed" };
        writeln!(out, "{revision}  {verdict}  {percent:>5.1} %  {tested} of {observable} observable statements")?;
    }
    Ok(())
}

fn table(out: &mut impl Write, coverage: &RevisionCoverage) -> io::Result<()> {
    let heading = ["statements", "observable", "tested", "gaps"];
    writeln!(
        out,
        "{:<55}{:>10}{:>12}{:>8}{:>6}",
        coverage.revision.as_str(),
        heading[0],
        heading[1],
        heading[2],
        heading[3]
    )?;
    for (page, count) in &coverage.pages {
        row(out, page, *count)?;
    }
    writeln!(out)?;
    for (party, count) in &coverage.parties {
        row(out, party, *count)?;
    }
    row(out, "total", coverage.total)?;
    writeln!(out)
}

fn row(out: &mut impl Write, name: &str, count: Count) -> io::Result<()> {
    let Count { statements, observable, tested } = count;
    let (gaps, percent) = (count.gaps(), count.percent());
    writeln!(out, "  {name:<53}{statements:>10}{observable:>12}{tested:>8}{gaps:>6}{percent:>8.1} %")
}

fn gap(out: &mut impl Write, statement: &Statement) -> io::Result<()> {
    let Statement { id, level, party, text, coverage, .. } = statement;
    let Coverage::Gap(missing) = coverage else { return Ok(()) };
    writeln!(out, "{level:<8}{party:<8}{id}\n        {text}\n        missing: {missing}")
}

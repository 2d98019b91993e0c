//! The live view of a load test on a terminal: rate, latencies and errors of the last minute, redrawn once per second.

use std::{
    collections::VecDeque,
    io::{self, Stderr},
};

use ratatui::{
    Frame, Terminal, TerminalOptions, Viewport,
    backend::CrosstermBackend,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style},
    text::{Line, Span},
    widgets::{LineGauge, Paragraph, Sparkline, Widget as _},
};
use reports::render::latency;
use scenarios::bench::Progress;

/// Number of reports that are shown, one per second.
const SHOWN: usize = 60;
/// Rows of a curve.
const CURVE: u16 = 3;
/// Rows of the view: a gauge, the figures, two curves with their titles, and the errors.
const ROWS: u16 = 2 + 2 * (CURVE + 1) + 1;

/// The live view.
pub(crate) struct LoadView {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    history: History,
}

impl LoadView {
    /// `None` if the terminal cannot place a view.
    pub(crate) fn new() -> Option<Self> {
        if std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
            return None;
        }
        let options = TerminalOptions { viewport: Viewport::Inline(ROWS) };
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stderr()), options).ok()?;
        Some(Self { terminal, history: History::default() })
    }

    /// Shows a report.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub(crate) fn show(&mut self, progress: Progress) -> io::Result<()> {
        let Self { terminal, history } = self;
        history.add(progress);
        terminal.draw(|frame| history.draw(frame)).map(drop)
    }

    /// Prints a line above the view, in as many rows as it needs.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub(crate) fn print(&mut self, line: &str) -> io::Result<()> {
        let width = usize::from(self.terminal.size()?.width.max(1));
        let rows: Vec<Line<'_>> = rows(line, width).into_iter().map(Line::from).collect();
        let count = u16::try_from(rows.len()).unwrap_or(u16::MAX);
        self.terminal.insert_before(count, |buffer| Paragraph::new(rows).render(buffer.area, buffer))
    }
}

/// Cuts a line into rows.
fn rows(line: &str, width: usize) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    characters.chunks(width).map(String::from_iter).collect()
}

impl Drop for LoadView {
    /// Removes the view, so that the report follows what was printed before.
    fn drop(&mut self) {
        let _ = self.terminal.clear();
    }
}

/// The reports of the last minute.
#[derive(Debug, Default)]
struct History {
    last: Option<Progress>,
    points: VecDeque<Point>,
}

/// One second.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    rate: u64,
    p99_us: u64,
    errors: u64,
}

impl History {
    fn add(&mut self, progress: Progress) {
        let (before, errors, since) =
            self.last.map_or_else(Default::default, |last| (last.done, last.errors, last.elapsed));
        let seconds = progress.elapsed.saturating_sub(since).as_secs_f64();
        // The last report may follow the one before at once.
        if seconds > 0.1 {
            let rate = (progress.done.saturating_sub(before) as f64 / seconds).round() as u64;
            let p99_us = progress.recent.map_or(0, |recent| recent.p99_us);
            self.points.push_back(Point { rate, p99_us, errors: progress.errors.saturating_sub(errors) });
            self.last = Some(progress);
        }
        while self.points.len() > SHOWN {
            self.points.pop_front();
        }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let Some(last) = self.last else { return };
        let rows = [1, 1, 1, CURVE, 1, CURVE, 1].map(Constraint::Length);
        let [gauge, figures, rate_title, rates, latency_title, latencies, errors] =
            Layout::vertical(rows).areas(frame.area());
        let ratio = last.elapsed.as_secs_f64() / last.planned.as_secs_f64().max(0.001);
        let label = format!("{:.0} s of {:.0} s", last.elapsed.as_secs_f64(), last.planned.as_secs_f64());
        frame.render_widget(LineGauge::default().label(label).ratio(ratio.clamp(0.0, 1.0)), gauge);
        frame.render_widget(Paragraph::new(self.figures(last)), figures);
        self.curve(
            frame,
            [rate_title, rates],
            |point| point.rate,
            |most| format!("results per second, at most {most}"),
        );
        let of_latency = |most| format!("p99, at most {}", latency(most as f64));
        self.curve(frame, [latency_title, latencies], |point| point.p99_us, of_latency);
        frame.render_widget(Paragraph::new(self.errors(last)), errors);
    }

    fn figures(&self, last: Progress) -> Line<'static> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let rate = self.points.back().map_or(0, |point| point.rate);
        let mut spans = vec![Span::styled(format!("{rate}/s"), bold)];
        match last.recent {
            Some(recent) => {
                let [p50, p99, max] = [recent.p50_us, recent.p99_us, recent.max_us].map(|us| latency(us as f64));
                spans.push(format!("  p50 {p50}  p99 {p99}  max {max}").into());
            }
            None => spans.push("  no result in this second".into()),
        }
        spans.push(format!("  sent {}  unfinished {}", last.sent, last.in_flight).into());
        spans.into()
    }

    fn curve(
        &self,
        frame: &mut Frame<'_>,
        [title, area]: [Rect; 2],
        value: impl Fn(&Point) -> u64,
        describe: impl Fn(u64) -> String,
    ) {
        let values: Vec<u64> = self.points.iter().map(value).collect();
        let most = values.iter().copied().max().unwrap_or_default();
        let dim = Style::new().add_modifier(Modifier::DIM);
        frame.render_widget(Paragraph::new(describe(most)).style(dim), title);
        frame.render_widget(Sparkline::default().data(&values).max(most.max(1)), area);
    }

    fn errors(&self, last: Progress) -> String {
        let recent: u64 = self.points.iter().map(|point| point.errors).sum();
        match last.errors {
            0 => "no errors".to_owned(),
            all => format!("{all} errors, {recent} in the last minute"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratatui::backend::TestBackend;
    use scenarios::bench::RecentLatency;

    use super::*;

    fn progress(second: u64, errors: u64) -> Progress {
        let us = 900 + second * 10;
        Progress {
            elapsed: Duration::from_secs(second),
            planned: Duration::from_secs(100),
            sent: second * 500 + 4,
            done: second * 500,
            errors,
            in_flight: 4,
            recent: Some(RecentLatency { p50_us: us / 2, p99_us: us, max_us: 12_345 }),
        }
    }

    fn drawn(history: &History) -> String {
        let mut terminal = Terminal::new(TestBackend::new(70, ROWS)).expect("a terminal");
        terminal.draw(|frame| history.draw(frame)).expect("it is drawn");
        terminal.backend().to_string()
    }

    #[test]
    fn shows_the_rate_the_latencies_and_the_errors_of_the_last_minute() {
        let mut history = History::default();
        (1..=75).for_each(|second| history.add(progress(second, second.saturating_sub(70))));
        let text = drawn(&history);
        for expected in [
            "75 s of 100 s",
            "500/s  p50 825 µs  p99 1.65 ms  max 12.3 ms  sent 37504  unfinished 4",
            "results per second, at most 500",
            "p99, at most 1.65 ms",
            "5 errors, 5 in the last minute",
            "████",
        ] {
            assert!(text.contains(expected), "{expected} is missing:\n{text}");
        }
        assert_eq!(history.points.len(), SHOWN);
    }

    #[test]
    fn a_second_without_a_result_and_one_report_at_the_end_are_shown() {
        let mut history = History::default();
        history.add(Progress { recent: None, done: 0, sent: 1, ..progress(1, 0) });
        let text = drawn(&history);
        assert!(text.contains("0/s  no result in this second") && text.contains("no errors"), "{text}");
        let at_the_end = Progress { elapsed: Duration::from_millis(1_001), ..progress(1, 0) };
        history.add(at_the_end);
        assert_eq!(history.points.len(), 1, "a report that follows at once has no rate");
    }

    #[test]
    fn a_long_line_is_printed_whole() {
        assert_eq!(rows("journal: /a/long/path", 8), ["journal:", " /a/long", "/path"]);
    }

    #[test]
    fn durations_have_three_digits() {
        let texts = [0, 999, 1_000, 12_345, 999_000, 1_500_000, 61_000_000].map(|us| latency(f64::from(us)));
        assert_eq!(texts, ["0 µs", "999 µs", "1.00 ms", "12.3 ms", "999 ms", "1.50 s", "61.0 s"]);
    }
}

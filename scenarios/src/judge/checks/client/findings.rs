//! Collects what a check finds, and turns it into one ruling. It knows nothing of the protocol.

use serde_json::Value;

use crate::judge::check::Ruling;

/// The most breaches that are told in words; the rest is counted.
const MOST_TOLD: usize = 3;
/// The most frames that a ruling names.
const MOST_FRAMES: usize = 20;
/// The most characters of a value that are told in words.
const MOST_CHARACTERS: usize = 80;

/// What a check found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    seen: Vec<u64>,
    told: Vec<String>,
    breaches: usize,
    frames: Vec<u64>,
}

impl Findings {
    /// The rule is about this frame.
    pub(super) fn saw(&mut self, seq: u64) {
        self.seen.push(seq);
    }

    /// The rule was broken, as these frames show.
    pub(super) fn breach(&mut self, words: impl Into<String>, frames: impl IntoIterator<Item = u64>) {
        self.breaches += 1;
        if self.told.len() < MOST_TOLD {
            self.told.push(words.into());
        }
        let room = MOST_FRAMES.saturating_sub(self.frames.len());
        self.frames.extend(frames.into_iter().take(room));
    }

    /// Looks at one frame: `Err` says what is wrong with it.
    pub(super) fn judge(&mut self, seq: u64, verdict: Result<(), String>) {
        self.saw(seq);
        if let Err(words) = verdict {
            self.breach(words, [seq]);
        }
    }

    /// The ruling; where the rule was about nothing, it does not apply, for this reason.
    pub(super) fn or_not_applicable(self, things: &str, reason: &str) -> Ruling {
        self.ruling(things, || Ruling::NotApplicable(reason.to_owned()))
    }

    /// The ruling; where the rule was about nothing, a prerequisite is missing, for this reason.
    pub(super) fn or_blocked(self, things: &str, reason: &str) -> Ruling {
        self.ruling(things, || Ruling::Blocked(reason.to_owned()))
    }

    fn ruling(self, things: &str, nothing: impl FnOnce() -> Ruling) -> Ruling {
        if self.breaches > 0 {
            let mut words = self.told.join("; ");
            if self.breaches > self.told.len() {
                words.push_str(&format!("; and {} more", self.breaches - self.told.len()));
            }
            return Ruling::broken(words, self.frames);
        }
        if self.seen.is_empty() {
            return nothing();
        }
        Ruling::held(format!("so it was with {} {things}", self.seen.len()), self.seen.into_iter().take(3).collect())
    }
}

/// A value in a few words.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

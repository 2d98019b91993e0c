//! Judging: pure functions from evidence to verdicts. Nothing here does I/O, reads a clock or asks the subject anything;
//! what was recorded can be judged again, with the same verdict, by somebody else.
//!
//! - [`judge`] judges one case: the expectations of its scenario, and every check that applies.
//! - [`check`] says what a check is; [`checks`] holds them, one file per theme.
//! - `values` evaluates JSONPath expectations; `expectations` compares steps, frames, processes and events.

mod case;
pub mod check;
pub mod checks;
mod expectations;
mod values;

pub use case::judge;

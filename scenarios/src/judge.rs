//! Judging: pure functions from evidence to verdicts, without I/O or a clock, so that a recorded run can be judged again
//! with the same verdicts.
//!
//! - [`judge`] judges one case: the expectations of its scenario, and every check that applies.
//! - [`Transcript`] indexes the evidence once per case, for all checks.
//! - [`check`] defines checks and their outcomes; [`checks`] has them, one file per theme.
//! - [`recorded`] judges a recorded session.
//! - The transcript also compares messages with their shapes, once for all checks of shapes.
//! - `expectations` compares steps, frames, processes and events; `values` evaluates JSONPath expectations.

mod capabilities;
mod case;
pub mod check;
pub mod checks;
mod contradictions;
mod derived;
mod end;
mod expectations;
pub mod recorded;
#[cfg(test)]
mod tests;
mod transcript;
mod values;

pub use case::judge;
pub(crate) use case::judge_with;
pub(crate) use derived::is_before_death;
pub use transcript::Transcript;
pub(crate) use values::evaluate_value;

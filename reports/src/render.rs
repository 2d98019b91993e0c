//! One renderer per format. Each is pure: a run in, a string out.
//!
//! What a server, a client or a scenario said is hostile: every renderer makes control characters visible before they
//! reach a terminal, an XML parser or a page (`text`), and bounds how much of it is shown.

pub mod json;
pub mod junit;
pub mod markdown;
pub mod terminal;

mod case;
mod outcome;
mod paint;
mod text;

#[cfg(test)]
mod tests;

//! Conversion of schemas: over real listings and over every nasty construct, checked by the providers' rules and by JSON
//! Schema itself.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod corpus;
mod drift;
mod hostile;
mod instances;
mod limits;
mod nasty;
mod semantics;
mod snapshots;
mod traps;

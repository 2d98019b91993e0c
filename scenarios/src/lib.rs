//! Loads, plans, runs and judges scenarios; and the load engine.

mod arguments;
pub mod bench;
mod case;
pub mod catalog;
pub mod contract;
pub mod drive;
pub mod error_kinds;
mod error_text;
pub mod evidence;
pub mod explanation;
pub mod judge;
pub mod load;
mod log_level;
pub mod model;
mod parameter_headers;
pub mod peer;
pub mod plan;
pub mod recording;
pub mod requirements;
pub mod run;
pub mod schema;
pub mod select;
pub mod shapes;
pub mod statements;
mod supervised;
mod uri_template;
mod variety;

pub use evidence::Evidence;
pub use model::Scenario;

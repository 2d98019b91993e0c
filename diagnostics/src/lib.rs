//! Diagnostics with location, excerpt and help for the files that users write: scenarios, mock scripts, configuration.
//!
//! ```
//! use mcp_workbench_diagnostics::{Diagnostic, Location, nearest};
//!
//! let location = Location { line: 1, column: 12, width: 5, excerpt: "transport: Stdoi".to_owned(), omitted: 0 };
//! let help = nearest::advice("Stdoi", ["stdio", "sse"]);
//! let diagnostic = Diagnostic::new("mine.yaml", "unknown transport `Stdoi`").at(location).with_help(help);
//! assert_eq!(
//!     diagnostic.to_string(),
//!     "error: unknown transport `Stdoi`\n  mine.yaml:1:12\n1 | transport: Stdoi\n  |            ^^^^^ did you mean `stdio`?"
//! );
//! ```

mod diagnostic;
pub mod document;
pub mod nearest;
mod text;

pub use self::diagnostic::{Diagnostic, Diagnostics, Location, Severity, is_unsafe, printable};
pub use self::text::{FileError, from_utf8, read_file};

//! What is wrong with a file that somebody wrote, told with its place and advice.
//!
//! The one form of such messages, for scenarios, scripts of mock servers and configurations alike. This crate reads no file and
//! knows no format.
//!
//! ```
//! use mcp_workbench_diagnostics::{Diagnostic, Place, nearest};
//!
//! let place = Place { line: 1, column: 12, width: 5, excerpt: "transport: Stdoi".to_owned(), cut: 0 };
//! let advice = nearest::advice("Stdoi", ["stdio", "sse"]);
//! let diagnostic = Diagnostic::new("mine.yaml", "unknown transport `Stdoi`").at(place).advise(advice);
//! assert_eq!(
//!     diagnostic.to_string(),
//!     "error: unknown transport `Stdoi`\n  mine.yaml:1:12\n1 | transport: Stdoi\n  |            ^^^^^ did you mean `stdio`?"
//! );
//! ```

mod diagnostic;
pub mod nearest;

pub use self::diagnostic::{Diagnostic, Place, Severity, is_unsafe, printable};

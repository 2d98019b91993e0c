//! Everything that is wrong with what was loaded, told at once.

use std::fmt;

use mock_servers::reading::Diagnostic;

/// Everything that is wrong with one file, or with several that were loaded together. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadErrors(Vec<Diagnostic>);

impl LoadErrors {
    /// One thing is wrong.
    pub fn one(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }

    /// These things are wrong; `None` if there are none.
    pub fn several(diagnostics: Vec<Diagnostic>) -> Option<Self> {
        if diagnostics.is_empty() { None } else { Some(Self(diagnostics)) }
    }

    /// What is wrong, in the order of the files.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0
    }

    /// What is wrong, to be put together with what else is.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.0
    }
}

impl fmt::Display for LoadErrors {
    /// Writes all of them in the house form, with an empty line in between.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, diagnostic) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("\n\n")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadErrors {}

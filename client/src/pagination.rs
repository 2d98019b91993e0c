//! Pagination with untrusted cursors.
//!
//! Decides whether to request another page, from cursors and counts only. Servers that repeat a cursor or send `""`
//! have made clients loop forever.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::revision::Era;

/// Longer cursors are rejected, because cursors are kept to detect repetitions.
const CURSOR_BYTES: usize = 8 * 1024;

/// The reason why a list could not be read completely.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "fault")]
pub enum PaginationError {
    /// `nextCursor` was `""` in a revision with a handshake, where it selects the first page again.
    #[error("page {page} has an empty next cursor")]
    EmptyCursor {
        /// The page, starting at 1.
        page: usize,
    },
    /// `nextCursor` was used before.
    #[error("page {page} repeats the cursor of page {earlier}")]
    RepeatedCursor {
        /// The page, starting at 1.
        page: usize,
        /// The page that had it first.
        earlier: usize,
    },
    /// `nextCursor` was not a string.
    #[error("page {page} has a next cursor that is not a string")]
    IllegalCursor {
        /// The page, starting at 1.
        page: usize,
    },
    /// `nextCursor` exceeded the size limit.
    #[error("page {page} has a cursor of {bytes} bytes")]
    LongCursor {
        /// The page, starting at 1.
        page: usize,
        /// The length of the cursor in bytes.
        bytes: usize,
    },
    /// The list has more pages than the limit.
    #[error("the list has more than {limit} pages")]
    TooManyPages {
        /// The limit.
        limit: usize,
    },
    /// The list has more items than the limit.
    #[error("the list has more than {limit} items by page {page}")]
    TooManyItems {
        /// The page, starting at 1.
        page: usize,
        /// The limit.
        limit: usize,
    },
}

impl PaginationError {
    /// A stable name of the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::EmptyCursor { .. } => "empty-cursor",
            Self::RepeatedCursor { .. } => "repeated-cursor",
            Self::IllegalCursor { .. } => "illegal-cursor",
            Self::LongCursor { .. } => "long-cursor",
            Self::TooManyPages { .. } => "too-many-pages",
            Self::TooManyItems { .. } => "too-many-items",
        }
    }
}

/// The next step after a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The list is complete.
    Done,
    /// Request the page of this cursor.
    Follow(String),
}

/// The state of reading one list.
#[derive(Debug)]
pub struct PageGuard {
    page_limit: usize,
    item_limit: usize,
    pages: usize,
    items: usize,
    era: Era,
    seen: HashMap<String, usize>,
}

impl PageGuard {
    /// A list with at most this many pages and items.
    #[must_use]
    pub fn new(page_limit: usize, item_limit: usize, era: Era) -> Self {
        Self { page_limit, item_limit, pages: 0, items: 0, era, seen: HashMap::new() }
    }

    /// Number of pages that were read.
    #[must_use]
    pub const fn pages(&self) -> usize {
        self.pages
    }

    /// Number of items that still fit the limit.
    #[must_use]
    pub fn room(&self) -> usize {
        self.item_limit.saturating_sub(self.items)
    }

    /// Records a page and returns the next step.
    ///
    /// `next_cursor` is the field as received. `null` counts as absent: it cannot be sent as a cursor.
    ///
    /// # Errors
    /// A [`PaginationError`] if the list cannot be continued. Items that were read before remain valid.
    pub fn after_page(&mut self, items: usize, next_cursor: Option<&Value>) -> Result<Step, PaginationError> {
        self.pages += 1;
        let page = self.pages;
        if items > self.room() {
            return Err(PaginationError::TooManyItems { page, limit: self.item_limit });
        }
        self.items += items;
        let cursor = match next_cursor {
            None | Some(Value::Null) => return Ok(Step::Done),
            Some(Value::String(cursor)) => cursor,
            Some(_) => return Err(PaginationError::IllegalCursor { page }),
        };
        // The modern revision treats an empty cursor like any other (2026-07-28, pagination, "Implementation
        // Guidelines"). Earlier servers sent it to mean "the end", and it selected the first page again.
        let ends_the_list = match self.era {
            Era::Legacy => cursor.is_empty(),
            Era::Modern => false,
        };
        if ends_the_list {
            return Err(PaginationError::EmptyCursor { page });
        }
        if cursor.len() > CURSOR_BYTES {
            return Err(PaginationError::LongCursor { page, bytes: cursor.len() });
        }
        if let Some(earlier) = self.seen.insert(cursor.clone(), page) {
            return Err(PaginationError::RepeatedCursor { page, earlier });
        }
        if page >= self.page_limit {
            return Err(PaginationError::TooManyPages { limit: self.page_limit });
        }
        Ok(Step::Follow(cursor.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_cursor_is_followed_once_in_the_modern_era() {
        let mut guard = PageGuard::new(10, 100, Era::Modern);
        assert_eq!(guard.after_page(1, Some(&json!(""))), Ok(Step::Follow(String::new())));
        assert_eq!(guard.after_page(1, Some(&json!(""))), Err(PaginationError::RepeatedCursor { page: 2, earlier: 1 }));
        let mut guard = PageGuard::new(10, 100, Era::Legacy);
        assert_eq!(guard.after_page(1, Some(&json!(""))), Err(PaginationError::EmptyCursor { page: 1 }));
    }

    fn walk(cursors: &[Value]) -> Result<usize, PaginationError> {
        let mut guard = PageGuard::new(10, 100, Era::Legacy);
        for cursor in cursors {
            if guard.after_page(1, Some(cursor))? == Step::Done {
                break;
            }
        }
        Ok(guard.pages())
    }

    #[test]
    fn follows_to_the_end() {
        assert_eq!(walk(&[json!("a"), json!("b"), Value::Null]), Ok(3));
        let mut guard = PageGuard::new(10, 100, Era::Legacy);
        assert_eq!(guard.after_page(3, None), Ok(Step::Done));
    }

    #[test]
    fn rejects_invalid_cursors() {
        assert_eq!(walk(&[json!("")]), Err(PaginationError::EmptyCursor { page: 1 }));
        assert_eq!(walk(&[json!("a"), json!("a")]), Err(PaginationError::RepeatedCursor { page: 2, earlier: 1 }));
        assert_eq!(
            walk(&[json!("a"), json!("b"), json!("c"), json!("b")]),
            Err(PaginationError::RepeatedCursor { page: 4, earlier: 2 })
        );
        assert_eq!(walk(&[json!("a"), json!(7)]), Err(PaginationError::IllegalCursor { page: 2 }));
        assert_eq!(
            walk(&[json!("x".repeat(CURSOR_BYTES + 1))]),
            Err(PaginationError::LongCursor { page: 1, bytes: CURSOR_BYTES + 1 })
        );
    }

    #[test]
    fn bounds_pages_and_items() {
        let endless: Vec<_> = (0..20).map(|n| json!(n.to_string())).collect();
        assert_eq!(walk(&endless), Err(PaginationError::TooManyPages { limit: 10 }));
        let mut guard = PageGuard::new(10, 100, Era::Legacy);
        assert_eq!(guard.after_page(60, Some(&json!("a"))), Ok(Step::Follow("a".into())));
        assert_eq!(guard.room(), 40);
        assert_eq!(guard.after_page(41, None), Err(PaginationError::TooManyItems { page: 2, limit: 100 }));
    }

    proptest! {
        #[test]
        fn every_walk_ends(cursors in prop::collection::vec("[a-d]{0,2}", 0..200)) {
            let mut guard = PageGuard::new(50, 1_000, Era::Legacy);
            let mut asked = 0;
            let mut followed = HashSet::new();
            for cursor in cursors.iter().cycle().take(10_000) {
                asked += 1;
                match guard.after_page(1, Some(&json!(cursor))) {
                    Ok(Step::Follow(next)) => prop_assert!(followed.insert(next)),
                    Ok(Step::Done) | Err(_) => break,
                }
            }
            prop_assert!(asked <= 50);
        }
    }
}

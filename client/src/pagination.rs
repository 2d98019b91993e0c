//! Following cursors without trusting them.
//!
//! This module owns the decision whether to ask for another page. It is pure: it sees the cursors and counts that a
//! server gave, and never the network. Servers that repeat a cursor, or hand out `""`, have made clients ask for ever.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::revision::Era;

/// A cursor is kept to recognise it again; one that is longer than this is refused.
const CURSOR_BYTES: usize = 8 * 1024;

/// Why a list was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "fault")]
pub enum PageFault {
    /// `nextCursor` was `""` in a revision with a handshake, where it leads to the first page again.
    #[error("page {page} names an empty cursor as the next one")]
    EmptyCursor {
        /// The page, counted from 1.
        page: usize,
    },
    /// `nextCursor` was one that had been followed before.
    #[error("page {page} names a cursor that page {earlier} named before")]
    RepeatedCursor {
        /// The page, counted from 1.
        page: usize,
        /// The page that named it first.
        earlier: usize,
    },
    /// `nextCursor` was not a string.
    #[error("page {page} names a next cursor that is not a string")]
    IllegalCursor {
        /// The page, counted from 1.
        page: usize,
    },
    /// `nextCursor` was longer than a cursor can reasonably be.
    #[error("page {page} names a cursor of {bytes} bytes")]
    LongCursor {
        /// The page, counted from 1.
        page: usize,
        /// The length of the cursor in bytes.
        bytes: usize,
    },
    /// The list has more pages than the limit.
    #[error("the list goes on after {limit} pages")]
    TooManyPages {
        /// The limit.
        limit: usize,
    },
    /// The list has more items than the limit.
    #[error("the list has more than {limit} items by page {page}")]
    TooManyItems {
        /// The page, counted from 1.
        page: usize,
        /// The limit.
        limit: usize,
    },
}

impl PageFault {
    /// A stable name of the kind of fault.
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

/// What to do after a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The list is complete.
    Done,
    /// Ask for the page of this cursor.
    Follow(String),
}

/// Watches one walk through one list.
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
    /// A walk of at most this many pages and items.
    #[must_use]
    pub fn new(page_limit: usize, item_limit: usize, era: Era) -> Self {
        Self { page_limit, item_limit, pages: 0, items: 0, era, seen: HashMap::new() }
    }

    /// The number of pages that were read.
    #[must_use]
    pub const fn pages(&self) -> usize {
        self.pages
    }

    /// How many of a page's items still fit the limit.
    #[must_use]
    pub fn room(&self) -> usize {
        self.item_limit.saturating_sub(self.items)
    }

    /// Takes note of a page, and says what to do next.
    ///
    /// `next_cursor` is the field as it was on the wire. A null counts as absent: it cannot be sent back as a cursor.
    ///
    /// # Errors
    /// A [`PageFault`] if the list cannot be followed any further. What was read so far remains good.
    pub fn after_page(&mut self, items: usize, next_cursor: Option<&Value>) -> Result<Step, PageFault> {
        self.pages += 1;
        let page = self.pages;
        if items > self.room() {
            return Err(PageFault::TooManyItems { page, limit: self.item_limit });
        }
        self.items += items;
        let cursor = match next_cursor {
            None | Some(Value::Null) => return Ok(Step::Done),
            Some(Value::String(cursor)) => cursor,
            Some(_) => return Err(PageFault::IllegalCursor { page }),
        };
        // The modern revision says that an empty cursor is one like any other (2026-07-28, pagination, "Implementation
        // Guidelines"). Before it was said, it was a server's way to write "the end", and led to the first page again.
        if cursor.is_empty() && self.era == Era::Legacy {
            return Err(PageFault::EmptyCursor { page });
        }
        if cursor.len() > CURSOR_BYTES {
            return Err(PageFault::LongCursor { page, bytes: cursor.len() });
        }
        if let Some(earlier) = self.seen.insert(cursor.clone(), page) {
            return Err(PageFault::RepeatedCursor { page, earlier });
        }
        if page >= self.page_limit {
            return Err(PageFault::TooManyPages { limit: self.page_limit });
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
        assert_eq!(guard.after_page(1, Some(&json!(""))), Err(PageFault::RepeatedCursor { page: 2, earlier: 1 }));
        let mut guard = PageGuard::new(10, 100, Era::Legacy);
        assert_eq!(guard.after_page(1, Some(&json!(""))), Err(PageFault::EmptyCursor { page: 1 }));
    }

    fn walk(cursors: &[Value]) -> Result<usize, PageFault> {
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
    fn refuses_cursors_that_lead_nowhere() {
        assert_eq!(walk(&[json!("")]), Err(PageFault::EmptyCursor { page: 1 }));
        assert_eq!(walk(&[json!("a"), json!("a")]), Err(PageFault::RepeatedCursor { page: 2, earlier: 1 }));
        assert_eq!(
            walk(&[json!("a"), json!("b"), json!("c"), json!("b")]),
            Err(PageFault::RepeatedCursor { page: 4, earlier: 2 })
        );
        assert_eq!(walk(&[json!("a"), json!(7)]), Err(PageFault::IllegalCursor { page: 2 }));
        assert_eq!(
            walk(&[json!("x".repeat(CURSOR_BYTES + 1))]),
            Err(PageFault::LongCursor { page: 1, bytes: CURSOR_BYTES + 1 })
        );
    }

    #[test]
    fn bounds_pages_and_items() {
        let endless: Vec<_> = (0..20).map(|n| json!(n.to_string())).collect();
        assert_eq!(walk(&endless), Err(PageFault::TooManyPages { limit: 10 }));
        let mut guard = PageGuard::new(10, 100, Era::Legacy);
        assert_eq!(guard.after_page(60, Some(&json!("a"))), Ok(Step::Follow("a".into())));
        assert_eq!(guard.room(), 40);
        assert_eq!(guard.after_page(41, None), Err(PageFault::TooManyItems { page: 2, limit: 100 }));
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

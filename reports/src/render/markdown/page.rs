//! A page of limited length, made of pieces that are complete or omitted.

/// Maximum length of a page, in characters: GitHub rejects comments with more than 65,536.
const MAX_LENGTH: usize = 65_000;
/// Characters that are reserved for the note about omitted pieces.
const RESERVED: usize = 200;

/// A page and its length.
#[derive(Debug, Default)]
pub(in crate::render) struct Page {
    text: String,
    /// Length in characters.
    length: usize,
    omitted: usize,
}

impl Page {
    /// Appends a piece. After the first one that does not fit, all pieces are omitted, so that no row ends up in another
    /// table.
    pub(in crate::render) fn push(&mut self, piece: &str) {
        let length = piece.chars().count();
        if self.omitted > 0 || self.length + length > MAX_LENGTH - RESERVED {
            self.omitted += 1;
        } else {
            self.text.push_str(piece);
            self.length += length;
        }
    }

    /// The page, with a note if pieces were omitted.
    pub(in crate::render) fn finish(mut self) -> String {
        if self.omitted > 0 {
            let note = "more parts do not fit on this page; the JSON report has everything.";
            self.text.push_str(&format!("\n{} {note}\n", self.omitted));
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_that_does_not_fit_ends_the_page() {
        let mut page = Page::default();
        page.push("first\n");
        page.push(&"ä".repeat(MAX_LENGTH));
        page.push("last\n");
        assert_eq!(page.finish(), "first\n\n2 more parts do not fit on this page; the JSON report has everything.\n");
    }

    #[test]
    fn the_note_fits_after_a_full_page() {
        let mut page = Page::default();
        page.push(&"ä".repeat(MAX_LENGTH - RESERVED));
        page.push("x");
        let page = page.finish();
        assert!(page.ends_with("everything.\n") && page.chars().count() <= MAX_LENGTH);
    }
}

//! Data for the placeholders of requests: one row for each iteration.

/// Rows of data. Without rows there are no columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DataSet {
    columns: Vec<String>,
    /// Cells by row and column.
    rows: Vec<Vec<Cell>>,
}

/// A value, encoded for both places where it can be inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cell {
    /// As JSON.
    json: Box<str>,
    /// As a part of a JSON string.
    text: Box<str>,
}

impl DataSet {
    /// The names of the columns.
    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The value of a column in the row of an iteration, as JSON or as a part of a JSON string. After the last row follows
    /// the first one.
    pub(super) fn cell(&self, iteration: u64, column: usize, in_text: bool) -> &str {
        // The remainder is smaller than the number of rows, which is a `usize`.
        let row = (iteration % self.rows.len().max(1) as u64) as usize;
        let cell = self.rows.get(row).and_then(|row| row.get(column));
        cell.map_or("", |cell| if in_text { &cell.text } else { &cell.json })
    }
}

//! Data for the placeholders of requests, from a file: one row for each iteration.

use std::{fs, path::Path};

use diagnostics::{Diagnostic, Location};
use serde_json::{Map, Value};

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

impl Cell {
    fn new(value: &Value) -> Self {
        let json = value.to_string();
        let text = value.as_str().map_or_else(|| escaped(&json), escaped);
        Self { json: json.into(), text: text.into() }
    }
}

impl DataSet {
    /// Reads a file: CSV with a header, whose values are strings, or JSON Lines with one object per line.
    ///
    /// # Errors
    /// The first problem, with line and column.
    pub(super) fn read(path: &Path) -> Result<Self, Diagnostic> {
        let file = path.display().to_string();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let parse = match extension {
            "csv" => csv_rows,
            "jsonl" | "ndjson" => json_rows,
            _ => {
                return Err(Diagnostic::new(&file, "unknown format of data")
                    .with_help("use a file with the extension `.csv` or `.jsonl`"));
            }
        };
        let bytes =
            fs::read(path).map_err(|cause| Diagnostic::new(&file, format!("the file cannot be read: {cause}")))?;
        let source = Source { file: &file, text: utf8(&file, &bytes)? };
        let data = parse(source)?;
        if data.rows.is_empty() {
            return Err(Diagnostic::new(&file, "the file has no rows").with_help("add one row per iteration, or some"));
        }
        Ok(data)
    }

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

/// A text as the inside of a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// A file and its name in messages.
#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    /// An error at a line and column, both counted from 1.
    fn error(&self, line: usize, column: usize, message: String) -> Diagnostic {
        let excerpt = self.text.lines().nth(line - 1).unwrap_or_default().to_owned();
        Diagnostic::new(self.file, message).at(Location { line, column, width: 1, excerpt, omitted: 0 })
    }
}

fn utf8<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, Diagnostic> {
    std::str::from_utf8(bytes).map(|text| text.strip_prefix('\u{feff}').unwrap_or(text)).map_err(|cause| {
        let before = String::from_utf8_lossy(&bytes[..cause.valid_up_to()]);
        let line = before.matches('\n').count() + 1;
        let excerpt = before.rsplit('\n').next().unwrap_or_default().to_owned();
        let column = excerpt.chars().count() + 1;
        Diagnostic::new(file, "the file is not UTF-8").at(Location { line, column, width: 1, excerpt, omitted: 0 })
    })
}

fn csv_rows(source: Source<'_>) -> Result<DataSet, Diagnostic> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(source.text.as_bytes());
    let mut data = DataSet::default();
    for record in reader.records() {
        // The text is UTF-8, and records may have any length, so nothing else can be wrong.
        let record = record.map_err(|cause| Diagnostic::new(source.file, cause.to_string()))?;
        let line = record.position().map_or(1, |position| position.line() as usize);
        let column = |field| field_column(source.text.lines().nth(line - 1).unwrap_or_default(), field);
        if data.columns.is_empty() {
            for (field, name) in record.iter().map(str::trim).enumerate() {
                if name.is_empty() || data.columns.iter().any(|known| known == name) {
                    let problem = if name.is_empty() { "has no name" } else { "occurs twice" };
                    return Err(source.error(line, column(field), format!("the column `{name}` {problem}")));
                }
                data.columns.push(name.to_owned());
            }
            continue;
        }
        let (found, expected) = (record.len(), data.columns.len());
        if found != expected {
            let message = format!("the row has {found} fields, and the header has {expected}");
            return Err(source.error(line, column(found.min(expected)), message));
        }
        data.rows.push(record.iter().map(|field| Cell::new(&field.into())).collect());
    }
    Ok(data)
}

/// The column at which a field of a line starts, or at which the line ends. Commas in quotation marks separate no fields.
fn field_column(line: &str, field: usize) -> usize {
    let (mut before, mut quoted) = (0, false);
    for (position, ch) in line.chars().enumerate() {
        if before == field {
            return position + 1;
        }
        quoted ^= ch == '"';
        before += usize::from(ch == ',' && !quoted);
    }
    line.chars().count() + 1
}

fn json_rows(source: Source<'_>) -> Result<DataSet, Diagnostic> {
    let mut data = DataSet::default();
    for (line, text) in (1..).zip(source.text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        let row: Map<String, Value> = serde_json::from_str(text).map_err(|cause| {
            // The position of the error follows its text, and is that within the line.
            let message = cause.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            source.error(line, cause.column().max(1), format!("not a JSON object: {message}"))
        })?;
        if data.columns.is_empty() {
            data.columns = row.keys().cloned().collect();
        }
        let cell = |name: &String| {
            let missing = || source.error(line, 1, format!("the object has no `{name}`, which the first one has"));
            row.get(name).map(Cell::new).ok_or_else(missing)
        };
        data.rows.push(data.columns.iter().map(cell).collect::<Result<_, _>>()?);
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &[u8]) -> Result<DataSet, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        DataSet::read(&path).map_err(|error| {
            let at = error.location.map(|at| format!("{}:{}: ", at.line, at.column)).unwrap_or_default();
            format!("{at}{}", error.message)
        })
    }

    #[test]
    fn rows_follow_each_other_and_start_again() {
        let csv = read("a.csv", "\u{feff}id, name\n1,\"a \"\"b\"\",\nc\"\n2,\u{e9}\n".as_bytes()).unwrap();
        assert_eq!(csv.columns(), ["id", "name"]);
        let cells = [0, 1, 2].map(|iteration| csv.cell(iteration, 1, false));
        assert_eq!(cells, [r#""a \"b\",\nc""#, "\"\u{e9}\"", r#""a \"b\",\nc""#]);
        assert_eq!((csv.cell(1, 0, false), csv.cell(1, 0, true)), ("\"2\"", "2"));
        let json =
            read("a.jsonl", b"{\"id\": 1, \"x\": {\"y\": [\"z\"]}}\n\n{\"x\": \"\\\"\", \"id\": 2, \"more\": 1}\n")
                .unwrap();
        assert_eq!(json.columns(), ["id", "x"]);
        assert_eq!((json.cell(0, 0, false), json.cell(0, 1, false)), ("1", r#"{"y":["z"]}"#));
        assert_eq!((json.cell(0, 1, true), json.cell(3, 1, true)), (r#"{\"y\":[\"z\"]}"#, r#"\""#));
    }

    #[test]
    fn problems_have_line_and_column() {
        for (name, text, problem) in [
            ("a.csv", &b"id,name\n1,a\n2\n"[..], "3:2: the row has 1 fields, and the header has 2"),
            ("a.csv", b"id,name\n\"a,b\",c,d\n", "2:9: the row has 3 fields, and the header has 2"),
            ("a.csv", b"id,b,id\n", "1:6: the column `id` occurs twice"),
            ("a.csv", b"id,\n1,2\n", "1:4: the column `` has no name"),
            ("a.csv", b"id\n", "the file has no rows"),
            ("a.csv", b"id\na\nb\xff\n", "3:2: the file is not UTF-8"),
            ("a.jsonl", b"{\"a\": 1}\n{\"a\" 1}\n", "2:6: not a JSON object: expected `:`"),
            ("a.jsonl", b"\n[1]\n", "2:1: not a JSON object"),
            ("a.jsonl", b"{\"a\": 1}\n{\"b\": 1}\n", "2:1: the object has no `a`, which the first one has"),
            ("a.ndjson", b"\n", "the file has no rows"),
            ("a.txt", b"", "unknown format of data"),
        ] {
            let error = read(name, text).unwrap_err();
            assert!(error.starts_with(problem), "{error} instead of {problem}");
        }
        let missing = DataSet::read(Path::new("/does/not/exist.csv")).unwrap_err();
        assert!(missing.message.starts_with("the file cannot be read"), "{missing}");
    }
}

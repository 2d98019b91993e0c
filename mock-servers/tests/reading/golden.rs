//! One broken file per mistake, beside the exact words that its author is told: `<format>/<mistake>.yaml` or `.json`, and
//! `<mistake>.golden`. With `UPDATE_GOLDEN=1` the golden files are written anew: then look at each difference by eye.

use std::path::{Path, PathBuf};

use mcp_workbench_mock_servers::{oauth, profile};

/// Every broken file of a format, with the text that its reader refuses it with; none if it does not.
fn each(format: &str, read: impl Fn(&str, &str) -> Option<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reading").join(format);
    let paths = std::fs::read_dir(&folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let (golden, mut broken): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.partition(|path| path.extension().is_some_and(|found| found == "golden"));
    broken.sort();
    assert!(broken.len() >= 10, "only {} mistakes of the {format}", broken.len());
    let mut wrong = Vec::new();
    for path in &broken {
        let name = path.file_name().expect("a name").to_string_lossy();
        let text = std::fs::read_to_string(path).expect("the file");
        wrong.extend(compared(path, read(&text, &format!("{format}/{name}"))));
    }
    for path in golden {
        let broken = broken.iter().any(|broken| broken.with_extension("golden") == path);
        wrong.extend((!broken).then(|| format!("{} belongs to no file", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// How what was told departs from the golden file.
fn compared(path: &Path, told: Option<String>) -> Option<String> {
    let golden = path.with_extension("golden");
    let Some(told) = told.map(|told| format!("{told}\n")) else {
        return Some(format!("{} is not broken", path.display()));
    };
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, told).expect("written");
        return None;
    }
    match std::fs::read_to_string(&golden) {
        Ok(expected) if expected == told => None,
        Ok(expected) => Some(format!("{}: told\n{told}\nbut the golden file says\n{expected}", path.display())),
        Err(_) => Some(format!("{} is missing; it would be\n{told}", golden.display())),
    }
}

#[test]
fn every_error_in_a_script_has_the_message_of_its_golden_file() {
    each("script", |text, file| profile::parse(text, file).err().map(|error| error.to_string()));
}

#[test]
fn every_error_in_an_authorization_script_has_the_message_of_its_golden_file() {
    each("authorization", |text, file| oauth::script::parse(text, file).err().map(|error| error.to_string()));
}

//! Small trees for the tests of the checks.

use std::path::Path;

use super::Problem;
use super::tree::Tree;

/// A temporary folder that holds these files.
pub(super) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    root
}

/// The problems that a check finds in a tree of these files, as they are shown.
pub(super) fn problems(check: impl FnOnce(&Tree) -> Vec<Problem>, files: &[(&str, &str)]) -> Vec<String> {
    let root = folder(files);
    let tree = Tree::read(root.path()).expect("the tree was just written");
    check(&tree).into_iter().map(|problem| problem.to_string()).collect()
}

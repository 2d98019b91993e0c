//! The texts of the workspace, read once.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

/// A larger file is generated.
const SIZE_LIMIT: u64 = 4 * 1024 * 1024;

/// The texts below a folder, without what git ignores.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: PathBuf,
    pub(super) files: Vec<File>,
}

/// One text.
#[derive(Debug)]
pub(super) struct File {
    /// The path below the root, with `/` between its parts.
    pub(super) path: String,
    pub(super) text: String,
}

impl Tree {
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        // Hidden files are read too (the CI configuration); `require_git` lets a plain folder be a tree.
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .require_git(false)
            .parents(false)
            .git_global(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .sort_by_file_path(Path::cmp)
            .build();
        for entry in walk {
            let entry = entry?;
            if !entry.file_type().is_some_and(|kind| kind.is_file()) || entry.metadata()?.len() > SIZE_LIMIT {
                continue;
            }
            // What is not UTF-8 is an image or an archive, not a text.
            let Ok(text) = String::from_utf8(std::fs::read(entry.path())?) else { continue };
            let below = entry.path().strip_prefix(root)?;
            let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
            files.push(File { path: parts.join("/"), text });
        }
        Ok(Self { root: root.to_owned(), files })
    }

    /// The files whose name ends like this.
    pub(super) fn ending(&self, end: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }
}

impl File {
    /// The line of a place in the text, counted from 1.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::folder;

    #[test]
    fn reads_hidden_files_and_leaves_out_what_git_ignores() {
        let root = folder(&[
            (".gitignore", "/target\n"),
            (".github/workflows/ci.yml", "on: push\n"),
            (".git/config", "x"),
            ("target/debug/x.rs", "x"),
            ("src/main.rs", "x"),
        ]);
        std::fs::write(root.path().join("image.png"), [0xff, 0xd8]).unwrap();
        let tree = Tree::read(root.path()).unwrap();
        let paths: Vec<_> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".github/workflows/ci.yml", ".gitignore", "src/main.rs"]);
    }

    #[test]
    fn leaves_out_what_git_ignores_also_in_a_plain_folder() {
        let root = folder(&[(".gitignore", "/target\n"), ("target/x.rs", "x")]);
        let tree = Tree::read(root.path()).unwrap();
        assert_eq!(tree.files.len(), 1, "{:?}", tree.files);
    }

    #[test]
    fn counts_lines_from_one() {
        let file = File { path: String::new(), text: "a\nb\nc".to_owned() };
        assert_eq!([0, 1, 2, 4].map(|offset| file.line_of(offset)), [1, 1, 2, 3]);
    }
}

//! `--watch`: repeats a run when files change, and shows what changed compared with the run before.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use reports::{
    Run,
    comparison::{Comparison, Tolerance},
    render::{Verbosity, comparison},
};
use scenarios::run::RunPlan;
use tokio::sync::mpsc;

use crate::{
    error::{CommandError, CommandResult, exit_code},
    interrupt::{self, Interrupts},
    output::{OutputArgs, style},
    print, run,
};

/// Editors and compilers write several files, so a run begins when nothing has changed for this time.
const QUIET: Duration = Duration::from_millis(200);

/// Directories whose changes are ignored, besides hidden ones: the programs in them are written by tools.
const IGNORED: [&str; 3] = ["node_modules", "__pycache__", "target"];

/// Repetition of a run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WatchArgs {
    /// Run again when a file changes: the program and the directories of the files that the command names, scenarios and
    /// baseline. Shows what changed compared with the run before.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Also watch this file or directory.
    #[arg(long, value_name = "PATH", requires = "watch")]
    watch_path: Vec<PathBuf>,
}

/// What is watched.
#[derive(Debug, Default)]
pub(crate) struct WatchedFiles {
    /// Files, which programs may replace.
    files: BTreeSet<PathBuf>,
    /// Directories with all that is below them.
    directories: BTreeSet<PathBuf>,
    /// Directories that runs write, whose changes would start runs forever.
    written: Vec<PathBuf>,
}

impl WatchedFiles {
    /// Adds the program of a command, if it is a file, and the directories of the files among its arguments.
    pub(crate) fn add_command<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        for (position, word) in words.into_iter().enumerate() {
            let path = Path::new(word);
            match path.is_file() {
                true if position == 0 => self.add(path),
                true => self.add(path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))),
                false => {}
            }
        }
    }

    /// Adds a file, or a directory with all that is below it.
    pub(crate) fn add(&mut self, path: &Path) {
        // A path that does not exist is an error of the run itself.
        let Ok(path) = fs::canonicalize(path) else { return };
        if path.is_dir() {
            self.directories.insert(path)
        } else {
            self.files.insert(path)
        };
    }

    /// Excludes a directory that runs write, which may not exist yet.
    fn exclude(&mut self, directory: &Path) {
        // The run itself reports a directory that cannot be written.
        self.written.extend(fs::create_dir_all(directory).and_then(|()| fs::canonicalize(directory)).ok());
    }

    /// Whether a change of this file starts a run.
    fn contains(&self, path: &Path) -> bool {
        if self.written.iter().any(|directory| path.starts_with(directory)) {
            return false;
        }
        let below = |directory: &PathBuf| {
            let inner = path.strip_prefix(directory).ok()?;
            let is_ignored = |part: &OsStr| {
                let part = part.to_string_lossy();
                part.starts_with('.') || IGNORED.contains(&&*part)
            };
            Some(!inner.iter().any(is_ignored))
        };
        self.files.contains(path) || self.directories.iter().filter_map(below).any(|is_watched| is_watched)
    }

    /// Starts watching. The changed files are sent on the channel.
    fn start(self) -> notify::Result<(RecommendedWatcher, mpsc::UnboundedReceiver<PathBuf>)> {
        let (sender, receiver) = mpsc::unbounded_channel();
        // A file that is replaced is a new one, so its directory is watched.
        let parents: BTreeSet<_> = self.files.iter().filter_map(|file| file.parent()).map(Path::to_owned).collect();
        let directories = self.directories.clone();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if !event.kind.is_access() {
                // The receiver is dropped when the command ends.
                event.paths.into_iter().filter(|path| self.contains(path)).for_each(|path| drop(sender.send(path)));
            }
        })?;
        for directory in directories.iter() {
            watcher.watch(directory, RecursiveMode::Recursive)?;
        }
        for parent in parents.iter().filter(|parent| !directories.contains(*parent)) {
            watcher.watch(parent, RecursiveMode::NonRecursive)?;
        }
        Ok((watcher, receiver))
    }
}

/// Executes the run, and repeats it after each change until the user interrupts it. Errors of a repeated run are printed: the
/// next change may fix them.
pub(crate) fn execute(
    plan: impl Fn() -> Result<RunPlan, CommandError>,
    mut files: WatchedFiles,
    args: &WatchArgs,
    output: &OutputArgs,
) -> CommandResult {
    args.watch_path.iter().for_each(|path| files.add(path));
    files.exclude(output.output.as_deref().unwrap_or(&run::runs_directory()));
    let paths: Vec<_> = files.files.iter().chain(&files.directories).map(|path| path.display().to_string()).collect();
    if paths.is_empty() {
        let error = CommandError::input(anyhow::anyhow!("there are no files to watch"));
        return Err(error.with_help("the command names no file; add `--watch-path PATH`"));
    }
    // Before the first run, so that no change and no signal is lost.
    let (_watcher, mut changes) = files.start().context("cannot watch files").map_err(CommandError::environment)?;
    let runtime = interrupt::runtime()?;
    let mut interrupts = runtime.block_on(async { Interrupts::watch() })?;
    let mut before: Option<Run> = None;
    loop {
        let passed;
        match plan().and_then(|plan| run::finish(plan, output)) {
            Ok(run) => {
                if let Some(before) = &before {
                    let found = Comparison::between(before, &run, Tolerance::default());
                    print::raw(&comparison::terminal(&found, &style(Verbosity::Normal)))?;
                }
                passed = run.passed();
                before = Some(run);
            }
            Err(error) => {
                error.report();
                passed = false;
            }
        }
        print::note(&format!("waiting for changes of {} (Ctrl-C stops)", paths.join(", ")));
        let changed = runtime.block_on(async {
            tokio::select! {
                changed = settled(&mut changes) => Some(changed),
                _ = interrupts.next() => None,
            }
        });
        match changed {
            Some(path) => print::note(&format!("{} changed", path.display())),
            None => return Ok(exit_code(passed)),
        }
    }
}

/// The first file that has changed, as soon as no further one changes.
async fn settled(changes: &mut mpsc::UnboundedReceiver<PathBuf>) -> PathBuf {
    let Some(first) = changes.recv().await else { return std::future::pending().await };
    while let Ok(Some(_)) = tokio::time::timeout(QUIET, changes.recv()).await {}
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_program_and_the_directories_of_its_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().canonicalize().expect("a path");
        for path in ["bin/server", "src/main.py", "src/node_modules/x.js", "src/.git/index", "other/a.txt"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, "").expect("a file");
        }
        let words = ["bin/server", "--flag", "src/main.py", "absent.py"].map(|word| match word {
            "--flag" => word.to_owned(),
            path => root.join(path).display().to_string(),
        });
        let mut watched = WatchedFiles::default();
        watched.add_command(words.iter().map(String::as_str));
        watched.exclude(&root.join("src/reports/new"));
        for (path, expected) in [
            ("bin/server", true),
            ("bin/other", false),
            ("src/main.py", true),
            ("src/new/module.py", true),
            ("src/node_modules/x.js", false),
            ("src/.git/index", false),
            ("src/reports/new/run.json", false),
            ("src/reports/old.json", true),
            ("other/a.txt", false),
        ] {
            assert_eq!(watched.contains(&root.join(path)), expected, "{path}");
        }
    }
}

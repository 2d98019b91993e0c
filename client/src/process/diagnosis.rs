//! Diagnoses why a program cannot be started, because the system reports one error for several causes.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt, fs,
    io::{self, Read},
    path::{self, Path, PathBuf},
};

use super::platform;

/// Number of bytes that Linux reads for the name of the interpreter (execve(2)).
const HEAD_BYTES: u64 = 255;

/// The reason why a program cannot be started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartProblem {
    /// The working directory does not exist.
    NoWorkingDirectory(PathBuf),
    /// It is in no directory of `PATH`.
    NotInPath,
    /// The file does not exist.
    NoSuchFile(PathBuf),
    /// The path is a directory.
    IsDirectory(PathBuf),
    /// The file is not executable.
    NotExecutable(PathBuf),
    /// The interpreter of a script does not exist.
    NoInterpreter {
        /// The script.
        script: PathBuf,
        /// The name in its first line.
        interpreter: String,
    },
    /// The file is neither an executable nor a script with an interpreter.
    NoProgram(PathBuf),
    /// Another reason; see the error of the system.
    Other,
}

impl fmt::Display for StartProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorkingDirectory(path) => write!(f, "working directory `{}` does not exist", path.display()),
            Self::NotInPath => f.write_str("not found in `PATH`; is it installed?"),
            Self::NoSuchFile(path) => write!(f, "file `{}` does not exist", path.display()),
            Self::IsDirectory(path) => write!(f, "`{}` is a directory", path.display()),
            Self::NotExecutable(path) => {
                write!(f, "`{0}` is not executable; run `chmod +x {0}`", path.display())
            }
            Self::NoInterpreter { script, interpreter } => {
                write!(f, "interpreter {interpreter:?} of `{}` does not exist", script.display())
            }
            Self::NoProgram(path) => {
                let path = path.display();
                write!(f, "`{path}` is neither a program nor a script whose first line names an interpreter (`#!`)")
            }
            Self::Other => f.write_str("rejected by the system"),
        }
    }
}

/// Determines the reason.
pub(crate) fn diagnose(
    command: &str,
    cwd: Option<&Path>,
    environment: &BTreeMap<OsString, OsString>,
    error: &io::Error,
) -> StartProblem {
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
        return StartProblem::NoWorkingDirectory(cwd.to_owned());
    }
    let path = if command.contains(path::is_separator) {
        cwd.unwrap_or(Path::new("")).join(command)
    } else {
        match in_path(command, path_variable(environment)) {
            Some(path) => path,
            None => return StartProblem::NotInPath,
        }
    };
    let Ok(metadata) = fs::metadata(&path) else { return StartProblem::NoSuchFile(path) };
    if metadata.is_dir() {
        return StartProblem::IsDirectory(path);
    }
    if !platform::is_executable(&metadata) {
        return StartProblem::NotExecutable(path);
    }
    let mut head = Vec::new();
    let read = fs::File::open(&path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    match (read, head.strip_prefix(b"#!")) {
        (Ok(_), Some(line)) => {
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let line = line.trim_ascii_start();
            let name = line.split(|byte| matches!(byte, b' ' | b'\t')).next().unwrap_or_default();
            if platform::path_of(name).exists() {
                return StartProblem::Other;
            }
            StartProblem::NoInterpreter { script: path, interpreter: String::from_utf8_lossy(name).into_owned() }
        }
        (Ok(_), None) if error.raw_os_error() == Some(platform::NOT_A_PROGRAM) => StartProblem::NoProgram(path),
        _ => StartProblem::Other,
    }
}

fn path_variable(environment: &BTreeMap<OsString, OsString>) -> Option<&OsString> {
    let is_path = |name: &OsString| name.to_str().is_some_and(|name| platform::same_variable(name, "PATH"));
    environment.iter().find_map(|(name, value)| is_path(name).then_some(value))
}

/// The first executable file of this name, otherwise the first file.
fn in_path(command: &str, path: Option<&OsString>) -> Option<PathBuf> {
    let directories = std::env::split_paths(path?);
    let names = platform::file_names(command);
    let files = directories.flat_map(|directory| names.iter().map(move |name| directory.join(name)));
    let files: Vec<_> = files.filter(|file| file.is_file()).collect();
    let executable = |file: &&PathBuf| fs::metadata(file).is_ok_and(|file| platform::is_executable(&file));
    files.iter().find(executable).or(files.first()).cloned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn tells_the_reasons_apart() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode: u32| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let check = |command: &Path, cwd: Option<&Path>, path: &str| {
            let environment = BTreeMap::from([("PATH".into(), path.into())]);
            let noexec = io::Error::from_raw_os_error(platform::NOT_A_PROGRAM);
            diagnose(command.to_str().unwrap(), cwd, &environment, &noexec)
        };
        let plain = write("plain", "echo", 0o644);
        let lost = write("lost", "#! /no/such/shell -e\n", 0o755);
        let windows = write("windows", "#!/bin/sh\r\necho\n", 0o755);
        let bare = write("bare", "echo\n", 0o755);
        let nowhere = directory.path().join("nowhere");
        let path = directory.path().to_str().unwrap();
        assert_eq!(check(Path::new("nothing"), None, path), StartProblem::NotInPath);
        assert_eq!(check(Path::new("plain"), None, path), StartProblem::NotExecutable(plain.clone()));
        assert_eq!(check(&nowhere, None, path), StartProblem::NoSuchFile(nowhere.clone()));
        assert_eq!(check(directory.path(), None, path), StartProblem::IsDirectory(directory.path().to_owned()));
        assert_eq!(check(&plain, None, path), StartProblem::NotExecutable(plain));
        assert_eq!(check(Path::new("bare"), None, path), StartProblem::NoProgram(bare));
        assert_eq!(check(Path::new("sh"), Some(&nowhere), path), StartProblem::NoWorkingDirectory(nowhere));
        for (script, named) in [(lost, "/no/such/shell"), (windows, "/bin/sh\r")] {
            let expected = StartProblem::NoInterpreter { script: script.clone(), interpreter: named.into() };
            assert_eq!(check(&script, None, path), expected);
        }
        assert!(check(Path::new("windows"), None, path).to_string().contains(r"/bin/sh\r"));
    }
}

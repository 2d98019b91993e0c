//! `package`: the artifacts of a release, each from the built program. Nothing is published.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use crate::{ENVIRONMENT, build};

const HELP: &str = "\
Build the packages of a release

Usage: cargo xtask package [OPTIONS] <KIND>...

Kinds:
  archive  tar.gz with the program, man pages, completions and licenses
  npm      npm packages: one with the program for this system, one that starts it (needs npm)
  wheel    Python wheel with the program (needs maturin)
  all      All of them

Options:
      --target <TRIPLE>  Target of cargo, for example x86_64-unknown-linux-musl [default: this system]
      --output <DIR>     Directory of the packages [default: target/packages]
  -h, --help             Print help
";

const NAME: &str = "mcp-workbench";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The options of the command.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    kinds: Vec<Kind>,
    target: Option<String>,
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Archive,
    Npm,
    Wheel,
}

impl Options {
    /// Parses the command line; `None` asks for help.
    fn parse(arguments: &[OsString]) -> Result<Option<Self>, String> {
        let mut options = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let word = word.to_string_lossy();
            let mut value = || words.next().cloned().ok_or_else(|| format!("`{word}` needs a value"));
            match &*word {
                "archive" => options.kinds.push(Kind::Archive),
                "npm" => options.kinds.push(Kind::Npm),
                "wheel" => options.kinds.push(Kind::Wheel),
                "all" => options.kinds.extend([Kind::Archive, Kind::Npm, Kind::Wheel]),
                "--target" => options.target = Some(value()?.to_string_lossy().into_owned()),
                "--output" => options.output = Some(value()?.into()),
                "-h" | "--help" => return Ok(None),
                _ => return Err(format!("unexpected argument `{word}`")),
            }
        }
        if options.kinds.is_empty() { Err("name at least one kind".to_owned()) } else { Ok(Some(options)) }
    }
}

/// Builds the program and its packages.
pub(crate) fn run(arguments: &[OsString]) -> io::Result<ExitCode> {
    let options = match Options::parse(arguments) {
        Ok(Some(options)) => options,
        Ok(None) => {
            io::stdout().write_all(HELP.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(problem) => {
            writeln!(io::stderr(), "error: {problem}\n\n{HELP}")?;
            return Ok(ExitCode::from(2));
        }
    };
    let output = options.output.clone().unwrap_or_else(|| build::root().join("target/packages"));
    fs::create_dir_all(&output)?;
    let output = output.canonicalize()?;
    let target = Target::new(options.target)?;
    let mut compile = build::cargo();
    compile.args(["build", "--release", "--package", NAME, "--manifest-path"]).arg(build::root().join("Cargo.toml"));
    if let Some(triple) = &target.chosen {
        compile.args(["--target", triple]);
    }
    if !compile.status()?.success() {
        return Ok(ExitCode::from(ENVIRONMENT));
    }
    for kind in options.kinds {
        match kind {
            Kind::Archive => archive(&target, &output)?,
            Kind::Npm => npm(&target, &output)?,
            Kind::Wheel => wheel(&target, &output)?,
        }
    }
    let mut names: Vec<_> = fs::read_dir(&output)?.flatten().filter(|entry| entry.path().is_file()).collect();
    names.sort_by_key(fs::DirEntry::file_name);
    for entry in names {
        let megabytes = entry.metadata()?.len() as f64 / 1e6;
        writeln!(io::stdout(), "{megabytes:6.1} MB  {}", entry.path().display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The system that the program is built for.
struct Target {
    /// The triple of the command line.
    chosen: Option<String>,
    /// The triple.
    triple: String,
    /// The built program.
    program: PathBuf,
}

impl Target {
    fn new(chosen: Option<String>) -> io::Result<Self> {
        let this = std::env::current_exe()?;
        let target = this.parent().and_then(Path::parent).ok_or_else(|| io::Error::other("no build directory"))?;
        let directory = chosen.as_ref().map_or_else(|| target.to_owned(), |triple| target.join(triple));
        let triple = match &chosen {
            Some(triple) => triple.clone(),
            None => host()?,
        };
        Ok(Self { chosen, triple, program: directory.join("release").join(NAME) })
    }

    /// The system in the names of npm: `process.platform` and `process.arch`.
    fn npm(&self) -> io::Result<(&'static str, &'static str)> {
        let known = match self.triple.split_once('-') {
            Some(("x86_64", rest)) if rest.contains("linux") => ("linux", "x64"),
            Some(("aarch64", rest)) if rest.contains("linux") => ("linux", "arm64"),
            _ => return Err(io::Error::other(format!("npm has no name for {}", self.triple))),
        };
        Ok(known)
    }
}

/// The triple of this system, from `rustc -vV`.
fn host() -> io::Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let triple = text.lines().find_map(|line| line.strip_prefix("host: "));
    triple.map(str::to_owned).ok_or_else(|| io::Error::other("`rustc -vV` names no host"))
}

fn archive(target: &Target, output: &Path) -> io::Result<()> {
    let name = format!("{NAME}-{VERSION}-{}", target.triple);
    let directory = emptied(&output.join(&name))?;
    fs::copy(&target.program, directory.join(NAME))?;
    for file in LICENSES.into_iter().chain(["README.md", "CHANGELOG.md"]) {
        fs::copy(build::root().join(file), directory.join(file))?;
    }
    checked(Command::new(&target.program).args(["man", "--output"]).arg(directory.join("man")))?;
    fs::create_dir(directory.join("completions"))?;
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = Command::new(&target.program).args(["completions", shell]).output()?;
        fs::write(directory.join("completions").join(format!("{NAME}.{shell}")), script.stdout)?;
    }
    let file = output.join(format!("{name}.tar.gz"));
    checked(Command::new("tar").arg("-czf").arg(file).arg("-C").arg(output).arg(&name))?;
    fs::remove_dir_all(directory)
}

/// One package with the program, and the package that finds and starts it.
fn npm(target: &Target, output: &Path) -> io::Result<()> {
    let (platform, architecture) = target.npm()?;
    let source = build::root().join("packaging/npm");
    let program = emptied(&output.join("npm-program"))?;
    fs::copy(&target.program, program.join(NAME))?;
    let manifest = format!(
        "{{\n  \"name\": \"@{NAME}/{platform}-{architecture}\",\n  \"version\": \"{VERSION}\",\n  \"description\": \"The \
         program of {NAME} for {platform} on {architecture}\",\n  \"license\": \"MIT OR Apache-2.0\",\n  \"os\": \
         [\"{platform}\"],\n  \"cpu\": [\"{architecture}\"],\n  \"files\": [\"{NAME}\"]\n}}\n"
    );
    fs::write(program.join("package.json"), manifest)?;
    let starter = emptied(&output.join("npm-starter"))?;
    fs::create_dir(starter.join("bin"))?;
    let script = format!("bin/{NAME}.js");
    fs::copy(source.join(&script), starter.join(&script))?;
    fs::copy(build::root().join("README.md"), starter.join("README.md"))?;
    let manifest = fs::read_to_string(source.join("package.json"))?;
    fs::write(starter.join("package.json"), manifest.replace("\"0.0.0\"", &format!("\"{VERSION}\"")))?;
    for directory in [program, starter] {
        for license in LICENSES {
            fs::copy(build::root().join(license), directory.join(license))?;
        }
        checked(Command::new("npm").args(["pack", "--silent", "--pack-destination"]).arg(output).arg(&directory))?;
        fs::remove_dir_all(directory)?;
    }
    Ok(())
}

fn wheel(target: &Target, output: &Path) -> io::Result<()> {
    let mut maturin = build::clean(Command::new("maturin"));
    maturin.args(["build", "--release", "--manifest-path"]).arg(build::root().join("cli/Cargo.toml"));
    maturin.arg("--out").arg(output);
    if let Some(triple) = &target.chosen {
        maturin.args(["--target", triple]);
    }
    checked(&mut maturin)
}

/// Creates an empty directory, and removes what an earlier run left there.
fn emptied(directory: &Path) -> io::Result<PathBuf> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(directory)?,
    }
    Ok(directory.to_owned())
}

fn checked(command: &mut Command) -> io::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status =
        command.status().map_err(|error| io::Error::new(error.kind(), format!("cannot start {name}: {error}")))?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{name} failed: {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_command_line() {
        let parse = |line: &str| Options::parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        let options = parse("npm wheel --target x --output out").unwrap().unwrap();
        assert_eq!((options.kinds, options.target.as_deref()), (vec![Kind::Npm, Kind::Wheel], Some("x")));
        assert_eq!(parse("all").unwrap().unwrap().kinds.len(), 3);
        assert_eq!(parse("npm --help"), Ok(None));
        for (line, problem) in [("", "at least one"), ("deb", "`deb`"), ("npm --target", "needs a value")] {
            assert!(parse(line).unwrap_err().contains(problem), "{line}");
        }
    }

    #[test]
    fn names_the_system_as_npm_does() {
        let npm = |triple: &str| Target { chosen: None, triple: triple.to_owned(), program: PathBuf::new() }.npm().ok();
        assert_eq!(npm("x86_64-unknown-linux-musl"), Some(("linux", "x64")));
        assert_eq!(npm("aarch64-unknown-linux-gnu"), Some(("linux", "arm64")));
        assert_eq!(npm("x86_64-pc-windows-msvc"), None);
    }
}

//! Running the tests, and looking at processes.

use std::{
    fs,
    io::{BufRead, BufReader},
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Child, Command, ExitCode, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use mcp_workbench_client::{
    Endpoint, Graces, ServerConfig, StdioEndpoint,
    process::supervisor::{Supervision, SupervisorReport},
};

/// A test.
pub(crate) trait Test: Sync {
    fn run(&self);
}

impl<F: Future<Output = ()>, T: Fn() -> F + Sync> Test for T {
    fn run(&self) {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(self());
    }
}

/// Runs the tests as the usual harness does, as far as its arguments are used by cargo and nextest.
pub(crate) fn run(arguments: &[String], tests: &[(&str, &dyn Test)]) -> ExitCode {
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--list") {
        if !has("--ignored") {
            tests.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return ExitCode::SUCCESS;
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let chosen =
        |name: &str| filter.is_none_or(|filter| if has("--exact") { name == filter } else { name.contains(filter) });
    let failed: usize = std::thread::scope(|scope| {
        let running: Vec<_> = tests
            .iter()
            .filter(|(name, _)| chosen(name))
            .map(|(name, test)| scope.spawn(move || (name, catch_unwind(AssertUnwindSafe(|| test.run())).is_ok())))
            .collect();
        let outcomes = running.into_iter().map(|test| test.join().unwrap());
        outcomes
            .inspect(|(name, good)| println!("test {name} ... {}", if *good { "ok" } else { "FAILED" }))
            .filter(|(_, good)| !good)
            .count()
    });
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A word on the command lines of all processes of one test.
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self(format!("mark-{}-{}-", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The mark that is this word.
    pub(crate) fn of(word: &str) -> Self {
        Self(word.to_owned())
    }

    /// The word itself.
    pub(crate) fn word(&self) -> &str {
        &self.0
    }

    /// The ids of the servers with this mark.
    pub(crate) fn pids(&self) -> Vec<i32> {
        let wanted = format!("server\0{}", self.0);
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let servers = entries.filter(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.contains(&wanted) && !line.contains("__mcp-workbench-supervise")
        });
        servers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// The command lines of the living processes with this mark, clients and supervisors apart.
    pub(crate) fn alive(&self) -> Vec<String> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| {
            // A zombie has no command line.
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            (line.contains(&self.0) && !line.contains("-client ") && !line.contains(" client ")).then_some(line)
        });
        lines.filter(|line| !line.contains("__mcp-workbench-supervise")).collect()
    }

    /// The same with the supervisors.
    fn alive_at_all(&self) -> Vec<String> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        lines
            .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
            .filter(|line| line.contains(&self.0) && !line.contains(" cycles "))
            .collect()
    }
}

/// Waits until a condition holds, within bounds.
pub(crate) async fn wait_for(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "the condition never held");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until no process of a test is left.
pub(crate) async fn until_none_is_left(mark: &Mark) {
    let begun = Instant::now();
    while !mark.alive_at_all().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "left: {:?}", mark.alive_at_all());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn graces() -> Graces {
    Graces { stdin_close: Duration::from_millis(300), sigterm: Duration::from_millis(300) }
}

/// Longer than anything takes on a busy machine, and shorter than a process that nobody ends.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// With graces that do not run out, so that a slow machine is not taken for a stubborn server.
pub(crate) fn patient(mut config: ServerConfig) -> ServerConfig {
    config.shutdown = Graces { stdin_close: PATIENCE, sigterm: PATIENCE };
    config
}

/// The same, after SIGTERM only.
pub(crate) fn patient_with_sigterm(mut config: ServerConfig) -> ServerConfig {
    config.shutdown.sigterm = PATIENCE;
    config
}

fn own_path() -> String {
    std::env::current_exe().unwrap().into_os_string().into_string().unwrap()
}

/// A server played by this program.
pub(crate) fn config(mark: &Mark, habits: &[&str]) -> ServerConfig {
    let args = ["server", &mark.0].into_iter().chain(habits.iter().copied()).map(str::to_owned).collect();
    let endpoint = StdioEndpoint { command: own_path(), args, ..StdioEndpoint::default() };
    ServerConfig { shutdown: graces(), ..ServerConfig::new("tested", Endpoint::Stdio(endpoint)) }
}

pub(crate) fn config_of(mark: &str, habits: &[String]) -> ServerConfig {
    let habits: Vec<_> = habits.iter().map(String::as_str).collect();
    config(&Mark(mark.to_owned()), &habits)
}

/// The same server behind a shell that stays.
pub(crate) fn shell(mut config: ServerConfig) -> ServerConfig {
    let Endpoint::Stdio(endpoint) = &mut config.endpoint else { unreachable!() };
    let line = format!("'{}' {}; exit $?", endpoint.command, endpoint.args.join(" "));
    (endpoint.command, endpoint.args) = ("sh".into(), vec!["-c".into(), line]);
    config
}

/// Starts this program as a client of such a server.
pub(crate) fn start_client(role: &str, mark: &Mark, habits: &[&str]) -> Child {
    let mut command = Command::new(own_path());
    command.arg(role).arg(&mark.0).args(habits).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Waits until such a client says that it is connected.
pub(crate) fn until_ready(client: &mut Child) {
    let mut line = String::new();
    BufReader::new(client.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
}

/// Runs a shell script under a supervisor.
pub(crate) fn supervise(script: &str, settle: Duration) -> (SupervisorReport, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let supervision = Supervision { settle, report: Some(path.clone()), ..Supervision::default() };
    let status = supervision.command("sh").unwrap().args(["-c", script]).stderr(Stdio::null()).status().unwrap();
    (SupervisorReport::read(&path).unwrap(), status.code())
}

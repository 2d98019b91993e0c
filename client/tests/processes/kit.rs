//! Runs the tests and inspects processes.

use std::{
    fs,
    io::{BufRead, BufReader},
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Child, Command, ExitCode, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use mcp_workbench_client::{
    Endpoint, ServerConfig, ShutdownGracePeriods, StdioEndpoint,
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

/// Runs the tests like the usual harness, as far as cargo and nextest need it.
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
pub(crate) struct ProcessMark(String);

impl ProcessMark {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self(format!("mark-{}-{}-", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The mark with this word.
    pub(crate) fn from_word(word: &str) -> Self {
        Self(word.to_owned())
    }

    /// The word.
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

    /// The command lines of running processes with this mark, without clients and supervisors.
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

    /// The same with supervisors.
    fn alive_at_all(&self) -> Vec<String> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        lines
            .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
            .filter(|line| line.contains(&self.0) && !line.contains(" cycles "))
            .collect()
    }
}

/// Waits until all processes of a test have exited.
pub(crate) async fn until_none_is_left(mark: &ProcessMark) {
    let left = || Some(mark.alive_at_all()).filter(|left| !left.is_empty());
    test_support::wait_for("no process", || left().map_or(Ok(()), Err)).await;
}

pub(crate) fn graces() -> ShutdownGracePeriods {
    ShutdownGracePeriods { stdin_close: Duration::from_millis(300), sigterm: Duration::from_millis(300) }
}

/// Longer than anything takes on a busy machine, and shorter than the life of a forgotten process.
pub(crate) const LONG_TIMEOUT: Duration = Duration::from_secs(15);

/// Long grace periods, so that a slow machine does not look like a stubborn server.
pub(crate) fn patient(mut config: ServerConfig) -> ServerConfig {
    config.shutdown = ShutdownGracePeriods { stdin_close: LONG_TIMEOUT, sigterm: LONG_TIMEOUT };
    config
}

/// The same, after SIGTERM only.
pub(crate) fn patient_with_sigterm(mut config: ServerConfig) -> ServerConfig {
    config.shutdown.sigterm = LONG_TIMEOUT;
    config
}

fn own_path() -> String {
    std::env::current_exe().unwrap().into_os_string().into_string().unwrap()
}

/// A server that this program plays.
pub(crate) fn config(mark: &ProcessMark, habits: &[&str]) -> ServerConfig {
    let args = ["server", &mark.0].into_iter().chain(habits.iter().copied()).map(str::to_owned).collect();
    let endpoint = StdioEndpoint { command: own_path(), args, ..StdioEndpoint::default() };
    ServerConfig { shutdown: graces(), ..ServerConfig::new("tested", Endpoint::Stdio(endpoint)) }
}

pub(crate) fn config_of(mark: &str, habits: &[String]) -> ServerConfig {
    let habits: Vec<_> = habits.iter().map(String::as_str).collect();
    config(&ProcessMark(mark.to_owned()), &habits)
}

/// The same server, started by a shell that keeps running.
pub(crate) fn shell(mut config: ServerConfig) -> ServerConfig {
    let Endpoint::Stdio(endpoint) = &mut config.endpoint else { unreachable!() };
    let line = format!("'{}' {}; exit $?", endpoint.command, endpoint.args.join(" "));
    (endpoint.command, endpoint.args) = ("sh".into(), vec!["-c".into(), line]);
    config
}

/// Starts this program as a client of such a server.
pub(crate) fn start_client(role: &str, mark: &ProcessMark, habits: &[&str]) -> Child {
    let mut command = Command::new(own_path());
    command.arg(role).arg(&mark.0).args(habits).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Waits until such a client is connected.
pub(crate) fn until_ready(client: &mut Child) {
    let mut line = String::new();
    BufReader::new(client.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
}

/// Runs a shell script under a supervisor.
pub(crate) fn supervise(script: &str, settle: Duration) -> (SupervisorReport, Option<i32>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.json");
    let supervision = Supervision { settle, report: Some(path.clone()), ..Supervision::default() };
    let status = supervision.command("sh").unwrap().args(["-c", script]).stderr(Stdio::null()).status().unwrap();
    (SupervisorReport::read(&path).unwrap(), status.code())
}

//! Windows: job objects, which contain all descendants of a process that are not allowed to leave.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{File, Metadata, OpenOptions},
    io,
    mem::ManuallyDrop,
    os::windows::{io::AsRawHandle, process::CommandExt},
    path::{Path, PathBuf, is_separator},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::windows::named_pipe::{NamedPipeServer, ServerOptions},
    signal::windows::{CtrlBreak, CtrlC, CtrlClose, ctrl_break, ctrl_c, ctrl_close},
    sync::{Notify, watch},
};
use win32job::{ExtendedLimitInfo, Job, JobError};

use super::{
    Coverage, ProcessEntry, Reaped, Stop, Wake, descendants,
    list::{process, while_true},
    watch_parent,
};
use crate::process::ExitInfo;

/// Whether a program can be asked to stop.
pub(in crate::process) const CAN_ASK: bool = false;

/// The error number of a file that is not a program: `ERROR_BAD_EXE_FORMAT`.
pub(in crate::process) const NOT_A_PROGRAM: i32 = 193;

/// Variables for directories, user, locale and terminal.
pub(in crate::process) const DEFAULT_VARIABLES: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMP",
    "TZ",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// The longest time between two looks at a tree. A job object does not notify a thread that cannot wait for it.
pub(in crate::process) const RECHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The interval at which a supervisor looks for its parent. Each look reads the list of all processes.
const PARENT_INTERVAL: Duration = Duration::from_millis(250);

/// A console event does not interrupt the processes of another group (`CREATE_NEW_PROCESS_GROUP`).
const NEW_PROCESS_GROUP: u32 = 0x200;

/// Whether two names are those of one environment variable.
pub(in crate::process) fn same_variable(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// The names of the files that a command without a directory can be.
pub(in crate::process) fn file_names(command: &str) -> Vec<OsString> {
    if Path::new(command).extension().is_some() {
        return vec![command.into()];
    }
    ["exe", "cmd", "bat"].map(|extension| format!("{command}.{extension}").into()).into()
}

/// The file to start for a command: the system itself finds `node.exe` for `node`, but not the script `npx.cmd` for `npx`.
pub(in crate::process) fn program(command: &OsStr) -> OsString {
    let names = command.to_str().filter(|name| !name.contains(is_separator)).map(file_names).unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    let mut files = env::split_paths(&path).flat_map(|directory| names.iter().map(move |name| directory.join(name)));
    files.find(|file| file.is_file()).map_or_else(|| command.to_owned(), PathBuf::into_os_string)
}

/// Files have no permission to be executed.
pub(in crate::process) fn is_executable(_: &Metadata) -> bool {
    true
}

/// The path with these bytes.
pub(in crate::process) fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Lets the command start in a process group of its own.
pub(in crate::process) fn own_group(command: &mut Command) {
    command.creation_flags(NEW_PROCESS_GROUP);
}

/// Stops a supervisor. After [`Stop::Ask`] it stops its program and writes its report. A supervisor that cannot be asked is
/// killed; then the last handle of its job closes, which kills all of its processes.
pub(in crate::process) fn stop_supervisor(id: i32, stop: Stop) -> io::Result<()> {
    if stop == Stop::Ask && OpenOptions::new().write(true).open(stop_pipe(id)).is_ok() {
        return Ok(());
    }
    kill(id)
}

/// Kills a program without a supervisor, and its descendants. Those whose parent has exited are not found.
pub(in crate::process) fn stop_group(id: i32, stop: Stop) -> io::Result<()> {
    if stop == Stop::Ask {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "Windows cannot ask a process to stop"));
    }
    for process in descendants(id) {
        process.stop(stop)?;
    }
    kill(id)
}

fn kill(id: i32) -> io::Result<()> {
    process(id).ok_or(io::ErrorKind::NotFound)?.stop(Stop::Kill)
}

/// The name of the pipe that stops a supervisor when it is opened.
fn stop_pipe(supervisor: i32) -> String {
    format!(r"\\.\pipe\mcp-workbench-stop-{supervisor}")
}

/// Waits until the child has exited. Its id stays in use as long as `child` has the handle of the process.
pub(in crate::process) fn wait_for_exit(child: &mut Child) {
    // The exit status is read by a second call, which reports an error.
    let _ = child.wait();
}

/// The code of an exit status.
pub(in crate::process) fn exit_info(status: ExitStatus) -> ExitInfo {
    ExitInfo { code: status.code(), signal: None }
}

/// Whether a process with this exit status was killed, which the status does not show.
pub(in crate::process) fn was_killed(_: ExitInfo) -> bool {
    false
}

/// The pipes of a server for the runtime of the current task: its output, and its input.
///
/// # Errors
/// If the runtime does not accept them.
pub(crate) fn async_pipes(
    stdin: ChildStdin,
    stdout: ChildStdout,
) -> io::Result<(impl AsyncRead + Unpin + Send + 'static, impl AsyncWrite + Unpin + Send + 'static)> {
    let stdin = tokio::process::ChildStdin::from_std(stdin)?;
    let stdout = tokio::process::ChildStdout::from_std(stdout)?;
    Ok((stdout, stdin))
}

/// The standard streams stay open: closing them is unsafe code on this system. So the pipes of a program close with its
/// supervisor.
pub(in crate::process) fn release_streams(_: bool) -> Option<File> {
    None
}

/// What supervision covers.
pub(in crate::process) fn coverage() -> Coverage {
    Coverage::Partial {
        covered: "a server and all of its processes are in a job object, which ends with this program",
        missing: "a server cannot be asked to stop: it is terminated if it runs after its input was closed",
    }
}

/// Prepares this process for the supervision of a program.
///
/// # Errors
/// If the parent has exited, or the system refuses.
pub(in crate::process) fn supervise(parent: i32) -> io::Result<(Tree, Watch)> {
    let own = own_id();
    let gone = || io::Error::other("the parent process has exited");
    let expected = process(parent).filter(|_| process(own).is_some_and(|own| own.ppid == parent)).ok_or_else(gone)?;
    let is_alive = move || process(parent).is_some_and(|now| now == expected);
    // Everything that this process starts belongs to the first job, which ends with this process.
    let all = job()?;
    all.assign_current_process().map_err(failed)?;
    let (exit, exited) = (Arc::default(), Arc::new(Notify::new()));
    let watch = Watch {
        parent: watch_parent(while_true(PARENT_INTERVAL, is_alive))?,
        exited: Arc::clone(&exited),
        stop: Some(ServerOptions::new().first_pipe_instance(true).create(stop_pipe(own))?),
        console: (ctrl_c()?, ctrl_break()?, ctrl_close()?),
    };
    Ok((Tree { all: ManuallyDrop::new(all), program: None, exit, exited }, watch))
}

fn own_id() -> i32 {
    i32::try_from(std::process::id()).unwrap_or_default()
}

/// A job whose processes are killed when its last handle closes.
fn job() -> io::Result<Job> {
    Job::create_with_limit_info(ExtendedLimitInfo::new().limit_kill_on_job_close()).map_err(failed)
}

fn failed(error: JobError) -> io::Error {
    io::Error::other(error)
}

/// The processes below this supervisor.
#[derive(Debug)]
pub(in crate::process) struct Tree {
    /// The job of this process and everything below it. Its handle closes with this process: dropping it earlier would kill
    /// this process too.
    all: ManuallyDrop<Job>,
    /// The job of the program, within the first one. Dropping it kills the program and its descendants.
    program: Option<Job>,
    /// The exit status of the program, until it is taken.
    exit: Arc<Mutex<Option<ExitStatus>>>,
    exited: Arc<Notify>,
}

impl Tree {
    /// Starts the program in a process group of its own, and returns its id.
    pub(in crate::process) fn start(&mut self, command: &mut Command) -> io::Result<i32> {
        let job = job()?;
        let mut child = command.creation_flags(NEW_PROCESS_GROUP).spawn()?;
        // A process that the program starts before this call belongs to the first job only, and is killed by its id.
        job.assign_process(child.as_raw_handle() as isize).map_err(failed)?;
        self.program = Some(job);
        let id = i32::try_from(child.id()).map_err(io::Error::other)?;
        let (exit, exited) = (Arc::clone(&self.exit), Arc::clone(&self.exited));
        std::thread::Builder::new().name("program".into()).spawn(move || {
            *exit.lock().unwrap_or_else(PoisonError::into_inner) = child.wait().ok();
            exited.notify_one();
        })?;
        Ok(id)
    }

    /// Takes the exit status of the program, and looks for other processes.
    pub(in crate::process) fn reap(&mut self) -> Reaped {
        let status = self.exit.lock().unwrap_or_else(PoisonError::into_inner).take();
        Reaped { program: status.map(exit_info), empty: self.alive().is_empty() }
    }

    /// The living processes.
    pub(in crate::process) fn alive(&self) -> Vec<ProcessEntry> {
        let own = own_id();
        match self.all.query_process_id_list() {
            Ok(ids) => {
                let ids = ids.into_iter().filter_map(|id| i32::try_from(id).ok());
                ids.filter(|id| *id != own).filter_map(process).collect()
            }
            // The list has more than a thousand entries.
            Err(_) => descendants(own),
        }
    }

    /// Kills all of them. Asking is without effect: it is not possible.
    pub(in crate::process) fn stop(&mut self, stop: Stop) {
        if stop == Stop::Ask {
            return;
        }
        drop(self.program.take());
        for process in self.alive() {
            // It cannot fail when it kills.
            let _ = process.stop(stop);
        }
    }
}

/// Events that wake the supervisor.
#[derive(Debug)]
pub(in crate::process) struct Watch {
    /// Whether the parent has died.
    parent: watch::Receiver<bool>,
    /// Notified when the program has exited.
    exited: Arc<Notify>,
    /// The pipe that stops this process; `None` after that.
    stop: Option<NamedPipeServer>,
    console: (CtrlC, CtrlBreak, CtrlClose),
}

impl Watch {
    /// Waits for the next event. Dropping the future loses none.
    pub(in crate::process) async fn next(&mut self) -> Wake {
        let asked = async {
            match &self.stop {
                // An error is that of a client which has closed the pipe again.
                Some(pipe) => drop(pipe.connect().await),
                None => std::future::pending().await,
            }
        };
        let (interrupt, interrupt_all, close) = &mut self.console;
        let wake = tokio::select! {
            biased;
            _ = self.parent.wait_for(|died| *died) => Wake::ParentDied,
            () = asked => Wake::Stop,
            _ = interrupt.recv() => Wake::Stop,
            _ = interrupt_all.recv() => Wake::Stop,
            _ = close.recv() => Wake::Stop,
            () = self.exited.notified() => Wake::Look,
        };
        if wake == Wake::Stop {
            self.stop = None;
        }
        wake
    }
}

//! What Linux and other Unix systems share: signals, process groups, and file descriptors.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata, OpenOptions},
    io,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::PermissionsExt, process::CommandExt, process::ExitStatusExt},
    },
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus},
};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, wait, waitid,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::unix::pipe,
    signal::unix::{Signal as SignalStream, SignalKind, signal},
    sync::watch,
};

use super::{Reaped, Stop, Wake};
use crate::process::ExitInfo;

/// Whether a program can be asked to stop.
pub(in crate::process) const CAN_ASK: bool = true;

/// The error number of a file that is not a program: exec format error (execve(2)).
pub(in crate::process) const NOT_A_PROGRAM: i32 = Errno::NOEXEC.raw_os_error();

/// Variables for directories, user, locale and terminal. Those whose names start with `LC_` belong to them.
pub(in crate::process) const DEFAULT_VARIABLES: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMP",
    "TEMP",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// Whether two names are those of one environment variable.
pub(in crate::process) fn same_variable(one: &str, other: &str) -> bool {
    one == other
}

/// The names of the files that a command without a directory can be.
pub(in crate::process) fn file_names(command: &str) -> Vec<OsString> {
    vec![command.into()]
}

/// The file to start for a command, which the system finds.
pub(in crate::process) fn program(command: &OsStr) -> &OsStr {
    command
}

/// Whether the file has the permission to be executed.
pub(in crate::process) fn is_executable(file: &Metadata) -> bool {
    file.permissions().mode() & 0o111 != 0
}

/// The path with these bytes.
pub(in crate::process) fn path_of(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

/// Lets the command start in a process group of its own.
pub(in crate::process) fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// Sends a signal to a supervisor, which stops its program.
pub(in crate::process) fn stop_supervisor(id: i32, stop: Stop) -> io::Result<()> {
    Ok(kill_process(pid(id)?, signal_of(stop))?)
}

/// Sends a signal to the process group of a program without a supervisor.
pub(in crate::process) fn stop_group(id: i32, stop: Stop) -> io::Result<()> {
    Ok(kill_process_group(pid(id)?, signal_of(stop))?)
}

/// Waits until the child has exited, without reaping it: its id stays in use.
pub(in crate::process) fn wait_for_exit(child: &mut Child) {
    let id = Pid::from_child(child);
    while let Err(Errno::INTR) = waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {}
}

/// Code and signal of an exit status.
pub(in crate::process) fn exit_info(status: ExitStatus) -> ExitInfo {
    ExitInfo { code: status.code(), signal: status.signal() }
}

/// Whether a process with this exit status was killed.
pub(in crate::process) fn was_killed(exit: ExitInfo) -> bool {
    exit.signal == Some(Signal::KILL.as_raw())
}

/// The pipes of a server for the runtime of the current task: its output, and its input.
///
/// # Errors
/// If the runtime does not accept them.
pub(crate) fn async_pipes(
    stdin: ChildStdin,
    stdout: ChildStdout,
) -> io::Result<(impl AsyncRead + Unpin + Send + 'static, impl AsyncWrite + Unpin + Send + 'static)> {
    let stdin = pipe::Sender::from_owned_fd(OwnedFd::from(stdin))?;
    let stdout = pipe::Receiver::from_owned_fd(OwnedFd::from(stdout))?;
    Ok((stdout, stdin))
}

/// Replaces the standard streams by the null device, and returns a copy of standard error if requested.
pub(in crate::process) fn release_streams(keep_stderr: bool) -> Option<File> {
    let voice = keep_stderr.then(|| rustix::io::fcntl_dupfd_cloexec(io::stderr(), 3).ok()).flatten().map(File::from);
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    voice
}

pub(super) fn signal_of(stop: Stop) -> Signal {
    match stop {
        Stop::Ask => Signal::TERM,
        Stop::Kill => Signal::KILL,
    }
}

/// The id of one process: 0 and negative numbers mean groups.
pub(super) fn pid(id: i32) -> io::Result<Pid> {
    let one = Pid::from_raw(id).filter(|_| id > 0);
    one.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not the id of a process"))
}

/// The processes below a supervisor. How the living ones are found depends on the system, as does `reap`.
#[derive(Debug, Default)]
pub(in crate::process) struct Tree {
    /// The program, after its start.
    pub(super) program: Option<Pid>,
}

impl Tree {
    /// Starts the program in a process group of its own, and returns its id.
    pub(in crate::process) fn start(&mut self, command: &mut Command) -> io::Result<i32> {
        let program = Pid::from_child(&command.process_group(0).spawn()?);
        self.program = Some(program);
        Ok(program.as_raw_nonzero().get())
    }

    /// Stops all living processes.
    pub(in crate::process) fn stop(&mut self, stop: Stop) {
        for process in self.alive() {
            // It cannot fail on these systems.
            let _ = process.stop(stop);
        }
    }

    /// Reaps all exited children of this process. `empty` means that there are no others.
    pub(super) fn reap_children(&self) -> Reaped {
        let mut exit = None;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.program => {
                    exit = Some(ExitInfo { code: status.exit_status(), signal: status.terminating_signal() });
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break Reaped { program: exit, empty: false },
                Err(_) => break Reaped { program: exit, empty: true },
            }
        }
    }
}

/// Events that wake the supervisor.
#[derive(Debug)]
pub(in crate::process) struct Watch {
    /// Whether the parent has died.
    parent: watch::Receiver<bool>,
    child: SignalStream,
    stop: [SignalStream; 3],
}

impl Watch {
    pub(super) fn new(parent: watch::Receiver<bool>) -> io::Result<Self> {
        Ok(Self {
            parent,
            child: signal(SignalKind::child())?,
            stop: [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?],
        })
    }

    /// Waits for the next event. Dropping the future loses none.
    pub(in crate::process) async fn next(&mut self) -> Wake {
        let [terminate, interrupt, hangup] = &mut self.stop;
        tokio::select! {
            biased;
            _ = self.parent.wait_for(|died| *died) => Wake::ParentDied,
            _ = terminate.recv() => Wake::Stop,
            _ = interrupt.recv() => Wake::Stop,
            _ = hangup.recv() => Wake::Stop,
            _ = self.child.recv() => Wake::Look,
        }
    }
}

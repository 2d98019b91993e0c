//! The command line of a supervisor.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use super::Supervision;

/// The task of a supervisor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// Its settings.
    pub(super) supervision: Supervision,
    /// The prefix of the report on standard error; `None` disables that report.
    pub(super) nonce: Option<String>,
    /// The expected parent process.
    pub(super) parent: i32,
    /// The program and its arguments, never empty.
    pub(super) argv: Vec<OsString>,
}

/// The command line was not written by [`to_arguments`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UsageError;

pub(super) fn to_arguments(supervision: &Supervision, nonce: Option<&str>, parent: u32) -> Vec<OsString> {
    let millis = |period: Duration| period.as_millis().to_string().into();
    let mut arguments: Vec<OsString> = vec![
        "--parent".into(),
        parent.to_string().into(),
        "--term-grace".into(),
        millis(supervision.term_grace),
        "--settle".into(),
        millis(supervision.settle),
        "--leftover-grace".into(),
        millis(supervision.leftover_grace),
    ];
    if let Some(report) = &supervision.report {
        arguments.extend(["--report".into(), report.clone().into_os_string()]);
    }
    if let Some(nonce) = nonce {
        arguments.extend(["--nonce".into(), nonce.into()]);
    }
    arguments
}

pub(super) fn from_arguments(mut arguments: impl Iterator<Item = OsString>) -> Result<Task, UsageError> {
    let mut supervision = Supervision::default();
    let (mut parent, mut nonce) = (None, None);
    loop {
        let option = arguments.next().ok_or(UsageError)?;
        if option == "--" {
            break;
        }
        let value = arguments.next().ok_or(UsageError)?;
        let text = || value.to_str().ok_or(UsageError);
        let period = || text()?.parse().map(Duration::from_millis).map_err(|_| UsageError);
        match option.to_str().ok_or(UsageError)? {
            "--parent" => {
                let id: i32 = text()?.parse().map_err(|_| UsageError)?;
                parent = Some(id).filter(|id| *id > 0);
            }
            "--term-grace" => supervision.term_grace = period()?,
            "--settle" => supervision.settle = period()?,
            "--leftover-grace" => supervision.leftover_grace = period()?,
            "--report" => supervision.report = Some(PathBuf::from(&value)),
            "--nonce" => nonce = Some(text()?.to_owned()),
            _ => return Err(UsageError),
        }
    }
    let argv: Vec<_> = arguments.collect();
    if argv.is_empty() {
        return Err(UsageError);
    }
    Ok(Task { supervision, nonce, parent: parent.ok_or(UsageError)?, argv })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let supervision = Supervision {
            term_grace: Duration::from_millis(1),
            settle: Duration::from_millis(2),
            leftover_grace: Duration::from_millis(3),
            report: Some("/tmp/a b".into()),
        };
        let mut line = to_arguments(&supervision, Some("n"), 7);
        line.extend(["--".into(), "sh".into(), "--".into()]);
        let task = from_arguments(line.into_iter()).unwrap();
        assert_eq!(
            task,
            Task { supervision, nonce: Some("n".into()), parent: 7, argv: vec!["sh".into(), "--".into()] }
        );
        for bad in [&["--"][..], &["--parent", "1", "--"], &["--parent", "x", "--", "a"], &["--odd", "1"], &[]] {
            assert_eq!(from_arguments(bad.iter().map(OsString::from)), Err(UsageError));
        }
    }
}

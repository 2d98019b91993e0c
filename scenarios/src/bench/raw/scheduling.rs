//! How the system schedules the threads of a generator that share the machine with the server.

/// Makes the calling thread wait until running threads of other programs pause, instead of interrupting them when a response
/// arrives: `SCHED_BATCH` of Linux. A server that is interrupted after each response handles fewer requests at once, and gets
/// slower with a faster generator.
///
/// Without effect elsewhere, and under another nice value than the usual one, which the library would change.
#[cfg(target_os = "linux")]
pub(super) fn let_others_finish() {
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
    };

    /// What the library takes for a nice value of 0: it maps 0 to 99 to the values from 19 to -20.
    const USUAL: u8 = 48;

    let has_usual_nice = rustix::process::getpriority_process(None) == Ok(0);
    if let Some(usual) = USUAL.try_into().ok().filter(|_| has_usual_nice) {
        let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Batch);
        let set = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(usual), policy);
        if let Err(cause) = set {
            tracing::debug!(?cause, "the threads of the generator have the usual scheduling");
        }
    }
}

/// Other systems have no such policy.
#[cfg(not(target_os = "linux"))]
pub(super) fn let_others_finish() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use super::*;

    /// Policy and nice value of the calling thread, as the kernel has them: fields 41 and 19 of its `stat`.
    fn policy_and_nice() -> (String, String) {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("the state of the thread");
        // The name, field 2, can contain spaces.
        let fields: Vec<&str> = stat.rsplit_once(") ").expect("a name").1.split(' ').collect();
        (fields[41 - 3].to_owned(), fields[19 - 3].to_owned())
    }

    #[test]
    fn a_thread_changes_its_policy_and_keeps_its_nice_value() {
        const SCHED_BATCH: &str = "3";
        let (before, nice) = policy_and_nice();
        let after = thread::spawn(|| {
            let_others_finish();
            policy_and_nice()
        });
        let expected = if nice == "0" { SCHED_BATCH.to_owned() } else { before.clone() };
        assert_eq!(after.join().expect("no panic"), (expected, nice.clone()));
        assert_eq!(policy_and_nice(), (before, nice), "the thread changed another one");
    }
}

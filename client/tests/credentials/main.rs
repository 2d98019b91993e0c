//! Credentials of several processes: shared renewal, and real key rings.
//!
//! This test has its own `main`, because the program also plays the other processes.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]
#![expect(clippy::print_stdout, reason = "the played roles speak over their streams")]

mod endpoint;
mod renewing;
mod vaults;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("role-renew") => return renewing::role(&arguments[1..]),
        Some("role-vault") => return vaults::role(&arguments[1..]),
        _ => {}
    }
    let trials = vec![
        trial(
            "a_hundred_tasks_in_four_processes_send_one_request",
            renewing::a_hundred_tasks_in_four_processes_send_one_request,
        ),
        trial("a_rejection_is_shared_after_one_request", renewing::one_refusal),
        trial("a_process_that_is_killed_during_a_renewal_blocks_no_others", renewing::killed),
        Trial::ignorable_test("the_secret_service_keeps_credentials", vaults::the_secret_service_keeps_credentials),
        Trial::ignorable_test("the_kernels_key_ring_keeps_credentials", vaults::the_kernels_key_ring_keeps_credentials),
        trial(
            "without_a_key_ring_credentials_are_stored_in_files",
            vaults::without_a_key_ring_credentials_are_stored_in_files,
        ),
    ];
    // As with the harness of Rust, several names select several tests.
    let is_name = |argument: &String| trials.iter().any(|trial| trial.name() == argument);
    let (names, others): (Vec<String>, Vec<String>) = arguments.into_iter().partition(is_name);
    let trials = trials.into_iter().filter(|trial| names.is_empty() || names.iter().any(|name| name == trial.name()));
    let program = std::env::args().next().unwrap_or_default();
    let others = Arguments::from_iter(std::iter::once(program).chain(others));
    libtest_mimic::run(&others, trials.collect()).exit_code()
}

fn trial(name: &str, run: fn()) -> Trial {
    Trial::test(name, move || {
        run();
        Ok(())
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

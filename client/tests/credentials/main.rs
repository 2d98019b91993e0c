//! Credentials among processes: one renewal for all of them, and the key rings of a real system.
//!
//! This test has a `main` of its own, because the same program plays the processes that renew and those that use a key
//! ring.

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
        trial("a_hundred_tasks_in_four_processes_make_one_request", renewing::one_request),
        trial("a_refusal_is_told_to_all_of_them_after_one_request", renewing::one_refusal),
        trial("who_is_killed_amid_a_renewal_holds_up_nobody", renewing::killed),
        Trial::ignorable_test("the_secret_service_keeps_credentials", vaults::secret_service),
        Trial::ignorable_test("the_kernels_key_ring_keeps_credentials", vaults::kernel),
        trial("without_a_key_ring_credentials_are_kept_in_files", vaults::no_key_ring),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
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

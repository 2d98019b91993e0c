//! The workbench as an MCP server, used by our own client: in both eras, in memory and over HTTP.

mod http;
mod kit;
mod runs;
mod session;

use std::{future::Future, process::ExitCode};

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(code) = client::process::supervisor::main_if_requested() {
        return code;
    }
    let mut tests = vec![
        trial("is_a_server_of_both_eras", session::is_a_server_of_both_eras),
        trial("invalid_arguments_are_a_result_with_help", session::invalid_arguments_are_a_result_with_help),
        trial(
            "servers_that_the_administrator_does_not_allow_are_not_started",
            session::servers_that_the_administrator_does_not_allow_are_not_started,
        ),
        trial("unknown_names_are_protocol_errors", session::unknown_names_are_protocol_errors),
        trial("the_catalog_and_the_register_can_be_read", session::the_catalog_and_the_register_can_be_read),
        trial("a_prompt_names_the_server", session::a_prompt_names_the_server),
        trial(
            "a_server_is_validated_with_progress_and_evidence",
            runs::a_server_is_validated_with_progress_and_evidence,
        ),
        trial("a_client_is_tested", runs::a_client_is_tested),
        trial("a_server_is_load_tested_within_limits", runs::a_server_is_load_tested_within_limits),
        trial("tools_are_listed_and_compared", runs::tools_are_listed_and_compared),
        trial("tools_are_converted_for_providers_with_changes", runs::tools_are_converted_for_providers_with_changes),
        trial("a_cancelled_run_ends_its_processes", runs::a_cancelled_run_ends_its_processes),
        trial("a_disconnect_ends_the_runs_of_a_client", runs::a_disconnect_ends_the_runs_of_a_client),
        trial("over_http_the_token_is_needed_in_both_eras", http::over_http_the_token_is_needed_in_both_eras),
        trial(
            "over_http_foreign_hosts_and_origins_are_rejected",
            http::over_http_foreign_hosts_and_origins_are_rejected,
        ),
        trial("over_http_a_cancelled_call_ends_its_run", http::over_http_a_cancelled_call_ends_its_run),
    ];
    // `cargo xtask features` passes several test names, which libtest_mimic does not support.
    let is_name = |argument: &String| tests.iter().any(|test: &Trial| test.name().contains(argument.as_str()));
    let (names, others): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(is_name);
    tests.retain(|test| names.is_empty() || names.iter().any(|name| test.name().contains(name.as_str())));
    let program = std::env::args().next().unwrap_or_default();
    libtest_mimic::run(&Arguments::from_iter(std::iter::once(program).chain(others)), tests).exit_code()
}

/// A test that runs in a runtime of its own; a failed assertion is its failure.
fn trial<F: Future<Output = ()> + 'static>(name: &str, test: fn() -> F) -> Trial {
    Trial::test(name, move || {
        tokio::runtime::Runtime::new()?.block_on(test());
        Ok(())
    })
}

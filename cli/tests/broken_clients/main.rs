//! Proof that client scenarios detect defects: an independent client has one defect at a time, and the check of that behavior
//! must fail.
//!
//! This program has two roles. Started by the workbench as `<program> client [--defect <name>]` it is a
//! minimal client that implements the contract ([`client`]). Otherwise it runs the tests in [`table`]. It has no standard
//! harness, because a program with that harness cannot be a client.

mod client;
mod habits;
mod proof;
mod runner;
mod table;
mod workbench;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    // `client` may also be a test filter, but only the workbench sets the context.
    if arguments.peek().is_some_and(|word| word == "client") && std::env::var_os(client::CONTEXT).is_some() {
        return client::main(arguments.skip(1));
    }
    runner::main(arguments)
}

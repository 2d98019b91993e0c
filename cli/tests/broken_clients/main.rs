//! Proof that each family of client scenarios goes red where it should: a second, independent client is broken in one way
//! after another, and the check that watches over that very behaviour has to tell.
//!
//! This program is both sides. Started by the workbench as `<program> client [--defect <name>]` it is the client, the
//! smallest one that follows the contract ([`client`], an example to start from). Otherwise it is the runner of the
//! tests in [`table`]. It has no harness of the compiler's, because a test executable of the compiler's cannot be a client.

mod client;
mod proof;
mod runner;
mod table;
mod workbench;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    // A filter for tests may be the word `client` as well: only the workbench sets the context.
    if arguments.peek().is_some_and(|word| word == "client") && std::env::var_os(client::CONTEXT).is_some() {
        return client::main(arguments.skip(1));
    }
    runner::main(arguments)
}

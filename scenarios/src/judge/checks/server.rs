//! Checks on a server, one file per theme. They need no tool, resource or prompt of a certain name, and call no tool that
//! exists: they judge any server. What a server does not declare is not judged.

use crate::judge::check::Check;

mod errors;
mod http;
mod lifecycle;
mod messages;
mod modern;
mod pagination;
mod prompts;
mod resources;
mod stdio;
mod talk;
#[cfg(test)]
mod tests;
mod tools;

/// Every check on a server.
pub(super) fn all() -> impl Iterator<Item = &'static Check> {
    let themes = [
        messages::ALL,
        lifecycle::ALL,
        errors::ALL,
        tools::ALL,
        resources::ALL,
        prompts::ALL,
        pagination::ALL,
        stdio::ALL,
        http::ALL,
        modern::ALL,
    ];
    themes.into_iter().flatten()
}

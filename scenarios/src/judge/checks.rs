//! The checks, one file per theme. To add one: write it in the file of its theme, put it into that file's `ALL`, give
//! its requirement an entry in `scenarios/requirements/register/`, and a test that shows it broken.

mod client;
mod server;
#[cfg(test)]
mod testing;

use super::check::Check;

/// Every check.
pub fn all() -> impl Iterator<Item = &'static Check> {
    client::all().chain(server::all())
}

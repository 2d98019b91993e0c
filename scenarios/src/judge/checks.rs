//! The checks, one file per theme. To add one: write it in the file of its theme, put it into `CHECKS`, give its
//! requirement an entry in `scenarios/requirements/register/`, and add a test in which it fails.

mod client;
mod meta;
mod server;
#[cfg(test)]
pub(super) mod testing;

use url::{Host, Url};

use super::check::Check;
use crate::model::Subject;

/// The checks on a subject.
pub fn for_subject(subject: Subject) -> impl Iterator<Item = &'static Check> {
    let themes = match subject {
        Subject::Client => client::THEMES,
        Subject::Server => server::THEMES,
    };
    themes.iter().copied().flatten()
}

/// Every check with its subject.
pub fn all() -> impl Iterator<Item = (&'static Check, Subject)> {
    [Subject::Client, Subject::Server].into_iter().flat_map(|subject| for_subject(subject).map(move |it| (it, subject)))
}

/// Whether the host of a URL is this machine. Names below `localhost` resolve to it too (RFC 6761, section 6.3).
fn is_local(url: &Url) -> bool {
    ::client::http_client::is_loopback(url)
        || matches!(url.host(), Some(Host::Domain(name)) if name.ends_with(".localhost"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ::evidence::Era;
    use serde_json::{Value, json};

    use super::{
        testing::{EvidenceBuilder, UNKNOWN, cancel, modern, note, request, tools},
        *,
    };
    use crate::{
        evidence::Evidence,
        judge::transcript::{Transcript, WORK},
        model::Revision,
        requirements::Register,
    };

    #[test]
    fn every_check_has_an_id_of_its_own_and_a_requirement_in_the_register() {
        let requirements: BTreeSet<&str> = Register::built_in().ids().collect();
        let mut ids = BTreeSet::new();
        for (check, _) in all() {
            assert!(ids.insert(check.id), "two checks have the id {}", check.id);
            assert!(requirements.contains(check.requirement), "{} cites {}", check.id, check.requirement);
        }
    }

    /// The accesses to messages of the transcript and all checks of a subject.
    fn work(subject: Subject, evidence: &Evidence) -> u64 {
        WORK.set(0);
        let transcript = Transcript::new(evidence, &UNKNOWN);
        for check in for_subject(subject) {
            drop(check.run(&transcript));
        }
        WORK.get()
    }

    /// A client that reads `count` pages of a list, changes and calls a tool on each, and cancels the call.
    fn endless_pages(builder: EvidenceBuilder, era: Era, count: u64) -> Evidence {
        let message = |id: u64, method: &str, params: Value| match era {
            Era::Legacy => request(id, method, params),
            Era::Modern => modern(id, method, params),
        };
        let pages = (1..=count).fold(builder, |builder, page| {
            let (id, cursor) = (page * 2, format!("cursor-{page}"));
            let builder =
                builder.client(message(id, "tools/list", json!({ "cursor": format!("cursor-{}", page - 1) })));
            let builder = builder.server(tools(id, &["stuck"], Some(&cursor)));
            let builder = builder.server(note("notifications/tools/list_changed"));
            builder.client(message(id + 1, "tools/call", json!({ "name": "stuck" }))).client(cancel(id + 1))
        });
        pages.build()
    }

    #[test]
    fn the_work_of_all_checks_is_linear_in_the_exchanges() {
        let legacy: [fn() -> EvidenceBuilder; 3] = [
            || EvidenceBuilder::stdio(Revision::V2025_11_25).greet(),
            || EvidenceBuilder::http(Revision::V2025_11_25).greet(),
            || EvidenceBuilder::sse().greet(),
        ];
        let modern: [fn() -> EvidenceBuilder; 2] =
            [|| EvidenceBuilder::stdio(Revision::V2026_07_28), || EvidenceBuilder::http(Revision::V2026_07_28)];
        let builders = legacy.iter().map(|one| (one, Era::Legacy)).chain(modern.iter().map(|one| (one, Era::Modern)));
        for (number, (builder, era)) in builders.enumerate() {
            for subject in [Subject::Client, Subject::Server] {
                // 20,000 and 40,000 requests of a client over stdio; the others differ in the transport and era only.
                let count = if number == 0 && subject == Subject::Client { 10_000 } else { 500 };
                let [small, large] =
                    [count, 2 * count].map(|count| work(subject, &endless_pages(builder(), era, count)));
                assert!(large < small * 21 / 10, "{subject:?} {number}: {small} accesses became {large}");
            }
        }
    }
}

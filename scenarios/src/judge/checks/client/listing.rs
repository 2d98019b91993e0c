//! The pages of the lists that a client read, and the listings that they form.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    message::Message,
    session::{Session, sessions},
};
use crate::evidence::Evidence;

/// One request for a page of a list, and its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page<'a> {
    /// The server.
    pub(super) server: &'a str,
    /// The request.
    pub(super) request: Message<'a>,
    /// The answer, if one came.
    pub(super) answer: Option<Message<'a>>,
}

/// The methods that give pages (all revisions, server/utilities/pagination#operations-supporting-pagination).
const PAGED: [&str; 4] = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

impl<'a> Page<'a> {
    /// The list.
    pub(super) fn method(&self) -> &'a str {
        self.request.method().unwrap_or_default()
    }

    /// The cursor that the client sent.
    pub(super) fn cursor(&self) -> Option<&'a Value> {
        self.request.params()?.get("cursor").filter(|cursor| !cursor.is_null())
    }

    /// The cursor that the server gave.
    pub(super) fn next(&self) -> Option<&'a Value> {
        self.answer?.result()?.get("nextCursor").filter(|cursor| !cursor.is_null())
    }

    /// The names of the tools on it; none at all where the record of it was cut short.
    fn tools(&self) -> Option<impl Iterator<Item = &'a str>> {
        let tools = self.answer?.result()?.get("tools")?.as_array()?;
        let whole = tools.iter().all(Value::is_object);
        whole.then(|| tools.iter().filter_map(|tool| tool.get("name")?.as_str()))
    }
}

/// Every page that was asked for, in order.
pub(super) fn pages(evidence: &Evidence) -> Vec<Page<'_>> {
    let mut found: Vec<_> = sessions(evidence).iter().flat_map(pages_of).collect();
    found.sort_by_key(|page| page.request.seq());
    found
}

fn pages_of<'a>(session: &Session<'a>) -> Vec<Page<'a>> {
    let asked = session.said().filter(|message| message.is_request());
    let paged = asked.filter(|message| message.method().is_some_and(|method| PAGED.contains(&method)));
    paged.map(|request| Page { server: session.server, request, answer: session.answer(&request) }).collect()
}

/// The tools of a server, read to the end.
#[derive(Debug)]
pub(super) struct Listing<'a> {
    /// The server.
    pub(super) server: &'a str,
    /// The names.
    pub(super) names: BTreeSet<&'a str>,
    /// When its first page was asked for.
    pub(super) began_us: u64,
    /// When its last page was sent.
    pub(super) ended_us: u64,
    /// The frame that carried its last page.
    pub(super) last: u64,
    /// The cursor of its next page.
    next: Option<&'a Value>,
}

/// The listings of tools that were read to the end, in the order in which they ended. One that failed, or whose record
/// was cut short, is not among them: nothing can be told from what it lacks.
pub(super) fn tool_listings(evidence: &Evidence) -> Vec<Listing<'_>> {
    let mut open: Vec<Listing<'_>> = Vec::new();
    let mut whole = Vec::new();
    for page in pages(evidence).into_iter().filter(|page| page.method() == "tools/list") {
        let (Some(answer), Some(names)) = (page.answer, page.tools()) else { continue };
        let mut listing = match page.cursor() {
            None => Listing {
                server: page.server,
                names: BTreeSet::new(),
                began_us: page.request.at_us(),
                ended_us: 0,
                last: 0,
                next: None,
            },
            Some(cursor) => {
                let place = open.iter().rposition(|open| open.server == page.server && open.next == Some(cursor));
                let Some(place) = place else { continue };
                open.remove(place)
            }
        };
        listing.names.extend(names);
        (listing.ended_us, listing.last, listing.next) = (answer.at_us(), answer.seq(), page.next());
        if listing.next.is_none() { whole.push(listing) } else { open.push(listing) }
    }
    whole.sort_by_key(|listing| listing.last);
    whole
}

/// The tools that a server has shown in any page before this frame; none at all where the record was cut short.
pub(super) fn tools_shown<'a>(pages: &[Page<'a>], server: &str, before: u64) -> Option<BTreeSet<&'a str>> {
    let read = pages.iter().filter(|page| page.server == server && page.method() == "tools/list");
    let read = read.filter(|page| page.answer.is_some_and(|answer| answer.seq() < before && answer.result().is_some()));
    let mut shown = BTreeSet::new();
    for page in read {
        shown.extend(page.tools()?);
    }
    Some(shown)
}

//! The pages that a client read, and the complete listings of tools that they form.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::judge::transcript::{Message, Session, Transcript};

/// One request for a page of a list, and its response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page<'a> {
    pub(super) server: &'a str,
    pub(super) request: Message<'a>,
    pub(super) answer: Option<Message<'a>>,
}

/// The methods with pages (all revisions, server/utilities/pagination#operations-supporting-pagination).
const PAGED: [&str; 4] = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

impl<'a> Page<'a> {
    /// The list method.
    pub(super) fn method(&self) -> &'a str {
        self.request.method().unwrap_or_default()
    }

    /// The cursor in the request.
    pub(super) fn cursor(&self) -> Option<&'a Value> {
        self.request.param("cursor").filter(|cursor| !cursor.is_null())
    }

    /// The cursor in the response.
    pub(super) fn next(&self) -> Option<&'a Value> {
        self.answer?.result()?.get("nextCursor").filter(|cursor| !cursor.is_null())
    }

    /// The names of the tools on the page; `None` if the record of it was truncated.
    pub(super) fn tools(&self) -> Option<impl Iterator<Item = &'a str> + use<'a>> {
        let tools = self.answer?.result()?.get("tools")?.as_array()?;
        let whole = tools.iter().all(Value::is_object);
        whole.then(|| tools.iter().filter_map(|tool| tool.get("name")?.as_str()))
    }
}

/// Every page that was requested, in order.
pub(super) fn pages<'a>(transcript: &Transcript<'a>) -> Vec<Page<'a>> {
    let mut found: Vec<_> = transcript.sessions().iter().flat_map(pages_of).collect();
    found.sort_by_key(|page| page.request.frame.seq);
    found
}

fn pages_of<'t, 'a>(session: &'t Session<'a>) -> impl Iterator<Item = Page<'a>> + use<'t, 'a> {
    let requests = session.client_messages().filter(|message| message.is_request());
    let paged = requests.filter(|message| message.method().is_some_and(|method| PAGED.contains(&method)));
    paged.map(|request| Page { server: session.server, request, answer: session.answer(&request) })
}

/// The tools of a server, read to the last page.
#[derive(Debug)]
pub(super) struct Listing<'a> {
    pub(super) server: &'a str,
    pub(super) names: BTreeSet<&'a str>,
    /// When the first page was requested, in microseconds.
    pub(super) began_us: u64,
    /// When the last page was sent, in microseconds.
    pub(super) ended_us: u64,
    /// The frame with the last page.
    pub(super) last: u64,
}

/// The complete listings of tools, in the order in which they ended. Listings that failed or whose record was truncated
/// are omitted, since a tool that they lack may still exist.
pub(super) fn tool_listings<'a>(transcript: &Transcript<'a>) -> Vec<Listing<'a>> {
    // Listings whose next page has not been read, by the cursor of that page, newest last.
    let mut open: HashMap<(&str, &Value), Vec<Listing<'_>>> = HashMap::new();
    let mut complete = Vec::new();
    for page in pages(transcript).into_iter().filter(|page| page.method() == "tools/list") {
        let (Some(answer), Some(names)) = (page.answer, page.tools()) else { continue };
        let mut listing = match page.cursor() {
            None => Listing {
                server: page.server,
                names: BTreeSet::new(),
                began_us: page.request.at_us(),
                ended_us: 0,
                last: 0,
            },
            Some(cursor) => match open.get_mut(&(page.server, cursor)).and_then(Vec::pop) {
                Some(listing) => listing,
                None => continue,
            },
        };
        listing.names.extend(names);
        (listing.ended_us, listing.last) = (answer.at_us(), answer.seq());
        match page.next() {
            Some(next) => open.entry((page.server, next)).or_default().push(listing),
            None => complete.push(listing),
        }
    }
    complete.sort_by_key(|listing| listing.last);
    complete
}

/// The tools of each server, with the first frame that listed them.
#[derive(Debug, Default)]
pub(super) struct ListedTools<'a> {
    first: HashMap<(&'a str, &'a str), u64>,
    /// The first frame with a tool, by server.
    any: HashMap<&'a str, u64>,
    /// The first frame whose record was truncated, by server.
    truncated: HashMap<&'a str, u64>,
}

impl<'a> ListedTools<'a> {
    pub(super) fn new(transcript: &Transcript<'a>) -> Self {
        let mut listed = Self::default();
        for page in pages(transcript).into_iter().filter(|page| page.method() == "tools/list") {
            let Some(answer) = page.answer.filter(|answer| answer.result().is_some()) else { continue };
            let note = |seen: &mut u64| *seen = answer.seq().min(*seen);
            let Some(names) = page.tools() else {
                note(listed.truncated.entry(page.server).or_insert(u64::MAX));
                continue;
            };
            for name in names {
                note(listed.first.entry((page.server, name)).or_insert(u64::MAX));
                note(listed.any.entry(page.server).or_insert(u64::MAX));
            }
        }
        listed
    }

    /// Whether the server had listed the tool before a frame; `None` if that is unknown, because the server had listed
    /// no tools or the record of a page was truncated.
    pub(super) fn lists(&self, server: &'a str, tool: &'a str, before: u64) -> Option<bool> {
        let seen = |seq: Option<&u64>| seq.is_some_and(|seq| *seq < before);
        let known = seen(self.any.get(server)) && !seen(self.truncated.get(server));
        known.then(|| seen(self.first.get(&(server, tool))))
    }
}

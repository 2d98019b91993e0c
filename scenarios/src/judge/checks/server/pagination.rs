//! Checks on lists that come in pages, in every case in which one was read.

use std::collections::BTreeSet;

use serde_json::Value;

use super::talk::{Exchange, Fault, always, asked, brief, exchanges, named, refused, ruling};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling},
};

/// The cursor that scenarios send and no server gave.
const INVALID: &str = "workbench-no-such-cursor";
/// The list methods, where their items are, and what names an item.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ("prompts/list", "prompts", "name"),
];

/// The checks of this theme.
pub(super) const ALL: &[Check] = &[
    always("list-holds-a-list", "pagination/list", "the result of a list method holds a list", lists),
    always("next-cursor-is-a-string", "pagination/cursor", "nextCursor, where there is one, is a string", cursor),
    always("pages-come-to-an-end", "pagination/ends", "no cursor is given twice in one walk through the pages", ends),
    always("pages-do-not-overlap", "pagination/no-duplicates", "no item is on two pages of one walk", overlap),
    named(
        "invalid-cursor-is-refused",
        "pagination/invalid-cursor",
        "a cursor that the server never gave is refused with -32602",
        invalid,
    ),
];

fn pages(evidence: &Evidence) -> Vec<Exchange<'_>> {
    let list = |exchange: &Exchange<'_>| LISTS.iter().any(|(method, ..)| exchange.asked.method() == Some(method));
    exchanges(evidence).into_iter().filter(|exchange| list(exchange) && exchange.result().is_some()).collect()
}

fn answer_frames(all: &[Exchange<'_>]) -> Vec<u64> {
    all.iter().filter_map(|exchange| Some(exchange.answer?.0.seq)).collect()
}

/// What is wrong with single pages.
fn each(evidence: &Evidence, held: &str, fault: impl Fn(&Exchange<'_>, &Value) -> Option<String>) -> Ruling {
    let all = pages(evidence);
    let faults: Vec<Fault> = all
        .iter()
        .filter_map(|exchange| Some((exchange.answer?.0.seq, fault(exchange, exchange.result()?)?)))
        .collect();
    ruling(faults, &answer_frames(&all), held.to_owned(), "no list was read")
}

fn lists(evidence: &Evidence) -> Ruling {
    each(evidence, "it does", |exchange, result| {
        let (_, key, _) = LISTS.iter().find(|(method, ..)| exchange.asked.method() == Some(method))?;
        (!result.get(key).is_some_and(Value::is_array)).then(|| format!("`{key}` is no list: {}", brief(result)))
    })
}

fn cursor(evidence: &Evidence) -> Ruling {
    each(evidence, "it is", |_, result| {
        let cursor = result.get("nextCursor")?;
        (!cursor.is_string()).then(|| format!("it is {}", brief(cursor)))
    })
}

/// The walks through the pages of a method: each from a request without a cursor on, as far as cursors were followed.
fn walks<'a>(evidence: &'a Evidence, method: &str) -> Vec<Vec<Exchange<'a>>> {
    let mut walks: Vec<Vec<Exchange<'a>>> = Vec::new();
    for exchange in asked(evidence, method).into_iter().filter(|exchange| exchange.result().is_some()) {
        match exchange.param("cursor") {
            None => walks.push(vec![exchange]),
            Some(cursor) => {
                let Some(walk) = walks.last_mut() else { continue };
                let given = walk.last().and_then(Exchange::result).and_then(|result| result.get("nextCursor"));
                if given == Some(cursor) {
                    walk.push(exchange);
                }
            }
        }
    }
    walks
}

fn ends(evidence: &Evidence) -> Ruling {
    let (mut faults, mut frames) = (Vec::new(), Vec::new());
    for walk in LISTS.iter().flat_map(|(method, ..)| walks(evidence, method)) {
        frames.extend(answer_frames(&walk));
        let mut given = BTreeSet::new();
        for exchange in &walk {
            let cursor = exchange.result().and_then(|result| result.get("nextCursor")).and_then(Value::as_str);
            let (Some(cursor), Some((frame, _))) = (cursor, exchange.answer) else { continue };
            if !given.insert(cursor) {
                faults.push((frame.seq, format!("the cursor `{cursor}` comes again")));
            }
        }
    }
    ruling(faults, &frames, "none is".to_owned(), "no list was read")
}

fn overlap(evidence: &Evidence) -> Ruling {
    let (mut faults, mut frames) = (Vec::new(), Vec::new());
    for (method, key, identity) in LISTS {
        for walk in walks(evidence, method).into_iter().filter(|walk| walk.len() > 1) {
            let mut before: BTreeSet<&str> = BTreeSet::new();
            for exchange in &walk {
                let (Some((frame, _)), Some(result)) = (exchange.answer, exchange.result()) else { continue };
                frames.push(frame.seq);
                let items = result.get(key).and_then(Value::as_array).into_iter().flatten();
                let names: BTreeSet<&str> = items.filter_map(|item| item.get(identity)?.as_str()).collect();
                faults.extend(names.intersection(&before).map(|name| (frame.seq, format!("`{name}` comes again"))));
                before.extend(names);
            }
        }
    }
    ruling(faults, &frames, "none is".to_owned(), "no list has more than one page")
}

fn invalid(evidence: &Evidence) -> Ruling {
    // A server that gives no cursors may well ignore the parameter; one that does knows its own.
    let gives = pages(evidence)
        .iter()
        .any(|exchange| exchange.result().and_then(|result| result.get("nextCursor")).is_some_and(Value::is_string));
    if !gives {
        return Ruling::NotApplicable("the server does not paginate".to_owned());
    }
    let tried = exchanges(evidence)
        .into_iter()
        .find(|exchange| exchange.param("cursor").is_some_and(|cursor| cursor == INVALID));
    refused(tried.as_ref(), &[-32602], "a page by an invalid cursor")
}

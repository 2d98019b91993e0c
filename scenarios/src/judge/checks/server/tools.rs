//! Checks on the tools that a server offers: their shape, names and schemas, and a tool that does not exist. No tool of
//! the server is called: what it would do is not known.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

use super::talk::{Exchange, Fault, asked, brief, items, named, ruling};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling},
    model::Revision,
};

/// The tool that scenarios call and no server has.
const UNKNOWN: &str = "workbench-no-such-tool";

static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new("^[A-Za-z0-9_.-]{1,128}$").expect("a constant, tested"));

/// The checks of this theme.
pub(super) const ALL: &[Check] = &[
    named("tool-shape", "tools/shape", "every tool has a name, and its texts are strings", shape),
    named(
        "tool-input-schema-is-of-an-object",
        "tools/input-schema",
        "every tool has an inputSchema of type object",
        input,
    ),
    named("tool-schemas-are-valid", "tools/valid-schemas", "every schema is valid in its dialect", schemas),
    named("tool-names-are-unique", "tools/unique-names", "no two tools have the same name", unique),
    named(
        "tool-names-are-plain",
        "tools/plain-names",
        "names are of 1 to 128 letters, digits, `_`, `-` and `.`",
        plain,
    ),
    named("tool-annotations", "tools/annotations", "hints are booleans, and the title is a string", annotations),
    named(
        "tools-in-the-same-order",
        "tools/deterministic-order",
        "two listings give the same tools in the same order",
        order,
    ),
    named("unknown-tool-is-refused", "tools/unknown-tool", "a tool that does not exist gives an error", refused),
    named(
        "unknown-tool-is-a-protocol-error",
        "tools/unknown-tool-code",
        "the error is a JSON-RPC error with -32602",
        protocol_error,
    ),
];

const NOTHING: &str = "the server lists no tools";

fn tools(evidence: &Evidence) -> Vec<(u64, &Value)> {
    items(evidence, "tools/list", "tools")
}

fn name(tool: &Value) -> String {
    tool.get("name")
        .map_or_else(|| "(nameless)".to_owned(), |name| name.as_str().map_or_else(|| brief(name), str::to_owned))
}

fn each(evidence: &Evidence, held: &str, fault: impl Fn(&Value) -> Option<String>) -> Ruling {
    let all = tools(evidence);
    let faults: Vec<Fault> =
        all.iter().filter_map(|(frame, tool)| Some((*frame, format!("`{}`: {}", name(tool), fault(tool)?)))).collect();
    let frames: Vec<u64> = all.iter().map(|(frame, _)| *frame).collect();
    ruling(faults, &frames, format!("{held}: {} tools", all.len()), NOTHING)
}

fn shape(evidence: &Evidence) -> Ruling {
    each(evidence, "all have", |tool| {
        if !tool.get("name").is_some_and(Value::is_string) {
            return Some("the name is no string".to_owned());
        }
        let wrong = ["title", "description"].into_iter().find(|key| !tool.get(key).is_none_or(Value::is_string));
        wrong.map(|key| format!("{key} is {}", brief(&tool[key])))
    })
}

fn input(evidence: &Evidence) -> Ruling {
    each(evidence, "all have", |tool| match tool.get("inputSchema") {
        None => Some("there is no inputSchema".to_owned()),
        Some(schema) if !schema.is_object() => Some(format!("inputSchema is {}", brief(schema))),
        Some(schema) if schema.get("type").is_none_or(|kind| kind != "object") => {
            Some(format!("its type is {}", schema.get("type").map_or_else(|| "missing".to_owned(), brief)))
        }
        Some(_) => None,
    })
}

fn schemas(evidence: &Evidence) -> Ruling {
    if evidence.revision < Revision::V2025_11_25 {
        return Ruling::NotApplicable(format!("{} does not name a dialect", evidence.revision));
    }
    each(evidence, "all are", |tool| {
        ["inputSchema", "outputSchema"].into_iter().find_map(|key| {
            let schema = tool.get(key).filter(|schema| schema.is_object())?;
            invalid(schema).map(|why| format!("{key} {why}"))
        })
    })
}

/// Why a schema is not valid in the dialect that it names, or in 2020-12 if it names none. A dialect that is not known
/// here is not judged.
fn invalid(schema: &Value) -> Option<String> {
    let known = |dialect: &str| dialect.contains("json-schema.org/draft");
    if schema.get("$schema").is_some_and(|dialect| !dialect.as_str().is_some_and(known)) {
        return None;
    }
    let result = if schema.get("$schema").is_some() {
        jsonschema::meta::validate(schema)
    } else {
        jsonschema::draft202012::meta::validate(schema)
    };
    let error = result.err()?;
    let place = error.instance_path().to_string();
    Some(format!("at `{place}`: {}", error.to_string().chars().take(160).collect::<String>()))
}

fn unique(evidence: &Evidence) -> Ruling {
    let Some(listing) = listings(evidence).into_iter().next() else {
        return Ruling::NotApplicable(NOTHING.to_owned());
    };
    let mut counts: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for (frame, name) in &listing {
        let entry = counts.entry(name).or_insert((0, *frame));
        *entry = (entry.0 + 1, *frame);
    }
    let faults = counts.iter().filter(|(_, (count, _))| *count > 1);
    let faults = faults.map(|(name, (count, frame))| (*frame, format!("{count} tools are called `{name}`"))).collect();
    let frames: Vec<u64> = listing.iter().map(|(frame, _)| *frame).collect();
    ruling(faults, &frames, format!("{} names, all different", listing.len()), NOTHING)
}

fn plain(evidence: &Evidence) -> Ruling {
    if evidence.revision < Revision::V2025_11_25 {
        return Ruling::NotApplicable(format!("{} does not say what a name may hold", evidence.revision));
    }
    each(evidence, "all are", |tool| {
        let name = tool.get("name")?.as_str()?;
        (!NAME.is_match(name)).then(|| "is no such name".to_owned())
    })
}

fn annotations(evidence: &Evidence) -> Ruling {
    if evidence.revision < Revision::V2025_03_26 {
        return Ruling::NotApplicable(format!("{} has no annotations", evidence.revision));
    }
    each(evidence, "they are", |tool| {
        let annotations = tool.get("annotations")?;
        if !annotations.is_object() {
            return Some(format!("annotations is {}", brief(annotations)));
        }
        let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
        let wrong = hints.into_iter().find(|key| !annotations.get(key).is_none_or(Value::is_boolean));
        let wrong = wrong.or_else(|| (!annotations.get("title").is_none_or(Value::is_string)).then_some("title"));
        wrong.map(|key| format!("{key} is {}", brief(&annotations[key])))
    })
}

fn order(evidence: &Evidence) -> Ruling {
    if !evidence.revision.is_modern() {
        return Ruling::NotApplicable(format!("{} does not ask for it", evidence.revision));
    }
    let changed =
        super::talk::said(evidence).any(|(_, message)| message["method"] == "notifications/tools/list_changed");
    let listings = listings(evidence);
    let [first, second, ..] = listings.as_slice() else {
        return Ruling::NotApplicable("the tools were not listed twice".to_owned());
    };
    if changed {
        return Ruling::NotApplicable("the server says that its tools have changed meanwhile".to_owned());
    }
    let frames: Vec<u64> = first.iter().chain(second).map(|(frame, _)| *frame).collect();
    let same = first.iter().map(|(_, name)| name).eq(second.iter().map(|(_, name)| name));
    if same { ruling(vec![], &frames, "they do".to_owned(), NOTHING) } else { Ruling::broken("they differ", frames) }
}

/// The names of every whole listing, each from a request without a cursor to the next.
fn listings(evidence: &Evidence) -> Vec<Vec<(u64, &str)>> {
    let mut found: Vec<Vec<(u64, &str)>> = Vec::new();
    let mut given = None;
    for exchange in asked(evidence, "tools/list") {
        let (Some((frame, _)), Some(result)) = (exchange.answer, exchange.result()) else { continue };
        if exchange.param("cursor").is_none() {
            found.push(Vec::new());
        } else if exchange.param("cursor") != given {
            // A cursor that was made up: what comes of it is no page of a listing.
            continue;
        }
        given = result.get("nextCursor");
        let names = result.get("tools").and_then(Value::as_array).into_iter().flatten();
        let names = names.filter_map(|tool| Some((frame.seq, tool.get("name")?.as_str()?)));
        if let Some(listing) = found.last_mut() {
            listing.extend(names);
        }
    }
    found
}

fn unknown_call(evidence: &Evidence) -> Option<Exchange<'_>> {
    let calls = asked(evidence, "tools/call");
    calls.into_iter().find(|exchange| exchange.param("name").is_some_and(|name| name == UNKNOWN))
}

fn refused(evidence: &Evidence) -> Ruling {
    let Some(exchange) = unknown_call(evidence) else { return Ruling::NotApplicable("it was not called".to_owned()) };
    let Some((_, answer)) = exchange.answer else { return Ruling::broken("there is no answer", exchange.frames()) };
    let is_error = exchange.result().and_then(|result| result.get("isError")) == Some(&Value::Bool(true));
    if exchange.error().is_some() || is_error {
        Ruling::held(brief(answer), exchange.frames())
    } else {
        Ruling::broken(format!("the call goes well: {}", brief(answer)), exchange.frames())
    }
}

fn protocol_error(evidence: &Evidence) -> Ruling {
    super::talk::refused(unknown_call(evidence).as_ref(), &[-32602], "an unknown tool")
}

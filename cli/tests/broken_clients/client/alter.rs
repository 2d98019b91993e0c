//! Defects as data: rows of `altered.json` that change what the client sends. A row is a defect in one or more cases, and
//! the check that detects it.

use std::{
    collections::BTreeMap,
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde::Deserialize;
use serde_json::{Map, Value};

/// All rows.
pub(crate) static ROWS: LazyLock<Vec<AlteredRow>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../altered.json")).expect("the table of altered messages is valid")
});

/// A defect, the cases in which it shows, and the checks that detect it.
#[derive(Debug, Deserialize)]
pub(crate) struct AlteredRow {
    /// The defect.
    pub(crate) defect: String,
    /// The ids of cases.
    pub(crate) cases: Vec<String>,
    /// The id of the check.
    pub(crate) check: String,
    /// Whether the violated rule is a SHOULD.
    #[serde(default)]
    pub(crate) warns: bool,
    /// The reason, if only a report shows the defect.
    pub(crate) report_only: Option<String>,
    /// The change.
    #[serde(flatten)]
    change: Change,
}

/// A change of messages.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Change {
    /// The method of the messages, `answer <method>` for responses, or `any`.
    on: String,
    /// Which of these messages, counted from 1 [default: all].
    nth: Option<usize>,
    /// A member that the message must have.
    has: Option<String>,
    /// New values by JSON Pointer.
    #[serde(default)]
    set: BTreeMap<String, Value>,
    #[serde(default)]
    remove: Vec<String>,
    /// New HTTP headers; null removes one.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Option<String>>,
    /// Whether the message is not sent.
    #[serde(default)]
    drop: bool,
    /// Whether it is sent in an array.
    #[serde(default)]
    batch: bool,
    /// Messages to send before and after it. The string `{{id}}` is replaced by its id.
    #[serde(default)]
    before: Vec<Value>,
    #[serde(default)]
    after: Vec<Value>,
    #[serde(skip)]
    seen: AtomicUsize,
}

/// The change of a round in a case. The n-th row with a case belongs to the round n.
pub(crate) fn in_round(round: usize, case: &str) -> Option<&'static Change> {
    rows_of(case).nth(round).map(|row| &row.change)
}

/// The rows with a case.
pub(crate) fn rows_of(case: &str) -> impl Iterator<Item = &'static AlteredRow> {
    ROWS.iter().filter(move |row| row.cases.iter().any(|one| one == case))
}

impl Change {
    /// The messages to send instead of this one.
    pub(crate) fn apply(&self, name: &str, mut message: Value) -> Vec<Value> {
        let fits = (self.on == name || self.on == "any")
            && self.has.as_ref().is_none_or(|pointer| message.pointer(pointer).is_some());
        if !fits || self.nth.is_some_and(|nth| self.seen.fetch_add(1, Ordering::Relaxed) + 1 != nth) {
            return vec![message];
        }
        let id = message.get("id").cloned().unwrap_or_default();
        self.set.iter().for_each(|(pointer, value)| set(&mut message, pointer, filled(value, &id)));
        self.remove.iter().for_each(|pointer| remove(&mut message, pointer));
        let message = if self.batch { Value::Array(vec![message]) } else { message };
        let own = (!self.drop).then_some(message);
        let fill = |all: &[Value]| all.iter().map(|one| filled(one, &id)).collect::<Vec<_>>();
        fill(&self.before).into_iter().chain(own).chain(fill(&self.after)).collect()
    }

    /// Whether messages of this name, or HTTP requests of this method, are not sent.
    pub(crate) fn drops(&self, name: &str) -> bool {
        self.drop && self.on == name
    }

    /// The changed headers of a message, or of another HTTP request by its method.
    pub(crate) fn headers_of(&self, name: &str) -> impl Iterator<Item = (&String, &Option<String>)> {
        self.headers.iter().filter(move |_| self.on == name || self.on == "any")
    }
}

fn filled(value: &Value, id: &Value) -> Value {
    match value {
        Value::String(text) if text == "{{id}}" => id.clone(),
        Value::Array(items) => items.iter().map(|item| filled(item, id)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), filled(member, id))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Sets a value, and creates the objects around it.
fn set(message: &mut Value, pointer: &str, value: Value) {
    let mut at = message;
    for name in pointer.split('/').skip(1).map(unescaped) {
        at = match at {
            Value::Array(items) => {
                let Some(item) = name.parse().ok().and_then(|index: usize| items.get_mut(index)) else { return };
                item
            }
            _ => &mut at[name],
        };
    }
    *at = value;
}

fn remove(message: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    if let Some(Value::Object(members)) = message.pointer_mut(parent) {
        members.remove(&unescaped(name));
    }
}

fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

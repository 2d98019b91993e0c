//! The short way for what is asked most: a call of a tool whose reply nothing else in the script has a say in.
//!
//! A call that takes it gets the very bytes that the long way would give, without a tree of values being built and taken
//! down for the message, the exchange and the answer. Whatever is out of the ordinary is declined and goes the long way:
//! the short one never refuses, and changes nothing when it declines. A property test holds the two together.

mod call;
mod envelope;
mod skipped;
mod template;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use self::template::Template;
pub(crate) use self::{call::PlainCall, envelope::Envelope};
use super::{Engine, Era, SessionKey, catalogue::Catalogue, exchange::Exchange, message::Outcome, reply::text_content};
use crate::script::{Reply, Script, Tool, When};

/// What stands in the frame of an answer where the id and the text belong.
const ID: &str = "\u{1}id\u{1}";
const TEXT: &str = "\u{1}text\u{1}";

/// The replies that can be given the short way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Quick {
    tools: HashMap<String, Plain>,
    /// What stands around id and text, in either era; made when it is first needed.
    frames: Option<[Frame; 2]>,
}

/// A tool with a plain reply.
#[derive(Debug, Clone)]
struct Plain {
    template: Template,
    /// Whether some of its arguments have to be said in headers too.
    mirrors: bool,
}

/// The bytes around the id and the text of an answer.
#[derive(Debug, Clone, Default)]
struct Frame {
    before: Vec<u8>,
    between: Vec<u8>,
    after: Vec<u8>,
}

impl Quick {
    /// The short way that a script leaves open.
    pub(crate) fn of(script: &Script, catalogue: &Catalogue, capabilities: &Map<String, Value>) -> Self {
        let spoken_for = |when: &When| when.method.as_deref().is_none_or(|method| method == "tools/call");
        let rules = script.on.iter().map(|rule| &rule.when).chain(script.faults.iter().map(|fault| &fault.when));
        if rules.into_iter().any(spoken_for) || !capabilities.contains_key("tools") {
            return Self::default();
        }
        // Of several tools of one name the first is called.
        let plain = |tool: &Tool| {
            let called = catalogue.tools.get(&tool.name).is_some_and(|called| *called == *tool);
            let called = called && tool.task.is_none() && !tool.validate;
            Some((tool.name.clone(), Plain::of(tool).filter(|_| called)?))
        };
        Self { tools: catalogue.tools.written().filter_map(plain).collect(), frames: None }
    }

    /// Nothing goes the short way any more: the tools on offer have changed.
    pub(crate) fn close(&mut self) {
        self.tools.clear();
    }
}

impl Plain {
    /// A tool whose reply is a text and nothing more.
    fn of(tool: &Tool) -> Option<Self> {
        let template = match &tool.reply {
            None => Template::echo(&tool.name),
            Some(reply) => {
                let text = reply.text.clone()?;
                let plain = Reply { text: Some(text.clone()), ..Reply::default() };
                Template::of(&text).filter(|_| *reply == plain)?
            }
        };
        let mirrors = tool.input_schema.as_ref().is_some_and(|schema| schema.to_string().contains("x-mcp-header"));
        Some(Self { template, mirrors })
    }
}

impl Engine {
    /// The long way's own answer, cut where id and text belong.
    fn frame(&self, era: Era) -> Frame {
        let message = json!({ "jsonrpc": "2.0", "id": ID, "method": "tools/call" });
        let exchange = Exchange::of(era, message);
        let result = self.complete(&exchange, text_content(TEXT));
        let whole = Outcome::Result(result).response(Some(ID.into())).to_string();
        let cut = |text: &str, at: &str| {
            let at = Value::from(at).to_string();
            text.split_once(&at).map(|(before, after)| (before.to_owned(), after.to_owned()))
        };
        let parts = cut(&whole, ID).and_then(|(before, rest)| Some((before, cut(&rest, TEXT)?)));
        // The answer is made of these two just above, so it can be cut at them.
        let (before, (between, after)) = parts.unwrap_or_default();
        Frame { before: before.into(), between: between.into(), after: after.into() }
    }

    /// Adds the whole answer to a call; false if it has to go the long way.
    pub(crate) fn answer_plain(
        &mut self,
        session: Option<SessionKey>,
        call: &PlainCall<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let era = self.support.era_named(call.version().is_some());
        let Some(plain) = self.quick.tools.get(call.name()) else { return false };
        // What is mirrored in headers is looked at the long way. An answer that is held back waits for one that goes it.
        let open = self.held_back.is_empty() && !(era == Era::Modern && plain.mirrors);
        if !open || !self.finds_nothing_wrong(era, session, call) {
            return false;
        }
        if self.quick.frames.is_none() {
            self.quick.frames = Some([Era::Legacy, Era::Modern].map(|era| self.frame(era)));
        }
        let Quick { tools, frames: Some([legacy, modern]) } = &self.quick else { return false };
        let Some(plain) = tools.get(call.name()) else { return false };
        let count = match self.calls.get_mut(call.name()) {
            Some(count) => count,
            None => self.calls.entry(call.name().to_owned()).or_default(),
        };
        *count += 1;
        self.next_exchange += 1;
        let frame = if era == Era::Legacy { legacy } else { modern };
        out.extend_from_slice(&frame.before);
        out.extend_from_slice(call.id.as_bytes());
        out.extend_from_slice(&frame.between);
        plain.template.write(call, *count, out);
        out.extend_from_slice(&frame.after);
        true
    }

    /// Whether the long way would find nothing wrong with the session or the metadata.
    fn finds_nothing_wrong(&self, era: Era, session: Option<SessionKey>, call: &PlainCall<'_>) -> bool {
        match era {
            Era::Legacy => session.is_some_and(|key| self.agreed_revision(key).is_some()),
            Era::Modern => {
                let known = |version: &str| Era::of(version) == Era::Modern && self.support.has(version);
                call.is_well_founded && call.version().is_some_and(known)
            }
        }
    }
}

#[cfg(test)]
mod tests;

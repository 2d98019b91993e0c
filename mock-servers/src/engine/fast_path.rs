//! Fast path of simple calls: calls of a tool whose reply depends on nothing else in the script.
//!
//! The response has the same bytes as on the normal path, without trees of values for message and response. Every other
//! message is declined without a change of state and takes the normal path. A property test compares both paths.

mod call;
mod envelope;
mod skipped;
mod template;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use self::template::Template;
pub(crate) use self::{call::SimpleCall, envelope::Envelope};
use super::{
    Engine, Era, SessionKey, dispatch::Dispatch, message::Outcome, reply::text_content, revision,
    server_lists::ServerLists,
};
use crate::script::{Reply, Script, Tool, When};

/// Placeholders of id and text in the frame of a response.
const ID: &str = "\u{1}id\u{1}";
const TEXT: &str = "\u{1}text\u{1}";

/// The tools with a fast path.
#[derive(Debug, Clone, Default)]
pub(crate) struct FastPath {
    tools: HashMap<String, SimpleTool>,
    /// The frames of both eras, made when first needed.
    frames: Option<[Frame; 2]>,
}

/// A tool with a plain reply.
#[derive(Debug, Clone)]
struct SimpleTool {
    template: Template,
    /// Whether some of its arguments are mirrored in headers.
    has_mirrored_headers: bool,
}

/// The bytes around the id and the text of a response.
#[derive(Debug, Clone, Default)]
struct Frame {
    before: Vec<u8>,
    between: Vec<u8>,
    after: Vec<u8>,
}

impl FastPath {
    /// The fast path that a script allows.
    pub(crate) fn new(script: &Script, lists: &ServerLists, capabilities: &Map<String, Value>) -> Self {
        let matches_calls = |when: &When| when.method.as_deref().is_none_or(|method| method == "tools/call");
        let rules = script.on.iter().map(|rule| &rule.when).chain(script.faults.iter().map(|fault| &fault.when));
        if rules.into_iter().any(matches_calls) || !capabilities.contains_key("tools") {
            return Self::default();
        }
        // The first of several tools with one name is called.
        let plain = |tool: &Tool| {
            let tool_result = lists.tools.get(&tool.name).is_some_and(|tool_result| *tool_result == *tool);
            let tool_result = tool_result && tool.task.is_none() && !tool.validate;
            Some((tool.name.clone(), SimpleTool::new(tool).filter(|_| tool_result)?))
        };
        Self { tools: lists.tools.written().filter_map(plain).collect(), frames: None }
    }

    /// Disables the fast path after a change of the tools.
    pub(crate) fn close(&mut self) {
        self.tools.clear();
    }
}

impl SimpleTool {
    /// A tool whose reply is one text block.
    fn new(tool: &Tool) -> Option<Self> {
        let template = match &tool.reply {
            None => Template::echo(&tool.name),
            Some(reply) => {
                let text = reply.text.clone()?;
                let plain = Reply { text: Some(text.clone()), ..Reply::default() };
                Template::parse(&text).filter(|_| *reply == plain)?
            }
        };
        let has_mirrored_headers =
            tool.input_schema.as_ref().is_some_and(|schema| schema.to_string().contains("x-mcp-header"));
        Some(Self { template, has_mirrored_headers })
    }
}

impl Engine {
    /// The response of the normal path, split at id and text.
    fn frame(&self, era: Era) -> Frame {
        let message = json!({ "jsonrpc": "2.0", "id": ID, "method": "tools/call" });
        let dispatch = Dispatch::new(era, message);
        let result = self.complete(&dispatch, text_content(TEXT));
        let whole = Outcome::Result(result).response(Some(ID.into())).to_string();
        let cut = |text: &str, at: &str| {
            let at = Value::from(at).to_string();
            text.split_once(&at).map(|(before, after)| (before.to_owned(), after.to_owned()))
        };
        let parts = cut(&whole, ID).and_then(|(before, rest)| Some((before, cut(&rest, TEXT)?)));
        // The response contains both strings, so the split succeeds.
        let (before, (between, after)) = parts.unwrap_or_default();
        Frame { before: before.into(), between: between.into(), after: after.into() }
    }

    /// Appends the response to a call; false if the call needs the normal path.
    pub(crate) fn respond_fast(
        &mut self,
        session: Option<SessionKey>,
        call: &SimpleCall<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let era = self.settings.support.era_named(call.version().is_some());
        let Some(plain) = self.items.fast_path.tools.get(call.name()) else { return false };
        // The normal path checks mirrored headers, and releases delayed responses.
        let open = self.faults.delayed.is_empty() && !(era == Era::Modern && plain.has_mirrored_headers);
        if !open || !self.accepts(era, session, call) {
            return false;
        }
        if self.items.fast_path.frames.is_none() {
            self.items.fast_path.frames = Some([Era::Legacy, Era::Modern].map(|era| self.frame(era)));
        }
        let FastPath { tools, frames: Some([legacy, modern]) } = &self.items.fast_path else { return false };
        let Some(plain) = tools.get(call.name()) else { return false };
        let count = match self.items.calls.get_mut(call.name()) {
            Some(count) => count,
            None => self.items.calls.entry(call.name().to_owned()).or_default(),
        };
        *count += 1;
        self.dispatches.next += 1;
        let frame = if era == Era::Legacy { legacy } else { modern };
        out.extend_from_slice(&frame.before);
        out.extend_from_slice(call.id.as_bytes());
        out.extend_from_slice(&frame.between);
        plain.template.write(call, *count, out);
        out.extend_from_slice(&frame.after);
        true
    }

    /// Whether the normal path would accept session and metadata.
    fn accepts(&self, era: Era, session: Option<SessionKey>, call: &SimpleCall<'_>) -> bool {
        match era {
            Era::Legacy => session.is_some_and(|key| self.negotiated_revision(key).is_some()),
            Era::Modern => {
                let known = |version: &str| revision::era(version) == Era::Modern && self.settings.support.has(version);
                call.has_capabilities && call.version().is_some_and(known)
            }
        }
    }
}

#[cfg(test)]
mod tests;

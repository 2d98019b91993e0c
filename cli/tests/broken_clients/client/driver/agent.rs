//! The steps of cases with `client.agent`: permissions, the limit of results, tool search, commands and mentions.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::atomic::Ordering,
};

use serde_json::{Map, Value, json};

use super::{Driver, unclear};
use crate::client::{
    defect::{Defect, Flaw},
    fault::Fault,
};

/// Bytes per token, as an estimate.
const TOKEN_BYTES: usize = 4;

/// The rules of a case, and what the user and the model did so far.
#[derive(Default)]
pub(super) struct Agent {
    /// `client.agent` of the context.
    setup: Value,
    approvals: VecDeque<String>,
    /// Tools that the user approved or denied for the session, as `server/tool`.
    remembered: Vec<(String, bool)>,
    /// Tools that the user approved for good.
    approved: Vec<String>,
    /// Tools that the model searched for, as `server/tool`.
    found: HashSet<String>,
    /// The states of servers without a connection.
    failed: BTreeMap<String, &'static str>,
}

impl Agent {
    /// The agent of a context, if it has one.
    pub(super) fn new(context: &Value) -> Option<Self> {
        let setup = context["client"].get("agent")?.clone();
        let approvals = texts(&setup["approvals"]).map(str::to_owned).collect();
        Some(Self { setup, approvals, ..Self::default() })
    }

    fn has_rule(&self, list: &str, target: &str) -> bool {
        texts(&self.setup["permissions"][list]).any(|rule| fits(rule, target))
    }

    /// Whether the questions of a server to the user are declined.
    pub(super) fn declines(&self, server: &str) -> bool {
        self.has_rule("deny", &format!("Elicit({server})"))
    }

    /// Notes that a server cannot be used.
    pub(super) fn failed(&mut self, server: String, fault: &Fault) {
        self.failed.insert(server, if fault.kind == "needs-auth" { "needs-login" } else { "failed" });
    }

    /// Whether the user switched a server off.
    pub(super) fn is_disabled(&self, server: &str) -> bool {
        self.setup["servers"][server]["disabled"] == true
    }

    /// Whether the user selected a tool of a server, or all.
    fn selects(&self, server: &str, tool: &str) -> bool {
        let selected = &self.setup["servers"][server]["tools"];
        selected.is_null() || texts(selected).any(|name| name == tool)
    }

    /// The headers of the entry of a server.
    pub(super) fn headers(&self, server: &str, flaw: Flaw) -> Result<Vec<(String, String)>, Fault> {
        let headers = self.setup["servers"][server]["headers"].as_object().into_iter().flatten();
        headers
            .map(|(name, value)| Ok((name.clone(), self.expanded(value.as_str().unwrap_or_default(), flaw)?)))
            .collect()
    }

    /// A text with the values of its variables.
    fn expanded(&self, text: &str, flaw: Flaw) -> Result<String, Fault> {
        let Some((before, rest)) = text.split_once("${").filter(|_| !flaw.is(Defect::LeavesVariables)) else {
            return Ok(text.to_owned());
        };
        let (inner, after) = rest.split_once('}').unwrap_or((rest, ""));
        let (name, default) = inner.split_once(":-").map_or((inner, None), |(name, text)| (name, Some(text)));
        let set = self.setup["variables"][name].as_str();
        let value = if flaw.is(Defect::PrefersDefaults) { default.or(set) } else { set.or(default) };
        let value = value.ok_or_else(|| Fault::new("invalid-config", format!("the variable `{name}` is not set")))?;
        Ok(format!("{before}{value}{}", self.expanded(after, flaw)?))
    }

    /// Whether the administrator allows a server.
    pub(super) fn may_start(&self, server: &str) -> bool {
        let policy = &self.setup["policy"];
        let is_listed = policy["allow"].is_null() || texts(&policy["allow"]).any(|name| name == server);
        is_listed && !texts(&policy["deny"]).any(|name| name == server)
    }
}

impl Driver<'_> {
    /// The step `list`: without the tools that the model has to search for.
    pub(super) async fn list_for_model(&mut self, server: Option<&str>) -> Result<Value, Fault> {
        let mut listed = self.list(server).await?;
        if let (false, Some(agent), Some(tools)) =
            (self.flaw.is(Defect::ShowsUnselectedTools), &self.agent, listed["tools"].as_array_mut())
        {
            let text = |tool: &Value, key: &str| tool[key].as_str().unwrap_or_default().to_owned();
            tools.retain(|tool| agent.selects(&text(tool, "server"), &text(tool, "name")));
        }
        let hides = self.agent.as_ref().is_some_and(|agent| agent.setup["search"] == true);
        if let (true, Some(tools)) = (hides && !self.flaw.is(Defect::ShowsAllTools), listed["tools"].as_array_mut()) {
            tools.retain(|tool| self.agent.as_ref().is_some_and(|agent| agent.found.contains(&target_of(tool))));
        }
        Ok(listed)
    }

    /// The step `call`: with the permission of the user, and with a result that fits into the context of the model.
    pub(super) async fn call_for_model(&mut self, step: &Value, server: Option<&str>) -> Result<Value, Fault> {
        let server = server.ok_or_else(unclear)?.to_owned();
        let tool = step["tool"].as_str().unwrap_or_default().to_owned();
        if !self.connections.contains_key(&server) {
            return Err(Fault::new("not-allowed", format!("the administrator does not allow `{server}`")));
        }
        self.start_again(Some(&server)).await?;
        if !self.latest.contains_key(&server) {
            self.list(Some(&server)).await?;
        }
        let is_selected = self.agent.as_ref().is_none_or(|agent| agent.selects(&server, &tool));
        if !is_selected && !self.flaw.is(Defect::CallsUnselectedTools) {
            return Err(Fault::new("unknown-tool", format!("`{tool}` is not selected")));
        }
        if !self.permits(&server, &tool) {
            return Err(Fault::new("denied", format!("`{tool}` was denied")));
        }
        match self.call(step).await {
            Ok(result) => Ok(self.fitted(result)),
            Err(fault) => {
                if fault.kind == "needs-auth" && !self.flaw.is(Defect::HidesLostLogins) {
                    let _ = self.disconnect(Some(&server)).await;
                    self.agent.iter_mut().for_each(|agent| agent.failed(server.clone(), &fault));
                }
                Err(fault)
            }
        }
    }

    /// Whether a call is allowed: by a rule, by the user, or because the tool is read-only.
    fn permits(&mut self, server: &str, tool: &str) -> bool {
        let target = format!("{server}/{tool}");
        let read_only = self
            .latest
            .get(server)
            .and_then(|listing| listing.tool(tool))
            .is_some_and(|tool| tool["annotations"]["readOnlyHint"] == true);
        let (flaw, Some(agent)) = (self.flaw, self.agent.as_mut()) else { return true };
        let names_tool = |rule: &str| rule.split('/').next_back().is_some_and(|pattern| fits(pattern, tool));
        let denied = match flaw.is(Defect::DeniesByToolAlone) {
            true => texts(&agent.setup["permissions"]["deny"]).any(names_tool),
            false => agent.has_rule("deny", &target),
        };
        if denied {
            let is_overruled = flaw.is(Defect::AllowsBeforeDeny) && agent.has_rule("allow", &target);
            return is_overruled || flaw.is(Defect::CallsWhatIsDenied);
        }
        let asks = agent.has_rule("ask", &target);
        if !asks && (agent.has_rule("allow", &target) || read_only && !flaw.is(Defect::AsksForEveryRead)) {
            return true;
        }
        if flaw.is(Defect::NeverAsks) || flaw.is(Defect::IgnoresDestructiveHints) && !asks {
            return true;
        }
        if let Some((_, allowed)) = agent.remembered.iter().find(|(known, _)| *known == target) {
            return *allowed;
        }
        let is_approved = |known: &String| match flaw.is(Defect::ApprovesTheServer) {
            true => known.split('/').next() == Some(server),
            false => *known == target,
        };
        if agent.approved.iter().any(is_approved) {
            return true;
        }
        let Some(choice) = agent.approvals.pop_front() else { return flaw.is(Defect::TakesSilenceForConsent) };
        if choice == "always" && !flaw.is(Defect::ForgetsApprovals) {
            agent.approved.push(target);
            return true;
        }
        let allowed = matches!(choice.as_str(), "once" | "session" | "always");
        let is_kept = matches!(choice.as_str(), "session" | "deny-session") && !flaw.is(Defect::AsksAgain)
            || flaw.is(Defect::AsksOnlyOnce);
        if is_kept {
            agent.remembered.push((target, allowed));
        }
        allowed
    }

    /// A result within the limit of the model.
    fn fitted(&self, mut result: Value) -> Value {
        let limit = self.agent.as_ref().and_then(|agent| agent.setup["output_tokens"].as_u64());
        let limit =
            limit.and_then(|tokens| usize::try_from(tokens).ok()).unwrap_or(usize::MAX / TOKEN_BYTES) * TOKEN_BYTES;
        if self.flaw.is(Defect::TrimsResults) {
            for text in result["content"].as_array_mut().into_iter().flatten() {
                text["text"] = text["text"].as_str().unwrap_or_default().trim().into();
            }
        }
        let size = |block: &Value| block["text"].as_str().map_or(0, str::len);
        let total: usize = result["content"].as_array().into_iter().flatten().map(size).sum();
        if total <= limit || self.flaw.is(Defect::NoOutputLimit) {
            return result;
        }
        let (mut left, mut kept) = (limit.saturating_sub(60), Vec::new());
        for block in result["content"].as_array().into_iter().flatten() {
            let text = block["text"].as_str().unwrap_or_default();
            let mut end = text.len().min(left);
            if self.flaw.is(Defect::CutsCharacters) {
                kept.push(json!({ "type": "text", "text": String::from_utf8_lossy(&text.as_bytes()[..end]) }));
            } else {
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                let begin = if self.flaw.is(Defect::KeepsTheEnd) { text.len() - end } else { 0 };
                kept.push(json!({ "type": "text", "text": &text[begin..begin + end] }));
            }
            left -= if self.flaw.is(Defect::LimitsEachBlock) { 0 } else { end };
        }
        if !self.flaw.is(Defect::HidesTheLimit) {
            kept.push(json!({ "type": "text", "text": format!("[{total} bytes were shortened]") }));
        }
        result["content"] = kept.into();
        if self.flaw.is(Defect::HidesLongErrors) {
            result["isError"] = false.into();
        }
        result
    }

    /// The step `search`: tools by words of their names and descriptions, the best first.
    pub(super) async fn search(&mut self, step: &Value) -> Result<Value, Fault> {
        let listed = self.list(None).await?;
        let words = |text: &str| -> Vec<String> {
            let separate = |character: char| !character.is_alphanumeric();
            text.to_lowercase().split(separate).filter(|word| word.len() > 2).map(str::to_owned).collect()
        };
        let query = words(step["query"].as_str().unwrap_or_default());
        let score = |tool: &Value| {
            let (server, name) = (tool["server"].as_str()?, tool["name"].as_str()?);
            let definition = self.latest.get(server)?.tool(name)?;
            let in_name = words(name);
            let in_text = words(definition["description"].as_str().unwrap_or_default());
            let count = |all: &[String]| query.iter().filter(|word| all.contains(word)).count();
            let by_name = if self.flaw.is(Defect::SearchesOnlyDescriptions) { 0 } else { 3 * count(&in_name) };
            let by_text = if self.flaw.is(Defect::SearchesOnlyNames) { 0 } else { count(&in_text) };
            Some(by_name + by_text).filter(|score| *score > 0)
        };
        let tools = listed["tools"].as_array().into_iter().flatten();
        let mut scored: Vec<(usize, &Value)> = tools.filter_map(|tool| Some((score(tool)?, tool))).collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        if self.flaw.is(Defect::FindsOneServer) {
            scored.truncate(1);
        }
        scored.truncate(step["limit"].as_u64().map_or(5, |limit| usize::try_from(limit).unwrap_or(5)));
        let found: Vec<Value> = scored.into_iter().map(|(_, tool)| tool.clone()).collect();
        if let Some(agent) = self.agent.as_mut().filter(|_| !self.flaw.is(Defect::ForgetsWhatItFound)) {
            agent.found.extend(found.iter().map(target_of));
        }
        Ok(json!({ "tools": found }))
    }

    /// The step `command`: splits the values, and gets the prompt.
    pub(super) async fn command(&mut self, step: &Value, server: Option<&str>) -> Result<Value, Fault> {
        let prompts = self.feature("prompts", &json!({}), server).await?;
        let mut prompts = prompts["prompts"].as_array().into_iter().flatten();
        let prompt = prompts.find(|prompt| prompt["name"] == step["prompt"]);
        let prompt = prompt.ok_or_else(|| Fault::new("invalid-arguments", "there is no such prompt"))?;
        let mut values = self.values(step["values"].as_str().unwrap_or_default()).into_iter();
        let mut arguments = json!({});
        for argument in prompt["arguments"].as_array().into_iter().flatten() {
            let name = argument["name"].as_str().unwrap_or_default();
            match values.next() {
                Some(value) => arguments[name] = value.into(),
                None if argument["required"] == true && !self.flaw.is(Defect::SendsIncompleteCommands) => {
                    return Err(Fault::new("invalid-arguments", format!("`{name}` has no value")));
                }
                None => {}
            }
        }
        self.feature("prompt", &json!({ "name": step["prompt"], "arguments": arguments }), server).await
    }

    /// Values separated by spaces, or in double quotes.
    fn values(&self, typed: &str) -> Vec<String> {
        if self.flaw.is(Defect::SplitsQuotedValues) {
            return typed.split_whitespace().map(str::to_owned).collect();
        }
        let mut values = Vec::new();
        for (index, part) in typed.split('"').enumerate() {
            match index % 2 {
                1 => values.push(part.to_owned()),
                _ => values.extend(part.split_whitespace().map(str::to_owned)),
            }
        }
        values
    }

    /// The step `log-in`: connects with the user at the browser.
    pub(super) async fn log_in(&mut self, server: Option<&str>) -> Result<Value, Fault> {
        let _ = self.disconnect(server).await;
        self.set_user_away(false);
        let connected = self.connect(server, None).await;
        self.set_user_away(true);
        connected.map(|_| Value::Null)
    }

    /// Whether nobody can log in now.
    pub(super) fn set_user_away(&self, is_away: bool) {
        if let Some(login) = &self.setup.login {
            login.is_alone.store(is_away, Ordering::Relaxed);
        }
    }

    /// The step `restart`: ends, and starts again with what was stored.
    pub(super) async fn restart_agent(&mut self) -> Result<Value, Fault> {
        self.disconnect(None).await?;
        self.latest.clear();
        if let Some(agent) = &mut self.agent {
            agent.found.clear();
            agent.failed.clear();
            if !self.flaw.is(Defect::KeepsSessionApprovals) {
                agent.remembered.clear();
            }
        }
        if let Some(login) = self.setup.login.as_ref().filter(|_| self.flaw.is(Defect::ForgetsLogins)) {
            login.forget();
        }
        if self.flaw.is(Defect::RestartsWithoutServers) {
            return Ok(Value::Null);
        }
        for (name, outcome) in self.connect_all(None).await {
            if let (Some(agent), Err(fault)) = (&mut self.agent, outcome) {
                agent.failed(name, &fault);
            }
        }
        Ok(Value::Null)
    }

    /// The step `status`: the state of each server.
    pub(super) fn status(&self) -> Value {
        let state = |name: &String| match &self.agent {
            _ if self.flaw.is(Defect::ReportsAllAsConnected) || self.connections.contains_key(name) => "connected",
            Some(agent) if !agent.may_start(name) => "not-allowed",
            Some(agent) if agent.is_disabled(name) => "disabled",
            Some(agent) => agent.failed.get(name).copied().unwrap_or("disconnected"),
            None => "disconnected",
        };
        let names = self.context["servers"].as_object().into_iter().flat_map(Map::keys);
        let servers: Vec<Value> = names.map(|name| json!({ "server": name, "state": state(name) })).collect();
        json!({ "servers": servers })
    }

    /// The step `mention`: reads the resource.
    pub(super) async fn mention(&mut self, step: &Value, server: Option<&str>) -> Result<Value, Fault> {
        if self.flaw.is(Defect::IgnoresMentions) {
            return Ok(json!({ "content": [{ "type": "text", "text": step["uri"] }] }));
        }
        let read = self.feature("read", step, server).await?;
        let texts = read["contents"].as_array().into_iter().flatten();
        let blocks = texts.map(|one| json!({ "type": "text", "text": one["text"] }));
        Ok(json!({ "content": blocks.collect::<Vec<_>>() }))
    }
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn target_of(tool: &Value) -> String {
    format!("{}/{}", tool["server"].as_str().unwrap_or_default(), tool["name"].as_str().unwrap_or_default())
}

/// Whether a text fits a pattern, in which `*` means any characters.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text
            .strip_prefix(start)
            .is_some_and(|text| (0..=text.len()).any(|at| text.is_char_boundary(at) && fits(rest, &text[at..]))),
    }
}

//! Requests of the server to the user: elicitations and sampling, in both eras.

use std::collections::{HashMap, HashSet};

use reqwest::Url;
use serde_json::Value;

use super::{
    modern::{META_CAPABILITIES, meta},
    security::is_secret,
};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
    checks::is_local,
    transcript::{IdKey, Message, Session, Transcript},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "sampling-tools-need-the-capability",
        requirement: "sampling/tools-capability",
        scope: Scope::Always,
        expected: "a sampling request has tools only if the client declared `sampling.tools`",
        rule: Rule::Case(tools_capability),
    },
    Check {
        id: "sampling-tool-results-are-alone",
        requirement: "sampling/tool-results-alone",
        scope: Scope::Always,
        expected: "a message of a sampling request with tool results has nothing else",
        rule: Rule::Case(|transcript| each_sampling(transcript, mixed_message)),
    },
    Check {
        id: "sampling-tool-uses-have-results",
        requirement: "sampling/tool-use-balance",
        scope: Scope::Always,
        expected: "in a sampling request the message after a tool use has its result, and each result has its tool use",
        rule: Rule::Case(|transcript| each_sampling(transcript, unbalanced_message)),
    },
    Check {
        id: "sampling-tool-results-conform",
        requirement: "sampling/tool-results-conform",
        scope: Scope::Always,
        expected: "structured content of a tool result in a sampling request conforms to the outputSchema of the tool",
        rule: Rule::Case(|transcript| each_sampling(transcript, wrong_content)),
    },
    Check {
        id: "sampling-context-needs-its-capability",
        requirement: "input/sampling-context",
        scope: Scope::Always,
        expected: "a sampling request includes context only if the client declared it",
        rule: Rule::Case(sampling_context),
    },
    Check {
        id: "elicitation-url-uses-https",
        requirement: "elicitation/https",
        scope: Scope::Always,
        expected: "the URL of an elicitation uses HTTPS, unless its host is this machine",
        rule: Rule::Case(https),
    },
    Check {
        id: "form-asks-for-no-secrets",
        requirement: "elicitation/no-secrets",
        scope: Scope::Always,
        expected: "no text field of a form is named like a password, an API key, an access token or a payment card",
        rule: Rule::Case(secrets),
    },
    Check {
        id: "form-has-no-links",
        requirement: "elicitation/no-links",
        scope: Scope::Always,
        expected: "the texts of a form have no URLs",
        rule: Rule::Case(links),
    },
    Check {
        id: "url-elicitation-error-has-elicitations",
        requirement: "elicitation/url-required",
        scope: Scope::Always,
        expected: "the error -32042 lists elicitations by URL",
        rule: Rule::Case(url_required),
    },
    Check {
        id: "tasks-need-the-client-capability",
        requirement: "tasks/client-capability",
        scope: Scope::Always,
        expected: "the server requests tasks only from a client that declared them",
        rule: Rule::Case(task_capability),
    },
    Check {
        id: "task-is-cancelled-by-its-request",
        requirement: "tasks/cancelled-by-request",
        scope: Scope::Always,
        expected: "the server cancels no task with `notifications/cancelled`",
        rule: Rule::Case(cancelled_by_request),
    },
    Check {
        id: "server-progress-tokens",
        requirement: "progress/server-tokens",
        scope: Scope::Always,
        expected: "the progress token of a request of the server is a string or an integer, and no open request has the same",
        rule: Rule::Case(progress_tokens),
    },
    Check {
        id: "completed-elicitations-were-requested",
        requirement: "elicitation/completed-id",
        scope: Scope::Always,
        expected: "the completion of an elicitation names one that the server requested in the session",
        rule: Rule::Case(completed),
    },
    Check {
        id: "refused-requests-end-the-call",
        requirement: "messages/every-request-answered",
        scope: Scope::Named,
        expected: "a call has a response when the user or the model refused what it requested, and does not repeat the request without end",
        rule: Rule::Case(refused_calls),
    },
    Check {
        id: "server-pings-are-limited",
        requirement: "ping/rate",
        scope: Scope::Always,
        expected: "the server sends at most 20 pings, one for each request, and one in each second",
        rule: Rule::Case(pings),
    },
];

/// Number of pings that are too many in two seconds in which the client sends few requests.
const MANY_PINGS: usize = 20;
/// Number of pings that are never too many.
const FREE_PINGS: u64 = 20;
/// Time that any call may take in addition, in microseconds.
const STARTED_US: u64 = 1_500_000;
const NO_SAMPLING: &str = "the server requested no sampling";
const NO_ELICITATION: &str = "the server requested no elicitation";

/// Number of equal requests in one call that are never too many.
const FREE_REPETITIONS: usize = 3;
/// A call that takes longer than an accepted one by this factor does not end.
const PATIENCE: u64 = 3;

/// A call of the workbench with what the server requested during it.
struct AskingCall<'a> {
    call: Message<'a>,
    /// When it ended or was cancelled.
    end_us: u64,
    is_answered: bool,
    /// The requests of the server, and whether the client refused them.
    requests: Vec<(Message<'a>, bool)>,
}

impl AskingCall<'_> {
    fn duration_us(&self) -> u64 {
        self.end_us.saturating_sub(self.call.at_us())
    }

    fn is_refused(&self) -> bool {
        self.requests.iter().any(|(_, refused)| *refused)
    }

    /// The most equal requests that were refused.
    fn repetitions(&self) -> usize {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (request, _) in self.requests.iter().filter(|(_, refused)| *refused) {
            *counts.entry(request.params().map_or_else(String::new, Value::to_string)).or_default() += 1;
        }
        counts.into_values().max().unwrap_or_default()
    }
}

/// The calls during which the server sent requests to the user or the model. Calls that overlap are left out.
fn asking_calls<'a>(session: &Session<'a>) -> Vec<AskingCall<'a>> {
    let mut found = Vec::new();
    let mut open: Option<AskingCall<'a>> = None;
    let mut overlaps = false;
    let mut asked: HashMap<IdKey<'a>, Message<'a>> = HashMap::new();
    for message in session.messages() {
        if message.is("tools/call") && message.by_client() {
            overlaps = open.is_some();
            let (call, end_us) = (message, message.at_us());
            open = Some(AskingCall { call, end_us, is_answered: false, requests: Vec::new() });
            continue;
        }
        let Some(call) = &mut open else { continue };
        let id = call.call.id_key();
        let is_cancelled = message.by_client() && message.cancels().map(IdKey::new).is_some_and(|it| Some(it) == id);
        let is_answered = !message.by_client() && message.is_response() && message.id_key() == id;
        if is_cancelled || is_answered {
            (call.end_us, call.is_answered) = (message.at_us(), is_answered);
            found.extend(open.take().filter(|call| !overlaps && !call.requests.is_empty()));
        } else if !message.by_client() && is_user_request(&message) {
            asked.extend(message.id_key().map(|id| (id, message)));
        } else if message.by_client() && message.is_response() {
            let request = message.id_key().and_then(|id| asked.remove(&id));
            call.requests.extend(request.map(|request| (request, is_refusal(&message))));
        }
    }
    found
}

fn is_user_request(message: &Message<'_>) -> bool {
    ["elicitation/create", "sampling/createMessage", "roots/list"].into_iter().any(|method| message.is(method))
}

/// Whether the client refuses a request of the server with this response.
fn is_refusal(answer: &Message<'_>) -> bool {
    let action = answer.result().and_then(|result| result.get("action")).and_then(Value::as_str);
    answer.error().is_some() || matches!(action, Some("decline" | "cancel"))
}

fn refused_calls(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let calls = asking_calls(session);
        for refused in calls.iter().filter(|call| call.is_refused()) {
            let is_accepted = |other: &&AskingCall<'_>| {
                other.is_answered && !other.is_refused() && other.call.tool() == refused.call.tool()
            };
            let usual = calls.iter().filter(is_accepted).map(AskingCall::duration_us).max();
            let hangs = usual.is_some_and(|usual| refused.duration_us() > PATIENCE * usual + STARTED_US);
            let repetitions = refused.repetitions();
            let fault = match refused.is_answered {
                true => None,
                false if repetitions > FREE_REPETITIONS => {
                    Some(format!("the call sent the same refused request {repetitions} times, and has no response"))
                }
                false if hangs => {
                    Some(format!("the call has no response {} ms after it began", refused.duration_us() / 1000))
                }
                // The tool may be slow.
                false => continue,
            };
            findings.saw(refused.call.seq());
            if let Some(fault) = fault {
                let requests = refused.requests.iter().map(|(request, _)| request.seq()).take(5);
                findings.fail(fault, std::iter::once(refused.call.seq()).chain(requests));
            }
        }
    }
    findings.or_not_applicable("calls", "no call requested something that was refused")
}

/// A request to the user, as a message of its own or as an input request in a result.
struct UserRequest<'a> {
    seq: u64,
    method: &'a str,
    params: &'a Value,
    /// The capabilities of the client.
    declared: Option<&'a Value>,
}

fn user_requests<'a>(transcript: &Transcript<'a>) -> Vec<UserRequest<'a>> {
    let declared = transcript.client_capabilities();
    let messages = transcript.server_messages().filter(Message::is_request).filter_map(|message| {
        Some(UserRequest { seq: message.seq(), method: message.method()?, params: message.params()?, declared })
    });
    let inputs = transcript.requests().iter().filter_map(|one| {
        let requests = one.result()?.get("inputRequests")?.as_object()?;
        Some(requests.values().filter_map(|request| {
            let (method, params) = (request.get("method")?.as_str()?, request.get("params")?);
            Some(UserRequest { seq: one.last_frame(), method, params, declared: meta(one, META_CAPABILITIES) })
        }))
    });
    messages.chain(inputs.flatten()).collect()
}

fn completed(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let mut requested: HashSet<&str> = HashSet::new();
        for message in session.messages_after(0).filter(|message| !message.by_client()) {
            let params = [message.params()].into_iter().flatten();
            let in_error = message.error().and_then(|error| error.pointer("/data/elicitations")?.as_array());
            let ids = params.chain(in_error.into_iter().flatten()).filter_map(|one| one.get("elicitationId")?.as_str());
            if !message.is("notifications/elicitation/complete") {
                requested.extend(ids);
                continue;
            }
            for id in ids {
                let is_known = requested.contains(id);
                let fault = (!is_known).then(|| format!("no elicitation of the session had the id `{id}`"));
                findings.check(message.seq(), fault.map_or(Ok(()), Err));
            }
        }
    }
    findings.or_not_applicable("notifications", "no elicitation was completed")
}

fn each_of(
    transcript: &Transcript<'_>,
    method: &str,
    nothing: &str,
    fault: impl Fn(&UserRequest<'_>) -> Option<String>,
) -> CheckOutcome {
    let requests = user_requests(transcript).into_iter().filter(|request| request.method == method);
    Findings::from_each(requests.map(|request| (request.seq, request)), fault).or_not_applicable("requests", nothing)
}

fn each_sampling(transcript: &Transcript<'_>, fault: fn(&Value) -> Option<String>) -> CheckOutcome {
    each_of(transcript, "sampling/createMessage", NO_SAMPLING, |request| fault(request.params))
}

fn tools_capability(transcript: &Transcript<'_>) -> CheckOutcome {
    each_of(transcript, "sampling/createMessage", NO_SAMPLING, |request| {
        let has_tools = request.params.get("tools").is_some() || request.params.get("toolChoice").is_some();
        let declared = request.declared.and_then(|declared| declared.pointer("/sampling/tools")).is_some();
        (has_tools && !declared).then(|| "it has tools, and the client did not declare `sampling.tools`".to_owned())
    })
}

fn sampling_context(transcript: &Transcript<'_>) -> CheckOutcome {
    each_of(transcript, "sampling/createMessage", NO_SAMPLING, |request| {
        let context = request.params.get("includeContext")?.as_str()?;
        let declared = request.declared.and_then(|declared| declared.pointer("/sampling/context")).is_some();
        (context != "none" && !declared).then(|| format!("includeContext is `{context}`"))
    })
}

/// The content blocks of a message with one or several.
fn blocks(message: &Value) -> Vec<&Value> {
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().collect(),
        block => block.into_iter().collect(),
    }
}

fn is_block(block: &Value, kind: &str) -> bool {
    block.get("type").is_some_and(|found| found == kind)
}

fn messages(params: &Value) -> &[Value] {
    params.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A description of the first message in a request for sampling that has tool results and other content.
pub(in crate::judge::checks) fn mixed_message(params: &Value) -> Option<String> {
    let mixed = messages(params).iter().find(|message| {
        let blocks = blocks(message);
        let results = blocks.iter().filter(|block| is_block(block, "tool_result")).count();
        results > 0 && results < blocks.len()
    })?;
    Some(format!("the message is {}", brief(mixed)))
}

/// The values of a member of the content blocks of one kind.
fn ids<'a>(message: &'a Value, kind: &str, member: &str) -> Vec<&'a str> {
    let blocks = blocks(message).into_iter().filter(|block| is_block(block, kind));
    blocks.filter_map(|block| block.get(member)?.as_str()).collect()
}

fn unbalanced_message(params: &Value) -> Option<String> {
    let mut open: HashSet<&str> = HashSet::new();
    for message in messages(params) {
        let results = ids(message, "tool_result", "toolUseId");
        if let Some(unknown) = results.iter().find(|id| !open.contains(*id)) {
            return Some(format!("the tool result `{unknown}` has no tool use in the message before"));
        }
        if let Some(missing) = open.iter().find(|id| !results.contains(*id)) {
            return Some(format!("the tool use `{missing}` has no result in the next message"));
        }
        open = ids(message, "tool_use", "id").into_iter().collect();
    }
    open.iter().next().map(|missing| format!("the tool use `{missing}` has no result"))
}

fn wrong_content(params: &Value) -> Option<String> {
    let uses: Vec<&Value> =
        messages(params).iter().flat_map(blocks).filter(|block| is_block(block, "tool_use")).collect();
    let tools = params.get("tools")?.as_array()?;
    messages(params).iter().flat_map(blocks).find_map(|result| {
        let content = result.get("structuredContent").filter(|_| is_block(result, "tool_result"))?;
        let name = uses.iter().find(|used| used.get("id") == result.get("toolUseId"))?.get("name")?;
        let schema = tools.iter().find(|tool| tool.get("name") == Some(name))?.get("outputSchema")?;
        let error = jsonschema::validator_for(schema).ok()?.validate(content).err()?.to_string();
        Some(format!("the result of {} is invalid: {}", brief(name), error.chars().take(160).collect::<String>()))
    })
}

fn https(transcript: &Transcript<'_>) -> CheckOutcome {
    each_of(transcript, "elicitation/create", NO_ELICITATION, |request| {
        let url = Url::parse(request.params.get("url")?.as_str()?).ok()?;
        (url.scheme() != "https" && !is_local(&url)).then(|| format!("the URL has the scheme `{}`", url.scheme()))
    })
}

/// The fields of a form, by name.
fn fields<'a>(request: &UserRequest<'a>) -> impl Iterator<Item = (&'a String, &'a Value)> {
    request.params.pointer("/requestedSchema/properties").and_then(Value::as_object).into_iter().flatten()
}

fn secrets(transcript: &Transcript<'_>) -> CheckOutcome {
    each_of(transcript, "elicitation/create", NO_ELICITATION, |request| {
        // A flag or a choice has no room for a secret, such as whether to reset the password.
        let is_text =
            |field: &Value| field.get("type").is_some_and(|kind| kind == "string") && field.get("enum").is_none();
        let texts = fields(request).filter(|(_, field)| is_text(field));
        let titles = |field: &'_ Value| field.get("title").and_then(Value::as_str).map(str::to_owned);
        let mut names = texts.flat_map(|(name, field)| std::iter::once(name.clone()).chain(titles(field)));
        let secret = names.find(|name| is_secret(name))?;
        Some(format!("a form has the text field `{secret}`"))
    })
}

fn links(transcript: &Transcript<'_>) -> CheckOutcome {
    each_of(transcript, "elicitation/create", NO_ELICITATION, |request| {
        let fields = fields(request).flat_map(|(_, field)| [field.get("title"), field.get("description")]);
        let is_form = request.params.get("mode").is_none_or(|mode| mode == "form");
        let texts = std::iter::once(request.params.get("message")).chain(fields).flatten().filter_map(Value::as_str);
        let mut texts = texts.filter(|text| text.contains("http://") || text.contains("https://"));
        let found = texts.next().filter(|_| is_form)?;
        Some(format!("a text is `{}`", found.chars().take(160).collect::<String>()))
    })
}

fn url_required(transcript: &Transcript<'_>) -> CheckOutcome {
    let errors = transcript.requests().iter().filter(|one| one.code() == Some(-32042));
    let errors = errors.filter_map(|one| Some((one.last_frame(), one.error()?)));
    let fault = |error: &&Value| {
        let listed = error.pointer("/data/elicitations");
        let by_url =
            |one: &Value| one.get("mode").is_some_and(|mode| mode == "url") && one.get("elicitationId").is_some();
        let good = listed.and_then(Value::as_array).is_some_and(|all| !all.is_empty() && all.iter().all(by_url));
        (!good).then(|| format!("data.elicitations is {}", brief_or_missing(listed)))
    };
    Findings::from_each(errors, fault).or_not_applicable("errors", "the server sent no error -32042")
}

/// The messages that ask the user for something.
pub(super) fn requests_to_the_user<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = Message<'a>> {
    let asks = |message: &Message<'_>| message.is("elicitation/create") || message.is("sampling/createMessage");
    transcript.server_messages().filter(move |message| message.is_request() && asks(message))
}

/// The requests of the server with a task.
fn task_requests<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = Message<'a>> {
    transcript.server_messages().filter(|message| message.is_request() && message.param("task").is_some())
}

fn task_capability(transcript: &Transcript<'_>) -> CheckOutcome {
    let declared = transcript.client_capabilities();
    let requests = requests_to_the_user(transcript);
    let fault = |request: &Message<'_>| {
        let pointer = format!("/tasks/requests/{}", request.method()?);
        let undeclared = declared.and_then(|declared| declared.pointer(&pointer)).is_none();
        let task = request.param("task").filter(|_| undeclared)?;
        Some(format!("the request has the task {}", brief(task)))
    };
    Findings::from_each(requests.map(|request| (request.seq(), request)), fault)
        .or_not_applicable("requests", "the server sent no request that can be a task")
}

fn cancelled_by_request(transcript: &Transcript<'_>) -> CheckOutcome {
    let with_task: HashSet<IdKey<'_>> = task_requests(transcript).filter_map(|request| request.id_key()).collect();
    let cancelled = transcript.server_messages().filter_map(|message| Some((message.seq(), message.cancels()?)));
    let fault = |id: &&Value| {
        with_task.contains(&IdKey::new(id)).then(|| format!("the server cancels the task of request {id}"))
    };
    Findings::from_each(cancelled, fault).or_not_applicable("cancellations", "the server cancelled no request")
}

fn progress_tokens(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut open: Vec<(&Value, Option<IdKey<'_>>)> = Vec::new();
    for message in transcript.messages() {
        if message.by_client() && message.is_response() {
            open.retain(|(_, id)| *id != message.id_key());
        }
        let token = message.params().and_then(|params| params.pointer("/_meta/progressToken"));
        let Some(token) = token.filter(|_| !message.by_client() && message.is_request()) else { continue };
        let is_valid = token.is_string() || token.is_i64() || token.is_u64();
        let result = match open.iter().any(|(other, _)| *other == token) {
            _ if !is_valid => Err(format!("the token is {}", brief(token))),
            true => Err(format!("an open request has the token {}", brief(token))),
            false => Ok(()),
        };
        findings.check(message.seq(), result);
        open.push((token, message.id_key()));
    }
    findings.or_not_applicable("requests", "no request of the server has a progress token")
}

/// Pings that follow each other within 100 ms, and not the requests of the client. Those that a server stored for a stream
/// arrive at once.
fn excessive<'m, 'a>(transcript: &Transcript<'_>, pings: &'m [Message<'a>]) -> Option<&'m [Message<'a>]> {
    let mut sent: Vec<u64> = transcript.requests().iter().map(|one| one.request.at_us()).collect();
    sent.sort_unstable();
    let sent_before = |end: u64| sent.partition_point(|at| *at < end);
    pings.windows(MANY_PINGS).find(|burst| {
        let [first, .., last] = burst else { return false };
        let (first, last) = (first.at_us(), last.at_us());
        (300_000..2_000_000).contains(&last.saturating_sub(first))
            && sent_before(last) - sent_before(first) < MANY_PINGS / 2
    })
}

fn pings(transcript: &Transcript<'_>) -> CheckOutcome {
    let pings: Vec<_> = transcript.server_messages().filter(|message| message.is("ping")).collect();
    let requests = transcript.requests().len() as u64;
    let allowed = FREE_PINGS + requests + transcript.evidence.elapsed_us / 1_000_000;
    let frames: Vec<u64> = pings.iter().take(3).map(Message::seq).collect();
    if let Some(burst) = excessive(transcript, &pings) {
        let message = format!("the server sent {} pings within two seconds", burst.len());
        return CheckOutcome::failed(message, burst.iter().take(3).map(Message::seq).collect());
    }
    match pings.len() as u64 {
        0 => CheckOutcome::not_applicable("the server sent no ping"),
        count if count > allowed => CheckOutcome::failed(format!("the server sent {count} pings"), frames),
        count => CheckOutcome::passed(format!("the server sent {count} pings"), frames),
    }
}

//! Features of 2026-07-28: discovery, result types, caching hints, metadata and headers of requests, subscriptions, input
//! requests, and what the revision removed.
//!
//! On a server of both eras a request with the metadata of this revision belongs to it (2026-07-28, basic/versioning), and
//! any other one may belong to the older era.

use std::collections::HashMap;

use serde_json::Value;

use super::{all_pass, rejected_with};
use crate::{
    judge::{
        check::{CheckOutcome, Findings},
        transcript::{
            IdKey, Message, RequestResponse, Transcript,
            http::{REVISION_HEADER, header},
        },
    },
    model::Revision,
};

pub(super) mod discovery;
pub(super) mod headers;
pub(super) mod input;
pub(super) mod logging;
pub(super) mod metadata;
pub(super) mod parameter_headers;
pub(super) mod removed;
pub(super) mod results;
pub(super) mod stateless;
pub(super) mod streams;
pub(super) mod subscriptions;
pub(super) mod tasks;

/// The key in the metadata of a request with its revision.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key in the metadata of a request with the capabilities of the client.
pub(super) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key in the metadata of a request with the identity of the client.
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The key in the metadata of a request with the lowest level of log messages for it.
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The key in the metadata of a notification with its subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A value in the metadata of a request.
pub(super) fn meta<'a>(request: &RequestResponse<'a>, key: &str) -> Option<&'a Value> {
    request.param("_meta")?.get(key)
}

fn version_of<'a>(request: &RequestResponse<'a>) -> Option<&'a Value> {
    meta(request, META_VERSION)
}

/// Whether a request has the metadata of a modern revision.
/// An `initialize` with a result selects the older era, whatever its metadata.
fn is_modern(request: &RequestResponse<'_>) -> bool {
    let is_handshake = request.request.is("initialize") && request.result().is_some();
    !is_handshake && version_of(request).and_then(Value::as_str).is_some_and(names_modern)
}

fn names_modern(version: &str) -> bool {
    version.parse().is_ok_and(Revision::is_modern)
}

/// The requests with the metadata of a modern revision.
fn modern_requests<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t RequestResponse<'a>> {
    transcript.requests().iter().filter(|request| is_modern(request))
}

/// Whether a server of both eras may take a request with the metadata of this revision for one of the older era, because
/// its header is missing or names another revision (basic/transports/streamable-http#protocol-version-header).
fn may_be_older(transcript: &Transcript<'_>, request: &RequestResponse<'_>) -> bool {
    let named = header(request.request.frame, REVISION_HEADER);
    transcript.may_be_dual_era() && !named.is_some_and(names_modern)
}

/// Checks the results of requests with the metadata of this revision. On a server of both eras the others belong to the
/// older era.
fn each_result<'a>(
    transcript: &Transcript<'a>,
    fault: impl Fn(&RequestResponse<'a>, &'a Value) -> Option<String>,
) -> CheckOutcome {
    let results = modern_requests(transcript).filter_map(|one| Some((one.last_frame(), (one, one.result()?))));
    let fault = |(request, result): &(&RequestResponse<'a>, &'a Value)| {
        let method = request.request.method().unwrap_or_default();
        Some(format!("in the result of `{method}`, {}", fault(request, result)?))
    };
    Findings::from_each(results, fault).or_not_applicable("results", "the server sent no result")
}

/// Passes if the request was rejected with one of these codes and, over HTTP, this status.
fn rejected_over(transcript: &Transcript<'_>, request: &RequestResponse<'_>, codes: &[i64], http: u16) -> CheckOutcome {
    let outcome = rejected_with(Some(request), codes, "it");
    match (request.status(), &outcome) {
        (Some(status), CheckOutcome::Passed { .. }) if transcript.is_http() && status != http => {
            CheckOutcome::failed(format!("the code is correct, but the status is {status}"), request.frames())
        }
        _ => outcome,
    }
}

/// The notifications of the server about changes of lists and resources.
const CHANGES: [&str; 4] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
];

fn is_change(message: &Message<'_>) -> bool {
    message.method().is_some_and(|method| CHANGES.contains(&method))
}

/// The id of the subscription that a message of the server belongs to.
fn subscription_of<'a>(message: &Message<'a>) -> Option<&'a Value> {
    let members = message.params().or_else(|| message.result())?;
    members.get("_meta")?.get(SUBSCRIPTION)
}

/// The request that each HTTP exchange carries, by the number of the exchange.
fn by_exchange<'t, 'a>(transcript: &'t Transcript<'a>) -> HashMap<u64, &'t RequestResponse<'a>> {
    let requests = modern_requests(transcript).filter(|one| one.request.frame.http.is_some());
    requests.map(|one| (one.request.frame.connection, one)).collect()
}

/// The requests of a method by id; the latest if an id was used again.
fn by_id<'t, 'a>(transcript: &'t Transcript<'a>, method: &str) -> HashMap<IdKey<'a>, &'t RequestResponse<'a>> {
    transcript.requests_of(method).filter_map(|one| Some((one.request.id_key()?, one))).collect()
}

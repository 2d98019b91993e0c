//! The hooks of faults, and the values that the hooks receive and return.

use std::time::Duration;

use http::HeaderValue;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value};

use super::{
    Deviation, Exit, Fault, Framed, HttpHead, HttpStatus, ProcessAction, Reorder, TokenRequest, write::MessageBuffer,
};
use crate::oauth_messages::{AuthorizationRedirect, Challenge, Document, OAuthResponse};

/// The hooks of a fault. By default they change nothing; a fault implements those that it needs. The hooks of a group
/// run in this order.
pub(crate) trait FaultHooks {
    // An exchange of an MCP server.

    /// Acts when the exchange reaches the fault. By default the fault acts on all messages from here on.
    fn action(&self, _context: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::Join
    }
    /// Rewrites a message before it is encoded.
    fn rewrite(&self, _message: &mut Value, _random: &mut ChaCha8Rng) {}
    /// The number of times that a message is sent.
    fn copies(&self) -> usize {
        1
    }
    /// The responses that a response waits for.
    fn reorder(&self) -> Option<Reorder> {
        None
    }
    /// Whether the n-th message of the exchange, from 1, keeps its bytes.
    fn keeps_bytes(&self, _nth: u64, _is_response: bool) -> bool {
        false
    }
    /// Rewrites the encoded message.
    fn encode_bytes(&self, _payload: &mut Vec<u8>, _random: &mut ChaCha8Rng) {}
    /// Rewrites the line or event that contains the message.
    fn rewrite_frame(&self, _framed: &mut Framed) {}
    /// Splits, delays or truncates what is written.
    fn schedule(&self, _buffer: &mut MessageBuffer, _random: &mut ChaCha8Rng) {}
    /// The `Content-Type` of the HTTP response.
    fn content_type(&self) -> Option<HeaderValue> {
        None
    }
    /// The change of the status and headers of the HTTP response.
    fn http_head(&self) -> Option<&HttpHead> {
        None
    }
    /// Whether events are sent without an id, the first event of a stream included.
    fn omits_event_ids(&self) -> bool {
        false
    }

    // The documents, endpoints and resource of an authorization server.

    /// Rewrites the metadata of the authorization server with this issuer.
    fn metadata(&self, _issuer: &str, _document: &mut Map<String, Value>) {}
    /// Rewrites the metadata of the protected resource.
    fn resource_metadata(&self, _document: &mut Map<String, Value>) {}
    /// Changes the response with a document.
    fn document(&self, _which: Document, _response: &mut OAuthResponse) {}
    /// Replaces the response to a registration.
    fn reject_registration(&self) -> Option<OAuthResponse> {
        None
    }
    /// Rewrites the registered client metadata.
    fn registration(&self, _body: &mut Map<String, Value>) {}
    /// Changes an authorization response.
    fn redirect(&self, _redirect: &mut AuthorizationRedirect) {}
    /// Replaces the response to a token request.
    fn reject_token(&self, _request: &TokenRequest<'_>) -> Option<OAuthResponse> {
        None
    }
    /// Rewrites the claims of an access token.
    fn claims(&self, _claims: &mut Map<String, Value>) {}
    /// Rewrites the body of a token response.
    fn token_response(&self, _body: &mut Map<String, Value>) {}
    /// Rewrites the identity provider's response to a token exchange.
    fn exchange_response(&self, _body: &mut Map<String, Value>) {}
    /// Changes the HTTP response to a token request.
    fn token_http_response(&self, _response: &mut OAuthResponse) {}
    /// Changes a challenge of the resource.
    fn challenge(&self, _challenge: &mut Challenge) {}
    /// Whether the server deviates from its normal decision in this way.
    fn deviates(&self, _deviation: Deviation) -> bool {
        false
    }
}

/// The facts that a fault can depend on when an exchange reaches it.
pub(crate) struct FaultContext<'a> {
    /// Fills the placeholders of a text from the client's message.
    pub(crate) fill: &'a dyn Fn(&str) -> String,
    /// The host and port of the request, over HTTP.
    pub(crate) host: Option<&'a str>,
    /// Random values, seeded for this fault and this match.
    pub(crate) random: ChaCha8Rng,
}

/// The effect of a fault on an exchange that reaches it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FaultAction {
    /// No effect yet: the fault acts on the messages from here on.
    Join,
    /// Nothing is ever sent, and the stream stays open.
    Hold,
    /// Wait, then continue.
    Wait(Duration),
    /// Wait, then continue even if the request is canceled.
    WaitRegardless(Duration),
    /// Do this, then continue.
    Do(Vec<FaultStep>),
    /// Do this, wait, and continue with this fault.
    DoThen(Vec<FaultStep>, Duration, Box<Fault>),
    /// Do this instead of the response.
    Settle(FaultStep),
    /// Do this; nothing can follow.
    End(FaultStep),
    /// Terminate the session, and respond that it is unknown.
    ForgetSession,
}

/// One step of a fault's effect.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FaultStep {
    /// Send a message that is not the response.
    Send(Value),
    /// Write this text in place of a message.
    Raw(String),
    /// Respond with this instead of a message, over HTTP.
    Status(HttpStatus),
    /// Open the stream, over HTTP.
    Open,
    /// Close the connection.
    Close,
    /// Close the connection by a TCP reset; over stdio and Unix sockets as `Close`.
    Reset,
    /// Change the process, over stdio.
    Process(ProcessAction),
    /// Stop the server.
    Exit(Exit),
}

/// A parameter that cannot have been intended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterProblem {
    /// The keys that lead from the fault's parameters to the problem.
    pub path: Vec<String>,
    /// What of the last key is wrong.
    pub site: ProblemSite,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: &'static str,
}

/// The part of an entry that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemSite {
    /// Its key.
    Key,
    /// Its value.
    Value,
}

impl ParameterProblem {
    /// A problem with the value of a parameter.
    pub(super) fn value(name: &str, message: impl Into<String>, help: &'static str) -> Self {
        Self { path: vec![name.to_owned()], site: ProblemSite::Value, message: message.into(), help }
    }

    /// A problem with a parameter as a whole.
    pub(super) fn key(path: &[&str], message: impl Into<String>, help: &'static str) -> Self {
        let path = path.iter().map(|name| (*name).to_owned()).collect();
        Self { path, site: ProblemSite::Key, message: message.into(), help }
    }
}

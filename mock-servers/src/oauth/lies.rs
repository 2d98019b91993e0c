//! Where a hostile authorization server or resource departs from the truth: one lie, one file.
//!
//! A lie changes a value on its way out (a document, a redirect, a token, a challenge), answers in the server's place,
//! or permits what a good server would refuse. It never decides anything else, so that any number of lies can be told
//! together, and each of them only now and then.

mod deception;
mod falsehood;

use std::sync::atomic::{AtomicU32, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::deception::{Deception, Permit, Redirect, TokenFacts};
pub use self::{
    deception::{Document, Forgery},
    falsehood::Falsehood,
};

macro_rules! lies {
    ($($file:ident),* $(,)?) => { $(pub mod $file;)* };
}

lies!(
    another_authorization_server,
    another_resource,
    broken_json,
    broken_token_response,
    changed_registration,
    code_accepted_twice,
    code_and_error,
    dead_refresh_token,
    document_status,
    endless_nonce,
    endpoint_elsewhere,
    error_response,
    expiry_misstated,
    foreign_audience,
    huge_document,
    ignored_verifier,
    issuer_mismatch,
    malformed_challenge,
    metadata_url_elsewhere,
    missing_challenge,
    missing_iss,
    missing_state,
    narrower_scope,
    no_expires_in,
    pkce_not_advertised,
    plain_pkce,
    redirect_elsewhere,
    redirected_document,
    redirected_token,
    registration_refused,
    registration_without_id,
    repeated_parameter,
    same_code,
    slow_document,
    slow_token,
    token_refused,
    tokens_rejected,
    unbound_token,
    unverifiable_token,
    wider_scope,
    wrong_content_type,
    wrong_iss,
    wrong_issued_token_type,
    wrong_state,
    wrong_token_type,
);

/// A lie, and how often it is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Lie {
    /// What is said or done against the truth.
    pub tell: Falsehood,
    /// How often; absent: whenever there is an occasion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// How many occasions pass in truth before the first.
    #[serde(default)]
    pub after: u32,
}

impl From<Falsehood> for Lie {
    fn from(tell: Falsehood) -> Self {
        Self { tell, times: None, after: 0 }
    }
}

/// All lies of a script, with the count of their occasions.
#[derive(Debug)]
pub(crate) struct Lies(Vec<(Lie, AtomicU32)>);

impl Lies {
    pub(crate) fn new(lies: &[Lie]) -> Self {
        Self(lies.iter().map(|lie| (lie.clone(), AtomicU32::new(0))).collect())
    }

    /// Lets every lie change a value. An occasion is one that it would change.
    pub(crate) fn tell<T: Clone + PartialEq>(&self, value: &mut T, tell: impl Fn(&dyn Deception, &mut T)) {
        for (lie, occasions) in &self.0 {
            let mut changed = value.clone();
            tell(lie.tell.deception(), &mut changed);
            if changed != *value && is_turn(lie, occasions) {
                *value = changed;
            }
        }
    }

    /// The first lie that answers in the server's place.
    pub(crate) fn instead<T>(&self, answer: impl Fn(&dyn Deception) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(|(lie, occasions)| answer(lie.tell.deception()).filter(|_| is_turn(lie, occasions)))
    }

    /// Whether something is permitted that a good server would refuse.
    pub(crate) fn permits(&self, what: Permit) -> bool {
        self.0.iter().any(|(lie, occasions)| lie.tell.deception().permits(what) && is_turn(lie, occasions))
    }
}

fn is_turn(lie: &Lie, occasions: &AtomicU32) -> bool {
    let before = occasions.fetch_add(1, Ordering::SeqCst);
    before >= lie.after && lie.times.is_none_or(|times| before - lie.after < times)
}

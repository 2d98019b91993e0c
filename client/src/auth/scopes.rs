//! Selects scopes (2026-07-28, authorization, "Scope Selection Strategy" and "Step-Up Authorization Flow").

const OFFLINE: &str = "offline_access";

/// Inputs of the selection.
#[derive(Debug, Default)]
pub(super) struct ScopeContext<'a> {
    /// Scopes of the challenge.
    pub(super) challenged: Option<&'a [String]>,
    /// Scopes of the resource metadata.
    pub(super) of_resource: Option<&'a [String]>,
    /// Scopes of the authorization server metadata.
    pub(super) of_server: Option<&'a [String]>,
    /// Scopes of the configuration.
    pub(super) configured: Option<&'a [String]>,
    /// Scopes that were requested or granted before.
    pub(super) before: &'a [String],
    /// Whether a refresh token is useful.
    pub(super) wants_refresh: bool,
}

/// Selects the scopes to request. If there are none, the parameter is omitted.
///
/// The challenge takes precedence, because it describes the rejected request; then the configuration, then all scopes
/// of the resource. Earlier scopes are requested again, because they would be lost otherwise.
pub(super) fn select(known: &ScopeContext<'_>) -> Vec<String> {
    let mut scopes: Vec<String> = known.before.to_vec();
    let chosen = match (known.challenged, known.configured) {
        (Some(challenged), configured) => [challenged, configured.unwrap_or_default()].concat(),
        (None, Some(configured)) => configured.to_vec(),
        (None, None) => known.of_resource.unwrap_or_default().to_vec(),
    };
    add(&mut scopes, &chosen);
    let has_offline = known.of_server.is_some_and(|all| all.iter().any(|scope| scope == OFFLINE));
    // Alone it would request less than no scope parameter, for which a server has defaults (RFC 6749, section 3.3).
    if has_offline && known.wants_refresh && !scopes.is_empty() {
        add(&mut scopes, &[OFFLINE.to_owned()]);
    }
    scopes
}

/// Adds scopes without duplicates.
pub(super) fn add(scopes: &mut Vec<String>, more: &[String]) {
    for scope in more {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn scopes_come_from_the_challenge_then_the_user_then_the_resource() {
        let (challenged, configured, resource) = (list("a b"), list("u"), list("r s"));
        let all =
            ScopeContext { challenged: Some(&challenged), of_resource: Some(&resource), ..ScopeContext::default() };
        assert_eq!(select(&all), list("a b"));
        assert_eq!(select(&ScopeContext { configured: Some(&configured), ..all }), list("a b u"));
        let all =
            ScopeContext { configured: Some(&configured), of_resource: Some(&resource), ..ScopeContext::default() };
        assert_eq!(select(&all), list("u"));
        assert_eq!(select(&ScopeContext { of_resource: Some(&resource), ..ScopeContext::default() }), list("r s"));
        assert_eq!(select(&ScopeContext::default()), Vec::<String>::new());
    }

    #[test]
    fn what_was_granted_before_is_kept() {
        let (before, challenged) = (list("a"), list("b a"));
        assert_eq!(
            select(&ScopeContext { before: &before, challenged: Some(&challenged), ..ScopeContext::default() }),
            list("a b")
        );
    }

    #[test]
    fn offline_access_is_asked_for_only_where_it_exists_and_something_else_is() {
        let (server, resource) = (list("x offline_access"), list("r"));
        let known = ScopeContext { of_server: Some(&server), wants_refresh: true, ..ScopeContext::default() };
        assert_eq!(select(&known), Vec::<String>::new());
        let known = ScopeContext { of_resource: Some(&resource), ..known };
        assert_eq!(select(&known), list("r offline_access"));
        assert_eq!(select(&ScopeContext { wants_refresh: false, ..known }), list("r"));
    }
}

//! Which scopes to ask for (2026-07-28, authorization, "Scope Selection Strategy" and "Step-Up Authorization Flow").

const OFFLINE: &str = "offline_access";

/// What is known when scopes are chosen.
#[derive(Debug, Default)]
pub(super) struct Known<'a> {
    /// The scopes in the challenge.
    pub(super) challenged: Option<&'a [String]>,
    /// The scopes in the metadata of the resource.
    pub(super) of_resource: Option<&'a [String]>,
    /// The scopes in the metadata of the authorization server.
    pub(super) of_server: Option<&'a [String]>,
    /// The scopes that the user has configured.
    pub(super) configured: Option<&'a [String]>,
    /// The scopes that were asked for or granted before.
    pub(super) before: &'a [String],
    /// Whether a refresh token is of use.
    pub(super) wants_refresh: bool,
}

/// The scopes to ask for; none is to leave the parameter out.
///
/// The challenge counts first, because it says what the request at hand needs; then what the user has configured, then
/// everything that the resource names. What was granted before is asked for again, or it would be lost.
pub(super) fn select(known: &Known<'_>) -> Vec<String> {
    let mut scopes: Vec<String> = known.before.to_vec();
    let chosen = match (known.challenged, known.configured) {
        (Some(challenged), configured) => [challenged, configured.unwrap_or_default()].concat(),
        (None, Some(configured)) => configured.to_vec(),
        (None, None) => known.of_resource.unwrap_or_default().to_vec(),
    };
    add(&mut scopes, &chosen);
    let has_offline = known.of_server.is_some_and(|all| all.iter().any(|scope| scope == OFFLINE));
    // Alone it would ask for less than nothing does: a server has default scopes (RFC 6749, section 3.3).
    if has_offline && known.wants_refresh && !scopes.is_empty() {
        add(&mut scopes, &[OFFLINE.to_owned()]);
    }
    scopes
}

/// Adds scopes, each once.
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
        let all = Known { challenged: Some(&challenged), of_resource: Some(&resource), ..Known::default() };
        assert_eq!(select(&all), list("a b"));
        assert_eq!(select(&Known { configured: Some(&configured), ..all }), list("a b u"));
        let all = Known { configured: Some(&configured), of_resource: Some(&resource), ..Known::default() };
        assert_eq!(select(&all), list("u"));
        assert_eq!(select(&Known { of_resource: Some(&resource), ..Known::default() }), list("r s"));
        assert_eq!(select(&Known::default()), Vec::<String>::new());
    }

    #[test]
    fn what_was_granted_before_is_kept() {
        let (before, challenged) = (list("a"), list("b a"));
        assert_eq!(select(&Known { before: &before, challenged: Some(&challenged), ..Known::default() }), list("a b"));
    }

    #[test]
    fn offline_access_is_asked_for_only_where_it_exists_and_something_else_is() {
        let (server, resource) = (list("x offline_access"), list("r"));
        let known = Known { of_server: Some(&server), wants_refresh: true, ..Known::default() };
        assert_eq!(select(&known), Vec::<String>::new());
        let known = Known { of_resource: Some(&resource), ..known };
        assert_eq!(select(&known), list("r offline_access"));
        assert_eq!(select(&Known { wants_refresh: false, ..known }), list("r"));
    }
}

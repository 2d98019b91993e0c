//! The parameters of a request, from its query or its form.

use url::form_urlencoded;

use super::{error::OAuthError, sanitize::sanitized};

/// Maximum number of parameters.
const MAX_COUNT: usize = 100;

/// Parameters in their order. Empty ones count as omitted (RFC 6749 section 3.1).
#[derive(Debug, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().filter(|(_, value)| !value.is_empty()).take(MAX_COUNT).collect())
    }

    /// The value of a parameter; the first one if there are several.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter that may be repeated (`resource`, RFC 8707 section 2).
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The value of a required parameter.
    pub(crate) fn required(&self, name: &str) -> Result<&str, OAuthError> {
        self.get(name).ok_or_else(|| OAuthError::new("invalid_request", format!("{name} is missing")))
    }

    /// The requested scopes.
    pub(crate) fn scopes(&self) -> Vec<String> {
        let mut scopes: Vec<String> = self
            .get("scope")
            .unwrap_or_default()
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let mut seen = std::collections::HashSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        scopes
    }

    /// Rejects repeated parameters, which are forbidden (RFC 6749 sections 3.1 and 3.2) except for those that RFC 8707
    /// and RFC 8693 allow.
    pub(crate) fn refuse_repeated(&self) -> Result<(), OAuthError> {
        let mut seen = std::collections::HashSet::new();
        let mut once = self.0.iter().filter(|(name, _)| name != "resource" && name != "audience");
        match once.find(|(name, _)| !seen.insert(name)) {
            Some((name, _)) => Err(OAuthError::new("invalid_request", format!("{} is repeated", sanitized(name)))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_parameters_are_left_out_and_only_resource_may_be_repeated() {
        let params = Params::parse(b"a=1&b=&resource=x&resource=y&scope=r+w+r");
        assert!(!params.has("b") && params.refuse_repeated().is_ok());
        assert_eq!(params.all("resource"), ["x", "y"]);
        assert_eq!(params.scopes(), ["r", "w"]);
        assert!(Params::parse(b"a=1&a=1").refuse_repeated().is_err());
    }
}

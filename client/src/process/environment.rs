//! The environment of child processes: variables that programs need to run, and those in the configuration. Other
//! variables may be secrets.

use std::{collections::BTreeMap, ffi::OsString};

use super::platform;
use crate::config::{Inherit, StdioEndpoint};

fn is_default(name: &str) -> bool {
    platform::DEFAULT_VARIABLES.iter().any(|default| platform::same_variable(default, name)) || name.starts_with("LC_")
}

/// Variables of this process that each child inherits.
pub(crate) fn default_variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_default))
}

/// The complete environment of a server.
pub(crate) fn variables(endpoint: &StdioEndpoint) -> BTreeMap<OsString, OsString> {
    select(endpoint, std::env::vars_os())
}

fn select(
    endpoint: &StdioEndpoint,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    let wanted = |name: &OsString| {
        let named = name
            .to_str()
            .is_some_and(|name| endpoint.env_vars.iter().any(|wanted| platform::same_variable(wanted, name)));
        match endpoint.inherit {
            Inherit::Everything => true,
            Inherit::Default => named || name.to_str().is_some_and(is_default),
            Inherit::Nothing => named,
        }
    };
    let mut environment: BTreeMap<_, _> = variables.filter(|(name, _)| wanted(name)).collect();
    environment.extend(endpoint.env.iter().map(|(name, value)| (name.into(), value.into())));
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherits_needed_and_named_variables() {
        let own = ["PATH", "HOME", "LC_TIME", "AWS_SECRET_ACCESS_KEY", "MY_KEY"];
        let check = |inherit: Inherit, expected: &[&str]| {
            let endpoint = StdioEndpoint {
                env: [("HOME".to_owned(), "/elsewhere".to_owned()), ("NEW".to_owned(), "1".to_owned())].into(),
                env_vars: vec!["MY_KEY".into(), "NOT_SET".into()],
                inherit,
                ..StdioEndpoint::default()
            };
            let found = select(&endpoint, own.iter().map(|name| (name.into(), "own".into())));
            assert_eq!(found.keys().collect::<Vec<_>>(), expected);
            assert_eq!(found[&OsString::from("HOME")], "/elsewhere");
        };
        check(Inherit::Default, &["HOME", "LC_TIME", "MY_KEY", "NEW", "PATH"]);
        check(Inherit::Nothing, &["HOME", "MY_KEY", "NEW"]);
        check(Inherit::Everything, &["AWS_SECRET_ACCESS_KEY", "HOME", "LC_TIME", "MY_KEY", "NEW", "PATH"]);
    }
}

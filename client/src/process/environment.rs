//! Which variables of this process a child gets to see: those that programs need to work at all, and those that the user
//! has named. Everything else may be a secret that is none of the server's business.

use std::{collections::BTreeMap, ffi::OsString};

use crate::config::{Inherit, StdioEndpoint};

/// What programs need to find their files, their user, their language and their terminal.
const DEFAULT: [&str; 19] = [
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMP",
    "TEMP",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

fn is_default(name: &str) -> bool {
    DEFAULT.contains(&name) || name.starts_with("LC_")
}

/// The variables of this process that every child gets.
pub(crate) fn default_variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_default))
}

/// The whole environment of a server.
pub(crate) fn of(endpoint: &StdioEndpoint) -> BTreeMap<OsString, OsString> {
    select(endpoint, std::env::vars_os())
}

fn select(
    endpoint: &StdioEndpoint,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    let wanted = |name: &OsString| {
        let named = name.to_str().is_some_and(|name| endpoint.env_vars.iter().any(|wanted| wanted == name));
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
    fn lets_through_what_programs_need_and_what_is_named() {
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

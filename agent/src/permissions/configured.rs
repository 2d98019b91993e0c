//! Rules out of the files of configuration.

use super::{Permissions, RuleErrors, RuleTexts, Rules};
use crate::config::{Configuration, PermissionRules, Scope};

impl From<&PermissionRules> for RuleTexts {
    fn from(rules: &PermissionRules) -> Self {
        Self { allow: rules.allow.clone(), ask: rules.ask.clone(), deny: rules.deny.clone() }
    }
}

/// Whether rules of this scope may allow something. What comes along with a repository or a plugin was not written by
/// the person whose tools would be called; it may ask and deny.
fn may_allow(scope: Scope) -> bool {
    match scope {
        Scope::Local | Scope::User | Scope::Explicit => true,
        Scope::Project | Scope::Plugin => false,
    }
}

fn texts(rules: &PermissionRules, scope: Scope) -> RuleTexts {
    let mut texts = RuleTexts::from(rules);
    if !may_allow(scope) && !texts.allow.is_empty() {
        tracing::warn!(%scope, rules = ?texts.allow, "rules that allow do not count here");
        texts.allow.clear();
    }
    texts
}

impl Permissions {
    /// The rules of all files, with these for all servers on top. Where a file has mistakes beside its servers, one of them may
    /// be in a rule that denies, so everything is denied.
    ///
    /// # Errors
    /// All rules that mean nothing.
    pub fn configured(configuration: &Configuration, given: &RuleTexts) -> Result<Self, RuleErrors> {
        if configuration.problems.iter().any(crate::config::Diagnostic::is_error) {
            return Ok(Self::refuse_everything());
        }
        let mut errors = Vec::new();
        let mut global = given.clone();
        for (scope, rules) in &configuration.permissions {
            let texts = texts(rules, *scope);
            global.allow.extend(texts.allow);
            global.ask.extend(texts.ask);
            global.deny.extend(texts.deny);
        }
        let mut take = |rules: Result<Rules, RuleErrors>| {
            rules.unwrap_or_else(|problems| {
                errors.extend(problems.0);
                Rules::default()
            })
        };
        let mut permissions = Self::new(take(Rules::global(&global)));
        for configured in &configuration.servers {
            let Some(server) = &configured.server else { continue };
            let texts = texts(&server.permissions, configured.scope);
            permissions = permissions.with_server(&configured.name, take(Rules::for_server(&texts, &configured.name)));
        }
        if errors.is_empty() { Ok(permissions) } else { Err(RuleErrors(errors)) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use client::Tool;
    use serde_json::json;

    use super::*;
    use crate::permissions::{PermissionDecision, PermissionTarget};

    fn loaded(text: &str) -> Configuration {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, text).unwrap();
        Configuration::load_file(&path)
    }

    fn verdict(permissions: &Permissions, server: &str, name: &str) -> PermissionDecision {
        let (tool, _) = Tool::read(json!({"name": name, "inputSchema": {}})).unwrap();
        permissions.explain(&PermissionTarget::Tool { server, tool: &tool }).verdict
    }

    const FILE: &str = r#"
        [permissions]
        deny = ["*/drop"]
        allow = ["*/get"]
        [mcp_servers.db]
        command = "db"
        permissions = { ask = ["get"], allow = ["put"] }
    "#;

    #[test]
    fn rules_of_files_and_of_their_servers_are_in_force() {
        let given = RuleTexts { deny: vec!["db/list".into()], ..RuleTexts::default() };
        let permissions = Permissions::configured(&loaded(FILE), &given).unwrap();
        let of = |server, tool| verdict(&permissions, server, tool);
        assert_eq!(
            [of("db", "drop"), of("db", "get"), of("db", "put")],
            [PermissionDecision::Deny, PermissionDecision::Ask, PermissionDecision::Allow]
        );
        assert_eq!(
            [of("x", "get"), of("db", "list"), of("x", "list")],
            [PermissionDecision::Allow, PermissionDecision::Deny, PermissionDecision::Ask]
        );
    }

    #[test]
    fn what_comes_with_a_repository_or_a_plugin_may_ask_and_deny_and_not_allow() {
        let mut configuration = loaded(FILE);
        for scope in [Scope::Project, Scope::Plugin] {
            configuration.permissions.iter_mut().for_each(|(of, _)| *of = scope);
            configuration.servers.iter_mut().for_each(|server| server.scope = scope);
            let permissions = Permissions::configured(&configuration, &RuleTexts::default()).unwrap();
            let of = |server, tool| verdict(&permissions, server, tool);
            assert_eq!(
                [of("db", "drop"), of("x", "get"), of("db", "put")],
                [PermissionDecision::Deny, PermissionDecision::Ask, PermissionDecision::Ask]
            );
        }
    }

    #[test]
    fn mistakes_deny_everything_or_are_errors() {
        let broken = loaded("[permissions]\ndeny = \"drop\"\nallow = [\"*/*\"]\n");
        let permissions = Permissions::configured(&broken, &RuleTexts::default()).unwrap();
        assert_eq!(verdict(&permissions, "db", "get"), PermissionDecision::Deny);
        let text = "[permissions]\ndeny = [\"drop\"]\n[mcp_servers.db]\ncommand = \"db\"\npermissions = { deny = [\"x/y\"] }\n";
        let errors = Permissions::configured(&loaded(text), &RuleTexts::default()).unwrap_err();
        assert_eq!(errors.0.len(), 2, "{errors}");
    }
}

//! Rules of the configuration files.

use super::{Permissions, RuleErrors, RuleTexts, Rules};
use crate::config::{Configuration, PermissionRules, Scope};

impl From<&PermissionRules> for RuleTexts {
    fn from(rules: &PermissionRules) -> Self {
        Self { allow: rules.allow.clone(), ask: rules.ask.clone(), deny: rules.deny.clone() }
    }
}

fn texts(rules: &PermissionRules, scope: Scope) -> RuleTexts {
    let mut texts = RuleTexts::from(rules);
    if !scope.may_allow() && !texts.allow.is_empty() {
        tracing::warn!(%scope, rules = ?texts.allow, "allow rules of this scope are ignored");
        texts.allow.clear();
    }
    texts
}

impl Permissions {
    /// The rules of all files and `given` global rules. If a file has errors outside its servers, everything is denied,
    /// because a deny rule may be affected.
    ///
    /// # Errors
    /// All invalid rules.
    pub fn configured(configuration: &Configuration, given: &RuleTexts) -> Result<Self, RuleErrors> {
        if configuration.problems.iter().any(crate::config::Diagnostic::is_error) {
            return Ok(Self::deny_all());
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
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        fs::write(&path, text).unwrap();
        Configuration::load_file(&path)
    }

    fn decision(permissions: &Permissions, server: &str, name: &str) -> PermissionDecision {
        let (tool, _) = Tool::read(json!({"name": name, "inputSchema": {}})).unwrap();
        permissions.explain(&PermissionTarget::Tool { server, tool: &tool }).decision
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
    fn rules_of_files_and_of_their_servers_apply() {
        let given = RuleTexts { deny: vec!["db/list".into()], ..RuleTexts::default() };
        let permissions = Permissions::configured(&loaded(FILE), &given).unwrap();
        let decide = |server, tool| decision(&permissions, server, tool);
        assert_eq!(
            [decide("db", "drop"), decide("db", "get"), decide("db", "put")],
            [PermissionDecision::Deny, PermissionDecision::Ask, PermissionDecision::Allow]
        );
        assert_eq!(
            [decide("x", "get"), decide("db", "list"), decide("x", "list")],
            [PermissionDecision::Allow, PermissionDecision::Deny, PermissionDecision::Ask]
        );
    }

    #[test]
    fn rules_of_a_repository_or_a_plugin_cannot_allow() {
        let mut configuration = loaded(FILE);
        for scope in [Scope::Project, Scope::Plugin] {
            configuration.permissions.iter_mut().for_each(|(one, _)| *one = scope);
            configuration.servers.iter_mut().for_each(|server| server.scope = scope);
            let permissions = Permissions::configured(&configuration, &RuleTexts::default()).unwrap();
            let decide = |server, tool| decision(&permissions, server, tool);
            assert_eq!(
                [decide("db", "drop"), decide("x", "get"), decide("db", "put")],
                [PermissionDecision::Deny, PermissionDecision::Ask, PermissionDecision::Ask]
            );
        }
    }

    #[test]
    fn invalid_rules_deny_everything_or_are_errors() {
        let broken = loaded("[permissions]\ndeny = \"drop\"\nallow = [\"*/*\"]\n");
        let permissions = Permissions::configured(&broken, &RuleTexts::default()).unwrap();
        assert_eq!(decision(&permissions, "db", "get"), PermissionDecision::Deny);
        let text = "[permissions]\ndeny = [\"drop\"]\n[mcp_servers.db]\ncommand = \"db\"\npermissions = { deny = [\"x/y\"] }\n";
        let errors = Permissions::configured(&loaded(text), &RuleTexts::default()).unwrap_err();
        assert_eq!(errors.0.len(), 2, "{errors}");
    }
}

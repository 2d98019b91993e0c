//! How the tools of a validated server reach the models of each provider, for its report.

use agent::schema::{Change, Converted, Effect, Options, Provider, convert};
use client::Tool;
use reports::model::{Portability, ToolPortability};
use serde_json::Value;

/// Maximum number of reasons for a tool.
const MAX_REASONS: usize = 5;

/// Summarizes the conversion of listed tools for each provider. The two formats of OpenAI accept the same schemas, so only
/// one is part of it.
#[must_use]
pub fn portability(tools: &[Value]) -> Vec<Portability> {
    let read: Vec<_> = tools.iter().map(|tool| Tool::read(tool.clone())).collect();
    let providers = Provider::ALL.into_iter().filter(|provider| *provider != Provider::OpenAiChat);
    providers
        .map(|provider| {
            let different: Vec<_> = read
                .iter()
                .filter_map(|tool| match tool {
                    Ok((tool, _)) => difference(provider, tool),
                    Err(rejected) => {
                        let name = rejected.name.clone().unwrap_or_else(|| "a tool".to_owned());
                        Some(is_rejected(name, &rejected.reason))
                    }
                })
                .collect();
            Portability { provider: provider.name().to_owned(), equal: tools.len() - different.len(), different }
        })
        .collect()
}

fn difference(provider: Provider, tool: &Tool) -> Option<ToolPortability> {
    match convert(provider, tool.name(), tool, &Options::default()) {
        Err(reason) => Some(is_rejected(tool.name().to_owned(), &reason)),
        Ok(converted) => {
            let reasons = reasons(&converted);
            let tool = tool.name().to_owned();
            (!reasons.is_empty()).then_some(ToolPortability { tool, rejected: false, reasons })
        }
    }
}

fn is_rejected(tool: String, reason: &impl ToString) -> ToolPortability {
    ToolPortability { tool, rejected: true, reasons: vec![reason.to_string()] }
}

fn reasons(converted: &Converted) -> Vec<String> {
    let report = &converted.report;
    let strict = converted.not_strict.iter().map(|reason| format!("not strict: {reason}"));
    // Every object of a strict schema is closed; the arguments that the server describes stay the same.
    let is_closing = |change: &Change| converted.is_strict() && change.keyword == "additionalProperties";
    let changes = report.changes.iter().filter(|change| change.effect != Effect::Equal && !is_closing(change));
    let mut reasons: Vec<String> = strict.chain(changes.map(ToString::to_string)).collect();
    let more = reasons.len().saturating_sub(MAX_REASONS) + report.more;
    reasons.truncate(MAX_REASONS);
    if more > 0 {
        reasons.push(format!("and {more} more"));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn summary(provider: &str, tools: &[Value]) -> Portability {
        portability(tools).into_iter().find(|one| one.provider == provider).unwrap()
    }

    #[test]
    fn a_plain_schema_is_equal_for_all_providers() {
        let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] });
        let all = portability(&[json!({ "name": "search", "inputSchema": schema })]);
        assert_eq!(all.len(), 4);
        for one in all {
            assert_eq!((one.equal, one.different), (1, Vec::new()), "{}", one.provider);
        }
    }

    #[test]
    fn a_keyword_without_support_is_a_difference() {
        let schema = json!({ "type": "object", "properties": { "q": { "not": { "type": "string" } } } });
        let one = summary("gemini", &[json!({ "name": "search", "inputSchema": schema })]);
        assert_eq!(one.equal, 0);
        assert!(!one.different[0].rejected);
        assert!(one.different[0].reasons[0].contains("`not`"), "{:?}", one.different);
    }

    #[test]
    fn a_schema_that_no_provider_can_use_is_rejected() {
        let schema = json!({ "type": "object", "properties": { "q": { "$ref": "#/$defs/missing" } } });
        let one = summary("anthropic", &[json!({ "name": "search", "inputSchema": schema })]);
        assert!(one.different[0].rejected, "{:?}", one.different);
    }

    #[test]
    fn a_tool_without_a_name_is_rejected() {
        let one = summary("openai", &[json!({ "inputSchema": { "type": "object" } })]);
        assert!(one.different[0].rejected, "{:?}", one.different);
    }
}

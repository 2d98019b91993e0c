//! Conversion of the tools of real servers: one snapshot per server and provider with all definitions and changes.

use mcp_workbench_agent::schema::{Change, Conversion, Options, Provider, convert_all, rules};
use serde_json::Value;

use crate::corpus;

/// Formats a conversion: one line per definition, followed by its changes.
pub(crate) fn summary(conversion: &Conversion) -> String {
    let mut text = String::new();
    for tool in &conversion.tools {
        text.push_str(&tool.definition.to_string());
        text.push('\n');
        if let Some(reason) = &tool.not_strict {
            text.push_str(&format!("    not strict: {reason}\n"));
        }
        for change in &tool.report.changes {
            let Change { at, keyword, became, effect, .. } = change;
            text.push_str(&format!("    {at}: `{keyword}` {became}: {effect:?}\n"));
        }
    }
    for rejected in &conversion.rejected {
        text.push_str(&format!("{}: rejected: {}\n", rejected.name, rejected.reason));
    }
    text
}

/// Shortens descriptions, which are not the subject of these snapshots.
fn shortened(mut conversion: Conversion) -> Conversion {
    conversion.tools.iter_mut().for_each(|tool| shorten(&mut tool.definition));
    conversion
}

fn shorten(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(text)) = map.get_mut("description") {
                // Notes of the conversion are at the end.
                let (own, notes) = text.rsplit_once('\n').unwrap_or((text, ""));
                let own: String = own.chars().take(20).collect();
                *text = format!("{own}… {}", notes.chars().take(80).collect::<String>());
            }
            map.values_mut().for_each(shorten);
        }
        Value::Array(list) => list.iter_mut().for_each(shorten),
        _ => {}
    }
}

fn over_the_corpus(provider: Provider) {
    for listing in corpus::all() {
        let tools = listing.named();
        let pairs = tools.iter().map(|(name, tool)| (name.clone(), tool));
        let conversion = convert_all(provider, pairs, &Options::default());
        assert!(conversion.rejected.is_empty(), "{}: {:?}", listing.server, conversion.rejected);
        for tool in &conversion.tools {
            let violations = rules::violations(provider, &tool.definition);
            assert!(violations.is_empty(), "{provider} {}: {violations:#?}\n{:#}", tool.name, tool.definition);
        }
        insta::assert_snapshot!(format!("{}-{provider}", listing.server), summary(&shortened(conversion)));
    }
}

#[test]
fn real_tools_for_openai() {
    over_the_corpus(Provider::OpenAi);
}

#[test]
fn real_tools_for_anthropic() {
    over_the_corpus(Provider::Anthropic);
}

#[test]
fn real_tools_for_gemini() {
    over_the_corpus(Provider::Gemini);
}

#[test]
fn real_tools_for_geminis_json_schema() {
    over_the_corpus(Provider::GeminiJsonSchema);
}

#[test]
fn chat_completions_has_the_same_functions_in_another_envelope() {
    for listing in corpus::all() {
        let tools = listing.named();
        let convert = |provider| {
            convert_all(provider, tools.iter().map(|(name, tool)| (name.clone(), tool)), &Options::default()).tools
        };
        for (flat, wrapped) in convert(Provider::OpenAi).into_iter().zip(convert(Provider::OpenAiChat)) {
            assert_eq!(rules::violations(Provider::OpenAiChat, &wrapped.definition), []);
            let mut unwrapped = wrapped.definition["function"].clone();
            unwrapped["type"] = "function".into();
            assert_eq!(flat.definition, unwrapped);
        }
    }
}

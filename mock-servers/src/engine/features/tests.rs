use std::{fs, path::Path};

use super::*;

/// The official schema of a revision; none where the specification is not at hand.
fn definitions(revision: Revision) -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../shared/spec/{revision}.schema.json"));
    let path = if path.exists() { path } else { Path::new(&std::env::var("MCP_SPEC").ok()?).join(path.file_name()?) };
    let mut schema: Value = serde_json::from_str(&fs::read_to_string(path).ok()?).expect("the schema is JSON");
    let key = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
    Some(schema[key].take())
}

/// The names in the schemas of a shape of ours.
fn names(shape: SchemaType) -> Vec<String> {
    match shape {
        SchemaType::ResourceContents => vec!["TextResourceContents".into(), "BlobResourceContents".into()],
        SchemaType::Progress => vec!["ProgressNotification".into()],
        other => vec![format!("{other:?}")],
    }
}

/// Whether the revision's schema has the member; none if it has not even the shape.
fn official(definitions: &Value, shape: SchemaType, member: &str) -> Option<bool> {
    names(shape)
        .iter()
        .map(|name| properties(definitions, definitions.get(name)?))
        .try_fold(true, |all, properties| Some(all && properties?.get(member).is_some()))
}

fn properties<'a>(definitions: &'a Value, definition: &'a Value) -> Option<&'a Value> {
    let own = definition.get("properties")?;
    // The parameters of a notification are written out in the older schemas, and a definition of their own since.
    match own.get("params") {
        None => Some(own),
        Some(params) => match params.get("$ref").and_then(Value::as_str) {
            None => params.get("properties"),
            Some(reference) => definitions.get(reference.rsplit('/').next()?)?.get("properties"),
        },
    }
}

#[test]
fn the_table_agrees_with_the_official_schemas() {
    for revision in Revision::ALL {
        let Some(definitions) = definitions(revision) else {
            eprintln!("skipped: the official schemas are not at hand (`../shared/spec`)");
            return;
        };
        let features = RevisionFeatures::new(revision, false);
        for row in &MEMBERS {
            let ((shape, member), ..) = row;
            if let Some(official) = official(&definitions, *shape, member) {
                assert_eq!(features.is_in(row), official, "{shape:?}.{member} in {revision}");
            }
        }
        for row in &BLOCKS {
            assert_eq!(features.is_in(row), definitions.get(format!("{:?}", row.0)).is_some(), "{row:?} in {revision}");
        }
        for row in &METHODS {
            let known = definitions.to_string().contains(&format!("\"{}\"", row.0));
            assert_eq!(features.is_in(row), known, "{row:?} in {revision}");
        }
    }
}

#[test]
fn nothing_that_came_later_is_missing_from_the_table() {
    let Some(first) = definitions(Revision::ALL[0]) else {
        eprintln!("skipped: the official schemas are not at hand (`../shared/spec`)");
        return;
    };
    for revision in Revision::ALL {
        let definitions = definitions(revision).expect("all are there, or none");
        for shape in MEMBERS.iter().map(|row| row.0.0) {
            for name in names(shape) {
                let (Some(old), Some(new)) = (first.get(&name), definitions.get(&name)) else { continue };
                let new = properties(&definitions, new).and_then(Value::as_object).expect("an object");
                for member in
                    new.keys().filter(|member| properties(&first, old).unwrap().get(member.as_str()).is_none())
                {
                    // Of every result of 2026-07-28 (`Engine::complete` sees to it), and of every notification at all times.
                    let general = member == "resultType" || (shape == SchemaType::Progress && member == "_meta");
                    let known = general || MEMBERS.iter().any(|row| row.0 == (shape, member.as_str()));
                    assert!(known, "{name}.{member} came with {revision} or before");
                }
            }
        }
    }
}

#[test]
fn takes_away_what_a_revision_does_not_have() {
    let tool = json!({"name": "t", "title": "T", "annotations": {"readOnlyHint": true}, "icons": [], "execution": {}});
    for (revision, expected) in [
        (Revision::V2024_11_05, vec!["name"]),
        (Revision::V2025_03_26, vec!["name", "annotations"]),
        (Revision::V2025_06_18, vec!["name", "title", "annotations"]),
        (Revision::V2025_11_25, vec!["name", "title", "annotations", "icons", "execution"]),
        (Revision::V2026_07_28, vec!["name", "title", "annotations", "icons"]),
    ] {
        let mut fitted = tool.clone();
        RevisionFeatures::new(revision, false).fit(SchemaType::Tool, &mut fitted);
        assert_eq!(fitted.as_object().unwrap().keys().collect::<Vec<_>>(), expected, "{revision}");
        let mut whole = tool.clone();
        RevisionFeatures::new(revision, true).fit(SchemaType::Tool, &mut whole);
        assert_eq!(whole, tool, "{revision}");
    }
}

#[test]
fn names_blocks_that_a_revision_does_not_have() {
    let result = json!({"structuredContent": {}, "content": [
        {"type": "text", "text": "a", "annotations": {"priority": 1, "lastModified": "x"}, "_meta": {}},
        {"type": "audio", "data": "", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "x:/1", "name": "x", "icons": []},
        {"type": "resource", "resource": {"uri": "x:/2", "text": "", "_meta": {}}, "_meta": {}},
    ]});
    let fitted = |revision| {
        let mut result = result.clone();
        RevisionFeatures::new(revision, false).fit(SchemaType::CallToolResult, &mut result);
        result
    };
    assert_eq!(fitted(Revision::V2026_07_28), result);
    assert_eq!(
        fitted(Revision::V2024_11_05),
        json!({"content": [
            {"type": "text", "text": "a", "annotations": {"priority": 1}},
            {"type": "text", "text": "[audio: audio/wav]"},
            {"type": "text", "text": "[resource link: x:/1]"},
            {"type": "resource", "resource": {"uri": "x:/2", "text": ""}},
        ]})
    );
    assert_eq!(
        fitted(Revision::V2025_06_18)["content"][2],
        json!({"type": "resource_link", "uri": "x:/1", "name": "x"})
    );
}

#[test]
fn structured_content_is_an_object_until_2026() {
    for (revision, content, kept) in [
        (Revision::V2025_11_25, json!([1]), false),
        (Revision::V2025_11_25, json!({}), true),
        (Revision::V2026_07_28, json!([1]), true),
    ] {
        let mut result = json!({"content": [], "structuredContent": content});
        RevisionFeatures::new(revision, false).fit(SchemaType::CallToolResult, &mut result);
        assert_eq!(result.get("structuredContent").is_some(), kept, "{revision} {content}");
    }
}

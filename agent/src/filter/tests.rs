use serde_json::json;

use super::*;

const IMAGES_ONLY: ModelCapabilities = ModelCapabilities { images: true, audio: false };
const TEXT_ONLY: ModelCapabilities = ModelCapabilities { images: false, audio: false };

fn texts(blocks: Value, capabilities: ModelCapabilities) -> Vec<String> {
    let content = blocks_for_model(blocks.as_array().unwrap(), None, false, capabilities);
    let text = |part| match part {
        ContentPart::Text { text } => text,
        other => panic!("{other:?} is not text"),
    };
    content.parts.into_iter().map(text).collect()
}

fn text(block: Value) -> String {
    texts(json!([block]), TEXT_ONLY).concat()
}

#[test]
fn media_is_passed_to_models_that_support_it_and_described_to_others() {
    let data = "A".repeat(16_400);
    let blocks = json!([
        {"type": "image", "mimeType": "image/PNG", "data": data},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAA="},
        {"type": "image", "mimeType": "image/svg+xml", "data": "AAAA"},
        {"type": "image", "mimeType": "image/png", "data": "not base64!"},
    ]);
    let words = [
        "[image: image/PNG, 12.3 kB]",
        "[audio: audio/wav, 2 bytes]",
        "[image: image/svg+xml, 3 bytes]",
        "[image: image/png, invalid base64]",
    ];
    assert_eq!(texts(blocks.clone(), TEXT_ONLY), words);
    let seen = blocks_for_model(blocks.as_array().unwrap(), None, false, IMAGES_ONLY).parts;
    assert_eq!(seen[0], ContentPart::Image { mime: "image/png".into(), data });
    assert_eq!(seen[1..], words[1..].iter().map(|words| ContentPart::text(*words)).collect::<Vec<_>>());
    let audio =
        blocks_for_model(blocks.as_array().unwrap(), None, false, ModelCapabilities { audio: true, ..TEXT_ONLY }).parts;
    assert_eq!(audio[1], ContentPart::Audio { mime: "audio/wav".into(), data: "AAA=".into() });
}

#[test]
fn structured_content_replaces_text_that_repeats_it() {
    let value = json!({"b": [1, 2], "a": "x"});
    let parts = |blocks: Value, value: &Value| {
        blocks_for_model(blocks.as_array().unwrap(), Some(value), false, TEXT_ONLY).parts
    };
    let whole = ContentPart::Json { value: value.clone() };
    let repeated = json!({"type": "text", "text": "{ \"a\": \"x\",\n \"b\": [1, 2] }"});
    assert_eq!(parts(json!([repeated]), &value), std::slice::from_ref(&whole));
    let other = json!({"type": "text", "text": "and a word"});
    assert_eq!(parts(json!([repeated, other]), &value), [whole.clone(), ContentPart::text("and a word")]);
    let wrapped = json!({"result": "and a word"});
    assert_eq!(parts(json!([other]), &wrapped), [ContentPart::Json { value: wrapped }]);
    assert_eq!(parts(json!([other]), &Value::Null), [ContentPart::text("and a word")]);
}

#[test]
fn the_text_of_an_error_is_kept_and_comes_first() {
    let value = json!({"code": 7});
    let image = json!({"type": "image", "mimeType": "image/png", "data": "AAAA"});
    let blocks = json!([image, {"type": "text", "text": "it failed"}]);
    let content = blocks_for_model(blocks.as_array().unwrap(), Some(&value), true, IMAGES_ONLY);
    assert!(content.is_error);
    assert_eq!(content.parts[..2], [ContentPart::text("it failed"), ContentPart::Json { value: value.clone() }]);
    assert!(matches!(content.parts[2], ContentPart::Image { .. }));
    let blocks = json!([{"type": "text", "text": "{\"code\":7}"}]);
    let content = blocks_for_model(blocks.as_array().unwrap(), Some(&value), true, TEXT_ONLY);
    assert_eq!(content.parts, [ContentPart::text("{\"code\":7}")]);
}

#[test]
fn resources_are_described() {
    let link = json!({"type": "resource_link", "uri": "file:///a.rs", "name": "a", "mimeType": "text/x-rust",
        "size": 12, "description": "the source"});
    assert_eq!(text(link), "[resource: file:///a.rs, a, text/x-rust, 12 bytes] the source");
    let note = json!({"type": "resource", "resource": {"uri": "note:1", "mimeType": "text/plain", "text": "hello"}});
    assert_eq!(text(note), "[resource: note:1, text/plain]\nhello");
    let blob = json!({"type": "resource", "resource": {"uri": "f:1", "mimeType": "application/zip", "blob": "AAAA"}});
    assert_eq!(text(blob), "[resource: f:1] [blob: application/zip, 3 bytes]");
    let picture = json!([{"type": "resource", "resource": {"uri": "f:2", "mimeType": "image/png", "blob": "AAAA"}}]);
    let seen = blocks_for_model(picture.as_array().unwrap(), None, false, IMAGES_ONLY).parts;
    assert_eq!(
        seen,
        [ContentPart::text("[resource: f:2]"), ContentPart::Image { mime: "image/png".into(), data: "AAAA".into() }]
    );
}

#[test]
fn unknown_and_malformed_blocks_are_described_within_limits() {
    assert_eq!(text(json!({"type": "video", "x": 1})), r#"[block of unknown type, video: {"type":"video","x":1}]"#);
    for broken in [json!({}), json!({"type": "text"}), json!({"type": "image"}), json!({"type": "resource"})] {
        assert!(text(broken.clone()).contains("unknown type"), "{broken}");
    }
    let long = text(json!({"type": "video", "x": "y".repeat(100_000)}));
    assert!(long.chars().count() < 600, "{}", long.len());
    let evil = text(json!({"type": "resource_link", "uri": "a\u{1b}[2J\u{202e}b\nc"}));
    assert!(!evil.contains(['\u{1b}', '\u{202e}', '\n']), "{evil}");
    let many: Vec<Value> = (0..1_010).map(|n| json!({"type": "text", "text": n.to_string()})).collect();
    let kept = texts(Value::Array(many), TEXT_ONLY);
    assert_eq!((kept.len(), kept[1_000].as_str()), (1_001, "[10 more blocks omitted]"));
}

#[test]
fn sizes_are_formatted_with_units() {
    let sizes = [0, 1, 999, 1_000, 12_345, 999_999, 10_000_000].map(size);
    assert_eq!(sizes, ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "12.3 kB", "999.9 kB", "10.0 MB"]);
}

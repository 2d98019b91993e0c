//! Inserts values of earlier steps into parameters: `{{$.steps[0].items[0].uri}}`, `{{$.item.uri}}`. Repeats text and
//! inserts bytes: `{{x*3}}`, `{{0xff}}`. With `| list`, all values that a path finds; with `| shorten`, a string without its last
//! character, and with `| swap-case`, one with its letters in the other case.

use serde_json::{Map, Value, json};
use serde_json_path::JsonPath;

/// The values that placeholders can select: those of the earlier steps, and the item of a request with `each`.
pub(super) fn values(steps: &[Value], item: Option<&Value>) -> Value {
    let mut root = json!({ "steps": steps });
    if let Some(item) = item {
        root["item"] = item.clone();
    }
    root
}

/// The nodes that a JSONPath selects.
///
/// # Errors
/// If it is not a JSONPath.
pub(super) fn select(path: &str, root: &Value) -> Result<Vec<Value>, String> {
    let parsed = JsonPath::parse(path).map_err(|cause| format!("`{path}` is not a JSONPath: {cause}"))?;
    let nodes = parsed.query(root).all();
    // A path to a list means its items.
    match nodes.as_slice() {
        [Value::Array(items)] => Ok(items.clone()),
        nodes => Ok(nodes.iter().map(|node| (*node).clone()).collect()),
    }
}

/// Replaces all placeholders in the parameters.
///
/// # Errors
/// The first placeholder without a value.
pub(super) fn fill(params: &Map<String, Value>, root: &Value) -> Result<Map<String, Value>, String> {
    params.iter().map(|(name, value)| Ok((name.clone(), fill_value(value, root)?))).collect()
}

fn fill_value(value: &Value, root: &Value) -> Result<Value, String> {
    match value {
        Value::String(text) => match path_in(text) {
            Some(path) => find(path, root),
            None => {
                fill_text(&String::from_utf8(expand(text)).unwrap_or_else(|_| text.clone()), root).map(Value::String)
            }
        },
        Value::Array(items) => items.iter().map(|item| fill_value(item, root)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| Ok((fill_text(name, root)?, fill_value(field, root)?)));
            fields.collect::<Result<Map<_, _>, String>>().map(Value::Object)
        }
        other => Ok(other.clone()),
    }
}

/// The JSONPath of a string that is a single placeholder.
fn path_in(text: &str) -> Option<&str> {
    text.strip_prefix("{{")?
        .strip_suffix("}}")
        .map(str::trim)
        .filter(|path| path.starts_with('$') && !path.contains("}}"))
}

/// Replaces the placeholders within a longer string.
///
/// # Errors
/// The first placeholder that does not select a string or number.
pub(super) fn fill_text(text: &str, root: &Value) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once("{{$")
        && let Some((path, after)) = tail.split_once("}}")
    {
        filled.push_str(before);
        let path = format!("${}", path.trim());
        match find(&path, root)? {
            Value::String(part) => filled.push_str(&part),
            Value::Number(part) => filled.push_str(&part.to_string()),
            _ => return Err(format!("the value at `{path}` is not a string")),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Maximum number of repetitions in a placeholder.
const MAX_REPETITIONS: usize = 4 << 20;

/// Replaces `{{x*3}}` by three times `x`, and `{{0xff}}` by this byte. Other text stays.
pub(super) fn expand(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        bytes.extend_from_slice(before.as_bytes());
        rest = after;
        // The content may begin with a brace itself: `{{{*3}}`.
        let placeholder = after.split_once("}}").and_then(|(inside, end)| Some((generated(inside)?, end)));
        match placeholder {
            Some((generated, end)) => {
                bytes.extend(generated);
                rest = end;
            }
            None => bytes.extend_from_slice(b"{{"),
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

fn generated(inside: &str) -> Option<Vec<u8>> {
    if let Some(hex) = inside.strip_prefix("0x") {
        return u8::from_str_radix(hex, 16).ok().map(|byte| vec![byte]);
    }
    let (text, count) = inside.rsplit_once('*')?;
    let count: usize = count.parse().ok()?;
    (text.len() * count <= MAX_REPETITIONS).then(|| text.repeat(count).into_bytes())
}

/// Replaces the variables of a URI template (RFC 6570) by a value; optional parts of a query are dropped.
fn expand_template(template: &str, value: &str) -> String {
    let mut uri = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        uri.push_str(before);
        let Some((expression, end)) = after.split_once('}') else { break };
        match expression.chars().next() {
            Some('?' | '&' | ';') => {}
            Some(operator @ ('/' | '.' | '#')) => {
                uri.push(operator);
                uri.push_str(value);
            }
            _ => uri.push_str(value),
        }
        rest = end;
    }
    uri + rest
}

/// A letter of ASCII in the other case.
pub(super) fn in_other_case(letter: char) -> char {
    if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
}

fn find(path: &str, root: &Value) -> Result<Value, String> {
    if let Some((path, value)) = path.split_once(" | expand ") {
        let template = find(path, root)?;
        let template = template.as_str().ok_or_else(|| format!("`{path}` is not a URI template"))?;
        return Ok(Value::String(expand_template(template, value.trim())));
    }
    if let Some((path, value)) = path.split_once(" | replace-last ") {
        let uri = find(path, root)?;
        let directory = uri.as_str().and_then(|uri| uri.rsplit_once('/'));
        let (directory, _) = directory.ok_or_else(|| format!("`{path}` is not a URI with a path"))?;
        return Ok(Value::String(format!("{directory}/{}", value.trim())));
    }
    if let Some((path, change)) = path.split_once(" | ").filter(|(_, change)| *change != "list") {
        let found = find(path, root)?;
        let text = found.as_str().ok_or_else(|| format!("the value at `{path}` is not a string"))?;
        return match change {
            "shorten" => Ok(Value::String(text.chars().take(text.chars().count().saturating_sub(1)).collect())),
            "swap-case" => Ok(Value::String(text.chars().map(in_other_case).collect())),
            _ => Err(format!("`{change}` is neither `list`, `expand`, `replace-last`, `shorten` nor `swap-case`")),
        };
    }
    let (path, is_list) = path.strip_suffix(" | list").map_or((path, false), |path| (path, true));
    let parsed = JsonPath::parse(path).map_err(|cause| format!("`{path}` is not a JSONPath: {cause}"))?;
    let found = parsed.query(root);
    let list = || found.iter().map(|node| (*node).clone()).collect();
    let found = found.first().map(|first| if is_list { Value::Array(list()) } else { first.clone() });
    found.ok_or_else(|| format!("the server has no value at `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(params: Value) -> Result<Value, String> {
        let steps = [json!({ "items": [{ "uri": "a:1", "size": 3 }, { "uri": "a:2" }] }), Value::Null];
        fill(params.as_object().expect("an object"), &values(&steps, None)).map(Value::Object)
    }

    #[test]
    fn takes_the_first_value_that_the_path_finds_with_its_type() {
        let params =
            json!({ "uri": "{{$.steps[0].items[1].uri}}", "deep": [{ "size": "{{ $.steps[0].items[*].size }}" }] });
        assert_eq!(filled(params), Ok(json!({ "uri": "a:2", "deep": [{ "size": 3 }] })));
    }

    #[test]
    fn takes_all_values_as_a_list() {
        let uris = filled(json!({ "uris": "{{$.steps[0].items[0:9].uri | list}}" }));
        assert_eq!(uris, Ok(json!({ "uris": ["a:1", "a:2"] })));
        assert!(filled(json!({ "uris": "{{$.steps[0].items[9:].uri | list}}" })).is_err());
    }

    #[test]
    fn repeats_text_and_inserts_bytes() {
        assert_eq!(expand("a{{x*3}}b{{[*2}}{{0xff}}"), b"axxxb[[\xff");
        assert_eq!(expand("{{{*2}} {{other}} {{x*99999999}}"), b"{{ {{other}} {{x*99999999}}");
        assert_eq!(filled(json!({ "text": "{{ab*2}}" })), Ok(json!({ "text": "abab" })));
    }

    #[test]
    fn expands_the_variables_of_a_uri_template() {
        assert_eq!(expand_template("file:///{path}", "../x"), "file:///../x");
        assert_eq!(expand_template("file://{+root}/{name}{?query}", "a"), "file://a/a");
        let root = values(&[], Some(&json!({ "uriTemplate": "a:{b}" })));
        let params = json!({ "uri": "{{$.item.uriTemplate | expand ../../c}}" });
        let filled = fill(params.as_object().expect("an object"), &root);
        assert_eq!(filled.map(Value::Object), Ok(json!({ "uri": "a:../../c" })));
        let root = values(&[], Some(&json!({ "uri": "file:///a/b" })));
        let params = json!({ "uri": "{{$.item.uri | replace-last ../c}}" });
        let filled = fill(params.as_object().expect("an object"), &root);
        assert_eq!(filled.map(Value::Object), Ok(json!({ "uri": "file:///a/../c" })));
    }

    #[test]
    fn leaves_every_other_string_alone() {
        let params = json!({ "a": "{{arguments.text}}", "b": "x {{$.steps[0]" });
        assert_eq!(filled(params.clone()), Ok(params));
    }

    #[test]
    fn replaces_placeholders_within_a_string() {
        let params = json!({ "a": "{{$.steps[0].items[1].uri}}/../b{{$.steps[0].items[0].size}}" });
        assert_eq!(filled(params), Ok(json!({ "a": "a:2/../b3" })));
        assert!(filled(json!({ "a": "x {{$.steps[0]}}" })).is_err());
    }

    #[test]
    fn selects_the_items_of_a_list_and_values_of_one_item() {
        let root = values(&[json!({ "items": [{ "uri": "a:1" }, { "uri": "a:2" }] })], None);
        let items = select("$.steps[0].items", &root).expect("a JSONPath");
        assert_eq!(items, [json!({ "uri": "a:1" }), json!({ "uri": "a:2" })]);
        assert_eq!(select("$.steps[0].items[?@.uri == 'a:2']", &root).expect("a JSONPath"), [json!({ "uri": "a:2" })]);
        let params = json!({ "uri": "{{$.item.uri}}" });
        let filled = fill(params.as_object().expect("an object"), &values(&[], Some(&items[1])));
        assert_eq!(filled.map(Value::Object), Ok(json!({ "uri": "a:2" })));
    }

    #[test]
    fn says_which_path_finds_nothing() {
        let error = filled(json!({ "uri": "{{$.steps[1].items[0].uri}}" })).expect_err("step 1 has no value");
        assert!(error.contains("$.steps[1].items[0].uri"), "{error}");
    }
}

//! URI templates (RFC 6570): validity, and variables.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Section 2.3 of RFC 3986: all but the unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Why text is not a URI template, if it is none.
pub(crate) fn template_fault(template: &str) -> Option<&'static str> {
    let mut rest = template;
    while let Some(position) = rest.find(['{', '}']) {
        let (literal, tail) = rest.split_at(position);
        if let Some(fault) = literal_fault(literal) {
            return Some(fault);
        }
        let Some(inner) = tail.strip_prefix('{') else { return Some("has a `}` without `{`") };
        let Some((expression, after)) = inner.split_once('}') else { return Some("has a `{` without `}`") };
        if !is_expression(expression) {
            return Some("has an invalid expression");
        }
        rest = after;
    }
    literal_fault(rest)
}

/// Section 2.1: a literal has no controls, spaces, quotes, `<`, `>`, `\`, `^`, backquotes and `|`.
fn literal_fault(literal: &str) -> Option<&'static str> {
    let forbidden = |letter: char| letter.is_control() || " \"<>\\^`|".contains(letter);
    literal.contains(forbidden).then_some("has a character that templates do not allow")
}

/// Section 2.2: an operator and variables with modifiers. The operators `=,!@|` are reserved.
fn is_expression(expression: &str) -> bool {
    let variables = expression.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(expression);
    variables.split(',').all(is_variable)
}

fn is_variable(variable: &str) -> bool {
    let name = match variable.split_once(':') {
        Some((name, length)) => {
            let is_length = (1..=4).contains(&length.len()) && length.bytes().all(|digit| digit.is_ascii_digit());
            if !is_length || length.starts_with('0') {
                return false;
            }
            name
        }
        None => variable.strip_suffix('*').unwrap_or(variable),
    };
    let is_name = |part: &str| {
        let plain = part.replace('%', "");
        !plain.is_empty() && plain.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    name.split('.').all(is_name)
}

/// The names of the variables of a template.
pub(crate) fn variables(template: &str) -> Vec<&str> {
    let expressions = template.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0));
    let names = expressions
        .flat_map(|expression| expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).split(','));
    names.filter_map(|name| name.split([':', '*']).next()).filter(|name| !name.is_empty()).collect()
}

/// The template with values of its variables. Variables without a value are left out, and lists and prefixes are not supported,
/// so that a value is used whole.
pub(crate) fn expand<'v>(template: &str, value_of: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut uri = String::new();
    let mut rest = template;
    while let Some((literal, tail)) = rest.split_once('{')
        && let Some((expression, after)) = tail.split_once('}')
    {
        uri.push_str(literal);
        rest = after;
        let operator = expression.chars().next().filter(|first| "+#./;?&".contains(*first));
        let names = expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).split(',');
        let names = names.map(|name| name.split([':', '*']).next().unwrap_or_default());
        // Section 3.2: the operators differ in what is first, what separates values, and whether they are named.
        let (first, separator, is_named) = match operator {
            None | Some('+') => ("", ",", false),
            Some('#') => ("#", ",", false),
            Some('.') => (".", ".", false),
            Some('/') => ("/", "/", false),
            Some(';') => (";", ";", true),
            Some('?') => ("?", "&", true),
            _ => ("&", "&", true),
        };
        let is_raw = matches!(operator, Some('+' | '#'));
        let parts = names.filter_map(|name| {
            let value = value_of(name)?;
            let value = if is_raw { value.to_owned() } else { utf8_percent_encode(value, RESERVED).to_string() };
            Some(if is_named { format!("{name}={value}") } else { value })
        });
        let parts: Vec<String> = parts.collect();
        if !parts.is_empty() {
            uri.push_str(first);
            uri.push_str(&parts.join(separator));
        }
    }
    uri + rest
}

#[cfg(test)]
mod tests {
    /// The examples of the values `var`, `hello` and `x` in RFC 6570, section 3.2.
    #[test]
    fn expands_the_examples_of_the_rfc() {
        let value = |name: &str| match name {
            "var" => Some("value"),
            "hello" => Some("Hello World!"),
            "path" => Some("/foo/bar"),
            "x" => Some("1024"),
            "y" => Some("768"),
            _ => None,
        };
        for (template, uri) in [
            ("{hello}", "Hello%20World%21"),
            ("{x,hello,y}", "1024,Hello%20World%21,768"),
            ("{+path,x}/here", "/foo/bar,1024/here"),
            ("{+hello}", "Hello World!"),
            ("{#path,x}/here", "#/foo/bar,1024/here"),
            ("X{.x,y}", "X.1024.768"),
            ("{/var,x}/here", "/value/1024/here"),
            ("{;x,y}", ";x=1024;y=768"),
            ("{?x,y,undef}", "?x=1024&y=768"),
            ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
            ("a{?undef}", "a"),
        ] {
            assert_eq!(super::expand(template, value), uri, "{template}");
        }
    }

    use super::*;

    #[test]
    fn templates_of_the_rfc_are_valid() {
        for template in ["a:{x}", "file:///{+path}", "a:/{x,y}{?q*,r:3}", "a:{under_score.dot}", "a:plain", "a:{%20x}"]
        {
            assert_eq!(template_fault(template), None, "{template}");
        }
    }

    #[test]
    fn others_are_not() {
        for template in ["a:{x", "a:x}", "a:{}", "a:{x y}", "a:{x:0}", "a:{=x}", "a b:{x}", "a:{{x}}", "a:{x-y}", "<a>"]
        {
            assert!(template_fault(template).is_some(), "{template}");
        }
    }

    #[test]
    fn lists_the_variables() {
        assert_eq!(variables("a:/{x,y}/b{?q*,r:3}"), ["x", "y", "q", "r"]);
    }
}

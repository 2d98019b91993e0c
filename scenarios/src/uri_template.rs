//! URI templates (RFC 6570): validity, and variables.

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

#[cfg(test)]
mod tests {
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

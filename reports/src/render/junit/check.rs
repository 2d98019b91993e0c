//! Checks a file against the common rules of Jenkins' `junit-10.xsd` and the Ant task's `JUnit.xsd`, except that a test case
//! may have an output, which only the former allows.

use std::collections::BTreeMap;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

#[derive(Debug, Default)]
pub(crate) struct Suite {
    pub(crate) failures: usize,
    pub(crate) errors: usize,
    pub(crate) skipped: usize,
    pub(crate) cases: Vec<Case>,
}

#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// Tag, type and message of its result.
    pub(crate) outcome: Option<(String, String, String)>,
    /// Its standard output.
    pub(crate) output: Option<String>,
}

/// Parses the suites of a file. Panics if it is not well-formed or violates a rule.
pub(crate) fn parsed(xml: &str) -> Vec<Suite> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().expand_empty_elements = true;
    reader.config_mut().check_end_names = true;
    let (mut suites, mut path, mut children) = (Vec::<Suite>::new(), Vec::<String>::new(), Vec::<String>::new());
    loop {
        match reader.read_event().expect("well-formed") {
            Event::Start(start) => {
                let tag = String::from_utf8(start.name().as_ref().to_vec()).expect("UTF-8");
                let attributes = attributes(&start);
                let parent = path.last().map_or("", String::as_str).to_owned();
                opened(&mut suites, &parent, &tag, &attributes);
                if parent == "testsuite" && children.last() != Some(&tag) {
                    children.push(tag.clone());
                }
                path.push(tag);
            }
            Event::End(_) => {
                let ended = path.pop();
                if ended.as_deref() == Some("testsuite") {
                    closed(suites.last().expect("one was opened"), &std::mem::take(&mut children));
                }
            }
            Event::Text(text) => {
                let text = text.xml_content(XmlVersion::Explicit1_0).expect("text");
                legal(&text);
                add_output(&mut suites, &path, &text);
            }
            Event::GeneralRef(entity) => {
                let entity = entity.decode().expect("UTF-8");
                let text = quick_xml::escape::unescape(&format!("&{entity};")).expect("a known entity").into_owned();
                legal(&text);
                add_output(&mut suites, &path, &text);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(path.is_empty(), "unclosed: {path:?}");
    suites
}

/// Adds text to the output of a test case, if it is part of one.
fn add_output(suites: &mut [Suite], path: &[String], text: &str) {
    if path.ends_with(&["testcase".to_owned(), "system-out".to_owned()]) {
        let case = suites.last_mut().and_then(|suite| suite.cases.last_mut()).expect("within a case");
        case.output.get_or_insert_default().push_str(text);
    }
}

fn attributes(start: &BytesStart) -> BTreeMap<String, String> {
    let attribute = |attribute: Result<quick_xml::events::attributes::Attribute, _>| {
        let attribute = attribute.expect("well-formed attribute");
        let value = attribute.normalized_value(XmlVersion::Explicit1_0).expect("value").into_owned();
        legal(&value);
        (String::from_utf8(attribute.key.as_ref().to_vec()).expect("UTF-8"), value)
    };
    start.attributes().map(attribute).collect()
}

/// XML 1.0, production 2 (Char).
fn legal(text: &str) {
    let illegal = |c: &char| (*c < ' ' && !"\t\n\r".contains(*c)) || matches!(c, '\u{fffe}' | '\u{ffff}');
    assert_eq!(text.chars().find(illegal), None);
}

fn keys(attributes: &BTreeMap<String, String>) -> Vec<&str> {
    attributes.keys().map(String::as_str).collect()
}

fn opened(suites: &mut Vec<Suite>, parent: &str, tag: &str, attributes: &BTreeMap<String, String>) {
    let seconds = |name: &str| {
        let digits = attributes[name].bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        assert!(digits && !attributes[name].is_empty(), "{name}={}", attributes[name]);
    };
    match (parent, tag) {
        ("", "testsuites") => assert!(attributes.is_empty(), "the Ant task's schema allows none: {attributes:?}"),
        ("testsuites", "testsuite") => {
            let wanted =
                ["errors", "failures", "hostname", "id", "name", "package", "skipped", "tests", "time", "timestamp"];
            assert_eq!(keys(attributes), wanted);
            assert_eq!(attributes["id"], suites.len().to_string());
            assert!(!attributes["name"].trim().is_empty() && !attributes["hostname"].is_empty());
            let shape: String =
                attributes["timestamp"].chars().map(|c| if c.is_ascii_digit() { 'd' } else { c }).collect();
            assert_eq!(shape, "dddd-dd-ddTdd:dd:dd");
            seconds("time");
            let count = |name: &str| attributes[name].parse().expect("a count");
            suites.push(Suite {
                failures: count("failures"),
                errors: count("errors"),
                skipped: count("skipped"),
                cases: Vec::with_capacity(count("tests")),
            });
        }
        ("testsuite", "properties" | "system-out" | "system-err") | ("testcase", "system-out") => {
            assert!(attributes.is_empty())
        }
        ("properties", "property") => assert_eq!(keys(attributes), ["name", "value"]),
        ("testsuite", "testcase") => {
            assert_eq!(keys(attributes), ["classname", "name", "time"]);
            seconds("time");
            let case = Case { name: attributes["name"].clone(), outcome: None, output: None };
            suites.last_mut().expect("within a suite").cases.push(case);
        }
        ("testcase", "failure" | "error" | "skipped") => {
            assert_eq!(keys(attributes), ["message", "type"]);
            let case = suites.last_mut().and_then(|suite| suite.cases.last_mut()).expect("within a case");
            let before =
                case.outcome.replace((tag.to_owned(), attributes["type"].clone(), attributes["message"].clone()));
            assert!(before.is_none(), "a case has one outcome");
        }
        other => panic!("no schema knows {other:?}"),
    }
}

fn closed(suite: &Suite, children: &[String]) {
    // `testcase` elements follow each other, so their repetition was left out.
    assert_eq!(children, ["properties", "testcase", "system-out", "system-err"]);
    let with = |tag: &str| {
        suite.cases.iter().filter(|case| case.outcome.as_ref().is_some_and(|(found, ..)| found == tag)).count()
    };
    assert_eq!((with("failure"), with("error"), with("skipped")), (suite.failures, suite.errors, suite.skipped));
}

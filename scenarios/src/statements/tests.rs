use super::*;

fn page(rows: &str, keywords: u32) -> Reader {
    let text = format!("page: basic\nkeywords: {keywords}\nstatements:\n{rows}");
    let page: Page = read("basic.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let mut reader = Reader::default();
    reader.page(Revision::NEWEST, "2026-07-28/basic.yaml", page);
    reader.references();
    reader
}

fn row(id: &str, coverage: &str) -> String {
    format!("  - {{ id: {id}, level: MUST, party: server, text: A server is here., {coverage} }}\n")
}

fn errors(rows: &[String], keywords: u32) -> Vec<String> {
    page(&rows.concat(), keywords).errors
}

#[test]
fn the_files_are_valid_and_describe_every_revision() {
    let statements = statements().unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(statements.keys().copied().collect::<Vec<_>>(), Revision::ALL);
    for (revision, statements) in statements {
        assert!(statements.len() > 150, "{revision} has {} statements", statements.len());
    }
}

#[test]
fn a_statement_needs_exactly_one_form_of_coverage() {
    assert_eq!(errors(&[row("basic/a", "checks: [result-type-is-known]")], 1), [""; 0]);
    for coverage in ["anchor: top", "checks: []", "gap: a, unobservable: b", "gap: ''"] {
        let errors = errors(&[row("basic/a", coverage)], 0);
        assert!(errors.iter().any(|error| error.contains("exactly one")), "{coverage}: {errors:?}");
    }
}

#[test]
fn unknown_checks_and_scenarios_and_equal_ids_are_errors() {
    for (rows, expected) in [
        (vec![row("basic/a", "checks: [no-such-check]")], "unknown check `no-such-check`"),
        (vec![row("basic/a", "scenarios: [no/such]")], "unknown scenario `no/such`"),
        (vec![row("basic/a", "gap: it"), row("basic/a", "gap: it")], "two statements have the id `basic/a`"),
        (vec![row("server/a", "gap: it")], "not an id of the page `basic`"),
    ] {
        let keywords = rows.len().try_into().expect("small");
        let errors = errors(&rows, keywords);
        assert!(errors.iter().any(|error| error.contains(expected)), "{expected}: {errors:?}");
    }
}

#[test]
fn every_keyword_of_a_page_needs_a_statement() {
    let errors = errors(&[row("basic/a", "gap: it"), row("basic/b", "gap: it, keywords: 2")], 4);
    assert_eq!(errors, ["2026-07-28/basic.yaml: its statements account for 3 of 4 keywords"]);
}

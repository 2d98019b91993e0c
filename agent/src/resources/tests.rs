//! URI templates.

use super::*;

fn template(text: &str) -> Template {
    Template::read(text).unwrap()
}

fn by_position(values: &[&str]) -> TemplateArguments {
    TemplateArguments::ByPosition(values.iter().map(|&value| value.to_owned()).collect())
}

fn by_name(values: &[(&str, &str)]) -> TemplateArguments {
    TemplateArguments::ByName(values.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
}

#[test]
fn values_are_given_by_name_or_by_position() {
    let repository = template("git://{owner}/{repo}/{+path}{?ref,owner}");
    assert_eq!(repository.variables(), ["owner", "repo", "path", "ref"]);
    for given in [
        by_position(&["me", "a b", "src/lib.rs"]),
        by_name(&[("path", "src/lib.rs"), ("repo", "a b"), ("owner", "me")]),
    ] {
        assert_eq!(repository.fill(&given).unwrap(), "git://me/a%20b/src/lib.rs?owner=me");
    }
    assert_eq!(template("note://{id}").fill(&by_position(&["../x"])).unwrap(), "note://..%2Fx");
    assert_eq!(template("note://all").fill(&by_position(&[])).unwrap(), "note://all");
}

#[test]
fn surplus_values_are_rejected_with_the_variables() {
    let note = template("note://{id}{?page}");
    for (given, expected) in [
        (by_position(&["1", "2", "3"]), "the value `3`; it takes id, page"),
        (by_name(&[("ID", "1")]), "`ID`; it takes id, page"),
        (by_position(&[]), "requires values for id, page"),
        (by_name(&[]), "requires values for id, page"),
    ] {
        let error = note.fill(&given).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = template("note://all").fill(&by_position(&["x"])).unwrap_err().to_string();
    assert!(error.contains("it takes no values"), "{error}");
    assert!(Template::read("note://{id").is_err());
}

//! Templates of URIs.

use super::*;

fn template(text: &str) -> Template {
    Template::read(text).unwrap()
}

fn by_place(values: &[&str]) -> TemplateArguments {
    TemplateArguments::ByPosition(values.iter().map(|&value| value.to_owned()).collect())
}

fn by_name(values: &[(&str, &str)]) -> TemplateArguments {
    TemplateArguments::ByName(values.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
}

#[test]
fn values_are_given_by_name_or_by_place() {
    let repository = template("git://{owner}/{repo}/{+path}{?ref,owner}");
    assert_eq!(repository.variables(), ["owner", "repo", "path", "ref"]);
    for given in
        [by_place(&["me", "a b", "src/lib.rs"]), by_name(&[("path", "src/lib.rs"), ("repo", "a b"), ("owner", "me")])]
    {
        assert_eq!(repository.fill(&given).unwrap(), "git://me/a%20b/src/lib.rs?owner=me");
    }
    assert_eq!(template("note://{id}").fill(&by_place(&["../x"])).unwrap(), "note://..%2Fx");
    assert_eq!(template("note://all").fill(&by_place(&[])).unwrap(), "note://all");
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let note = template("note://{id}{?page}");
    for (given, told) in [
        (by_place(&["1", "2", "3"]), "the value `3`; it takes id, page"),
        (by_name(&[("ID", "1")]), "`ID`; it takes id, page"),
        (by_place(&[]), "wants values for id, page"),
        (by_name(&[]), "wants values for id, page"),
    ] {
        let refused = note.fill(&given).unwrap_err().to_string();
        assert!(refused.contains(told), "{refused}");
    }
    let refused = template("note://all").fill(&by_place(&["x"])).unwrap_err().to_string();
    assert!(refused.contains("it takes no values"), "{refused}");
    assert!(Template::read("note://{id").is_err());
}

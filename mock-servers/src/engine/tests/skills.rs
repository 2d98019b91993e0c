//! The skills extension of 2026-07-28.

use sha2::{Digest, Sha256};

use super::*;

fn script() -> Value {
    json!({"skills": [
        {"path": "acme/billing/refunds", "description": "Refunds: \"how\"", "frontmatter": {"license": "MIT"},
            "instructions": "Do it.\n", "files": {
                "examples/email.md": {"text": "Dear …"}, "examples/deep/x.bin": {"blob": "AAEC"}, "a.txt": {"text": "a"},
            }},
        {"path": "acme/billing/refunds/nested", "description": "Nested"},
        {"path": "daily", "description": "Generated", "dynamic": true, "unlisted": true},
    ]})
}

fn uris(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect()
}

#[test]
fn an_entry_tells_every_file_with_the_digest_of_what_is_read() {
    let mut bench = Bench::modern(script());
    let capabilities = bench.result("server/discover", json!({}))["capabilities"].take();
    let extension = json!({"io.modelcontextprotocol/skills": {"directoryRead": true}});
    assert_eq!((&capabilities["extensions"], &capabilities["resources"]), (&extension, &json!({})));
    let listed = bench.result("skills/list", json!({}));
    assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(0), &json!("public")));
    let root = "skill://acme/billing/refunds";
    assert_eq!(uris(&listed["skills"]), [format!("{root}/SKILL.md"), format!("{root}/nested/SKILL.md")]);
    let refunds = listed["skills"][0].clone();
    assert_eq!(refunds["frontmatter"], json!({"name": "refunds", "description": "Refunds: \"how\"", "license": "MIT"}));
    assert_eq!(uris(&refunds["resources"]).len(), 5, "the nested skill's file is supporting content");
    for resource in refunds["resources"].as_array().unwrap() {
        let read = bench.result("resources/read", json!({"uri": resource["uri"]}))["contents"][0].take();
        let bytes = match read["text"].as_str() {
            Some(text) => text.as_bytes().to_vec(),
            None => vec![0, 1, 2],
        };
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(resource["digest"], format!("sha256:{digest}"), "{resource}");
        assert_eq!((&resource["size"], &read["uri"]), (&json!(bytes.len()), &resource["uri"]));
    }
    let document = bench.result("resources/read", json!({"uri": format!("{root}/SKILL.md")}))["contents"][0].take();
    assert_eq!(document["mimeType"], "text/markdown");
    let text = document["text"].as_str().unwrap();
    let (front, body) = text.strip_prefix("---\n").unwrap().split_once("---\n").unwrap();
    let front: Value = serde_saphyr::from_str(front).unwrap();
    assert_eq!((front, body), (refunds["frontmatter"].clone(), "\nDo it.\n"), "what is approved is what is received");
}

#[test]
fn a_skill_that_is_not_listed_is_known_all_the_same() {
    let mut bench = Bench::modern(script());
    let listed = bench.result("resources/list", json!({}))["resources"].take();
    let root = "skill://acme/billing/refunds";
    assert_eq!(uris(&listed), [format!("{root}/SKILL.md"), format!("{root}/nested/SKILL.md")]);
    assert_eq!((&listed[0]["name"], &listed[1]["description"]), (&json!("refunds"), &json!("Nested")));
    let daily = bench.result("skills/get", json!({"uri": "skill://daily/SKILL.md"}));
    assert_eq!((&daily["skill"]["resources"], &daily["cacheScope"]), (&json!("dynamic"), &json!("public")));
    for uri in [json!("skill://daily"), json!("skill://acme/billing/refunds/a.txt"), json!(7), json!(null)] {
        assert_eq!(bench.error("skills/get", json!({"uri": uri})), -32602, "{uri}");
    }
}

#[test]
fn a_directory_is_read_one_level_at_a_time() {
    let mut bench = Bench::modern(script());
    let read = |bench: &mut Bench, uri: &str| {
        bench.result("resources/directory/read", json!({"uri": uri}))["resources"].take()
    };
    let root = "skill://acme/billing/refunds";
    let top = read(&mut bench, root);
    let names: Vec<_> = top
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["mimeType"].as_str().unwrap()))
        .collect();
    let expected = [
        ("refunds", "text/markdown"),
        ("a.txt", "text/plain"),
        ("examples", "inode/directory"),
        ("nested", "inode/directory"),
    ];
    assert_eq!(names, expected);
    assert_eq!(
        uris(&read(&mut bench, &format!("{root}/examples"))),
        [format!("{root}/examples/deep"), format!("{root}/examples/email.md")]
    );
    for uri in [format!("{root}/SKILL.md"), format!("{root}/"), "skill://none".into()] {
        assert_eq!(bench.error("resources/directory/read", json!({"uri": uri})), -32602, "{uri}");
    }
}

#[test]
fn lists_of_skills_have_pages() {
    let mut script = script();
    script["page_size"] = 1.into();
    let mut bench = Bench::modern(script);
    let first = bench.result("skills/list", json!({}));
    let second = bench.result("skills/list", json!({"cursor": first["nextCursor"]}));
    assert_eq!((uris(&first["skills"]).len(), uris(&second["skills"]).len(), second.get("nextCursor")), (1, 1, None));
    assert_eq!(bench.error("skills/list", json!({"cursor": "foreign"})), -32602);
}

#[test]
fn the_methods_are_of_the_modern_era_and_of_servers_with_skills() {
    let mut legacy = Bench::legacy(script());
    let mut plain = Bench::modern(json!({}));
    for method in ["skills/list", "skills/get", "resources/directory/read"] {
        assert_eq!(legacy.error(method, json!({"uri": "skill://daily/SKILL.md"})), -32601, "{method}");
        assert_eq!(plain.error(method, json!({"uri": "skill://daily/SKILL.md"})), -32601, "{method}");
    }
    let read = legacy.result("resources/read", json!({"uri": "skill://daily/SKILL.md"}));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("name: \"daily\""), "a skill's file is a resource");
}

use proptest::prelude::*;
use serde_json::json;

use client::{NameLimit, Tool, qualified_name};

use super::*;

mod gate;

fn tool(name: &str, annotations: serde_json::Value) -> Tool {
    Tool::read(json!({"name": name, "inputSchema": {"type": "object"}, "annotations": annotations})).unwrap().0
}

fn plain(name: &str) -> Tool {
    tool(name, json!({}))
}

fn texts(deny: &[&str], ask: &[&str], allow: &[&str]) -> RuleTexts {
    let own = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    RuleTexts { deny: own(deny), ask: own(ask), allow: own(allow) }
}

fn global(deny: &[&str], ask: &[&str], allow: &[&str]) -> Permissions {
    Permissions::new(Rules::global(&texts(deny, ask, allow)).unwrap())
}

fn decision(permissions: &Permissions, server: &str, name: &str) -> PermissionDecision {
    permissions.explain(&PermissionTarget::Tool { server, tool: &plain(name) }).decision
}

fn allows(rule: &str, server: &str, name: &str) -> bool {
    decision(&global(&[], &[], &[rule]), server, name) == PermissionDecision::Allow
}

fn denies(rule: &str, server: &str, name: &str) -> bool {
    decision(&global(&[rule], &[], &[]), server, name) == PermissionDecision::Deny
}

#[test]
fn each_of_the_seven_steps_comes_before_the_next() {
    // Every step has the same rule; rules are removed from the front.
    for left in 0..=6 {
        let has = |step: usize| if step >= left { &["s/t"][..] } else { &[] };
        let permissions = global(has(0), has(4), has(5))
            .with_server("s", Rules::for_server(&texts(has(1), has(2), has(3)), "s").unwrap());
        let explained = permissions.explain(&PermissionTarget::Tool { server: "s", tool: &plain("t") });
        let expected = match left {
            6 => Decider::Default,
            step => Decider::Rule { step: Step::RULES[step], text: "s/t".into() },
        };
        assert_eq!(explained.decider, expected);
        let verdicts = [
            PermissionDecision::Deny,
            PermissionDecision::Deny,
            PermissionDecision::Ask,
            PermissionDecision::Allow,
            PermissionDecision::Ask,
            PermissionDecision::Allow,
            PermissionDecision::Ask,
        ];
        assert_eq!(explained.decision, verdicts[left], "{left}");
    }
}

#[test]
fn rules_are_written_in_several_ways() {
    for rule in [
        "github/create_issue",
        "github/create_*",
        "git*/*",
        "*/*",
        "mcp__github__create_issue",
        "mcp__github__*",
        "mcp__github",
        "mcp__*",
        "mcp__git*__create_*",
        "*/create_issue",
        "github/create?issue",
    ] {
        assert!(allows(rule, "github", "create_issue"), "{rule}");
        assert!(denies(rule, "github", "create_issue"), "{rule}");
    }
    for rule in ["github/create", "github/Create_issue", "hub/*", "mcp__git", "mcp__github__create", "Elicit(github)"] {
        assert!(!allows(rule, "github", "create_issue"), "{rule}");
        assert!(!denies(rule, "github", "create_issue"), "{rule}");
    }
}

#[test]
fn ambiguous_allow_rules_are_narrow_and_deny_rules_are_wide() {
    // Both pairs read the same when they are joined; the qualified name of neither is this text.
    let rule = "mcp__a__b__c";
    assert!(allows(rule, "a", "b__c") && denies(rule, "a", "b__c"));
    assert!(!allows(rule, "a__b", "c") && denies(rule, "a__b", "c"));
    // Qualified names contain no dots, so the server is another one.
    assert!(!allows("mcp__my_server__*", "my.server", "x") && denies("mcp__my_server__*", "my.server", "x"));
    assert!(!allows("mcp__my_server", "my.server", "x") && denies("mcp__my_server", "my.server", "x"));
    // A server whose name begins like that of an allowed one.
    assert!(!allows("mcp__a__*", "a__b", "c") && denies("mcp__a__*", "a__b", "c"));
}

#[test]
fn a_qualified_name_matches_only_its_tool() {
    for (server, name) in [("a", "b__c"), ("s", "get.x"), ("服务器", "搜索"), ("s", ""), ("s", &"t".repeat(80))] {
        for limit in [NameLimit::Chars64, NameLimit::Chars128] {
            let saved = qualified_name(server, name, limit);
            assert!(allows(&saved, server, name) && denies(&saved, server, name), "{saved}");
            // A tool with the rest of that name is another tool.
            let forged = saved.strip_prefix(&format!("mcp__{server}__")).unwrap_or("x");
            assert!(forged == name || !allows(&saved, server, forged), "{saved}");
        }
    }
    assert!(!allows(&qualified_name("s", "get.x", NameLimit::Chars64), "s", "get x"));
}

#[test]
fn elicitations_have_rules_of_their_own() {
    let permissions = global(&["Elicit(evil*)"], &[], &["Elicit(forms)", "*/*"]);
    let decide = |server| permissions.explain(&PermissionTarget::Elicitation { server }).decision;
    assert_eq!(
        [decide("evil"), decide("forms"), decide("other")],
        [PermissionDecision::Deny, PermissionDecision::Allow, PermissionDecision::Ask]
    );
    assert_eq!(decision(&permissions, "evil", "t"), PermissionDecision::Allow);
}

#[test]
fn rules_of_a_server_name_tools_and_reach_no_other_server() {
    let rules = Rules::for_server(&texts(&["delete_*"], &["mcp__s__ask"], &["s/get", "Elicit(s)"]), "s").unwrap();
    let permissions = Permissions::default().with_server("s", rules);
    let decide = |server, name| decision(&permissions, server, name);
    assert_eq!(
        [decide("s", "delete_x"), decide("s", "ask"), decide("s", "get")],
        [PermissionDecision::Deny, PermissionDecision::Ask, PermissionDecision::Allow]
    );
    assert_eq!([decide("t", "delete_x"), decide("t", "get")], [PermissionDecision::Ask, PermissionDecision::Ask]);
    for other in ["t/get", "mcp__t__get", "Elicit(t)"] {
        let error = Rules::for_server(&texts(&[], &[], &[other]), "s").unwrap_err();
        assert!(matches!(error.0[0].problem, RuleErrorKind::OtherServer { .. }), "{error}");
    }
}

#[test]
fn all_invalid_rules_are_reported_with_remedies() {
    let broken = [
        "", " s/t", "delete", "s/", "/t", "mcp__", "mcp__s__", "mcp____t", "Bash(rm)", "s/t(x)", "Elicit()", "Elicit",
        "s/[ab]", "s/{a,b}", "!s/t", "s/t\\", "s/\u{7}",
    ];
    let errors = Rules::global(&texts(&broken, &[], &["s/t"])).unwrap_err();
    let indices: Vec<usize> = errors.0.iter().map(|error| error.index).collect();
    assert_eq!(indices, (0..broken.len()).collect::<Vec<_>>(), "{errors}");
    insta::assert_snapshot!(errors);
    assert_eq!(decision(&Permissions::deny_all(), "s", "t"), PermissionDecision::Deny);
}

#[test]
fn hints_decide_only_where_no_rule_does() {
    let reads = json!({"readOnlyHint": true, "openWorldHint": false});
    let cases = [
        (json!({}), PermissionDecision::Ask),
        (reads.clone(), PermissionDecision::Allow),
        (json!({"readOnlyHint": true}), PermissionDecision::Ask),
        (json!({"readOnlyHint": "true", "openWorldHint": false}), PermissionDecision::Ask),
        (json!({"readOnlyHint": true, "openWorldHint": false, "destructiveHint": true}), PermissionDecision::Ask),
        (json!({"destructiveHint": true, "openWorldHint": false}), PermissionDecision::Ask),
        (json!({"destructiveHint": false, "openWorldHint": false}), PermissionDecision::Ask),
    ];
    for (hints, expected) in cases {
        let tool = tool("t", hints.clone());
        let target = PermissionTarget::Tool { server: "s", tool: &tool };
        assert_eq!(Permissions::default().explain(&target).decision, expected, "{hints}");
        for (list, verdict) in [(["s/t"], PermissionDecision::Allow), (["s/t"], PermissionDecision::Deny)] {
            let permissions =
                if verdict == PermissionDecision::Allow { global(&[], &[], &list) } else { global(&list, &[], &[]) };
            assert_eq!(permissions.explain(&target).decision, verdict, "{hints}");
        }
    }
    let tool = tool("t", reads);
    let ignoring = Permissions::default().with_hints(HintUse::Ignored);
    assert_eq!(
        ignoring.explain(&PermissionTarget::Tool { server: "s", tool: &tool }).decision,
        PermissionDecision::Ask
    );
}

#[test]
fn an_explanation_names_every_step_and_the_rule_that_decides() {
    let rules = Rules::for_server(&texts(&["drop"], &["create_*"], &["*"]), "github").unwrap();
    let permissions = global(&["evil/*"], &["*/create_issue"], &[]).with_server("github", rules);
    let tool = plain("create_issue");
    let explained = permissions.explain(&PermissionTarget::Tool { server: "github", tool: &tool });
    insta::assert_snapshot!(explained, @"
    tool `create_issue` of `github` (mcp__github__create_issue): ask
      global deny  the one rule does not match
      server deny  the one rule does not match
      server ask   `create_*` decides
      server allow `*` would match
      global ask   `*/create_issue` would match
      global allow no rules
      default      not reached: a rule decides, regardless of the tool's annotations
    ");
    let json = serde_json::to_value(&explained).unwrap();
    assert_eq!(json["decider"], json!({"rule": {"step": "server-ask", "text": "create_*"}}));
    assert_eq!(serde_json::from_value::<Explanation>(json).unwrap(), explained);
}

fn a_rule() -> impl Strategy<Value = String> {
    prop_oneof![
        "[abx*]{1,2}/[abx*]{1,3}",
        "mcp__[ab]{1,2}(__[ab_*]{1,4}[ab*])?",
        Just("*/*".to_owned()),
        Just("Elicit(a)".to_owned()),
    ]
}

fn lists() -> impl Strategy<Value = [Vec<String>; 3]> {
    let list = || prop::collection::vec(a_rule(), 0..4);
    [list(), list(), list()]
}

fn rules(lists: &[Vec<String>; 3]) -> Rules {
    let [deny, ask, allow] = lists.clone();
    Rules::global(&RuleTexts { deny, ask, allow }).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deny_rules_always_win(
        mut above in lists(), own in lists(), server in "[ab_]{1,3}", name in "[ab_]{1,3}", extra in a_rule(), reads in any::<bool>(),
    ) {
        let hints = if reads { json!({"readOnlyHint": true, "openWorldHint": false}) } else { json!({}) };
        let tool = tool(&name, hints);
        let target = PermissionTarget::Tool { server: &server, tool: &tool };
        // Rules of a server are global rules here, because the test is about the order, not the syntax.
        let decide = |above: &_| {
            Permissions::new(rules(above)).with_server(server.as_str(), rules(&own)).explain(&target).decision
        };
        let before = decide(&above);
        above[2].push(extra.clone());
        let with_allow = decide(&above);
        prop_assert!(before != PermissionDecision::Deny || with_allow == PermissionDecision::Deny, "an allow rule removed a denial");
        prop_assert!(with_allow <= before, "an allow rule made it stricter");
        above[1].push(extra.clone());
        prop_assert!(before != PermissionDecision::Deny || decide(&above) == PermissionDecision::Deny, "an ask rule removed a denial");
        let before = decide(&above);
        above[0].push(extra);
        prop_assert!(decide(&above) >= before, "a deny rule made it laxer");
        above[0].push("*/*".into());
        prop_assert_eq!(decide(&above), PermissionDecision::Deny);
    }

    #[test]
    fn a_deny_rule_covers_what_the_same_allow_rule_covers(rule in a_rule(), server in "[ab_]{1,4}", name in "[ab_]{1,4}") {
        prop_assert!(!allows(&rule, &server, &name) || denies(&rule, &server, &name));
    }

    #[test]
    fn a_rule_of_one_plain_pair_allows_no_other(server in "[a-c_]{1,5}", name in "[a-c_]{1,5}", rule in "mcp__[a-c]{1,2}__[a-c_]{1,4}") {
        let (wanted, tool) = rule["mcp__".len()..].split_once("__").unwrap();
        prop_assume!(Rule::global(&rule).is_ok());
        prop_assert_eq!(allows(&rule, &server, &name), server == wanted && name == tool);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,20}") {
        let _ = Rule::global(&text);
        let _ = Rule::for_server(&text, "s");
    }
}

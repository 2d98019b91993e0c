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

fn verdict(permissions: &Permissions, server: &str, name: &str) -> PermissionDecision {
    permissions.explain(&PermissionTarget::Tool { server, tool: &plain(name) }).verdict
}

fn allows(rule: &str, server: &str, name: &str) -> bool {
    verdict(&global(&[], &[], &[rule]), server, name) == PermissionDecision::Allow
}

fn denies(rule: &str, server: &str, name: &str) -> bool {
    verdict(&global(&[rule], &[], &[]), server, name) == PermissionDecision::Deny
}

#[test]
fn each_of_the_seven_steps_comes_before_the_next() {
    // Every step has the same rule; they are taken away from the front.
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
        assert_eq!(explained.verdict, verdicts[left], "{left}");
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
fn a_rule_that_allows_is_taken_for_what_it_surely_means_and_one_that_denies_for_all_it_could_mean() {
    // Both pairs read the same when they are joined; the qualified name of neither is this text.
    let rule = "mcp__a__b__c";
    assert!(allows(rule, "a", "b__c") && denies(rule, "a", "b__c"));
    assert!(!allows(rule, "a__b", "c") && denies(rule, "a__b", "c"));
    // The names of models hold no dot; the server is another one.
    assert!(!allows("mcp__my_server__*", "my.server", "x") && denies("mcp__my_server__*", "my.server", "x"));
    assert!(!allows("mcp__my_server", "my.server", "x") && denies("mcp__my_server", "my.server", "x"));
    // A server whose name begins like that of an allowed one.
    assert!(!allows("mcp__a__*", "a__b", "c") && denies("mcp__a__*", "a__b", "c"));
}

#[test]
fn a_saved_qualified_name_is_the_one_tool_that_it_was_saved_for() {
    for (server, name) in [("a", "b__c"), ("s", "get.x"), ("服务器", "搜索"), ("s", ""), ("s", &"t".repeat(80))] {
        for limit in [NameLimit::Chars64, NameLimit::Chars128] {
            let saved = qualified_name(server, name, limit);
            assert!(allows(&saved, server, name) && denies(&saved, server, name), "{saved}");
            // A tool that calls itself by the rest of that name is not the one.
            let forged = saved.strip_prefix(&format!("mcp__{server}__")).unwrap_or("x");
            assert!(forged == name || !allows(&saved, server, forged), "{saved}");
        }
    }
    assert!(!allows(&qualified_name("s", "get.x", NameLimit::Chars64), "s", "get x"));
}

#[test]
fn elicitations_have_rules_of_their_own() {
    let permissions = global(&["Elicit(evil*)"], &[], &["Elicit(forms)", "*/*"]);
    let of = |server| permissions.explain(&PermissionTarget::Elicitation { server }).verdict;
    assert_eq!(
        [of("evil"), of("forms"), of("other")],
        [PermissionDecision::Deny, PermissionDecision::Allow, PermissionDecision::Ask]
    );
    assert_eq!(verdict(&permissions, "evil", "t"), PermissionDecision::Allow);
}

#[test]
fn rules_of_a_server_name_tools_and_reach_no_other_server() {
    let rules = Rules::for_server(&texts(&["delete_*"], &["mcp__s__ask"], &["s/get", "Elicit(s)"]), "s").unwrap();
    let permissions = Permissions::default().with_server("s", rules);
    let of = |server, name| verdict(&permissions, server, name);
    assert_eq!(
        [of("s", "delete_x"), of("s", "ask"), of("s", "get")],
        [PermissionDecision::Deny, PermissionDecision::Ask, PermissionDecision::Allow]
    );
    assert_eq!([of("t", "delete_x"), of("t", "get")], [PermissionDecision::Ask, PermissionDecision::Ask]);
    for other in ["t/get", "mcp__t__get", "Elicit(t)"] {
        let error = Rules::for_server(&texts(&[], &[], &[other]), "s").unwrap_err();
        assert!(matches!(error.0[0].problem, RuleProblem::OtherServer { .. }), "{error}");
    }
}

#[test]
fn a_rule_that_cannot_be_read_is_an_error_with_advice_and_all_are_told() {
    let broken = [
        "", " s/t", "delete", "s/", "/t", "mcp__", "mcp__s__", "mcp____t", "Bash(rm)", "s/t(x)", "Elicit()", "Elicit",
        "s/[ab]", "s/{a,b}", "!s/t", "s/t\\", "s/\u{7}",
    ];
    let errors = Rules::global(&texts(&broken, &[], &["s/t"])).unwrap_err();
    let indices: Vec<usize> = errors.0.iter().map(|error| error.index).collect();
    assert_eq!(indices, (0..broken.len()).collect::<Vec<_>>(), "{errors}");
    insta::assert_snapshot!(errors);
    assert_eq!(verdict(&Permissions::refuse_everything(), "s", "t"), PermissionDecision::Deny);
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
        assert_eq!(Permissions::default().explain(&target).verdict, expected, "{hints}");
        for (list, verdict) in [(["s/t"], PermissionDecision::Allow), (["s/t"], PermissionDecision::Deny)] {
            let permissions =
                if verdict == PermissionDecision::Allow { global(&[], &[], &list) } else { global(&list, &[], &[]) };
            assert_eq!(permissions.explain(&target).verdict, verdict, "{hints}");
        }
    }
    let tool = tool("t", reads);
    let ignoring = Permissions::default().with_hints(HintUse::Ignored);
    assert_eq!(ignoring.explain(&PermissionTarget::Tool { server: "s", tool: &tool }).verdict, PermissionDecision::Ask);
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
      default      not reached: a rule decides, whatever the tool says about itself
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
    fn nothing_beats_a_rule_that_denies(
        mut above in lists(), own in lists(), server in "[ab_]{1,3}", name in "[ab_]{1,3}", extra in a_rule(), reads in any::<bool>(),
    ) {
        let hints = if reads { json!({"readOnlyHint": true, "openWorldHint": false}) } else { json!({}) };
        let tool = tool(&name, hints);
        let target = PermissionTarget::Tool { server: &server, tool: &tool };
        // Rules of a server are read as global ones here: what is held is the order, not the syntax.
        let decide = |above: &_| {
            Permissions::new(rules(above)).with_server(server.as_str(), rules(&own)).explain(&target).verdict
        };
        let before = decide(&above);
        above[2].push(extra.clone());
        let with_allow = decide(&above);
        prop_assert!(before != PermissionDecision::Deny || with_allow == PermissionDecision::Deny, "an allow rule undid a denial");
        prop_assert!(with_allow <= before, "an allow rule made it stricter");
        above[1].push(extra.clone());
        prop_assert!(before != PermissionDecision::Deny || decide(&above) == PermissionDecision::Deny, "an ask rule undid a denial");
        let before = decide(&above);
        above[0].push(extra);
        prop_assert!(decide(&above) >= before, "a deny rule made it laxer");
        above[0].push("*/*".into());
        prop_assert_eq!(decide(&above), PermissionDecision::Deny);
    }

    #[test]
    fn what_a_rule_would_allow_the_same_rule_denies(rule in a_rule(), server in "[ab_]{1,4}", name in "[ab_]{1,4}") {
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

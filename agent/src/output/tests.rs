use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;
use tiktoken_rs::o200k_base_singleton;

use super::*;

fn real(text: &str) -> usize {
    o200k_base_singleton().encode_ordinary(text).len()
}

fn text(text: impl Into<String>) -> ContentPart {
    ContentPart::Text { text: text.into() }
}

fn result(parts: Vec<ContentPart>) -> ModelContent {
    ModelContent { parts, is_error: false }
}

fn shown(part: &ContentPart) -> String {
    match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::Json { value } => value.to_string(),
        ContentPart::Image { .. } | ContentPart::Audio { .. } => String::new(),
    }
}

fn total(content: &ModelContent) -> usize {
    content.parts.iter().map(|part| media_tokens(part) + real(&shown(part))).sum()
}

fn prose(words: usize) -> String {
    (0..words)
        .map(|n| format!("word {n} and its neighbour, it's here.{}", if n % 9 == 0 { "\n" } else { " " }))
        .collect()
}

#[test]
fn results_within_the_limits_are_unchanged_and_large_ones_are_reported() {
    let limits = OutputLimits { warn: 50, truncate: 500 };
    let short = result(vec![text("a short text")]);
    assert_eq!(limit(short.clone(), limits, None), (short, Outcome::Whole));
    let long = result(vec![text(prose(20))]);
    let tokens = real(&prose(20));
    assert!((51..500).contains(&tokens));
    assert_eq!(limit(long.clone(), limits, None), (long, Outcome::Large { tokens }));
    assert_eq!(OutputLimits::default(), OutputLimits { warn: 10_000, truncate: 25_000 });
}

#[test]
fn a_long_text_ends_at_a_line_and_names_the_file_with_the_complete_text() {
    let directory = TempDir::new().unwrap();
    let store = OutputStore::new(directory.path().join("outputs"), 1 << 20);
    let whole = prose(2_000);
    let (content, outcome) = limit(result(vec![text(&whole)]), OutputLimits::with_truncate(1_000), Some(&store));
    let Outcome::Truncated(cut) = outcome else { panic!("{outcome:?}") };
    let [ContentPart::Text { text: beginning }, ContentPart::Text { text: notice }] = content.parts.as_slice() else {
        panic!("{content:?}")
    };
    assert!(whole.starts_with(beginning.as_str()) && beginning.ends_with('\n'), "{beginning:?}");
    assert!((900..=1_000).contains(&total(&content)), "{}", total(&content));
    assert_eq!((cut.bytes, cut.shown), (whole.len(), beginning.len()));
    let path = cut.stored.unwrap();
    assert!(notice.contains(path.to_str().unwrap()) && notice.contains("are shown"), "{notice}");
    assert_eq!(fs::read_to_string(path).unwrap(), whole);
}

#[test]
fn chunks_have_the_exact_count_of_the_whole() {
    for text in [
        prose(3_000),
        (0..4_000).map(|n| format!("{{\"id\":{n},\"name\":\"item/{n}\"}},")).collect(),
        "  indented\n\t\tlines\n\n\n/path/\n".repeat(2_000),
        "don't 123456 can't — “quoted” été 你好 ".repeat(1_000),
        format!("{}x", "\n".repeat(20_000)),
    ] {
        let counted = tokens::up_to(&text, usize::MAX);
        if counted.exact {
            assert_eq!(counted.tokens, real(&text), "{}", &text[..20]);
        }
        assert_eq!(counted.exact, !text.starts_with('\n'), "{}", &text[..20]);
    }
}

#[test]
fn texts_that_are_slow_to_tokenize_are_truncated_quickly() {
    let texts = [
        "=".repeat(4_000_000),
        " ".repeat(4_000_000),
        "字".repeat(1_000_000),
        "a".repeat(4_000_000),
        "\n".repeat(4_000_000),
    ];
    for whole in texts {
        let begun = std::time::Instant::now();
        let (content, outcome) = limit(result(vec![text(whole)]), OutputLimits { warn: 500, truncate: 1_000 }, None);
        assert!(matches!(outcome, Outcome::Truncated(_)), "{outcome:?}");
        assert!(total(&content) <= 1_000);
        // In a debug build the complete text takes minutes.
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}

#[test]
fn a_grapheme_is_never_split() {
    // A family is one character to a reader, and eleven tokens or more.
    let family = "👩\u{200d}👩\u{200d}👧\u{200d}👦";
    for limit in 40..60 {
        let whole = family.repeat(200);
        let kept = tokens::prefix(&whole, limit);
        assert!(kept.len().is_multiple_of(family.len()), "{limit}: {kept}");
        assert!(real(kept) <= limit);
    }
}

fn cut_json(value: serde_json::Value, cut: usize) -> (serde_json::Value, ModelContent) {
    let (content, outcome) = limit(result(vec![ContentPart::Json { value }]), OutputLimits::with_truncate(cut), None);
    assert!(matches!(outcome, Outcome::Truncated(_)), "{outcome:?}");
    assert!(total(&content) <= cut, "{}", total(&content));
    let ContentPart::Json { value } = &content.parts[0] else { panic!("{content:?}") };
    (value.clone(), content)
}

#[test]
fn json_stays_json_and_notes_what_is_omitted() {
    let items: Vec<_> = (0..5_000).map(|n| json!({"id": n, "name": format!("item {n}")})).collect();
    let (value, content) = cut_json(json!({"items": items, "total": 5_000, "note": "n".repeat(9_000)}), 2_000);
    let kept = value["items"].as_array().unwrap();
    assert!(kept.len() > 30, "{}", kept.len());
    assert_eq!(kept[0], json!({"id": 0, "name": "item 0"}));
    assert_eq!(kept.last().unwrap(), &json!(format!("… {} more items omitted", 5_000 - (kept.len() - 1))));
    assert_eq!(value["total"], 5_000, "what follows the long one is not lost");
    assert!(value["note"].as_str().unwrap().ends_with("more characters omitted]"), "{value}");
    assert!(total(&content) > 1_000, "{}", total(&content));
    let wide: serde_json::Map<_, _> = (0..5_000).map(|n| (format!("key{n}"), json!(n))).collect();
    let (value, _) = cut_json(wide.into(), 1_000);
    assert!(value["…"].as_str().unwrap().ends_with("more members omitted"), "{value}");
}

#[test]
fn text_that_is_json_stays_json() {
    let items: Vec<_> = (0..5_000).map(|n| json!({"id": n})).collect();
    let whole = format!("{:#}", json!(items));
    let (content, _) = limit(result(vec![text(whole)]), OutputLimits::with_truncate(1_000), None);
    let value: serde_json::Value = serde_json::from_str(&shown(&content.parts[0])).unwrap();
    assert_eq!(value[0], json!({"id": 0}));
    assert!(total(&content) <= 1_000);
    let (content, _) =
        limit(result(vec![text(format!("[{}", prose(2_000)))]), OutputLimits::with_truncate(1_000), None);
    assert!(shown(&content.parts[0]).starts_with("[word 0"), "what only looks like JSON is text");
}

#[test]
fn the_text_of_an_error_comes_first_and_images_have_a_fixed_cost() {
    let image = || ContentPart::Image { mime: "image/png".into(), data: "A".repeat(400_000) };
    let small = result(vec![text("here"), image(), image()]);
    let (content, outcome) = limit(small.clone(), OutputLimits::default(), None);
    assert_eq!((content, outcome), (small, Outcome::Whole), "base64 is not text");
    let error = ModelContent { is_error: true, parts: vec![text("it failed"), image(), image(), text("more")] };
    let (content, outcome) = limit(error, OutputLimits::with_truncate(2_000), None);
    assert!(content.is_error);
    assert_eq!(content.parts[..2], [text("it failed"), image()]);
    let Outcome::Truncated(cut) = outcome else { panic!("{outcome:?}") };
    assert_eq!(cut.media, 1);
    assert!(shown(content.parts.last().unwrap()).contains("1 images or recordings are omitted"));
}

#[test]
fn tiny_limits_are_observed() {
    for cut in [0, 1, 5, 20] {
        let (content, _) = limit(result(vec![text(prose(500)), text("x")]), OutputLimits::with_truncate(cut), None);
        assert!(total(&content) <= cut, "{content:?}");
    }
}

#[cfg(unix)]
#[test]
fn stored_outputs_are_private_and_limited() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let parent = TempDir::new().unwrap();
    let directory = parent.path().join("outputs");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(directory.join("mine.txt"), "x".repeat(500)).unwrap();
    let store = OutputStore::new(&directory, 100);
    let mut paths = Vec::new();
    for n in 0..4_u64 {
        let path = store.write(&n.to_string().repeat(40), "txt").unwrap();
        assert_eq!((mode(&path), mode(&directory)), (0o600, 0o700));
        // The clock of the file system may be too coarse.
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000 + n);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        paths.push(path);
    }
    let left: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
    assert_eq!(left, [false, false, true, true], "the oldest go");
    assert!(directory.join("mine.txt").exists(), "what was not kept here stays");
    assert!(matches!(store.write(&"x".repeat(101), "txt"), Err(OutputStoreError::TooLarge)));
    let link = parent.path().join("link");
    std::os::unix::fs::symlink(&directory, &link).unwrap();
    assert!(matches!(OutputStore::new(&link, 100).write("x", "txt"), Err(OutputStoreError::NotADirectory { .. })));
    let (_, outcome) = limit(result(vec![text(prose(500))]), OutputLimits::with_truncate(100), Some(&store));
    let Outcome::Truncated(cut) = outcome else { panic!("{outcome:?}") };
    assert_eq!(
        (cut.stored, cut.store_error.as_deref()),
        (None, Some("the output is larger than the size limit of the store"))
    );
}

fn odd_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-z]{1,9} ", 2 => "[0-9]{1,7}", 2 => "\\PC{1,4}", 1 => Just("=".repeat(500)), 1 => Just(" ".repeat(300)), 1 => Just("\n\n".to_owned()),
        1 => Just("字".repeat(200)), 1 => Just("don't".to_owned()), 1 => Just("/\n/".to_owned()), 1 => Just("e\u{301}".to_owned()),
    ];
    prop::collection::vec(part, 0..400).prop_map(|parts| parts.concat())
}

fn odd_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "\\PC{0,300}".prop_map(Into::into),
        "[\"\\\\\n\u{1}]{0,200}".prop_map(Into::into)
    ];
    leaf.prop_recursive(4, 200, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Into::into),
            prop::collection::vec(("\\PC{0,60}", inner), 0..20)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_text_never_has_fewer_tokens_than_stated(text in "[a-z{}\":,/. '0-9A-Z\n#é]{0,200}") {
        prop_assert!(tokens::fewest(&text) <= real(&text), "{} > {}", tokens::fewest(&text), real(&text));
    }

    #[test]
    fn a_truncated_text_is_a_prefix_within_the_limit(whole in odd_text(), cut in 0_usize..700) {
        let limits = OutputLimits { warn: cut / 2, truncate: cut };
        let (content, outcome) = limit(result(vec![text(&whole)]), limits, None);
        prop_assert!(total(&content) <= cut, "{} > {}", total(&content), cut);
        match outcome {
            Outcome::Truncated(_) => prop_assert!(whole.starts_with(&shown(&content.parts[0]))),
            _ => prop_assert_eq!(shown(&content.parts[0]), whole),
        }
    }

    #[test]
    fn a_truncated_value_is_json_within_the_limit(value in odd_value(), cut in 60_usize..400) {
        let whole = value.to_string();
        let (content, outcome) = limit(result(vec![text(&whole)]), OutputLimits::with_truncate(cut), None);
        prop_assert!(total(&content) <= cut, "{} > {}", total(&content), cut);
        if matches!(outcome, Outcome::Truncated(_)) && whole.starts_with(['{', '[']) && cut > 200 {
            let shown = shown(&content.parts[0]);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok(), "{}", shown);
        }
    }
}

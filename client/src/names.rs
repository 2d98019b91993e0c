//! Qualified names: one legal name for each tool of each server.
//!
//! **The rule.** The qualified name of a tool is a pure function of the server's name, the tool's name and the
//! [`Naming`]. Other tools have no influence, so a name in a saved permission rule always means the same tool.
//!
//! - A part is *plain* if it is not empty, consists of `A-Z a-z 0-9 _ -`, contains no `__`, and neither starts nor
//!   ends with `_`. If both parts are plain and the result fits the limit, the name is `mcp__<server>__<tool>`. Double
//!   underscores then occur exactly twice, so two pairs never have the same name.
//! - [`NameScheme::Short`] joins plain parts to `<server>_<tool>` if the server's part contains no `_` and starts with
//!   a letter. The first underscore is then the separator, and no two underscores are adjacent.
//! - Otherwise, illegal characters are replaced by `_`, the result is truncated, and `___` and 26 base-32 characters
//!   (130 bits) of the SHA-256 of the exact pair follow. Plain names never contain three underscores in a row, so the
//!   two forms cannot collide. A hostile server can choose names; a shorter suffix of 80 bits could be made to
//!   collide.
//!
//! Each name starts with a letter or `_` and consists of `[A-Za-z0-9_-]`, as OpenAI and Anthropic (at most 64
//! characters) and Gemini (at most 128) require. Resolve names with [`crate::ToolCatalog`]; do not split them.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const PREFIX: &str = "mcp__";
const SUFFIX_LENGTH: usize = 26;
const HASH_SEPARATOR: &str = "___";
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Maximum length of a qualified name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NameLimit {
    /// 64 characters: all model providers.
    #[default]
    #[serde(rename = "64")]
    Chars64,
    /// 128 characters: OpenAI Responses and Gemini.
    #[serde(rename = "128")]
    Chars128,
}

impl NameLimit {
    /// The limit in characters.
    #[must_use]
    pub const fn chars(self) -> usize {
        match self {
            Self::Chars64 => 64,
            Self::Chars128 => 128,
        }
    }
}

/// How the names of a server and a tool are joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameScheme {
    /// `mcp__<server>__<tool>`.
    #[default]
    Prefixed,
    /// `<server>_<tool>`.
    Short,
}

impl NameScheme {
    /// The prefix, and the separator of the two names.
    const fn joints(self) -> (&'static str, &'static str) {
        match self {
            Self::Prefixed => (PREFIX, "__"),
            Self::Short => ("", "_"),
        }
    }

    /// Whether the joined name of two plain parts is unambiguous.
    fn keeps_apart(self, server: &str) -> bool {
        match self {
            Self::Prefixed => true,
            Self::Short => !server.contains('_') && server.starts_with(|first: char| first.is_ascii_alphabetic()),
        }
    }
}

/// Naming of all tools of a catalog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Naming {
    /// The scheme.
    pub scheme: NameScheme,
    /// The limit.
    pub limit: NameLimit,
}

impl From<NameLimit> for Naming {
    /// The default scheme with this limit.
    fn from(limit: NameLimit) -> Self {
        Self { limit, ..Self::default() }
    }
}

/// The qualified name of a tool. Any strings are allowed as names.
#[must_use]
pub fn qualified_name(server: &str, tool: &str, naming: impl Into<Naming>) -> String {
    let Naming { scheme, limit } = naming.into();
    let (before, between) = scheme.joints();
    let length = before.len() + server.len() + between.len() + tool.len();
    if length <= limit.chars() && is_plain(server) && is_plain(tool) && scheme.keeps_apart(server) {
        return format!("{before}{server}{between}{tool}");
    }
    let room = limit.chars() - HASH_SEPARATOR.len() - SUFFIX_LENGTH;
    let joined = before.chars().chain(sanitise(server)).chain(between.chars()).chain(sanitise(tool));
    // Gemini on Vertex requires a letter or an underscore.
    let starts_well = !joined.clone().next().is_some_and(|first| first.is_ascii_digit() || first == '-');
    let mut name: String = (!starts_well).then_some('_').into_iter().chain(joined).take(room).collect();
    name.push_str(HASH_SEPARATOR);
    name.push_str(&suffix(server, tool));
    name
}

/// Whether a tool of this server can have this qualified name. Other servers need not be queried to resolve it.
#[must_use]
pub fn may_belong_to(name: &str, server: &str, naming: impl Into<Naming>) -> bool {
    let Naming { scheme, limit } = naming.into();
    let room = limit.chars() - HASH_SEPARATOR.len() - SUFFIX_LENGTH;
    let prefix = || scheme.joints().0.chars().chain(sanitise(server));
    let starts = |before: Option<char>| {
        let expected = before.into_iter().chain(prefix()).take(room);
        let mut given = name.chars();
        expected.into_iter().all(|character| given.next() == Some(character))
    };
    // A truncated name can also begin with an additional underscore.
    starts(None) || starts(Some('_'))
}

fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && part.chars().all(is_legal)
        && !part.contains("__")
        && !part.starts_with('_')
        && !part.ends_with('_')
}

fn is_legal(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn sanitise(part: &str) -> impl Iterator<Item = char> + Clone + '_ {
    part.chars().map(|character| if is_legal(character) { character } else { '_' })
}

/// 130 bits of the hash of the pair. The length of the first part is included, so that `a`, `bc` and `ab`, `c` differ.
fn suffix(server: &str, tool: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update((server.len() as u64).to_be_bytes());
    hasher.update(server.as_bytes());
    hasher.update(tool.as_bytes());
    let digest = hasher.finalize();
    (0..SUFFIX_LENGTH)
        .map(|index| {
            let bit = index * 5;
            let pair = u16::from_be_bytes([digest[bit / 8], digest[bit / 8 + 1]]);
            char::from(ALPHABET[usize::from((pair >> (11 - bit % 8)) & 31)])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use proptest::prelude::*;

    use super::*;

    fn name(server: &str, tool: &str) -> String {
        qualified_name(server, tool, NameLimit::Chars64)
    }

    #[test]
    fn plain_names_stay_readable() {
        assert_eq!(name("github", "create_issue"), "mcp__github__create_issue");
        assert_eq!(name("a-b", "get-x"), "mcp__a-b__get-x");
    }

    #[test]
    fn ambiguous_or_illegal_names_get_a_suffix() {
        insta::assert_snapshot!(name("a", "b__c"), @"mcp__a__b__c___yiqampjc4q7kkuqb6rcvxzjpcr");
        insta::assert_snapshot!(name("a", "get.x"), @"mcp__a__get_x___ffrkqhcqpoojiyuxdwrniyabtq");
        insta::assert_snapshot!(name("", ""), @"mcp_______v5kxb5nbqefxv54mv5f4octgb4");
        insta::assert_snapshot!(name("wetter", "städte 🌍"), @"mcp__wetter__st_dte_____jknltpooottzkswqjl2h6aq56b");
        insta::assert_snapshot!(name("server", &"t".repeat(80)), @"mcp__server__tttttttttttttttttttttt___t7zwckm7x6tovtxf5hytf44yvi");
    }

    const SHORT: Naming = Naming { scheme: NameScheme::Short, limit: NameLimit::Chars64 };

    #[test]
    fn the_short_scheme_is_readable_where_it_is_not_ambiguous() {
        assert_eq!(qualified_name("github", "create_issue", SHORT), "github_create_issue");
        for (server, tool) in [("my_server", "x"), ("7zip", "list"), ("-", "x"), ("a", "_b"), ("a", "b__c"), ("a", "")]
        {
            let name = qualified_name(server, tool, SHORT);
            assert!(name.contains("___") && !name.starts_with(|first: char| !first.is_alphabetic() && first != '_'));
        }
        insta::assert_snapshot!(qualified_name("7zip", "list", SHORT), @"_7zip_list___zdozyh7vo4vfzufesamlabwpaw");
    }

    #[test]
    fn a_name_excludes_servers_that_cannot_have_it() {
        for naming in [Naming::default(), SHORT] {
            for (server, tool) in
                [("github", "x"), ("7zip", "list"), ("a b", "get.x"), (&"s".repeat(80), "t"), ("", "")]
            {
                let name = qualified_name(server, tool, naming);
                assert!(may_belong_to(&name, server, naming), "{name} {server}");
                assert!(!may_belong_to(&name, "other", naming), "{name}");
            }
        }
        // Both servers can have this name, so both are queried.
        assert!(["a", "a__b"].iter().all(|server| may_belong_to("mcp__a__b__c", server, NameLimit::Chars64)));
    }

    #[test]
    fn known_traps_do_not_collide() {
        let pairs = [
            ("a", "b__c"),
            ("a__b", "c"),
            ("a_", "_b"),
            ("a", "__b"),
            ("a__", "b"),
            ("a", "_b"),
            ("a_", "b"),
            ("s", "get-x"),
            ("s", "get_x"),
            ("s", "get.x"),
            ("s", "get x"),
            ("s", ""),
            ("", "s"),
            ("", ""),
            ("s", "GET_X"),
            ("a_b", "c"),
            ("a", "b_c"),
        ];
        for scheme in [NameScheme::Prefixed, NameScheme::Short] {
            let naming = Naming { scheme, limit: NameLimit::Chars64 };
            let names: HashSet<_> = pairs.iter().map(|(server, tool)| qualified_name(server, tool, naming)).collect();
            assert_eq!(names.len(), pairs.len(), "{scheme:?}");
        }
    }

    #[test]
    fn a_tool_cannot_take_the_hashed_name_of_another() {
        let hashed = name("a", "b__c");
        let forged = hashed.strip_prefix("mcp__a__").unwrap();
        assert_ne!(name("a", forged), hashed);
    }

    #[test]
    fn the_suffix_encodes_the_first_bits_of_the_hash() {
        // The pair ("", "") hashes eight zero bytes: af5570f5a1810b7a…; the base-32 digits of 0xaf55 start 10101 11101.
        assert!(suffix("", "").starts_with("v5"), "{}", suffix("", ""));
        assert_eq!(suffix("", "").len(), SUFFIX_LENGTH);
    }

    fn hostile() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ab_]{0,6}",
            "[a-z_.-]{0,12}",
            "\\PC{0,20}",
            "[a-zA-Z0-9_-]{60,140}",
            Just("mcp__a__b".to_owned()),
            ".{0,8}"
        ]
    }

    proptest! {
        #[test]
        fn no_two_tools_share_a_name(
            pairs in prop::collection::vec((hostile(), hostile()), 1..40),
            wide in any::<bool>(),
            short in any::<bool>(),
        ) {
            let limit = if wide { NameLimit::Chars128 } else { NameLimit::Chars64 };
            let scheme = if short { NameScheme::Short } else { NameScheme::Prefixed };
            let naming = Naming { scheme, limit };
            let mut owners: HashMap<String, (String, String)> = HashMap::new();
            for pair in pairs {
                let name = qualified_name(&pair.0, &pair.1, naming);
                prop_assert!(name.len() <= limit.chars(), "{name}");
                prop_assert!(short || name.starts_with("mcp__"), "{name}");
                prop_assert!(name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'), "{name}");
                prop_assert!(name.chars().all(is_legal), "{name}");
                prop_assert_eq!(&name, &qualified_name(&pair.0, &pair.1, naming));
                if let Some(owner) = owners.insert(name, pair.clone()) {
                    prop_assert_eq!(owner, pair);
                }
            }
        }
    }
}

//! The rules of style and their exceptions.

/// Where a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Types, functions, modules, file stems, and values of formats.
    Name,
    /// Comments, string literals, Markdown and scenario titles, outside of tests.
    Prose,
    /// The first line of a command, an argument or a value in `--help`.
    Help,
}

/// A pattern that is not used, and what to write instead.
pub(super) struct Rule {
    pub(super) scope: Scope,
    pub(super) pattern: &'static str,
    pub(super) remedy: &'static str,
}

const fn name(pattern: &'static str) -> Rule {
    Rule { scope: Scope::Name, pattern, remedy: "name what it is or does, with the words of the specification" }
}

const fn prose(pattern: &'static str, remedy: &'static str) -> Rule {
    Rule { scope: Scope::Prose, pattern, remedy }
}

/// All rules. A change of this table needs no other change.
pub(super) const RULES: [Rule; 12] = [
    name(
        r"(^|_)(lies?|falsehood|deception|forgery|farewell|parting|desk|teller|told|patience|happening|trouble|shelf|deed|sighting|roster|misbehaviour)(_|$)",
    ),
    name(
        r"(Falsehood|Deception|Forgery|Farewell|Parting|Desk|Teller|Told|Patience|Happening|Trouble|Shelf|Deed|Sighting|Standing)([A-Z]|$)|^Lies?$",
    ),
    name(
        r"^(Place|Spot|Site|Way|Came|Manner|Asked|Known|Given|Written|Found|Again|Hides|Story|Party|Door|Front|Twist|Stroke|How|To|Mark|Remains)$",
    ),
    name(r"^(bid_|take_leave|turn_away|see_through|play_aside|of_)|^(aside|hear|kick|dress|tell|of)$"),
    prose(
        r"(?i)\b(lies?|lied|falsehood|deceiv\w*|deception|farewell|patience|shel(f|ves)|desk|teller|witness(es)?|deeds?|happenings?|anew|beside)\b",
        "do not personify programs",
    ),
    prose(
        r"(?i)\b(is|are|was|were) told\b|\btells? (it|them|whether|what|how|of)\b|\bin (his|her|its|their) own words\b|\bthe way (of|to|past)\b",
        "write `print`, `report`, `send` or `notify`",
    ),
    prose(
        r"(?i)\b(of no use|good for nothing|means nothing|makes? no sense|leads? nowhere|passed over|struck out|taken out|comes? about|came about)\b",
        "write `invalid`, `has no effect`, `skipped`, `removed` or `occurs`",
    ),
    prose(
        r"(?i)\b(hold|holds|held) (a|the|its|to|against|for)\b|\b(NOT )?HELD$|\b(did not hold|not held|all held)\b",
        "write `pass` and `fail` of verdicts, and `contain` or `keep` of data",
    ),
    prose(r"(?i)\bstands? (behind|for|beside|before|under)\b", "write `follows`, `means` or `is in`"),
    prose(r"(?i)\b(whoever|somebody|anybody|nobody|everybody)\b", "name the actor"),
    prose(r"(?i)\b(is|are) to be (called|had|told|taken)\b|\bis no [a-z]+\b", "write `is not a …`, or name the actor"),
    Rule {
        scope: Scope::Help,
        pattern: r"(?i)^(be|have|let|hold|take|say|tell|see|put|give|of|to|what|which|whose|whom|how|as if|for how long|from which|up to) ",
        remedy: "start with an imperative verb for a command, or with a noun for an option",
    },
];

/// A match that is correct.
pub(super) struct Exception {
    /// The beginning of the path; empty for every file.
    pub(super) path: &'static str,
    /// A pattern that overlaps the match.
    pub(super) pattern: &'static str,
    #[expect(dead_code, reason = "documents the table")]
    pub(super) reason: &'static str,
}

const fn except(path: &'static str, pattern: &'static str, reason: &'static str) -> Exception {
    Exception { path, pattern, reason }
}

/// The exceptions, each with its reason.
pub(super) const EXCEPTIONS: [Exception; 12] = [
    except("", r"(?i)\bis no longer\b", "ordinary English"),
    except(
        "",
        r"(?i)\b(lock|guard|mutex|permit|descriptor)s?( is| are| was)? (held|holds)\b",
        "the usual term for locks",
    ),
    except(
        "",
        r"(?i)\b(hold|holds|held) (a|the|its) (lock|guard|mutex|permit|file descriptor)",
        "the usual term for locks",
    ),
    except("", "\u{201c}[^\u{201d}]*\u{201d}", "a quotation, in typographic quotation marks"),
    except("reports/src/model.rs", "^held$", "the earlier name of a key, which is still read"),
    except("CHANGELOG.md", "`[^`]*`", "names of earlier keys and options"),
    except("mock-servers/src/script/words.rs", "lies", "the name of an earlier key"),
    except("mock-servers/src/oauth/script.rs", "somebody", "the default subject, which tests and scripts depend on"),
    except("mock-servers/src/oauth/server.rs", "somebody", "the label of a key; a change changes all its signatures"),
    except("tidy/src/style", ".*", "the rules and their tests"),
    except("scenarios/src/catalog.rs", "asks/nobody-there", "the old id of a scenario, which is still read"),
    except("tidy/src/forbidden.rs", "paths? of one machine", "ordinary English"),
];

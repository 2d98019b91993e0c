//! Strings that match a regular expression.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

/// Maximum length of a generated string in bytes.
const MAX_BYTES: usize = 20_000;
/// Maximum number of additional repetitions that are tried to reach a length.
const MAX_EXTRA: u32 = 64;

/// A string with `least` to `most` characters that matches the pattern, if one was found. Patterns with look-around or back
/// references are not supported.
pub(super) fn matching(pattern: &str, least: u64, most: u64) -> Option<String> {
    let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
    let written = |extra| {
        let mut text = String::new();
        write(&hir, extra, &mut text)?;
        Some(text)
    };
    let fits = |text: &String| (least..=most).contains(&(text.chars().count() as u64));
    let found = (0..=MAX_EXTRA).filter_map(written).find(fits);
    // A pattern without an end may be followed by anything.
    found.or_else(|| {
        let text = written(0)?;
        let missing = usize::try_from(least).ok()?.saturating_sub(text.chars().count());
        (!pattern.ends_with('$')).then(|| text + &"a".repeat(missing)).filter(fits)
    })
}

/// Appends the shortest match, with this number of additional repetitions where the pattern allows them.
fn write(hir: &Hir, extra: u32, text: &mut String) -> Option<()> {
    if text.len() > MAX_BYTES {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => text.push(character(class)?),
        HirKind::Class(Class::Bytes(_)) => return None,
        HirKind::Repetition(repetition) => {
            let wanted = repetition.min.saturating_add(extra);
            for _ in 0..repetition.max.map_or(wanted, |most| wanted.min(most)) {
                write(&repetition.sub, extra, text)?;
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, extra, text)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, extra, text))?,
        HirKind::Alternation(parts) => write(parts.first()?, extra, text)?,
    }
    Some(())
}

/// A character of a class: a letter or digit if there is one.
fn character(class: &ClassUnicode) -> Option<char> {
    let contains = |wanted: char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&wanted));
    let mut preferred = ('a'..='z').chain('0'..='9').chain('A'..='Z').chain(['_', '-', '.', '/', ' ']);
    preferred.find(|wanted| contains(*wanted)).or_else(|| class.ranges().first().map(|range| range.start()))
}

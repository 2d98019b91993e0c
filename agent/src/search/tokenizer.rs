//! Splits names, descriptions and queries into words.

use bm25::Tokenizer;

/// Significant length of a word, in bytes.
const MAX_WORD_BYTES: usize = 64;

/// Splits at characters that are neither letters nor digits, and inside `camelCase`. Words are lower case and without a
/// plural `s`. Each character of languages without spaces is a word.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WordTokenizer;

impl Tokenizer for WordTokenizer {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let (mut words, mut word, mut before) = (Vec::new(), String::new(), None);
        for character in text.chars() {
            if !character.is_alphanumeric() || is_word(character) {
                finish(&mut words, &mut word);
                if is_word(character) {
                    words.push(character.to_string());
                }
            } else {
                if character.is_uppercase() && before.is_some_and(char::is_lowercase) {
                    finish(&mut words, &mut word);
                }
                if word.len() < MAX_WORD_BYTES {
                    word.extend(character.to_lowercase());
                }
            }
            before = Some(character);
        }
        finish(&mut words, &mut word);
        words
    }
}

/// The distinct words of a text, sorted.
pub(super) fn distinct(text: &str) -> Vec<String> {
    let mut words = WordTokenizer.tokenize(text);
    words.sort_unstable();
    words.dedup();
    words
}

fn finish(words: &mut Vec<String>, word: &mut String) {
    if word.is_empty() {
        return;
    }
    let mut word = std::mem::take(word);
    if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
    words.push(word);
}

/// Whether a character is a word: Chinese characters, kana and Hangul.
fn is_word(character: char) -> bool {
    matches!(u32::from(character), 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        for (text, words) in [
            ("listPullRequests", &["list", "pull", "request"][..]),
            ("create_issue.v2", &["create", "issue", "v2"]),
            ("HTTPServer", &["httpserver"]),
            ("天気予報 ですか", &["天", "気", "予", "報", "で", "す", "か"]),
            ("Städte, Straße", &["städte", "straße"]),
            ("class as gas", &["class", "as", "gas"]),
            ("", &[]),
        ] {
            assert_eq!(WordTokenizer.tokenize(text), words, "{text}");
        }
    }
}

//! What counts as a word of a name, a description or a query.

use bm25::Tokenizer;

/// The longest word that is told apart from longer ones, in bytes.
const MAX_WORD_BYTES: usize = 64;

/// Cuts texts into words: at everything that is neither letter nor digit, and inside `camelCase`. Case does not count, nor
/// does the `s` of a plural. Signs of languages that write without spaces are words of their own.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordTokenizer;

impl Tokenizer for WordTokenizer {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let (mut words, mut word, mut before) = (Vec::new(), String::new(), None);
        for character in text.chars() {
            if !character.is_alphanumeric() || stands_alone(character) {
                finish(&mut words, &mut word);
                if stands_alone(character) {
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

/// The words of a text, each once, in the order of the alphabet.
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

/// Whether a sign is a word by itself: Chinese characters, kana and Hangul.
fn stands_alone(character: char) -> bool {
    matches!(u32::from(character), 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_the_words_that_they_are_made_of() {
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

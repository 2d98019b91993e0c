//! Extracts the id from a message that is too long to keep.
//!
//! The bytes are scanned once. Only the outermost level matters: some servers write `id` before the result, others
//! after it.

use serde_json::Value;

/// Maximum length of an id, or of a name at the outermost level.
const TOKEN_BYTES: usize = 256;

/// Scanner of a JSON object.
#[derive(Debug, Default)]
pub(crate) struct JsonScan {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// Whether the next token at the outermost level is a value.
    value_next: bool,
    token: Vec<u8>,
    name: Vec<u8>,
    id: Option<Value>,
    is_question: bool,
}

impl JsonScan {
    /// Scans the next bytes.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.look(*byte);
        }
    }

    /// The id of the request that the message responds to, if it was found. `None` for requests and notifications.
    pub(crate) fn response_id(mut self) -> Option<Value> {
        self.end_of_member();
        self.id.filter(|_| !self.is_question)
    }

    /// Whether the message is a request or a notification.
    pub(crate) fn is_question(&self) -> bool {
        self.is_question
    }

    fn look(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                // The messages of a batch are one level deeper and are not distinguished.
                self.depth = self.depth.saturating_add(if self.depth == 0 && byte == b'[' { 2 } else { 1 });
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.end_of_member();
                }
            }
            b':' if self.depth == 1 && !self.value_next => {
                self.name = std::mem::take(&mut self.token);
                self.is_question |= self.name == b"\"method\"";
                self.value_next = true;
            }
            b',' if self.depth == 1 => self.end_of_member(),
            byte if !byte.is_ascii_whitespace() => self.keep(byte),
            _ => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < TOKEN_BYTES {
            self.token.push(byte);
        }
    }

    fn end_of_member(&mut self) {
        if self.value_next && self.name == b"\"id\"" {
            self.id = serde_json::from_slice(&self.token).ok();
        }
        self.value_next = false;
        self.token.clear();
        self.name.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_the_id_wherever_it_stands() {
        let check = |text: &str, expected: Option<Value>| {
            // Byte by byte, so that each token is split.
            let mut json_scan = JsonScan::default();
            text.as_bytes().chunks(1).for_each(|piece| json_scan.pass(piece));
            assert_eq!(json_scan.response_id(), expected, "{text}");
        };
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"id":8}}"#, Some(json!(7)));
        check(r#"{ "result" : {"a":[{"id":8,"b":"}\"id\":9"}]}, "jsonrpc" : "2.0" , "id" : 7 }"#, Some(json!(7)));
        check(r#"{"result":{},"id":"a\"b"}"#, Some(json!("a\"b")));
        check(r#"{"id":7,"result":{"cut":"off"#, Some(json!(7)));
        check(r#"{"id":7,"method":"sampling/createMessage"}"#, None);
        check(r#"{"result":{"id":8}}"#, None);
        check(r#"[{"id":7,"result":{}}]"#, None);
        check("xxxx", None);
        check("", None);
    }
}

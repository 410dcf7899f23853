// SPDX-License-Identifier: Apache-2.0
//! A place in a text, moved by functions that the compiler runs.

/// A place in a text.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    text: &'static str,
    at: usize,
}

/// Stop the compiler with a message put together from parts.
#[track_caller]
pub(super) const fn refuse(parts: &[&str]) -> ! {
    let mut buffer = [0u8; 512];
    let mut size = 0;
    let mut part = 0;
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut i = 0;
        while i < bytes.len() && size < buffer.len() {
            buffer[size] = bytes[i];
            size += 1;
            i += 1;
        }
        part += 1;
    }
    match std::str::from_utf8(buffer.split_at(size).0) {
        Ok(message) => panic!("{}", message),
        Err(_) => panic!("the signature does not fit"),
    }
}

/// Whether two texts are the same.
pub(super) const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut i = 0;
    while i < one.len() {
        if one[i] != other[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Whether a text is one of these.
pub(super) const fn one_of(text: &str, words: &[&str]) -> bool {
    let mut i = 0;
    while i < words.len() {
        if same(text, words[i]) {
            return true;
        }
        i += 1;
    }
    false
}

/// Part of a text, from one place to another.
pub(super) const fn part(text: &'static str, from: usize, to: usize) -> &'static str {
    let bytes = text.as_bytes().split_at(to).0.split_at(from).1;
    match std::str::from_utf8(bytes) {
        Ok(part) => part,
        Err(_) => panic!("a signature is cut between characters only"),
    }
}

/// The number that a text of digits is.
pub(super) const fn number(text: &str) -> i64 {
    let bytes = text.as_bytes();
    let mut value: i64 = 0;
    let mut i = 0;
    while i < bytes.len() {
        let Some(shifted) = value.checked_mul(10) else {
            refuse(&["signature: ", text, " does not fit 64 bits"])
        };
        let Some(sum) = shifted.checked_add((bytes[i] - b'0') as i64) else {
            refuse(&["signature: ", text, " does not fit 64 bits"])
        };
        value = sum;
        i += 1;
    }
    value
}

/// Whether a byte is part of a name; those above ASCII are.
pub(super) const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl Cursor {
    pub const fn new(text: &'static str) -> Self {
        Self { text, at: 0 }.behind_space()
    }

    const fn behind_space(self) -> Self {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while at < bytes.len() && bytes[at].is_ascii_whitespace() {
            at += 1;
        }
        Self { text: self.text, at }
    }

    pub const fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The next byte; 0 at the end.
    pub const fn peek(&self) -> u8 {
        self.peek_behind(0)
    }

    pub const fn peek_behind(&self, count: usize) -> u8 {
        let bytes = self.text.as_bytes();
        if self.at + count < bytes.len() {
            bytes[self.at + count]
        } else {
            0
        }
    }

    /// Go on behind so many bytes, and the space there.
    pub const fn skip(&mut self, count: usize) {
        *self = Self { text: self.text, at: self.at + count }.behind_space();
    }

    /// Go on behind a byte, if it is the next one.
    pub const fn accept(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == byte;
        if is_next {
            self.skip(1);
        }
        is_next
    }

    pub const fn expect(&mut self, byte: u8, what: &str) {
        if !self.accept(byte) {
            self.fail(what);
        }
    }

    /// What comes next, if it is a name; else nothing.
    pub const fn word(&self) -> &'static str {
        let mut size = 0;
        while is_name_byte(self.peek_behind(size)) {
            size += 1;
        }
        part(self.text, self.at, self.at + size)
    }

    /// Read a name.
    pub const fn take_word(&mut self, what: &str) -> &'static str {
        let word = self.word();
        if word.is_empty() || word.as_bytes()[0].is_ascii_digit() {
            self.fail(what);
        }
        self.skip(word.len());
        word
    }

    /// Read digits.
    pub const fn take_digits(&mut self, what: &str) -> &'static str {
        let mut size = 0;
        while self.peek_behind(size).is_ascii_digit() {
            size += 1;
        }
        if size == 0 || is_name_byte(self.peek_behind(size)) {
            self.fail(what);
        }
        let digits = part(self.text, self.at, self.at + size);
        self.skip(size);
        digits
    }

    /// Read a string without escapes.
    pub const fn take_string(&mut self) -> &'static str {
        let quote = self.peek();
        let mut size = 1;
        while self.peek_behind(size) != quote {
            if self.peek_behind(size) == 0 {
                self.fail("the end of the string");
            }
            if self.peek_behind(size) == b'\\' {
                self.fail("a string without escapes");
            }
            size += 1;
        }
        let content = part(self.text, self.at + 1, self.at + size);
        self.skip(size + 1);
        content
    }

    /// Skip a string, whatever is in it.
    pub const fn skip_string(&mut self) {
        let quote = self.peek();
        let mut size = 1;
        while self.peek_behind(size) != quote {
            if self.peek_behind(size) == 0 {
                self.fail("the end of the string");
            }
            size += if self.peek_behind(size) == b'\\' { 2 } else { 1 };
        }
        self.skip(size + 1);
    }

    /// Read until one of these stands outside of brackets and strings.
    pub const fn take_until(&mut self, ends: &[u8]) -> &'static str {
        let begin = self.at;
        let mut end = begin;
        let mut depth = 0;
        while !self.is_at_end() {
            let byte = self.peek();
            if depth == 0 && contains(ends, byte) {
                break;
            }
            match byte {
                b'[' | b'(' | b'{' => depth += 1,
                b']' | b')' | b'}' => depth -= 1,
                b'\'' | b'"' => {
                    self.skip_string();
                    continue;
                }
                _ => {}
            }
            end = self.at + 1;
            self.skip(1);
        }
        part(self.text, begin, end)
    }

    /// Stop the compiler: something else was expected here.
    #[track_caller]
    pub const fn fail(&self, what: &str) -> ! {
        let rest = part(self.text, self.at, self.text.len());
        if rest.is_empty() {
            refuse(&["signature: expected ", what, " at the end of `", self.text, "`"])
        }
        refuse(&["signature: expected ", what, " before `", rest, "`"])
    }
}

const fn contains(bytes: &[u8], byte: u8) -> bool {
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] == byte {
            return true;
        }
        i += 1;
    }
    false
}

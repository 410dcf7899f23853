// SPDX-License-Identifier: Apache-2.0
//! Compile-time scanner over the text of a signature, and string functions for constants.

/// A position in the text of a signature. The byte at the position is never white space.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    text: &'static str,
    /// The byte offset of the position in the text.
    at: usize,
}

/// Panic with a message that consists of `parts`. In a constant, the panic is a compile error.
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
        Err(_) => panic!("the error message about the signature does not fit 512 bytes"),
    }
}

/// Return true if two strings are equal. Unlike `==`, the function can be called in constants.
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

/// Return true if `text` is in `words`.
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

/// Return the substring between two byte offsets.
pub(super) const fn part(text: &'static str, from: usize, to: usize) -> &'static str {
    let bytes = text.as_bytes().split_at(to).0.split_at(from).1;
    match std::str::from_utf8(bytes) {
        Ok(part) => part,
        Err(_) => panic!("signature: expected offsets between characters"),
    }
}

/// Convert a string of decimal digits to a number.
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

/// Return true if a byte can be part of a name: ASCII letters, digits, `_`, and all of non-ASCII
/// UTF-8.
pub(super) const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl Cursor {
    pub const fn new(text: &'static str) -> Self {
        Self { text, at: 0 }.after_space()
    }

    const fn after_space(self) -> Self {
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

    /// Return the byte at the position; 0 at the end of the text.
    pub const fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    /// Return the byte at the distance `count` after the position; 0 after the end of the text.
    pub const fn peek_at(&self, count: usize) -> u8 {
        let bytes = self.text.as_bytes();
        if self.at + count < bytes.len() {
            bytes[self.at + count]
        } else {
            0
        }
    }

    /// Advance by `count` bytes and past white space.
    pub const fn skip(&mut self, count: usize) {
        *self = Self { text: self.text, at: self.at + count }.after_space();
    }

    /// If `byte` is the next byte, advance past it and return true; otherwise return false.
    pub const fn accept(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == byte;
        if is_next {
            self.skip(1);
        }
        is_next
    }

    /// Advance past `byte`; if it is not the next byte, panic with a message that names `expected`.
    pub const fn expect(&mut self, byte: u8, expected: &str) {
        if !self.accept(byte) {
            self.fail(expected);
        }
    }

    /// Return the name at the position; an empty string if the position is not at a name.
    pub const fn word(&self) -> &'static str {
        let mut size = 0;
        while is_name_byte(self.peek_at(size)) {
            size += 1;
        }
        part(self.text, self.at, self.at + size)
    }

    /// Return the name at the position and advance past the name; panic if the position is not at a
    /// name.
    pub const fn take_word(&mut self, expected: &str) -> &'static str {
        let word = self.word();
        if word.is_empty() || word.as_bytes()[0].is_ascii_digit() {
            self.fail(expected);
        }
        self.skip(word.len());
        word
    }

    /// Return the decimal digits at the position and advance past the digits; panic if the position
    /// is not at a digit.
    pub const fn take_digits(&mut self, expected: &str) -> &'static str {
        let mut size = 0;
        while self.peek_at(size).is_ascii_digit() {
            size += 1;
        }
        if size == 0 || is_name_byte(self.peek_at(size)) {
            self.fail(expected);
        }
        let digits = part(self.text, self.at, self.at + size);
        self.skip(size);
        digits
    }

    /// Return the content of the quoted string at the position and advance past it; panic if it
    /// contains an escape.
    pub const fn take_string(&mut self) -> &'static str {
        let quote = self.peek();
        let mut size = 1;
        while self.peek_at(size) != quote {
            if self.peek_at(size) == 0 {
                self.fail("the end of the string");
            }
            if self.peek_at(size) == b'\\' {
                self.fail("a string without escapes");
            }
            size += 1;
        }
        let content = part(self.text, self.at + 1, self.at + size);
        self.skip(size + 1);
        content
    }

    /// Advance past the quoted string at the position, which may contain escapes.
    pub const fn skip_string(&mut self) {
        let quote = self.peek();
        let mut size = 1;
        while self.peek_at(size) != quote {
            if self.peek_at(size) == 0 {
                self.fail("the end of the string");
            }
            size += if self.peek_at(size) == b'\\' { 2 } else { 1 };
        }
        self.skip(size + 1);
    }

    /// Return the text up to the next byte of `ends` that is outside of brackets and quoted
    /// strings, and advance to that byte.
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

    /// Panic with a message that names the expected text and the text at the position.
    #[track_caller]
    pub const fn fail(&self, expected: &str) -> ! {
        let rest = part(self.text, self.at, self.text.len());
        if rest.is_empty() {
            refuse(&["signature: expected ", expected, " at the end of `", self.text, "`"])
        }
        refuse(&["signature: expected ", expected, " before `", rest, "`"])
    }
}

/// Return true if `byte` is in the list.
pub(super) const fn contains(bytes: &[u8], byte: u8) -> bool {
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] == byte {
            return true;
        }
        i += 1;
    }
    false
}

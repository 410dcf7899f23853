// SPDX-License-Identifier: Apache-2.0
// JSON parser (json::Parse): one pass over the text with an explicit stack.  Messages and positions
// of syntax errors follow Python's json module.
#include <tvm/ffi/extra/json.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "json/limits.h"
#include "json/number.h"
#include "walk/collision_limit.h"

namespace tvm::ffi::extra {
namespace {

struct SyntaxError {
  std::string message;
  size_t position;
};

// Returns the message of a syntax error with its position: "MESSAGE: line 1 column 2 (char 1)".
std::string Describe(const SyntaxError& error, std::string_view text) {
  std::string_view before = text.substr(0, error.position);
  auto line = std::count(before.begin(), before.end(), '\n') + 1;
  size_t line_start = before.rfind('\n') + 1;  // 0 if there is no newline, because npos + 1 is 0
  return error.message + ": line " + std::to_string(line) + " column " +
         std::to_string(error.position - line_start + 1) + " (char " +
         std::to_string(error.position) + ")";
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  if (code_point < 0x80) {
    *out += static_cast<char>(code_point);
    return;
  }
  int continuations = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  constexpr uint32_t kLeads[] = {0, 0xC0, 0xE0, 0xF0};
  *out += static_cast<char>(kLeads[continuations] | code_point >> (6 * continuations));
  while (continuations-- > 0) {
    *out += static_cast<char>(0x80 | (code_point >> (6 * continuations) & 0x3F));
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Any ParseText() {
    SkipSpace();
    while (!ReadValue() || !FinishValue()) {
    }
    if (position_ != text_.size()) Fail("Extra data", position_);
    return std::move(values_.back());
  }

 private:
  // A JSON array or object that is being read.  Its elements, or alternately its keys and values,
  // are in values_ from index `begin` to the end.
  struct Open {
    bool is_object;
    size_t begin;
    size_t position;  // offset of the opening bracket in the text, in bytes
  };

  // Reads a scalar, or the start of a container.  Returns true if the value is complete.
  bool ReadValue() {
    switch (Peek()) {
      case '[':
        return !Enter(/*is_object=*/false);
      case '{':
        return !Enter(/*is_object=*/true);
      case '"':
        values_.emplace_back(ReadString());
        return true;
      default:
        values_.push_back(ReadScalar());
        return true;
    }
  }

  // Continues after a complete value.  Closes containers up to the first container with another
  // element or key.  Returns true if the outermost value is complete, and false if another value
  // follows.
  bool FinishValue() {
    SkipSpace();
    while (!open_.empty()) {
      bool is_object = open_.back().is_object;
      if (Take(',')) {
        SkipSpace();
        if (position_ == text_.size()) Fail("Syntax error near", position_);
        if (is_object) ReadKey();
        return false;
      }
      if (!Take(is_object ? '}' : ']')) Fail("Expecting ',' delimiter", position_);
      Leave();
      SkipSpace();
    }
    return true;
  }

  // Reads the start of a container.  Returns false if the container is empty and thus complete.
  bool Enter(bool is_object) {
    if (open_.size() >= kJsonLimits.max_depth) Fail(kJsonLimits.TooDeepMessage(), position_);
    open_.push_back({is_object, values_.size(), position_});
    ++position_;
    SkipSpace();
    if (Take(is_object ? '}' : ']')) {
      Leave();
      return false;
    }
    if (is_object) ReadKey();
    return true;
  }

  // Ends the innermost container: removes its children from the end of values_ and appends the
  // container.
  void Leave() {
    Open container = open_.back();
    open_.pop_back();
    Any* children = values_.data() + container.begin;
    size_t count = values_.size() - container.begin;
    auto key_at = [&](size_t i) -> const Any& { return children[2 * i]; };
    if (container.is_object && HaveTooManyCollisions(count / 2, key_at)) {
      Fail(kTooManyCollisions, container.position);
    }
    Any value = container.is_object ? MakeMap(children, count) : MakeArray(children, count);
    values_.resize(container.begin);
    values_.push_back(std::move(value));
  }

  static Any MakeArray(Any* items, size_t count) {
    json::Array array(static_cast<int64_t>(count), Any());
    for (size_t i = 0; i < count; ++i) {
      array.GetArrayObj()->SetItemAfterCheck(static_cast<int64_t>(i), std::move(items[i]));
    }
    return array;
  }

  static Any MakeMap(const Any* children, size_t count) {
    json::Object map;
    for (size_t i = 0; i < count; i += 2) map.Set(children[i], children[i + 1]);
    return map;
  }

  void ReadKey() {
    if (Peek() != '"') Fail("Expecting property name enclosed in double quotes", position_);
    values_.emplace_back(ReadString());
    SkipSpace();
    if (!Take(':')) Fail("Expecting ':' delimiter", position_);
    SkipSpace();
  }

  Any ReadScalar() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (TakeWord("null")) return Any();
    if (TakeWord("true")) return true;
    if (TakeWord("false")) return false;
    if (TakeWord("NaN")) return std::numeric_limits<double>::quiet_NaN();
    if (TakeWord("Infinity")) return kInfinity;
    if (TakeWord("-Infinity")) return -kInfinity;
    return ReadNumber();
  }

  Any ReadNumber() {
    std::string_view rest = text_.substr(position_);
    size_t length = JsonNumberLength(rest);
    if (length == 0) Fail("Expecting value", position_);
    Any value;
    if (ParseJsonNumber(rest.substr(0, length), &value) == JsonNumberError::kTooLarge) {
      Fail("Number too large", position_);
    }
    position_ += length;
    return value;
  }

  String ReadString() {
    size_t quote = position_++;
    // A string without escapes is copied directly from the text.
    size_t run = position_;
    SkipPlainCharacters(quote);
    if (text_[position_] == '"') return String(text_.data() + run, position_++ - run);
    buffer_.clear();
    while (true) {
      buffer_.append(text_, run, position_ - run);
      if (text_[position_++] == '"') return String(buffer_.data(), buffer_.size());
      ReadEscape();
      run = position_;
      SkipPlainCharacters(quote);
    }
  }

  // Skips the plain characters of a string up to a quotation mark or backslash.
  void SkipPlainCharacters(size_t quote) {
    while (position_ < text_.size()) {
      char c = text_[position_];
      if (c == '"' || c == '\\') return;
      if (static_cast<unsigned char>(c) < 0x20) Fail("Invalid control character at", position_);
      ++position_;
    }
    Fail("Unterminated string starting at", quote);
  }

  // Reads the characters of an escape sequence that follow the backslash.
  void ReadEscape() {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    size_t letter = position_ < text_.size() ? kLetters.find(text_[position_]) : kLetters.npos;
    if (letter != kLetters.npos) {
      buffer_ += "\"\\/\b\f\n\r\t"[letter];
      ++position_;
    } else if (Peek() == 'u') {
      AppendUtf8(ReadUnicodeEscape(), &buffer_);
    } else {
      Fail("Invalid \\escape", position_);
    }
  }

  // Reads the characters of \uXXXX that follow the backslash.  If XXXX is a high surrogate, also
  // reads the second escape sequence of the surrogate pair.
  uint32_t ReadUnicodeEscape() {
    size_t letter = position_++;
    uint32_t high = ReadHexDigits(letter);
    if (high < 0xD800 || high > 0xDFFF) return high;
    if (high > 0xDBFF || text_.substr(position_, 2) != "\\u") FailSurrogate(letter);
    position_ += 2;
    size_t digits = position_;
    uint32_t low = ReadHexDigits(digits);
    if (low < 0xDC00 || low > 0xDFFF) FailSurrogate(digits);
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }

  uint32_t ReadHexDigits(size_t reported) {
    std::string_view digits = text_.substr(position_, 4);
    bool is_number = digits.size() == 4 &&
                     digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    if (!is_number) Fail("Invalid \\uXXXX escape", reported);
    position_ += 4;
    uint32_t value = 0;
    for (char c : digits) {
      value = value << 4 | static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
  }

  // Returns the next character; NUL at the end of the text, because no JSON value starts with NUL.
  char Peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool Take(char c) {
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }
  void SkipSpace() {
    while (position_ < text_.size()) {
      char c = text_[position_];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
      ++position_;
    }
  }
  [[noreturn]] static void FailSurrogate(size_t position) {
    Fail("Invalid surrogate pair of \\uXXXX escapes", position);
  }
  [[noreturn]] static void Fail(std::string message, size_t position) {
    throw SyntaxError{std::move(message), position};
  }

  std::string_view text_;
  size_t position_{0};
  std::vector<Any> values_;
  std::vector<Open> open_;
  std::string buffer_;  // decoded content of the current string, if it has escapes
};

}  // namespace
}  // namespace tvm::ffi::extra

namespace tvm::ffi::json {

Value Parse(const String& json_str, String* error_msg) {
  std::string_view text(json_str.data(), json_str.size());
  std::string message;
  try {
    Value value = extra::Parser(text).ParseText();
    if (error_msg != nullptr) *error_msg = String();
    return value;
  } catch (const extra::SyntaxError& error) {
    message = extra::Describe(error, text);
  }
  if (error_msg == nullptr) TVM_FFI_THROW(ValueError) << message;
  *error_msg = String(message);
  return Value();
}

}  // namespace tvm::ffi::json

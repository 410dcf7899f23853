// SPDX-License-Identifier: Apache-2.0
// Compile-time comparison of a signature, given as text, with a C++ function type.
//
// The comparison covers the function name, the number of parameters, and whether a parameter is a
// tensor or a number.  The full parser of the signature language checks all other parts of the
// text.
#ifndef TVM_FFI_SIGNATURE_DETAIL_H_
#define TVM_FFI_SIGNATURE_DETAIL_H_

#include <tvm/ffi/function_detail.h>

namespace tvm {
namespace ffi {
namespace detail {

enum class ParameterKind { kUnknown, kTensor, kNumber };

constexpr bool IsOneOf(std::string_view word, const char* const* words, int count) {
  for (int i = 0; i < count; ++i) {
    if (word == words[i]) return true;
  }
  return false;
}

constexpr bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == ':' || (c & 0x80) != 0;
}

// Cursor over the text of a signature; reads it once, from front to back.
class SignatureText {
 public:
  constexpr explicit SignatureText(std::string_view text) : text_(text) { SkipBlanks(); }

  // Reads the function name, which may be empty, and the opening parenthesis of the parameters.
  constexpr std::string_view TakeName() {
    std::string_view name = TakeWord();
    Take('(');
    return name;
  }
  // Reads one parameter and stores the kind of its type; returns false at the end of the parameter
  // list.
  constexpr bool TakeParameter(ParameterKind* kind) {
    while (Front() != ')' && Front() != '\0') {
      bool is_mark = Front() == '/' || Front() == '*';
      if (is_mark) Advance();
      if (is_mark && (Front() == ',' || Front() == ')')) {
        Take(',');  // `/` and `*` alone are not parameters
        continue;
      }
      TakeParameterName();
      *kind = Take(':') ? TakeKind() : ParameterKind::kUnknown;
      SkipToNext();
      return true;
    }
    return false;
  }

 private:
  constexpr char Front() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  constexpr void SkipBlanks() {
    while (Front() == ' ' || (Front() >= '\t' && Front() <= '\r')) ++position_;
  }
  constexpr void Advance() {
    ++position_;
    SkipBlanks();
  }
  constexpr bool Take(char c) {
    if (Front() != c) return false;
    Advance();
    return true;
  }
  constexpr std::string_view TakeWord() {
    size_t begin = position_;
    while (IsWordCharacter(Front())) ++position_;
    std::string_view word = text_.substr(begin, position_ - begin);
    SkipBlanks();
    return word;
  }
  constexpr void TakeParameterName() {
    while (IsWordCharacter(Front()) && Front() != ':') ++position_;
    SkipBlanks();
  }
  constexpr ParameterKind TakeKind() {
    if (Front() == '{') return ParameterKind::kTensor;
    std::string_view word = TakeWord();
    constexpr const char* kDirections[] = {"in", "out", "inout", "unknown"};
    if (IsOneOf(word, kDirections, 4) && Front() != '[' && Front() != ',' && Front() != ')') {
      return TakeKind();
    }
    bool is_shaped = Front() == '[' || Front() == '*';
    if (word == "Tensor") return ParameterKind::kTensor;
    constexpr const char* kNumbers[] = {"int",    "float",   "bool",    "int8",    "int16",
                                        "int32",  "int64",   "uint8",   "uint16",  "uint32",
                                        "uint64", "float16", "float32", "float64", "bfloat16"};
    if (!IsOneOf(word, kNumbers, 15)) return ParameterKind::kUnknown;
    return is_shaped ? ParameterKind::kTensor : ParameterKind::kNumber;
  }
  // Moves to the position after the comma that ends a parameter, or to the closing parenthesis of
  // the list.
  constexpr void SkipToNext() {
    int depth = 0;
    for (char c = Front(); c != '\0'; c = Front()) {
      if (depth == 0 && c == ')') return;
      if (depth == 0 && c == ',') return Advance();
      depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
      if (c == '"' || c == '\'') SkipString(c);
      Advance();
    }
  }
  // Moves to the closing quote of a string.
  constexpr void SkipString(char quote) {
    for (++position_; Front() != quote && Front() != '\0'; ++position_)
      position_ += Front() == '\\';
  }

  std::string_view text_;
  size_t position_ = 0;
};

// Returns true if the signature has this function name or no function name.
constexpr bool IsSignatureOf(std::string_view text, std::string_view name) {
  std::string_view found = SignatureText(text).TakeName();
  return found.empty() || found == name;
}

constexpr int NumParametersIn(std::string_view text) {
  SignatureText signature(text);
  signature.TakeName();
  ParameterKind kind = ParameterKind::kUnknown;
  int count = 0;
  while (signature.TakeParameter(&kind)) ++count;
  return count;
}

constexpr ParameterKind KindOfCpp(const TypeName& type) {
  constexpr const char* kTensors[] = {StaticTypeKey::kTVMFFITensor,
                                      StaticTypeKey::kTVMFFIDLTensorPtr};
  constexpr const char* kNumbers[] = {"int", "float", "bool"};
  if (type.text == nullptr) return ParameterKind::kUnknown;
  if (IsOneOf(type.text, kTensors, 2)) return ParameterKind::kTensor;
  return IsOneOf(type.text, kNumbers, 3) ? ParameterKind::kNumber : ParameterKind::kUnknown;
}

template <typename F>
constexpr int NumParametersOf(ExportedTypeFunction<F>) {
  return static_cast<int>(FunctionInfo<F>::num_args);
}

// Returns the index of the first parameter that is a tensor in the text and a number in the C++
// function, or vice versa; returns -1 if no parameter differs.
template <typename F>
constexpr int FindKindMismatch(std::string_view text, ExportedTypeFunction<F>) {
  const Signature* signature = SignatureOf<typename FunctionInfo<F>::FType>::value;
  SignatureText declared(text);
  declared.TakeName();
  ParameterKind kind = ParameterKind::kUnknown;
  for (int i = 0; i < signature->num_parameters && declared.TakeParameter(&kind); ++i) {
    ParameterKind cpp_kind = KindOfCpp(signature->names[i]);
    if (kind != cpp_kind && kind != ParameterKind::kUnknown && cpp_kind != ParameterKind::kUnknown)
      return i;
  }
  return -1;
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SIGNATURE_DETAIL_H_

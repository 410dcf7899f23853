// SPDX-License-Identifier: Apache-2.0
// Uses the published library of xgrammar through the type table alone: its classes, their
// constructors and methods, arrays, tensors and errors, like xgrammar's Python package.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/accessor.h>

#include <string>
#include <vector>

#include "../exchange/check.h"

namespace {

using namespace tvm::ffi;

const char* const kVocabulary[] = {"</s>", "0", "1", "2", "[", "]", ",", "a", "[1", ",2]", "1]"};
constexpr int64_t kStop = 0;
// More than 32 tokens, so that the mask of a position has two words, with bits beyond the last
// token.
constexpr int64_t kVocabularySize = 40;
const char* const kGrammar = "root ::= \"[\" digit (\",\" digit)* \"]\"\ndigit ::= [0-9]\n";

template <typename... Args>
Any Call(const char* type, const char* method, Args&&... args) {
  std::string key = std::string("xgrammar.tvm_ffi_binding.") + type;
  return reflection::GetMethod(key, method)(std::forward<Args>(args)...);
}

ObjectRef NewTokenizer() {
  Array<Any> vocabulary;
  for (const char* token : kVocabulary) vocabulary.push_back(String(token));
  constexpr int64_t kRawVocabulary = 0;
  return Call("TokenizerInfo", "__ffi_init__", vocabulary, kRawVocabulary, kVocabularySize,
              Array<int64_t>{kStop}, false)
      .cast<ObjectRef>();
}

void CheckTokenizer(const ObjectRef& tokenizer) {
  CHECK_EQ(Call("TokenizerInfo", "vocab_size", tokenizer).cast<int64_t>(), kVocabularySize);
  Array<Bytes> decoded = Call("TokenizerInfo", "decoded_vocab", tokenizer).cast<Array<Bytes>>();
  CHECK_EQ(decoded.size(), std::size(kVocabulary));
  CHECK_EQ(static_cast<std::string>(decoded[8]), "[1");
  Array<int64_t> stops = Call("TokenizerInfo", "stop_token_ids", tokenizer).cast<Array<int64_t>>();
  CHECK_EQ(stops.size(), size_t{1});
}

ObjectRef Compile(const ObjectRef& tokenizer) {
  constexpr int64_t kThreads = 2;
  constexpr int64_t kUnlimited = -1;
  ObjectRef compiler =
      Call("GrammarCompiler", "__ffi_init__", tokenizer, kThreads, true, kUnlimited)
          .cast<ObjectRef>();
  return Call("GrammarCompiler", "compile_grammar_from_strings", compiler, kGrammar, "root")
      .cast<ObjectRef>();
}

// Later releases of xgrammar added constructor parameters.
ObjectRef NewMatcher(const ObjectRef& compiled, int64_t num_parameters) {
  if (num_parameters == 4) {
    return Call("GrammarMatcher", "__ffi_init__", compiled, nullptr, false, 0).cast<ObjectRef>();
  }
  return Call("GrammarMatcher", "__ffi_init__", compiled, nullptr, false, 0, nullptr)
      .cast<ObjectRef>();
}

// The tokens that the grammar accepts next, concatenated.
std::string AllowedTokens(const ObjectRef& matcher) {
  std::vector<int32_t> words(2, 0);
  int64_t shape[] = {1, 2};
  DLTensor mask{};
  mask.data = words.data();
  mask.device = DLDevice{kDLCPU, 0};
  mask.ndim = 2;
  mask.dtype = DLDataType{kDLInt, 32, 1};
  mask.shape = shape;
  Call("GrammarMatcher", "fill_next_token_bitmask", matcher, &mask, 0, false);
  std::string allowed;
  for (size_t i = 0; i < std::size(kVocabulary); ++i) {
    if ((words[i / 32] >> (i % 32) & 1) != 0) allowed += std::string(" ") + kVocabulary[i];
  }
  return allowed;
}

void CheckMatching(const ObjectRef& matcher) {
  CHECK_EQ(AllowedTokens(matcher), " [ [1");
  CHECK(Call("GrammarMatcher", "accept_string", matcher, "[1", false).cast<bool>());
  CHECK_EQ(AllowedTokens(matcher), " ] , ,2]");
  constexpr int64_t kComma = 6;
  CHECK(Call("GrammarMatcher", "accept_token", matcher, kComma, false).cast<bool>());
  CHECK_EQ(AllowedTokens(matcher), " 0 1 2 1]");
  CHECK(!Call("GrammarMatcher", "accept_string", matcher, "a", false).cast<bool>());
  CHECK(Call("GrammarMatcher", "accept_string", matcher, Bytes("2]", 2), false).cast<bool>());
  CHECK_EQ(AllowedTokens(matcher), " </s>");
  CHECK(!Call("GrammarMatcher", "is_terminated", matcher).cast<bool>());
  CHECK(Call("GrammarMatcher", "accept_token", matcher, kStop, false).cast<bool>());
  CHECK(Call("GrammarMatcher", "is_terminated", matcher).cast<bool>());
}

void CheckErrors() {
  Function from_ebnf = reflection::GetMethod("xgrammar.tvm_ffi_binding.Grammar", "from_ebnf");
  // An exception of a class that xgrammar defines passes through the C++ headers unchanged.
  std::string message;
  try {
    from_ebnf("root ::= missing", "root");
  } catch (const std::exception& error) {
    message = error.what();
  }
  CHECK(message.find("missing") != std::string::npos);
  Expected<Any> failed = from_ebnf.CallExpected<Any>("root ::= missing", "root");
  CHECK_EQ(failed.error().kind(), "InternalError");
  CHECK_EQ(failed.error().message(), message);
  Expected<Any> mismatch = from_ebnf.CallExpected<Any>(1, "root");
  CHECK_EQ(mismatch.error().kind(), "TypeError");
}

void UseXGrammar(Any, int64_t num_matcher_parameters) {
  ObjectRef tokenizer = NewTokenizer();
  CheckTokenizer(tokenizer);
  ObjectRef compiled = Compile(tokenizer);
  CHECK(Call("CompiledGrammar", "memory_size_bytes", compiled).cast<int64_t>() > 0);
  CheckMatching(NewMatcher(compiled, num_matcher_parameters));
  String saved = Call("CompiledGrammar", "serialize_json", compiled).cast<String>();
  ObjectRef loaded =
      Call("CompiledGrammar", "deserialize_json", saved, tokenizer).cast<ObjectRef>();
  CheckMatching(NewMatcher(loaded, num_matcher_parameters));
  CheckErrors();
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(use_xgrammar, UseXGrammar)

// SPDX-License-Identifier: Apache-2.0
// Structural equality and the path of the first mismatch, in the notation of the tests.
#ifndef TVM_FFI_TESTS_CPP_STRUCTURAL_MISMATCH_H_
#define TVM_FFI_TESTS_CPP_STRUCTURAL_MISMATCH_H_

#include <doctest/doctest.h>

#include "structural_ir.h"

namespace ir {

inline bool Same(const Any& lhs, const Any& rhs) { return StructuralEqual::Equal(lhs, rhs); }
inline bool SameMapped(const Any& lhs, const Any& rhs) {
  return StructuralEqual::Equal(lhs, rhs, true);
}

// A path such as `.args[1]{key}`; an exclamation mark follows a step that only one side has.
inline std::string TextOf(const refl::AccessPath& path) {
  std::string text;
  for (const refl::AccessStep& step : path->ToSteps()) {
    std::string key = step->key.GetTypeKey();
    if (auto name = step->key.as<String>()) key = *name;
    if (auto index = step->key.as<int64_t>()) key = std::to_string(*index);
    if (const auto* var = step->key.as<VarObj>()) key = "var " + std::string(var->name);
    auto kind = static_cast<size_t>(step->kind);
    text += std::string(1, ".[{"[kind % 3]) + key + std::string(1, " ]}"[kind % 3]);
    if (text.back() == ' ') text.pop_back();
    if (kind >= 3) text += "!";
  }
  return text;
}

// Returns "" for equal values; else both paths, or one path if both are the same.
inline std::string MismatchOf(const Any& lhs, const Any& rhs, bool map_free_vars = false) {
  auto paths = StructuralEqual::GetFirstMismatch(lhs, rhs, map_free_vars);
  CHECK_EQ(paths.has_value(), !StructuralEqual::Equal(lhs, rhs, map_free_vars));
  if (!paths.has_value()) return "";
  std::string left = TextOf((*paths).get<0>());
  std::string right = TextOf((*paths).get<1>());
  return left == right ? "root" + left : "root" + left + " | root" + right;
}

// Returns true if the surrounding region defines variables at `inner`: then two different variables
// match.
template <typename Wrap>
bool Defines(Wrap wrap) {
  return Same(wrap(Var("inner")), wrap(Var("inner")));
}

}  // namespace ir

#endif  // TVM_FFI_TESTS_CPP_STRUCTURAL_MISMATCH_H_

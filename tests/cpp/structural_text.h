// SPDX-License-Identifier: Apache-2.0
// Text form of values of structural_ir.h, and of the context of a failed visit.
#ifndef TVM_FFI_TESTS_CPP_STRUCTURAL_TEXT_H_
#define TVM_FFI_TESTS_CPP_STRUCTURAL_TEXT_H_

#include <tvm/ffi/extra/visit_error_context.h>

#include <string>

#include "structural_ir.h"

namespace ir {

// Text of a value: variables by name, strings in quotes, containers in brackets ([] an Array, <> a
// List, {} a Map or Dict), objects as Call(x, 1), without excluded fields.
inline std::string Show(AnyView value);

template <typename Sequence>
std::string ShowSequence(const Sequence* sequence, const char* open, const char* close) {
  std::string text = open;
  for (const Any& element : *sequence) text += (text.size() > 1 ? " " : "") + Show(element);
  return text + close;
}

inline std::string ShowTable(const MapBaseObj* table) {
  std::string text = "{";
  for (const auto& pair : *table) {
    text += (text.size() > 1 ? " " : "") + Show(pair.first) + ":" + Show(pair.second);
  }
  return text + "}";
}

inline std::string ShowFields(AnyView value) {
  std::string key = value.GetTypeKey();
  std::string text;
  refl::ForEachFieldInfo(TVMFFIGetTypeInfo(value.type_index()), [&](const TVMFFIFieldInfo* field) {
    if ((field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore) != 0) return;
    text += (text.empty() ? "" : ", ") + Show(refl::FieldGetter(field)(value.as<Object>()));
  });
  return key.substr(key.rfind('.') + 1) + "(" + text + ")";
}

inline std::string Show(AnyView value) {
  if (value == nullptr) return "None";
  if (value.type_index() == kTVMFFIInt) return std::to_string(value.cast<int64_t>());
  if (auto text = value.as<String>()) return "'" + std::string(*text) + "'";
  if (const auto* var = value.as<VarObj>()) return var->name;
  if (const auto* array = value.as<ArrayObj>()) return ShowSequence(array, "[", "]");
  if (const auto* list = value.as<ListObj>()) return ShowSequence(list, "<", ">");
  if (const auto* map = value.as<MapObj>()) return ShowTable(map);
  if (const auto* dict = value.as<DictObj>()) return ShowTable(dict);
  if (value.type_index() < kTVMFFIDynObjectBegin) return value.GetTypeKey();
  return ShowFields(value);
}

// The objects in the error's context; the object in which the visit failed is first.
inline std::string Frames(const Error& error) {
  Optional<VisitErrorContext> context = VisitErrorContext::TryGetFromError(error);
  if (!context.has_value()) return "no context";
  std::string text;
  for (ObjectRef node : (*context)->reverse_visit_pattern) {
    text += (text.empty() ? "" : " | ") + Show(node);
  }
  return text;
}

// Text of an error: "Kind: message; frames".
template <typename T>
std::string Failure(const Expected<T>& outcome) {
  if (outcome.is_ok()) return "no error";
  Error error = outcome.error();
  return error.kind() + ": " + error.message() + "; " + Frames(error);
}

}  // namespace ir

#endif  // TVM_FFI_TESTS_CPP_STRUCTURAL_TEXT_H_

// SPDX-License-Identifier: Apache-2.0
// Global functions that the runtime itself provides: one table row each, from which the argument
// checks, the signature in error messages and the metadata are derived.
#ifndef TVM_FFI_RUNTIME_CORE_BUILTIN_H_
#define TVM_FFI_RUNTIME_CORE_BUILTIN_H_

#include <tvm/ffi/c_api.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "value.h"

namespace tvm::ffi::runtime {

class Arguments;

struct Builtin {
  std::string_view name;
  // Types as in signatures, `Optional<ffi.Function>`; no result type means: any arguments.
  std::string_view result_type;
  std::vector<std::string_view> parameter_types;
  Value (*body)(const Arguments& args);

  bool IsVariadic() const { return result_type.empty(); }
  std::string Signature() const;
  std::string Metadata() const;  // JSON
};

// The arguments of one call, converted on request; a mismatch raises TypeError with the signature.
class Arguments {
 public:
  Arguments(const Builtin& callee, const TVMFFIAny* args, int32_t count)
      : callee_(callee), args_(args), count_(count) {}

  int32_t count() const { return count_; }
  const TVMFFIAny& operator[](int32_t i) const { return args_[i]; }

  std::string_view Text(int32_t i) const;
  std::string_view Bytes(int32_t i) const;
  void* Pointer(int32_t i) const;  // None counts as null

 private:
  [[noreturn]] void Mismatch(int32_t i, std::string_view expected) const;

  const Builtin& callee_;
  const TVMFFIAny* args_;
  int32_t count_;
};

// The rows must live for ever.
void RegisterBuiltins(const std::vector<Builtin>& builtins);

// The tables, each in a file of its own; called once, as the library is loaded.
void RegisterRegistryFunctions();
// What the layers above add; runtime/extra defines it.
void RegisterExtra();

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_BUILTIN_H_

// SPDX-License-Identifier: Apache-2.0
// The error that a call throws, as "Kind: message"; empty if it returns.
#ifndef TVM_FFI_TESTS_CPP_THROWN_H_
#define TVM_FFI_TESTS_CPP_THROWN_H_

#include <tvm/ffi/error.h>

#include <string>

template <typename F>
std::string Thrown(F&& call) {
  try {
    call();
  } catch (const tvm::ffi::Error& error) {
    return error.kind() + ": " + error.message();
  }
  return std::string();
}

#endif  // TVM_FFI_TESTS_CPP_THROWN_H_

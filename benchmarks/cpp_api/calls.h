// SPDX-License-Identifier: Apache-2.0
// Call rows: C++ calls of typed lambdas through Function objects, and of exported symbols.
#ifndef BENCHMARKS_CPP_API_CALLS_H_
#define BENCHMARKS_CPP_API_CALLS_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

#include "harness.h"

namespace benchmark {

using tvm::ffi::Any;
using tvm::ffi::Array;
using tvm::ffi::Error;
using tvm::ffi::Function;
using tvm::ffi::String;
using tvm::ffi::TensorView;

inline int64_t CallWithNothing(int64_t repeats) {
  static const Function function = Function::FromTyped([]() -> int64_t { return 7; });
  int64_t sum = 0;
  for (; repeats > 0; --repeats) sum += function().cast<int64_t>();
  return sum;
}

inline int64_t CallWithThree(int64_t repeats) {
  static const Function function =
      Function::FromTyped([](int64_t a, double b, bool c) { return a + int64_t(b) + c; });
  int64_t sum = 0;
  for (; repeats > 0; --repeats) sum += function(int64_t{1}, 2.0, true).cast<int64_t>();
  return sum;
}

inline int64_t CallWithEight(int64_t repeats) {
  static const Function function =
      Function::FromTyped([](int64_t a, int64_t b, int64_t c, int64_t d, double e, double f,
                             double g, bool h) { return a + b + c + d + int64_t(e + f + g) + h; });
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    sum += function(int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, 5.0, 6.0, 7.0, true)
               .cast<int64_t>();
  }
  return sum;
}

inline TensorView ExampleTensor() {
  static int64_t shape[] = {4, 8};
  static int64_t strides[] = {8, 1};
  static float data[32];
  static DLTensor tensor{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  return TensorView(&tensor);
}

inline int64_t CallWithTensors(int64_t repeats) {
  static const Function function =
      Function::FromTyped([](TensorView a, TensorView b, TensorView c) -> int64_t {
        return a.ndim() + b.ndim() + c.ndim();
      });
  TensorView tensor = ExampleTensor();
  int64_t sum = 0;
  for (; repeats > 0; --repeats) sum += function(tensor, tensor, tensor).cast<int64_t>();
  return sum;
}

inline int64_t CallWithString(int64_t repeats) {
  static const Function function =
      Function::FromTyped([](String text) -> int64_t { return int64_t(text.size()); });
  String text("a text that lives on the heap");
  int64_t sum = 0;
  for (; repeats > 0; --repeats) sum += function(text).cast<int64_t>();
  return sum;
}

// The elements of an Array<int64_t> are checked in every call.
inline int64_t CallWithArray(int64_t repeats) {
  static const Function function =
      Function::FromTyped([](Array<int64_t> array) -> int64_t { return int64_t(array.size()); });
  Array<int64_t> array;
  for (int64_t i = 0; i < 100; ++i) array.push_back(i);
  int64_t sum = 0;
  for (; repeats > 0; --repeats) sum += function(array).cast<int64_t>();
  return sum;
}

inline int64_t AddThree(int64_t a, int64_t b, int64_t c) { return a + b + c; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_three, AddThree);

// Calls an exported symbol through its C entry, as other languages do.
inline int64_t CallSymbol(int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    TVMFFISafeCallType symbol = __tvm_ffi_add_three;
    Touch(symbol);
    sum += Function::InvokeExternC(nullptr, symbol, int64_t{1}, int64_t{2}, int64_t{3})
               .cast<int64_t>();
  }
  return sum;
}

inline int64_t Fail(int64_t value) {
  if (value > 0) TVM_FFI_THROW(ValueError) << "value must not be " << value;
  return value;
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail, Fail);

inline int64_t CatchFrom(const Function& function, int64_t repeats) {
  int64_t caught = 0;
  for (; repeats > 0; --repeats) {
    try {
      function(int64_t{1});
    } catch (const Error& error) {
      caught += error.what()[0] == 'v';
    }
  }
  return caught;
}

// The exception propagates through the function's C++ entry.
inline int64_t ThrowThroughCpp(int64_t repeats) {
  static const Function function = Function::FromTyped(Fail);
  return CatchFrom(function, repeats);
}

// The function has only a C entry: the error becomes the pending error and is thrown again.
inline int64_t ThrowThroughC(int64_t repeats) {
  static const Function function = Function::FromExternC(nullptr, __tvm_ffi_fail, nullptr);
  return CatchFrom(function, repeats);
}

}  // namespace benchmark
#endif  // BENCHMARKS_CPP_API_CALLS_H_

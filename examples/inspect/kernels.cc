// SPDX-License-Identifier: Apache-2.0
// Two releases of a library: the second release adds a kernel, and a parameter to another kernel.
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1  // required before the first header

#include <tvm/ffi/function.h>

#if RELEASE == 1
double Scale(double x, double factor) { return x * factor; }
#else
double Scale(double x, double factor, double offset) { return x * factor + offset; }
int64_t Twice(int64_t x) { return 2 * x; }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(twice, Twice);
#endif

TVM_FFI_DLL_EXPORT_TYPED_FUNC(scale, Scale);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(scale, "Return x times factor.");

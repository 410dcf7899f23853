// SPDX-License-Identifier: Apache-2.0
// Test functions exported as symbols with metadata and documentation, as a kernel library has them.
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1
#include <tvm/ffi/function.h>

namespace {

int64_t Same(int64_t value) { return value; }
int64_t Sum(int64_t a, int64_t b) { return a + b; }

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(testing_dll_schema_id_int, Same)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(testing_dll_test_add_with_docstring, Sum)
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(testing_dll_test_add_with_docstring,
                                  R"(Add two integers and return the sum.

Parameters
----------
a : int
    The first summand.
b : int
    The second summand.

Returns
-------
result : int
    The sum of a and b.)")

// Does nothing.  If a program refers to this function, its linker keeps the library.
extern "C" TVM_FFI_DLL_EXPORT int TVMFFITestingDummyTarget() { return 0; }

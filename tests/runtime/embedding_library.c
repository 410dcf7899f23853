/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that embeds serialized modules: only the symbol matters. */
#include <tvm/ffi/c_api.h>

TVM_FFI_DLL_EXPORT const char __tvm_ffi__library_bin[8] = {0};

// SPDX-License-Identifier: Apache-2.0
// Text of access paths: <root>.field[2]["key"][<missing:3>].
#ifndef TVM_FFI_RUNTIME_EXTRA_CONTENT_ACCESS_PATH_REPR_H_
#define TVM_FFI_RUNTIME_EXTRA_CONTENT_ACCESS_PATH_REPR_H_

#include <tvm/ffi/reflection/access_path.h>

namespace tvm::ffi::extra {

using PrintPart = TypedFunction<String(AnyView)>;

// Hooks of the two types.
String PrintAccessStep(const reflection::AccessStepObj* step, const PrintPart& print);
String PrintAccessPath(const reflection::AccessPathObj* path, const PrintPart& print);

}  // namespace tvm::ffi::extra
#endif  // TVM_FFI_RUNTIME_EXTRA_CONTENT_ACCESS_PATH_REPR_H_

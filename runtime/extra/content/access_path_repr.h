// SPDX-License-Identifier: Apache-2.0
// Repr of access paths: <root>.field[2]["key"][<missing:3>].
#ifndef TVM_FFI_RUNTIME_EXTRA_CONTENT_ACCESS_PATH_REPR_H_
#define TVM_FFI_RUNTIME_EXTRA_CONTENT_ACCESS_PATH_REPR_H_

#include <tvm/ffi/reflection/access_path.h>

namespace tvm::ffi::extra {

using PrintChild = TypedFunction<String(AnyView)>;

// `__ffi_repr__` hooks of AccessStep and AccessPath.  `print` returns the repr of a child.
String PrintAccessStep(const reflection::AccessStepObj* step, const PrintChild& print);
String PrintAccessPath(const reflection::AccessPathObj* path, const PrintChild& print);

}  // namespace tvm::ffi::extra
#endif  // TVM_FFI_RUNTIME_EXTRA_CONTENT_ACCESS_PATH_REPR_H_

// SPDX-License-Identifier: Apache-2.0
// Release of deeply nested objects with bounded recursion.  docs/design/nested-release.md
#ifndef TVM_FFI_RUNTIME_CORE_NESTED_RELEASE_H_
#define TVM_FFI_RUNTIME_CORE_NESTED_RELEASE_H_

namespace tvm::ffi::runtime {

// The type of the deleter in an object header; `object` is the address of the header.
using ObjectDeleter = void (*)(void* object, int flags);

// Calls `deleter` immediately, or, if the object is nested too deeply, after the enclosing objects
// have been released.  The deleter in the header of such an object calls this function and passes
// the function that destroys the object.
void ReleaseNested(void* object, int flags, ObjectDeleter deleter);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_NESTED_RELEASE_H_

// SPDX-License-Identifier: Apache-2.0
// Objects inside objects are released one after the other, however deep they are nested.
#ifndef TVM_FFI_RUNTIME_CORE_NESTED_RELEASE_H_
#define TVM_FFI_RUNTIME_CORE_NESTED_RELEASE_H_

namespace tvm::ffi::runtime {

// The deleter of an object without the turn-taking; `object` is its header.
using ObjectDeleter = void (*)(void* object, int flags);

// Deleters of objects that may be nested deeply call this with the function that does their work.
// Calls it, now or when the objects around this one have gone.
void ReleaseInTurn(void* object, int flags, ObjectDeleter deleter);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_NESTED_RELEASE_H_

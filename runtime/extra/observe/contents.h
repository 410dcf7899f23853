// SPDX-License-Identifier: Apache-2.0
// Contents of tensors: copies of the elements of strided tensors, digests.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_CONTENTS_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_CONTENTS_H_

#include <tvm/ffi/c_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tvm::ffi::extra {

// Returns the XXH64 hash with seed 0, which is not safe against forgery.
uint64_t DigestOf(const void* bytes, size_t size);
// Returns the digest of a file, or 0 if the file cannot be read.
uint64_t DigestOfFile(const std::string& path);

// Returns the number of bytes of all elements; nullopt if this thread cannot read them: the memory
// of a device, elements of less than a byte with gaps, a size of more than 2^63 bytes.
std::optional<size_t> ReadableSize(const DLTensor& tensor);
// Copies the elements in row-major order, to and from memory of ReadableSize bytes.
void CopyElementsTo(const DLTensor& tensor, void* bytes);
void CopyElementsFrom(const DLTensor& tensor, const void* bytes);
uint64_t DigestOfElements(const DLTensor& tensor, size_t size);

void RegisterContents();

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_CONTENTS_H_

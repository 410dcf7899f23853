// SPDX-License-Identifier: Apache-2.0
// Compiled device code as bytes: which format they have, and whether they are whole.  The driver is
// given an address without a size, so an image that ends too early must not reach it.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_IMAGE_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_IMAGE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tvm::ffi::extra::cuda {

// ORDER image-formats; the numbers are part of the saved form.
enum class ImageFormat : uint32_t { kPtx = 1, kCubin = 2, kFatbin = 3 };

// "ptx", "cubin", "fatbin".
const char* NameOf(ImageFormat format);

// The format of a name, or, for "", the one that the bytes have.
//
// Fails: ValueError when the name is unknown, the bytes have no known format or another one than
//        the named, or end before their own header says.
ImageFormat CheckImage(std::string_view bytes, std::string_view format);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_IMAGE_H_

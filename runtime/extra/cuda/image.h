// SPDX-License-Identifier: Apache-2.0
// Device images: format detection and truncation check of PTX, cubins and fatbins.
//
// The driver receives the address of an image without its size, so a truncated image must not reach
// the driver.
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_IMAGE_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_IMAGE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tvm::ffi::extra::cuda {

// ORDER image-formats; the numbers are part of the saved byte format.
enum class ImageFormat : uint32_t { kPtx = 1, kCubin = 2, kFatbin = 3 };

// Returns the name of an image format: "ptx", "cubin" or "fatbin".
const char* NameOf(ImageFormat format);

// Detects the format of an image and checks that it is complete.  format: the expected format, or
// "" for any.
//
// Fails: ValueError for an unknown format name, for bytes in an unknown or different format,
//        and for truncated bytes.
ImageFormat CheckImage(std::string_view bytes, std::string_view format);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_IMAGE_H_

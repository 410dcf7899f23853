// SPDX-License-Identifier: Apache-2.0
// Saved CUDA modules: byte format, encoder and decoder.
//
// All numbers are little-endian; a string is a u64 length and bytes.
//
//   magic "TVMFFICU", version u32 (1), image format u32 (1 ptx, 2 cubin, 3 fatbin)
//   image            string
//   kernels          u64 count, then each:
//     name, symbol   strings
//     parameters     u64 count, strings
//     launch         u64 count, strings
//     fixed          u64 count, then each: string and u64 value
//
// Modules with launch plans or several images have version 2.  The kernels are in the first image:
//
//   magic, version u32 (2)
//   images           u64 count, at least 1, then each: format u32, architecture ("sm_90a" or "")
//                    and content as strings
//   kernels          as above
//   plans            u64 count, then each: name, documentation, metadata and program (see
//                    launch_program.h) as strings
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_MODULE_FORMAT_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_MODULE_FORMAT_H_

#include <string>
#include <string_view>
#include <vector>

#include "cuda/image.h"
#include "cuda/launch_plan.h"
#include "cuda/signature.h"

namespace tvm::ffi::extra::cuda {

struct SavedImage {
  ImageFormat format;
  std::string architecture;  // GPU architecture of the code, such as "sm_90a"; "" if unknown
  std::string content;
};

struct SavedModule {
  std::vector<SavedImage> images;
  std::vector<SavedKernel> kernels;
  std::vector<SavedPlan> plans;
};

// Encodes a module.  Writes format version 1 if the module has one image without architecture and
// no launch plans, so that older runtimes can read the result.
std::string EncodeModule(const SavedModule& module);

// Decodes a saved module.  Fails: ValueError "corrupt saved CUDA module at byte N of M: ...". Uses
// memory in proportion to the number of bytes.
SavedModule DecodeModule(std::string_view bytes);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_MODULE_FORMAT_H_

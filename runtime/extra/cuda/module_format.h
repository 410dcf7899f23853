// SPDX-License-Identifier: Apache-2.0
// The saved form of a CUDA module.  All numbers are little-endian; a text is a u64 length and
// bytes.
//
//   magic "TVMFFICU", version u32 (1), image format u32 (1 ptx, 2 cubin, 3 fatbin)
//   image            as a text
//   kernels          u64 count, then each:
//     name, symbol   texts
//     parameters     u64 count, texts
//     launch         u64 count, texts
//     fixed          u64 count, then each a text and a u64 value
//
// A module with launch plans has version 2, in which the kernels are those of the first image:
//
//   magic, version u32 (2)
//   images           u64 count, at least 1, then each: format u32, architecture ("sm_90a" or "")
//                    and content as texts
//   kernels          as above
//   plans            u64 count, then each: name, documentation, metadata and program (see
//                    launch_program.h) as texts
#ifndef TVM_FFI_RUNTIME_EXTRA_CUDA_MODULE_FORMAT_H_
#define TVM_FFI_RUNTIME_EXTRA_CUDA_MODULE_FORMAT_H_

#include <string>
#include <string_view>
#include <vector>

#include "cuda/image.h"
#include "cuda/launch_plan.h"
#include "cuda/signature.h"

namespace tvm::ffi::extra::cuda {

struct ImageText {
  ImageFormat format;
  std::string architecture;
  std::string content;
};

struct ModuleText {
  std::vector<ImageText> images;
  std::vector<KernelText> kernels;
  std::vector<PlanText> plans;
};

// As version 1 where that can say it, so that older runtimes read it.
std::string EncodeModule(const ModuleText& module);

// Fails: ValueError that says where the bytes are wrong; memory in proportion to their number.
ModuleText DecodeModule(std::string_view bytes);

}  // namespace tvm::ffi::extra::cuda

#endif  // TVM_FFI_RUNTIME_EXTRA_CUDA_MODULE_FORMAT_H_

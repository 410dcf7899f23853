// SPDX-License-Identifier: Apache-2.0
// The query of the CUDA driver; in a file of its own, because it needs dlopen.
#include "observe/stream_capture.h"

#include "../platform/platform.h"
#include "registration.h"

namespace tvm::ffi::extra {
namespace {

CaptureQuery FindCaptureQuery() {
  platform::LoadFailure failure;
  // The program that created the stream has loaded the driver.
  void* driver = platform::OpenLibrary(platform::kCudaDriver, platform::Binding::kLazy, &failure);
  if (driver == nullptr) return nullptr;
  return reinterpret_cast<CaptureQuery>(platform::FindSymbol(driver, "cuStreamIsCapturing"));
}

}  // namespace

void RegisterStreamCapture() { find_capture_query = &FindCaptureQuery; }

}  // namespace tvm::ffi::extra

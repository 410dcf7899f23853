// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver.h"

#include <tvm/ffi/error.h>

#include <atomic>

#include "../platform/platform.h"

namespace tvm::ffi::extra::cuda {
namespace {

[[noreturn]] void ThrowUnavailable(const std::string& reason) {
  TVM_FFI_THROW(RuntimeError) << "the CUDA driver is not available: " << reason
                              << "; it comes with the NVIDIA driver of the machine";
  TVM_FFI_UNREACHABLE();
}

void* OpenLibrary() {
  platform::LoadFailure failure;
  void* library = platform::OpenLibrary(platform::kCudaDriver, platform::Binding::kNow, &failure);
  if (library == nullptr) ThrowUnavailable(failure.message);
  return library;
}

template <typename Function>
void Find(void* library, const char* symbol, bool is_required, Function* function) {
  *function = reinterpret_cast<Function>(platform::FindSymbol(library, symbol));
  if (*function == nullptr && is_required) {
    ThrowUnavailable(std::string(platform::kCudaDriver) + " has no function " + symbol);
  }
}

// Opens the driver's library and finds its functions.  The returned object is never destroyed,
// because modules may be released during process exit.
const Driver* OpenDriver() {
  void* library = OpenLibrary();
  Driver found;
#define TVM_FFI_CUDA_REQUIRED_(member, symbol, parameters) \
  Find(library, symbol, true, &found.member);
#define TVM_FFI_CUDA_OPTIONAL_(member, symbol, parameters) \
  Find(library, symbol, false, &found.member);
  TVM_FFI_CUDA_DRIVER_FUNCTIONS(TVM_FFI_CUDA_REQUIRED_, TVM_FFI_CUDA_OPTIONAL_)
#undef TVM_FFI_CUDA_REQUIRED_
#undef TVM_FFI_CUDA_OPTIONAL_
  Result status = found.init(0);
  if (status != 0) found.Throw("cuInit", status, "");
  return new Driver(found);
}

}  // namespace

const Driver& Driver::Get() {
  static std::atomic<const Driver*> driver{nullptr};
  const Driver* known = driver.load(std::memory_order_acquire);
  if (TVM_FFI_PREDICT_TRUE(known != nullptr)) return *known;
  // Open the driver without a lock: the call waits for the dynamic loader, which may run an
  // initialiser that launches a kernel and calls this function.
  const Driver* opened = OpenDriver();
  if (driver.compare_exchange_strong(known, opened, std::memory_order_acq_rel)) return *opened;
  delete opened;
  return *known;
}

void Driver::Throw(const char* function, Result status, const std::string& location,
                   const std::string& log) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (get_error_name(status, &name) != 0 || name == nullptr) name = "unknown error";
  if (get_error_string(status, &text) != 0 || text == nullptr) text = "no description";
  TVM_FFI_THROW(RuntimeError) << "CUDA driver: " << function << " failed" << location << ": "
                              << name << " (" << status << "): " << text
                              << (log.empty() ? "" : "\n") << log;
  TVM_FFI_UNREACHABLE();
}

}  // namespace tvm::ffi::extra::cuda

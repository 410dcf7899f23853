// SPDX-License-Identifier: Apache-2.0
// WebAssembly: one program without threads, processes, stack walks and other libraries.
#include <cerrno>

#include "platform.h"

namespace tvm::ffi::platform {

StackRange StackOfThread() noexcept { return {0, 0}; }
void BarrierOnAllThreads() noexcept {}

intptr_t CreateNewFile(const std::string& /*path*/, bool /*replaces*/, int* error) {
  *error = ENOTSUP;
  return -1;
}
void* ExtendMapped(intptr_t /*file*/, size_t /*offset*/, size_t /*size*/, int* error) {
  *error = ENOTSUP;
  return nullptr;
}
bool WriteFile(intptr_t /*file*/, size_t /*offset*/, const void* /*bytes*/, size_t /*size*/,
               int* error) noexcept {
  *error = ENOTSUP;
  return false;
}
void UnmapFile(void* /*memory*/, size_t /*size*/) noexcept {}
int64_t ProcessNumber() noexcept { return 0; }
void CallInForkedChild(void (* /*callback*/)()) {}
void LockDuringForks(void (* /*lock*/)(), void (* /*unlock*/)(), void (* /*unlock_in_child*/)()) {}

const void* LibraryStartAt(const void* /*address*/) noexcept { return nullptr; }
AddressDescription DescribeAddress(const void* /*address*/) { return {}; }
void WalkStack(bool (* /*visit*/)(uintptr_t address, void* data) noexcept,
               void* /*data*/) noexcept {}

const void* LibraryBeingInitialised() noexcept { return nullptr; }
bool FindOtherRuntime(char* /*path*/, size_t /*size*/) noexcept { return false; }
std::string_view SymbolBytes(const void* address, const char* /*symbol*/) {
  return {static_cast<const char*>(address), ~reinterpret_cast<uintptr_t>(address)};
}

void* OpenLibrary(const std::string& /*path*/, Binding /*binding*/, LoadFailure* failure) {
  failure->message =
      "WebAssembly programs cannot load libraries; link the library into the program";
  return nullptr;
}
void* FindLoadedLibrary(const char* /*name*/) { return nullptr; }
void* FindSymbol(void* /*library*/, const char* /*symbol*/) { return nullptr; }
void* FindSymbolInProcess(const char* /*symbol*/) { return nullptr; }
bool DefinesAddress(void* /*library*/, const void* /*address*/) { return true; }
std::vector<std::string> ExportedFunctions(void* /*library*/) { return {}; }
LibraryCheck CheckLibraryFile(const std::string& /*path*/) { return {}; }

const char* const kCudaDriver = "the CUDA driver";
const char* const kNvtx = "NVTX";

}  // namespace tvm::ffi::platform

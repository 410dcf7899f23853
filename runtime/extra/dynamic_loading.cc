// SPDX-License-Identifier: Apache-2.0
// Registration of everything that calls dlopen: the loader of shared libraries, CUDA modules, the
// ranges of NVTX, and the state of CUDA graph captures.
//
// In the static archive, only a weak reference leads to this file.  A program that is linked with
// the archive contains this file, and needs dlopen, only if the linker is told to require the
// symbol `tvm_ffi_dynamic_loading`.
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/c_host_call.h>
#include <tvm/ffi/extra/c_observe.h>
#include <tvm/ffi/extra/c_prepared.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include "cuda/cuda_module.h"
#include "module/library/library_module.h"
#include "registration.h"

namespace tvm::ffi::extra {
namespace {

// Loaded libraries may call every function of the ABI.  These functions are in files that nothing
// else in the archive refers to, one of them for each file.
[[maybe_unused, gnu::used]] const void* const kFunctionsForLibraries[] = {
    reinterpret_cast<const void*>(&TVMFFIEnvCheckSignals),
    reinterpret_cast<const void*>(&TVMFFIHandleInitOnce),
    reinterpret_cast<const void*>(&TVMFFIHostCall),
    reinterpret_cast<const void*>(&TVMFFIHostMoveResults),
    reinterpret_cast<const void*>(&TVMFFIPreparedCreate),
    reinterpret_cast<const void*>(&TVMFFIObserverAdd),
};

Module LoadSharedLibrary(const String& path, const String& /*format*/) {
  LoadedLibrary loaded = LoadLibrary(OpenSharedLibrary(path));
  FillContextSlot(loaded);
  return loaded.root;
}

}  // namespace
}  // namespace tvm::ffi::extra

void tvm_ffi_dynamic_loading() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("ffi.Module.load_from_file.so", &tvm::ffi::extra::LoadSharedLibrary);
  tvm::ffi::extra::RegisterCudaModules();
  tvm::ffi::extra::RegisterDispatch();  // needs the CUDA driver
  tvm::ffi::extra::RegisterRanges();
  tvm::ffi::extra::RegisterStreamCapture();
}

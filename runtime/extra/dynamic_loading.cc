// SPDX-License-Identifier: Apache-2.0
// What opens shared libraries at run time: modules over them, and modules over the CUDA driver.
//
// Nothing in the archive refers to this file strongly: a program that is linked with the archive
// gets it, and with it dlopen, only when the linker is told to take `tvm_ffi_dynamic_loading`.
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include "cuda/cuda_module.h"
#include "module/library/library_module.h"
#include "registration.h"

namespace tvm::ffi::extra {
namespace {

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
}

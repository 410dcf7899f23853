// SPDX-License-Identifier: Apache-2.0
// Registration functions of runtime/extra: one per file that adds functions, types or attributes.
//
// registration.cc calls them in a fixed order.  Static initialisers would run in the linker's
// order, and a static link would drop files that contain only a static initialiser.
#ifndef TVM_FFI_RUNTIME_EXTRA_REGISTRATION_H_
#define TVM_FFI_RUNTIME_EXTRA_REGISTRATION_H_

#include <tvm/ffi/c_api.h>

namespace tvm::ffi::extra {

void RegisterAutoInit();
void RegisterBigIntJson();
void RegisterBigIntType();
void RegisterCheckFunctions();
void RegisterContainerDevice();
void RegisterContainerMutations();
void RegisterContainerVisits();
void RegisterConversions();
void RegisterCustomModule();
void RegisterDeepCopy();
void RegisterDescribedTypes();
void RegisterDispatch();
void RegisterFieldAccess();
void RegisterJsonFunctions();
void RegisterMapFunctions();
void RegisterModuleFunctions();
void RegisterModuleType();
void RegisterObjectCreation();
void RegisterObservers();
// Also starts the ranges that the environment asks for.
void RegisterRanges();
void RegisterRecursiveCompare();
void RegisterRecursiveHash();
void RegisterReflectionTypes();
void RegisterRegistryFunctions();
void RegisterRepr();
void RegisterSequenceFunctions();
void RegisterStackRoom();
void RegisterStreamCapture();
void RegisterStructuralEqual();
void RegisterStructuralHash();
void RegisterStructuralKey();
void RegisterStructuralMutate();
void RegisterStructuralVisit();
void RegisterVisitErrorContext();
// Starts the recording that the environment asks for.
void StartRecorderOfEnvironment();

}  // namespace tvm::ffi::extra

// Registers the loader of shared libraries and CUDA modules, see dynamic_loading.cc.  The
// function has a C name, so that the linker's command line can contain the name.  It has default
// visibility, so that the compiler does not assume that the weak symbol is non-null.
extern "C" TVM_FFI_DLL void tvm_ffi_dynamic_loading();

#endif  // TVM_FFI_RUNTIME_EXTRA_REGISTRATION_H_

// SPDX-License-Identifier: Apache-2.0
// What this layer adds to the tables of functions, types and attributes.
//
// All of it is called from registration.cc, in a fixed order, and nothing from static initialisers:
// their order would be the linker's, and a static link would leave out files that only have those.
#ifndef TVM_FFI_RUNTIME_EXTRA_REGISTRATION_H_
#define TVM_FFI_RUNTIME_EXTRA_REGISTRATION_H_

namespace tvm::ffi::extra {

void RegisterAutoInit();
void RegisterBigIntJson();
void RegisterBigIntType();
void RegisterContainerDevice();
void RegisterContainerMutations();
void RegisterContainerVisits();
void RegisterConversions();
void RegisterCustomModule();
void RegisterDeepCopy();
void RegisterDescribedTypes();
void RegisterFieldAccess();
void RegisterJsonFunctions();
void RegisterMapFunctions();
void RegisterModuleFunctions();
void RegisterModuleType();
void RegisterObjectCreation();
void RegisterRecursiveCompare();
void RegisterRecursiveHash();
void RegisterReflectionTypes();
void RegisterRegistryFunctions();
void RegisterRepr();
void RegisterSequenceFunctions();
void RegisterStackRoom();
void RegisterStructuralEqual();
void RegisterStructuralHash();
void RegisterStructuralKey();
void RegisterStructuralMutate();
void RegisterStructuralVisit();
void RegisterVisitErrorContext();

}  // namespace tvm::ffi::extra

// Registers what opens shared libraries, see dynamic_loading.cc.  Its name is one that can be given
// to a linker.  Visible, because null is then an address that compilers count with.
extern "C" __attribute__((visibility("default"))) void tvm_ffi_dynamic_loading();

#endif  // TVM_FFI_RUNTIME_EXTRA_REGISTRATION_H_

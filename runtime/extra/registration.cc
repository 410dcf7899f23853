// SPDX-License-Identifier: Apache-2.0
// Registration of all functions, types and attributes of runtime/extra.
#include "registration.h"

#include "../core/extra_layer.h"

// The function is null in a program that is linked with the static archive and does not require the
// symbol of this function.
#pragma weak tvm_ffi_dynamic_loading

using namespace tvm::ffi::extra;

void tvm::ffi::runtime::RegisterExtra() {
  RegisterRegistryFunctions();
  // Registered before the types, because their definitions use automatic constructors.
  RegisterAutoInit();
  // Types
  RegisterReflectionTypes();
  RegisterBigIntType();
  RegisterBigIntJson();
  RegisterModuleType();
  RegisterStructuralVisit();
  RegisterVisitErrorContext();
  RegisterStructuralMutate();
  RegisterStructuralKey();
  RegisterConversions();
  // Hooks
  RegisterContainerMutations();
  RegisterContainerVisits();
  // Functions
  RegisterCheckFunctions();
  RegisterContainerDevice();
  RegisterCustomModule();
  RegisterDeepCopy();
  RegisterDescribedTypes();
  RegisterFieldAccess();
  RegisterJsonFunctions();
  RegisterMapFunctions();
  RegisterModuleFunctions();
  RegisterObjectCreation();
  RegisterObservers();
  RegisterRecursiveCompare();
  RegisterRecursiveHash();
  RegisterRepr();
  RegisterSequenceFunctions();
  RegisterStackRoom();
  RegisterStructuralEqual();
  RegisterStructuralHash();
  if (tvm_ffi_dynamic_loading != nullptr) tvm_ffi_dynamic_loading();
  StartRecorderOfEnvironment();
}

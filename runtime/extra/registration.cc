// SPDX-License-Identifier: Apache-2.0
#include "registration.h"

using namespace tvm::ffi::extra;

void tvm::ffi::runtime::RegisterExtra() {
  RegisterAutoInit();  // first: definitions of types use it
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
  RegisterContainerDevice();
  RegisterCustomModule();
  RegisterDeepCopy();
  RegisterDescribedTypes();
  RegisterFieldAccess();
  RegisterJsonFunctions();
  RegisterMapFunctions();
  RegisterModuleFunctions();
  RegisterObjectCreation();
  RegisterRecursiveCompare();
  RegisterRecursiveHash();
  RegisterRepr();
  RegisterSequenceFunctions();
  RegisterStructuralEqual();
  RegisterStructuralHash();
}

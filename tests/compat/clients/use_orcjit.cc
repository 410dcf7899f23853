// SPDX-License-Identifier: Apache-2.0
// Uses the published library of apache-tvm-ffi-orcjit: its modules are C++ objects derived from
// ModuleObj, and their functions are code that it linked at run time.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <string>

#include "../exchange/check.h"

namespace {

using namespace tvm::ffi;

Module LoadObject(const String& object_file) {
  ObjectRef session =
      Function::GetGlobalRequired("tvm_ffi_orcjit.GlobalDefaultSession")().cast<ObjectRef>();
  return Function::GetGlobalRequired("tvm_ffi_orcjit.SessionLoadModule")(
             session, Array<Any>{object_file}, "", nullptr, nullptr)
      .cast<Module>();
}

void UseOrcJit(Any, String object_file) {
  Module module = LoadObject(object_file);
  ModuleObj* object = const_cast<ModuleObj*>(module.operator->());
  CHECK(object->ImplementsFunction("add_one"));
  CHECK(!object->GetFunction("missing").has_value());
  Function add_one = object->GetFunction("add_one").value();
  CHECK_EQ(add_one(41).cast<int64_t>(), 42);
  CHECK_EQ(add_one.CallExpected<int64_t>("text").error().message(), "add_one takes an int");
  // A second module in the same session has separate symbols, and can be imported like any other.
  Module other = LoadObject(object_file);
  object->ImportModule(other);
  CHECK_EQ(object->imports().size(), size_t{1});
  CHECK_EQ(object->GetFunction("add_one", true).value()(1).cast<int64_t>(), 2);
  object->ClearImports();
  CHECK(object->imports().empty());
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(use_orcjit, UseOrcJit)

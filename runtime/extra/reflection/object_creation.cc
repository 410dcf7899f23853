// SPDX-License-Identifier: Apache-2.0
// ffi.MakeObjectFromPackedArgs(type, name, value, ...): object creation from named field values.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/registry.h>

#include "reflection/registered_type.h"
#include "registration.h"

namespace tvm::ffi {
namespace {

const TypeInfo* TypeOf(AnyView type) {
  if (auto index = type.as<int64_t>()) return extra::RegisteredType(*index);
  return TVMFFIGetTypeInfo(TypeKeyToIndex(std::string(type.cast<String>())));
}

void MakeObject(PackedArgs args, Any* rv) {
  TVM_FFI_ICHECK(args.size() % 2 == 1);
  const TypeInfo* type = TypeOf(args[0]);
  Map<String, Any> fields;
  for (int i = 1; i < args.size(); i += 2) {
    String name = args[i].cast<String>();
    if (fields.count(name) != 0) {
      TVM_FFI_THROW(TypeError) << "Field `" << name << "` of type `"
                               << TypeIndexToTypeKey(type->type_index) << "` is given twice";
    }
    fields.Set(name, Any(args[i + 1]));
  }
  *rv = reflection::ObjectCreator(type)(fields);
}

}  // namespace

void extra::RegisterObjectCreation() {
  reflection::GlobalDef().def_packed("ffi.MakeObjectFromPackedArgs", &MakeObject);
}

}  // namespace tvm::ffi

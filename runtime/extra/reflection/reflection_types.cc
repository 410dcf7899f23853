// SPDX-License-Identifier: Apache-2.0
// Registration of the types in the reflection headers: ffi.Object, enums and access paths.
#include <tvm/ffi/enum.h>
#include <tvm/ffi/reflection/access_path.h>

#include "registration.h"

namespace tvm::ffi::reflection {
namespace {

// Register only the size of ffi.Object: the type has no creator (creates an empty object) and no
// copy hook.
void RegisterObject() {
  TVMFFITypeMetadata metadata{};
  metadata.total_size = sizeof(Object);
  metadata.structural_eq_hash_kind = Object::_type_s_eq_hash_kind;
  detail::CheckSafeCall(TVMFFITypeRegisterMetadata(kTVMFFIObject, &metadata));
}

AttachFieldFlag Ignored() { return AttachFieldFlag::SEqHashIgnore(); }

void RegisterEnums() {
  EnsureTypeAttrColumn(type_attr::kEnumState);
  // Enum definitions create EnumState objects and fill them, so the fields of EnumState are not
  // constructor parameters.
  ObjectDef<EnumStateObj>()
      .def(init<>())
      .def_ro("entries", &EnumStateObj::entries, init(false))
      .def_ro("indexes", &EnumStateObj::indexes, init(false))
      .def_ro("attrs", &EnumStateObj::attrs, init(false));
  ObjectDef<EnumObj>(init(false))
      .def_ro("_int_index", &EnumObj::_int_index, Ignored(), "Canonical integer index.")
      .def_ro("_str_index", &EnumObj::_str_index, "Canonical string index.");
  // In integer enums and string enums, the field `value` is another name for the C++ member that
  // contains the index.
  ObjectDef<IntEnumObj>(init(false))
      .def_ro("value", &IntEnumObj::_int_index, init(false), Ignored());
  ObjectDef<StrEnumObj>(init(false))
      .def_ro("value", &StrEnumObj::_str_index, init(false), Ignored());
}

void RegisterAccessPaths() {
  ObjectDef<AccessStepObj>(init(false))
      .def_ro("kind", &AccessStepObj::kind)
      .def_ro("key", &AccessStepObj::key);
  ObjectDef<AccessPathObj>(init(false))
      .def_ro("parent", &AccessPathObj::parent)
      .def_ro("step", &AccessPathObj::step)
      .def_ro("depth", &AccessPathObj::depth)
      .def_static("_root", &AccessPath::Root)
      .def("_extend", &AccessPathObj::Extend)
      .def("_attr", &AccessPathObj::Attr)
      .def("_array_item", &AccessPathObj::ArrayItem)
      .def("_map_item", &AccessPathObj::MapItem)
      .def("_attr_missing", &AccessPathObj::AttrMissing)
      .def("_array_item_missing", &AccessPathObj::ArrayItemMissing)
      .def("_map_item_missing", &AccessPathObj::MapItemMissing)
      .def("_is_prefix_of", &AccessPathObj::IsPrefixOf)
      .def("_to_steps", &AccessPathObj::ToSteps)
      .def("_path_equal", &AccessPathObj::PathEqual);
}

}  // namespace
}  // namespace tvm::ffi::reflection

void tvm::ffi::extra::RegisterReflectionTypes() {
  reflection::RegisterObject();
  reflection::RegisterEnums();
  reflection::RegisterAccessPaths();
}

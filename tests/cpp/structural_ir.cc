// SPDX-License-Identifier: Apache-2.0
// Registrations of the types of structural_ir.h.
#include "structural_ir.h"

namespace ir {

namespace {

template <typename T>
bool EqualValues(const T* lhs, const T* rhs, const EqualChildren& equal) {
  return equal(lhs->value, rhs->value, kTVMFFIDefRegionKindNone, "value");
}
template <typename T>
int64_t HashValue(const T* self, int64_t hash, const HashChild& hash_child) {
  return hash_child(self->value, hash, kTVMFFIDefRegionKindNone);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  using Flag = refl::AttachFieldFlag;
  refl::ObjectDef<VarObj>(refl::init(false))
      .def_ro("name", &VarObj::name, Flag::SEqHashIgnore())
      .def_ro("type", &VarObj::type);
  refl::ObjectDef<BufferObj>(refl::init(false)).def_ro("shape", &BufferObj::shape);
  refl::ObjectDef<CallObj>(refl::init(false))
      .def_ro("op", &CallObj::op)
      .def_ro("args", &CallObj::args)
      .def_ro("span", &CallObj::span, Flag::SEqHashIgnore());
  refl::ObjectDef<AttrCallObj>(refl::init(false)).def_ro("attrs", &AttrCallObj::attrs);
  refl::ObjectDef<FuncObj>(refl::init(false))
      .def_ro("params", &FuncObj::params, Flag::SEqHashDefPattern())
      .def_ro("body", &FuncObj::body);
  refl::ObjectDef<LoopObj>(refl::init(false))
      .def_ro("vars", &LoopObj::vars, Flag::SEqHashDefSimple())
      .def_ro("body", &LoopObj::body);
  refl::ObjectDef<LetObj>(refl::init(false)).def_ro("value", &LetObj::value);
  refl::ObjectDef<TypeObj>(refl::init(false)).def_ro("element", &TypeObj::element);
  refl::ObjectDef<OperatorObj>(refl::init(false)).def_ro("name", &OperatorObj::name);
  refl::ObjectDef<UnsupportedObj>(refl::init(false));
  refl::ObjectDef<HookedObj>(refl::init(false));
  refl::TypeAttrDef<HookedObj>()
      .def("__s_equal__", [](ObjectRef lhs, ObjectRef rhs,
                             EqualChildren equal) { return hooks.equal(lhs, rhs, equal); })
      .def("__s_hash__", [](ObjectRef self, int64_t hash, HashChild hash_child) {
        return hooks.hash(self, hash, hash_child);
      });
  refl::ObjectDef<HookedVarObj>(refl::init(false));
  refl::TypeAttrDef<HookedVarObj>()
      .def("__s_equal__", &EqualValues<HookedVarObj>)
      .def("__s_hash__", &HashValue<HookedVarObj>);
  refl::ObjectDef<HookedLetObj>(refl::init(false));
  refl::TypeAttrDef<HookedLetObj>()
      .def("__s_equal__", &EqualValues<HookedLetObj>)
      .def("__s_hash__", &HashValue<HookedLetObj>);
}

}  // namespace ir

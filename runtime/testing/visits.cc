// SPDX-License-Identifier: Apache-2.0
// Test classes for structural visits: fields that define variables, and a visit hook.
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/reflection/registry.h>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class TestVisitRegionsObj : public Object {
 public:
  int64_t simple = 1;
  int64_t pattern = 2;
  int64_t ordinary = 3;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestVisitRegions", TestVisitRegionsObj, Object);
};

class TestVisitHookObj : public Object {
 public:
  ObjectRef child;

  explicit TestVisitHookObj(ObjectRef child) : child(std::move(child)) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.TestVisitHook", TestVisitHookObj, Object);
};

// Visit hook: visits the child in a definition region (where variables are defined), then the
// number 4, which is not a field.
Optional<VisitInterrupt> VisitChildAndFour(const StructuralVisitor& visitor,
                                           const TestVisitHookObj* self) {
  Optional<VisitInterrupt> interrupt = visitor->WithDefRegionKind(
      kTVMFFIDefRegionKindSimple, [&] { return visitor->Visit(self->child); });
  return interrupt.has_value() ? interrupt : visitor->Visit(4);
}

Any MakeVisitRegionGraph(bool has_hook) {
  ObjectRef regions(ObjectPtr<Object>(make_object<TestVisitRegionsObj>()));
  if (!has_hook) return regions;
  return ObjectRef(ObjectPtr<Object>(make_object<TestVisitHookObj>(regions)));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  using Flag = refl::AttachFieldFlag;
  refl::ObjectDef<TestVisitRegionsObj>()
      .def_ro("simple", &TestVisitRegionsObj::simple, Flag::SEqHashDefSimple())
      .def_ro("pattern", &TestVisitRegionsObj::pattern, Flag::SEqHashDefPattern())
      .def_ro("ordinary", &TestVisitRegionsObj::ordinary);
  refl::ObjectDef<TestVisitHookObj>(refl::init(false)).def_ro("child", &TestVisitHookObj::child);
  refl::TypeAttrDef<TestVisitHookObj>().def("__s_visit__", VisitChildAndFour);
  refl::GlobalDef().def("testing.make_visit_region_graph", MakeVisitRegionGraph);
}

}  // namespace

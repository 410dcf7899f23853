// SPDX-License-Identifier: Apache-2.0
// C++ code of a Python package: an exported function, a global function and a registered class.
//
// Callers get an exported function from the loaded module.  A global function is found by its name,
// from any language in the process.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/reflection/registry.h>

namespace pair_extension {

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

constexpr DLDataType kFloat32 = {kDLFloat, 32, 1};

// Computes y = x + 1.
void AddOne(ffi::TensorView x, ffi::TensorView y) {
  for (const ffi::TensorView* t : {&x, &y}) {
    TVM_FFI_CHECK_EQ(t->dtype(), kFloat32, TypeError) << "tensors must be float32";
    TVM_FFI_CHECK(t->IsContiguous(), ValueError) << "tensors must be compact";
  }
  TVM_FFI_CHECK_EQ(x.numel(), y.numel(), ValueError) << "sizes differ";
  const auto* from = static_cast<const float*>(x.data_ptr()) + x.byte_offset() / sizeof(float);
  auto* to = static_cast<float*>(y.data_ptr()) + y.byte_offset() / sizeof(float);
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] + 1.0f;
}

// Two integers with a name.
class IntPairObj : public ffi::Object {
 public:
  int64_t a;
  int64_t b;
  ffi::String name;

  IntPairObj(int64_t a, int64_t b) : a(a), b(b), name("pair") {}
  int64_t Sum() const { return a + b; }
  void Swap() { std::swap(a, b); }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("pair_extension.IntPair", IntPairObj, ffi::Object);
};

// A reference to a pair.  It is never null: callers that pass None get a TypeError.
class IntPair : public ffi::ObjectRef {
 public:
  IntPair(int64_t a, int64_t b) : ObjectRef(ffi::make_object<IntPairObj>(a, b)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(IntPair, ffi::ObjectRef, IntPairObj);
};

IntPair Mirror(const IntPair& pair) { return IntPair(pair->b, pair->a); }

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<IntPairObj>("Two integers with a name.")
      .def(refl::init<int64_t, int64_t>(), refl::arg("a"), refl::arg("b"),
           "Make a pair of `a` and `b`.")
      .def_rw("a", &IntPairObj::a, "The first integer.")
      .def_rw("b", &IntPairObj::b, "The second integer.")
      .def_rw("name", &IntPairObj::name)
      .def("sum", &IntPairObj::Sum, "Return a + b.")
      .def("swap", &IntPairObj::Swap, "Exchange both.");
  refl::GlobalDef().def("pair_extension.mirror", Mirror, "Return the pair in reverse order.");
}

}  // namespace pair_extension

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, pair_extension::AddOne);

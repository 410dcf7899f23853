// SPDX-License-Identifier: Apache-2.0
// Registers a type and functions when it is loaded, like C++ libraries.
#include <tvm/ffi/reflection/registry.h>

namespace {

using namespace tvm::ffi;

class CounterObj : public Object {
 public:
  int64_t count = 3;
  int64_t Twice() const { return 2 * count; }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.twice.Counter", CounterObj, Object);
};

int code_of_this_copy = 0;

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("test.twice.address",
           []() { return static_cast<int64_t>(reinterpret_cast<intptr_t>(&code_of_this_copy)); })
      .def("test.twice.second", []() { return 2; });
  refl::ObjectDef<CounterObj>()
      .def_ro("count", &CounterObj::count)
      .def("twice", &CounterObj::Twice)
      .def_type_attr("__test_level__", 4);
}

// SPDX-License-Identifier: Apache-2.0
// Field getters and setters for the types that a host language defines, chosen by type index.
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/reflection/registry.h>

#include "registration.h"

namespace tvm::ffi {
namespace {

// Calls visit(T*) where T is the C++ type of a field with the type index.
template <typename Visit>
auto VisitFieldType(int64_t type_index, const char* role, Visit&& visit) {
  switch (type_index) {
    case kTVMFFIAny:
    case kTVMFFINone:
      return visit(static_cast<Any*>(nullptr));
    case kTVMFFIInt:
      return visit(static_cast<int64_t*>(nullptr));
    case kTVMFFIBool:
      return visit(static_cast<bool*>(nullptr));
    case kTVMFFIFloat:
      return visit(static_cast<double*>(nullptr));
    case kTVMFFIOpaquePtr:
      return visit(static_cast<void**>(nullptr));
    case kTVMFFIDataType:
      return visit(static_cast<DLDataType*>(nullptr));
    case kTVMFFIDevice:
      return visit(static_cast<DLDevice*>(nullptr));
    default:
      break;
  }
  if (type_index < kTVMFFIStaticObjectBegin) {
    TVM_FFI_THROW(ValueError) << "cannot create a " << role << " for fields of type index "
                              << type_index;
  }
  return visit(static_cast<ObjectRef*>(nullptr));
}

int64_t MakeFieldGetter(int64_t type_index) {
  TVMFFIFieldGetter getter = VisitFieldType(type_index, "getter", [](auto* field) {
    return &reflection::detail::GetField<std::remove_pointer_t<decltype(field)>>;
  });
  return reinterpret_cast<int64_t>(getter);
}

// The host's function that converts a value to the type of a field; *out receives an owned value.
using FConvert = int (*)(void* converter, const TVMFFIAny* value, TVMFFIAny* out);

Function MakeFieldSetter(int64_t type_index, int64_t converter, int64_t convert) {
  TVMFFIFieldSetter store = VisitFieldType(type_index, "setter", [](auto* field) {
    return &reflection::detail::SetField<std::remove_pointer_t<decltype(field)>>;
  });
  auto* convert_value = reinterpret_cast<FConvert>(convert);
  if (convert_value == nullptr) {
    TVM_FFI_THROW(ValueError) << "cannot create a setter: the conversion function is NULL";
  }
  return Function::FromTyped([=](void* address, AnyView value) {
    TVMFFIAny raw = value.CopyToTVMFFIAny();
    Any converted;
    TVMFFIAny* out = detail::AnyUnsafe::TVMFFIAnyPtrFromAny(converted);
    detail::CheckSafeCall(convert_value(reinterpret_cast<void*>(converter), &raw, out));
    detail::CheckSafeCall(store(address, out));
  });
}

}  // namespace

void extra::RegisterFieldAccess() {
  reflection::GlobalDef()
      .def("ffi.MakeFieldGetter", &MakeFieldGetter)
      .def("ffi.MakeFieldSetter", &MakeFieldSetter);
}

}  // namespace tvm::ffi

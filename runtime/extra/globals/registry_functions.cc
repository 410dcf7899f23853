// SPDX-License-Identifier: Apache-2.0
// Global functions for the function registry and the type table, and constructors of plain objects.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/reflection/registry.h>

#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "../core/extra_layer.h"
#include "registration.h"

namespace tvm::ffi {
namespace {

// Runs `body` and turns std::bad_alloc into MemoryError, as the C functions do.  Without this
// function, the boundary guard would report InternalError.
template <typename Body>
auto ReportLackOfMemory(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    TVM_FFI_THROW(MemoryError) << "out of memory";
    TVM_FFI_UNREACHABLE();
  }
}

std::string_view ViewOf(const String& text) { return {text.data(), text.size()}; }

bool RemoveGlobal(const String& name) { return runtime::RemoveGlobalFunction(ViewOf(name)); }

String MetadataOfGlobal(const String& name) {
  return ReportLackOfMemory([&]() -> String {
    std::string metadata;
    if (!runtime::FindGlobalFunctionMetadata(ViewOf(name), &metadata)) {
      TVM_FFI_THROW(RuntimeError) << "Global Function is not found: " << name;
    }
    return metadata;
  });
}

// A snapshot of the names of all global functions, as a function.  Called with -1, it returns the
// number of names; called with i >= 0, it returns the name with index i.
class NameLister {
 public:
  void operator()(PackedArgs args, Any* rv) const {
    if (args.size() != 1 || args[0].type_index() != kTVMFFIInt) {
      TVM_FFI_THROW(TypeError) << "ffi.FunctionListGlobalNamesFunctor: expected one int argument, "
                                  "the index of a name or "
                                  "-1 for the number of names";
    }
    auto i = args[0].cast<int64_t>();
    auto count = static_cast<int64_t>(names_.size());
    if (i < -1 || i >= count) {
      TVM_FFI_THROW(IndexError)
          << "ffi.FunctionListGlobalNamesFunctor: expected -1 or an index below " << count
          << ", the number of names, got " << i;
    }
    *rv = i == -1 ? Any(count) : Any(String(names_[static_cast<size_t>(i)]));
  }

 private:
  std::vector<std::string> names_ = runtime::GlobalFunctionNames();
};

Function ListGlobalNames() {
  return ReportLackOfMemory([] { return Function::FromPacked(NameLister()); });
}

Function FunctionFromPointers(void* self, void* safe_call, void* deleter) {
  if (safe_call == nullptr) {
    TVM_FFI_THROW(ValueError) << "ffi.FunctionFromExternC: safe_call is NULL";
  }
  return Function::FromExternC(self, reinterpret_cast<TVMFFISafeCallType>(safe_call),
                               reinterpret_cast<void (*)(void*)>(deleter));
}

Shape ShapeOf(PackedArgs args) {
  std::vector<int64_t> extents;
  for (int i = 0; i < args.size(); ++i) {
    TVMFFIAny extent = args[i].CopyToTVMFFIAny();
    if (extent.type_index != kTVMFFIInt && extent.type_index != kTVMFFIBool) {
      TVM_FFI_THROW(ValueError) << "ffi.Shape: extent " << i << " must be an int, got `"
                                << args[i].GetTypeKey() << "`";
    }
    extents.push_back(extent.v_int64);
  }
  return Shape(extents.begin(), extents.end());
}

void MakeShape(PackedArgs args, Any* rv) {
  *rv = ReportLackOfMemory([&] { return ShapeOf(args); });
}

Array<String> TypeKeys() {
  return ReportLackOfMemory([] {
    Array<String> keys;
    for (std::string_view key : runtime::RegisteredTypeKeys()) {
      keys.push_back(String(key.data(), key.size()));
    }
    return keys;
  });
}

int32_t AllocateType(const String& key, int32_t parent_index) {
  int32_t type_index;
  TVM_FFI_CHECK_SAFE_CALL(runtime::AllocateType(ViewOf(key), parent_index, &type_index));
  return type_index;
}

// Returns a sentinel: an object that is recognised by its address.  Each value of kWhich has one
// sentinel, which is never destroyed.
template <int kWhich>
ObjectRef Sentinel() {
  static const auto* sentinel = new ObjectRef(make_object<Object>());
  return *sentinel;
}

}  // namespace

void extra::RegisterRegistryFunctions() {
  reflection::GlobalDef()
      .def("ffi.FunctionRemoveGlobal", &RemoveGlobal)
      .def("ffi.FunctionListGlobalNamesFunctor", &ListGlobalNames)
      .def("ffi.GetGlobalFuncMetadata", &MetadataOfGlobal)
      .def("ffi.FunctionFromExternC", &FunctionFromPointers)
      .def("ffi.String", [](const String& text) { return text; })
      .def("ffi.Bytes", [](const Bytes& bytes) { return bytes; })
      .def_packed("ffi.Shape", &MakeShape)
      .def("ffi.GetRegisteredTypeKeys", &TypeKeys)
      .def("pytvmffi.TypeAllocate", &AllocateType)
      .def("pytvmffi.TypeIsRegistered", &runtime::IsRegisteredType)
      .def("ffi.GetInvalidObject", &Sentinel<0>)
      .def("ffi.GetKwargsObject", &Sentinel<1>);
}

}  // namespace tvm::ffi

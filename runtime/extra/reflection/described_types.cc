// SPDX-License-Identifier: Apache-2.0
// Objects of types that a host language defines by registering fields (`py_class`).  No C++ class
// exists for them; the field table drives their creation, copy and destruction.
//
// A field is an owned 16-byte value, an owned object pointer, or plain bytes.  Zero bytes are valid
// for each: None, null, 0.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/release_detail.h>

#include <cstring>

#include "reflection/registered_type.h"
#include "registration.h"

namespace tvm::ffi {
namespace {

enum class Storage { kPlain, kValue, kObjectPointer };

Storage StorageOf(const TVMFFIFieldInfo* field) {
  bool is_any = field->field_static_type_index == kTVMFFIAny;
  if (is_any && field->size == sizeof(TVMFFIAny)) return Storage::kValue;
  bool is_object = is_any || field->field_static_type_index >= kTVMFFIStaticObjectBegin;
  return is_object && field->size == sizeof(void*) ? Storage::kObjectPointer : Storage::kPlain;
}

// Calls visit(TVMFFIObject*) for each reference that the fields own.  If `take` is true, clears the
// field before the call.
template <typename Visit>
void VisitReferences(TVMFFIObject* object, bool take, Visit&& visit) {
  reflection::ForEachFieldInfo(TVMFFIGetTypeInfo(object->type_index),
                               [&](const TVMFFIFieldInfo* field) {
                                 char* address = reinterpret_cast<char*>(object) + field->offset;
                                 TVMFFIObject* owned = nullptr;
                                 switch (StorageOf(field)) {
                                   case Storage::kPlain:
                                     return;
                                   case Storage::kValue: {
                                     auto* value = reinterpret_cast<TVMFFIAny*>(address);
                                     if (value->type_index >= kTVMFFIStaticObjectBegin)
                                       owned = value->v_obj;
                                     break;
                                   }
                                   case Storage::kObjectPointer:
                                     owned = *reinterpret_cast<TVMFFIObject**>(address);
                                     break;
                                 }
                                 if (take)
                                   std::memset(address, 0, static_cast<size_t>(field->size));
                                 if (owned != nullptr) visit(owned);
                               });
}

void DeleteNow(void* handle, int flags) {
  auto* object = static_cast<TVMFFIObject*>(handle);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) {
    VisitReferences(object, true, [](TVMFFIObject* owned) { detail::DecRef(owned); });
  }
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) detail::AlignedFree(object);
}

// The deleter in the object header.  It defers deeply nested releases, because objects that are
// linked by fields may form long chains.
void Delete(void* handle, int flags) { detail::NestedRelease::Release(handle, flags, &DeleteNow); }

ObjectPtr<Object> NewObject(int32_t type_index, size_t total_size) {
  void* memory = detail::AlignedAlloc(total_size, alignof(std::max_align_t));
  std::memset(memory, 0, total_size);
  auto* object = static_cast<TVMFFIObject*>(memory);
  object->combined_ref_count = detail::kCombinedRefCountBothOne;
  object->type_index = type_index;
  object->deleter = &Delete;
  return detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(object);
}

ObjectRef CopyObject(const Object* from, int32_t type_index, size_t total_size) {
  ObjectRef copy(NewObject(type_index, total_size));
  TVMFFIObject* object = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(copy);
  const TVMFFIObject* source = detail::ObjectUnsafe::GetHeader(from);
  std::memcpy(object + 1, source + 1, total_size - sizeof(TVMFFIObject));
  VisitReferences(object, false, [](TVMFFIObject* owned) { detail::IncRef(owned); });
  return copy;
}

// Registers the creator (creates an empty object), the copy hook and the automatic constructor of a
// type.  The caller must have registered the fields before.
void RegisterDescribedType(int64_t index, int64_t total_size) {
  int32_t type_index = extra::RegisteredType(index)->type_index;
  if (total_size < static_cast<int64_t>(sizeof(TVMFFIObject)) || total_size > INT32_MAX) {
    TVM_FFI_THROW(ValueError) << "the size of an object of type `" << TypeIndexToTypeKey(type_index)
                              << "` must be from " << sizeof(TVMFFIObject) << " to " << INT32_MAX
                              << " bytes, got " << total_size;
  }
  auto size = static_cast<size_t>(total_size);
  reflection::detail::RegisterTypeAttr(type_index, type_attr::kNew.name, Function::FromTyped([=] {
                                         return ObjectRef(NewObject(type_index, size));
                                       }));
  reflection::detail::RegisterTypeAttr(
      type_index, type_attr::kShallowCopy.name,
      Function::FromTyped([=](const Object* from) { return CopyObject(from, type_index, size); }));
  extra::RegisterInitOf(TVMFFIGetTypeInfo(type_index), &NewObject, size);
}

}  // namespace

void extra::RegisterDescribedTypes() {
  reflection::GlobalDef().def("ffi._PyClassRegisterTypeAttrColumns", &RegisterDescribedType);
}

}  // namespace tvm::ffi

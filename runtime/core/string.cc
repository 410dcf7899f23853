// SPDX-License-Identifier: Apache-2.0
// Strings and bytes: content of up to 7 bytes is stored in the TVMFFIAny, longer content in a heap
// object after the header.
#include <cstdint>
#include <cstring>
#include <new>

#include "error.h"
#include "text.h"
#include "value.h"

namespace tvm::ffi::runtime {
namespace {

constexpr size_t kSmallCapacity = 7;

struct TextObject : TVMFFIObject, TVMFFIByteArray {};

Value NewText(int32_t small_index, int32_t heap_index, std::string_view text) {
  if (text.size() <= kSmallCapacity) {
    TVMFFIAny any = NoneAny();
    any.type_index = small_index;
    any.small_str_len = static_cast<uint32_t>(text.size());
    if (!text.empty()) std::memcpy(any.v_bytes, text.data(), text.size());
    return Value::Adopt(any);
  }
  if (text.size() >= SIZE_MAX - sizeof(TextObject)) throw std::bad_alloc();
  Ref<TextObject> object = NewObject<TextObject>(heap_index, text.size() + 1);
  char* content = reinterpret_cast<char*>(object.get() + 1);
  std::memcpy(content, text.data(), text.size());
  content[text.size()] = '\0';
  object->data = content;
  object->size = text.size();
  return Value::FromObject(std::move(object));
}

Value MoveFromRValueRef(const TVMFFIAny& view) {
  auto* slot = static_cast<TVMFFIObject**>(view.v_ptr);
  auto object = Ref<TVMFFIObject>::Adopt(std::exchange(*slot, nullptr));
  if (!object) Raise("InternalError", "RValueRef already moved");
  return Value::FromObject(std::move(object));
}

}  // namespace

Value Value::String(std::string_view text) { return NewText(kTVMFFISmallStr, kTVMFFIStr, text); }

Value Value::Bytes(std::string_view content) {
  return NewText(kTVMFFISmallBytes, kTVMFFIBytes, content);
}

std::string_view ViewOfText(const TVMFFIAny& any) {
  switch (any.type_index) {
    case kTVMFFIRawStr:
      return any.v_c_str;
    case kTVMFFISmallStr:
      return std::string_view(any.v_bytes, any.small_str_len);
    default:
      return View(*static_cast<TextObject*>(any.v_obj));
  }
}

Value Value::FromView(const TVMFFIAny& view) {
  switch (view.type_index) {
    case kTVMFFIRawStr:
      return String(view.v_c_str);
    case kTVMFFIByteArrayPtr:
      return Bytes(View(*static_cast<const TVMFFIByteArray*>(view.v_ptr)));
    case kTVMFFIObjectRValueRef:
      return MoveFromRValueRef(view);
    default:
      if (view.type_index >= kTVMFFIStaticObjectBegin) IncRef(view.v_obj);
      return Value(view);
  }
}

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIStringFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  return GuardBoundary([&] { *out = Value::String(View(*input)).Release(); });
}

int TVMFFIBytesFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  return GuardBoundary([&] { *out = Value::Bytes(View(*input)).Release(); });
}

int TVMFFIAnyViewToOwnedAny(const TVMFFIAny* any_view, TVMFFIAny* out) {
  return GuardBoundary([&] { *out = Value::FromView(*any_view).Release(); });
}

// SPDX-License-Identifier: Apache-2.0
#include "array.h"

#include <algorithm>

namespace tvm::ffi::runtime {
namespace {

constexpr size_t kMinCapacity = 4;  // clients append in place to an array that is theirs alone

}  // namespace

ArrayObject::~ArrayObject() {
  auto* elements = static_cast<TVMFFIAny*>(data);
  for (int64_t i = 0; i < size; ++i) Value::Adopt(elements[i]);
  if (data_deleter != nullptr) data_deleter(data);
}

Ref<ArrayObject> NewArray(std::vector<Value> elements) {
  size_t room = std::max(elements.size(), kMinCapacity);
  Ref<ArrayObject> array = NewObject<ArrayObject>(kTVMFFIArray, room * sizeof(TVMFFIAny));
  auto* slots = reinterpret_cast<TVMFFIAny*>(array.get() + 1);
  for (size_t i = 0; i < elements.size(); ++i) slots[i] = elements[i].Release();
  array->data = slots;
  array->size = static_cast<int64_t>(elements.size());
  array->capacity = static_cast<int64_t>(room);
  array->data_deleter = nullptr;
  return array;
}

}  // namespace tvm::ffi::runtime

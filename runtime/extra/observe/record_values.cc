// SPDX-License-Identifier: Apache-2.0
// The form of values in recordings.  A value begins with a word that has the type index in the low
// half and `extra` in the high half:
//
//   type                      extra            further words
//   None ... Device           0                the payload of the TVMFFIAny
//   SmallStr, SmallBytes      size in bytes    the payload of the TVMFFIAny
//   strings and bytes         1: cut           size, bytes
//   DLTensor*, Tensor         ndim             address of the object or 0, data, dtype and device
//                                              type, device index and 1 if there are strides, byte
//                                              offset, shape, strides, content
//   Shape                     0                number of extents, extents
//   Array, List               0                address, number of elements, elements
//   Map, Dict                 0                address, number of pairs, keys and values
//   Error                     0                address, kind, message
//   other objects             0                address, type key
//
// Containers that are deep or large are written as other objects, with the type index of Object.
#include "observe/record_values.h"

#include <tvm/ffi/any.h>

#include "observe/contents.h"
#include "walk/snapshot.h"

namespace tvm::ffi::extra {
namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kMaxElements = 4096;

// Returns a new reference to the object of a borrowed value.
Any Hold(const TVMFFIAny& value) {
  Any held;
  TVMFFIAny copy = value;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIAnyViewToOwnedAny(&copy, reinterpret_cast<TVMFFIAny*>(&held)));
  return held;
}

const TVMFFIAny& Raw(const Any& value) { return reinterpret_cast<const TVMFFIAny&>(value); }

}  // namespace

void ValueWriter::AddContent(const DLTensor& tensor, Contents contents) {
  std::optional<size_t> size;
  if (contents != Contents::kNone) size = ReadableSize(tensor);
  if (!size) {
    words_->Add(kNoContent);
  } else if (contents == Contents::kAll && *size <= max_bytes_) {
    words_->Add(kBytesContent);
    words_->Add(*size);
    uint64_t* bytes = words_->Extend((*size + 7) / 8);
    if (*size % 8 != 0) bytes[*size / 8] = 0;
    CopyElementsTo(tensor, bytes);
  } else {
    words_->Add(kDigestContent);
    words_->Add(DigestOfElements(tensor, *size));
  }
}

void ValueWriter::AddTensor(const DLTensor& tensor, const TVMFFIAny& value) {
  auto ndim = static_cast<size_t>(tensor.ndim);
  bool has_strides = tensor.strides != nullptr;
  uint64_t* words = words_->Extend(6 + (has_strides ? 2 : 1) * ndim);
  words[0] = Pair(static_cast<uint32_t>(value.type_index), static_cast<uint32_t>(tensor.ndim));
  words[1] = value.type_index == kTVMFFITensor ? reinterpret_cast<uintptr_t>(value.v_obj) : 0;
  words[2] = reinterpret_cast<uintptr_t>(tensor.data);
  uint32_t dtype = uint32_t{tensor.dtype.code} | uint32_t{tensor.dtype.bits} << 8 |
                   uint32_t{tensor.dtype.lanes} << 16;
  words[3] = Pair(dtype, static_cast<uint32_t>(tensor.device.device_type));
  words[4] = Pair(static_cast<uint32_t>(tensor.device.device_id), has_strides ? 1 : 0);
  words[5] = tensor.byte_offset;
  for (size_t i = 0; i < ndim; ++i) {
    words[6 + i] = static_cast<uint64_t>(tensor.shape[i]);
    if (has_strides) words[6 + ndim + i] = static_cast<uint64_t>(tensor.strides[i]);
  }
  AddContent(tensor, contents_);
  if (tensors_ != nullptr) tensors_->push_back(&tensor);
}

void ValueWriter::AddText(const TVMFFIAny& value, std::string_view text) {
  size_t size = std::min(text.size(), max_bytes_);
  words_->Add(Pair(static_cast<uint32_t>(value.type_index), size < text.size() ? 1 : 0));
  words_->AddBytes(text.data(), size);
}

void ValueWriter::AddOpaque(const TVMFFIAny& value) {
  words_->Add(Pair(static_cast<uint32_t>(value.type_index), 0));
  words_->Add(reinterpret_cast<uintptr_t>(value.v_obj));
  int32_t type_index =
      value.type_index == kTVMFFIObject ? value.v_obj->type_index : value.type_index;
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type_index);
  if (info == nullptr) return words_->AddBytes("", 0);
  words_->AddBytes(info->type_key.data, info->type_key.size);
}

// Objects that need a new reference or have children.
void ValueWriter::AddObject(const TVMFFIAny& value, int depth) {
  Any held = Hold(value);
  bool is_sequence = value.type_index == kTVMFFIArray || value.type_index == kTVMFFIList;
  Snapshot copy(held);
  const Any& readable = copy.Or(held);
  size_t size = is_sequence ? SequenceOf(readable)->size() : TableOf(readable)->size();
  if (depth >= kMaxDepth || size > kMaxElements) {
    TVMFFIAny object = value;
    object.type_index = kTVMFFIObject;
    return AddOpaque(object);
  }
  words_->Add(Pair(static_cast<uint32_t>(value.type_index), 0));
  words_->Add(reinterpret_cast<uintptr_t>(value.v_obj));
  words_->Add(size);
  if (is_sequence) {
    for (const Any& element : *SequenceOf(readable)) AddValue(Raw(element), depth + 1);
    return;
  }
  const MapBaseObj* table = TableOf(readable);
  for (auto pair = table->begin(); pair != table->end(); ++pair) {
    AddValue(Raw(pair->first), depth + 1);
    AddValue(Raw(pair->second), depth + 1);
  }
}

void ValueWriter::AddNull() {
  uint64_t* words = words_->Extend(2);
  words[0] = kTVMFFIOpaquePtr;
  words[1] = 0;
}

void ValueWriter::AddValue(const TVMFFIAny& value, int depth) {
  switch (value.type_index) {
    case kTVMFFIDLTensorPtr:
      if (value.v_ptr == nullptr) return AddNull();
      return AddTensor(*static_cast<const DLTensor*>(value.v_ptr), value);
    case kTVMFFITensor:
      return AddTensor(*TVMFFITensorGetDLTensorPtr(value.v_obj), value);
    case kTVMFFIRawStr:
      if (value.v_c_str == nullptr) return AddNull();
      return AddText(value, value.v_c_str);
    case kTVMFFIByteArrayPtr: {
      if (value.v_ptr == nullptr) return AddNull();
      auto* bytes = static_cast<const TVMFFIByteArray*>(value.v_ptr);
      return AddText(value, {bytes->data, bytes->size});
    }
    case kTVMFFIStr:
    case kTVMFFIBytes: {
      const TVMFFIByteArray* bytes = TVMFFIBytesGetByteArrayPtr(value.v_obj);
      return AddText(value, {bytes->data, bytes->size});
    }
    case kTVMFFIObjectRValueRef: {
      auto* object = *static_cast<TVMFFIObject**>(value.v_ptr);
      TVMFFIAny borrowed{};
      if (object != nullptr) {
        borrowed.type_index = object->type_index;
        borrowed.v_obj = object;
      }
      return AddValue(borrowed, depth);
    }
    case kTVMFFIShape: {
      const TVMFFIShapeCell* cell = TVMFFIShapeGetCellPtr(value.v_obj);
      words_->Add(kTVMFFIShape);
      words_->Add(cell->size);
      if (cell->size != 0) std::memcpy(words_->Extend(cell->size), cell->data, cell->size * 8);
      return;
    }
    case kTVMFFIError: {
      const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(value.v_obj);
      words_->Add(kTVMFFIError);
      words_->Add(reinterpret_cast<uintptr_t>(value.v_obj));
      words_->AddBytes(cell->kind.data, cell->kind.size);
      words_->AddBytes(cell->message.data, cell->message.size);
      return;
    }
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
      return AddObject(value, depth);
    default:
      break;
  }
  if (value.type_index >= kTVMFFIStaticObjectBegin) return AddOpaque(value);
  uint64_t* words = words_->Extend(2);
  std::memcpy(words, &value, sizeof(value));
}

}  // namespace tvm::ffi::extra

// SPDX-License-Identifier: Apache-2.0
#include "walk/part_reader.h"

namespace tvm::ffi::extra {

PartKind PartKindOf(const Any& value) {
  switch (value.type_index()) {
    case kTVMFFIStr:
    case kTVMFFIBytes:
    case kTVMFFIShape:
    case kTVMFFIBigInt:
      return PartKind::kNone;
    case kTVMFFIArray:
    case kTVMFFIList:
      return PartKind::kElements;
    case kTVMFFIMap:
    case kTVMFFIDict:
      return PartKind::kPairs;
    default:
      return value.type_index() < kTVMFFIStaticObjectBegin ? PartKind::kNone : PartKind::kFields;
  }
}

const TVMFFIFieldInfo* FieldCursor::Next() {
  while (depth_ <= type_->type_depth) {
    // Looked up each time: registering more fields moves the arrays.
    const TypeInfo* owner = depth_ < type_->type_depth ? type_->type_ancestors[depth_] : type_;
    while (index_ < owner->num_fields) {
      const TVMFFIFieldInfo* field = owner->fields + index_++;
      if ((field->flags & skipped_flags_) == 0) return field;
    }
    ++depth_;
    index_ = 0;
  }
  return nullptr;
}

PartReader::PartReader(const Any& object, int64_t skipped_flags)
    : value_(object),
      kind_(PartKindOf(object)),
      fields_(kind_ == PartKind::kFields ? TVMFFIGetTypeInfo(object.type_index()) : nullptr,
              skipped_flags) {
  if (kind_ == PartKind::kElements) {
    size_ = static_cast<const SeqBaseObj*>(this->object())->size();
  } else if (kind_ == PartKind::kPairs) {
    const auto* table = static_cast<const MapBaseObj*>(this->object());
    size_ = table->size();
    if (value_.type_index() == kTVMFFIMap) {
      pair_ = table->begin();
      return;
    }
    keys_with_values_.reserve(2 * size_);
    for (const auto& pair : *table) {
      keys_with_values_.push_back(pair.first);
      keys_with_values_.push_back(pair.second);
    }
  }
}

const Any* PartReader::Next() {
  const Any* part = kind_ == PartKind::kElements ? NextElement()
                    : kind_ == PartKind::kPairs  ? NextOfPair()
                                                 : NextField();
  if (part != nullptr) ++count_;
  return part;
}

const Any* PartReader::NextElement() {
  const auto* sequence = static_cast<const SeqBaseObj*>(object());
  bool at_end = count_ >= size_ || count_ >= sequence->size();
  return at_end ? nullptr : sequence->begin() + count_;
}

const Any* PartReader::NextOfPair() {
  if (count_ == 2 * size_) return nullptr;
  if (value_.type_index() == kTVMFFIDict) return &keys_with_values_[count_];
  bool is_key = count_ % 2 == 0;
  if (is_key) return &pair_->first;
  const Any* part = &pair_->second;
  ++pair_;
  return part;
}

const Any* PartReader::NextField() {
  field_ = fields_.Next();
  if (field_ == nullptr) return nullptr;
  field_value_ = ReadField(object(), field_);
  return &field_value_;
}

}  // namespace tvm::ffi::extra

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

PartReader::PartReader(const Any& object, int64_t skipped_flags)
    : value_(object),
      kind_(PartKindOf(object)),
      fields_(kind_ == PartKind::kFields ? TVMFFIGetTypeInfo(object.type_index()) : nullptr,
              skipped_flags) {
  if (kind_ == PartKind::kElements) {
    copy_ = Snapshot(value_);
    sequence_ = SequenceOf(copy_.Or(value_));
    size_ = sequence_->size();
  } else if (kind_ == PartKind::kPairs) {
    copy_ = Snapshot::Always(value_);
    const MapBaseObj* table = TableOf(copy_.Or(value_));
    size_ = table->size();
    pair_ = table->begin();
  }
}

const Any* PartReader::Next() {
  const Any* part = kind_ == PartKind::kElements ? NextElement()
                    : kind_ == PartKind::kPairs  ? NextOfPair()
                                                 : NextField();
  if (part != nullptr) ++count_;
  return part;
}

void PartReader::Skip(size_t num_items) {
  count_ += kind_ == PartKind::kPairs ? 2 * num_items : num_items;
  if (kind_ != PartKind::kPairs) return;
  for (size_t i = 0; i < num_items; ++i) ++pair_;
}

const Any* PartReader::NextElement() {
  bool at_end = count_ >= size_ || count_ >= sequence_->size();
  return at_end ? nullptr : sequence_->begin() + count_;
}

const Any* PartReader::NextOfPair() {
  if (count_ == 2 * size_) return nullptr;
  bool is_key = count_ % 2 == 0;
  if (is_key) return &pair_->first;
  const Any* part = &pair_->second;
  ++pair_;
  return part;
}

const Any* PartReader::NextField() {
  const TVMFFIFieldInfo* field = fields_.Next();
  if (field == nullptr) return nullptr;
  field_value_ = ReadField(object(), field);
  return &field_value_;
}

}  // namespace tvm::ffi::extra

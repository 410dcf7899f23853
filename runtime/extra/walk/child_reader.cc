// SPDX-License-Identifier: Apache-2.0
// ChildReader: iteration over elements, pairs and fields.
#include "walk/child_reader.h"

namespace tvm::ffi::extra {

ChildKind ChildKindOf(const Any& value) {
  switch (value.type_index()) {
    case kTVMFFIStr:
    case kTVMFFIBytes:
    case kTVMFFIShape:
    case kTVMFFIBigInt:
      return ChildKind::kNone;
    case kTVMFFIArray:
    case kTVMFFIList:
      return ChildKind::kElements;
    case kTVMFFIMap:
    case kTVMFFIDict:
      return ChildKind::kPairs;
    default:
      return value.type_index() < kTVMFFIStaticObjectBegin ? ChildKind::kNone : ChildKind::kFields;
  }
}

ChildReader::ChildReader(const Any& object, int64_t skipped_flags)
    : value_(object),
      kind_(ChildKindOf(object)),
      fields_(kind_ == ChildKind::kFields ? TVMFFIGetTypeInfo(object.type_index()) : nullptr,
              skipped_flags) {
  if (kind_ == ChildKind::kElements) {
    copy_ = Snapshot(value_);
    sequence_ = SequenceOf(copy_.Or(value_));
    size_ = sequence_->size();
  } else if (kind_ == ChildKind::kPairs) {
    copy_ = Snapshot::Always(value_);
    const MapBaseObj* table = TableOf(copy_.Or(value_));
    size_ = table->size();
    pair_ = table->begin();
  }
}

const Any* ChildReader::Next() {
  const Any* child = kind_ == ChildKind::kElements ? NextElement()
                     : kind_ == ChildKind::kPairs  ? NextOfPair()
                                                   : NextField();
  if (child != nullptr) ++count_;
  return child;
}

void ChildReader::Skip(size_t num_items) {
  count_ += kind_ == ChildKind::kPairs ? 2 * num_items : num_items;
  if (kind_ != ChildKind::kPairs) return;
  for (size_t i = 0; i < num_items; ++i) ++pair_;
}

const Any* ChildReader::NextElement() {
  bool at_end = count_ >= size_ || count_ >= sequence_->size();
  return at_end ? nullptr : sequence_->begin() + count_;
}

const Any* ChildReader::NextOfPair() {
  if (count_ == 2 * size_) return nullptr;
  bool is_key = count_ % 2 == 0;
  if (is_key) return &pair_->first;
  const Any* child = &pair_->second;
  ++pair_;
  return child;
}

const Any* ChildReader::NextField() {
  const TVMFFIFieldInfo* field = fields_.Next();
  if (field == nullptr) return nullptr;
  field_value_ = ReadField(object(), field);
  return &field_value_;
}

}  // namespace tvm::ffi::extra

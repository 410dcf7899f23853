// SPDX-License-Identifier: Apache-2.0
// The fields of a type one by one, where a callback for all of them would not do: a walk with a
// stack of its own stops at each field and comes back.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_FIELD_CURSOR_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_FIELD_CURSOR_H_

#include <tvm/ffi/reflection/accessor.h>

namespace tvm::ffi::extra {

// The ancestors' fields first, without those that have one of the skipped flags.
class FieldCursor {
 public:
  // For what has no fields; Next and Current are not called.
  FieldCursor() = default;
  explicit FieldCursor(const TypeInfo* type, int64_t skipped_flags = 0)
      : type_(type), skipped_flags_(skipped_flags) {}

  // nullptr behind the last field.
  const TVMFFIFieldInfo* Next() {
    ++index_;
    for (; depth_ <= type_->type_depth; ++depth_, index_ = 0) {
      const auto fields = reflection::detail::FieldsOf(Owner());
      for (; index_ < fields.count; ++index_) {
        const TVMFFIFieldInfo* field = fields.begin + index_;
        if ((field->flags & skipped_flags_) == 0) return field;
      }
    }
    return nullptr;
  }
  // The field that Next returned last.  Looked up each time: registering more fields moves them.
  const TVMFFIFieldInfo* Current() const {
    return reflection::detail::FieldsOf(Owner()).begin + index_;
  }

 private:
  const TypeInfo* Owner() const {
    return depth_ < type_->type_depth ? type_->type_ancestors[depth_] : type_;
  }

  const TypeInfo* type_ = nullptr;
  int64_t skipped_flags_ = 0;
  int32_t depth_ = 1;  // of the field's owner; ffi.Object, at depth 0, has no fields
  int32_t index_ = -1;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_FIELD_CURSOR_H_

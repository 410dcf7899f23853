// SPDX-License-Identifier: Apache-2.0
// FieldCursor: iteration over the fields of a type that can stop and resume, for walks with an
// explicit stack.
#ifndef TVM_FFI_RUNTIME_EXTRA_WALK_FIELD_CURSOR_H_
#define TVM_FFI_RUNTIME_EXTRA_WALK_FIELD_CURSOR_H_

#include <tvm/ffi/reflection/accessor.h>

namespace tvm::ffi::extra {

// Iterates over the fields of the ancestors and then of the type itself.  Skips fields that have
// any of the flags in `skipped_flags`.
class FieldCursor {
 public:
  // Creates a placeholder for a value without fields; Next and Current must not be called.
  FieldCursor() = default;
  explicit FieldCursor(const TypeInfo* type, int64_t skipped_flags = 0)
      : type_(type), skipped_flags_(skipped_flags) {}

  // Returns the next field, or nullptr after the last one.
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
  // Returns the field that Next returned last.  Looks the field up again, because the array of
  // fields moves when more fields are registered.
  const TVMFFIFieldInfo* Current() const {
    return reflection::detail::FieldsOf(Owner()).begin + index_;
  }

 private:
  const TypeInfo* Owner() const {
    return depth_ < type_->type_depth ? type_->type_ancestors[depth_] : type_;
  }

  const TypeInfo* type_ = nullptr;
  int64_t skipped_flags_ = 0;
  int32_t depth_ = 1;  // depth of the declaring type; ffi.Object (depth 0) has no fields
  int32_t index_ = -1;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_WALK_FIELD_CURSOR_H_

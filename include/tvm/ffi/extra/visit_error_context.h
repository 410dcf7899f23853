// SPDX-License-Identifier: Apache-2.0
// VisitErrorContext: where in a structure a visit failed.
//
// While an error travels out of nested visits, each of them appends the object it was at; together
// they lead from the object that failed to the root.  The context lives in the error's
// extra_context handle, and what was there before is kept behind it.
#ifndef TVM_FFI_EXTRA_VISIT_ERROR_CONTEXT_H_
#define TVM_FFI_EXTRA_VISIT_ERROR_CONTEXT_H_

#include <tvm/ffi/container/list.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/access_path.h>

namespace tvm {
namespace ffi {

// The object behind a VisitErrorContext.
class VisitErrorContextObj : public Object {
 public:
  List<ObjectRef> reverse_visit_pattern;   // the failed object first, the root last
  Optional<ObjectRef> prev_error_context;  // the extra_context that this one has replaced

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.VisitErrorContext", VisitErrorContextObj, Object);
};

static_assert(sizeof(VisitErrorContextObj) == 40, "read by other libraries");

// Where an error arose: the objects that were being visited.
class VisitErrorContext : public ObjectRef {
 public:
  explicit VisitErrorContext(ObjectPtr<VisitErrorContextObj> context)
      : ObjectRef(ObjectPtr<Object>(std::move(context))) {}

  static Optional<VisitErrorContext> TryGetFromError(const Error& error) {
    std::optional<ObjectRef> context = error.extra_context();
    if (!context.has_value()) return std::nullopt;
    return context->as<VisitErrorContext>();
  }

  // The paths from `root` to the failed object that pass the objects of the context in their
  // order; there may be others between them, for a visit need not record each.  Several where the
  // object is shared, none when it is not below `root`.  With `allow_prefix` also the paths on
  // which a beginning of that order is found and that end, without the rest, at an object that
  // holds no further ones.
  TVM_FFI_EXTRA_CXX_API static Array<reflection::AccessPath> FindAccessPaths(
      const ObjectRef& root, const VisitErrorContext& context, bool allow_prefix = false);

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(VisitErrorContext, ObjectRef, VisitErrorContextObj);
};

namespace detail {

TVM_FFI_FAILURE_ inline VisitErrorContext MakeVisitErrorContext(const ObjectRef& node) {
  auto context = make_object<VisitErrorContextObj>();
  context->reverse_visit_pattern.push_back(node);
  return VisitErrorContext(std::move(context));
}

// Appends `node` to the error's context; an error without one gets it.  The runtime's MemoryError
// stays as it is: all threads may share one object.
TVM_FFI_FAILURE_ inline void UpdateVisitErrorContext(Error& error, const ObjectRef& node) {
  if (error.kind() == "MemoryError") return;
  Optional<VisitErrorContext> existing = VisitErrorContext::TryGetFromError(error);
  if (existing.has_value()) {
    (*existing)->reverse_visit_pattern.push_back(node);
    return;
  }
  VisitErrorContext context = MakeVisitErrorContext(node);
  context->prev_error_context = error.extra_context();
  ErrorObj* cell = const_cast<ErrorObj*>(error.get());
  ObjectUnsafe::DecRefObjectHandle(cell->extra_context);
  cell->extra_context = ObjectUnsafe::MoveObjectRefToTVMFFIObjectPtr(std::move(context));
}

// The same for a value: only objects are recorded.
TVM_FFI_FAILURE_ inline void UpdateVisitErrorContext(Error& error, AnyView node) {
  if (node.type_index() < kTVMFFIStaticObjectBegin) return;
  UpdateVisitErrorContext(error, node.as_or_throw<ObjectRef>());
}

// Records that the visit of `node` ended in this error, unless whoever made or passed the error
// has just done so.  Without memory for it the error stays as it is.
TVM_FFI_FAILURE_ inline void RecordFailedNode(Error error, AnyView node) noexcept {
  if (node.type_index() < kTVMFFIStaticObjectBegin) return;
  try {
    Optional<VisitErrorContext> context = VisitErrorContext::TryGetFromError(error);
    if (context.has_value()) {
      const List<ObjectRef>& nodes = (*context)->reverse_visit_pattern;
      if (!nodes.empty() && nodes.back().get() == node.as<Object>()) return;
    }
    UpdateVisitErrorContext(error, node);
  } catch (...) {
  }
}

// The left side of `thrower <<= message` in TVM_FFI_VISIT_THROW.
struct TVM_FFI_HIDDEN VisitErrorThrower {
  const char* kind;
  const TVMFFIByteArray* backtrace;
  ObjectRef node;

  [[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE void operator<<=(const MessageStream& message) {
    throw Error(kind, message.str(), std::string(backtrace->data, backtrace->size), std::nullopt,
                std::optional<ObjectRef>(MakeVisitErrorContext(node)));
  }
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

// Bracket code that visits `node`, an object reference: errors pass and carry it.
#define TVM_FFI_VISIT_BEGIN() try {
#define TVM_FFI_VISIT_END(node)                                               \
  }                                                                           \
  catch (::tvm::ffi::Error & tvm_ffi_visit_error) {                           \
    ::tvm::ffi::detail::UpdateVisitErrorContext(tvm_ffi_visit_error, (node)); \
    throw;                                                                    \
  }

// The same at the end of a function that returns an Expected: errors become its result.
#define TVM_FFI_VISIT_END_RETURN_EXPECTED(node)                               \
  }                                                                           \
  catch (::tvm::ffi::Error & tvm_ffi_visit_error) {                           \
    ::tvm::ffi::detail::UpdateVisitErrorContext(tvm_ffi_visit_error, (node)); \
    return tvm_ffi_visit_error;                                               \
  }

// TVM_FFI_VISIT_THROW(ValueError, node) << "text"; the error carries `node` from the start.
#define TVM_FFI_VISIT_THROW(ErrorKind, node)                                              \
  ::tvm::ffi::detail::VisitErrorThrower{                                                  \
      #ErrorKind, ::TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0), (node)} <<= \
      ::tvm::ffi::detail::MessageStream().stream()

#endif  // TVM_FFI_EXTRA_VISIT_ERROR_CONTEXT_H_

// SPDX-License-Identifier: Apache-2.0
// VisitErrorContext: the objects that were being visited when a structural visit failed.
//
// As an error propagates out of nested visits, each visit appends its object, from the failed
// object to the root.  The context is stored in the error's extra_context handle, and owns the
// object that the handle referred to before.
#ifndef TVM_FFI_EXTRA_VISIT_ERROR_CONTEXT_H_
#define TVM_FFI_EXTRA_VISIT_ERROR_CONTEXT_H_

#include <tvm/ffi/container/list.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/access_path.h>

namespace tvm {
namespace ffi {

// Object to which a VisitErrorContext refers.
class VisitErrorContextObj : public Object {
 public:
  // Objects of the visit, from the object that failed to the root.
  List<ObjectRef> reverse_visit_pattern;
  // The extra_context of the error before this context was added.
  Optional<ObjectRef> prev_error_context;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.VisitErrorContext", VisitErrorContextObj, Object);
};

static_assert(sizeof(void*) < 8 || sizeof(VisitErrorContextObj) == 40,
              "the layout of VisitErrorContextObj is part of the binary contract");

// Reference to a VisitErrorContextObj.
class VisitErrorContext : public ObjectRef {
 public:
  explicit VisitErrorContext(ObjectPtr<VisitErrorContextObj> context)
      : ObjectRef(ObjectPtr<Object>(std::move(context))) {}

  static Optional<VisitErrorContext> TryGetFromError(const Error& error) {
    std::optional<ObjectRef> context = error.extra_context();
    if (!context.has_value()) return std::nullopt;
    return context->as<VisitErrorContext>();
  }

  // Returns the access paths from `root` to the object that failed.  Each path contains all objects
  // of the context, in order from the root to the failed object.  A path may contain further
  // objects, because a visit need not record every object.  The array has several paths if the
  // failed object is shared, and no paths if it is not reachable from `root`.  If allow_prefix is
  // true, the array also has incomplete paths.  An incomplete path contains at least the first
  // object of the context; the next object of the context was not found among the descendants of
  // the path's last object.
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

// Appends `node` to the error's context; creates the context if the error has none.  A MemoryError
// is not changed, because the runtime may share one preallocated error between all threads.
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

// Same as UpdateVisitErrorContext for an ObjectRef, but ignores values that are not objects.
TVM_FFI_FAILURE_ inline void UpdateVisitErrorContext(Error& error, AnyView node) {
  if (node.type_index() < kTVMFFIStaticObjectBegin) return;
  UpdateVisitErrorContext(error, node.as_or_throw<ObjectRef>());
}

// Appends `node`, the object whose visit failed, to the error's context, unless `node` is already
// the last object in the context.  If memory is exhausted, the error is not changed.
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

// Class of the left operand of `thrower <<= message` in TVM_FFI_VISIT_THROW.
struct TVM_FFI_HIDDEN_ VisitErrorThrower {
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

// Enclose code that visits `node`, an object reference.  An error that leaves this code has `node`
// in its context.
#define TVM_FFI_VISIT_BEGIN() try {
#define TVM_FFI_VISIT_END(node)                                               \
  }                                                                           \
  catch (::tvm::ffi::Error & tvm_ffi_visit_error) {                           \
    ::tvm::ffi::detail::UpdateVisitErrorContext(tvm_ffi_visit_error, (node)); \
    throw;                                                                    \
  }

// Same as TVM_FFI_VISIT_END, for a function that returns an Expected: returns the error instead of
// throwing it.
#define TVM_FFI_VISIT_END_RETURN_EXPECTED(node)                               \
  }                                                                           \
  catch (::tvm::ffi::Error & tvm_ffi_visit_error) {                           \
    ::tvm::ffi::detail::UpdateVisitErrorContext(tvm_ffi_visit_error, (node)); \
    return tvm_ffi_visit_error;                                               \
  }

// TVM_FFI_VISIT_THROW(ValueError, node) << "text" throws an error whose context contains `node`.
#define TVM_FFI_VISIT_THROW(ErrorKind, node)                                              \
  ::tvm::ffi::detail::VisitErrorThrower{                                                  \
      #ErrorKind, ::TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0), (node)} <<= \
      ::tvm::ffi::detail::MessageStream().stream()

#endif  // TVM_FFI_EXTRA_VISIT_ERROR_CONTEXT_H_

// SPDX-License-Identifier: Apache-2.0
// Prepared calls (c_prepared.h): functions with packed, checked and owned arguments.
//
// A prepared call is busy while it runs or is updated.  A second thread, or the called function
// itself, then gets an error, so the arguments never change while a function reads them.
#include <tvm/ffi/extra/c_prepared.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "call_environment.h"
#include "error.h"
#include "extra_layer.h"
#include "function.h"

namespace tvm::ffi::runtime {

// ---- Forms of functions -------------------------------------------------------------------------

namespace {

constexpr size_t kMaxForms = 4;
NewPreparedForm forms[kMaxForms];
size_t num_forms = 0;

}  // namespace

void AddPreparedForm(NewPreparedForm create) { forms[num_forms++] = create; }

void* PreparedFormOf(void* function) {
  for (size_t i = 0; i < num_forms; ++i) {
    if (void* form = forms[i](function)) return form;
  }
  return nullptr;
}

namespace {

// ---- Prepared calls -----------------------------------------------------------------------------

static_assert(sizeof(void*) < 8 ||
                  (offsetof(TVMFFIPreparedCell, device) == 32 && sizeof(TVMFFIPreparedCell) == 64),
              "graph executors are compiled with this layout");

struct PreparedObject : FunctionObject, TVMFFIPreparedCell {
  using NestsDeeply = void;  // an argument may be a prepared call, and so on
  Ref<FunctionObject> form;  // null: `callee` is `function`
  ~PreparedObject() noexcept(false) {
    // The members below release the references, also when a deleter unwinds a cancelled thread.
    auto owned_function = Ref<FunctionObject>::Adopt(function);
    auto owned_checks = Ref<FunctionObject>::Adopt(checks);
    for (int32_t i = 0; i < num_args; ++i) Value::Adopt(std::exchange(args[i], NoneAny()));
  }
};

PreparedObject* PreparedOf(TVMFFIObjectHandle handle) {
  return static_cast<PreparedObject*>(static_cast<TVMFFIObject*>(handle));
}

// Marks a prepared call as busy.  Ends with the scope, also when a cancelled thread is unwound.
class BusyScope {
 public:
  explicit BusyScope(PreparedObject* call) : call_(call) {
    if (__atomic_exchange_n(&call->is_busy, 1, __ATOMIC_ACQUIRE) != 0) call_ = nullptr;
  }
  ~BusyScope() {
    if (call_ != nullptr) __atomic_store_n(&call_->is_busy, 0, __ATOMIC_RELEASE);
  }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;
  bool was_busy() const { return call_ == nullptr; }

 private:
  PreparedObject* call_;
};

[[noreturn]] void RaiseBusy() {
  Raise("RuntimeError",
        "the prepared call is running: on another thread, or it runs or updates itself; "
        "prepare one call per thread");
}

// ---- Tensors over an address --------------------------------------------------------------------

// A tensor that does not own its memory.  The memory after this struct contains shape and strides.
struct AddressTensor : TVMFFIObject, DLTensor {};

// Returns a tensor with the facts of `like`, whose first element is at `address`.
Value NewAddressTensor(const DLTensor& like, void* address, int32_t slot) {
  const int64_t* end = like.shape + like.ndim;
  if (address == nullptr && std::find(static_cast<const int64_t*>(like.shape), end, 0) == end) {
    Raise("ValueError", "slot ", slot, ": expected the address of the elements, got NULL");
  }
  auto extents = static_cast<size_t>(like.ndim) * sizeof(int64_t);
  Ref<AddressTensor> tensor = NewObject<AddressTensor>(kTVMFFITensor, 2 * extents);
  static_cast<DLTensor&>(*tensor) = like;
  tensor->data = address;
  tensor->byte_offset = 0;
  tensor->shape = reinterpret_cast<int64_t*>(tensor.get() + 1);
  tensor->strides = tensor->shape + like.ndim;
  int64_t step = 1;
  for (int32_t i = like.ndim - 1; i >= 0; --i) {
    tensor->shape[i] = like.shape[i];
    tensor->strides[i] = like.strides != nullptr ? like.strides[i] : step;
    step *= like.shape[i] != 0 ? like.shape[i] : 1;
  }
  return Value::FromObject(std::move(tensor));
}

// ---- Errors of updates --------------------------------------------------------------------------

std::string NameOfType(const TVMFFIAny& argument) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(TVMFFIPreparedTypeOf(&argument));
  return info == nullptr ? "unknown type" : std::string(View(info->type_key));
}

std::string NameOfDtype(DLDataType dtype) {
  TVMFFIAny text = NoneAny();
  if (TVMFFIDataTypeToString(&dtype, &text) != 0) RaisePending(-1);
  Value owned = Value::Adopt(text);
  return std::string(ViewOfText(owned.raw()));
}

std::string TextOf(const int64_t* extents, int32_t ndim) {
  std::string text = "(";
  for (int32_t i = 0; i < ndim; ++i) text += (i == 0 ? "" : ", ") + std::to_string(extents[i]);
  return text + (ndim == 1 ? ",)" : ")");
}

// Raises the error of an argument that TVMFFIPreparedAccepts has refused.
void RaiseOtherFacts(int32_t slot, const TVMFFIAny& old_arg, const TVMFFIAny& arg) {
  const DLTensor *old_tensor = TVMFFIPreparedTensorOf(&old_arg),
                 *got = TVMFFIPreparedTensorOf(&arg);
  auto raise = [&](const char* kind, const char* fact, const std::string& expected,
                   const std::string& text) {
    Raise(kind, "slot ", slot, ": expected ", fact, expected, " as prepared, got ", text,
          "; prepare another call for it");
  };
  if (old_tensor == nullptr || got == nullptr) {
    raise("TypeError", "", NameOfType(old_arg), NameOfType(arg));
  }
  const DLTensor &left = *old_tensor, &right = *got;
  if (std::memcmp(&left.dtype, &right.dtype, sizeof(left.dtype)) != 0) {
    raise("TypeError", "dtype ", NameOfDtype(left.dtype), NameOfDtype(right.dtype));
  }
  if (left.device.device_type != right.device.device_type ||
      left.device.device_id != right.device.device_id) {
    auto name = [](DLDevice device) {
      return Concat("(", static_cast<int32_t>(device.device_type), ", ", device.device_id, ")");
    };
    raise("ValueError", "device (type, id) ", name(left.device), name(right.device));
  }
  if (left.ndim != right.ndim || !std::equal(left.shape, left.shape + left.ndim, right.shape)) {
    raise("ValueError", "shape ", TextOf(left.shape, left.ndim), TextOf(right.shape, right.ndim));
  }
  auto strides = [](const DLTensor& tensor) {
    return tensor.strides == nullptr ? "of a compact tensor" : TextOf(tensor.strides, tensor.ndim);
  };
  raise("ValueError", "strides ", strides(left), strides(right));
}

// ---- Creation and update ------------------------------------------------------------------------

Value OwnedArgument(const TVMFFIAny& arg, int32_t slot) {
  if (arg.type_index == kTVMFFIObjectRValueRef) {
    Raise("TypeError", "slot ", slot,
          ": a prepared call cannot pass an rvalue reference, because the first run would consume "
          "the object; pass the object");
  }
  return Value::FromView(arg);
}

// Returns the owned form of a new argument of a slot.
Value NewArgument(const PreparedObject& call, int32_t slot, const TVMFFIAny& arg) {
  if (slot < 0 || slot >= call.num_args) {
    Raise("IndexError", "slot ", slot, ": the prepared call has ", call.num_args, " slots");
  }
  const TVMFFIAny& old_arg = call.args[slot];
  if (arg.type_index == kTVMFFIOpaquePtr) {
    if (const DLTensor* tensor = TVMFFIPreparedTensorOf(&old_arg)) {
      return NewAddressTensor(*tensor, arg.v_ptr, slot);
    }
  }
  if (!TVMFFIPreparedAccepts(&old_arg, &arg)) RaiseOtherFacts(slot, old_arg, arg);
  return OwnedArgument(arg, slot);
}

void Check(const PreparedObject& call) {
  if (call.checks == nullptr) return;
  TVMFFIAny result = NoneAny();
  auto* checks = static_cast<FunctionObject*>(static_cast<TVMFFIObject*>(call.checks));
  int code = checks->safe_call(checks, call.args, call.num_args, &result);
  if (code != 0) RaisePending(code);
  Value::Adopt(result);
}

int RunAsFunction(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

Ref<PreparedObject> NewPrepared(TVMFFIObjectHandle function, TVMFFIObjectHandle checks,
                                const TVMFFIAny* args, int32_t num_args) {
  size_t bytes = static_cast<size_t>(num_args) * sizeof(TVMFFIAny);
  Ref<PreparedObject> call = NewObject<PreparedObject>(kTVMFFIFunction, bytes);
  static_cast<TVMFFIPreparedCell&>(*call) = TVMFFIPreparedCell{};
  call->safe_call = &RunAsFunction;
  call->cpp_call = nullptr;
  call->function = Ref<FunctionObject>::Share(function).release();
  call->checks = Ref<FunctionObject>::Share(checks).release();
  call->form = Ref<FunctionObject>::Adopt(PreparedFormOf(function));
  call->callee = call->form ? call->form.header() : function;
  call->args = reinterpret_cast<TVMFFIAny*>(call.get() + 1);
  for (int32_t i = 0; i < num_args; ++i) {
    call->args[i] = OwnedArgument(args[i], i).Release();
    ++call->num_args;  // the destructor releases the first num_args arguments
  }
  Check(*call);
  return call;
}

void Update(PreparedObject* call, const int32_t* slots, const TVMFFIAny* values, int32_t count) {
  std::vector<Value> other;  // the new arguments, later the previous ones
  BusyScope busy(call);
  if (busy.was_busy()) RaiseBusy();
  other.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) other.push_back(NewArgument(*call, slots[i], values[i]));
  auto swap = [&](int32_t i) {
    Value previous = Value::Adopt(call->args[slots[i]]);
    call->args[slots[i]] =
        std::exchange(other[static_cast<size_t>(i)], std::move(previous)).Release();
  };
  for (int32_t i = 0; i < count; ++i) swap(i);
  try {
    Check(*call);
  } catch (...) {
    for (int32_t i = count; i-- > 0;) swap(i);  // in reverse, because a slot may occur twice
    throw;
  }
}

// ---- Runs ---------------------------------------------------------------------------------------

int Invoke(PreparedObject* call, TVMFFIAny* result) {
  auto* callee = static_cast<FunctionObject*>(static_cast<TVMFFIObject*>(call->callee));
  return callee->safe_call(callee, call->args, call->num_args, result);
}

int InvokeInEnvironment(PreparedObject* call, TVMFFIAny* result) {
  int code = 0;
  int guarded = GuardBoundary([&] {
    CallEnvironment environment(call->device, call->stream, call->allocator);
    code = Invoke(call, result);
  });
  return guarded != 0 ? guarded : code;
}

int Run(PreparedObject* call, TVMFFIAny* result) {
  BusyScope busy(call);
  if (busy.was_busy()) return GuardBoundary([] { RaiseBusy(); });
  *result = NoneAny();
  bool has_environment = call->device.device_type != 0 || call->allocator != nullptr;
  return has_environment ? InvokeInEnvironment(call, result) : Invoke(call, result);
}

int RunAsFunction(void* self, const TVMFFIAny*, int32_t num_args, TVMFFIAny* result) {
  if (num_args == 0) return Run(PreparedOf(self), result);
  return GuardBoundary(
      [&] { Raise("TypeError", "a prepared call takes no arguments, got ", num_args); });
}

}  // namespace
}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIPreparedCreate(TVMFFIObjectHandle function, TVMFFIObjectHandle checks,
                         const TVMFFIAny* args, int32_t num_args, TVMFFIObjectHandle* out) {
  return GuardBoundary([&] { *out = NewPrepared(function, checks, args, num_args).release(); });
}

int TVMFFIPreparedUpdate(TVMFFIObjectHandle prepared, const int32_t* slots, const TVMFFIAny* values,
                         int32_t num_values) {
  return GuardBoundary([&] { Update(PreparedOf(prepared), slots, values, num_values); });
}

int TVMFFIPreparedRun(const TVMFFIObjectHandle* prepared, int32_t num_calls, TVMFFIAny* results,
                      int32_t* failed) {
  TVMFFIAny ignored;
  for (int32_t i = 0; i < num_calls; ++i) {
    TVMFFIAny* result = results != nullptr ? &results[i] : &ignored;
    int code = Run(PreparedOf(prepared[i]), result);
    if (code == 0) {
      if (results == nullptr) Value::Adopt(ignored);
      continue;
    }
    if (failed != nullptr) *failed = i;
    for (int32_t j = i; results != nullptr && j < num_calls; ++j) results[j] = NoneAny();
    return code;
  }
  return 0;
}

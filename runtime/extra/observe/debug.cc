// SPDX-License-Identifier: Apache-2.0
// Debug context: checks of each call, before and after the function runs.
//
//   1. The unused bytes of the result slot are filled before the call.  Bytes that are still filled
//      were not written by the function; they are 0 again when the caller reads them.
//   2. Each object argument is held by an additional reference during the call.  If the function
//      releases a reference that it does not own, this reference replaces it.
//   3. Elements of tensors that the signature declares as read are copied and compared; those that
//      it declares as `out` are filled, and get their old values back where they were not written.
//   4. In the first calls of a function, views among the arguments are copies that are inaccessible
//      after the call.
#include "observe/debug.h"

#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "../core/extra_layer.h"
#include "observe/call_state.h"
#include "observe/checked_tensor.h"
#include "observe/debug_context.h"
#include "observe/guarded_memory.h"
#include "observe/lent_views.h"
#include "observe/observer.h"
#include "observe/quarantine.h"
#include "observe/result_slot.h"
#include "observe/stream_capture.h"
#include "observe/tensor_memory.h"

namespace tvm::ffi::extra {
namespace {

template <typename T>
bool AreEqual(const T& a, const T& b) {  // as memcmp, inline
  static_assert(sizeof(T) % sizeof(uint64_t) == 0);
  uint64_t words[2][sizeof(T) / sizeof(uint64_t)];
  std::memcpy(words[0], &a, sizeof(T));
  std::memcpy(words[1], &b, sizeof(T));
  uint64_t difference = 0;
  for (size_t i = 0; i < std::size(words[0]); ++i) difference |= words[0][i] ^ words[1][i];
  return difference == 0;
}

// Returns the tensor of an argument; null for other arguments and for released objects.
const DLTensor* TensorOf(const TVMFFIAny& arg) {
  if (arg.type_index == kTVMFFIDLTensorPtr) return static_cast<const DLTensor*>(arg.v_ptr);
  bool is_live =
      arg.type_index == kTVMFFITensor && arg.v_obj != nullptr && StrongCount(arg.v_obj) > 0;
  return is_live ? TVMFFITensorGetDLTensorPtr(arg.v_obj) : nullptr;
}

bool IsLeaf(int32_t type_index) {
  return type_index == kTVMFFITensor || type_index == kTVMFFIStr || type_index == kTVMFFIBytes ||
         type_index == kTVMFFIShape || type_index == kTVMFFIBigInt;
}

// Prints the call in which an invalid access happened, and an argument whose memory is at or before
// the address.  Runs in a signal handler.
void DescribeAccess(uintptr_t address) noexcept {
  constexpr size_t kMaxDistance = 4096;
  for (const CallState* state = thread_calls.current; state != nullptr; state = state->outer) {
    int name_size = static_cast<int>(state->name.size());
    std::fprintf(stderr, "tvm_ffi: invalid access to the address %#zx in a call of %.*s\n",
                 static_cast<size_t>(address), name_size, state->name.data());
    for (int32_t i = 0; i < state->num_fields; ++i) {
      const auto& [index, tensor, copy] = state->fields[i];
      TensorMemory memory(copy, SIZE_MAX);
      if (!memory.is_checkable() || address < memory.first()) continue;
      auto position = static_cast<size_t>(index);
      const std::vector<std::string>& names = state->notes->names;
      const char* name = position < names.size() ? names[position].c_str() : "";
      if (address < memory.last()) {
        std::fprintf(stderr, "  in the memory of the argument %d %s, byte %zu\n", index, name,
                     static_cast<size_t>(address - memory.first()));
      } else if (address - memory.last() < kMaxDistance) {
        std::fprintf(stderr, "  %zu bytes after the end of the argument %d %s\n",
                     static_cast<size_t>(address - memory.last()), index, name);
      }
    }
  }
}

// Returns the deleter of the errors that a function of the host language raises, by a call without
// the argument that it needs.
decltype(TVMFFIObject::deleter) DeleterOfHostError(const Function& function) {
  TVMFFIAny result{};
  TVMFFIObjectHandle error = nullptr;
  auto* handle = ffi::detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(function);
  if (TVMFFIFunctionCall(handle, nullptr, 0, &result) == 0) return nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == nullptr) return nullptr;
  auto deleter = static_cast<TVMFFIObject*>(error)->deleter;
  TVMFFIObjectDecRef(error);
  return deleter;
}

Place PlaceOf(const Host& host, const Function& host_stack, Stack stack) {
  Place place;
  if (thread_calls.current != nullptr) place.function = thread_calls.current->name;
  if (stack == Stack::kNone) return place;
  TVMFFIObjectHandle pending = nullptr;
  TVMFFIErrorMoveFromRaised(&pending);
  try {
    if (stack == Stack::kInHook || host.CanRunInDeleter()) {
      runtime::UnobservedScope scope;
      place.stack = host_stack().cast<String>();
    }
    const TVMFFIByteArray* native = TVMFFIBacktrace(nullptr, 0, nullptr, 0);
    place.stack.append(native->data, native->size);
  } catch (const std::exception&) {  // the interpreter is exiting, or memory is short
  }
  if (pending != nullptr) {
    TVMFFIErrorSetRaised(pending);
    TVMFFIObjectDecRef(pending);
  }
  return place;
}

}  // namespace

Debug::Debug(const Array<Any>& options, const Array<Function>& host,
             const Array<int64_t>& addresses)
    : max_bytes_(static_cast<size_t>(options[0].cast<int64_t>())),
      finds_not_finite_(options[1].cast<bool>()),
      finds_kept_(options[2].cast<bool>()),
      host_(host, addresses),
      faults_(host[2], host[3]),
      host_error_deleter_(DeleterOfHostError(host[1])),
      next_finding_(NumFindings()),
      next_kept_view_(num_kept_views.load()) {}

const FunctionNotes* Debug::NotesOf(const TVMFFIObservedCall& call) {
  std::atomic<const FunctionNotes*>& recent =
      recent_[reinterpret_cast<uintptr_t>(call.function) / 32 % recent_.size()];
  const FunctionNotes* notes = recent.load(std::memory_order_acquire);
  if (notes == nullptr || !notes->AreOf(call)) {
    notes = FindNotes(call);
    recent.store(notes, std::memory_order_release);
  }
  return notes;
}

const FunctionNotes* Debug::FindNotes(const TVMFFIObservedCall& call) {
  {
    std::lock_guard<ForkMutex> lock(mutex_);
    auto found = notes_.find(call.function);
    if (found != notes_.end() && found->second->AreOf(call)) return found->second;
  }
  FunctionNotes notes = host_.Describe(call);
  std::lock_guard<ForkMutex> lock(mutex_);
  const FunctionNotes* added = &all_notes_.emplace_back(std::move(notes));
  notes_[call.function] = added;
  return added;
}

void* Debug::Begin(const TVMFFIObservedCall& call) {
  std::unique_ptr<CallState> state = NewState();
  state->created = finds_kept_ ? &created_ : nullptr;
  state->has_created = false;
  state->notes = NotesOf(call);
  ThreadCalls& calls = thread_calls;
  const CallState* outer = state->outer = calls.current;
  state->name = {call.name.data, call.name.size};
  state->address = call.function;
  state->arg_array = call.args;
  state->slot = call.slot;
  state->is_nested = outer != nullptr && outer->address == call.function &&
                     outer->arg_array == call.args && outer->slot == call.slot;
  state->error = call.error;
  state->num_args = std::min(std::max(call.num_args, 0), kMaxArgs);
  state->lent = nullptr;
  bool may_lend = !state->is_nested && state->num_args > 0;
  if (may_lend && state->notes->budget->LendsViews()) LendArguments(call, state.get());
  std::copy_n(call.args, state->num_args, state->args);
  if (call.slot->type_index >= kTVMFFIStaticObjectBegin) {
    Report(call, *state, kResult, "call.result-cleared",
           "the caller passed a result slot that contains " + TypeName(call.slot->type_index));
  }
  CopyTensors(state.get());
  Hold(call, state.get());
  // No memory is allocated from here on: nothing stays changed if memory is short.
  for (const CheckedTensor& checked : state->tensors) checked.Fill();
  state->is_slot_filled = call.slot->type_index == kTVMFFINone;
  if (state->is_slot_filled) FillSlot(call.slot);
  uint64_t num_changes = runtime::NumStreamChanges();
  if (calls.last.num_changes != num_changes) ReadStreams(num_changes, &calls.last);
  // The state may have the streams from an earlier call of the thread.
  if (state->environment.num_changes != num_changes) state->environment = calls.last;
  state->environment.allocator = TVMFFIEnvGetDLPackManagedTensorAllocator();
  bool has_stream = state->environment.has_cuda_stream;
  state->captured = has_stream ? CapturedStream(state->environment) : nullptr;
  if (state->begin_ns != 0) state->function_ns = NowNs();
  if (calls.current != nullptr) calls.current->inner = state.get();
  calls.current = state.get();
  return state.release();
}

void Debug::LendArguments(const TVMFFIObservedCall& call, CallState* state) {
  state->lent = LendViews(call, state->num_args);
  if (state->lent == nullptr) return;
  state->caller_args = call.args;
  state->arg_array = state->lent;
  runtime::ReplaceArguments(call, state->lent);
}

// Adds a reference to each object argument that is not passed by move.
void Debug::Hold(const TVMFFIObservedCall& call, CallState* state) {
  state->num_held = 0;
  if (state->is_nested) {
    state->has_owner = state->outer->has_owner;
    state->num_held = state->outer->num_held;
    std::copy_n(state->outer->held, state->num_held, state->held);
    return;
  }
  const void* moved[kMaxArgs];
  int32_t num_moved = 0;
  for (int32_t i = 0; i < state->num_args; ++i) {
    const TVMFFIAny& arg = state->args[i];
    if (arg.type_index != kTVMFFIObjectRValueRef) continue;
    moved[num_moved++] = *static_cast<TVMFFIObject**>(arg.v_ptr);
  }
  state->has_owner = call.num_args > kMaxArgs || num_moved > 0;
  for (int32_t i = 0; i < state->num_args; ++i) {
    const TVMFFIAny& arg = state->args[i];
    if (arg.type_index < kTVMFFIStaticObjectBegin) continue;
    if (arg.v_obj == nullptr) {
      Report(call, *state, i, "any.null-object",
             "the caller passed a null pointer as " + TypeName(arg.type_index));
      continue;
    }
    state->has_owner |= !IsLeaf(arg.type_index);
    bool is_held = false;
    for (int32_t k = 0; k < state->num_held; ++k) is_held |= state->held[k].object == arg.v_obj;
    for (int32_t k = 0; k < num_moved; ++k) is_held |= moved[k] == arg.v_obj;
    if (is_held) continue;
    uint32_t strong = StrongCount(arg.v_obj);
    if (strong == 0 || IsReleased(arg.v_obj)) {
      Report(call, *state, i, "object.used-after-release",
             "the caller passed an object that has been released", EventsOf(arg.v_obj));
      continue;
    }
    Adopt(arg.v_obj, state->name, false);
    // As TVMFFIObjectIncRef, inline.
    __atomic_fetch_add(&arg.v_obj->combined_ref_count, 1, __ATOMIC_RELAXED);
    state->held[state->num_held++] = {arg.v_obj, strong, i};
  }
}

void Debug::CopyTensors(CallState* state) const {
  const std::string& directions = state->notes->directions;
  state->num_fields = 0;
  state->num_small = 0;
  state->begin_ns = 0;
  for (int32_t i = 0; i < state->num_args; ++i) {
    const DLTensor* tensor = TensorOf(state->args[i]);
    if (tensor == nullptr) continue;
    TensorFields& fields = state->fields[state->num_fields++];
    fields.index = i;
    fields.tensor = tensor;
    fields.copy = *tensor;
    if (directions.empty()) continue;
    auto position = static_cast<size_t>(i);
    char direction = position < directions.size() ? directions[position] : '-';
    if (direction == 'i' && state->small[state->num_small].Copy(i, *tensor, max_bytes_)) {
      ++state->num_small;
      continue;
    }
    // Constructed in place, because it is large.
    state->tensors.emplace_back(i, direction, *tensor, max_bytes_);
    if (!state->tensors.back().memory.is_checkable()) state->tensors.pop_back();
  }
  MarkShared(state->small, static_cast<size_t>(state->num_small), &state->tensors);
  if (state->tensors.empty()) return;
  size_t size = 0;
  for (const CheckedTensor& checked : state->tensors) {
    if (checked.is_comparable()) size += checked.memory.num_bytes();
  }
  if (size > CheckBudget::kFreeBytes) {
    state->begin_ns = NowNs();
    Restrict(state->notes->budget->NextWindow(), state);
  }
  size = 0;
  for (CheckedTensor& checked : state->tensors) size += checked.Prepare();
  if (size > state->copies_size) {
    state->copies.reset(new (std::nothrow) char[size]);
    state->copies_size = state->copies == nullptr ? 0 : size;
  }
  char* copy = state->copies.get();
  if (copy == nullptr && size > 0) return;  // memory is short
  for (CheckedTensor& checked : state->tensors) copy = checked.Copy(copy);
}

// Leaves the elements of a window.
void Debug::Restrict(size_t window, CallState* state) {
  if (window == CheckBudget::kWindows) return;
  for (CheckedTensor& checked : state->tensors) {
    bool is_left = checked.memory.Restrict(window, CheckBudget::kWindows);
    if (!is_left) checked.direction = '-';
  }
}

void Debug::End(const TVMFFIObservedCall& call, void* token) {
  if (token == nullptr) return;  // memory was short in Begin
  std::unique_ptr<CallState, FreeAtExit> state(static_cast<CallState*>(token));
  int64_t end_ns = state->begin_ns != 0 ? NowNs() : 0;
  (state->inner != nullptr ? state->inner->outer : thread_calls.current) = state->outer;
  if (state->outer != nullptr) state->outer->inner = state->inner;
  if (call.has_returned != 0) CheckReturn(call, state.get());
  if (state->is_slot_filled && !state->is_nested) RepairSlot(call.slot);
  CheckArguments(call, *state);
  CheckTensors(call, state.get());
  if (end_ns != 0) {
    int64_t check_ns = state->function_ns - state->begin_ns + NowNs() - end_ns;
    state->notes->budget->Charge(check_ns, end_ns - state->function_ns);
  }
  CheckReferences(call, *state);
  CheckEnvironment(call, state.get());
  if (state->captured != nullptr) CheckCapture(call, *state);
  CheckReleased(call, *state);
  size_t num_kept = num_kept_views.load(std::memory_order_relaxed);
  if (next_kept_view_.load(std::memory_order_relaxed) != num_kept) CheckKeptViews(call);
  if (state->lent != nullptr) {
    // Observers that end later began earlier, with the arguments of the caller.
    runtime::ReplaceArguments(call, state->caller_args);
    // A view in the result has been reported.  The caller will read it.
    bool returns_view = call.has_returned != 0 && IsView(*call.slot);
    ReturnViews(state->lent, returns_view);
  }
  bool may_call_host = state->has_created && call.status == 0;
  if (may_call_host) created_.AddStack(state->name, [this] { return faults_.HostStack(); });
}

void Debug::CheckReturn(const TVMFFIObservedCall& call, CallState* state) {
  TVMFFIAny* slot = call.slot;
  if (call.status != 0) {
    CheckError(call, *state);
    if (state->is_slot_filled && slot->type_index >= kTVMFFIStaticObjectBegin) {
      Report(call, *state, kResult, "call.result-on-error",
             "the call failed and stored an object of type " + TypeName(slot->type_index) +
                 ", which nobody releases");
    }
    return;
  }
  if (call.error != nullptr && call.error != state->error) {
    const TVMFFIErrorCell* error = TVMFFIErrorGetCellPtr(call.error);
    Report(call, *state, kNoArgument, "error.unreported",
           "the call returned 0 with the error " + std::string(error->kind.data, error->kind.size) +
               ": " + std::string(error->message.data, error->message.size));
  }
  CheckResult(call, *state);
}

void Debug::CheckResult(const TVMFFIObservedCall& call, const CallState& state) {
  const TVMFFIAny& result = *call.slot;
  ResultFaults faults = CheckSlot(result, state.is_slot_filled, state.notes->needs_result);
  bool is_object = result.type_index >= kTVMFFIStaticObjectBegin;
  for (auto& [rule, message] : faults) {
    bool is_released = is_object && rule == std::string_view("object.used-after-release");
    Report(call, state, kResult, rule, std::move(message),
           is_released ? EventsOf(result.v_obj) : std::string());
  }
  if (faults.empty() && is_object) Adopt(result.v_obj, state.name, true);
  if (!faults.empty() || !finds_not_finite_ || result.type_index != kTVMFFITensor) return;
  TensorMemory memory(*TVMFFITensorGetDLTensorPtr(result.v_obj), max_bytes_);
  int64_t element = memory.is_checkable() ? memory.FindNotFinite() : -1;
  if (element < 0) return;
  Report(call, state, kResult, "tensor.not-finite",
         "element " + memory.IndexText(element) + " is " + memory.ElementText(element));
}

void Debug::CheckArguments(const TVMFFIObservedCall& call, const CallState& state) {
  for (int32_t i = 0; i < state.num_args; ++i) {
    if (AreEqual(state.args[i], call.args[i])) continue;
    Report(call, state, i, "call.arguments-constant",
           "the function wrote into the array of the arguments");
  }
}

void Debug::CheckTensors(const TVMFFIObservedCall& call, CallState* call_state) {
  const CallState& state = *call_state;
  for (int32_t i = 0; i < state.num_fields; ++i) {
    const TensorFields& fields = state.fields[i];
    if (AreEqual(*fields.tensor, fields.copy)) continue;
    Report(call, state, fields.index, "tensor.fields-written",
           "the function changed a field of the DLTensor");
  }
  for (int32_t i = 0; i < state.num_small; ++i) {
    const SmallInput& input = state.small[i];
    if (input.IsUnchanged()) continue;
    auto is_it = [&](const TensorFields& fields) { return fields.index == input.index; };
    const auto* fields = std::find_if(state.fields, state.fields + state.num_fields, is_it);
    Report(call, state, input.index, "tensor.input-written",
           "the signature reads the argument, but " + input.ChangeText(fields->copy));
  }
  for (CheckedTensor& checked : call_state->tensors) {
    const TensorMemory& memory = checked.memory;
    if (auto change = checked.IsUnchanged() ? std::nullopt : checked.FindChange()) {
      Report(call, state, checked.index, "tensor.input-written",
             "the signature reads the argument, but " + change->text,
             EventText("written in", change->stack));
    }
    if (checked.is_filled()) {
      size_t count = 0;
      int64_t element = checked.ReplaceFilled(&count);
      if (element >= 0 && call.status == 0) {
        Report(call, state, checked.index, "tensor.output-not-written",
               "the function wrote " + std::to_string(memory.num_elements() - count) + " of " +
                   std::to_string(memory.num_elements()) + " elements; element " +
                   memory.IndexText(element) + " is the first that it did not write");
      }
    }
    bool is_output = checked.direction == 'o' || checked.direction == 'w';
    if (!finds_not_finite_ || !is_output || call.status != 0) continue;
    int64_t element = memory.FindNotFinite();
    if (element < 0) continue;
    Report(call, state, checked.index, "tensor.not-finite",
           "element " + memory.IndexText(element) + " is " + memory.ElementText(element));
  }
}

// Releases the additional references.
void Debug::CheckReferences(const TVMFFIObservedCall& call, const CallState& state) {
  bool returns_object = call.status == 0 && call.slot->type_index >= kTVMFFIStaticObjectBegin;
  for (int32_t i = 0; i < state.num_held; ++i) {
    const HeldObject& held = state.held[i];
    bool is_result = returns_object && call.has_returned != 0 && call.slot->v_obj == held.object;
    uint32_t strong = StrongCount(held.object) - 1;
    // Other owners may release their references during the call: only the reference of the caller
    // and the reference in the result must exist.
    uint32_t expected = held.strong_before == 1 ? 1u + (is_result ? 1u : 0u) : 0u;
    if (strong < expected) {
      Report(call, state, held.index, "object.released-too-often",
             is_result ? "the function returned the argument without a new reference"
                       : "the function released a reference that it does not own");
      if (!state.is_nested) continue;  // the additional reference replaces the missing one
    }
    bool may_leak = finds_kept_ && held.strong_before == 1 && strong > 1 && !returns_object &&
                    !state.has_owner && !state.notes->runs_host_code;
    if (may_leak) {
      kept_.Add({call.name.data, call.name.size}, ArgumentName(*state.notes, held.index),
                held.object, [this] { return faults_.HostStack(); });
    }
    if (!state.is_nested) TVMFFIObjectDecRef(held.object);
  }
}

namespace {

// The hook of TVMFFIEnvTensorAlloc.  If memory runs out, a leak of the tensor is not found.
void NoteCreated(TVMFFIObject* tensor) noexcept {
  try {
    for (CallState* state = thread_calls.current; state != nullptr; state = state->outer) {
      if (state->created != nullptr) {
        state->created->Add(state->name, tensor);
        state->has_created = true;
      }
      if (!state->is_nested) return;
    }
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

Array<Any> AddDebug(const Array<String>& names, const Array<Any>& options,
                    const Array<Function>& host, const Array<int64_t>& addresses) {
  struct Owned {
    AccessHandling access{&DescribeAccess};
    QuarantineUse quarantine;
    std::shared_ptr<Debug> debug;
    Owned(PlaceFunction place, std::shared_ptr<Debug> its_debug)
        : quarantine(std::move(place)), debug(std::move(its_debug)) {}
    ~Owned() { debug->Finish(); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
  };
  runtime::new_tensor_hook.store(&NoteCreated, std::memory_order_release);
  auto place = [caller = Host(host, addresses), host_stack = host[2]](Stack stack) {
    return PlaceOf(caller, host_stack, stack);
  };
  auto debug = std::make_shared<Debug>(options, host, addresses);
  return AddObserver(debug, names, std::make_unique<Owned>(place, debug));
}

}  // namespace tvm::ffi::extra

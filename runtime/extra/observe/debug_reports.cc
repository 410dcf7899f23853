// SPDX-License-Identifier: Apache-2.0
// Debug context: the checks that few calls execute, and the reports.
#include <tvm/ffi/extra/c_env_api.h>

#include <mutex>

#include "../core/extra_layer.h"
#include "observe/debug_context.h"
#include "observe/result_slot.h"
#include "observe/stream_capture.h"

namespace tvm::ffi::extra {
namespace {

Fault FaultOf(const QuarantineFinding& finding) {
  return {finding.function, nullptr, "", finding.rule, finding.message, finding.events};
}

// Returns the state of the call that contains this one and did not make the changes of this one.
// Other contexts that check this call have not seen the changes yet.
CallState* OuterCall(const CallState* state) {
  while (state->is_nested && state->outer != nullptr) state = state->outer;
  return state->outer;
}

}  // namespace

std::string Debug::ArgumentName(const FunctionNotes& notes, int index) {
  if (index == kResult) return "result";
  if (index == kNoArgument) return "";
  auto position = static_cast<size_t>(index);
  const std::vector<std::string>& names = notes.names;
  return position < names.size() ? names[position] : "argument " + std::to_string(index);
}

void Debug::Report(const TVMFFIObservedCall& call, const CallState& state, int index,
                   const char* rule, std::string message, std::string events) {
  std::string_view name(call.name.data, call.name.size);
  Fault fault{name,
              name.empty() ? state.address : nullptr,
              ArgumentName(*state.notes, index),
              rule,
              std::move(message),
              std::move(events)};
  // Host code must not run while an exception of the host language is pending.
  bool may_have_exception = call.status != 0 && call.error == nullptr && call.function == nullptr;
  faults_.Add(fault, !may_have_exception || !host_.HasException());
}

void Debug::CheckError(const TVMFFIObservedCall& call, const CallState& state) {
  std::string code = std::to_string(call.status);
  if (call.error == nullptr) {
    if (call.status == -2 || host_.HasException()) return;  // the host language has the exception
    return Report(call, state, kNoArgument, "error.missing",
                  "the call returned " + code + " and set no error");
  }
  if (call.status != -1 && call.status != -2) {
    Report(call, state, kNoArgument, "call.return-code",
           "the call returned " + code + ", expected 0 or -1");
  }
  const auto* object = static_cast<const TVMFFIObject*>(call.error);
  if (object->type_index != kTVMFFIError) {
    return Report(call, state, kNoArgument, "error.object",
                  "the pending error is an object of type " + TypeName(object->type_index));
  }
  if (state.notes->runs_host_code || object->deleter == host_error_deleter_) return;
  const TVMFFIErrorCell* error = TVMFFIErrorGetCellPtr(call.error);
  std::string kind(error->kind.data, error->kind.size);
  if (kind == "EnvErrorAlreadySet") return;
  if (error->message.size == 0) {
    Report(call, state, kNoArgument, "error.text",
           "the error of kind '" + kind + "' has an empty message");
  }
  {
    std::lock_guard<ForkMutex> lock(mutex_);
    if (kinds_.count(kind) != 0) return;
  }
  if (!kind.empty() && host_.KnowsKind(kind)) {
    std::lock_guard<ForkMutex> lock(mutex_);
    kinds_.insert(kind);
    return;
  }
  Report(call, state, kNoArgument, "error.kind", "the error kind '" + kind + "' is not registered");
}

void Debug::CheckEnvironment(const TVMFFIObservedCall& call, CallState* state) {
  if (IsUnchanged(state->environment)) return;
  Environment after;
  ReadStreams(runtime::NumStreamChanges(), &after);
  after.allocator = TVMFFIEnvGetDLPackManagedTensorAllocator();
  for (int type = 0; type < Environment::kNumTypes; ++type) {
    for (int id = 0; id < Environment::kNumDevices; ++id) {
      if (after.streams[type][id] == state->environment.streams[type][id]) continue;
      Report(call, *state, kNoArgument, "environment.stream",
             "the function changed the current stream of the device " +
                 std::to_string(Environment::kTypes[type]) + ":" + std::to_string(id));
    }
  }
  if (after.allocator != state->environment.allocator) {
    Report(call, *state, kNoArgument, "environment.allocator",
           "the function changed the tensor allocator");
  }
  for (CallState* outer = OuterCall(state); outer != nullptr; outer = outer->outer) {
    outer->environment = after;
  }
}

void Debug::CheckCapture(const TVMFFIObservedCall& call, const CallState& state) {
  if (CaptureState(state.captured) != kCaptureInvalidated) return;
  Report(call, state, kNoArgument, "environment.capture",
         "the capture of the current stream into a CUDA graph was active before the call, and is "
         "invalid after it");
  for (CallState* outer = OuterCall(&state); outer != nullptr; outer = outer->outer) {
    outer->captured = nullptr;
  }
}

// Reports uses of released objects.
void Debug::CheckReleased(const TVMFFIObservedCall& call, const CallState& state) {
  ExamineLatest(state.name);
  size_t next = next_finding_.load(std::memory_order_relaxed);
  if (next == NumFindings()) return;
  bool may_have_exception = call.status != 0 && host_.HasException();
  while (auto finding = TakeFinding(&next_finding_)) {
    faults_.Add(FaultOf(*finding), !may_have_exception);
  }
}

// Reports uses of views that functions kept.
void Debug::CheckKeptViews(const TVMFFIObservedCall& call) {
  bool may_have_exception = call.status != 0 && host_.HasException();
  while (const KeptView* view = NextKeptView(&next_kept_view_)) {
    faults_.Add(FaultOfView(*view), !may_have_exception);
  }
}

Fault Debug::FaultOfView(const KeptView& view) {
  Fault fault{view.name,
              *view.name == '\0' ? view.function : nullptr,
              "",
              "call.view-kept",
              "the function kept a view of the argument after the call, and it was used",
              EventText("used in", view.stack.Text())};
  std::lock_guard<ForkMutex> lock(mutex_);
  auto found = notes_.find(view.function);
  if (view.argument >= 0 && found != notes_.end()) {
    fault.argument = ArgumentName(*found->second, view.argument);
  }
  return fault;
}

Array<Array<Any>> Debug::Read() {
  ExamineAll();
  while (const KeptView* view = NextKeptView(&next_kept_view_)) {
    faults_.AddLater(FaultOfView(*view), String());
  }
  while (auto finding = TakeFinding(&next_finding_)) faults_.AddLater(FaultOf(*finding), String());
  for (const KeptArguments::Leak& leak : kept_.Leaks()) {
    std::string message =
        std::to_string(leak.num_references) + " references that the function kept still exist";
    faults_.AddLater({leak.function, nullptr, leak.argument, "object.leaked", message}, leak.stack);
  }
  if (!is_finished_.load(std::memory_order_acquire)) return faults_.Read();
  for (const CreatedTensors::Leak& leak : created_.Leaks()) {
    faults_.AddLater({leak.function, nullptr, "", "object.leaked",
                      std::to_string(leak.num_tensors) +
                          " tensors that the function allocated exist, without a pointer to them"},
                     leak.stack);
  }
  return faults_.Read();
}

}  // namespace tvm::ffi::extra

// SPDX-License-Identifier: Apache-2.0
// Dispatch: function objects that check the arguments of a call once, choose one of several
// implementations, the candidates, and call it.
//
// Calls read the candidate table without a lock.  A change of the candidates publishes a new table;
// the previous tables live as long as the dispatch, because other threads may use them.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "../core/extra_layer.h"
#include "dispatch/candidate_table.h"
#include "dispatch/cpu_features.h"
#include "registration.h"

namespace tvm::ffi::extra::dispatch {
namespace {

int Invoke(const FunctionObj* function, const TVMFFIAny* args, int32_t num_args,
           TVMFFIAny* result) {
  // An observer may replace the entry, so it is read once.
  TVMFFISafeCallType call = __atomic_load_n(&function->safe_call, __ATOMIC_RELAXED);
  return call(ffi::detail::ObjectUnsafe::GetHeader(function), args, num_args, result);
}

// The state that the function, bound choices and control functions of one dispatch share.
class Core {
 public:
  void Publish(std::unique_ptr<const CandidateTable> table) {
    std::lock_guard<std::mutex> lock(mutex_);
    table_.store(table.get(), std::memory_order_release);
    tables_.push_back(std::move(table));
  }
  const CandidateTable& table() const { return *table_.load(std::memory_order_acquire); }

  // Checks the arguments, chooses a candidate and calls it.  Returns -1 with a pending error on
  // failure.
  int Call(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    const CandidateTable& table = this->table();
    const CandidateTable::Choice* choice = table.ChooseByValues(args, num_args);
    if (TVM_FFI_PREDICT_TRUE(choice != nullptr)) return Run(table, *choice, args, num_args, result);
    try {
      DispatchRun run(table.program(), args, num_args);
      choice = &table.Choose(&run);
    } catch (...) {
      return ffi::detail::RaiseCurrentException();
    }
    if (TVM_FFI_PREDICT_FALSE(static_cast<uint32_t>(num_args) !=
                              table.program().checks.num_parameters)) {
      return CallWithDefaults(table, *choice, args, num_args, result);
    }
    return Run(table, *choice, args, num_args, result);
  }

 private:
  int Run(const CandidateTable& table, const CandidateTable::Choice& choice, const TVMFFIAny* args,
          int32_t num_args, TVMFFIAny* result) {
    if (TVM_FFI_PREDICT_FALSE(table.shadow() != nullptr)) {
      if (num_calls_.fetch_add(1, std::memory_order_relaxed) % table.every() == 0) {
        return CallShadow(table, choice, args, num_args, result);
      }
    }
    return Invoke(choice.function, args, num_args, result);
  }

  // Passes defaults for the missing arguments, so that candidates need no defaults.
  TVM_FFI_NO_INLINE int CallWithDefaults(const CandidateTable& table,
                                         const CandidateTable::Choice& choice,
                                         const TVMFFIAny* args, int32_t num_args,
                                         TVMFFIAny* result) {
    TVM_FFI_SAFE_CALL_BEGIN();
    std::vector<TVMFFIAny> all(args, args + num_args);
    const size_t num_parameters = table.program().checks.num_parameters;
    const std::vector<Any>& defaults = table.defaults();
    const size_t first = num_parameters - defaults.size();
    for (size_t i = all.size(); i < num_parameters && i >= first; ++i) {
      all.push_back(AnyView(defaults[i - first]).CopyToTVMFFIAny());
    }
    return Run(table, choice, all.data(), static_cast<int32_t>(all.size()), result);
    TVM_FFI_SAFE_CALL_END();
  }

  TVM_FFI_NO_INLINE static int CallShadow(const CandidateTable& table,
                                          const CandidateTable::Choice& choice,
                                          const TVMFFIAny* args, int32_t num_args,
                                          TVMFFIAny* result) {
    TVM_FFI_SAFE_CALL_BEGIN();
    std::vector<TVMFFIAny> all;
    all.reserve(static_cast<size_t>(num_args) + 1);
    all.push_back(AnyView(static_cast<int64_t>(choice.index)).CopyToTVMFFIAny());
    all.insert(all.end(), args, args + num_args);
    return Invoke(table.shadow(), all.data(), static_cast<int32_t>(all.size()), result);
    TVM_FFI_SAFE_CALL_END();
  }

  std::atomic<const CandidateTable*> table_{nullptr};
  std::atomic<uint64_t> num_calls_{0};  // in shadow mode
  std::mutex mutex_;                    // guards tables_
  std::vector<std::unique_ptr<const CandidateTable>> tables_;
};

class DispatchObj : public FunctionObj {
 public:
  explicit DispatchObj(std::shared_ptr<Core> core) : core_(std::move(core)) { safe_call = Call; }

 private:
  static int Call(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    auto* function = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<DispatchObj>(
        static_cast<TVMFFIObject*>(self));
    return function->core_->Call(args, num_args, result);
  }

  std::shared_ptr<Core> core_;
};

// The candidate that a dispatch has chosen for checked arguments, as the function of a prepared
// call.  After a change of the candidates, and in shadow mode, each call chooses again.
class BoundChoiceObj : public FunctionObj {
 public:
  BoundChoiceObj(std::shared_ptr<Core> core, const CandidateTable* table,
                 const FunctionObj* function)
      : core_(std::move(core)), table_(table), function_(function) {
    safe_call = Call;
  }

  // Returns the form of a bound choice that calls the form of the candidate, owned; nullptr if the
  // function is not a bound choice, or the candidate has no form.
  static void* NewForm(void* handle) {
    if (runtime::OwnEntryOf(handle) != reinterpret_cast<const void*>(&Call)) return nullptr;
    const auto* bound = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<BoundChoiceObj>(
        static_cast<TVMFFIObject*>(handle));
    if (bound->table_ == nullptr) return nullptr;
    void* form = runtime::PreparedFormOf(ffi::detail::ObjectUnsafe::GetHeader(bound->function_));
    if (form == nullptr) return nullptr;
    auto owned = ffi::detail::ObjectUnsafe::ObjectPtrFromOwned<FunctionObj>(
        static_cast<TVMFFIObject*>(form));
    auto made = make_object<BoundChoiceObj>(bound->core_, bound->table_, owned.get());
    made->form_ = std::move(owned);
    return ffi::detail::ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(ObjectPtr<Object>(made));
  }

 private:
  static int Call(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    auto* bound = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<BoundChoiceObj>(
        static_cast<TVMFFIObject*>(self));
    if (TVM_FFI_PREDICT_TRUE(&bound->core_->table() == bound->table_)) {
      return Invoke(bound->function_, args, num_args, result);
    }
    return bound->core_->Call(args, num_args, result);
  }

  std::shared_ptr<Core> core_;
  const CandidateTable* table_;  // owned by core_
  const FunctionObj* function_;  // owned by the table, or by form_
  ObjectPtr<FunctionObj> form_;  // of the candidate; may be null
};

// ---- Control functions --------------------------------------------------------------------------

std::unique_ptr<const CandidateTable> NewTable(const Bytes& program, Array<Function> functions,
                                               const Array<Any>& defaults,
                                               Optional<Function> shadow, int64_t every) {
  std::string_view bytes(program.data(), program.size());
  return std::make_unique<const CandidateTable>(ReadDispatchProgram(bytes), std::move(functions),
                                                defaults, std::move(shadow), every);
}

std::shared_ptr<Core> Lock(const std::weak_ptr<Core>& core) {
  std::shared_ptr<Core> owned = core.lock();
  if (owned == nullptr) TVM_FFI_THROW(RuntimeError) << "the dispatch was destroyed";
  return owned;
}

const TVMFFIAny* ArgumentsOf(PackedArgs args) {
  return reinterpret_cast<const TVMFFIAny*>(args.data());
}

// Returns the index of the candidate that a call with these arguments uses, or -1, then the reason
// against each candidate.
Array<Any> Explain(Core* core, PackedArgs args) {
  const CandidateTable& table = core->table();
  DispatchRun run(table.program(), ArgumentsOf(args), args.size());
  const CandidateTable::Choice* choice = table.TryToChoose(&run);
  Array<Any> found = {choice == nullptr ? int64_t{-1} : static_cast<int64_t>(choice->index)};
  for (const Candidate& candidate : table.program().candidates) {
    found.push_back(String(table.ReasonAgainst(candidate, &run)));
  }
  return found;
}

Function Bind(std::shared_ptr<Core> core, PackedArgs args) {
  const CandidateTable& table = core->table();
  DispatchRun run(table.program(), ArgumentsOf(args), args.size());
  const FunctionObj* function = table.Choose(&run).function;
  // A bound function without a table chooses in each call.
  const CandidateTable* bound = table.shadow() == nullptr ? &table : nullptr;
  return Function(
      ObjectPtr<FunctionObj>(make_object<BoundChoiceObj>(std::move(core), bound, function)));
}

// Returns a dispatch, and the functions that control it: replace the candidates, explain a choice,
// bind a choice.  The control functions do not keep the dispatch alive, because candidates may
// refer to them.
Array<Function> Create(const Bytes& program, const Array<Any>& defaults) {
  auto core = std::make_shared<Core>();
  core->Publish(NewTable(program, {}, defaults, Optional<Function>(), 1));
  std::weak_ptr<Core> weak = core;
  auto replace = [weak](const Bytes& program, Array<Function> functions, const Array<Any>& defaults,
                        Optional<Function> shadow, int64_t every) {
    Lock(weak)->Publish(
        NewTable(program, std::move(functions), defaults, std::move(shadow), every));
  };
  auto explain = [weak](PackedArgs args, Any* result) {
    *result = Explain(Lock(weak).get(), args);
  };
  auto bind = [weak](PackedArgs args, Any* result) { *result = Bind(Lock(weak), args); };
  return {Function(ObjectPtr<FunctionObj>(make_object<DispatchObj>(core))),
          Function::FromTyped(replace), Function::FromPacked(explain), Function::FromPacked(bind)};
}

}  // namespace
}  // namespace tvm::ffi::extra::dispatch

namespace tvm::ffi::extra {

void RegisterDispatch() {
  runtime::AddPreparedForm(&dispatch::BoundChoiceObj::NewForm);
  reflection::GlobalDef()
      .def("pytvmffi.DispatchCreate", &dispatch::Create)
      .def("pytvmffi.CpuFeatures", &dispatch::CpuFeatures);
}

}  // namespace tvm::ffi::extra

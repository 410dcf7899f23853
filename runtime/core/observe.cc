// SPDX-License-Identifier: Apache-2.0
// Observers (c_observe.h): the entries of observed functions, and the observers' life cycle.
//
// An observed function object has ObservedCall and, if it has a C++ entry, ObservedCppCall as
// entries.  A record per object, found by the address of the object, has the entries of the
// function itself.  These rules make the calls safe without a lock:
//
//   1. A record is complete before an entry is replaced, and never freed.  A thread that has read a
//      replaced entry finds the record, also if the function gets its entries back concurrently.
//   2. Both entries work with the function object alone, and a null C++ entry stays null.  A caller
//      that reads one entry before and one after the replacement is therefore right.
//   3. A record does not refer to its object.  When the object has died and a new function has the
//      same address, the new function has entries of its own until it is observed, and the record
//      is overwritten before its entries are replaced.  The number of records is bounded by the
//      number of addresses.
//   4. Only the caller keeps a function alive.  Functions that the runtime cannot list therefore
//      get their entries back in their next call.
#include <tvm/ffi/extra/c_observe.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../platform/platform.h"
#include "../platform/probe.h"
#include "error.h"
#include "extra_layer.h"
#include "function_table.h"
#include "known_functions.h"
#include "text.h"
#include "type_table.h"

namespace tvm::ffi::runtime {
namespace {

constexpr int kMaxObservers = 8;
// Private functions of the runtime are not observed: some of them add and read observers.
constexpr std::string_view kOwnPrefix = "pytvmffi.";

// A C++ entry: `void (const FunctionObj*, const AnyView*, int32_t, Any*)`, without the C++ types.
using CppCall = void (*)(const void*, const TVMFFIAny*, int32_t, TVMFFIAny*);

int ObservedCall(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
void ObservedCppCall(const void* function, const TVMFFIAny* args, int32_t num_args,
                     TVMFFIAny* result);

// ---- Records ------------------------------------------------------------------------------------

using Name = std::map<std::string, int32_t, std::less<>>::value_type;  // a name and its index

// The entries of a function object, and its observers.
struct Record {
  Record(const void* address, const Name* first_name) : function(address), name(first_name) {}

  const void* function;        // the address of the object
  bool is_registered = false;  // the name is of a table of functions; guarded by the lock
  std::atomic<const Name*> name;
  std::atomic<TVMFFISafeCallType> safe_call{nullptr};
  std::atomic<void*> cpp_call{nullptr};  // null if the function has no C++ entry
  std::atomic<uint32_t> observers{0};    // a set of observers, bit i for the observer with index i
};

// A hash table from addresses to records.  Lookups take no lock.  A table that is full is replaced
// and never freed, because a reader may still use it.
class RecordTable {
 public:
  // Returns the record of a function whose entry the caller has read; null for other functions.
  Record* Find(const void* function) const {
    // The caller has read the replaced entry by a plain load, before the loads that follow.
    std::atomic_thread_fence(std::memory_order_acquire);
    const Slots* slots = slots_.load(std::memory_order_acquire);
    return slots == nullptr ? nullptr : slots->At(function)->load(std::memory_order_acquire);
  }
  // Returns the record of a function.  One thread at a time may call this function.
  Record* FindOrAdd(const void* function, const Name* name) {
    Slots* slots = slots_.load(std::memory_order_relaxed);
    if (slots == nullptr || records_.size() * 2 >= slots->size) slots = Grow();
    std::atomic<Record*>* slot = slots->At(function);
    if (Record* found = slot->load(std::memory_order_relaxed)) return found;
    Record* added = &records_.emplace_back(function, name);
    slot->store(added, std::memory_order_release);
    return added;
  }
  std::deque<Record>& records() { return records_; }

 private:
  struct Slots {
    explicit Slots(size_t count) : size(count), slots(new std::atomic<Record*>[count]()) {}

    // Returns the slot of the function's record, or an empty slot.
    std::atomic<Record*>* At(const void* function) const {
      auto hash = reinterpret_cast<uintptr_t>(function) / 16 * uint64_t{0x9E3779B97F4A7C15};
      for (size_t i = hash >> 32;; ++i) {
        std::atomic<Record*>* slot = &slots[i & (size - 1)];
        const Record* record = slot->load(std::memory_order_acquire);
        if (record == nullptr || record->function == function) return slot;
      }
    }

    size_t size;  // a power of two
    std::unique_ptr<std::atomic<Record*>[]> slots;
  };

  Slots* Grow() {
    constexpr size_t kFirstSize = 1024;
    auto larger = std::make_unique<Slots>(tables_.empty() ? kFirstSize : tables_.back()->size * 2);
    for (Record& record : records_) {
      larger->At(record.function)->store(&record, std::memory_order_relaxed);
    }
    tables_.push_back(std::move(larger));
    slots_.store(tables_.back().get(), std::memory_order_release);
    return tables_.back().get();
  }

  std::atomic<Slots*> slots_{nullptr};
  std::vector<std::unique_ptr<Slots>> tables_;  // all tables; the last one is current
  std::deque<Record> records_;
};

// ---- Observers ----------------------------------------------------------------------------------

// The state of an observer is a set of flags and the number of calls that use it, times kUse.
// A slot is free if no flag is set.
constexpr uint64_t kActive = 1;  // calls may begin
constexpr uint64_t kFilled = 2;  // the fields are valid
constexpr uint64_t kEnding = 4;  // a thread is going to call the deleter
constexpr uint64_t kFlags = 7;
constexpr uint64_t kUse = 8;

struct alignas(64) Observer {
  // Returns true if the caller may use the hooks until it calls Release.
  bool Acquire() {
    if ((state.fetch_add(kUse, std::memory_order_acq_rel) & kActive) != 0) return true;
    Release();
    return false;
  }
  void Release() {
    if (state.fetch_sub(kUse, std::memory_order_acq_rel) == kFilled + kUse) EndIfUnused();
  }
  // Calls the deleter if the observer was removed and no call uses it.
  void EndIfUnused() {
    uint64_t expected = kFilled;
    if (!state.compare_exchange_strong(expected, kEnding, std::memory_order_acq_rel)) return;
    void (*deleter)(void*) = hooks.deleter;
    void* context = hooks.context;
    state.fetch_sub(kEnding, std::memory_order_release);
    if (deleter != nullptr) deleter(context);
  }
  bool Matches(std::string_view name) const {
    if (names.empty()) return true;
    for (std::string_view wanted : names) {
      bool is_prefix = !wanted.empty() && wanted.back() == '*';
      if (is_prefix) wanted.remove_suffix(1);
      if (is_prefix ? name.substr(0, wanted.size()) == wanted : name == wanted) return true;
    }
    return false;
  }

  std::atomic<uint64_t> state{0};
  TVMFFIObserver hooks{};          // changes only while the slot is free
  std::vector<std::string> names;  // guarded by Observation::mutex
  int64_t number = -1;             // guarded by Observation::mutex
};

struct Observation {
  static Observation& Global() {
    static auto* observation = new Observation();
    return *observation;
  }

  // Returns the observers of the function that exist.
  uint32_t ObserversOf(const Record& record) const {
    return record.observers.load(std::memory_order_relaxed) &
           active.load(std::memory_order_relaxed);
  }
  int64_t Add(const TVMFFIObserver& hooks);
  void Remove(int64_t number);
  void Deactivate(int index);
  // `is_registered`: the name is of a table of functions, so it replaces the name of a callable.
  void Show(void* function, std::string_view name, bool is_registered);
  // Gives a function its entries back, if it has no observers.
  void RestoreIfUnobserved(void* function, const std::unique_lock<std::mutex>& locked);

  std::mutex mutex;                 // no hook or deleter runs while it is held
  std::atomic<uint32_t> active{0};  // the set of observers in which calls may begin
  std::array<Observer, kMaxObservers> observers;
  RecordTable records;                                // mutex guards additions
  std::map<std::string, int32_t, std::less<>> names;  // never shrinks; guarded by mutex
  int64_t num_added = 0;                              // guarded by mutex

 private:
  const Name* FindName(std::string_view name);
  uint32_t MatchingObservers(std::string_view name) const;
  // Calls visit(function, name) for all functions that the runtime can list.
  template <typename Visit>
  static void ForEachListed(Visit&& visit);
};

FunctionObject* FunctionAt(void* handle) {
  return static_cast<FunctionObject*>(static_cast<TVMFFIObject*>(handle));
}
bool HasObservedEntry(void* function) { return EntryOf(FunctionAt(function)) == &ObservedCall; }

// The hook for new functions.  If memory for a record runs out, the function is not observed.
void ShowNew(void* function, std::string_view name) noexcept {
  try {
    Observation::Global().Show(function, name, !name.empty());
  } catch (const std::bad_alloc&) {
  }
}

template <typename Visit>
void Observation::ForEachListed(Visit&& visit) {
  for (const std::string& name : FunctionTable::Global().Names()) {
    Ref<FunctionObject> function = FunctionTable::Global().Find(name);
    if (function) visit(static_cast<void*>(function.header()), name);
  }
  KnownFunction::ForEach(visit);
  TypeTable& types = TypeTable::Global();
  for (std::string_view key : types.Keys()) {
    const TVMFFITypeInfo* type = types.Find(types.FindIndex(key));
    for (int32_t i = 0; i < __atomic_load_n(&type->num_methods, __ATOMIC_ACQUIRE); ++i) {
      const TVMFFIMethodInfo& method = type->methods[i];
      if (method.method.type_index != kTVMFFIFunction) continue;
      visit(static_cast<void*>(method.method.v_obj), Concat(key, ".", View(method.name)));
    }
  }
}

const Name* Observation::FindName(std::string_view name) {
  auto found = names.find(name);
  if (found == names.end()) {
    found = names.emplace(name, static_cast<int32_t>(names.size())).first;
  }
  return &*found;
}

uint32_t Observation::MatchingObservers(std::string_view name) const {
  uint32_t matching = 0;
  if (name.substr(0, kOwnPrefix.size()) == kOwnPrefix) return matching;
  for (int i = 0; i < kMaxObservers; ++i) {
    bool is_active = ((active.load(std::memory_order_relaxed) >> i) & 1) != 0;
    if (is_active && observers[i].Matches(name)) matching |= 1u << i;
  }
  return matching;
}

// Other threads may add observers and functions while this process forks.
void HoldLocksDuringForks() {
  [[maybe_unused]] static const bool is_set = [] {
    platform::LockDuringForks(
        [] {
          FunctionTable::Global().Lock();
          KnownFunction::Mutex().lock();
          Observation::Global().mutex.lock();
          TypeTable::Global().Lock();
        },
        [] {
          TypeTable::Global().Unlock();
          Observation::Global().mutex.unlock();
          KnownFunction::Mutex().unlock();
          FunctionTable::Global().Unlock();
        },
        [] {
          TypeTable::Global().Unlock();
          Observation::Global().mutex.unlock();
          KnownFunction::Mutex().unlock();
          FunctionTable::Global().UnlockInChild();
        });
    return true;
  }();
}

int64_t Observation::Add(const TVMFFIObserver& hooks) {
  HoldLocksDuringForks();
  std::vector<std::string> wanted;
  for (size_t i = 0; i < hooks.num_names; ++i) wanted.emplace_back(View(hooks.names[i]));
  int64_t number;
  {
    std::lock_guard<std::mutex> lock(mutex);
    int index = 0;
    while (index < kMaxObservers && (observers[index].state.load() & kFlags) != 0) ++index;
    if (index == kMaxObservers) {
      Raise("RuntimeError", "TVMFFIObserverAdd: expected fewer than ", kMaxObservers,
            " observers, got another one; remove one first");
    }
    Observer& observer = observers[index];
    observer.hooks = hooks;
    observer.names.swap(wanted);
    observer.number = number = num_added++;
    observer.state.fetch_add(kActive | kFilled, std::memory_order_release);
    active.fetch_or(1u << index);
    // Functions whose entries are replaced already, and which the runtime may be unable to list.
    for (Record& record : records.records()) {
      record.observers.store(MatchingObservers(record.name.load()->first));
    }
    new_function_hook.store(&ShowNew);
  }
  // Functions that get a name from now on are shown by the hook.
  ForEachListed([](void* function, std::string_view name) { ShowNew(function, name); });
  return number;
}

void Observation::Remove(int64_t number) {
  int index = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto is_it = [&](int i) {
      return observers[i].number == number && (observers[i].state.load() & kActive) != 0;
    };
    while (index < kMaxObservers && !is_it(index)) ++index;
    if (index == kMaxObservers) {
      Raise("ValueError", "TVMFFIObserverRemove: there is no observer with the number ", number);
    }
    Deactivate(index);
    if (active.load() == 0) new_function_hook.store(nullptr);
  }
  ForEachListed([this](void* function, std::string_view) {
    if (HasObservedEntry(function)) {
      RestoreIfUnobserved(function, std::unique_lock<std::mutex>(mutex));
    }
  });
  observers[index].EndIfUnused();
}

// The caller calls EndIfUnused, or uses the observer.
void Observation::Deactivate(int index) {
  active.fetch_and(~(1u << index));
  observers[index].state.fetch_and(~kActive, std::memory_order_acq_rel);
}

void Observation::Show(void* handle, std::string_view name, bool is_registered) {
  FunctionObject* function = FunctionAt(handle);
  std::lock_guard<std::mutex> lock(mutex);
  if (active.load(std::memory_order_relaxed) == 0 || function->safe_call == nullptr) return;
  bool is_observed = HasObservedEntry(handle);
  if (!is_observed && MatchingObservers(name) == 0) return;
  const Name* found = FindName(name);
  Record* record = records.FindOrAdd(handle, found);
  if (!is_observed) {
    record->safe_call.store(function->safe_call, std::memory_order_relaxed);
    record->cpp_call.store(function->cpp_call, std::memory_order_relaxed);
  }
  bool renames = record->name.load()->first.empty() || (is_registered && !record->is_registered);
  if (!is_observed || renames) {
    record->name.store(found);
    record->is_registered = is_registered;
  }
  record->observers.store(MatchingObservers(record->name.load()->first));
  if (is_observed) return;
  __atomic_store_n(&function->safe_call, &ObservedCall, __ATOMIC_RELEASE);
  if (function->cpp_call == nullptr) return;
  __atomic_store_n(&function->cpp_call, reinterpret_cast<void*>(&ObservedCppCall),
                   __ATOMIC_RELEASE);
}

void Observation::RestoreIfUnobserved(void* handle, const std::unique_lock<std::mutex>& locked) {
  if (!locked.owns_lock() || !HasObservedEntry(handle)) return;
  FunctionObject* function = FunctionAt(handle);
  const Record* record = records.Find(handle);
  if (ObserversOf(*record) != 0) return;
  // The C++ entry first: a function with its own C entry counts as restored.
  void* cpp_call = record->cpp_call.load(std::memory_order_relaxed);
  if (cpp_call != nullptr) __atomic_store_n(&function->cpp_call, cpp_call, __ATOMIC_RELEASE);
  __atomic_store_n(&function->safe_call, record->safe_call.load(std::memory_order_relaxed),
                   __ATOMIC_RELEASE);
}

// ---- Calls --------------------------------------------------------------------------------------

// True while hooks run on this thread, or an UnobservedScope exists.
thread_local bool runs_hooks = false;

// Sets runs_hooks, and keeps the pending error of the thread away from the hooks.
class HookScope {
 public:
  HookScope() : slot_(&PendingErrorSlot()), pending_(std::exchange(*slot_, nullptr)) {
    runs_hooks = true;
  }
  ~HookScope() noexcept(false) {
    if (*slot_ != nullptr) DropPendingError();
    if (pending_ != nullptr) SetPendingError(Ref<ErrorObject>::Adopt(pending_));
    runs_hooks = false;
  }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

  // Returns the error that was pending, or None; borrowed until the scope ends.
  TVMFFIAny pending() const {
    TVMFFIAny any = NoneAny();
    if (pending_ == nullptr) return any;
    any.type_index = kTVMFFIError;
    any.v_obj = static_cast<TVMFFIObject*>(pending_);
    return any;
  }
  TVMFFIObjectHandle pending_handle() const { return static_cast<TVMFFIObject*>(pending_); }

 private:
  ErrorObject** slot_;
  ErrorObject* pending_;
};

// One call of an observed function: the constructor calls `begin` of the observers, and the
// destructor, which also runs if the function throws, calls `end` in reverse order.
class CallScope {
 public:
  CallScope(const Record& record, uint32_t observers, void* function, const TVMFFIAny* args,
            int32_t num_args, TVMFFIAny* result) {
    const auto& [name, index] = *record.name.load(std::memory_order_relaxed);
    HookScope scope;
    call_ = {{name.data(), name.size()}, args, num_args, index, function, nullptr, -1, 0, result,
             scope.pending_handle()};
    for (; observers != 0; observers &= observers - 1) {
      int i = __builtin_ctz(observers);
      Observer& observer = Observation::Global().observers[i];
      if (!observer.Acquire()) continue;
      begun_ |= 1u << i;
      tokens_[i] = nullptr;
      RunHook(i, [&] { tokens_[i] = observer.hooks.begin(observer.hooks.context, &call_); });
    }
    TVM_FFI_PROBE4("call__begin", name.data(), num_args, args, function);
  }
  ~CallScope() noexcept(false) {
    TVM_FFI_PROBE2("call__end", call_.name.data, call_.status);
    HookScope scope;
    bool has_failed = call_.status != 0 && call_.has_returned != 0;
    TVMFFIAny other_result = has_failed ? scope.pending() : NoneAny();
    call_.error = scope.pending_handle();
    if (call_.status != 0 || call_.result == nullptr) call_.result = &other_result;
    call_.function = nullptr;
    while (begun_ != 0) {
      int i = 31 - __builtin_clz(begun_);
      begun_ &= ~(1u << i);
      Observer& observer = Observation::Global().observers[i];
      RunHook(i, [&] { observer.hooks.end(observer.hooks.context, &call_, tokens_[i]); });
      observer.Release();
    }
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  const TVMFFIAny* args() const { return call_.args; }  // see ReplaceArguments
  void Returns(int status, const TVMFFIAny* result) {
    call_.has_returned = 1;
    call_.status = status;
    call_.result = result;
  }

 private:
  template <typename Body>
  static void RunHook(int index, Body&& body) {
    if (GuardBoundary(body) == 0) return;
    TVMFFIObjectHandle error = nullptr;
    TVMFFIErrorMoveFromRaised(&error);
    Ref<ErrorObject> owned = Ref<ErrorObject>::Adopt(error);
    std::fprintf(stderr, "tvm_ffi: removed an observer of calls, because its hook failed: %s\n",
                 owned ? owned->message.data : "unknown error");
    Observation::Global().Deactivate(index);
  }

  TVMFFIObservedCall call_;
  uint32_t begun_ = 0;           // the set of observers that this call uses
  void* tokens_[kMaxObservers];  // of the observers in begun_
};

// Returns the observers for which the caller creates a CallScope; 0 if it only calls the function.
uint32_t BeginCall(const Record& record, void* function) {
  Observation& observation = Observation::Global();
  uint32_t observers = observation.ObserversOf(record);
  if (observers == 0) {
    // If another thread has the lock, a later call restores the entries.
    observation.RestoreIfUnobserved(
        function, std::unique_lock<std::mutex>(observation.mutex, std::try_to_lock));
  }
  return runs_hooks ? 0 : observers;
}

// The call of a C entry in progress.  Some functions forward it to their own C++ entry with the
// same arguments: functions that were compiled with the headers of another implementation.
struct ForwardedCall {
  const void* function;
  const TVMFFIAny* args;
  TVMFFIAny* result;
  bool operator==(const ForwardedCall& other) const {
    return function == other.function && args == other.args && result == other.result;
  }
};
thread_local ForwardedCall c_call = {nullptr, nullptr, nullptr};

class CCallScope {
 public:
  explicit CCallScope(ForwardedCall call) : outer_(std::exchange(c_call, call)) {}
  ~CCallScope() { c_call = outer_; }
  CCallScope(const CCallScope&) = delete;
  CCallScope& operator=(const CCallScope&) = delete;

 private:
  ForwardedCall outer_;
};

[[noreturn]] void RaiseUnknown() {
  Raise("InternalError", "the entry of an observed function was copied to another function object");
}

int ObservedCall(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  const Record* record = Observation::Global().records.Find(function);
  if (record == nullptr) return GuardBoundary([] { RaiseUnknown(); });
  TVMFFISafeCallType safe_call = record->safe_call.load(std::memory_order_relaxed);
  uint32_t observers = BeginCall(*record, function);
  if (observers == 0) return safe_call(function, args, num_args, result);
  CallScope scope(*record, observers, function, args, num_args, result);
  CCallScope c_scope({function, scope.args(), result});
  int status = safe_call(function, scope.args(), num_args, result);
  scope.Returns(status, result);
  return status;
}

#ifdef __clang__
__attribute__((no_sanitize("function")))  // the C++ types of the entry differ
#endif
void ObservedCppCall(const void* function, const TVMFFIAny* args, int32_t num_args,
                     TVMFFIAny* result) {
  const Record* record = Observation::Global().records.Find(function);
  if (record == nullptr) RaiseUnknown();
  auto cpp_call = reinterpret_cast<CppCall>(record->cpp_call.load(std::memory_order_relaxed));
  auto* handle = const_cast<void*>(function);
  uint32_t observers = BeginCall(*record, handle);
  bool is_forwarded = c_call == ForwardedCall{function, args, result};  // observed by ObservedCall
  CCallScope c_scope({nullptr, nullptr, nullptr});
  if (observers == 0 || is_forwarded) return cpp_call(function, args, num_args, result);
  CallScope scope(*record, observers, handle, args, num_args, result);
  cpp_call(function, scope.args(), num_args, result);
  scope.Returns(0, result);
}

}  // namespace

UnobservedScope::UnobservedScope() : ran_hooks_(std::exchange(runs_hooks, true)) {}
UnobservedScope::~UnobservedScope() { runs_hooks = ran_hooks_; }

void ReplaceArguments(const TVMFFIObservedCall& call, const TVMFFIAny* args) {
  const_cast<TVMFFIObservedCall&>(call).args = args;  // the member of a CallScope
}

const void* OwnEntryOf(const void* handle) {
  FunctionObject* function = FunctionAt(const_cast<void*>(handle));
  TVMFFISafeCallType entry = EntryOf(function);
  if (entry == &ObservedCall) {
    entry = Observation::Global().records.Find(handle)->safe_call.load(std::memory_order_relaxed);
  }
  return reinterpret_cast<const void*>(entry);
}

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIObserverAdd(const TVMFFIObserver* observer, int64_t* out) {
  return GuardBoundary([&] {
    if (observer->struct_size < sizeof(TVMFFIObserver)) {
      Raise("ValueError", "TVMFFIObserverAdd: struct_size of the observer must be at least ",
            sizeof(TVMFFIObserver), ", got ", observer->struct_size);
    }
    if (observer->begin == nullptr || observer->end == nullptr) {
      Raise("ValueError", "TVMFFIObserverAdd: the hook ",
            observer->begin == nullptr ? "begin" : "end", " is NULL");
    }
    *out = Observation::Global().Add(*observer);
  });
}

int TVMFFIObserverRemove(int64_t observer) {
  return GuardBoundary([&] { Observation::Global().Remove(observer); });
}

int TVMFFIObserverShow(TVMFFIObjectHandle function, const TVMFFIByteArray* name) {
  return GuardBoundary([&] {
    std::string_view text = name == nullptr ? std::string_view() : View(*name);
    Observation::Global().Show(function, text, false);
  });
}

int32_t TVMFFIObserverCount() {
  return __builtin_popcount(Observation::Global().active.load(std::memory_order_relaxed));
}

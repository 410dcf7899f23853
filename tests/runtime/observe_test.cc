// SPDX-License-Identifier: Apache-2.0
// Observers of calls: the watched functions, the hooks, removal, threads and forks.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_observe.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child_process.h"
#include "raised.h"
#include "values.h"

namespace {

namespace ffi = tvm::ffi;
using Events = std::vector<std::string>;

// Records "begin NAME(n)" and "end NAME STATUS" of calls, on one thread.
struct Recorder {
  Events events;
  int deleted = 0;
  int64_t number = -1;

  // Observes functions with these names; no names: all functions.
  void Add(const std::vector<TVMFFIByteArray>& names = {}) {
    TVMFFIObserver observer{sizeof(TVMFFIObserver), this,        &Begin, &End, &Delete,
                            names.data(),           names.size()};
    CHECK_EQ(TVMFFIObserverAdd(&observer, &number), 0);
  }
  int Remove() const { return TVMFFIObserverRemove(number); }

  static void* Begin(void* context, const TVMFFIObservedCall* call) {
    CHECK_NE(call->function, nullptr);
    CHECK_EQ(call->result, nullptr);
    auto* recorder = static_cast<Recorder*>(context);
    recorder->events.push_back("begin " + Text(call->name) + "(" + std::to_string(call->num_args) +
                               ")");
    return recorder->events.data();
  }
  static void End(void* context, const TVMFFIObservedCall* call, void* token) {
    CHECK_NE(token, nullptr);
    CHECK_EQ(call->function, nullptr);
    auto* recorder = static_cast<Recorder*>(context);
    std::string result = call->result->type_index == kTVMFFIInt
                             ? std::to_string(call->result->v_int64)
                             : "type " + std::to_string(call->result->type_index);
    recorder->events.push_back("end " + Text(call->name) + " " + std::to_string(call->status) +
                               " " + result);
  }
  static void Delete(void* context) { ++static_cast<Recorder*>(context)->deleted; }
};

int Increment(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  if (num_args == 0) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "no argument");
    return -1;
  }
  *result = Int(args[0].v_int64 + 1);
  return 0;
}

// Returns a new global function that the caller owns.
TVMFFIObjectHandle Register(const char* name, TVMFFISafeCallType call, void* self = nullptr) {
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(self, call, nullptr, &function), 0);
  TVMFFIByteArray bytes = Bytes(name);
  CHECK_EQ(TVMFFIFunctionSetGlobal(&bytes, function, 1), 0);
  return function;
}

int64_t CallWith(TVMFFIObjectHandle function, int64_t value) {
  TVMFFIAny argument = Int(value), result = None();
  CHECK_EQ(TVMFFIFunctionCall(function, &argument, 1, &result), 0);
  return result.v_int64;
}

// The C entry as an address, because doctest cannot print function pointers.
const void* EntryOf(TVMFFIObjectHandle function) {
  return reinterpret_cast<const void*>(TVMFFIFunctionGetCellPtr(function)->safe_call);
}
const void* const kIncrement = reinterpret_cast<const void*>(&Increment);

ffi::Function NewTyped() {
  return ffi::Function::FromTyped([](int64_t x) { return x + 1; });
}

}  // namespace

TEST_CASE("an observer sees the calls of the functions that it names, until it is removed") {
  TVMFFIObjectHandle one = Register("observe_test.one", &Increment);
  TVMFFIObjectHandle two = Register("observe_test.two", &Increment);
  TVMFFIObjectHandle other = Register("observe_other", &Increment);
  Recorder exact, prefix;
  exact.Add({Bytes("observe_test.one")});
  prefix.Add({Bytes("observe_t*")});
  CHECK_EQ(TVMFFIObserverCount(), 2);
  for (TVMFFIObjectHandle function : {one, two, other}) CHECK_EQ(CallWith(function, 4), 5);
  CHECK_EQ(exact.events, Events{"begin observe_test.one(1)", "end observe_test.one 0 5"});
  CHECK_EQ(prefix.events, Events{"begin observe_test.one(1)", "end observe_test.one 0 5",
                                 "begin observe_test.two(1)", "end observe_test.two 0 5"});
  CHECK_EQ(EntryOf(other), kIncrement);
  CHECK_EQ(prefix.Remove(), 0);
  CHECK_EQ(prefix.deleted, 1);
  CHECK_NE(EntryOf(one), kIncrement);
  CHECK_EQ(EntryOf(two), kIncrement);
  CHECK_EQ(exact.Remove(), 0);
  CHECK_EQ(EntryOf(one), kIncrement);
  CHECK_EQ(CallWith(one, 1), 2);
  CHECK_EQ(exact.events.size(), 2);
  CHECK_EQ(TVMFFIObserverCount(), 0);
  for (TVMFFIObjectHandle function : {one, two, other}) TVMFFIObjectDecRef(function);
}

TEST_CASE("the end of a failed call sees the error, and the caller gets it") {
  TVMFFIObjectHandle function = Register("observe_test.fails", &Increment);
  Recorder recorder;
  recorder.Add({Bytes("observe_test.fails")});
  TVMFFIAny result = None();
  CHECK_EQ(TVMFFIFunctionCall(function, nullptr, 0, &result), -1);
  CHECK_EQ(recorder.Remove(), 0);
  CHECK_EQ(recorder.events,
           Events{"begin observe_test.fails(0)",
                  "end observe_test.fails -1 type " + std::to_string(kTVMFFIError)});
  CHECK_EQ(TakeRaised().message, "no argument");
  TVMFFIObjectDecRef(function);
}

TEST_CASE("hooks see the result slot, the pending error and the end by an exception") {
  struct Slots {
    TVMFFIAny* slot = nullptr;
    TVMFFIObjectHandle error_before = nullptr;
    TVMFFIObjectHandle error_after = nullptr;
    int32_t has_returned = -1;
  } slots;
  TVMFFIByteArray names[] = {Bytes("observe_test.fails"), Bytes("observe_test.throws")};
  TVMFFIObserver observer{sizeof(TVMFFIObserver), &slots, nullptr, nullptr, nullptr, names, 2};
  observer.begin = [](void* context, const TVMFFIObservedCall* call) -> void* {
    static_cast<Slots*>(context)->slot = call->slot;
    static_cast<Slots*>(context)->error_before = call->error;
    return nullptr;
  };
  observer.end = [](void* context, const TVMFFIObservedCall* call, void*) {
    auto* found = static_cast<Slots*>(context);
    CHECK_EQ(call->slot, found->slot);
    found->error_after = call->error;
    found->has_returned = call->has_returned;
  };
  TVMFFIObjectHandle function = Register("observe_test.fails", &Increment);
  ffi::Function throws = ffi::Function::FromTyped([]() { throw std::runtime_error("thrown"); });
  ffi::Function::SetGlobal("observe_test.throws", throws, true);
  int64_t number = -1;
  CHECK_EQ(TVMFFIObserverAdd(&observer, &number), 0);
  TVMFFIAny result = None();
  CHECK_EQ(TVMFFIFunctionCall(function, nullptr, 0, &result), -1);
  CHECK_EQ(slots.slot, &result);
  CHECK_EQ(slots.error_before, nullptr);
  CHECK_NE(slots.error_after, nullptr);
  CHECK_EQ(slots.has_returned, 1);
  CallWith(function, 1);  // with the error of the first call pending
  CHECK_NE(slots.error_before, nullptr);
  CHECK_EQ(slots.error_after, slots.error_before);
  CHECK_EQ(TakeRaised().message, "no argument");
  CHECK_THROWS_AS(throws(), std::runtime_error);
  CHECK_EQ(slots.has_returned, 0);
  CHECK_EQ(TVMFFIObserverRemove(number), 0);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("functions that become known later are observed; closures have no name at first") {
  Recorder recorder;
  recorder.Add();
  TVMFFIObjectHandle closure = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, &Increment, nullptr, &closure), 0);
  CallWith(closure, 1);
  TVMFFIByteArray name = Bytes("observe_test.late");
  CHECK_EQ(TVMFFIFunctionSetGlobal(&name, closure, 1), 0);
  CallWith(closure, 2);
  CHECK_EQ(recorder.events, Events{"begin (1)", "end  0 2", "begin observe_test.late(1)",
                                   "end observe_test.late 0 3"});
  CHECK_EQ(recorder.Remove(), 0);
  CHECK_EQ(EntryOf(closure), kIncrement);
  TVMFFIObjectDecRef(closure);
}

TEST_CASE("a function that the runtime cannot list gets its entries back in its next call") {
  ffi::Function typed = NewTyped();
  auto* handle = ffi::detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(typed);
  const void* safe_call = EntryOf(handle);
  void* cpp_call = TVMFFIFunctionGetCellPtr(handle)->cpp_call;
  Recorder recorder;
  recorder.Add();
  TVMFFIByteArray name = Bytes("typed");
  CHECK_EQ(TVMFFIObserverShow(handle, &name), 0);
  CHECK_EQ(typed(1).cast<int64_t>(), 2);
  CHECK_EQ(recorder.Remove(), 0);
  CHECK_NE(EntryOf(handle), safe_call);
  CHECK_EQ(typed(2).cast<int64_t>(), 3);
  CHECK_EQ(EntryOf(handle), safe_call);
  CHECK_EQ(TVMFFIFunctionGetCellPtr(handle)->cpp_call, cpp_call);
  CHECK_EQ(recorder.events, Events{"begin typed(1)", "end typed 0 2"});
}

TEST_CASE("C++ exceptions pass through observers unchanged") {
  struct OwnException : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  ffi::Function throws = ffi::Function::FromTyped([]() { throw OwnException("own"); });
  ffi::Function::SetGlobal("observe_test.throws", throws, true);
  Recorder recorder;
  recorder.Add({Bytes("observe_test.throws")});
  CHECK_THROWS_AS(throws(), OwnException);
  CHECK_EQ(recorder.Remove(), 0);
  CHECK_EQ(recorder.events,
           Events{"begin observe_test.throws(0)", "end observe_test.throws -1 type 0"});
}

TEST_CASE("functions of modules that were looked up before are observed") {
  ffi::Module module = ffi::Module::LoadFromFile(KERNEL_LIBRARY);
  ffi::Function before = module->GetFunction("add").value();
  Recorder recorder;
  recorder.Add({Bytes("add")});
  ffi::Function during = module->GetFunction("add").value();
  CHECK_EQ(before(1, 2).cast<int64_t>(), 3);
  CHECK_EQ(during(3, 4).cast<int64_t>(), 7);
  CHECK_EQ(recorder.Remove(), 0);
  CHECK_EQ(before(1, 2).cast<int64_t>(), 3);
  CHECK_EQ(recorder.events, Events{"begin add(2)", "end add 0 3", "begin add(2)", "end add 0 7"});
}

TEST_CASE("a new function at the address of a dead one is not mistaken for it") {
  Recorder recorder;
  recorder.Add({Bytes("observe_test.*")});
  for (int i = 0; i < 100; ++i) {
    // The function is freed at the end of each round; malloc reuses the address.
    TVMFFISafeCallType call =
        i % 2 == 0 ? &Increment : [](void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
          *result = Int(-1);
          return 0;
        };
    TVMFFIObjectHandle function = nullptr;
    CHECK_EQ(TVMFFIFunctionCreate(nullptr, call, nullptr, &function), 0);
    std::string name = "observe_test." + std::to_string(i % 3);
    TVMFFIByteArray bytes = Bytes(name);
    CHECK_EQ(TVMFFIObserverShow(function, &bytes), 0);
    CHECK_EQ(CallWith(function, i), i % 2 == 0 ? i + 1 : -1);
    CHECK_EQ(recorder.events.back(),
             "end " + name + " 0 " + std::to_string(i % 2 == 0 ? i + 1 : -1));
    TVMFFIObjectDecRef(function);
  }
  CHECK_EQ(recorder.Remove(), 0);
}

namespace {

// An observer whose hook calls `body`.
struct Hook {
  void (*body)(Hook* hook, const TVMFFIObservedCall* call) = nullptr;
  TVMFFIObjectHandle function = nullptr;
  int64_t number = -1;
  int begun = 0, ended = 0, deleted = 0;

  void Add(const TVMFFIByteArray& name) {
    TVMFFIObserver observer{sizeof(TVMFFIObserver),
                            this,
                            [](void* context, const TVMFFIObservedCall* call) -> void* {
                              auto* hook = static_cast<Hook*>(context);
                              ++hook->begun;
                              hook->body(hook, call);
                              return nullptr;
                            },
                            [](void* context, const TVMFFIObservedCall*, void*) {
                              ++static_cast<Hook*>(context)->ended;
                            },
                            [](void* context) { ++static_cast<Hook*>(context)->deleted; },
                            &name,
                            1};
    CHECK_EQ(TVMFFIObserverAdd(&observer, &number), 0);
  }
};

}  // namespace

TEST_CASE("a hook may call functions, leave an error and remove its observer") {
  Hook hook;
  hook.function = Register("observe_test.hook", &Increment);
  hook.body = [](Hook* self, const TVMFFIObservedCall*) {
    TVMFFIAny result = None();
    CHECK_EQ(TVMFFIFunctionCall(self->function, nullptr, 0, &result), -1);  // not observed
    CHECK_EQ(TVMFFIObserverRemove(self->number), 0);
    CHECK_EQ(self->deleted, 0);  // the call has not ended
  };
  hook.Add(Bytes("observe_test.hook"));
  TVMFFIErrorSetRaisedFromCStr("KeyError", "pending before the call");
  CHECK_EQ(CallWith(hook.function, 1), 2);
  CHECK_EQ(TakeRaised().message, "pending before the call");
  CHECK_EQ(CallWith(hook.function, 2), 3);
  CHECK_EQ(hook.begun, 1);
  CHECK_EQ(hook.ended, 1);
  CHECK_EQ(hook.deleted, 1);
  TVMFFIObjectDecRef(hook.function);
}

TEST_CASE("an observer whose hook throws is removed, and the call continues") {
  static Hook hook;
  hook.function = Register("observe_test.throwing", &Increment);
  hook.body = [](Hook*, const TVMFFIObservedCall*) { throw std::runtime_error("broken hook"); };
  hook.Add(Bytes("observe_test.throwing"));
  ChildEnd end = RunInChild([] {
    bool is_right = CallWith(hook.function, 1) == 2 && CallWith(hook.function, 2) == 3;
    if (!is_right || hook.begun != 1 || hook.deleted != 1 || TVMFFIObserverCount() != 0) _exit(3);
  });
  CHECK_EQ(end.exit_status, 0);
  CHECK_EQ(end.stderr_text,
           "tvm_ffi: removed an observer of calls, because its hook failed: broken hook\n");
  CHECK_EQ(TVMFFIObserverRemove(hook.number), 0);  // the child has its own copy
  TVMFFIObjectDecRef(hook.function);
}

TEST_CASE("invalid observers are errors, and change nothing") {
  TVMFFIObserver observer{};
  int64_t number = -7;
  CHECK_EQ(TVMFFIObserverAdd(&observer, &number), -1);
  CHECK_EQ(TakeRaised().message,
           "TVMFFIObserverAdd: struct_size of the observer must be at least 56, got 0");
  observer.struct_size = sizeof(observer);
  observer.begin = &Recorder::Begin;
  CHECK_EQ(TVMFFIObserverAdd(&observer, &number), -1);
  CHECK_EQ(TakeRaised().message, "TVMFFIObserverAdd: the hook end is NULL");
  CHECK_EQ(TVMFFIObserverRemove(1 << 20), -1);
  CHECK_EQ(TakeRaised().message,
           "TVMFFIObserverRemove: there is no observer with the number 1048576");
  CHECK_EQ(number, -7);
  Recorder recorders[8], ninth;
  for (Recorder& recorder : recorders) recorder.Add({Bytes("none")});
  observer = {sizeof(observer), &ninth, &Recorder::Begin, &Recorder::End, nullptr, nullptr, 0};
  CHECK_EQ(TVMFFIObserverAdd(&observer, &number), -1);
  CHECK_EQ(TakeRaised().kind, "RuntimeError");
  for (Recorder& recorder : recorders) CHECK_EQ(recorder.Remove(), 0);
  CHECK_EQ(recorders[0].Remove(), -1);  // removed already
  CHECK_EQ(TakeRaised().kind, "ValueError");
}

namespace {

// Counts pairs of hooks; the token of a call is the number of the call on its thread.
struct PairCounter {
  std::atomic<int64_t> begun{0}, ended{0}, disordered{0};
  std::atomic<int> deleted{0};
  int64_t number = -1;

  void Add(const char* name) {
    TVMFFIByteArray names = Bytes(name);
    TVMFFIObserver observer{sizeof(TVMFFIObserver), this, &Begin, &End, &Delete, &names, 1};
    CHECK_EQ(TVMFFIObserverAdd(&observer, &number), 0);
  }
  static thread_local int64_t num_open;

  static void* Begin(void* context, const TVMFFIObservedCall*) {
    static_cast<PairCounter*>(context)->begun.fetch_add(1, std::memory_order_relaxed);
    return reinterpret_cast<void*>(++num_open);
  }
  static void End(void* context, const TVMFFIObservedCall*, void* token) {
    auto* counter = static_cast<PairCounter*>(context);
    if (reinterpret_cast<int64_t>(token) != num_open--) ++counter->disordered;
    counter->ended.fetch_add(1, std::memory_order_relaxed);
  }
  static void Delete(void* context) { ++static_cast<PairCounter*>(context)->deleted; }
};
thread_local int64_t PairCounter::num_open = 0;

template <typename Body>
void RunOnFourThreads(Body&& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
}

// Calls the function in its first argument, so that calls are nested.
int CallInner(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  return TVMFFIFunctionCall(self, const_cast<TVMFFIAny*>(args), num_args, result);
}

}  // namespace

TEST_CASE("a million calls on four threads are a million ordered pairs") {
  TVMFFIObjectHandle inner = Register("observe_test.pair.inner", &Increment);
  TVMFFIObjectHandle outer = Register("observe_test.pair.outer", &CallInner, inner);
  ffi::Function typed = NewTyped();
  ffi::Function::SetGlobal("observe_test.pair.typed", typed, true);
  PairCounter counter;
  counter.Add("observe_test.pair.*");
  RunOnFourThreads([&] {
    for (int i = 0; i < 83333; ++i) {
      CallWith(outer, i);
      typed(i);
    }
    CallWith(inner, 0);
  });
  CHECK_EQ(TVMFFIObserverRemove(counter.number), 0);
  CHECK_EQ(counter.begun.load(), 1000000);
  CHECK_EQ(counter.ended.load(), 1000000);
  CHECK_EQ(counter.disordered.load(), 0);
  CHECK_EQ(counter.deleted.load(), 1);
  TVMFFIObjectDecRef(inner);
  TVMFFIObjectDecRef(outer);
}

TEST_CASE("observers may be added and removed while other threads call") {
  TVMFFIObjectHandle function = Register("observe_test.switched", &Increment);
  ffi::Function typed = NewTyped();
  ffi::Function::SetGlobal("observe_test.switched.typed", typed, true);
  std::atomic<bool> stops{false};
  std::atomic<int64_t> wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      for (int64_t n = 0; !stops; ++n) {
        TVMFFIAny argument = Int(n), result = None();
        int status = TVMFFIFunctionCall(function, &argument, 1, &result);
        if (status != 0 || result.v_int64 != n + 1) ++wrong;
        if (typed(n).cast<int64_t>() != n + 1) ++wrong;
      }
    });
  }
  std::vector<PairCounter> counters(2000);
  for (PairCounter& counter : counters) {
    counter.Add("observe_test.switched*");
    CHECK_EQ(TVMFFIObserverRemove(counter.number), 0);
  }
  stops = true;
  for (std::thread& caller : callers) caller.join();
  CHECK_EQ(wrong.load(), 0);
  for (const PairCounter& counter : counters) {
    if (counter.begun != counter.ended || counter.deleted != 1) {
      FAIL("begun ", counter.begun.load(), ", ended ", counter.ended.load(), ", deleted ",
           counter.deleted.load());
    }
  }
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a forked child continues to observe, and may remove its observers") {
  static TVMFFIObjectHandle function = Register("observe_test.fork", &Increment);
  static Recorder recorder;
  recorder.Add({Bytes("observe_test.fork")});
  ChildEnd end = RunInChild([] {
    CallWith(function, 1);
    if (recorder.events.size() != 2 || recorder.Remove() != 0) _exit(3);
    if (EntryOf(function) != kIncrement || recorder.deleted != 1) _exit(4);
  });
  CHECK_EQ(end.exit_status, 0);
  CHECK_EQ(recorder.events.size(), 0);
  CHECK_EQ(recorder.Remove(), 0);
  TVMFFIObjectDecRef(function);
}

// A lock that another thread of the parent has would stay locked in the child.
TEST_CASE("a child that forks while another thread adds observers can add observers") {
  std::atomic<bool> stops{false};
  std::thread adder([&] {
    while (!stops) {
      Recorder recorder;
      recorder.Add({Bytes("observe_test.none")});
      recorder.Remove();
    }
  });
  for (int i = 0; i < 300; ++i) {
    ChildEnd end = RunInChild([] {
      alarm(20);
      Recorder recorder;
      recorder.Add({Bytes("observe_test.none")});
      _exit(recorder.Remove());
    });
    REQUIRE_EQ(end.exit_status, 0);
  }
  stops = true;
  adder.join();
}

TEST_CASE("calls at process exit are observed") {
  ChildEnd end = RunInChild([] {
    static TVMFFIObjectHandle function = Register("observe_test.exit", &Increment);
    static Recorder recorder;
    recorder.Add({Bytes("observe_test.exit")});
    std::atexit([] {
      CallWith(function, 1);
      _exit(recorder.events.size() == 2 ? 0 : 3);
    });
    std::exit(4);
  });
  CHECK_EQ(end.exit_status, 0);
}

TEST_CASE("a call that the C entry forwards to the C++ entry of its function is observed once") {
  // Regression: functions compiled with other headers were observed twice.
  ffi::Function inner = NewTyped();
  auto* handle = ffi::detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(inner);
  TVMFFIFunctionCell* cell = TVMFFIFunctionGetCellPtr(handle);
  TVMFFISafeCallType own_entry = cell->safe_call;
  cell->safe_call = [](void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    using CppCall = void (*)(const void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
    auto call = reinterpret_cast<CppCall>(TVMFFIFunctionGetCellPtr(self)->cpp_call);
    call(self, args, num_args, result);
    return 0;
  };
  Recorder recorder;
  recorder.Add({Bytes("forwards")});
  TVMFFIByteArray name = Bytes("forwards");
  CHECK_EQ(TVMFFIObserverShow(handle, &name), 0);
  CHECK_EQ(CallWith(handle, 1), 2);
  CHECK_EQ(inner(2).cast<int64_t>(), 3);
  CHECK_EQ(recorder.events, Events{"begin forwards(1)", "end forwards 0 2", "begin forwards(1)",
                                   "end forwards 0 3"});
  CHECK_EQ(recorder.Remove(), 0);
  CHECK_EQ(CallWith(handle, 1), 2);
  cell->safe_call = own_entry;
}

TEST_CASE("methods of types are observed under the key of their type") {
  int32_t index = -1;
  TVMFFIByteArray key = Bytes("observe_test.Type");
  index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
  auto add_method = [&](const char* name) {
    TVMFFIObjectHandle function = nullptr;
    CHECK_EQ(TVMFFIFunctionCreate(nullptr, &Increment, nullptr, &function), 0);
    TVMFFIMethodInfo info{};
    info.name = Bytes(name);
    info.method.type_index = kTVMFFIFunction;
    info.method.v_obj = static_cast<TVMFFIObject*>(function);
    CHECK_EQ(TVMFFITypeRegisterMethod(index, &info), 0);
    TVMFFIObjectDecRef(function);  // the type has another reference
    return function;
  };
  TVMFFIObjectHandle before = add_method("before");
  Recorder recorder;
  recorder.Add({Bytes("observe_test.Type.*")});
  TVMFFIObjectHandle during = add_method("during");
  CallWith(before, 1);
  CallWith(during, 2);
  CHECK_EQ(recorder.Remove(), 0);
  CHECK_EQ(EntryOf(before), kIncrement);
  CHECK_EQ(EntryOf(during), kIncrement);
  CHECK_EQ(recorder.events,
           Events{"begin observe_test.Type.before(1)", "end observe_test.Type.before 0 2",
                  "begin observe_test.Type.during(1)", "end observe_test.Type.during 0 3"});
}

// SPDX-License-Identifier: Apache-2.0
// Prepared calls: creation, updates, runs.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_prepared.h>

#include <thread>
#include <vector>

#include "raised.h"
#include "values.h"

namespace {

// Returns the sum of the integers, or the address of the first element of a tensor.
int Sum(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  int64_t sum = 0;
  for (int32_t i = 0; i < num_args; ++i) {
    const DLTensor* tensor = TVMFFIPreparedTensorOf(&args[i]);
    sum += tensor == nullptr ? args[i].v_int64
                             : reinterpret_cast<int64_t>(tensor->data) +
                                   static_cast<int64_t>(tensor->byte_offset);
  }
  *result = Int(sum);
  return 0;
}

// Returns a new reference to its first argument.
int Echo(void*, const TVMFFIAny* args, int32_t, TVMFFIAny* result) {
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

int Fail(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) {
  TVMFFIErrorSetRaisedFromCStr("KeyError", "no such node");
  return -1;
}

// Fails if the first argument is negative.
int RefuseNegative(void*, const TVMFFIAny* args, int32_t, TVMFFIAny*) {
  if (args[0].v_int64 >= 0) return 0;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "negative");
  return -1;
}

// The environment that SeeEnvironment has observed.
struct Seen {
  TVMFFIStreamHandle stream;
  bool has_allocator;
} seen;

int SeeEnvironment(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) {
  seen = {TVMFFIEnvGetStream(kDLCUDA, 3), TVMFFIEnvGetDLPackManagedTensorAllocator() != nullptr};
  return 0;
}

int RefuseToAllocate(DLTensor*, DLManagedTensorVersioned**, void*,
                     void (*)(void*, const char*, const char*)) {
  return -1;
}

// Runs the prepared call in the variable that `self` points to.
int RunAgain(void* self, const TVMFFIAny*, int32_t, TVMFFIAny*) {
  return TVMFFIPreparedRun(static_cast<TVMFFIObjectHandle*>(self), 1, nullptr, nullptr);
}

TVMFFIObjectHandle NewFunction(TVMFFISafeCallType call, void* self = nullptr) {
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(self, call, nullptr, &function), 0);
  return function;
}

// A prepared call that the test owns.
struct Prepared {
  Prepared(TVMFFISafeCallType call, std::vector<TVMFFIAny> args, void* self = nullptr,
           TVMFFISafeCallType checks = nullptr) {
    TVMFFIObjectHandle function = NewFunction(call, self);
    TVMFFIObjectHandle check = checks == nullptr ? nullptr : NewFunction(checks);
    CHECK_EQ(TVMFFIPreparedCreate(function, check, args.data(), static_cast<int32_t>(args.size()),
                                  &handle),
             0);
    TVMFFIObjectDecRef(function);
    if (check != nullptr) TVMFFIObjectDecRef(check);
  }
  ~Prepared() { TVMFFIObjectDecRef(handle); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  int Update(int32_t slot, TVMFFIAny value) const {
    return TVMFFIPreparedUpdate(handle, &slot, &value, 1);
  }
  int64_t Run() const {
    TVMFFIAny result = GarbageAny();
    CHECK_EQ(TVMFFIPreparedRun(&handle, 1, &result, nullptr), 0);
    return result.v_int64;
  }

  TVMFFIObjectHandle handle = nullptr;
};

// A compact float32 tensor of 2 by 3 elements; the tests change its fields.
struct Matrix {
  float elements[6] = {};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  DLTensor tensor{elements, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};

  TVMFFIAny view() { return Pointer(kTVMFFIDLTensorPtr, &tensor); }
  int64_t address() const { return reinterpret_cast<int64_t>(elements); }
};

}  // namespace

TEST_CASE("a prepared call passes its arguments in each run") {
  Prepared call(&Sum, {Int(1), Int(20)});
  CHECK_EQ(call.Run(), 21);
  CHECK_EQ(call.Update(0, Int(5)), 0);
  CHECK_EQ(call.Run(), 25);
}

TEST_CASE("a prepared call is a function without parameters") {
  Prepared call(&Sum, {Int(1)});
  TVMFFIAny result = None(), arg = Int(2);
  CHECK_EQ(TVMFFIObjectGetTypeIndex(call.handle), static_cast<int32_t>(kTVMFFIFunction));
  CHECK_EQ(TVMFFIFunctionCall(call.handle, nullptr, 0, &result), 0);
  CHECK_EQ(result.v_int64, 1);
  CHECK_RAISES(TVMFFIFunctionCall(call.handle, &arg, 1, &result), "TypeError",
               "takes no arguments, got 1");
}

TEST_CASE("a prepared call owns function, checks and arguments") {
  static int destroyed = 0;
  TVMFFIObjectHandle object = NewOpaque(nullptr, [](void*) { ++destroyed; });
  {
    Prepared call(&Echo, {ViewOf(object)});
    TVMFFIObjectDecRef(object);
    TVMFFIAny result = None();
    CHECK_EQ(TVMFFIPreparedRun(&call.handle, 1, &result, nullptr), 0);
    CHECK_EQ(StrongCount(object), 2);
    Release(result);
    TVMFFIObjectHandle next = NewOpaque(nullptr, [](void*) {});
    CHECK_EQ(call.Update(0, ViewOf(next)), 0);
    CHECK_EQ(destroyed, 1);
    CHECK_EQ(StrongCount(next), 2);
    TVMFFIObjectDecRef(next);
  }
  CHECK_EQ(destroyed, 1);
}

TEST_CASE("strings of all forms share a slot and are copied") {
  char text[] = "a text that does not fit sixteen bytes";
  Prepared call(&Echo, {RawStr("short")});
  CHECK_EQ(call.Update(0, RawStr(text)), 0);
  text[0] = 'A';
  TVMFFIAny result = None();
  CHECK_EQ(TVMFFIPreparedRun(&call.handle, 1, &result, nullptr), 0);
  CHECK_EQ(TakeText(result), "a text that does not fit sixteen bytes");
}

TEST_CASE("an update with other facts fails and changes nothing") {
  Matrix first, other;
  Prepared call(&Sum, {Int(0), first.view()});
  CHECK_RAISES(call.Update(0, PlainAny(kTVMFFIFloat, 0)), "TypeError",
               "slot 0: expected int as prepared, got float; prepare another call for it");
  CHECK_RAISES(call.Update(1, Int(0)), "TypeError", "slot 1: expected DLTensor* as prepared");
  CHECK_RAISES(call.Update(2, Int(0)), "IndexError", "slot 2: the prepared call has 2 slots");
  CHECK_RAISES(call.Update(-1, Int(0)), "IndexError", "slot -1");
  other.tensor.dtype.code = kDLInt;
  CHECK_RAISES(call.Update(1, other.view()), "TypeError",
               "slot 1: expected dtype float32 as prepared, got int32");
  other.tensor = first.tensor;
  other.tensor.device.device_id = 1;
  CHECK_RAISES(call.Update(1, other.view()), "ValueError",
               "slot 1: expected device (type, id) (1, 0) as prepared, got (1, 1)");
  other.tensor = first.tensor;
  other.tensor.shape = other.strides;
  CHECK_RAISES(call.Update(1, other.view()), "ValueError",
               "slot 1: expected shape (2, 3) as prepared, got (3, 1)");
  other.tensor.ndim = 1;
  CHECK_RAISES(call.Update(1, other.view()), "ValueError",
               "slot 1: expected shape (2, 3) as prepared, got (3,)");
  other.tensor = first.tensor;
  other.tensor.strides = other.strides;
  other.strides[0] = 4;
  CHECK_RAISES(call.Update(1, other.view()), "ValueError",
               "slot 1: expected strides of a compact tensor as prepared, got (4, 1)");
  CHECK_EQ(call.Run(), first.address());
}

TEST_CASE("an update with the same facts replaces the tensor") {
  Matrix first, other;
  Prepared call(&Sum, {first.view()});
  other.tensor.strides = other.strides;
  CHECK_EQ(call.Update(0, other.view()), 0);
  CHECK_EQ(call.Run(), other.address());
  // The stride of a dimension with one element has no meaning.
  Matrix row, same_row;
  row.shape[0] = same_row.shape[0] = 1;
  same_row.tensor.strides = same_row.strides;
  same_row.strides[0] = 77;
  Prepared row_call(&Sum, {row.view()});
  CHECK_EQ(row_call.Update(0, same_row.view()), 0);
  // Neither have the strides of an empty tensor.
  row.shape[1] = same_row.shape[1] = 0;
  same_row.strides[1] = 77;
  CHECK_EQ(row_call.Update(0, same_row.view()), 0);
}

TEST_CASE("an address replaces the memory of a tensor") {
  Matrix first, other;
  first.tensor.byte_offset = 8;
  Prepared call(&Sum, {first.view()});
  CHECK_EQ(call.Update(0, Pointer(kTVMFFIOpaquePtr, other.elements)), 0);
  CHECK_EQ(call.Run(), other.address());
  const DLTensor* tensor = TVMFFIPreparedTensorOf(TVMFFIPreparedGetCellPtr(call.handle)->args);
  CHECK_EQ(tensor->shape[1], 3);
  CHECK_EQ(tensor->strides[0], 3);
  CHECK_RAISES(call.Update(0, Pointer(kTVMFFIOpaquePtr, nullptr)), "ValueError",
               "slot 0: expected the address of the elements, got NULL");
  CHECK_EQ(call.Update(0, first.view()), 0);
  CHECK_EQ(call.Run(), first.address() + 8);
}

TEST_CASE("checks refuse arguments, and an update is undone") {
  TVMFFIObjectHandle sum = NewFunction(&Sum), checks = NewFunction(&RefuseNegative), out = nullptr;
  TVMFFIAny negative = Int(-1);
  CHECK_RAISES(TVMFFIPreparedCreate(sum, checks, &negative, 1, &out), "ValueError", "negative");
  CHECK_EQ(out, nullptr);
  CHECK_EQ(StrongCount(sum), 1);
  CHECK_EQ(StrongCount(checks), 1);
  TVMFFIObjectDecRef(sum);
  TVMFFIObjectDecRef(checks);

  Prepared call(&Sum, {Int(1), Int(20)}, nullptr, &RefuseNegative);
  int32_t slots[] = {1, 0, 0};
  TVMFFIAny values[] = {Int(30), Int(2), Int(-2)};
  CHECK_RAISES(TVMFFIPreparedUpdate(call.handle, slots, values, 3), "ValueError", "negative");
  CHECK_EQ(call.Run(), 21);
  CHECK_EQ(TVMFFIPreparedUpdate(call.handle, slots, values, 2), 0);
  CHECK_EQ(call.Run(), 32);
}

TEST_CASE("an rvalue reference cannot be prepared") {
  TVMFFIObjectHandle object = NewOpaque(nullptr, [](void*) {}), out = nullptr;
  TVMFFIObjectHandle echo = NewFunction(&Echo);
  TVMFFIAny moved = Pointer(kTVMFFIObjectRValueRef, &object);
  CHECK_RAISES(TVMFFIPreparedCreate(echo, nullptr, &moved, 1, &out), "TypeError",
               "slot 0: a prepared call cannot pass an rvalue reference");
  CHECK_EQ(StrongCount(object), 1);
  TVMFFIObjectDecRef(object);
  TVMFFIObjectDecRef(echo);
}

TEST_CASE("several calls run in order, and the first failure ends the run") {
  Prepared one(&Sum, {Int(1)}), two(&Sum, {Int(2)}), failing(&Fail, {});
  TVMFFIObjectHandle calls[] = {one.handle, two.handle, failing.handle, one.handle};
  TVMFFIAny results[4] = {GarbageAny(), GarbageAny(), GarbageAny(), GarbageAny()};
  int32_t failed = -7;
  CHECK_EQ(TVMFFIPreparedRun(calls, 2, results, &failed), 0);
  CHECK_EQ(results[1].v_int64, 2);
  CHECK_EQ(failed, -7);
  CHECK_RAISES(TVMFFIPreparedRun(calls, 4, results, &failed), "KeyError", "no such node");
  CHECK_EQ(failed, 2);
  CHECK_EQ(results[0].v_int64, 1);
  CHECK(SameBytes(results[2], None()));
  CHECK(SameBytes(results[3], None()));
  CHECK_EQ(TVMFFIPreparedRun(nullptr, 0, nullptr, nullptr), 0);
}

TEST_CASE("results that nobody takes are released") {
  TVMFFIObjectHandle object = NewOpaque(nullptr, [](void*) {});
  Prepared call(&Echo, {ViewOf(object)});
  TVMFFIObjectHandle calls[] = {call.handle, call.handle};
  CHECK_EQ(TVMFFIPreparedRun(calls, 2, nullptr, nullptr), 0);
  CHECK_EQ(StrongCount(object), 2);
  TVMFFIObjectDecRef(object);
}

TEST_CASE("a run sets the environment of its call and restores the previous one") {
  int mark = 0;
  Prepared call(&SeeEnvironment, {});
  call.Run();
  CHECK_EQ(seen.stream, nullptr);
  CHECK_FALSE(seen.has_allocator);
  TVMFFIPreparedCell* cell = TVMFFIPreparedGetCellPtr(call.handle);
  CHECK_EQ(cell->callee, cell->function);
  cell->device = {kDLCUDA, 3};
  cell->stream = &mark;
  cell->allocator = &RefuseToAllocate;
  call.Run();
  CHECK_EQ(seen.stream, &mark);
  CHECK(seen.has_allocator);
  CHECK_EQ(TVMFFIEnvGetStream(kDLCUDA, 3), nullptr);
  CHECK_EQ(TVMFFIEnvGetDLPackManagedTensorAllocator() == nullptr, true);
}

TEST_CASE("a call that runs itself fails, and the next run works") {
  TVMFFIObjectHandle handle = nullptr;
  Prepared call(&RunAgain, {}, &handle);
  handle = call.handle;
  CHECK_RAISES(TVMFFIPreparedRun(&handle, 1, nullptr, nullptr), "RuntimeError",
               "the prepared call is running");
  Prepared other(&Sum, {Int(3)});
  handle = other.handle;
  CHECK_EQ(TVMFFIPreparedRun(&call.handle, 1, nullptr, nullptr), 0);
}

TEST_CASE("a call that runs on another thread can neither run nor change") {
  struct Gate {
    int state = 0;  // 1 after the function was entered, 2 when it may return
  } gate;
  auto wait = [](void* self, const TVMFFIAny*, int32_t, TVMFFIAny*) {
    auto* shared = static_cast<Gate*>(self);
    __atomic_store_n(&shared->state, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&shared->state, __ATOMIC_SEQ_CST) != 2) std::this_thread::yield();
    return 0;
  };
  Prepared call(wait, {Int(0)}, &gate);
  std::thread thread([&] { TVMFFIPreparedRun(&call.handle, 1, nullptr, nullptr); });
  while (__atomic_load_n(&gate.state, __ATOMIC_SEQ_CST) != 1) std::this_thread::yield();
  CHECK_RAISES(TVMFFIPreparedRun(&call.handle, 1, nullptr, nullptr), "RuntimeError",
               "on another thread");
  CHECK_RAISES(call.Update(0, Int(1)), "RuntimeError", "on another thread");
  __atomic_store_n(&gate.state, 2, __ATOMIC_SEQ_CST);
  thread.join();
  CHECK_EQ(call.Update(0, Int(1)), 0);
}

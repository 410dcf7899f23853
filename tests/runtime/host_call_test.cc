// SPDX-License-Identifier: Apache-2.0
// Calls by a host framework.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_host_call.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "raised.h"
#include "values.h"

namespace {

int marks[4];
TVMFFIStreamHandle Stream(int i) { return &marks[i]; }

int HostAllocator(DLTensor*, DLManagedTensorVersioned**, void*,
                  void (*)(void*, const char*, const char*)) {
  return -1;
}

// doctest cannot print function pointers.
bool IsUnset(DLPackManagedTensorAllocator allocator) { return allocator == nullptr; }
bool IsHosts(DLPackManagedTensorAllocator allocator) { return allocator == &HostAllocator; }

TVMFFIHostScope ScopeOf(int32_t device_id, TVMFFIStreamHandle stream) {
  TVMFFIHostScope scope{};
  scope.struct_size = sizeof(scope);
  scope.device = {kDLCUDA, device_id};
  scope.stream = stream;
  scope.allocator = &HostAllocator;
  return scope;
}

// The environment (stream, allocator) that a function observed.
struct Seen {
  TVMFFIStreamHandle stream = nullptr;
  DLPackManagedTensorAllocator allocator = nullptr;
  int calls = 0;
};

// Returns `args[0] + 1`; fails, with or without a pending error, if the second argument is set.
int Look(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  auto* seen = static_cast<Seen*>(self);
  seen->stream = TVMFFIEnvGetStream(kDLCUDA, 3);
  seen->allocator = TVMFFIEnvGetDLPackManagedTensorAllocator();
  ++seen->calls;
  if (num_args == 2 && args[1].v_int64 != 0) {
    if (args[1].v_int64 == 1) TVMFFIErrorSetRaisedFromCStr("IndexError", "out there");
    return args[1].v_int64 == 3 ? -2 : -1;
  }
  *result = Int(args[0].v_int64 + 1);
  return 0;
}

TVMFFIObjectHandle NewLook(Seen* seen) {
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(seen, &Look, nullptr, &function), 0);
  return function;
}

std::string TextOfError(TVMFFIObjectHandle error) {
  std::string text(TVMFFIHostErrorText(error, nullptr, 0), '?');
  TVMFFIHostErrorText(error, text.data(), text.size() + 1);
  return text;
}

TVMFFIObjectHandle NewError(const char* kind, const char* message) {
  TVMFFIByteArray kind_bytes = Bytes(kind), message_bytes = Bytes(message), none = Bytes("");
  TVMFFIObjectHandle error = nullptr;
  CHECK_EQ(TVMFFIErrorCreate(&kind_bytes, &message_bytes, &none, &error), 0);
  return error;
}

// A compact buffer of a host, with the description that the host passes.
template <typename T>
struct Buffer {
  Buffer(std::vector<int64_t> extents, DLDataType dtype, size_t count)
      : shape(std::move(extents)), data(count) {
    tensor.data = data.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = dtype;
    tensor.shape = shape.data();
    tensor.strides = nullptr;
    tensor.byte_offset = 0;
  }
  std::vector<int64_t> shape;
  std::vector<T> data;
  DLTensor tensor{};
};

constexpr DLDataType kFloat32{kDLFloat, 32, 1};

// Returns an owned Tensor with the numbers 0, 1, ... in memory order.
TVMFFIObjectHandle NewCounting(std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
  Buffer<float> prototype(std::move(shape), kFloat32, 0);
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(TVMFFIEnvTensorAlloc(&prototype.tensor, &tensor), 0);
  DLTensor* made = TVMFFITensorGetDLTensorPtr(tensor);
  int64_t count = 1;
  for (int32_t dim = 0; dim < made->ndim; ++dim) count *= made->shape[dim];
  for (int64_t i = 0; i < count; ++i) static_cast<float*>(made->data)[i] = static_cast<float>(i);
  if (!strides.empty()) std::memcpy(made->strides, strides.data(), strides.size() * 8);
  return tensor;
}

TVMFFIAny OwnedAny(TVMFFIObjectHandle object) { return ViewOf(object); }

TVMFFIAny NewArrayOf(std::vector<TVMFFIObjectHandle> tensors) {
  std::vector<TVMFFIAny> args;
  for (TVMFFIObjectHandle tensor : tensors) args.push_back(ViewOf(tensor));
  TVMFFIAny array;
  CHECK_EQ(CallGlobal("ffi.Array", args, &array), 0);
  for (TVMFFIObjectHandle tensor : tensors) TVMFFIObjectDecRef(tensor);
  return array;
}

}  // namespace

TEST_CASE("a host finds functions by name, and an unknown name is reported") {
  TVMFFIByteArray name = Bytes("ffi.GetGlobalFuncMetadata"), missing = Bytes("host.missing");
  TVMFFIObjectHandle function = nullptr, untouched = nullptr;
  CHECK_EQ(TVMFFIHostFindFunction(&name, &function), 0);
  CHECK_EQ(TVMFFIObjectGetTypeIndex(function), kTVMFFIFunction);
  CHECK_RAISES(TVMFFIHostFindFunction(&missing, &untouched), "ValueError",
               "no global function is named 'host.missing'");
  CHECK(untouched == nullptr);
}

TEST_CASE("a found function stays alive, and a look-up returns the current registration") {
  TVMFFIByteArray name = Bytes("host.replaced");
  Seen first, second;
  TVMFFIObjectHandle functions[] = {NewLook(&first), NewLook(&second)}, found = nullptr;
  for (TVMFFIObjectHandle function : functions) {
    CHECK_EQ(TVMFFIFunctionSetGlobal(&name, function, 1), 0);
    TVMFFIObjectDecRef(function);
    for (int i = 0; i < 3; ++i) {
      CHECK_EQ(TVMFFIHostFindFunction(&name, &found), 0);
      CHECK_EQ(found, function);
      CHECK_EQ(StrongCount(found), 2);  // references that the table and the hosts own
    }
  }
  CHECK_EQ(StrongCount(functions[0]), 1);
  TVMFFIAny removed, text = RawStr("host.replaced");
  CHECK_EQ(CallGlobal("ffi.FunctionRemoveGlobal", {text}, &removed), 0);
  CHECK_RAISES(TVMFFIHostFindFunction(&name, &found), "ValueError", "'host.replaced'");
  CHECK_EQ(StrongCount(functions[1]), 1);
}

TEST_CASE("a slot returns the current registration of its name") {
  TVMFFIByteArray name = Bytes("host.slot"), missing = Bytes("host.missing");
  Seen first, second;
  TVMFFIObjectHandle functions[] = {NewLook(&first), NewLook(&second)}, found = nullptr;
  const TVMFFIHostSlot *slot = nullptr, *again = nullptr;
  CHECK_RAISES(TVMFFIHostFindSlot(&missing, &slot), "ValueError",
               "no global function is named 'host.missing'");
  CHECK(slot == nullptr);
  for (TVMFFIObjectHandle function : functions) {
    CHECK_EQ(TVMFFIFunctionSetGlobal(&name, function, 1), 0);
    TVMFFIObjectDecRef(function);
    CHECK_EQ(TVMFFIHostFindSlot(&name, &slot), 0);
    CHECK((again == nullptr || slot == again));
    again = slot;
    CHECK_EQ(TVMFFIHostSlotFunction(slot, &found), 0);
    CHECK_EQ(found, function);
  }
  TVMFFIAny removed, text = RawStr("host.slot");
  CHECK_EQ(CallGlobal("ffi.FunctionRemoveGlobal", {text}, &removed), 0);
  CHECK_RAISES(TVMFFIHostSlotFunction(slot, &found), "ValueError",
               "no global function is named 'host.slot'");
  CHECK_RAISES(TVMFFIHostFindSlot(&name, &slot), "ValueError", "'host.slot'");
}

TEST_CASE("a function runs with the host's stream and allocator, which are then restored") {
  Seen seen;
  TVMFFIObjectHandle function = NewLook(&seen), error = nullptr;
  TVMFFIHostScope scope = ScopeOf(3, Stream(1));
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 3, Stream(2), nullptr), 0);
  for (int64_t failure : {0, 1, 2, 3}) {
    CAPTURE(failure);
    TVMFFIAny args[] = {Int(41), Int(failure)};
    TVMFFIAny result = GarbageAny();
    int code = TVMFFIHostCall(&scope, function, args, 2, &result, &error);
    CHECK_EQ(code, failure == 0 ? 0 : -1);
    CHECK(SameBytes(result, failure == 0 ? Int(42) : None()));
    CHECK_EQ(seen.stream, Stream(1));
    CHECK(IsHosts(seen.allocator));
    CHECK_EQ(TVMFFIEnvGetStream(kDLCUDA, 3), Stream(2));
    CHECK(IsUnset(TVMFFIEnvGetDLPackManagedTensorAllocator()));
    CHECK_FALSE(IsErrorPending());
    if (code != 0) TVMFFIObjectDecRef(error);
  }
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 3, nullptr, nullptr), 0);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("without a scope the environment is unchanged") {
  Seen seen;
  TVMFFIObjectHandle function = NewLook(&seen), error = nullptr;
  TVMFFIAny arg = Int(1), result;
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 3, Stream(2), nullptr), 0);
  CHECK_EQ(TVMFFIHostCall(nullptr, function, &arg, 1, &result, &error), 0);
  CHECK_EQ(seen.stream, Stream(2));
  CHECK(IsUnset(seen.allocator));
  TVMFFIHostScope nothing{};
  nothing.struct_size = sizeof(nothing);
  CHECK_EQ(TVMFFIHostCall(&nothing, function, &arg, 1, &result, &error), 0);
  CHECK_EQ(seen.stream, Stream(2));
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 3, nullptr, nullptr), 0);
  TVMFFIObjectDecRef(function);
}

// Records which of the tensors in `self` are read-only during the call, and of a nested host call.
struct SeenTensors {
  DLTensor tensors[3] = {};
  std::string read_only, nested;
  TVMFFIObjectHandle function = nullptr;
};

std::string ReadOnlyOf(const SeenTensors& seen) {
  std::string text;
  for (const DLTensor& tensor : seen.tensors) text += TVMFFIHostIsReadOnly(&tensor) ? '1' : '0';
  return text;
}

int LookAtTensors(void* self, const TVMFFIAny*, int32_t num_args, TVMFFIAny*) {
  auto* seen = static_cast<SeenTensors*>(self);
  if (num_args == 1) {
    seen->nested = ReadOnlyOf(*seen);
    return 0;
  }
  TVMFFIHostScope inner{};
  inner.struct_size = sizeof(inner);
  TVMFFIAny arg = Int(1), result;
  TVMFFIObjectHandle error = nullptr;
  CHECK_EQ(TVMFFIHostCall(&inner, seen->function, &arg, 1, &result, &error), 0);
  seen->read_only = ReadOnlyOf(*seen);
  return 0;
}

TEST_CASE("tensors of the scope are read-only until the call returns") {
  SeenTensors seen;
  TVMFFIObjectHandle error = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(&seen, &LookAtTensors, nullptr, &seen.function), 0);
  TVMFFIHostScope scope{};
  TVMFFIAny result;
  scope.struct_size = sizeof(scope);
  scope.read_only = seen.tensors;
  scope.num_read_only = 2;
  CHECK_EQ(TVMFFIHostCall(&scope, seen.function, nullptr, 0, &result, &error), 0);
  CHECK_EQ(seen.read_only, "110");
  CHECK_EQ(seen.nested, "000");
  CHECK_EQ(ReadOnlyOf(seen), "000");
  scope.struct_size = 32;  // a host that was compiled before the fields existed
  CHECK_EQ(TVMFFIHostCall(&scope, seen.function, nullptr, 0, &result, &error), 0);
  CHECK_EQ(seen.read_only, "000");
  TVMFFIObjectDecRef(seen.function);
}

TEST_CASE("a failed call returns its error, even if the function has set none") {
  Seen seen;
  TVMFFIObjectHandle function = NewLook(&seen);
  const char* texts[] = {
      "IndexError: out there", "RuntimeError: the function returned nonzero but set no error",
      "RuntimeError: the function left an exception pending in its own language"};
  for (int64_t failure : {1, 2, 3}) {
    TVMFFIErrorSetRaisedFromCStr("KeyError", "of an earlier call");
    TVMFFIAny args[] = {Int(1), Int(failure)};
    TVMFFIAny result;
    TVMFFIObjectHandle error = nullptr;
    CHECK_EQ(TVMFFIHostCall(nullptr, function, args, 2, &result, &error), -1);
    CHECK_EQ(TextOfError(error), texts[failure - 1]);
    TVMFFIObjectDecRef(error);
  }
  TVMFFIObjectDecRef(function);
}

TEST_CASE("an invalid scope is rejected before the function runs") {
  Seen seen;
  TVMFFIObjectHandle function = NewLook(&seen), error = nullptr;
  TVMFFIAny arg = Int(1), result;
  TVMFFIHostScope scope = ScopeOf(3, nullptr);
  scope.struct_size = 8;
  CHECK_EQ(TVMFFIHostCall(&scope, function, &arg, 1, &result, &error), -1);
  CHECK_EQ(TextOfError(error),
           "ValueError: TVMFFIHostCall: struct_size of the scope must be at least 32, got 8");
  TVMFFIObjectDecRef(error);
  scope = ScopeOf(-1, nullptr);
  CHECK_EQ(TVMFFIHostCall(&scope, function, &arg, 1, &result, &error), -1);
  CHECK(TextOfError(error).find("device id must be in 0..") != std::string::npos);
  TVMFFIObjectDecRef(error);
  CHECK_EQ(seen.calls, 0);
  CHECK(IsUnset(TVMFFIEnvGetDLPackManagedTensorAllocator()));
  TVMFFIObjectDecRef(function);
}

TEST_CASE("threads of a host have separate environments") {
  Seen here, there;
  TVMFFIObjectHandle function = NewLook(&there);
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 3, Stream(2), nullptr), 0);
  std::thread([&] {
    TVMFFIHostScope scope = ScopeOf(3, Stream(1));
    TVMFFIAny arg = Int(1), result;
    TVMFFIObjectHandle error = nullptr;
    CHECK_EQ(TVMFFIHostCall(&scope, function, &arg, 1, &result, &error), 0);
    CHECK(TVMFFIEnvGetStream(kDLCUDA, 3) == nullptr);
  }).join();
  CHECK_EQ(there.stream, Stream(1));
  CHECK_EQ(TVMFFIEnvGetStream(kDLCUDA, 3), Stream(2));
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 3, nullptr, nullptr), 0);
  TVMFFIObjectDecRef(function);
}

TEST_CASE("the text of an error is truncated to the buffer") {
  TVMFFIObjectHandle error = NewError("ValueError", "n is 3");
  char buffer[8] = "#######";
  CHECK_EQ(TVMFFIHostErrorText(error, buffer, sizeof(buffer)), 18);
  CHECK_EQ(std::string(buffer), "ValueEr");
  CHECK_EQ(TVMFFIHostErrorText(error, buffer, 1), 18);
  CHECK_EQ(std::string(buffer), "");
  TVMFFIObjectDecRef(error);
}

TEST_CASE("a NUL in an error does not end its text") {
  std::string message("a\0b\0", 4);
  TVMFFIByteArray kind = Bytes("ValueError"), bytes = {message.data(), message.size()},
                  none = Bytes("");
  TVMFFIObjectHandle error = nullptr;
  CHECK_EQ(TVMFFIErrorCreate(&kind, &bytes, &none, &error), 0);
  CHECK_EQ(TextOfError(error), "ValueError: a\\0b\\0");
  TVMFFIObjectDecRef(error);
}

TEST_CASE("error kinds have the status codes that frameworks share") {
  const std::pair<const char*, int32_t> rows[] = {
      {"ValueError", 3},    {"TypeError", 3},   {"KeyError", 5},
      {"MemoryError", 8},   {"IndexError", 11}, {"NotImplementedError", 12},
      {"RuntimeError", 13}, {"my.Error", 13},
  };
  for (const auto& [kind, status] : rows) {
    TVMFFIObjectHandle error = NewError(kind, "");
    CHECK_EQ(TVMFFIHostErrorStatus(error), status);
    TVMFFIObjectDecRef(error);
  }
}

TEST_CASE("returned tensors are copied into the host's buffers") {
  Buffer<float> matrix({2, 3}, kFloat32, 6), vector({2}, kFloat32, 2);
  TVMFFIAny one = OwnedAny(NewCounting({2, 3}));
  CHECK_EQ(TVMFFIHostMoveResults(&one, &matrix.tensor, 1), 0);
  CHECK(matrix.data == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(SameBytes(one, None()));

  DLTensor outputs[] = {matrix.tensor, vector.tensor};
  TVMFFIAny two = NewArrayOf({NewCounting({2, 3}, {1, 2}), NewCounting({2})});
  CHECK_EQ(TVMFFIHostMoveResults(&two, outputs, 2), 0);
  CHECK(matrix.data == std::vector<float>{0, 2, 4, 1, 3, 5});
  CHECK(vector.data == std::vector<float>{0, 1});

  TVMFFIAny ignored = NewArrayOf({NewCounting({2})});
  CHECK_EQ(TVMFFIHostMoveResults(&ignored, nullptr, 0), 0);

  Buffer<float> empty({0}, kFloat32, 0);
  TVMFFIAny nothing = OwnedAny(NewCounting({0}));
  CHECK_EQ(TVMFFIHostMoveResults(&nothing, &empty.tensor, 1), 0);
}

TEST_CASE("results that do not fit are rejected before anything is written") {
  Buffer<float> matrix({2, 3}, kFloat32, 6);
  auto refuses = [&](TVMFFIAny result, const char* kind, const char* message) {
    CHECK_RAISES(TVMFFIHostMoveResults(&result, &matrix.tensor, 1), kind, message);
    CHECK(SameBytes(result, None()));
  };
  refuses(None(), "TypeError", "the function returned None, expected 1 tensor");
  refuses(Int(3), "TypeError", "the function returned int, expected 1 tensor");
  refuses(NewArrayOf({NewCounting({2, 3}), NewCounting({2})}), "ValueError",
          "the function returned 2 tensors, expected 1");
  refuses(OwnedAny(NewCounting({3, 2})), "ValueError",
          "result 0 of the function has shape [3, 2], expected [2, 3]");
  matrix.tensor.dtype = {kDLInt, 32, 1};
  refuses(OwnedAny(NewCounting({2, 3})), "ValueError",
          "result 0 of the function has dtype float32, expected int32");
  matrix.tensor.device = {kDLCUDA, 0};
  refuses(OwnedAny(NewCounting({2, 3})), "ValueError", "is not in CPU memory");
  CHECK(matrix.data == std::vector<float>(6, 0.0F));
}

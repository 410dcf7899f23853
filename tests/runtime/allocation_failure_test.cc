// SPDX-License-Identifier: Apache-2.0
// Every memory request of the C API fails once: the call reports MemoryError, preserves its state
// and leaks nothing (AddressSanitizer reports leaks). Linked with --wrap=posix_memalign as well.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "failing_memory.h"
#include "raised.h"
#include "tensor_source.h"
#include "threads.h"
#include "values.h"

extern "C" int __real_posix_memalign(void** out, size_t alignment, size_t size);
extern "C" int __wrap_posix_memalign(void** out, size_t alignment, size_t size) {
  return FailsNow() ? ENOMEM : __real_posix_memalign(out, alignment, size);
}

namespace {

enum class Exhaustion { kOnce, kFromThenOn };

// Runs `call` repeatedly: the n-th memory request fails, for n = 1, 2, ... until no request fails.
// The call returns a code of the C API; after a success, `release` releases the result of the call.
template <typename Call, typename Release>
int CheckEveryRequest(const char* label, Call call, Release release) {
  int requests = 0;
  for (Exhaustion exhaustion : {Exhaustion::kOnce, Exhaustion::kFromThenOn}) {
    for (int n = 0;; ++n) {
      has_failed = false;
      stays_exhausted = exhaustion == Exhaustion::kFromThenOn;
      requests_until_failure = n;
      int code = call();
      requests_until_failure = kNever;
      if (code == 0) release();
      if (!has_failed) {
        CHECK_EQ(code, 0);
        requests = n;
        break;
      }
      RaisedError raised = TakeRaised();
      CHECK_MESSAGE((code == -1 && raised.kind == "MemoryError"),
                    label << ", request " << n << ": code " << code << ", " << raised.kind << ": "
                          << raised.message);
    }
  }
  return requests;
}

constexpr const char* kLongText = "a text that is much longer than any small string buffer";

TVMFFIByteArray LongText() { return Bytes(kLongText); }

int DoNothing(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { return 0; }

}  // namespace

TEST_CASE("strings bytes and big integers") {
  TVMFFIByteArray text = LongText();
  const uint64_t words[] = {0, 1};
  TVMFFIByteArray big = {reinterpret_cast<const char*>(words), sizeof(words)};
  TVMFFIAny any = None();
  auto release = [&] { Release(any); };
  CHECK_EQ(CheckEveryRequest(
               "string", [&] { return TVMFFIStringFromByteArray(&text, &any); }, release),
           1);
  CHECK_EQ(CheckEveryRequest(
               "bytes", [&] { return TVMFFIBytesFromByteArray(&text, &any); }, release),
           1);
  CHECK_EQ(CheckEveryRequest(
               "big int", [&] { return TVMFFIBigIntFromByteArray(&big, &any); }, release),
           1);
  TVMFFIAny view = RawStr(kLongText);
  CHECK_EQ(CheckEveryRequest(
               "raw string", [&] { return TVMFFIAnyViewToOwnedAny(&view, &any); }, release),
           1);
}

TEST_CASE("a closure stays with the caller of a failed creation") {
  int deletions = 0;
  TVMFFIObjectHandle function = nullptr;
  auto deleter = [](void* self) { ++*static_cast<int*>(self); };
  CheckEveryRequest(
      "function", [&] { return TVMFFIFunctionCreate(&deletions, &DoNothing, deleter, &function); },
      [&] { TVMFFIObjectDecRef(function); });
  CHECK_EQ(deletions, 2);  // once for each mode, by the call that succeeds
  CheckEveryRequest(
      "opaque",
      [&] {
        return TVMFFIObjectCreateOpaque(&deletions, kTVMFFIOpaquePyObject, deleter, &function);
      },
      [&] { TVMFFIObjectDecRef(function); });
  CHECK_EQ(deletions, 4);
}

TEST_CASE("a tensor stays with the caller of a failed import") {
  LegacySource legacy({2, 3});
  VersionedSource versioned({2, 3});
  TVMFFIObjectHandle tensor = nullptr;
  auto release = [&] { TVMFFIObjectDecRef(tensor); };
  CheckEveryRequest("import", [&] { return legacy.Import(4, 1, &tensor); }, release);
  CheckEveryRequest("import", [&] { return versioned.Import(4, 1, &tensor); }, release);
  CHECK_EQ(legacy.deletions, 2);
  CHECK_EQ(versioned.deletions, 2);
}

TEST_CASE("a failed export and a failed view keep no reference") {
  VersionedSource source({2, 3}, {3, 1});
  TVMFFIObjectHandle tensor = nullptr, view = nullptr;
  CHECK_EQ(source.Import(0, 0, &tensor), 0);
  DLManagedTensorVersioned* managed = nullptr;
  CheckEveryRequest(
      "export", [&] { return TVMFFITensorToDLPackVersioned(tensor, &managed); },
      [&] { managed->deleter(managed); });
  CheckEveryRequest(
      "view", [&] { return TVMFFITensorCreateUnsafeView(tensor, TensorOf(tensor), &view); },
      [&] { TVMFFIObjectDecRef(view); });
  CHECK_EQ(StrongCount(tensor), 1u);
  TVMFFIObjectDecRef(tensor);
}

TEST_CASE("CPU tensor allocation leaks nothing") {
  int64_t shape[] = {8};
  DLTensor prototype = {};
  prototype.device = {kDLCPU, 0};
  prototype.ndim = 1;
  prototype.dtype = {kDLFloat, 32, 1};
  prototype.shape = shape;
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(CheckEveryRequest(
               "tensor", [&] { return TVMFFIEnvTensorAlloc(&prototype, &tensor); },
               [&] { TVMFFIObjectDecRef(tensor); }),
           3);
}

TEST_CASE("a tensor of an allocator is released if it cannot be wrapped") {
  static VersionedSource* source;
  VersionedSource tensor_of_allocator({2});
  source = &tensor_of_allocator;
  auto allocator = [](DLTensor*, DLManagedTensorVersioned** out, void*,
                      void (*)(void*, const char*, const char*)) {
    *out = &source->managed;
    return 0;
  };
  CHECK_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(allocator, 0, nullptr), 0);
  DLTensor prototype = {};
  TVMFFIObjectHandle tensor = nullptr;
  int requests = CheckEveryRequest(
      "wrapping", [&] { return TVMFFIEnvTensorAlloc(&prototype, &tensor); },
      [&] { TVMFFIObjectDecRef(tensor); });
  CHECK_EQ(source->deletions,
           2 * (requests + 1));  // all tensors that the allocator created, in both modes
  CHECK_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(nullptr, 0, nullptr), 0);
}

TEST_CASE("the stream table is unchanged if it cannot grow") {
  int stream = 0;
  int32_t device_id = 0;
  CheckEveryRequest(
      "stream", [&] { return TVMFFIEnvSetStream(kDLCUDA, device_id, &stream, nullptr); },
      [&] { device_id += 100; });
  CHECK_EQ(TVMFFIEnvGetStream(kDLCUDA, 0), static_cast<void*>(&stream));
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 1) == nullptr);
}

TEST_CASE("the function table leaks nothing if a registration fails") {
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, &DoNothing, nullptr, &function), 0);
  int round = 0;
  std::string name;
  TVMFFIMethodInfo info = {};
  info.metadata = info.doc = LongText();
  info.method = ViewOf(function);
  for (int i = 0; i < 20; ++i) {  // also during growth of the list of entries
    name = std::string(kLongText) + std::to_string(round++);
    info.name = Bytes(name);
    CheckEveryRequest(
        "global", [&] { return TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1); }, [] {});
  }
  CHECK_EQ(StrongCount(function), 21u);
  TVMFFIAny names;
  CheckEveryRequest(
      "names", [&] { return CallGlobal("ffi.FunctionListGlobalNamesFunctor", {}, &names); },
      [&] { Release(names); });
  TVMFFIObjectDecRef(function);
}

TEST_CASE("a failed registration keeps the entry that it would replace") {
  TVMFFIObjectHandle first = nullptr, second = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, &DoNothing, nullptr, &first), 0);
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, &DoNothing, nullptr, &second), 0);
  TVMFFIMethodInfo info = {};
  info.name = Bytes("test.kept");
  info.metadata = Bytes("old");
  info.method = ViewOf(first);
  CHECK_EQ(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1), 0);
  info.metadata = info.doc = LongText();
  info.method = ViewOf(second);
  int failures = 0;
  for (int n = 0;; ++n) {
    has_failed = stays_exhausted = false;
    requests_until_failure = n;
    int code = TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1);
    requests_until_failure = kNever;
    if (code == 0) break;
    ++failures;
    CHECK_EQ(TakeRaised().kind, "MemoryError");
    TVMFFIAny metadata;
    CHECK_EQ(CallGlobal("ffi.GetGlobalFuncMetadata", {RawStr("test.kept")}, &metadata), 0);
    CHECK_EQ(TakeText(metadata), "old");
    CHECK_EQ(StrongCount(first), 2u);
  }
  CHECK(failures >= 2);
  TVMFFIObjectDecRef(first);
  TVMFFIObjectDecRef(second);
}

TEST_CASE("types can be registered after failed attempts") {
  int32_t type = 0;
  {
    TVMFFIByteArray key = LongText();
    type = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  }
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, &DoNothing, nullptr, &function), 0);
  TVMFFIFieldInfo field = {};
  field.doc = field.metadata = LongText();
  field.flags = kTVMFFIFieldFlagBitMaskHasDefault | kTVMFFIFieldFlagBitSetterIsFunctionObj;
  field.setter = function;
  field.default_value_or_factory = ViewOf(function);
  std::string name;
  int fields = 0;
  for (int i = 0; i < 6; ++i) {
    CheckEveryRequest(
        "field",
        [&] {
          int pause = requests_until_failure;  // only this test uses the name
          requests_until_failure = kNever;
          name = std::string(kLongText) + std::to_string(fields);
          field.name = Bytes(name);
          requests_until_failure = pause;
          return TVMFFITypeRegisterField(type, &field);
        },
        [&] { ++fields; });
  }
  CHECK_EQ(TVMFFIGetTypeInfo(type)->num_fields, fields);
  CHECK_EQ(StrongCount(function), static_cast<uint64_t>(1 + 2 * fields));
  TVMFFIMethodInfo method = {};
  method.name = method.doc = method.metadata = LongText();
  method.method = ViewOf(function);
  CheckEveryRequest("method", [&] { return TVMFFITypeRegisterMethod(type, &method); }, [] {});
  CHECK_EQ(TVMFFIGetTypeInfo(type)->num_methods, 2);
  CHECK_EQ(StrongCount(function), static_cast<uint64_t>(3 + 2 * fields));
  TVMFFIObjectDecRef(function);
}

// Regression: a type took its index, and was in the table, before the last memory request.
TEST_CASE("failed type registrations take no index") {
  TVMFFIByteArray key = Bytes("test.memory.TwoChildren");
  int32_t parent = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 2, 0, kTVMFFIObject);
  std::string child = std::string("test.memory.") + kLongText;
  TVMFFIObjectHandle allocate = GetGlobal("pytvmffi.TypeAllocate");
  TVMFFIAny index;
  std::vector<int64_t> indices;
  CheckEveryRequest(
      "type",
      [&] {
        TVMFFIAny args[] = {RawStr(child.c_str()), Int(parent)};
        index = None();
        return TVMFFIFunctionCall(allocate, args, 2, &index);
      },
      [&] {
        indices.push_back(index.v_int64);
        child += "2";
      });
  TVMFFIObjectDecRef(allocate);
  CHECK(indices == std::vector<int64_t>{parent + 1, parent + 2});
}

TEST_CASE("failed attribute registrations keep no attribute") {
  TVMFFIByteArray column = LongText();
  TVMFFIAny text = RawStr(kLongText);
  int32_t type = 70;
  CheckEveryRequest(
      "attribute", [&] { return TVMFFITypeRegisterAttr(type, &column, &text); },
      [&] { type = 3000; });
  const TVMFFITypeAttrColumn* registered = TVMFFIGetTypeAttrColumn(&column);
  CHECK_EQ(registered->size, 3001);
  CHECK_EQ(TextOf(registered->data[70]), kLongText);
}

TEST_CASE("dtype text allocates no memory without reporting failures") {
  TVMFFIByteArray scalable = Bytes("float8_e4m3b11fnuzxvscalex16");
  DLDataType dtype;
  CheckEveryRequest("parse", [&] { return TVMFFIDataTypeFromString(&scalable, &dtype); }, [] {});
  TVMFFIAny text;
  CheckEveryRequest(
      "print", [&] { return TVMFFIDataTypeToString(&dtype, &text); }, [&] { Release(text); });
}

TEST_CASE("built-in functions report a failed request") {
  TVMFFIAny result;
  for (const char* name : {"ffi.GetRegisteredTypeKeys", "ffi.Shape"}) {
    CheckEveryRequest(
        name,
        [&] {
          TVMFFIObjectHandle function = nullptr;
          TVMFFIByteArray bytes = Bytes(name);
          if (int code = TVMFFIFunctionGetGlobal(&bytes, &function)) return code;
          TVMFFIAny args[] = {Int(1), Int(2)};
          result = None();
          int code = TVMFFIFunctionCall(function, args, name[4] == 'S' ? 2 : 0, &result);
          TVMFFIObjectDecRef(function);
          return code;
        },
        [&] { Release(result); });
  }
}

TEST_CASE("creating an error fails by return code alone") {
  TVMFFIByteArray text = LongText();
  TVMFFIObjectHandle context = NewOpaque(nullptr, nullptr);
  for (int n = 0;; ++n) {
    TVMFFIObjectHandle error = nullptr;
    has_failed = stays_exhausted = false;
    requests_until_failure = n;
    int code =
        TVMFFIErrorCreateWithCauseAndExtraContext(&text, &text, &text, nullptr, context, &error);
    requests_until_failure = kNever;
    if (code == 0) {
      CHECK(n >= 4);  // memory of the object and of three strings
      TVMFFIObjectDecRef(error);
      break;
    }
    CHECK_EQ(code, -1);
    CHECK(error == nullptr);
    CHECK(!IsErrorPending());
    CHECK_EQ(StrongCount(context), 1u);
  }
  TVMFFIObjectDecRef(context);
}

TEST_CASE("raising always leaves an error") {
  for (bool exhausted : {false, true}) {
    for (int n = 0;; ++n) {
      has_failed = false;
      stays_exhausted = exhausted;
      requests_until_failure = n;
      TVMFFIErrorSetRaisedFromCStr("ValueError", kLongText);
      requests_until_failure = kNever;
      RaisedError raised = TakeRaised();
      if (!has_failed) break;
      // The failure of a backtrace's memory request may have no effect.
      CHECK((raised.kind == "MemoryError" ||
             (raised.kind == "ValueError" && raised.message == kLongText)));
    }
  }
}

// Regression: the preallocated MemoryError is one shared object. Backtrace updates of a thread
// changed the error of other threads, or freed its text while they used it.
TEST_CASE("the shared MemoryError keeps its backtrace") {
  auto raise_and_add = [](int) {
    for (int round = 0; round < 200; ++round) {
      stays_exhausted = true;
      requests_until_failure = 0;
      TVMFFIErrorSetRaisedFromCStr("ValueError", kLongText);
      requests_until_failure = kNever;
      TVMFFIObjectHandle error = nullptr;
      TVMFFIErrorMoveFromRaised(&error);
      TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
      TVMFFIByteArray text = LongText();
      cell->update_backtrace(error, &text, kTVMFFIBacktraceUpdateModeAppend);
      CHECK_EQ(Text(cell->kind), "MemoryError");
      CHECK_EQ(Text(cell->backtrace), "");
      TVMFFIObjectDecRef(error);
    }
  };
  RunTogether(4, raise_and_add);
}

// The function is exported, so that backtraces name it.
extern "C" __attribute__((noinline, visibility("default"))) std::string FrameWithAName(int n) {
  requests_until_failure = n;
  const TVMFFIByteArray* text = TVMFFIBacktrace(nullptr, 0, nullptr, 1);
  requests_until_failure = kNever;
  return Text(*text);
}

// Regression: a frame that could not be described without memory remained unknown to its thread.
TEST_CASE("backtraces are complete again when memory is available") {
  stays_exhausted = false;
  auto backtrace_after_failure = [](int n) {
    std::string text;
    std::thread([&] {  // each thread caches the symbols of frames
      for (int failing : {n, kNever}) text = FrameWithAName(failing);
    })
        .join();
    return text;
  };
  std::string whole = backtrace_after_failure(kNever);
  CHECK(whole.find("FrameWithAName") != std::string::npos);
  for (int n = 0; n < 40; ++n) CHECK_EQ(backtrace_after_failure(n), whole);
}

TEST_CASE("a failed backtrace update keeps the old text") {
  TVMFFIByteArray kind = Bytes("ValueError"), old_text = Bytes("old\n"), new_text = LongText();
  TVMFFIObjectHandle error = nullptr;
  CHECK_EQ(TVMFFIErrorCreate(&kind, &kind, &old_text, &error), 0);
  TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  for (int32_t mode : {kTVMFFIBacktraceUpdateModeReplace, kTVMFFIBacktraceUpdateModeAppend}) {
    has_failed = stays_exhausted = false;
    requests_until_failure = 0;
    cell->update_backtrace(error, &new_text, mode);
    requests_until_failure = kNever;
    CHECK(has_failed);
    CHECK_EQ(Text(cell->backtrace), "old\n");
  }
  TVMFFIObjectDecRef(error);
}

// Regression: the functions were registered by initialisers in object files that a static link
// drops.
TEST_CASE("a static link contains the built-in functions") {
  for (const char* name : {"ffi.String", "ffi.ModuleLoadFromFile", "ffi.Array", "ffi.Map",
                           "ffi.MakeFieldGetter", "ffi._RegisterFFIInit"}) {
    TVMFFIObjectHandle function = GetGlobal(name);
    CHECK(function != nullptr);
    TVMFFIObjectDecRef(function);
  }
}

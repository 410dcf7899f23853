// SPDX-License-Identifier: Apache-2.0
// Flight recorder in programs without Python: threads, starts and stops during calls, null
// pointers. The tests of the package read the files.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_observe.h>
#include <tvm/ffi/tvm_ffi.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

#include "threads.h"
#include "values.h"

namespace {

namespace ffi = tvm::ffi;

constexpr const char* kFile = "recorder_test.tvmrec";

// A recorder of the functions with names that begin with "recorder_test.".
struct Recorder {
  explicit Recorder(int64_t contents = 0, int64_t last_calls = 0) {
    static const ffi::Function add =
        ffi::Function::GetGlobalRequired("pytvmffi.ObserverAddRecorder");
    auto added = add(ffi::String(kFile), ffi::Array<ffi::String>{"recorder_test.*"}, contents,
                     int64_t{1} << 20, last_calls)
                     .cast<ffi::Array<ffi::Any>>();
    read = added[0].cast<ffi::Function>();
    number = added[1].cast<int64_t>();
  }
  ~Recorder() { std::remove(kFile); }
  int Stop() const { return TVMFFIObserverRemove(number); }
  // Returns the number of recorded calls.
  int64_t NumCalls() const { return read().cast<ffi::Array<ffi::Any>>()[0].cast<int64_t>(); }

  ffi::Function read = nullptr;
  int64_t number = -1;
};

ffi::Function RegisterEcho() {
  ffi::Function echo =
      ffi::Function::FromTyped([](const ffi::Any& x, const ffi::Any&) { return x; });
  ffi::Function::SetGlobal("recorder_test.echo", echo, true);
  return echo;
}

}  // namespace

TEST_CASE("calls of all threads are recorded, also of short threads") {
  ffi::Function echo = RegisterEcho();
  Recorder recorder;
  RunTogether(4, [&](int) {
    for (int i = 0; i < 20000; ++i) echo(i, ffi::String(std::string(i % 100, 'x')));
    for (int i = 0; i < 20; ++i) std::thread([&] { echo(1, 2); }).join();
  });
  CHECK_EQ(recorder.Stop(), 0);
  CHECK_EQ(recorder.NumCalls(), 4 * 20020);
  echo(1, 2);
  CHECK_EQ(recorder.NumCalls(), 4 * 20020);
}

TEST_CASE("recorders start and stop while other threads call") {
  ffi::Function echo = RegisterEcho();
  std::atomic<bool> stops{false};
  std::atomic<int> wrong{0};
  std::thread starter([&] {
    for (int i = 0; i < 200; ++i) {
      Recorder recorder(i % 4, i % 2 == 0 ? 0 : 10);
      std::this_thread::yield();
      CHECK_EQ(recorder.Stop(), 0);
    }
    stops = true;
  });
  RunTogether(4, [&](int) {
    for (int i = 0; !stops; ++i) {
      if (echo(i, ffi::Shape({1, 2})).cast<int>() != i) ++wrong;
    }
  });
  starter.join();
  CHECK_EQ(wrong.load(), 0);
  CHECK_EQ(TVMFFIObserverCount(), 0);
}

TEST_CASE("null pointers as arguments are recorded") {
  TVMFFIObjectHandle function = nullptr;
  auto call = [](void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { return 0; };
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, call, nullptr, &function), 0);
  TVMFFIByteArray name = Bytes("recorder_test.null");
  CHECK_EQ(TVMFFIFunctionSetGlobal(&name, function, 1), 0);
  Recorder recorder(2);
  for (int32_t type_index : {kTVMFFIDLTensorPtr, kTVMFFIRawStr, kTVMFFIByteArrayPtr}) {
    TVMFFIAny argument = None(), result = None();
    argument.type_index = type_index;
    CHECK_EQ(TVMFFIFunctionCall(function, &argument, 1, &result), 0);
  }
  CHECK_EQ(recorder.Stop(), 0);
  CHECK_EQ(recorder.NumCalls(), 3);
  TVMFFIObjectDecRef(function);
}

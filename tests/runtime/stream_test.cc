// SPDX-License-Identifier: Apache-2.0
// The current stream of each device and thread.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstdint>
#include <cstdlib>
#include <thread>

#include "child_process.h"
#include "raised.h"
#include "threads.h"
#include "values.h"

namespace {

int marks[16];
TVMFFIStreamHandle Stream(int i) { return &marks[i]; }

}  // namespace

TEST_CASE("an unset stream is null") {
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == nullptr);
  TVMFFIStreamHandle original = Stream(1);
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 0, nullptr, &original), 0);
  CHECK(original == nullptr);
}

TEST_CASE("nested scopes restore the previous stream") {
  TVMFFIStreamHandle outer = Stream(9), inner = Stream(9);
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 1, Stream(1), &outer), 0);
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 1, Stream(2), &inner), 0);
  CHECK(outer == nullptr);
  CHECK_EQ(inner, Stream(1));
  CHECK_EQ(TVMFFIEnvGetStream(kDLCUDA, 1), Stream(2));
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 1, inner, nullptr), 0);
  CHECK_EQ(TVMFFIEnvGetStream(kDLCUDA, 1), Stream(1));
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 1, outer, nullptr), 0);
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 1) == nullptr);
}

TEST_CASE("devices are independent") {
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 5, Stream(5), nullptr), 0);
  CHECK_EQ(TVMFFIEnvSetStream(kDLROCM, 5, Stream(6), nullptr), 0);
  CHECK_EQ(TVMFFIEnvSetStream(0, 0, Stream(7), nullptr), 0);
  CHECK_EQ(TVMFFIEnvGetStream(kDLCUDA, 5), Stream(5));
  CHECK_EQ(TVMFFIEnvGetStream(kDLROCM, 5), Stream(6));
  CHECK_EQ(TVMFFIEnvGetStream(0, 0), Stream(7));
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 4) == nullptr);
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 6) == nullptr);
  CHECK(TVMFFIEnvGetStream(kDLTrn, 0) == nullptr);
}

TEST_CASE("each thread has its own streams") {
  CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 2, Stream(3), nullptr), 0);
  std::thread([] {
    CHECK(TVMFFIEnvGetStream(kDLCUDA, 2) == nullptr);
    CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, 2, Stream(4), nullptr), 0);
  }).join();
  CHECK_EQ(TVMFFIEnvGetStream(kDLCUDA, 2), Stream(3));
  RunTogether(8, [](int i) {
    for (int round = 0; round < 100; ++round) {
      CHECK_EQ(TVMFFIEnvSetStream(kDLCUDA, round, Stream(i), nullptr), 0);
      CHECK_EQ(TVMFFIEnvGetStream(kDLCUDA, round), Stream(i));
    }
  });
}

TEST_CASE("reading out of range gives null") {
  for (int32_t index : {-1, INT32_MIN, 1 << 20, INT32_MAX}) {
    CHECK(TVMFFIEnvGetStream(index, 0) == nullptr);
    CHECK(TVMFFIEnvGetStream(kDLCUDA, index) == nullptr);
  }
}

TEST_CASE("writing out of range is a value error") {
  for (int32_t index : {-1, INT32_MIN, 1 << 20, INT32_MAX}) {
    TVMFFIStreamHandle original = Stream(1);
    CHECK_RAISES(TVMFFIEnvSetStream(index, 0, Stream(2), &original), "ValueError", "device type");
    CHECK_RAISES(TVMFFIEnvSetStream(kDLCUDA, index, Stream(2), &original), "ValueError",
                 "device id");
    CHECK_EQ(original, Stream(1));
  }
}

// Regression: the table was a thread_local object, which is destroyed before atexit handlers run.
TEST_CASE("streams may be used while the process ends") {
  ChildEnd end = RunInChild([] {
    TVMFFIEnvSetStream(kDLCUDA, 3, Stream(1), nullptr);
    std::atexit([] {
      bool is_forgotten = TVMFFIEnvGetStream(kDLCUDA, 3) == nullptr;
      TVMFFIEnvSetStream(kDLCUDA, 3, Stream(2), nullptr);
      _exit(is_forgotten && TVMFFIEnvGetStream(kDLCUDA, 3) == Stream(2) ? 7 : 8);
    });
    std::exit(0);
  });
  CHECK_EQ(end.exit_status, 7);
}

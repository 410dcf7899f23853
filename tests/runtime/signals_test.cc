// SPDX-License-Identifier: Apache-2.0
// Checks for pending signals of the host language.
#include <doctest/doctest.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <string>

#include "raised.h"
#include "values.h"

namespace {

std::string trace;
int pending = 0;

int Check() {
  trace += "check ";
  return pending;
}
int Ensure() {
  trace += "ensure ";
  return 3;
}
void ReleaseState(int state) { trace += "release" + std::to_string(state) + " "; }

template <typename Function>
int Register(const char* name, Function* function) {
  return TVMFFIEnvRegisterCAPI(name, reinterpret_cast<void*>(function));
}

int CheckSignals() {
  trace.clear();
  return TVMFFIEnvCheckSignals();
}

}  // namespace

TEST_CASE("without a host there are no signals") { CHECK_EQ(CheckSignals(), 0); }

TEST_CASE("unknown names are rejected") {
  CHECK_RAISES(Register("PyErr_Print", &Check), "ValueError", "Unknown env API PyErr_Print");
  CHECK_RAISES(Register("", &Check), "ValueError", "Unknown env API");
  CHECK_EQ(CheckSignals(), 0);
}

TEST_CASE("the check runs under the lock of the host") {
  CHECK_EQ(Register("PyErr_CheckSignals", &Check), 0);
  CHECK_EQ(CheckSignals(), 0);
  CHECK_EQ(trace, "check ");
  CHECK_EQ(Register("PyGILState_Ensure", &Ensure), 0);
  CHECK_EQ(CheckSignals(), 0);
  CHECK_EQ(trace, "check ");  // without a release function, no lock may be taken
  CHECK_EQ(Register("PyGILState_Release", &ReleaseState), 0);
  CHECK_EQ(CheckSignals(), 0);
  CHECK_EQ(trace, "ensure check release3 ");
}

TEST_CASE("a pending signal gives minus one and an empty slot") {
  for (int code : {-1, 1, 7}) {
    pending = code;
    CHECK_EQ(CheckSignals(), -1);
    CHECK(!IsErrorPending());
    CHECK_EQ(trace, "ensure check release3 ");
  }
  pending = 0;
  CHECK_EQ(CheckSignals(), 0);
}

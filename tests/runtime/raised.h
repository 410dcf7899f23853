// SPDX-License-Identifier: Apache-2.0
// Check of failed calls: CHECK_RAISES(call, kind, part of the message).
#ifndef TVM_FFI_TESTS_RUNTIME_RAISED_H_
#define TVM_FFI_TESTS_RUNTIME_RAISED_H_

#include <doctest/doctest.h>
#include <tvm/ffi/c_api.h>

#include <string>

#include "values.h"

struct RaisedError {
  std::string kind;
  std::string message;
  std::string backtrace;
};

inline bool IsErrorPending() {
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == nullptr) return false;
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
  return true;
}

// Takes the pending error and returns its fields; all fields are "<none>" if there is no error.
inline RaisedError TakeRaised() {
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == nullptr) return {"<none>", "<none>", "<none>"};
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  RaisedError raised{Text(cell->kind), Text(cell->message), Text(cell->backtrace)};
  TVMFFIObjectDecRef(error);
  return raised;
}

// Takes the pending error and describes how it differs from the expected error; returns "" if it
// does not.
inline std::string Mismatch(int code, const std::string& kind, const std::string& message_part) {
  RaisedError raised = TakeRaised();
  if (code == -1 && raised.kind == kind && raised.message.find(message_part) != std::string::npos) {
    return "";
  }
  return "code " + std::to_string(code) + ", " + raised.kind + ": " + raised.message +
         "; expected code -1, " + kind + ": ..." + message_part + "...";
}

#define CHECK_RAISES(call, kind, message_part) CHECK_EQ(Mismatch((call), kind, message_part), "")

#endif  // TVM_FFI_TESTS_RUNTIME_RAISED_H_

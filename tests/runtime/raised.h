// SPDX-License-Identifier: Apache-2.0
// Checks of failed calls: CHECK_RAISES(call, kind, part of the message).
#ifndef TVM_FFI_TESTS_RUNTIME_RAISED_H_
#define TVM_FFI_TESTS_RUNTIME_RAISED_H_

#include <tvm/ffi/c_api.h>

#include <string>

#include "check.h"
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

// Empties the slot; all fields are "<none>" when it was empty.
inline RaisedError TakeRaised() {
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == nullptr) return {"<none>", "<none>", "<none>"};
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  RaisedError raised{Text(cell->kind), Text(cell->message), Text(cell->backtrace)};
  TVMFFIObjectDecRef(error);
  return raised;
}

inline void CheckRaises(const char* file, int line, int code, const char* kind,
                        const char* message_part) {
  RaisedError raised = TakeRaised();
  check::CheckEqual(file, line, "code", code, -1);
  check::CheckEqual(file, line, "kind", raised.kind, kind);
  if (raised.message.find(message_part) == std::string::npos) {
    check::Fail(
        file, line,
        "message is \"" + raised.message + "\", expected it to contain \"" + message_part + "\"");
  }
}

#define CHECK_RAISES(call, kind, message_part) \
  CheckRaises(__FILE__, __LINE__, (call), (kind), (message_part))

#endif  // TVM_FFI_TESTS_RUNTIME_RAISED_H_

/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that raise errors, and kernels that handle the errors of functions that they call. */
#include <tvm/ffi/extra/c_env_api.h>
#include <unistd.h>

#include "kernel.h"

/* raise(kind, message) or raise(kind, message, backtrace) */
KERNEL(raise) {
  TVMFFIByteArray kind = TextArgument(&args[0]);
  TVMFFIByteArray message = TextArgument(&args[1]);
  TVMFFIByteArray backtrace = {"", 0};
  TVMFFIObjectHandle error = NULL;
  if (num_args > 2) backtrace = TextArgument(&args[2]);
  if (TVMFFIErrorCreate(&kind, &message, &backtrace, &error) != 0) { /* sets no error */
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "out of memory");
    return -1;
  }
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
  return -1;
}

/* Raises an error with a backtrace of the native stack. */
KERNEL(raise_here) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "raised in C");
  return -1;
}

/* Raises an error object. */
KERNEL(raise_object) {
  if (args[0].type_index != kTVMFFIError) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "expected an error");
    return -1;
  }
  TVMFFIErrorSetRaised(args[0].v_obj);
  return -1;
}

/* Returns the code without setting an error. */
KERNEL(fail_silently) { return (int)args[0].v_int64; }

/* catch(f, args...) returns f(args...), or the error that f raised as a value, or the return code
 * if f failed without an error. */
KERNEL(catch) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIObjectHandle function = FunctionArgument(&args[0]);
  if (function == NULL) return -1;
  int code = TVMFFIFunctionCall(function, (TVMFFIAny*)(args + 1), num_args - 1, result);
  if (code == 0) return 0;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return ReturnInt(result, code);
  return Return(result, kTVMFFIError, (int64_t)(intptr_t)error);
}

/* Calls f. If f fails, adds a backtrace frame to the error, as generated code does. */
KERNEL(call_adding_frame) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIObjectHandle function = FunctionArgument(&args[0]);
  if (function == NULL) return -1;
  int code = TVMFFIFunctionCall(function, NULL, 0, result);
  if (code == 0) return 0;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return code;
  static const char line[] = "  File \"middle.c\", line 77, in Middle\n";
  TVMFFIByteArray frame = {line, sizeof(line) - 1};
  TVMFFIErrorGetCellPtr(error)->update_backtrace(error, &frame, kTVMFFIBacktraceUpdateModeAppend);
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
  return code;
}

/* Waits for at most args[1] milliseconds and checks for signals. After a signal, returns args[0] if
 * it is negative; otherwise raises an error of kind EnvErrorAlreadySet. */
KERNEL(wait_for_signal) {
  for (int64_t waited_ms = 0; waited_ms < args[1].v_int64; ++waited_ms) {
    if (TVMFFIEnvCheckSignals() != 0) {
      if (args[0].v_int64 < 0) return (int)args[0].v_int64;
      TVMFFIErrorSetRaisedFromCStr("EnvErrorAlreadySet", "");
      return -1;
    }
    usleep(1000);
  }
  return ReturnInt(result, 0);
}

/* Raises the error that is its argument. */
KERNEL(rethrow) {
  TVMFFIErrorSetRaised(args[0].v_obj);
  return -1;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of kernels and functions: releases the GIL, and raises the pending error. */
#ifndef BENCHMARKS_CALL_FLOOR_INVOKE_H_
#define BENCHMARKS_CALL_FLOOR_INVOKE_H_

#include <Python.h>
#include <tvm/ffi/c_api.h>

#include "error.h"

static int releases_gil = 1; /* GIL policy of all calls; set by floor.set_release_gil */

static const TVMFFIAny kNoResult = {.type_index = kTVMFFINone};

/* Call a kernel and store an owned value in `result`.  Fails: -1, exception set. */
static inline int invoke(TVMFFISafeCallType kernel, const TVMFFIAny* args, int32_t num_args,
                         TVMFFIAny* result) {
  int code;
  *result = kNoResult;
  if (releases_gil) {
    PyThreadState* state = PyEval_SaveThread();
    code = kernel(NULL, args, num_args, result);
    PyEval_RestoreThread(state);
  } else {
    code = kernel(NULL, args, num_args, result);
  }
  if (code == 0) return 0;
  raise_pending_error();
  return -1;
}

/* Same as `invoke`, but calls a Function object. */
static inline int invoke_function(TVMFFIObjectHandle function, const TVMFFIAny* args,
                                  int32_t num_args, TVMFFIAny* result) {
  int code;
  *result = kNoResult;
  if (releases_gil) {
    PyThreadState* state = PyEval_SaveThread();
    code = TVMFFIFunctionCall(function, (TVMFFIAny*)args, num_args, result);
    PyEval_RestoreThread(state);
  } else {
    code = TVMFFIFunctionCall(function, (TVMFFIAny*)args, num_args, result);
  }
  if (code == 0) return 0;
  raise_pending_error();
  return -1;
}

#endif /* BENCHMARKS_CALL_FLOOR_INVOKE_H_ */

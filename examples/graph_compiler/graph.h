/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that the generated C code of a graph calls: argument values, calls and allocation. */
#ifndef GRAPH_H_
#define GRAPH_H_

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

typedef int (*graph_function)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);

static inline TVMFFIAny graph_int(int64_t value) {
  TVMFFIAny any = {.type_index = kTVMFFIInt};
  any.v_int64 = value;
  return any;
}

static inline TVMFFIAny graph_float(double value) {
  TVMFFIAny any = {.type_index = kTVMFFIFloat};
  any.v_float64 = value;
  return any;
}

static inline TVMFFIAny graph_borrowed(DLTensor* tensor) {
  TVMFFIAny any = {.type_index = kTVMFFIDLTensorPtr};
  any.v_ptr = tensor;
  return any;
}

static inline TVMFFIAny graph_tensor(TVMFFIObjectHandle tensor) {
  TVMFFIAny any = {.type_index = kTVMFFITensor};
  any.v_obj = (TVMFFIObject*)tensor;
  return any;
}

/* Call a function whose output is its last argument; release its result, which is not used. */
static inline int graph_call(graph_function function, const TVMFFIAny* args, int32_t num_args) {
  TVMFFIAny result = {.type_index = kTVMFFINone};
  int code = function(NULL, args, num_args, &result);
  if (code == 0 && result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  return code;
}

static inline int graph_allocate(DLDataType dtype, int32_t ndim, int64_t* shape,
                                 TVMFFIObjectHandle* out) {
  DLTensor prototype = {NULL, {kDLCPU, 0}, ndim, dtype, shape, NULL, 0};
  return TVMFFIEnvTensorAlloc(&prototype, out);
}

static inline void graph_release(TVMFFIObjectHandle* tensor) {
  if (*tensor != NULL) TVMFFIObjectDecRef(*tensor);
  *tensor = NULL;
}

#endif /* GRAPH_H_ */

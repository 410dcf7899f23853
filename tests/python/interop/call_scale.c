/* SPDX-License-Identifier: Apache-2.0
 *
 * A program without Python that calls a kernel written in Python.  It prints the output of a valid
 * call, the error of a call in which the kernel raises, and the error of a call whose tensors do
 * not match the signature. */
#include <stdio.h>
#include <tvm/ffi/c_api.h>

int __tvm_ffi_scale(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

static void call(DLTensor* x, DLTensor* y, double a) {
  TVMFFIAny args[3] = {{.type_index = kTVMFFIDLTensorPtr, .v_ptr = x},
                       {.type_index = kTVMFFIDLTensorPtr, .v_ptr = y},
                       {.type_index = kTVMFFIFloat, .v_float64 = a}};
  TVMFFIAny result = {.type_index = kTVMFFINone};
  TVMFFIObjectHandle error = NULL;
  if (__tvm_ffi_scale(NULL, args, 3, &result) == 0) {
    printf("%g %g\n", ((float*)y->data)[0], ((float*)y->data)[1]);
    return;
  }
  TVMFFIErrorMoveFromRaised(&error);
  TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  printf("%.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size,
         cell->message.data);
  TVMFFIObjectDecRef(error);
}

int main(void) {
  float numbers[] = {1, 2}, out[] = {0, 0};
  int64_t shape[] = {1, 2}, other_shape[] = {2, 1};
  DLTensor x = {numbers, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  DLTensor y = {out, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  call(&x, &y, 3);
  call(&x, &y, 0);
  y.shape = other_shape;
  call(&x, &y, 3);
  return 0;
}

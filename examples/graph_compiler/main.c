/* SPDX-License-Identifier: Apache-2.0
 *
 * C program without Python that is linked with the compiled graph and calls its function. */
#include <stdio.h>
#include <stdlib.h>
#include <tvm/ffi/c_api.h>

int __tvm_ffi_classify(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

enum { kTensors = 6, kRows = 2, kClasses = 3 };

static float elements[kTensors][32];
static int64_t shapes[kTensors][2] = {{kRows, 4}, {4, 8}, {8}, {8, 3}, {3}, {kRows, kClasses}};

static void stop(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error != NULL) fprintf(stderr, "%s\n", TVMFFIErrorGetCellPtr(error)->message.data);
  exit(EXIT_FAILURE);
}

int main(void) {
  DLTensor tensors[kTensors];
  TVMFFIAny args[kTensors], result = {.type_index = kTVMFFINone};
  for (int i = 0; i < kTensors; ++i) {
    for (int j = 0; j < 32; ++j) elements[i][j] = (float)((i + j) % 5) / 4;
    tensors[i] = (DLTensor){
        elements[i], {kDLCPU, 0}, shapes[i][1] == 0 ? 1 : 2, {kDLFloat, 32, 1}, shapes[i], NULL, 0};
    args[i] = (TVMFFIAny){.type_index = kTVMFFIDLTensorPtr};
    args[i].v_ptr = &tensors[i];
  }
  if (__tvm_ffi_classify(NULL, args, kTensors, &result) != 0) stop();
  for (int i = 0; i < kRows; ++i) {
    float sum = 0;
    for (int j = 0; j < kClasses; ++j) sum += elements[5][i * kClasses + j];
    printf("row %d sums to %.3f\n", i, sum);
  }
  return EXIT_SUCCESS;
}

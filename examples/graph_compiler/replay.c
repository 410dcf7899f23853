/* SPDX-License-Identifier: Apache-2.0
 *
 * Graph executor in C: prepares the calls of the graph's nodes once, then replays them for several
 * inputs.  The program is linked with the library of the graph, which contains the functions. */
#include <stdio.h>
#include <stdlib.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_prepared.h>

#include "graph.h"

int __tvm_ffi_dense(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
int __tvm_ffi_relu(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
int __tvm_ffi_softmax(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);

enum { kNodes = 4, kBatches = 2, kRows = 2, kClasses = 3 };
enum { X, W1, B1, W2, B2, HIDDEN, RELU, SCORES, Y, kTensors };

static float elements[kTensors][32];
static float batches[kBatches][kRows * 4] = {{1, 0, 0, 0, 0, 1, 0, 0}, {0, 0, 2, 0, 0, 0, 0, 2}};
static int64_t shapes[kTensors][2] = {{kRows, 4}, {4, 8},     {8},        {8, kClasses},    {3},
                                      {kRows, 8}, {kRows, 8}, {kRows, 3}, {kRows, kClasses}};
static DLTensor tensors[kTensors];

static void check(int code) {
  TVMFFIObjectHandle error = NULL;
  if (code == 0) return;
  TVMFFIErrorMoveFromRaised(&error);
  if (error != NULL) fprintf(stderr, "%s\n", TVMFFIErrorGetCellPtr(error)->message.data);
  exit(EXIT_FAILURE);
}

static TVMFFIObjectHandle prepare(TVMFFISafeCallType call, const TVMFFIAny* args, int32_t count) {
  TVMFFIObjectHandle function = NULL, prepared = NULL;
  check(TVMFFIFunctionCreate(NULL, call, NULL, &function));
  check(TVMFFIPreparedCreate(function, NULL, args, count, &prepared));
  TVMFFIObjectDecRef(function); /* the prepared call owns another reference */
  return prepared;
}

static TVMFFIAny tensor(int index) { return graph_borrowed(&tensors[index]); }

int main(void) {
  for (int i = 0; i < kTensors; ++i) {
    for (int j = 0; j < 32; ++j) elements[i][j] = (float)((i + j) % 5) / 4;
    tensors[i] = (DLTensor){
        elements[i], {kDLCPU, 0}, shapes[i][1] == 0 ? 1 : 2, {kDLFloat, 32, 1}, shapes[i], NULL, 0};
  }
  TVMFFIObjectHandle nodes[kNodes] = {
      prepare(__tvm_ffi_dense, (TVMFFIAny[]){tensor(X), tensor(W1), tensor(B1), tensor(HIDDEN)}, 4),
      prepare(__tvm_ffi_relu, (TVMFFIAny[]){tensor(HIDDEN), tensor(RELU)}, 2),
      prepare(__tvm_ffi_dense, (TVMFFIAny[]){tensor(RELU), tensor(W2), tensor(B2), tensor(SCORES)},
              4),
      prepare(__tvm_ffi_softmax, (TVMFFIAny[]){tensor(SCORES), graph_float(0.5), tensor(Y)}, 3)};
  for (int i = 0; i < kBatches; ++i) {
    int32_t slot = 0, failed = 0;
    TVMFFIAny address = {.type_index = kTVMFFIOpaquePtr, .v_ptr = batches[i]};
    check(TVMFFIPreparedUpdate(nodes[0], &slot, &address, 1));
    check(TVMFFIPreparedRun(nodes, kNodes, NULL, &failed));
    printf("batch %d: %.3f %.3f %.3f\n", i, elements[Y][0], elements[Y][1], elements[Y][2]);
  }
  for (int i = 0; i < kNodes; ++i) TVMFFIObjectDecRef(nodes[i]);
  return EXIT_SUCCESS;
}

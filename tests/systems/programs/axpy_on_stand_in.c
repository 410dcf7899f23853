/* SPDX-License-Identifier: Apache-2.0
 *
 * Additional stand-in driver functions for the program in examples/aot_program/languages: host
 * memory as device memory, and a launch that computes the kernel on the host. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_driver.h"

int cuMemAllocManaged(uintptr_t* address, size_t bytes, unsigned flags);
int cuMemFree_v2(uintptr_t address);
int cuCtxSynchronize(void);

int cuMemAllocManaged(uintptr_t* address, size_t bytes, unsigned flags) {
  (void)flags;
  *address = (uintptr_t)malloc(bytes);
  return 0;
}

int cuMemFree_v2(uintptr_t address) {
  free((void*)address);
  return 0;
}

int cuCtxSynchronize(void) { return 0; }

static void axpy(const FakeLaunch* launch, void* data) {
  double a = *(const double*)launch->params[0];
  const double* x = *(const double**)launch->params[1];
  double* y = *(double**)launch->params[2];
  int32_t n = *(const int32_t*)launch->params[3];
  (void)data;
  if (strcmp(launch->kernel, "axpy_kernel") != 0 || launch->grid[0] != 1) abort();
  for (int32_t i = 0; i < n; ++i) y[i] += a * x[i];
}

__attribute__((constructor)) static void serve(void) { fake_driver_on_launch(axpy, NULL); }

/* SPDX-License-Identifier: Apache-2.0
 *
 * C kernel without ABI code; build.py generates the wrapper that checks and unpacks arguments. */
#include <stdint.h>

void axpy(double a, const double* x, double* y, int64_t n);

void axpy(double a, const double* x, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

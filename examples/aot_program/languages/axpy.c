/* SPDX-License-Identifier: Apache-2.0
 *
 * A function of C that knows nothing of the ABI; build.py has the wrapper printed. */
#include <stdint.h>

void axpy(double a, const double* x, double* y, int64_t n);

void axpy(double a, const double* x, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

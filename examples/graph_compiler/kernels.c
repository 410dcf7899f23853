/* SPDX-License-Identifier: Apache-2.0
 *
 * C kernels without ABI code: their wrappers check the arguments and pass addresses and sizes. */
#include <math.h>
#include <stdint.h>

/* y = x w + b, where x is an n by k matrix and w a k by m matrix. */
void dense_f32(const float* x, const float* w, const float* b, float* y, int64_t n, int64_t k,
               int64_t m) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) y[i * m + j] = b[j];
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t j = 0; j < m; ++j) y[i * m + j] += x[i * k + l] * w[l * m + j];
    }
  }
}

void relu_f32(const float* x, float* y, int64_t size) {
  for (int64_t i = 0; i < size; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}

/* Write the softmax of each row of x to y. */
void softmax_f32(const float* x, float* y, int64_t n, int64_t m, float temperature) {
  for (int64_t i = 0; i < n; ++i, x += m, y += m) {
    float largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < m; ++j) largest = x[j] > largest ? x[j] : largest;
    for (int64_t j = 0; j < m; ++j) sum += y[j] = expf((x[j] - largest) / temperature);
    for (int64_t j = 0; j < m; ++j) y[j] /= sum;
  }
}

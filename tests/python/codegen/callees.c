/* SPDX-License-Identifier: Apache-2.0
 *
 * Callees of the wrappers under test: C functions, of which only the raising ones use the ABI. */
#include <dlpack/dlpack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

void scale(const float* x, float* y, int32_t n, float a) {
  for (int32_t i = 0; i < n; ++i) y[i] = a * x[i];
}

void fill_int8(int8_t* x, int64_t n) { memset(x, 8, (size_t)n); }

void fill_float32(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = 32;
}

/* Parameter names that equal the names of locals in generated wrappers. */
int64_t value(int64_t a) { return 2 * a; }
int64_t arg_a(int64_t a) { return 3 * a; }

/* Returns the sum of the elements, or -1 for NULL. */
double sum(const double* x, int64_t n) {
  double total = 0;
  if (x == NULL) return -1;
  for (int64_t i = 0; i < n; ++i) total += x[i];
  return total;
}

/* Returns the sum of the elements of a strided matrix. */
double sum_strided(const double* x, const int64_t* shape, const int64_t* strides) {
  double total = 0;
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t j = 0; j < shape[1]; ++j) total += x[i * strides[0] + j * strides[1]];
  }
  return total;
}

/* Returns the arguments as one number, with two decimal digits for each. */
int64_t digits(int64_t rows, int32_t columns, int64_t step, int32_t ndim, int64_t size,
               int32_t device, int64_t half, uint8_t byte) {
  const int64_t all[] = {rows, columns, step, ndim, size, device, half, byte};
  int64_t number = 0;
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) number = 100 * number + all[i];
  return number;
}

int check(int64_t status) { return (int)status; }

/* Functions that fail with a pending error. */
int root(double a, double* result) {
  if (a < 0) {
    TVMFFIErrorSetRaisedFromCStr("IndexError", "no root");
    return 1;
  }
  while (*result * *result < a) ++*result;
  return 0;
}

int is_odd(int8_t a, bool* odd) {
  *odd = a % 2 != 0;
  return 0;
}

int pairs(const int32_t* x, int64_t n, int32_t* result) {
  for (int64_t i = 0; i < n; ++i) result[i] = 2 * x[i];
  if (n > 0) return 0;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "nothing to pair");
  return 1;
}

/* Copies the elements to the workspace and returns their scaled sum. Returns -1 if the workspace is
 * not aligned to 256 bytes, or if another argument is unexpected. */
double sum_in(const float* x, int64_t n, void* workspace, void* none, int8_t minus, float factor,
              double half, void* null, float scale) {
  float* copy = (float*)workspace;
  double total = 0;
  if ((uintptr_t)workspace % 256 != 0 || none != NULL || null != NULL || minus != -1) return -1;
  if (n > 0) memcpy(copy, x, (size_t)n * sizeof(float));
  for (int64_t i = 0; i < n; ++i) total += (double)(copy[i] * factor * scale) * half;
  return total;
}

int32_t negated(int32_t a) { return -a; }
uint64_t largest(void) { return UINT64_MAX; }
uint64_t flipped(uint64_t a, uint64_t mask) { return a ^ mask; }
void last(const float* x, float* out, int32_t stride, int32_t size, int32_t ndim) {
  out[size - 3] = (float)stride, out[size - 2] = (float)size, out[size - 1] = (float)ndim;
  (void)x;
}
bool is_positive(double a) { return a > 0; }
float half(float a) { return a / 2; }

int64_t length(const char* text, const char* other) {
  return (int64_t)strlen(text) + (other == NULL ? 100 : (int64_t)strlen(other));
}

int64_t first_byte(const void* bytes, int64_t size) {
  return size == 0 ? -1 : ((const unsigned char*)bytes)[0];
}

int64_t or_seven(const int64_t* a) { return a == NULL ? 7 : *a; }

void* kept;
void keep(void* stream) { kept = stream; }
int64_t address(void* pointer) { return (int64_t)(intptr_t)pointer; }
int64_t description(DLTensor* tensor) { return tensor->byte_offset == 0 && tensor->ndim; }

void outer(const float* x, const float* y, float* out, int64_t n, int64_t m) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) out[i * m + j] = x[i] * y[j];
  }
}

/* Functions on elements of 4 bytes. */
int halves(const void* elements, int64_t n, void* first, void* second) {
  const int32_t* x = elements;
  int32_t *low = first, *high = second;
  for (int64_t i = 0; i < n; ++i) {
    if (i < n / 2) {
      low[i] = x[i];
    } else {
      high[i - n / 2] = x[i];
    }
  }
  return n == 5 ? 55 : 0;
}

/* Stores twice each element of `x` in `out`, unless `ndim` is not `n`. */
void double_all(const float* x, float* out, int64_t size, int32_t ndim, int64_t n) {
  for (int64_t i = 0; i < size; ++i) out[i] = ndim == n ? 2 * x[i] : 0;
}

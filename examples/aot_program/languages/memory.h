/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for the tensors of a kernel: host memory or GPU memory. */
#ifndef MEMORY_H_
#define MEMORY_H_

#include <stddef.h>
#include <tvm/ffi/c_api.h>

typedef struct {
  DLDeviceType device;
  /* Allocate memory that both the program and the kernel can access; return NULL on failure. */
  void* (*allocate)(size_t bytes);
  /* Wait for all launched kernels; return 0 or an error code of the CUDA driver. */
  int (*wait)(void);
  void (*release)(void* memory);
} memory;

extern const memory host;
extern const memory gpu; /* defined in gpu_memory.c */

#endif /* MEMORY_H_ */

/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the tensors of a kernel are. */
#ifndef MEMORY_H_
#define MEMORY_H_

#include <stddef.h>
#include <tvm/ffi/c_api.h>

typedef struct {
  DLDeviceType device;
  /* Lend memory that both the program and the kernel can use; NULL when there is none. */
  void* (*lend)(size_t bytes);
  /* Wait until kernels are done; 0, or what the driver says. */
  int (*wait)(void);
  void (*give_back)(void* memory);
} memory;

extern const memory host;
extern const memory gpu; /* in gpu_memory.c */

#endif /* MEMORY_H_ */

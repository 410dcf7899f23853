/* SPDX-License-Identifier: Apache-2.0
 *
 * Managed memory of the first GPU, through the CUDA driver API.  The driver is loaded on first use,
 * so the program also starts without a GPU. */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"

enum { ATTACH_GLOBAL = 1 };

static int (*synchronize)(void);
static int (*free_memory)(uintptr_t address);

/* Write the address of a driver function to *out; return 0 on success. */
static int find(void* library, const char* name, void* out) {
  void* symbol = dlsym(library, name);
  memcpy(out, &symbol, sizeof(symbol));
  return symbol == NULL;
}

static void* allocate(size_t bytes) {
  int (*init)(unsigned flags);
  int (*retain)(void** context, int device);
  int (*set_current)(void* context);
  int (*allocate_managed)(uintptr_t* address, size_t bytes, unsigned flags);
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
  uintptr_t address = 0;
  if (library == NULL || find(library, "cuInit", &init) != 0 ||
      find(library, "cuDevicePrimaryCtxRetain", &retain) != 0 ||
      find(library, "cuCtxSetCurrent", &set_current) != 0 ||
      find(library, "cuMemAllocManaged", &allocate_managed) != 0 ||
      find(library, "cuMemFree_v2", &free_memory) != 0 ||
      find(library, "cuCtxSynchronize", &synchronize) != 0) {
    return NULL;
  }
  if (init(0) != 0 || retain(&context, 0) != 0 || set_current(context) != 0) return NULL;
  return allocate_managed(&address, bytes, ATTACH_GLOBAL) == 0 ? (void*)address : NULL;
}

static int wait(void) { return synchronize(); }

static void release(void* memory) { free_memory((uintptr_t)memory); }

const memory gpu = {kDLCUDA, allocate, wait, release};

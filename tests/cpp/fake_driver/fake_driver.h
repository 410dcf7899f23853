/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for the CUDA driver, libcuda.so.1: recorded calls and planned results.
 *
 * Each call is one line, such as `cuCtxSetCurrent(1)`; contexts are named by the number of their
 * device. The stand-in reads the kernel names of an image: in PTX after each `.entry`, in cubins
 * the code sections, in other images the words of the text that begins with `FAKE `. A real fatbin
 * has every kernel.  PTX with `bad instruction` does not compile.  By default the devices have
 * compute capability 9.0, and a block has 227 KiB of shared memory. Handles are checked: a kernel
 * of an unloaded image, or of a context that is not current, returns 400.  Memory is never freed,
 * so that a use after unloading is detected. */
#ifndef TVM_FFI_TESTS_FAKE_DRIVER_FAKE_DRIVER_H_
#define TVM_FFI_TESTS_FAKE_DRIVER_FAKE_DRIVER_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FakeLaunch {
  const char* kernel;
  int device;
  unsigned grid[3];
  unsigned block[3];
  unsigned cluster[3]; /* 0 if the launch has no such attribute */
  unsigned shared_memory_bytes;
  void* stream;
  void** params; /* valid only during the callback */
  int is_cooperative, is_programmatic;
} FakeLaunch;

/* Clears calls, planned failures and callbacks; sets two devices, no current context on the
 * caller's thread. */
void fake_driver_reset(void);
/* The next `skip` calls of `function` succeed, the call after them returns `status`; later calls
 * succeed. */
void fake_driver_fail(const char* function, int status, int skip);
/* Copies the lines recorded since the last call, truncated to the buffer. Returns the total number
 * of bytes. */
size_t fake_driver_take_calls(char* text, size_t size);
/* Sets a callback that runs during each launch, on the launching thread. */
void fake_driver_on_launch(void (*callback)(const FakeLaunch* launch, void* data), void* data);
/* Sets the compute capability of a device, 80 for 8.0; until the next reset. */
void fake_driver_set_capability(int device, int capability);
/* Returns the bytes of the last image that was loaded. */
const void* fake_driver_last_image(void);
/* Return the number of loaded images, and of references to primary contexts. */
int fake_driver_live_images(void);
int fake_driver_live_contexts(void);
/* Makes a context of device 0 current that is not its primary context; the call is not recorded. */
void fake_driver_use_another_context(void);
/* Returns the number of the current context: -1 for none, 100 for the non-primary one. */
int fake_driver_current_context(void);
/* Makes every function return 4, CUDA_ERROR_DEINITIALIZED; until the next reset. */
void fake_driver_shut_down(void);
/* Makes each launch return 0 without a check or a record, to time the caller; until the next reset.
 */
void fake_driver_ignore_launches(void);

#ifdef __cplusplus
}
#endif

#endif /* TVM_FFI_TESTS_FAKE_DRIVER_FAKE_DRIVER_H_ */

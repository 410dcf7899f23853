/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for the CUDA driver, libcuda.so.1: what it saw, and how a test tells it what to
 * answer.
 *
 * Each call is one line, as `cuCtxSetCurrent(1)`; contexts are called by the number of their
 * device. Of an image the stand-in reads the names of the kernels: in PTX behind each `.entry`, in
 * others the words of the text that begins with `FAKE `, and in real cubins the sections of code.
 * A real fatbin has every kernel.  PTX with `bad instruction` does not compile.  The devices are of
 * compute capability 9.0, and a block has 227 KiB of shared memory, unless a test says otherwise.
 * Handles are checked: a kernel of an unloaded image, or of another context than the current one,
 * is answered with 400.  Nothing is ever freed, so that a use after the end is seen.
 */
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
  unsigned cluster[3]; /* 0 without that attribute */
  unsigned shared_memory_bytes;
  void* stream;
  void** params; /* valid during the call back only */
  int is_cooperative, is_programmatic;
} FakeLaunch;

/* Forgets calls, planned failures and call backs; two devices, no current context on the caller. */
void fake_driver_reset(void);
/* The call of `function` after the next `skip` ones answers `status`, the later ones succeed. */
void fake_driver_fail(const char* function, int status, int skip);
/* Lines since the last one of these; as much as fits.  Returns the bytes that all of them need. */
size_t fake_driver_take_calls(char* text, size_t size);
/* Called during each launch, on the launching thread. */
void fake_driver_on_launch(void (*callback)(const FakeLaunch* launch, void* data), void* data);
/* From now on a device has another compute capability, 80 for 8.0; until the next reset. */
void fake_driver_set_capability(int device, int capability);
/* The bytes that were loaded last. */
const void* fake_driver_last_image(void);
/* Images that are loaded, and references to the primary contexts. */
int fake_driver_live_images(void);
int fake_driver_live_contexts(void);
/* A context of device 0 that is not its primary one; not recorded. */
void fake_driver_use_another_context(void);
/* The number that stands for the current context: -1 none, 100 that other one. */
int fake_driver_current_context(void);
/* From now on everything answers 4, CUDA_ERROR_DEINITIALIZED; until the next reset. */
void fake_driver_shut_down(void);

#ifdef __cplusplus
}
#endif

#endif /* TVM_FFI_TESTS_FAKE_DRIVER_FAKE_DRIVER_H_ */

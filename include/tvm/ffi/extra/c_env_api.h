/* SPDX-License-Identifier: Apache-2.0
 *
 * C API of the call environment: current stream, tensor allocator, signal check, and symbols that
 * generated libraries use to find each other.
 *
 * The current streams and the allocator belong to the calling thread.  The caller sets them for
 * the duration of a call; the callee reads them.  Return codes, ownership and out-parameters follow
 * the conventions of tvm/ffi/c_api.h, unless the comment of a function states a difference. */
#ifndef TVM_FFI_EXTRA_C_ENV_API_H_
#define TVM_FFI_EXTRA_C_ENV_API_H_

#include <tvm/ffi/c_api.h>

#if DLPACK_MAJOR_VERSION == 1 && DLPACK_MINOR_VERSION < 2
#error "tvm/ffi/extra/c_env_api.h needs DLPack 1.2 or later; an older dlpack.h was included first"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Streams ------------------------------------------------------------------------------ */

/* A stream of the device's API (cudaStream_t, hipStream_t, ...).  Always borrowed: the code that
 * sets a stream keeps it alive.  NULL is the device's default stream. */
typedef void* TVMFFIStreamHandle;

/* Set the calling thread's current stream of one device.  A caller sets the stream before a call
 * and restores the previous stream after it.
 *
 * device_type, device_id    DLDeviceType and index, both >= 0.
 * stream                    borrowed until replaced; may be NULL.
 * opt_out_original_stream   receives the previous stream, NULL if none was set; may be NULL.
 * Fails: out of memory.     Threads: any; each thread has its own streams. */
TVM_FFI_DLL int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id,
                                   TVMFFIStreamHandle stream,
                                   TVMFFIStreamHandle* opt_out_original_stream);

/* Return the calling thread's current stream of one device; NULL if none was set or the indices
 * are out of range.
 *
 * device_type, device_id   DLDeviceType and index.
 * Returns: the stream, borrowed until the next TVMFFIEnvSetStream for the device on this thread.
 * Fails: never.     Threads: any; each thread has its own streams. */
TVM_FFI_DLL TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);

/* ---- Tensor allocation -------------------------------------------------------------------- */

/* Set the allocator that TVMFFIEnvTensorAlloc uses on the calling thread.
 *
 * allocator                    must stay callable until replaced; NULL: remove the allocator.
 * write_to_global_context      if non-zero, also sets the process-wide default for threads that
 *                              have no allocator.
 * opt_out_original_allocator   receives the thread's previous allocator, or NULL; may be NULL.
 * Fails: never.     Threads: any; set the process-wide default before other threads start. */
TVM_FFI_DLL int TVMFFIEnvSetDLPackManagedTensorAllocator(
    DLPackManagedTensorAllocator allocator, int write_to_global_context,
    DLPackManagedTensorAllocator* opt_out_original_allocator);

/* Return the allocator in effect: the thread's allocator, else the process-wide default, else NULL.
 * NULL means that tensors are allocated by the built-in allocator for CPU memory.
 *
 * Returns: the allocator; it stays callable until it is replaced.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void);

/* Allocate a tensor with the allocator in effect; if none is set, the built-in allocator returns a
 * compact row-major tensor in CPU memory.
 *
 * prototype   gives ndim, shape, dtype and device; borrowed until the call returns.
 * out         receives an owned Tensor.
 * Fails: RuntimeError if no allocator is set and the device is not the CPU, or if the allocator
 *        returns no tensor; ValueError for an invalid ndim or shape; MemoryError; otherwise the
 *        kind and message that the allocator reports.
 * Threads: any. */
TVM_FFI_DLL int TVMFFIEnvTensorAlloc(DLTensor* prototype, TVMFFIObjectHandle* out);

/* ---- Host language ------------------------------------------------------------------------ */

/* Ask the host language whether a signal such as Ctrl-C is pending.  Long loops call this function
 * from time to time and return -1 if it returns -1.  The function acquires the host's lock (the
 * GIL).  Call it only where waiting for this lock cannot deadlock.
 *
 * Returns: 0 to continue; -1 to stop.  After -1 the exception is pending in the host language and
 *          the error slot is EMPTY; the caller returns -1 immediately without setting an error.
 * Fails: returns -1 only for a pending signal.     Threads: any. */
TVM_FFI_DLL int TVMFFIEnvCheckSignals(void);

/* Register a function of the host language with the runtime: PyErr_CheckSignals, PyGILState_Ensure
 * or PyGILState_Release.
 *
 * A host that runs threads in parallel, such as free-threaded Python, registers two more functions:
 *
 *   void ObjectLock_Begin(void* section, const void* object);
 *   void ObjectLock_End(void* section);
 *
 * The runtime calls ObjectLock_Begin before it reads a List, Dict or field, and ObjectLock_End
 * afterwards.  Between the two calls no other thread of the host changes the object.  `section` is
 * the address of 32 bytes of memory for the host's use, aligned for a pointer.  Sections (pairs of
 * the two calls) of a thread can nest.  A section can begin on a thread that the host has not
 * created.
 *
 * name     NUL-terminated; borrowed until the call returns.
 * symbol   address of the function; must stay callable.  NULL removes the function.
 * Fails: ValueError for any other name.     Threads: once, while the host loads the runtime. */
TVM_FFI_DLL int TVMFFIEnvRegisterCAPI(const char* name, void* symbol);

/* ---- Symbols for generated libraries ------------------------------------------------------ */

/* Find a function for generated code.  Searches the cache of the code's module, the module's
 * imports depth first, then the global functions.
 *
 * library_ctx   value that the loader stored in the library's `__tvm_ffi__library_ctx` slot: the
 *               address of the C++ module object, 8 bytes before its object header.  Not an
 *               object handle, despite the parameter's type.
 * func_name     NUL-terminated; borrowed until the call returns.
 * out           receives a Function borrowed until the module dies; do not release it.
 * Fails: RuntimeError if the function does not exist.     Threads: any; acquires a lock. */
TVM_FFI_DLL int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char* func_name,
                                              TVMFFIObjectHandle* out);

/* Publish an address to libraries that are loaded later: the loader stores `symbol` in the data
 * slot `name` of each library that defines one.
 *
 * name     NUL-terminated; copied.
 * symbol   must stay valid until the process ends; libraries store it.
 * Fails: out of memory.     Threads: any; affects libraries that are loaded afterwards. */
TVM_FFI_DLL int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol);

/* Add a symbol to the system library, the module of all code that is linked into the program.  A
 * second, different address for a name replaces the first and prints a warning to stderr.
 *
 * name     NUL-terminated; copied.
 * symbol   a function of the packed convention, or data; must stay valid.
 * Fails: never.     Threads: any; static initializers may call it. */
TVM_FFI_DLL int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TVM_FFI_EXTRA_C_ENV_API_H_ */

/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment of a call: current stream, tensor allocator, signal check, and the symbols
 * that generated libraries need to reach each other.
 *
 * Streams and the allocator are state of the calling thread, set by the caller around a call and
 * read by the callee.  Return codes, ownership and out-parameters follow the conventions of
 * tvm/ffi/c_api.h; where a function differs, its comment says so. */
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

/* A stream of the device's own kind (cudaStream_t, hipStream_t, ...).  Never owned here: whoever
 * set it keeps it alive.  NULL is the device's default stream. */
typedef void* TVMFFIStreamHandle;

/* Set the calling thread's current stream of one device.  A caller sets it before a call and
 * puts the previous value back afterwards.
 *
 * device_type, device_id    DLDeviceType and index, both >= 0.
 * stream                    borrowed until replaced; may be NULL.
 * opt_out_original_stream   receives the previous stream, NULL if none was set; may be NULL.
 * Fails: out of memory.     Threads: any; sees only its own table. */
TVM_FFI_DLL int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id,
                                   TVMFFIStreamHandle stream,
                                   TVMFFIStreamHandle* opt_out_original_stream);

/* Return the calling thread's current stream of one device; NULL if none was set or the indices
 * are out of range.
 *
 * device_type, device_id   DLDeviceType and index.
 * Returns: borrowed until the next TVMFFIEnvSetStream for the device on this thread.
 * Fails: never.     Threads: any; sees only its own table. */
TVM_FFI_DLL TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);

/* ---- Tensor allocation -------------------------------------------------------------------- */

/* Set the allocator that TVMFFIEnvTensorAlloc uses on the calling thread.
 *
 * allocator                    must stay callable until replaced; NULL clears the slot.
 * write_to_global_context      non-zero also sets the process-wide default, used by threads
 *                              whose own slot is empty.
 * opt_out_original_allocator   receives the previous value of the thread's slot; may be NULL.
 * Fails: never.     Threads: any for its own slot; set the default before other threads start. */
TVM_FFI_DLL int TVMFFIEnvSetDLPackManagedTensorAllocator(
    DLPackManagedTensorAllocator allocator, int write_to_global_context,
    DLPackManagedTensorAllocator* opt_out_original_allocator);

/* Return the allocator in effect: the thread's own, else the process-wide default, else NULL,
 * which stands for the built-in allocator of CPU memory.
 *
 * Returns: callable until it is replaced.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void);

/* Allocate a tensor with the allocator in effect; when none is set, compact row-major CPU memory
 * comes from the built-in allocator.
 *
 * prototype   gives ndim, shape, dtype and device; borrowed until the call returns.
 * out         receives an owned Tensor.
 * Fails: RuntimeError when none is set and the device is not the CPU, or when the allocator
 *        returns no tensor; ValueError for an ndim or shape that describes no tensor;
 *        MemoryError; otherwise the kind and message the allocator reports.
 * Threads: any. */
TVM_FFI_DLL int TVMFFIEnvTensorAlloc(DLTensor* prototype, TVMFFIObjectHandle* out);

/* ---- Host language ------------------------------------------------------------------------ */

/* Ask the host language whether a signal such as Ctrl-C is pending; long loops call this now and
 * then and return its code.  Takes the host's lock (the GIL), so it must be callable here.
 *
 * Returns: 0 to go on; -1 to stop, with the exception pending in the host language and the error
 *          slot EMPTY; return -1 at once without setting an error.
 * Fails: as said above, and in no other way.     Threads: any. */
TVM_FFI_DLL int TVMFFIEnvCheckSignals(void);

/* Hand the runtime a function of the host language: PyErr_CheckSignals, PyGILState_Ensure or
 * PyGILState_Release.
 *
 * A host whose threads run at once, as those of a Python without the GIL, hands over two more:
 *
 *   void ObjectLock_Begin(void* section, const void* object);
 *   void ObjectLock_End(void* section);
 *
 * Between them the host changes the object on no other thread; the runtime calls them around its
 * reads of Lists, Dicts and fields.  `section` is memory of 32 bytes for the host to use, aligned
 * for a pointer.  Sections of a thread nest; one may begin on threads that the host does not know.
 *
 * name     NUL-terminated; borrowed until the call returns.
 * symbol   address of the function; must stay callable.  NULL takes it back.
 * Fails: ValueError for any other name.     Threads: once, while the host loads the runtime. */
TVM_FFI_DLL int TVMFFIEnvRegisterCAPI(const char* name, void* symbol);

/* ---- Symbols for generated libraries ------------------------------------------------------ */

/* Find a function for generated code: in the cache of its module, in the module's imports depth
 * first, then among the global functions.
 *
 * library_ctx   value that the loader stored in the library's `__tvm_ffi__library_ctx` slot: the
 *               address of the C++ module object, 8 bytes below its object header.  Not an
 *               object handle, whatever the type says.
 * func_name     NUL-terminated; borrowed until the call returns.
 * out           receives a Function borrowed until the module dies; do not release it.
 * Fails: RuntimeError when no such function exists.     Threads: any; one lock. */
TVM_FFI_DLL int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char* func_name,
                                              TVMFFIObjectHandle* out);

/* Publish an address to libraries loaded from now on: one that defines a data slot called `name`
 * finds `symbol` stored there.
 *
 * name     NUL-terminated; copied.
 * symbol   must stay valid; libraries keep it.
 * Fails: out of memory.     Threads: while loading. */
TVM_FFI_DLL int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol);

/* Add a symbol to the system library, which stands for code linked into the program itself.
 * A second, different address for a name replaces the first and warns on stderr.
 *
 * name     NUL-terminated; copied.
 * symbol   a function of the packed convention, or data; must stay valid.
 * Fails: never.     Threads: while loading; static initializers may call it. */
TVM_FFI_DLL int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TVM_FFI_EXTRA_C_ENV_API_H_ */

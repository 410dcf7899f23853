/* SPDX-License-Identifier: Apache-2.0
 *
 * The TVM FFI C ABI: the values, objects and functions that compiled code of all languages shares.
 *
 * This file defines the ABI: type indices, struct layouts and prototypes never change, and
 * tests/abi/layout_test.c checks them.  It includes dlpack.h and nothing else of this project, and
 * is valid C11 and C++17.  libtvm_ffi provides the functions.
 *
 * The documentation quotes the regions between [NAME.begin] and [NAME.end].
 *
 * Contents: build macros, version, type indices, objects, Any, byte arrays and cells, custom
 * allocator, calling convention, functions, errors, strings and numbers, tensors, types and
 * reflection, one-time slots, accessors. */
#ifndef TVM_FFI_C_API_H_
#define TVM_FFI_C_API_H_

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(DLPACK_MAJOR_VERSION) || DLPACK_MAJOR_VERSION != 1
#error "tvm/ffi/c_api.h needs DLPack 1.x, but another version of dlpack.h was included first"
#endif

/* ---- Build macros ------------------------------------------------------------------------- */

/* TVM_FFI_DLL marks the symbols of libtvm_ffi, TVM_FFI_DLL_EXPORT the exported symbols of a client
 * library.  TVM_FFI_EXPORTS is defined only in the build of libtvm_ffi itself. */
#ifdef _WIN32
#define TVM_FFI_DLL_EXPORT __declspec(dllexport)
#ifdef TVM_FFI_EXPORTS
#define TVM_FFI_DLL __declspec(dllexport)
#elif defined(_MSC_VER)
#define TVM_FFI_DLL __declspec(dllimport)
#else
#define TVM_FFI_DLL /* the linkers of MinGW import without it, also from the static archive */
#endif
#else
#define TVM_FFI_DLL_EXPORT __attribute__((visibility("default")))
#define TVM_FFI_DLL __attribute__((visibility("default")))
#endif
#ifdef _MSC_VER
#define TVM_FFI_WEAK __declspec(selectany)
#define TVM_FFI_ATTRIBUTE_PURE
#else
#define TVM_FFI_WEAK __attribute__((weak))
/* The result depends only on the arguments, so the compiler may merge equal calls. */
#define TVM_FFI_ATTRIBUTE_PURE __attribute__((pure))
#endif

/* ABI level that these headers describe.  The numbers are compiled into clients; the runtime does
 * not check them. */
#define TVM_FFI_VERSION_MAJOR 0
#define TVM_FFI_VERSION_MINOR 1
#define TVM_FFI_VERSION_PATCH 16

/* Enums are 32 bits wide everywhere; C++ also fixes the underlying type. */
#ifdef __cplusplus
#define TVM_FFI_ENUM_BASE_ : int32_t
#else
#define TVM_FFI_ENUM_BASE_
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Conventions of every function below --------------------------------------------------
 *
 * Result      int functions return 0, or -1 with an Error in the calling thread's error slot
 *             (see Errors).  Out-parameters are unchanged on failure.
 * Ownership   handles and Anys passed as arguments are borrowed until the call returns; a callee
 *             that needs such a value for longer retains or copies the value.  An "owned" result
 * carries one strong reference; its receiver releases it with TVMFFIObjectDecRef.  A function
 *             overwrites its out-parameters without releasing their previous contents.
 * Bytes       byte arrays need no terminating NUL; data may be NULL if size is 0.
 * Fatal       the function cannot report an error: it prints a message to stderr and ends the
 *             process with status 255.
 * Threads     "any": may be called on every thread at any time.  "Registration": intended for load
 *             time, because readers on other threads hold raw pointers into the tables. */

/* ---- Version ------------------------------------------------------------------------------ */

/* ABI level of the loaded library; three 4-byte numbers, 12 bytes. */
typedef struct TVMFFIVersion {
  uint32_t major; /* TVM_FFI_VERSION_MAJOR of the library */
  uint32_t minor; /* TVM_FFI_VERSION_MINOR of the library */
  uint32_t patch; /* TVM_FFI_VERSION_PATCH of the library */
} TVMFFIVersion;

/* Get the ABI level of the loaded library.
 *
 * out_version   not NULL; all three numbers are written.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL void TVMFFIGetVersion(TVMFFIVersion* out_version);

/* ---- Type indices ------------------------------------------------------------------------- */

/* Type indices.  An index is the tag of a value and the identity of an object's type.
 *
 *   -1         any type, in the description of a field only
 *   0..63      values without an object, stored in the TVMFFIAny itself
 *   64..78     built-in object types
 *   79..127    unassigned; available for static object types
 *   128..      object types allocated at run time; find them by type key
 *
 * A null object reference is None (0), never an index >= 64 with a NULL pointer.
 * Each comment gives the type key, then the payload member of TVMFFIAny or the struct that follows
 * the object header.  "Only in views": an owned Any never has this index.  ORDER type-index */
typedef enum TVMFFITypeIndex TVM_FFI_ENUM_BASE_ {
  kTVMFFIAny = -1,        /* any type; used only in TVMFFIFieldInfo.field_static_type_index */
  kTVMFFINone = 0,        /* type key "None"; payload 0 */
  kTVMFFIInt = 1,         /* type key "int"; payload v_int64 */
  kTVMFFIBool = 2,        /* type key "bool"; payload v_int64, 0 or 1 */
  kTVMFFIFloat = 3,       /* type key "float"; payload v_float64 */
  kTVMFFIOpaquePtr = 4,   /* type key "void*"; payload v_ptr, whose lifetime the user manages */
  kTVMFFIDataType = 5,    /* type key "DataType"; payload v_dtype, upper 4 bytes 0 */
  kTVMFFIDevice = 6,      /* type key "Device"; payload v_device */
  kTVMFFIDLTensorPtr = 7, /* type key "DLTensor*"; payload v_ptr; only in views */
  kTVMFFIRawStr = 8, /* type key "const char*"; payload v_c_str, NUL-terminated; only in views */
  kTVMFFIByteArrayPtr = 9,     /* type key "TVMFFIByteArray*"; payload v_ptr; only in views */
  kTVMFFIObjectRValueRef = 10, /* type key "ObjectRValueRef"; payload v_ptr to an object pointer,
                                * which the callee may move out, leaving NULL; only in views */
  kTVMFFISmallStr = 11,        /* type key "ffi.SmallStr"; payload v_bytes, small_str_len <= 7 */
  kTVMFFISmallBytes = 12,      /* type key "ffi.SmallBytes"; payload v_bytes, small_str_len <= 7 */
  kTVMFFIUnchanged = 13, /* type key "ffi.Unchanged"; payload 0; result of a mutation hook if the
                          * hook does not replace the value that it received */

  kTVMFFIStaticObjectBegin = 64, /* from this index on, v_obj is a non-NULL object */
  kTVMFFIObject = 64,            /* type key "ffi.Object"; ancestor of every object type */
  kTVMFFIStr = 65,            /* type key "ffi.String"; content TVMFFIByteArray; a string of at most
                               * 7 bytes may be a Str, too */
  kTVMFFIBytes = 66,          /* type key "ffi.Bytes"; content TVMFFIByteArray; a byte string of at
                               * most 7 bytes may be a Bytes, too */
  kTVMFFIError = 67,          /* type key "ffi.Error"; content TVMFFIErrorCell */
  kTVMFFIFunction = 68,       /* type key "ffi.Function"; content TVMFFIFunctionCell */
  kTVMFFIShape = 69,          /* type key "ffi.Shape"; content TVMFFIShapeCell */
  kTVMFFITensor = 70,         /* type key "ffi.Tensor"; content DLTensor */
  kTVMFFIArray = 71,          /* type key "ffi.Array"; content TVMFFISeqCell; immutable */
  kTVMFFIMap = 72,            /* type key "ffi.Map"; immutable */
  kTVMFFIModule = 73,         /* type key "ffi.Module" */
  kTVMFFIOpaquePyObject = 74, /* type key "ffi.OpaquePyObject"; content TVMFFIOpaqueObjectCell */
  kTVMFFIList = 75,           /* type key "ffi.List"; content TVMFFISeqCell; mutable */
  kTVMFFIDict = 76,           /* type key "ffi.Dict"; mutable */
  kTVMFFIVisitInterrupt = 77, /* type key "ffi.VisitInterrupt"; content one TVMFFIAny */
  kTVMFFIBigInt = 78,         /* type key "ffi.BigInt"; integer that does not fit 64 bits */
  kTVMFFIStaticObjectEnd = 79, /* first index after the built-in types */

  kTVMFFIDynObjectBegin = 128, /* first index allocated at run time */
} TVMFFITypeIndex;

/* Reference to an object: the address of its TVMFFIObject header.  The comment of a parameter or
 * field states whether the reference is owned or borrowed. */
typedef void* TVMFFIObjectHandle;

/* ---- Objects ------------------------------------------------------------------------------ */

/* [TVMFFIObject.begin] */
/* Header at the start of every reference-counted object.
 *
 *   offset  bytes  field
 *   0       8      combined_ref_count   bits 0..31 strong, bits 32..63 weak
 *   8       4      type_index
 *   12      4      __padding
 *   16      8      deleter
 *   24             fields of the type: a cell (C struct), or the members of a C++ class
 *
 * A new object has a strong count of 1 and a weak count of 1; all strong references together own
 * that first weak count.  Clients count inline with 64-bit atomics, so the protocol is part of the
 * ABI:
 *
 *   1. strong +1: add STRONG_ONE, relaxed.   weak +1: add WEAK_ONE, relaxed.
 *   2. strong -1: old = subtract STRONG_ONE, release.
 *        old == INITIAL           acquire fence, deleter(self, Both); done.
 *        strong half of old == 1  acquire fence, deleter(self, Strong), then step 3.
 *   3. weak -1: old = subtract WEAK_ONE, release; if old == WEAK_ONE: acquire fence,
 *      deleter(self, Weak).
 *   4. weak to strong: compare-and-swap loop, acquire-release, that adds STRONG_ONE and fails if
 *      the strong half is 0.
 *   5. unique (may be modified in place): the whole counter == INITIAL.
 *
 * A C++ class with virtual functions has its vtable pointer before the header; handles and the
 * deleter's argument always point to the header. */
typedef struct TVMFFIObject {
  uint64_t combined_ref_count; /* only accessed with atomic operations */
  int32_t type_index;          /* >= kTVMFFIStaticObjectBegin; never changes */
  uint32_t __padding;          /* 0 in a new object; the binding stores an index */
  union {
    /* Function of the library that allocated the object; flags is a TVMFFIObjectDeleterFlagBitMask.
     * After a call with Strong alone, a call with Weak alone follows, possibly on another thread.
     * NULL if the object needs no destruction and its memory is never freed. */
    void (*deleter)(void* self, int flags);
    int64_t __ensure_align; /* keeps the header at 24 bytes if pointers have 32 bits */
  };
} TVMFFIObject;
/* [TVMFFIObject.end] */

/* Units, initial value and mask of TVMFFIObject.combined_ref_count. */
#define TVM_FFI_REF_COUNT_STRONG_ONE UINT64_C(0x0000000000000001)
#define TVM_FFI_REF_COUNT_WEAK_ONE UINT64_C(0x0000000100000000)
#define TVM_FFI_REF_COUNT_INITIAL UINT64_C(0x0000000100000001)
#define TVM_FFI_REF_COUNT_STRONG_MASK UINT64_C(0x00000000FFFFFFFF)

/* Flags of a deleter call: the steps that the deleter performs. */
typedef enum TVMFFIObjectDeleterFlagBitMask TVM_FFI_ENUM_BASE_ {
  kTVMFFIObjectDeleterFlagBitMaskStrong = 1 << 0, /* destroy the content of the object */
  kTVMFFIObjectDeleterFlagBitMaskWeak = 1 << 1,   /* free the memory of the object */
  kTVMFFIObjectDeleterFlagBitMaskBoth = 3,        /* destroy the content, then free the memory */
} TVMFFIObjectDeleterFlagBitMask;

/* Add one strong reference.
 *
 * obj      not NULL; borrowed until the call returns.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL int TVMFFIObjectIncRef(TVMFFIObjectHandle obj);

/* Release one strong reference.  Releasing the last strong reference destroys the object before the
 * call returns.
 *
 * obj      consumed.  NULL is allowed and ignored.
 * Fails: never.     Threads: any; the deleter runs on the calling thread. */
TVM_FFI_DLL int TVMFFIObjectDecRef(TVMFFIObjectHandle obj);

/* Create an object that refers to an object of another language, such as Python.
 *
 * handle       the other language's object; consumed on success.
 * type_index   kTVMFFIOpaquePyObject.
 * deleter      deleter(handle) is called once, when the last strong reference is released; may be
 *              NULL.
 * out          receives an owned object.
 * Fails: RuntimeError for another type_index.     Threads: any. */
TVM_FFI_DLL int TVMFFIObjectCreateOpaque(void* handle, int32_t type_index,
                                         void (*deleter)(void* handle), TVMFFIObjectHandle* out);

/* ---- Any ---------------------------------------------------------------------------------- */

/* [TVMFFIAny.begin] */
/* The tagged value that crosses every call boundary; 16 bytes on all platforms.
 *
 *   offset  bytes  field
 *   0       4      type_index     selects the payload member that is in use
 *   4       4      zero_padding   0; for type indices 11 and 12 small_str_len
 *   8       8      payload        bytes that the selected member does not use are 0
 *
 * Because unused bytes are 0, values can be compared and hashed as 16 bytes for every type; objects
 * are then compared by address.  A view borrows the memory that it points to; an owned Any holds
 * one strong reference if type_index >= 64.  The comment of a parameter or field states whether its
 * Any is a view or owned. */
typedef struct TVMFFIAny {
  int32_t type_index; /* TVMFFITypeIndex or an index allocated at run time */
  union {
    uint32_t zero_padding;  /* 0 unless type_index is 11 or 12 */
    uint32_t small_str_len; /* number of bytes in v_bytes, 0..7, for indices 11 and 12 */
  };
  union {
    int64_t v_int64;     /* value of Int, or of Bool as 0 or 1 */
    double v_float64;    /* value of Float */
    void* v_ptr;         /* pointer of OpaquePtr, DLTensorPtr, ByteArrayPtr, ObjectRValueRef */
    const char* v_c_str; /* string of RawStr, NUL-terminated */
    TVMFFIObject* v_obj; /* object, for every index >= 64; not NULL */
    DLDataType v_dtype;  /* value of DataType */
    DLDevice v_device;   /* value of Device */
    char v_bytes[8];     /* content of SmallStr or SmallBytes; a 0 byte follows it */
    uint64_t v_uint64;   /* the payload as 64 bits, for hashing and comparison */
  };
} TVMFFIAny;
/* [TVMFFIAny.end] */

/* Convert a view to an owned value.
 *
 *   view holds            owned result
 *   type index >= 64      the same object, with one more strong reference
 *   RawStr                SmallStr or Str, content copied
 *   ByteArrayPtr          SmallBytes or Bytes, content copied
 *   ObjectRValueRef       the object, moved out of the caller's pointer, which becomes NULL
 *   anything else         the same 16 bytes; a DLTensor* stays borrowed
 *
 * any_view   borrowed until the call returns.
 * out        receives an owned value; all 16 bytes are written.
 * Fails: InternalError if the pointer of an ObjectRValueRef is NULL; out of memory.
 * Threads: any. */
TVM_FFI_DLL int TVMFFIAnyViewToOwnedAny(const TVMFFIAny* any_view, TVMFFIAny* out);

/* ---- Byte arrays and cells -----------------------------------------------------------------
 *
 * The cell of an object is the C struct that follows its 24-byte header. */

/* A sequence of bytes: data at offset 0, size at offset 8; 16 bytes.  As an argument it is a view.
 * As the cell of a Str or Bytes object, a TVMFFIByteArray owns its content, and data[size] is 0 if
 * libtvm_ffi created the object. */
typedef struct TVMFFIByteArray {
  const char* data; /* may be NULL if size is 0 */
  size_t size;      /* number of bytes */
} TVMFFIByteArray;

/* Cell (fields after the object header) of a Shape: data at offset 0, size at offset 8;
 * 16 bytes. */
typedef struct TVMFFIShapeCell {
  const int64_t* data; /* extents, each >= 0 */
  size_t size;         /* number of extents */
} TVMFFIShapeCell;

/* Cell (fields after the object header) of an Array or a List.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       8      data                  16      8      capacity
 *   8       8      size                  24      8      data_deleter
 *
 * An Array stores its elements directly after the cell and has no data_deleter.  A List must have a
 * data_deleter that accepts NULL and frees with C++ operator delete: clients grow a list inline,
 * into memory from operator new, and keep its data_deleter. */
typedef struct TVMFFISeqCell {
  void* data;                  /* size initialized elements of type TVMFFIAny, owned; NULL if
                                * capacity is 0 */
  int64_t size;                /* number of elements, 0..capacity */
  int64_t capacity;            /* number of elements that fit into data */
  void (*data_deleter)(void*); /* releases data after the elements are destroyed; NULL is allowed
                                * for Array only */
} TVMFFISeqCell;

/* Cell (fields after the object header) of an opaque object: handle at offset 0; 8 bytes. */
typedef struct TVMFFIOpaqueObjectCell {
  void* handle; /* the other language's object; owned by this object */
} TVMFFIOpaqueObjectCell;

/* ---- Custom allocator ---------------------------------------------------------------------- */

/* Header directly before each block of memory that a TVMFFICustomAllocator returns; 8 bytes. */
typedef struct TVMFFIObjectAllocHeader {
  void (*delete_space)(void* ptr); /* releases the block; ptr is the address that `allocate`
                                    * returned */
} TVMFFIObjectAllocHeader;

/* Allocator of memory for objects: allocate at offset 0, context at offset 8; 16 bytes. */
typedef struct TVMFFICustomAllocator {
  /* Returns a block of `size` bytes, aligned to `alignment` and directly preceded by a
   * TVMFFIObjectAllocHeader; NULL if the allocation fails.  The memory is for an object with this
   * type_index.  Called on any thread. */
  void* (*allocate)(size_t size, size_t alignment, int32_t type_index, void* context);
  void* context; /* last argument of `allocate`; may be NULL */
} TVMFFICustomAllocator;

/* Return the allocator for languages that create objects through the C ABI.  libtvm_ffi itself and
 * the C++ headers do not use it.
 *
 * Returns: borrowed until the next TVMFFISetCustomAllocator; never NULL.
 * Fails: fatal.     Threads: any. */
TVM_FFI_DLL TVMFFICustomAllocator* TVMFFIGetCustomAllocator(void);

/* Replace the custom allocator; NULL restores the default.
 *
 * allocator   borrowed until the next call of this function; not copied.
 * Fails: never.     Threads: registration. */
TVM_FFI_DLL int TVMFFISetCustomAllocator(TVMFFICustomAllocator* allocator);

/* ---- The calling convention ---------------------------------------------------------------- */

/* Function type of the packed calling convention.  A library exports its function `f` as the C
 * symbol `__tvm_ffi_f` of this type.
 *
 * handle     closure of the callee; NULL for exported symbols.
 * args       num_args views, borrowed until the call returns.  To keep a view, the callee
 *            converts it with TVMFFIAnyViewToOwnedAny.
 * num_args   number of arguments, >= 0.
 * result     not NULL; on entry result->type_index < 64, normally None.  On success the callee has
 *            written all 16 bytes of an owned value; on failure *result is unchanged.
 * Returns:   0; -1 with an Error in the thread's error slot; -2 if the host language (Python)
 *            already has a pending exception.  C++ exceptions must not leave the function. */
typedef int (*TVMFFISafeCallType)(void* handle, const TVMFFIAny* args, int32_t num_args,
                                  TVMFFIAny* result);

/* [TVMFFIFunctionCell.begin] */
/* Cell (fields after the object header) of a Function: safe_call at offset 0, cpp_call at offset 8;
 * 16 bytes. */
typedef struct TVMFFIFunctionCell {
  TVMFFISafeCallType safe_call; /* never NULL; its handle argument is the function object */
  void* cpp_call; /* NULL, or a C++ function void(const FunctionObj*, const AnyView*, int32_t,
                   * Any*); the function may throw tvm::ffi::Error */
} TVMFFIFunctionCell;
/* [TVMFFIFunctionCell.end] */

/* ---- Functions and the global table --------------------------------------------------------- */

/* Create a Function from a C function and a closure.
 *
 * self        passed to safe_call as handle; consumed on success.  If self and deleter are both
 *             NULL, safe_call receives the handle of the Function instead.
 * safe_call   not NULL; must stay mapped while the Function exists.
 * deleter     deleter(self) is called once, when the last strong reference is released; may be
 *             NULL.
 * out         receives an owned Function.
 * Fails: out of memory.     Threads: any. */
TVM_FFI_DLL int TVMFFIFunctionCreate(void* self, TVMFFISafeCallType safe_call,
                                     void (*deleter)(void* self), TVMFFIObjectHandle* out);

/* Call a Function: calls TVMFFIFunctionCell.safe_call of the Function with the Function as handle.
 *
 * func               a Function; not NULL.
 * args, num_args     views, borrowed until the call returns.
 * result             None on entry; receives an owned value.
 * Fails: with the error of the called function.     Threads: depends on the function. */
TVM_FFI_DLL int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny* args, int32_t num_args,
                                   TVMFFIAny* result);

/* Look up a global function by name.
 *
 * name     borrowed until the call returns.
 * out      receives an owned Function, or NULL if the name is not registered.  The call succeeds
 *          in both cases.
 * Fails: out of memory.     Threads: any, after registration. */
TVM_FFI_DLL int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out);

/* Register a global function.  TVMFFIFunctionSetGlobalFromMethodInfo also stores documentation and
 * metadata.
 *
 * name             copied.
 * f                a Function; retained by the table of global functions.
 * allow_override   non-zero: replace an existing function of that name.
 * Fails: RuntimeError if the name is taken and allow_override is 0.  Threads: registration. */
TVM_FFI_DLL int TVMFFIFunctionSetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle f,
                                        int allow_override);

/* ---- Errors --------------------------------------------------------------------------------
 *
 * Each thread has one error slot.  To raise an error, a function fills the slot and returns -1.  A
 * caller that receives -1 either takes the Error out of the slot to handle it, or returns -1 itself
 * and leaves the Error there. */

/* Modes of TVMFFIErrorCell.update_backtrace. */
typedef enum TVMFFIBacktraceUpdateMode TVM_FFI_ENUM_BASE_ {
  kTVMFFIBacktraceUpdateModeReplace = 0, /* the text replaces the backtrace */
  kTVMFFIBacktraceUpdateModeAppend = 1,  /* the text is appended to the backtrace */
} TVMFFIBacktraceUpdateMode;

/* [TVMFFIErrorCell.begin] */
/* Cell (fields after the object header) of an Error.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       16     kind                  48      8      update_backtrace
 *   16      16     message               56      8      cause_chain
 *   32      16     backtrace             64      8      extra_context
 *
 * A backtrace has one line per stack frame, most recent call first:
 * two spaces, `File "PATH", line N, in FUNC`, newline. */
typedef struct TVMFFIErrorCell {
  TVMFFIByteArray kind;      /* any string, e.g. "ValueError".  "EnvErrorAlreadySet" means that
                              * the host language has a pending exception; callers pass this Error
                              * on unchanged */
  TVMFFIByteArray message;   /* message without the kind */
  TVMFFIByteArray backtrace; /* one line per stack frame in the format above; may be empty */
  /* Replaces or extends the backtrace field.  The text is borrowed until the call returns;
   * update_mode is a TVMFFIBacktraceUpdateMode.  Must not run while another thread reads the error.
   */
  void (*update_backtrace)(TVMFFIObjectHandle self, const TVMFFIByteArray* backtrace,
                           int32_t update_mode);
  TVMFFIObjectHandle cause_chain;   /* Error that caused this Error, owned; or NULL */
  TVMFFIObjectHandle extra_context; /* object of any type, owned; or NULL */
} TVMFFIErrorCell;
/* [TVMFFIErrorCell.end] */

/* Take the pending error of the calling thread; the error slot of the thread is empty afterwards.
 *
 * result   receives an owned Error, or NULL if no error is pending.
 * Fails: never.     Threads: any; accesses only the slot of the calling thread. */
TVM_FFI_DLL void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result);

/* Make `error` the pending error of the calling thread.  A previous pending error is released.
 *
 * error    an Error; retained by the error slot.
 * Fails: never.     Threads: any; accesses only the slot of the calling thread. */
TVM_FFI_DLL void TVMFFIErrorSetRaised(TVMFFIObjectHandle error);

/* Raise a new error with a backtrace of the calling thread's native stack.
 *
 * kind, message   NUL-terminated, copied; kind is not NULL.
 * Fails: aborts the process if kind is NULL.
 * Threads: any; accesses only the slot of the calling thread. */
TVM_FFI_DLL void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);

/* Same as TVMFFIErrorSetRaisedFromCStr, but with a message in parts, so that generated code can
 * share constant parts between messages.
 *
 * kind                       NUL-terminated, copied; not NULL.
 * message_parts, num_parts   NUL-terminated strings, joined without separator; NULL strings are
 *                            skipped.
 * Fails: aborts the process if kind is NULL.
 * Threads: any; accesses only the slot of the calling thread. */
TVM_FFI_DLL void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** message_parts,
                                                   int32_t num_parts);

/* Create an Error without raising it.
 *
 * kind, message, backtrace   copied; backtrace lines as in TVMFFIErrorCell.
 * out                        receives an owned Error.
 * Fails: -1 WITHOUT an Error in the thread's error slot if memory is exhausted; otherwise fatal.
 * Threads: any. */
TVM_FFI_DLL int TVMFFIErrorCreate(const TVMFFIByteArray* kind, const TVMFFIByteArray* message,
                                  const TVMFFIByteArray* backtrace, TVMFFIObjectHandle* out);

/* Same as TVMFFIErrorCreate, but with a cause and a context.
 *
 * kind, message, backtrace   copied; backtrace lines as in TVMFFIErrorCell.
 * cause_chain                an Error or NULL; retained.
 * extra_context              an object of any type or NULL; retained.
 * out                        receives an owned Error.
 * Fails, Threads: as TVMFFIErrorCreate. */
TVM_FFI_DLL int TVMFFIErrorCreateWithCauseAndExtraContext(
    const TVMFFIByteArray* kind, const TVMFFIByteArray* message, const TVMFFIByteArray* backtrace,
    TVMFFIObjectHandle cause_chain, TVMFFIObjectHandle extra_context, TVMFFIObjectHandle* out);

/* Format the calling thread's native stack as in TVMFFIErrorCell.backtrace.
 *
 * filename, lineno, func   stack frame of the caller, printed first; filename and func may be NULL.
 * cross_ffi_boundary       0: stop at the first frame of an FFI call; non-zero: include all frames.
 * Returns: borrowed until the next call on this thread; never NULL.
 * Fails: never; an unreadable stack gives fewer lines.     Threads: any. */
TVM_FFI_DLL const TVMFFIByteArray* TVMFFIBacktrace(const char* filename, int lineno,
                                                   const char* func, int cross_ffi_boundary);

/* ---- Strings, bytes, integers, data types --------------------------------------------------- */

/* Create a string value: a SmallStr for at most 7 bytes, else a new Str object.
 *
 * input    copied.
 * out      receives an owned value.
 * Fails: out of memory.     Threads: any. */
TVM_FFI_DLL int TVMFFIStringFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);

/* Create a bytes value: a SmallBytes for at most 7 bytes, else a new Bytes object.
 *
 * Parameters, Fails, Threads: as TVMFFIStringFromByteArray. */
TVM_FFI_DLL int TVMFFIBytesFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);

/* Create an integer of any width: an Int if the value fits 64 bits, else a new BigInt object.
 *
 * input    64-bit little-endian words in two's complement, least significant first; copied.
 *          If there are no words, the value is 0.  Redundant sign words are dropped.
 * out      receives an owned value; *out is None after a failure.
 * Fails: ValueError if input->size is not a multiple of 8 bytes.     Threads: any. */
TVM_FFI_DLL int TVMFFIBigIntFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);

/* Return the words of an Int or BigInt in the format of TVMFFIBigIntFromByteArray.  The size is a
 * multiple of 8 bytes, at least 8.
 *
 * value    an Int or BigInt.
 * Returns: borrowed until *value is changed or the object dies; for an Int the data pointer points
 *          into *value.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny* value);

/* Parse the name of a data type: `float32`, `int8x4`, `float4_e2m1fnx2`, `bool`, `void`, ...
 *
 * str      borrowed until the call returns.
 * out      receives the data type, 4 bytes.
 * Fails: ValueError if the string is not the name of a data type.     Threads: any. */
TVM_FFI_DLL int TVMFFIDataTypeFromString(const TVMFFIByteArray* str, DLDataType* out);

/* Format a data type as a name that TVMFFIDataTypeFromString parses.
 *
 * dtype    borrowed until the call returns.
 * out      receives an owned SmallStr or Str.
 * Fails: ValueError for a code without a name.     Threads: any. */
TVM_FFI_DLL int TVMFFIDataTypeToString(const DLDataType* dtype, TVMFFIAny* out);

/* ---- Tensors -------------------------------------------------------------------------------- */

/* Import a DLPack 0.x tensor as a Tensor object without copying the elements.
 *
 * from                 consumed on success; still owned by the caller on failure.
 * require_alignment    required alignment of the first element in bytes; 0: not checked.
 * require_contiguous   non-zero: require a compact row-major layout.
 * out                  receives an owned Tensor; if `from` has no strides and ndim > 0, the Tensor
 *                      has compact row-major strides.
 * Fails: RuntimeError if a requirement is not met.     Threads: any. */
TVM_FFI_DLL int TVMFFITensorFromDLPack(DLManagedTensor* from, int32_t require_alignment,
                                       int32_t require_contiguous, TVMFFIObjectHandle* out);

/* Export a Tensor as a DLPack 0.x tensor.
 *
 * from     a Tensor; retained until the deleter of *out is called.
 * out      receives a new owned struct, which the caller releases with (*out)->deleter; pointers in
 *          the struct point into the Tensor.
 * Fails: out of memory.     Threads: any. */
TVM_FFI_DLL int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor** out);

/* Same as TVMFFITensorFromDLPack, but for DLPack 1.x.  `from->version` is not checked.
 *
 * Parameters: as TVMFFITensorFromDLPack.
 * Fails: RuntimeError if a requirement is not met, or if
 *        DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED is set.     Threads: any. */
TVM_FFI_DLL int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned* from,
                                                int32_t require_alignment,
                                                int32_t require_contiguous,
                                                TVMFFIObjectHandle* out);

/* Same as TVMFFITensorToDLPack, but for DLPack 1.x: *out has version 1.3 and flags 0.
 *
 * Parameters, Fails, Threads: as TVMFFITensorToDLPack. */
TVM_FFI_DLL int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from,
                                              DLManagedTensorVersioned** out);

/* Create a Tensor that is a view of another Tensor's memory.  "Unsafe": the function does not check
 * that the elements of `prototype` are inside that memory.
 *
 * source      Tensor that owns the memory; retained while the view exists.
 * prototype   description of the view; shape and strides are copied; strides must not be NULL.
 * out         receives an owned Tensor.
 * Fails: InternalError if strides are NULL.     Threads: any. */
TVM_FFI_DLL int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor* prototype,
                                             TVMFFIObjectHandle* out);

/* ---- Types and reflection -------------------------------------------------------------------- */

/* Read a field.  `field` is the address of the member: handle + TVMFFIFieldInfo.offset.  *result
 * receives an owned value.  Returns 0 or -1. */
typedef int (*TVMFFIFieldGetter)(void* field, TVMFFIAny* result);

/* Write a field.  `value` is borrowed until the call returns.  Returns 0 or -1. */
typedef int (*TVMFFIFieldSetter)(void* field, const TVMFFIAny* value);

/* Create an object whose fields have their C++ defaults; *result receives an owned object.  Returns
 * 0 or -1. */
typedef int (*TVMFFIObjectCreator)(TVMFFIObjectHandle* result);

/* Bits of TVMFFIFieldInfo.flags and TVMFFIMethodInfo.flags; other bits are 0. */
typedef enum TVMFFIFieldFlagBitMask TVM_FFI_ENUM_BASE_ {
  kTVMFFIFieldFlagBitMaskWritable = 1 << 0,   /* field is writable: users may call the setter */
  kTVMFFIFieldFlagBitMaskHasDefault = 1 << 1, /* default_value_or_factory contains the default */
  kTVMFFIFieldFlagBitMaskIsStaticMethod = 1 << 2, /* method is static: it has no self argument */
  kTVMFFIFieldFlagBitMaskSEqHashIgnore = 1 << 3, /* structural equality and hash ignore the field */
  kTVMFFIFieldFlagBitMaskSEqHashDefPattern = 1 << 4,  /* kTVMFFIDefRegionKindPattern holds for the
                                                       * variables in the field */
  kTVMFFIFieldFlagBitMaskDefaultFromFactory = 1 << 5, /* default_value_or_factory is a Function
                                                       * without parameters, called for each
                                                       * object */
  kTVMFFIFieldFlagBitMaskReprOff = 1 << 6,    /* field is omitted when the object is printed */
  kTVMFFIFieldFlagBitMaskCompareOff = 1 << 7, /* field is ignored by comparison by content */
  kTVMFFIFieldFlagBitMaskHashOff = 1 << 8,    /* field is ignored by the hash of the content */
  kTVMFFIFieldFlagBitMaskInitOff = 1 << 9,    /* field is not a parameter of __init__ */
  kTVMFFIFieldFlagBitMaskKwOnly = 1 << 10,    /* field is a keyword-only parameter of __init__ */
  kTVMFFIFieldFlagBitSetterIsFunctionObj = 1 << 11,  /* setter is a Function handle; its
                                                      * arguments are (OpaquePtr field, value) */
  kTVMFFIFieldFlagBitMaskSEqHashDefSimple = 1 << 12, /* kTVMFFIDefRegionKindSimple holds for the
                                                      * variables in the field */
} TVMFFIFieldFlagBitMask;

/* Treatment of a type by structural equality and hash. */
typedef enum TVMFFISEqHashKind TVM_FFI_ENUM_BASE_ {
  kTVMFFISEqHashKindUnsupported = 0,    /* structural comparison or hash of the type is an error */
  kTVMFFISEqHashKindTreeNode = 1,       /* compare only the content, not which nodes are shared */
  kTVMFFISEqHashKindFreeVar = 2,        /* a variable: equal to the variable that is defined at the
                                         * same position; equal only to itself if undefined */
  kTVMFFISEqHashKindDAGNode = 3,        /* compare the content, and which nodes are shared */
  kTVMFFISEqHashKindConstTreeNode = 4,  /* same as TreeNode, for types without variables: objects
                                         * with equal addresses need no comparison */
  kTVMFFISEqHashKindUniqueInstance = 5, /* each object is equal only to itself */
} TVMFFISEqHashKind;

/* Role of the variables in a field for structural equality and hash: definitions or uses.  The
 * definition region is the part of the object graph that the field reaches. */
typedef enum TVMFFIDefRegionKind TVM_FFI_ENUM_BASE_ {
  kTVMFFIDefRegionKindNone = 0,    /* every variable in the field is a use */
  kTVMFFIDefRegionKindPattern = 1, /* every variable in the field, at any depth, is a definition */
  kTVMFFIDefRegionKindSimple = 2,  /* variables are definitions; variables inside them are uses */
} TVMFFIDefRegionKind;

/* One field of an object type.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       16     name                  72      8      offset
 *   16      16     doc                   80      8      getter
 *   32      16     metadata              88      8      setter
 *   48      8      flags                 96      16     default_value_or_factory
 *   56      8      size                  112     4      field_static_type_index
 *   64      8      alignment             (120 bytes in total) */
typedef struct TVMFFIFieldInfo {
  TVMFFIByteArray name;     /* name of the field, unique within the type */
  TVMFFIByteArray doc;      /* documentation of the field; may be empty */
  TVMFFIByteArray metadata; /* JSON object, e.g. with the key type_schema; may be empty */
  int64_t flags;            /* bits of TVMFFIFieldFlagBitMask */
  int64_t size;             /* size of the C++ member in bytes */
  int64_t alignment;        /* alignment of the C++ member in bytes */
  int64_t offset;           /* bytes from the object header to the C++ member */
  TVMFFIFieldGetter getter; /* function that reads the field; not NULL */
  void* setter;             /* TVMFFIFieldSetter, or a Function handle (see flags); NULL: the
                             * field is read-only */
  TVMFFIAny default_value_or_factory; /* default value, or a Function that creates it; owned; None
                                       * if the flag HasDefault is not set */
  int32_t field_static_type_index;    /* type index below 128 of every value of the field, or
                                       * kTVMFFIAny */
} TVMFFIFieldInfo;

/* One method of an object type, or one global function.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       16     name                  48      8      flags
 *   16      16     doc                   56      16     method
 *   32      16     metadata              (72 bytes in total) */
typedef struct TVMFFIMethodInfo {
  TVMFFIByteArray name;     /* name of a method, unique within the type, or of a global
                             * function */
  TVMFFIByteArray doc;      /* documentation of the method; may be empty */
  TVMFFIByteArray metadata; /* JSON object, e.g. with the key type_schema; may be empty */
  int64_t flags;            /* bits of TVMFFIFieldFlagBitMask; only IsStaticMethod is used */
  TVMFFIAny method;         /* a Function; its first argument is the object unless the method is
                             * static */
} TVMFFIMethodInfo;

/* Metadata of a type: doc at offset 0, creator at offset 16, total_size at offset 24,
 * structural_eq_hash_kind at offset 28; 32 bytes. */
typedef struct TVMFFITypeMetadata {
  TVMFFIByteArray doc;         /* documentation of the type; may be empty */
  TVMFFIObjectCreator creator; /* function that creates an object without arguments; NULL if such
                                * objects cannot be created */
  int32_t total_size;          /* size of the C++ object in bytes, with vtable pointer and header */
#ifdef __cplusplus
  TVMFFISEqHashKind structural_eq_hash_kind; /* 32 bits */
#else
  int32_t structural_eq_hash_kind; /* TVMFFISEqHashKind */
#endif
} TVMFFITypeMetadata;

/* Attribute column: the values of one named attribute for all types.  data at offset 0, size at
 * offset 8, begin_index at offset 12; 16 bytes.  The value of the type with index t is
 * data[t - begin_index] if 0 <= t - begin_index < size, else None.  A type does not inherit the
 * values of its ancestors. */
typedef struct TVMFFITypeAttrColumn {
  const TVMFFIAny* data; /* owned values; replaced by a larger array when the column grows */
  int32_t size;          /* number of values in data */
  int32_t begin_index;   /* type index of data[0]; always 0 in practice */
} TVMFFITypeAttrColumn;

/* Registered description of a type.  Valid until the process ends, at the same address; the arrays
 * of fields and methods are replaced when more fields or methods are registered.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       4      type_index            40      4      num_fields
 *   4       4      type_depth            44      4      num_methods
 *   8       16     type_key              48      8      fields
 *   24      8      type_ancestors        56      8      methods
 *   32      8      type_key_hash         64      8      metadata
 *                                        (72 bytes in total) */
typedef struct TVMFFITypeInfo {
  int32_t type_index;       /* type index of this type */
  int32_t type_depth;       /* number of ancestors; 0 for ffi.Object and plain values */
  TVMFFIByteArray type_key; /* type key, e.g. "ffi.Array" */
  /* Descriptions of the type_depth ancestors, the most distant ancestor (ffi.Object) first. */
  const struct TVMFFITypeInfo** type_ancestors;
  uint64_t type_key_hash;             /* hash of type_key, computed like std::hash<std::string>
                                       * of libstdc++ */
  int32_t num_fields;                 /* number of fields, without fields of ancestors */
  int32_t num_methods;                /* number of methods, without methods of ancestors */
  const TVMFFIFieldInfo* fields;      /* num_fields fields in order of registration */
  const TVMFFIMethodInfo* methods;    /* num_methods methods in order of registration */
  const TVMFFITypeMetadata* metadata; /* NULL if no metadata is registered */
} TVMFFITypeInfo;

/* Look up a type index by type key.
 *
 * type_key     borrowed until the call returns.
 * out_tindex   receives the type index.
 * Fails: InternalError if the key is not registered.     Threads: any, after registration. */
TVM_FFI_DLL int TVMFFITypeKeyToIndex(const TVMFFIByteArray* type_key, int32_t* out_tindex);

/* Return the index of a type and register the type on first use.  If the key is registered already,
 * the other arguments are ignored.
 *
 * type_key                   copied.
 * static_type_index          an unused index below 128, or -1 to allocate an index.
 * type_depth                 type_depth of the parent type + 1.
 * num_child_slots            number of indices to reserve directly after the new index for
 *                            descendants, so that an instance test is a range check.
 * child_slots_can_overflow   0: all descendants must fit into the reserved indices; non-zero:
 *                            further descendants get other indices, but only if the value of the
 *                            parent is non-zero, too.
 * parent_type_index          index of the parent type, smaller than the new index; -1: no parent;
 *                            -2: only look up the key.
 * Returns: the index of the type; -2 if parent_type_index is -2 and the key is unknown.
 * Fails: fatal if the arguments contradict each other.     Threads: registration. */
TVM_FFI_DLL int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray* type_key,
                                              int32_t static_type_index, int32_t type_depth,
                                              int32_t num_child_slots,
                                              int32_t child_slots_can_overflow,
                                              int32_t parent_type_index);

/* Return the registered description of a type.
 *
 * type_index   the index of a registered type.
 * Returns: borrowed, valid until the process ends; never NULL.
 * Fails: fatal for an index that is not registered.     Threads: any, after registration. */
TVM_FFI_DLL const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t type_index) TVM_FFI_ATTRIBUTE_PURE;

/* Add a field to a type.
 *
 * type_index   the index of a registered type.
 * info         borrowed until the call returns.  Strings are copied.  A setter that is a Function
 *              is retained, and so is the default if the flag HasDefault is set.
 * Fails: InternalError if the type already has a field of that name.
 * Threads: registration. */
TVM_FFI_DLL int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo* info);

/* Add a method to a type.
 *
 * type_index   the index of a registered type.
 * info         borrowed until the call returns; strings are copied, the Function is retained.
 * Fails: InternalError if the type is not registered.     Threads: registration. */
TVM_FFI_DLL int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo* info);

/* Set the metadata of a type.
 *
 * type_index   the index of a registered type.
 * metadata     borrowed until the call returns; copied.
 * Fails: RuntimeError if the type already has metadata.     Threads: registration. */
TVM_FFI_DLL int TVMFFITypeRegisterMetadata(int32_t type_index, const TVMFFITypeMetadata* metadata);

/* Set the value of a type in an attribute column.
 *
 * type_index   index of a type, registered or not; kTVMFFINone: only create the column.
 * attr_name    copied.
 * attr_value   a view; the column stores it as an owned value, see TVMFFIAnyViewToOwnedAny.
 * Fails: RuntimeError if the type already has the attribute.     Threads: registration. */
TVM_FFI_DLL int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray* attr_name,
                                       const TVMFFIAny* attr_value);

/* Return the column of an attribute, or NULL if the column does not exist.
 *
 * attr_name   borrowed until the call returns.
 * Returns: borrowed, valid until the process ends; registration updates the column in place.
 * Fails: fatal.     Threads: any, after registration. */
TVM_FFI_DLL const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray* attr_name);

/* Register a global function with documentation and metadata.
 *
 * method_info      borrowed until the call returns; strings are copied, the Function is retained.
 * allow_override   non-zero: replace an existing function of that name.
 * Fails: RuntimeError, also printed to stderr, if the name is taken and allow_override is 0.
 * Threads: registration. */
TVM_FFI_DLL int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo* method_info,
                                                      int allow_override);

/* ---- One-time slots -------------------------------------------------------------------------- */

/* Initialize a global pointer slot exactly once, even if several threads call this function.
 *
 * handle_addr   the slot; NULL in it means "not initialized".
 * init_func     called if the slot is empty, while other threads that need the same slot wait.
 *               init_func either stores a pointer that is not NULL in *result and returns 0, or
 *               returns a non-zero code.  init_func may initialize other slots and load libraries.
 * Fails: RuntimeError if init_func succeeds with NULL; a non-zero code of init_func is returned
 *        unchanged and the slot stays empty.
 * Threads: any. */
TVM_FFI_DLL int TVMFFIHandleInitOnce(void** handle_addr, int (*init_func)(void** result));

/* Set a pointer slot of TVMFFIHandleInitOnce to NULL and pass the previous pointer to
 * deinit_func.
 *
 * handle_addr   the slot; set to NULL atomically.
 * deinit_func   called with the previous pointer unless that was NULL; the result of deinit_func is
 *               returned.
 * Fails: with the non-zero code of deinit_func.     Threads: any. */
TVM_FFI_DLL int TVMFFIHandleDeinitOnce(void** handle_addr, int (*deinit_func)(void* handle));

#ifdef __cplusplus
} /* extern "C" */
#endif

/* ---- Accessors -------------------------------------------------------------------------------
 *
 * Address arithmetic only: no check, no reference counting, not exported.  A handle must not be
 * NULL and must refer to an object of the type in the name; results are borrowed until the object
 * dies. */

#ifdef __cplusplus
#define TVM_FFI_ACCESSOR_ inline
#define TVM_FFI_CAST_(Type, value) static_cast<Type>(value)
#else
#define TVM_FFI_ACCESSOR_ static inline
#define TVM_FFI_CAST_(Type, value) ((Type)(value))
#endif
/* Address of the cell of an object: the C struct that follows the 24-byte header. */
#define TVM_FFI_CELL_(Cell, obj) \
  TVM_FFI_CAST_(Cell*, TVM_FFI_CAST_(void*, TVM_FFI_CAST_(TVMFFIObject*, obj) + 1))

/* Return the type index of an object. */
TVM_FFI_ACCESSOR_ int32_t TVMFFIObjectGetTypeIndex(TVMFFIObjectHandle obj) {
  return TVM_FFI_CAST_(const TVMFFIObject*, obj)->type_index;
}

/* Return the content of a SmallStr or SmallBytes; the data pointer points into *value. */
TVM_FFI_ACCESSOR_ TVMFFIByteArray TVMFFISmallBytesGetContentByteArray(const TVMFFIAny* value) {
  TVMFFIByteArray content;
  content.data = value->v_bytes;
  content.size = value->small_str_len;
  return content;
}

/* Return the cell (content after the object header) of a Str or Bytes. */
TVM_FFI_ACCESSOR_ TVMFFIByteArray* TVMFFIBytesGetByteArrayPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(TVMFFIByteArray, obj);
}

/* Return the cell (fields after the object header) of an Error. */
TVM_FFI_ACCESSOR_ TVMFFIErrorCell* TVMFFIErrorGetCellPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(TVMFFIErrorCell, obj);
}

/* Return the cell (fields after the object header) of a Function. */
TVM_FFI_ACCESSOR_ TVMFFIFunctionCell* TVMFFIFunctionGetCellPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(TVMFFIFunctionCell, obj);
}

/* Return the cell (field after the object header) of an OpaquePyObject. */
TVM_FFI_ACCESSOR_ TVMFFIOpaqueObjectCell* TVMFFIOpaqueObjectGetCellPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(TVMFFIOpaqueObjectCell, obj);
}

/* Return the cell (fields after the object header) of a Shape. */
TVM_FFI_ACCESSOR_ TVMFFIShapeCell* TVMFFIShapeGetCellPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(TVMFFIShapeCell, obj);
}

/* Return the DLTensor of a Tensor, which follows the object header. */
TVM_FFI_ACCESSOR_ DLTensor* TVMFFITensorGetDLTensorPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(DLTensor, obj);
}

/* Return a DLDevice from two integers.  C++ code needs this function because C++ has no implicit
 * conversion from int32_t to DLDeviceType. */
TVM_FFI_ACCESSOR_ DLDevice TVMFFIDLDeviceFromIntPair(int32_t device_type, int32_t device_id) {
  DLDevice device;
  device.device_type = TVM_FFI_CAST_(DLDeviceType, device_type);
  device.device_id = device_id;
  return device;
}

#undef TVM_FFI_CELL_
#undef TVM_FFI_CAST_
#undef TVM_FFI_ACCESSOR_
#undef TVM_FFI_ENUM_BASE_

#endif /* TVM_FFI_C_API_H_ */

/* SPDX-License-Identifier: Apache-2.0
 *
 * The TVM FFI C ABI: the values, objects and functions that compiled code of any language shares.
 *
 * This file is the definition: type indices, struct layouts and prototypes are frozen, and
 * tests/abi/layout_test.c pins every one of them.  It needs dlpack.h and nothing else, is valid
 * C11 and C++17, and may be included by anyone.  Functions are provided by libtvm_ffi.
 *
 * Documents quote the regions between [NAME.begin] and [NAME.end].
 *
 * Contents: build macros, version, type indices, Any, objects, byte arrays and cells, calls,
 * functions, errors, strings and numbers, tensors, types and reflection, one-time slots. */
#ifndef TVM_FFI_C_API_H_
#define TVM_FFI_C_API_H_

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(DLPACK_MAJOR_VERSION) || DLPACK_MAJOR_VERSION != 1
#error "tvm/ffi/c_api.h needs DLPack 1.x; another major of dlpack.h was included first"
#endif

/* ---- Build macros ------------------------------------------------------------------------- */

/* TVM_FFI_DLL marks what libtvm_ffi exports, TVM_FFI_DLL_EXPORT what a client library exports.
 * TVM_FFI_EXPORTS is defined while libtvm_ffi itself is built. */
#ifdef _MSC_VER
#define TVM_FFI_DLL_EXPORT __declspec(dllexport)
#ifdef TVM_FFI_EXPORTS
#define TVM_FFI_DLL __declspec(dllexport)
#else
#define TVM_FFI_DLL __declspec(dllimport)
#endif
#define TVM_FFI_WEAK __declspec(selectany)
#define TVM_FFI_ATTRIBUTE_PURE
#else
#define TVM_FFI_DLL_EXPORT __attribute__((visibility("default")))
#define TVM_FFI_DLL __attribute__((visibility("default")))
#define TVM_FFI_WEAK __attribute__((weak))
/* The result depends on the arguments alone: the compiler may merge equal calls. */
#define TVM_FFI_ATTRIBUTE_PURE __attribute__((pure))
#endif

/* Level of the contract these headers describe; compiled into clients, checked by nobody. */
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
 *             (see Errors).  Out-parameters are untouched on failure.
 * Ownership   handles and Anys passed in are borrowed until the call returns; what the callee
 *             keeps, it retains or copies itself.  "Owned" results carry one strong reference
 *             that the receiver releases with TVMFFIObjectDecRef.  Out-parameters are written
 *             without releasing what they held.
 * Bytes       byte arrays need no terminating NUL; data may be NULL when size is 0.
 * Fatal       means: cannot report an error; prints a message to stderr and ends the process
 *             with status 255.
 * Threads     "any": may be called from any thread at any time.  "Registration": meant for load
 *             time; readers on other threads hold raw pointers into the tables. */

/* ---- Version ------------------------------------------------------------------------------ */

/* Version of the loaded library; three numbers, 12 bytes. */
typedef struct TVMFFIVersion {
  uint32_t major; /* as TVM_FFI_VERSION_MAJOR */
  uint32_t minor; /* as TVM_FFI_VERSION_MINOR */
  uint32_t patch; /* as TVM_FFI_VERSION_PATCH */
} TVMFFIVersion;

/* Fill *out_version with the contract level of the loaded library.
 *
 * out_version   not NULL; all three numbers are written.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL void TVMFFIGetVersion(TVMFFIVersion* out_version);

/* ---- Type indices ------------------------------------------------------------------------- */

/* Tag of a value, and identity of an object's type.
 *
 *   -1         field annotation only
 *   0..63      plain values, stored in the Any itself, not reference counted
 *   64..78     built-in object types
 *   79..127    free for static object types
 *   128..      object types allocated while the process runs; look them up by type key
 *
 * A null object reference is None (0), never an index >= 64 with a NULL pointer.
 * Comments: type key; where the value is; "view" marks indices that only a borrowed Any may
 * hold.  ORDER type-index */
typedef enum TVMFFITypeIndex TVM_FFI_ENUM_BASE_ {
  kTVMFFIAny = -1,             /* any type; appears in field_static_type_index only */
  kTVMFFINone = 0,             /* "None"; payload 0 */
  kTVMFFIInt = 1,              /* "int"; v_int64 */
  kTVMFFIBool = 2,             /* "bool"; v_int64, 0 or 1 */
  kTVMFFIFloat = 3,            /* "float"; v_float64 */
  kTVMFFIOpaquePtr = 4,        /* "void*"; v_ptr, lifetime is the user's business */
  kTVMFFIDataType = 5,         /* "DataType"; v_dtype, upper 4 payload bytes 0 */
  kTVMFFIDevice = 6,           /* "Device"; v_device */
  kTVMFFIDLTensorPtr = 7,      /* "DLTensor*"; v_ptr, view */
  kTVMFFIRawStr = 8,           /* "const char*"; v_c_str, NUL-terminated, view */
  kTVMFFIByteArrayPtr = 9,     /* "TVMFFIByteArray*"; v_ptr, view */
  kTVMFFIObjectRValueRef = 10, /* "ObjectRValueRef"; v_ptr to an object pointer that the receiver
                                * may take, leaving NULL, view */
  kTVMFFISmallStr = 11,        /* "ffi.SmallStr"; v_bytes, small_str_len <= 7 */
  kTVMFFISmallBytes = 12,      /* "ffi.SmallBytes"; v_bytes, small_str_len <= 7 */
  kTVMFFIUnchanged = 13,       /* "ffi.Unchanged"; payload 0; result of mutation hooks */

  kTVMFFIStaticObjectBegin = 64, /* from here on v_obj holds a non-NULL object */
  kTVMFFIObject = 64,            /* "ffi.Object"; ancestor of every object type */
  kTVMFFIStr = 65,               /* "ffi.String"; byte array cell; any length, also <= 7 */
  kTVMFFIBytes = 66,             /* "ffi.Bytes"; byte array cell; any length, also <= 7 */
  kTVMFFIError = 67,             /* "ffi.Error"; TVMFFIErrorCell */
  kTVMFFIFunction = 68,          /* "ffi.Function"; TVMFFIFunctionCell */
  kTVMFFIShape = 69,             /* "ffi.Shape"; TVMFFIShapeCell */
  kTVMFFITensor = 70,            /* "ffi.Tensor"; DLTensor */
  kTVMFFIArray = 71,             /* "ffi.Array"; TVMFFISeqCell; immutable */
  kTVMFFIMap = 72,               /* "ffi.Map"; immutable */
  kTVMFFIModule = 73,            /* "ffi.Module" */
  kTVMFFIOpaquePyObject = 74,    /* "ffi.OpaquePyObject"; TVMFFIOpaqueObjectCell */
  kTVMFFIList = 75,              /* "ffi.List"; TVMFFISeqCell; mutable */
  kTVMFFIDict = 76,              /* "ffi.Dict"; mutable */
  kTVMFFIVisitInterrupt = 77,    /* "ffi.VisitInterrupt"; one Any */
  kTVMFFIBigInt = 78,            /* "ffi.BigInt"; never a value that fits 64 bits */
  kTVMFFIStaticObjectEnd = 79,   /* first index that no built-in type uses */

  kTVMFFIDynObjectBegin = 128, /* first index allocated at run time */
} TVMFFITypeIndex;

/* Reference to an object: address of its TVMFFIObject header.  Owned or borrowed by the role of
 * the variable that holds it. */
typedef void* TVMFFIObjectHandle;

/* ---- Objects ------------------------------------------------------------------------------ */

/* [TVMFFIObject.begin] */
/* Header in front of every reference-counted object.
 *
 *   offset  bytes  field
 *   0       8      combined_ref_count   bits 0..31 strong, bits 32..63 weak
 *   8       4      type_index
 *   12      4      __padding
 *   16      8      deleter
 *   24             the type's own fields: a cell, or a C++ class
 *
 * Counts start at one strong and one weak; all strong references together own that one weak
 * count.  Clients count inline with 64-bit atomics, so the protocol is part of the ABI:
 *
 *   1. strong +1: add STRONG_ONE, relaxed.   weak +1: add WEAK_ONE, relaxed.
 *   2. strong -1: old = subtract STRONG_ONE, release.
 *        old == INITIAL           acquire fence, deleter(self, Both); done.
 *        strong half of old == 1  acquire fence, deleter(self, Strong), then step 3.
 *   3. weak -1: old = subtract WEAK_ONE, release; if old == WEAK_ONE: acquire fence,
 *      deleter(self, Weak).
 *   4. weak to strong: compare-and-swap loop, acquire-release, that adds STRONG_ONE and gives up
 *      when the strong half is 0.
 *   5. unique, so that writing in place is allowed: the whole counter == INITIAL.
 *
 * A C++ class with virtual functions keeps its vtable pointer in front of the header; handles
 * and the deleter's argument are always the header's address. */
typedef struct TVMFFIObject {
  uint64_t combined_ref_count; /* accessed atomically only */
  int32_t type_index;          /* >= kTVMFFIStaticObjectBegin; never changes */
  uint32_t __padding;          /* 0 */
  union {
    /* Code of the library that allocated the object; flags is a TVMFFIObjectDeleterFlagBitMask.
     * Weak alone may arrive later, on another thread.  NULL: nothing to do. */
    void (*deleter)(void* self, int flags);
    int64_t __ensure_align; /* keeps the header at 24 bytes where pointers have 32 bits */
  };
} TVMFFIObject;
/* [TVMFFIObject.end] */

/* Units and start value of TVMFFIObject.combined_ref_count. */
#define TVM_FFI_REF_COUNT_STRONG_ONE UINT64_C(0x0000000000000001)
#define TVM_FFI_REF_COUNT_WEAK_ONE UINT64_C(0x0000000100000000)
#define TVM_FFI_REF_COUNT_INITIAL UINT64_C(0x0000000100000001)
#define TVM_FFI_REF_COUNT_STRONG_MASK UINT64_C(0x00000000FFFFFFFF)

/* What a deleter is asked to do. */
typedef enum TVMFFIObjectDeleterFlagBitMask TVM_FFI_ENUM_BASE_ {
  kTVMFFIObjectDeleterFlagBitMaskStrong = 1 << 0, /* destroy the content */
  kTVMFFIObjectDeleterFlagBitMaskWeak = 1 << 1,   /* release the memory */
  kTVMFFIObjectDeleterFlagBitMaskBoth = 3,        /* destroy, then release */
} TVMFFIObjectDeleterFlagBitMask;

/* Add one strong reference.
 *
 * obj      not NULL; the caller holds a reference already.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL int TVMFFIObjectIncRef(TVMFFIObjectHandle obj);

/* Give up one strong reference; the last one destroys the object before the call returns.
 *
 * obj      owned; consumed by the call.  NULL is allowed and ignored.
 * Fails: never.     Threads: any; the deleter runs on the calling thread. */
TVM_FFI_DLL int TVMFFIObjectDecRef(TVMFFIObjectHandle obj);

/* Wrap a foreign object, e.g. a Python one, into an object of the ABI.
 *
 * handle       ownership passes to the new object on success.
 * type_index   kTVMFFIOpaquePyObject.
 * deleter      deleter(handle) runs once, when the last strong reference goes; may be NULL.
 * out          receives an owned object.
 * Fails: RuntimeError for another type_index.     Threads: any. */
TVM_FFI_DLL int TVMFFIObjectCreateOpaque(void* handle, int32_t type_index,
                                         void (*deleter)(void* handle), TVMFFIObjectHandle* out);

/* ---- Any ---------------------------------------------------------------------------------- */

/* [TVMFFIAny.begin] */
/* The tagged value that crosses every call boundary; 16 bytes on all platforms.
 *
 *   offset  bytes  field
 *   0       4      type_index     selects the live payload member
 *   4       4      zero_padding   0, or small_str_len for indices 11 and 12
 *   8       8      payload        bytes the live member does not use are 0
 *
 * The zero rules let values be compared and hashed as 16 bytes without a look at the type (for
 * objects that means identity).  A view borrows what it points at; an owned Any holds one strong
 * reference when type_index >= 64.  The role of the variable says which it is. */
typedef struct TVMFFIAny {
  int32_t type_index; /* TVMFFITypeIndex or an index allocated at run time */
  union {
    uint32_t zero_padding;  /* 0 for every other index */
    uint32_t small_str_len; /* bytes of content in v_bytes, 0..7; indices 11 and 12 */
  };
  union {
    int64_t v_int64;     /* Int; Bool as 0 or 1 */
    double v_float64;    /* Float */
    void* v_ptr;         /* OpaquePtr, DLTensorPtr, ByteArrayPtr, ObjectRValueRef */
    const char* v_c_str; /* RawStr, NUL-terminated */
    TVMFFIObject* v_obj; /* every index >= 64; not NULL */
    DLDataType v_dtype;  /* DataType */
    DLDevice v_device;   /* Device */
    char v_bytes[8];     /* SmallStr, SmallBytes; at least one 0 byte follows the content */
    uint64_t v_uint64;   /* the payload as 64 bits, for hashing and comparison */
  };
} TVMFFIAny;
/* [TVMFFIAny.end] */

/* Make an owned value out of a view.
 *
 *   view holds            owned result
 *   index >= 64           the same object, one strong reference more
 *   RawStr                SmallStr or Str, content copied
 *   ByteArrayPtr          SmallBytes or Bytes, content copied
 *   ObjectRValueRef       the object, moved out of its slot; the slot becomes NULL
 *   anything else         the same 16 bytes; a DLTensor* stays borrowed
 *
 * any_view   borrowed until the call returns.
 * out        receives an owned value; all 16 bytes are written.
 * Fails: InternalError when an rvalue slot is empty already; out of memory.     Threads: any. */
TVM_FFI_DLL int TVMFFIAnyViewToOwnedAny(const TVMFFIAny* any_view, TVMFFIAny* out);

/* ---- Byte arrays and cells ----------------------------------------------------------------- */

/* A run of bytes: data 0, size 8; 16 bytes.  As an argument it is a view; as the cell of a Str or
 * Bytes object it owns its content, and data[size] is 0 for objects libtvm_ffi made. */
typedef struct TVMFFIByteArray {
  const char* data; /* may be NULL when size is 0 */
  size_t size;      /* bytes */
} TVMFFIByteArray;

/* Cell of a Shape: data 0, size 8; 16 bytes. */
typedef struct TVMFFIShapeCell {
  const int64_t* data; /* extents, each >= 0 */
  size_t size;         /* number of extents */
} TVMFFIShapeCell;

/* Cell of Array and List.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       8      data                  16      8      capacity
 *   8       8      size                  24      8      data_deleter
 *
 * An Array stores its elements right behind the cell and has no data_deleter.  A List must have
 * one that accepts NULL and frees with C++ operator delete: clients grow lists inline into memory
 * from operator new and keep the deleter. */
typedef struct TVMFFISeqCell {
  void* data;                  /* size initialized TVMFFIAny, owned; NULL if capacity is 0 */
  int64_t size;                /* elements, 0..capacity */
  int64_t capacity;            /* elements that fit */
  void (*data_deleter)(void*); /* releases data after the elements are destroyed; may be NULL
                                * for Array only */
} TVMFFISeqCell;

/* Cell of an opaque object: handle 0; 8 bytes. */
typedef struct TVMFFIOpaqueObjectCell {
  void* handle; /* the foreign object; owned, borrowed by readers while the object lives */
} TVMFFIOpaqueObjectCell;

/* ---- Custom allocator ---------------------------------------------------------------------- */

/* The 8 bytes in front of memory that came from a TVMFFICustomAllocator. */
typedef struct TVMFFIObjectAllocHeader {
  void (*delete_space)(void* ptr); /* releases the memory; gets the address `allocate` returned */
} TVMFFIObjectAllocHeader;

/* Source of memory for objects: allocate 0, context 8; 16 bytes. */
typedef struct TVMFFICustomAllocator {
  /* Returns `size` bytes aligned to `alignment` with a TVMFFIObjectAllocHeader in the 8 bytes in
   * front, or NULL.  type_index tells which type will live there.  Called on any thread. */
  void* (*allocate)(size_t size, size_t alignment, int32_t type_index, void* context);
  void* context; /* last argument of every call; may be NULL */
} TVMFFICustomAllocator;

/* Return the allocator registered for languages that create objects; libtvm_ffi itself and the
 * C++ headers do not use it.
 *
 * Returns: borrowed until the next TVMFFISetCustomAllocator; never NULL.
 * Fails: fatal.     Threads: any. */
TVM_FFI_DLL TVMFFICustomAllocator* TVMFFIGetCustomAllocator(void);

/* Replace that allocator; NULL restores the default.
 *
 * allocator   kept, not copied: must stay valid until replaced.
 * Fails: never.     Threads: registration. */
TVM_FFI_DLL int TVMFFISetCustomAllocator(TVMFFICustomAllocator* allocator);

/* ---- The calling convention ---------------------------------------------------------------- */

/* A packed call.  Libraries export a function `f` as the C symbol `__tvm_ffi_f` of this type.
 *
 * handle     closure of the callee; NULL for exported symbols.
 * args       num_args views, borrowed until the call returns.  What the callee keeps it converts
 *            with TVMFFIAnyViewToOwnedAny.
 * num_args   number of arguments, >= 0.
 * result     not NULL; holds an index < 64, normally None, on entry.  On success the callee has
 *            written an owned value, all 16 bytes; on failure it leaves *result alone.
 * Returns:   0; -1 with the thread's error slot filled; -2 when the host language (Python) has an
 *            exception pending already.  C++ exceptions must not leave the function. */
typedef int (*TVMFFISafeCallType)(void* handle, const TVMFFIAny* args, int32_t num_args,
                                  TVMFFIAny* result);

/* [TVMFFIFunctionCell.begin] */
/* Cell of a Function: safe_call 0, cpp_call 8; 16 bytes. */
typedef struct TVMFFIFunctionCell {
  TVMFFISafeCallType safe_call; /* never NULL; handle = the function object */
  void* cpp_call; /* NULL, or void(const FunctionObj*, const AnyView*, int32_t, Any*), which may
                   * throw tvm::ffi::Error; callable from C++ only */
} TVMFFIFunctionCell;
/* [TVMFFIFunctionCell.end] */

/* ---- Functions and the global table --------------------------------------------------------- */

/* Make a Function out of a C function and its closure.
 *
 * self        passed to safe_call as handle; owned by the new Function on success.  When self
 *             and deleter are both NULL, safe_call receives the function handle instead.
 * safe_call   not NULL; must stay mapped while the Function lives.
 * deleter     deleter(self) runs once, when the last strong reference goes; may be NULL.
 * out         receives an owned Function.
 * Fails: out of memory.     Threads: any. */
TVM_FFI_DLL int TVMFFIFunctionCreate(void* self, TVMFFISafeCallType safe_call,
                                     void (*deleter)(void* self), TVMFFIObjectHandle* out);

/* Call a Function: its safe_call with the function as handle, and nothing else.
 *
 * func               a Function; not NULL.
 * args, num_args     views, borrowed until the call returns.
 * result             None on entry; receives an owned value.
 * Fails: as the function does.     Threads: any that the function allows. */
TVM_FFI_DLL int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny* args, int32_t num_args,
                                   TVMFFIAny* result);

/* Look a global function up by name.
 *
 * name     borrowed until the call returns.
 * out      receives an owned Function, or NULL when the name is not registered: an answer, not
 *          an error.
 * Fails: out of memory.     Threads: any, once registration is over. */
TVM_FFI_DLL int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out);

/* Register a global function.  TVMFFIFunctionSetGlobalFromMethodInfo, below, also takes its
 * documentation and metadata.
 *
 * name             copied.
 * f                a Function; the table retains it.
 * allow_override   non-zero: replace an existing entry.
 * Fails: RuntimeError when the name is taken and allow_override is 0.  Threads: registration. */
TVM_FFI_DLL int TVMFFIFunctionSetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle f,
                                        int allow_override);

/* ---- Errors --------------------------------------------------------------------------------
 *
 * Each thread has one error slot.  Raising: fill the slot, return -1.  Handling: a caller that
 * sees -1 takes the Error out of the slot, or returns -1 itself and leaves it there. */

/* What update_backtrace does with the text it gets. */
typedef enum TVMFFIBacktraceUpdateMode TVM_FFI_ENUM_BASE_ {
  kTVMFFIBacktraceUpdateModeReplace = 0, /* the text becomes the backtrace */
  kTVMFFIBacktraceUpdateModeAppend = 1,  /* the text goes behind the present one */
} TVMFFIBacktraceUpdateMode;

/* [TVMFFIErrorCell.begin] */
/* Cell of an Error.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       16     kind                  48      8      update_backtrace
 *   16      16     message               56      8      cause_chain
 *   32      16     backtrace             64      8      extra_context
 *
 * A backtrace has one line per frame, most recent call first:
 * two spaces, `File "PATH", line N, in FUNC`, newline. */
typedef struct TVMFFIErrorCell {
  TVMFFIByteArray kind;      /* e.g. "ValueError"; free text.  "EnvErrorAlreadySet": the host
                              * language holds the exception; pass it through untouched */
  TVMFFIByteArray message;   /* without the kind */
  TVMFFIByteArray backtrace; /* lines as above; may be empty */
  /* Changes backtrace; text borrowed until it returns; update_mode is a
   * TVMFFIBacktraceUpdateMode.  Only while no other thread reads the error. */
  void (*update_backtrace)(TVMFFIObjectHandle self, const TVMFFIByteArray* backtrace,
                           int32_t update_mode);
  TVMFFIObjectHandle cause_chain;   /* owned Error that led to this one, or NULL */
  TVMFFIObjectHandle extra_context; /* owned object of any type, or NULL */
} TVMFFIErrorCell;
/* [TVMFFIErrorCell.end] */

/* Take the error pending on the calling thread; the slot is empty afterwards.
 *
 * result   receives an owned Error, or NULL when none is pending.
 * Fails: never.     Threads: any; sees only its own slot. */
TVM_FFI_DLL void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result);

/* Make `error` the pending error of the calling thread, replacing another one.
 *
 * error    an Error; the slot takes its own reference, the caller keeps its own.
 * Fails: never.     Threads: any; sees only its own slot. */
TVM_FFI_DLL void TVMFFIErrorSetRaised(TVMFFIObjectHandle error);

/* Raise a new error with a backtrace of the calling thread's native stack.
 *
 * kind, message   NUL-terminated, copied; kind is not NULL.
 * Fails: a NULL kind ends the process.     Threads: any; sees only its own slot. */
TVM_FFI_DLL void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);

/* The same with a message in parts, so that generated code can share its constant pieces.
 *
 * kind                       NUL-terminated, copied; not NULL.
 * message_parts, num_parts   NUL-terminated texts, joined without separator; NULL ones skipped.
 * Fails: a NULL kind ends the process.     Threads: any; sees only its own slot. */
TVM_FFI_DLL void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** message_parts,
                                                   int32_t num_parts);

/* Make an Error without raising it.
 *
 * kind, message, backtrace   copied; backtrace lines as in TVMFFIErrorCell.
 * out                        receives an owned Error.
 * Fails: -1 when memory is exhausted, WITHOUT filling the error slot; anything else is fatal.
 * Threads: any. */
TVM_FFI_DLL int TVMFFIErrorCreate(const TVMFFIByteArray* kind, const TVMFFIByteArray* message,
                                  const TVMFFIByteArray* backtrace, TVMFFIObjectHandle* out);

/* The same with a cause and a context, each of which may be NULL and is retained.
 *
 * kind, message, backtrace   copied; backtrace lines as in TVMFFIErrorCell.
 * cause_chain                an Error.
 * extra_context              any object.
 * out                        receives an owned Error.
 * Fails, Threads: as TVMFFIErrorCreate. */
TVM_FFI_DLL int TVMFFIErrorCreateWithCauseAndExtraContext(
    const TVMFFIByteArray* kind, const TVMFFIByteArray* message, const TVMFFIByteArray* backtrace,
    TVMFFIObjectHandle cause_chain, TVMFFIObjectHandle extra_context, TVMFFIObjectHandle* out);

/* Describe the calling thread's native stack, in the form of TVMFFIErrorCell.backtrace.
 *
 * filename, lineno, func   frame of the caller, printed first; filename and func may be NULL.
 * cross_ffi_boundary       0: stop at the first frame of an FFI call; else walk on.
 * Returns: borrowed until the next call on this thread; never NULL.
 * Fails: never; an unreadable stack gives fewer lines.     Threads: any. */
TVM_FFI_DLL const TVMFFIByteArray* TVMFFIBacktrace(const char* filename, int lineno,
                                                   const char* func, int cross_ffi_boundary);

/* ---- Strings, bytes, integers, data types --------------------------------------------------- */

/* Make a string value: SmallStr up to 7 bytes, else a new Str object.
 *
 * input    copied.
 * out      receives an owned value.
 * Fails: out of memory.     Threads: any. */
TVM_FFI_DLL int TVMFFIStringFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);

/* Make a bytes value: SmallBytes up to 7 bytes, else a new Bytes object.
 *
 * Parameters, Fails, Threads: as TVMFFIStringFromByteArray. */
TVM_FFI_DLL int TVMFFIBytesFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);

/* Make an integer of any width: Int when the value fits 64 bits, else a new BigInt object.
 *
 * input    64-bit little-endian words, least significant first, two's complement; copied.  No
 *          words mean 0; redundant sign words are dropped.
 * out      receives an owned value; it is None after a failure.
 * Fails: ValueError when input->size is not a multiple of 8 bytes.     Threads: any. */
TVM_FFI_DLL int TVMFFIBigIntFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);

/* Lend the words of an Int or BigInt, in the format of TVMFFIBigIntFromByteArray; size is a
 * multiple of 8 bytes, at least 8.
 *
 * value    an Int or BigInt.
 * Returns: borrowed until *value is changed or the object dies; for an Int it points into *value.
 * Fails: never.     Threads: any. */
TVM_FFI_DLL TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny* value);

/* Parse the text of a data type: `float32`, `int8x4`, `float4_e2m1fnx2`, `bool`, `void`, ...
 *
 * str      borrowed until the call returns.
 * out      receives the data type, 4 bytes.
 * Fails: ValueError when the text is not the name of a type.     Threads: any. */
TVM_FFI_DLL int TVMFFIDataTypeFromString(const TVMFFIByteArray* str, DLDataType* out);

/* Print a data type in the form TVMFFIDataTypeFromString reads.
 *
 * dtype    borrowed until the call returns.
 * out      receives an owned SmallStr or Str.
 * Fails: ValueError for a code that has no name.     Threads: any. */
TVM_FFI_DLL int TVMFFIDataTypeToString(const DLDataType* dtype, TVMFFIAny* out);

/* ---- Tensors -------------------------------------------------------------------------------- */

/* Take a DLPack tensor into a Tensor object; no element is copied.
 *
 * from                 ownership passes on success and stays with the caller on failure.
 * require_alignment    bytes the first element must be aligned to; 0: do not check.
 * require_contiguous   non-zero: refuse anything but compact row-major.
 * out                  receives an owned Tensor; missing strides are filled in when ndim > 0.
 * Fails: RuntimeError when a requirement is not met.     Threads: any. */
TVM_FFI_DLL int TVMFFITensorFromDLPack(DLManagedTensor* from, int32_t require_alignment,
                                       int32_t require_contiguous, TVMFFIObjectHandle* out);

/* Lend a Tensor through DLPack 0.x.
 *
 * from     a Tensor; retained until the deleter of *out runs.
 * out      receives a new struct owned by the caller, who calls its deleter; pointers in it
 *          point into the Tensor.
 * Fails: out of memory.     Threads: any. */
TVM_FFI_DLL int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor** out);

/* As TVMFFITensorFromDLPack, for DLPack 1.x; `from->version` is not checked.
 *
 * Parameters: as TVMFFITensorFromDLPack.
 * Fails: RuntimeError when a requirement is not met, or when
 *        DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED is set.     Threads: any. */
TVM_FFI_DLL int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned* from,
                                                int32_t require_alignment,
                                                int32_t require_contiguous,
                                                TVMFFIObjectHandle* out);

/* As TVMFFITensorToDLPack, for DLPack 1.x: version 1.3, flags 0.
 *
 * Parameters, Fails, Threads: as TVMFFITensorToDLPack. */
TVM_FFI_DLL int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from,
                                              DLManagedTensorVersioned** out);

/* Make a Tensor that describes part of another one's memory.  "Unsafe": nothing checks that
 * `prototype` stays inside it.
 *
 * source      Tensor that owns the memory; retained while the view lives.
 * prototype   what the view looks like; shape and strides are copied, strides not NULL.
 * out         receives an owned Tensor.
 * Fails: InternalError when strides are NULL.     Threads: any. */
TVM_FFI_DLL int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor* prototype,
                                             TVMFFIObjectHandle* out);

/* ---- Types and reflection -------------------------------------------------------------------- */

/* Read a field: `field` is the address of the member, handle + TVMFFIFieldInfo.offset.
 * *result receives an owned value.  Returns 0 or -1. */
typedef int (*TVMFFIFieldGetter)(void* field, TVMFFIAny* result);

/* Write a field from a view.  Returns 0 or -1. */
typedef int (*TVMFFIFieldSetter)(void* field, const TVMFFIAny* value);

/* Make an object with every field at its C++ default; *result is owned.  Returns 0 or -1. */
typedef int (*TVMFFIObjectCreator)(TVMFFIObjectHandle* result);

/* Bits of TVMFFIFieldInfo.flags and TVMFFIMethodInfo.flags; other bits are 0. */
typedef enum TVMFFIFieldFlagBitMask TVM_FFI_ENUM_BASE_ {
  kTVMFFIFieldFlagBitMaskWritable = 1 << 0,           /* users may call the setter */
  kTVMFFIFieldFlagBitMaskHasDefault = 1 << 1,         /* default_value_or_factory is in use */
  kTVMFFIFieldFlagBitMaskIsStaticMethod = 1 << 2,     /* method without a leading self */
  kTVMFFIFieldFlagBitMaskSEqHashIgnore = 1 << 3,      /* skipped by structural equality and hash */
  kTVMFFIFieldFlagBitMaskSEqHashDefPattern = 1 << 4,  /* opens a Pattern definition region */
  kTVMFFIFieldFlagBitMaskDefaultFromFactory = 1 << 5, /* the default is a Function without
                                                       * arguments, called for each object */
  kTVMFFIFieldFlagBitMaskReprOff = 1 << 6,            /* not printed */
  kTVMFFIFieldFlagBitMaskCompareOff = 1 << 7,         /* not compared by recursive comparison */
  kTVMFFIFieldFlagBitMaskHashOff = 1 << 8,            /* not hashed by recursive hash */
  kTVMFFIFieldFlagBitMaskInitOff = 1 << 9,            /* not a parameter of __init__ */
  kTVMFFIFieldFlagBitMaskKwOnly = 1 << 10,            /* keyword-only parameter of __init__ */
  kTVMFFIFieldFlagBitSetterIsFunctionObj = 1 << 11,   /* setter is a Function handle; called with
                                                       * (OpaquePtr field, value) */
  kTVMFFIFieldFlagBitMaskSEqHashDefSimple = 1 << 12,  /* opens a Simple definition region */
} TVMFFIFieldFlagBitMask;

/* How structural equality and hash treat a type. */
typedef enum TVMFFISEqHashKind TVM_FFI_ENUM_BASE_ {
  kTVMFFISEqHashKindUnsupported = 0,    /* refuse */
  kTVMFFISEqHashKindTreeNode = 1,       /* compare content; sharing does not matter */
  kTVMFFISEqHashKindFreeVar = 2,        /* a variable: mapped where it is defined, else identity */
  kTVMFFISEqHashKindDAGNode = 3,        /* compare content; the same nodes must be shared */
  kTVMFFISEqHashKindConstTreeNode = 4,  /* as TreeNode, but holds no variable: same address is
                                         * equal without a look inside */
  kTVMFFISEqHashKindUniqueInstance = 5, /* equal only to itself */
} TVMFFISEqHashKind;

/* Whether a structural walk is inside a field that defines variables. */
typedef enum TVMFFIDefRegionKind TVM_FFI_ENUM_BASE_ {
  kTVMFFIDefRegionKindNone = 0,    /* variables are uses */
  kTVMFFIDefRegionKindPattern = 1, /* every variable below is a definition */
  kTVMFFIDefRegionKindSimple = 2,  /* variables are definitions, their own fields are not */
} TVMFFIDefRegionKind;

/* One field of an object type.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       16     name                  72      8      offset
 *   16      16     doc                   80      8      getter
 *   32      16     metadata              88      8      setter
 *   48      8      flags                 96      16     default_value_or_factory
 *   56      8      size                  112     4      field_static_type_index
 *   64      8      alignment             (120 in all) */
typedef struct TVMFFIFieldInfo {
  TVMFFIByteArray name;     /* unique within the type */
  TVMFFIByteArray doc;      /* documentation, may be empty */
  TVMFFIByteArray metadata; /* JSON object, e.g. with member type_schema; may be empty */
  int64_t flags;            /* TVMFFIFieldFlagBitMask */
  int64_t size;             /* bytes of the member */
  int64_t alignment;        /* bytes */
  int64_t offset;           /* bytes from the object header to the member */
  TVMFFIFieldGetter getter; /* not NULL */
  void* setter;             /* TVMFFIFieldSetter, or a Function handle by flag; NULL: read-only */
  TVMFFIAny default_value_or_factory; /* owned; None without HasDefault */
  int32_t field_static_type_index;    /* index below 128 that every value has, or kTVMFFIAny */
} TVMFFIFieldInfo;

/* One method of an object type, or one global function.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       16     name                  48      8      flags
 *   16      16     doc                   56      16     method
 *   32      16     metadata              (72 in all) */
typedef struct TVMFFIMethodInfo {
  TVMFFIByteArray name;     /* method: within its type; global function: the whole name */
  TVMFFIByteArray doc;      /* documentation, may be empty */
  TVMFFIByteArray metadata; /* JSON object, may be empty */
  int64_t flags;            /* TVMFFIFieldFlagBitMask; only IsStaticMethod matters */
  TVMFFIAny method;         /* a Function; takes the object first unless static */
} TVMFFIMethodInfo;

/* What a type tells about itself besides fields: doc 0, creator 16, total_size 24,
 * structural_eq_hash_kind 28; 32 bytes. */
typedef struct TVMFFITypeMetadata {
  TVMFFIByteArray doc;         /* documentation, may be empty */
  TVMFFIObjectCreator creator; /* NULL when objects cannot be made without arguments */
  int32_t total_size;          /* bytes of the C++ object, vtable pointer and header included */
#ifdef __cplusplus
  TVMFFISEqHashKind structural_eq_hash_kind; /* 32 bits */
#else
  int32_t structural_eq_hash_kind; /* TVMFFISEqHashKind */
#endif
} TVMFFITypeMetadata;

/* Values of one named attribute for all types: data 0, size 8, begin_index 12; 16 bytes.  The
 * value for type t is data[t - begin_index] when 0 <= t - begin_index < size, else None;
 * ancestors are not consulted. */
typedef struct TVMFFITypeAttrColumn {
  const TVMFFIAny* data; /* owned values; replaced when the column grows */
  int32_t size;          /* entries */
  int32_t begin_index;   /* type index of data[0]; always 0 in practice */
} TVMFFITypeAttrColumn;

/* Everything registered about one type.  Lives until the process ends and never moves; fields
 * and methods are replaced when more are registered.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       4      type_index            40      4      num_fields
 *   4       4      type_depth            44      4      num_methods
 *   8       16     type_key              48      8      fields
 *   24      8      type_ancestors        56      8      methods
 *   32      8      type_key_hash         64      8      metadata
 *                                        (72 in all) */
typedef struct TVMFFITypeInfo {
  int32_t type_index;       /* index of the type itself */
  int32_t type_depth;       /* ancestors; 0 for ffi.Object and plain values */
  TVMFFIByteArray type_key; /* e.g. "ffi.Array" */
  /* type_depth entries, ffi.Object first. */
  const struct TVMFFITypeInfo** type_ancestors;
  uint64_t type_key_hash;             /* of type_key, as libstdc++ hashes a std::string */
  int32_t num_fields;                 /* own fields; ancestors have their own */
  int32_t num_methods;                /* own methods */
  const TVMFFIFieldInfo* fields;      /* in order of registration */
  const TVMFFIMethodInfo* methods;    /* in order of registration */
  const TVMFFITypeMetadata* metadata; /* NULL when none was registered */
} TVMFFITypeInfo;

/* Look a type index up by type key.
 *
 * type_key     borrowed until the call returns.
 * out_tindex   receives the index.
 * Fails: InternalError when the key is not registered.     Threads: any, after registration. */
TVM_FFI_DLL int TVMFFITypeKeyToIndex(const TVMFFIByteArray* type_key, int32_t* out_tindex);

/* Return the index of a type, registering it on first use.  A key that is registered already
 * gives its index; the other arguments are then not looked at.
 *
 * type_key                   copied.
 * static_type_index          an unused index below 128, or -1 to allocate one.
 * type_depth                 depth of the parent + 1.
 * num_child_slots            indices to reserve right behind this one for descendants, so that
 *                            an instance test is a range check.
 * child_slots_can_overflow   0: there will be no descendants beyond the reserved ones; needed
 *                            from the parent before this type may say otherwise.
 * parent_type_index          index of the parent, smaller than the new one; -1: no parent; -2:
 *                            only ask, an unknown key gives -2.
 * Returns: the index of the type; -2 only as said above.
 * Fails: fatal when the arguments contradict each other.     Threads: registration. */
TVM_FFI_DLL int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray* type_key,
                                              int32_t static_type_index, int32_t type_depth,
                                              int32_t num_child_slots,
                                              int32_t child_slots_can_overflow,
                                              int32_t parent_type_index);

/* Return what is registered about a type.
 *
 * type_index   an index that is registered.
 * Returns: borrowed, valid until the process ends; never NULL.
 * Fails: fatal for an index that is not registered.     Threads: any, after registration. */
TVM_FFI_DLL const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t type_index) TVM_FFI_ATTRIBUTE_PURE;

/* Add a field to a type.
 *
 * type_index   the type; registered.
 * info         borrowed; texts are copied, a Function setter and (with HasDefault) the default are
 *              retained.
 * Fails: InternalError when the type has a field of that name.     Threads: registration. */
TVM_FFI_DLL int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo* info);

/* Add a method to a type.
 *
 * type_index   the type; registered.
 * info         borrowed; texts are copied, the Function is retained.
 * Fails: when the type is not registered.     Threads: registration. */
TVM_FFI_DLL int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo* info);

/* Set the metadata of a type.
 *
 * type_index   the type; registered.
 * metadata   borrowed; copied.
 * Fails: RuntimeError when the type has metadata already.     Threads: registration. */
TVM_FFI_DLL int TVMFFITypeRegisterMetadata(int32_t type_index, const TVMFFITypeMetadata* metadata);

/* Set an attribute of a type.
 *
 * type_index   kTVMFFINone: only create the column; other indices need not be registered.
 * attr_name    copied.
 * attr_value   a view; converted to an owned value and kept.
 * Fails: RuntimeError when the type has the attribute already.     Threads: registration. */
TVM_FFI_DLL int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray* attr_name,
                                       const TVMFFIAny* attr_value);

/* Return the column of an attribute, or NULL when nobody created it.
 *
 * attr_name   borrowed until the call returns.
 * Returns: borrowed, valid until the process ends; its content is updated in place.
 * Fails: fatal.     Threads: any, after registration. */
TVM_FFI_DLL const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray* attr_name);

/* Register a global function together with its documentation and metadata.
 *
 * method_info      borrowed; texts are copied, the Function is retained.
 * allow_override   non-zero: replace an existing entry.
 * Fails: RuntimeError, also printed to stderr, when the name is taken and allow_override is 0.
 * Threads: registration. */
TVM_FFI_DLL int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo* method_info,
                                                      int allow_override);

/* ---- One-time slots -------------------------------------------------------------------------- */

/* Fill a global pointer slot exactly once, however many threads ask.
 *
 * handle_addr   the slot; NULL in it means "not initialized".
 * init_func     runs when the slot is empty, while other threads that ask for the same slot wait;
 *               stores a pointer that is not NULL in *result and returns 0, or returns another
 *               code.  May fill other slots and load libraries.
 * Fails: RuntimeError when init_func succeeds with NULL; a non-zero code of init_func is returned
 *        unchanged and the slot stays empty.
 * Threads: any. */
TVM_FFI_DLL int TVMFFIHandleInitOnce(void** handle_addr, int (*init_func)(void** result));

/* Empty such a slot.
 *
 * handle_addr   the slot; set to NULL atomically.
 * deinit_func   called with the previous pointer unless it was NULL; its code is returned.
 * Fails: as deinit_func does.     Threads: any. */
TVM_FFI_DLL int TVMFFIHandleDeinitOnce(void** handle_addr, int (*deinit_func)(void* handle));

#ifdef __cplusplus
} /* extern "C" */
#endif

/* ---- Accessors -------------------------------------------------------------------------------
 *
 * Address arithmetic only: no check, no reference counting, not exported.  Handles are not NULL
 * and of the type the name says; results are borrowed until the object dies. */

#ifdef __cplusplus
#define TVM_FFI_ACCESSOR_ inline
#define TVM_FFI_CAST_(Type, value) static_cast<Type>(value)
#else
#define TVM_FFI_ACCESSOR_ static inline
#define TVM_FFI_CAST_(Type, value) ((Type)(value))
#endif
/* The cell is what follows the 24-byte header. */
#define TVM_FFI_CELL_(Cell, obj) \
  TVM_FFI_CAST_(Cell*, TVM_FFI_CAST_(void*, TVM_FFI_CAST_(TVMFFIObject*, obj) + 1))

/* Type index of any object. */
TVM_FFI_ACCESSOR_ int32_t TVMFFIObjectGetTypeIndex(TVMFFIObjectHandle obj) {
  return TVM_FFI_CAST_(const TVMFFIObject*, obj)->type_index;
}

/* Content of a SmallStr or SmallBytes; points into *value. */
TVM_FFI_ACCESSOR_ TVMFFIByteArray TVMFFISmallBytesGetContentByteArray(const TVMFFIAny* value) {
  TVMFFIByteArray content;
  content.data = value->v_bytes;
  content.size = value->small_str_len;
  return content;
}

/* Cell of a Str or Bytes. */
TVM_FFI_ACCESSOR_ TVMFFIByteArray* TVMFFIBytesGetByteArrayPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(TVMFFIByteArray, obj);
}

/* Cell of an Error. */
TVM_FFI_ACCESSOR_ TVMFFIErrorCell* TVMFFIErrorGetCellPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(TVMFFIErrorCell, obj);
}

/* Cell of a Function. */
TVM_FFI_ACCESSOR_ TVMFFIFunctionCell* TVMFFIFunctionGetCellPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(TVMFFIFunctionCell, obj);
}

/* Cell of an OpaquePyObject. */
TVM_FFI_ACCESSOR_ TVMFFIOpaqueObjectCell* TVMFFIOpaqueObjectGetCellPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(TVMFFIOpaqueObjectCell, obj);
}

/* Cell of a Shape. */
TVM_FFI_ACCESSOR_ TVMFFIShapeCell* TVMFFIShapeGetCellPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(TVMFFIShapeCell, obj);
}

/* The DLTensor of a Tensor. */
TVM_FFI_ACCESSOR_ DLTensor* TVMFFITensorGetDLTensorPtr(TVMFFIObjectHandle obj) {
  return TVM_FFI_CELL_(DLTensor, obj);
}

/* A DLDevice out of two integers; C++ has no implicit conversion to DLDeviceType. */
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

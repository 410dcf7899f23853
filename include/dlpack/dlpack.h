/* SPDX-License-Identifier: Apache-2.0
 *
 * DLPack 1.3: the structs by which array libraries lend tensors to each other without a copy.
 *
 * This is an independent text of the public standard: same names, same layout, same include
 * guard.  Whichever copy a translation unit includes first is the one it uses; the rest of the
 * headers here work with either.  Valid C11 and C++17.  Layouts: tests/abi/layout_test.c. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#define DLPACK_ENUM_BASE_ : int32_t /* enums are 32 bits wide; C++ can say so */
#else
#define DLPACK_EXTERN_C
#define DLPACK_ENUM_BASE_
#endif

/* Majors are incompatible with each other; a minor only adds device types, dtype codes, flags
 * and functions. */
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

#ifdef _WIN32
#ifdef DLPACK_EXPORTS
#define DLPACK_DLL __declspec(dllexport)
#else
#define DLPACK_DLL __declspec(dllimport)
#endif
#else
#define DLPACK_DLL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ------------------------------------------------------------------------------ */

/* Version of the structs a producer filled in.  A consumer that meets an unknown major may only
 * call the deleter: every field behind the deleter may have moved. */
typedef struct DLPackVersion {
  uint32_t major; /* DLPACK_MAJOR_VERSION of the producer */
  uint32_t minor; /* DLPACK_MINOR_VERSION of the producer */
} DLPackVersion;

/* ---- Device ------------------------------------------------------------------------------- */

/* Kind of memory a tensor lives in.  5 and 6 are not assigned. */
typedef enum DLDeviceType DLPACK_ENUM_BASE_ {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3, /* page-locked host memory made by cudaMallocHost */
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9, /* Verilog simulator memory */
  kDLROCM = 10,
  kDLROCMHost = 11,    /* page-locked host memory made by hipMallocHost */
  kDLExtDev = 12,      /* free for experiments; meaning agreed between the two parties */
  kDLCUDAManaged = 13, /* memory made by cudaMallocManaged */
  kDLOneAPI = 14,      /* unified shared memory of oneAPI */
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18,
} DLDeviceType;

/* One device: offset 0 type, offset 4 id; 8 bytes. */
typedef struct DLDevice {
  DLDeviceType device_type; /* one of DLDeviceType */
  int32_t device_id;        /* 0 for the first device of its type, and for plain host memory */
} DLDevice;

/* ---- Data type ---------------------------------------------------------------------------- */

/* Values of DLDataType.code.  Only the low 8 bits travel. */
typedef enum DLDataTypeCode DLPACK_ENUM_BASE_ {
  kDLInt = 0,          /* two's complement */
  kDLUInt = 1,         /* unsigned */
  kDLFloat = 2,        /* IEEE 754 binary formats */
  kDLOpaqueHandle = 3, /* a value only its owner understands */
  kDLBfloat = 4,       /* upper half of an IEEE binary32 */
  kDLComplex = 5,      /* real, then imaginary part; bits counts both */
  kDLBool = 6,         /* 0 or 1; normally 8 bits */
  /* eXmY: X exponent bits, Y mantissa bits.  fn: finite and NaN, no infinity.  uz: no negative
   * zero.  b11: exponent bias 11. */
  kDLFloat8_e3m4 = 7,
  kDLFloat8_e4m3 = 8,
  kDLFloat8_e4m3b11fnuz = 9,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14, /* unsigned power of two, used as a block scale */
  kDLFloat6_e2m3fn = 15,
  kDLFloat6_e3m2fn = 16,
  kDLFloat4_e2m1fn = 17,
} DLDataTypeCode;

/* Type of one element: offset 0 code, 1 bits, 2 lanes; 4 bytes.
 *
 * An element is `lanes` values of `bits` bits.  Values narrower than 8 bits are packed without
 * gaps in little-endian bit order unless DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED is set. */
typedef struct DLDataType {
  uint8_t code;   /* DLDataTypeCode */
  uint8_t bits;   /* bits per lane, 0..255; common are 4, 8, 16, 32, 64, 128 */
  uint16_t lanes; /* values per element; 1 unless the element is a vector */
} DLDataType;

/* ---- Tensors ------------------------------------------------------------------------------ */

/* View of a strided tensor; owns nothing.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       8      data                  24      8      shape
 *   8       8      device                32      8      strides
 *   16      4      ndim                  40      8      byte_offset
 *   20      4      dtype                 (48 in all)
 *
 * The element at index (i0, i1, ...) starts, for dtypes of whole bytes, at
 *   data + byte_offset + (i0 * strides[0] + i1 * strides[1] + ...) * bytes per element. */
typedef struct DLTensor {
  void* data;           /* start of the allocation, or a device handle; NULL if there are 0
                         * elements.  The standard asks for 256-byte alignment and uses
                         * byte_offset for the rest; many producers do neither */
  DLDevice device;      /* where data lives */
  int32_t ndim;         /* number of dimensions, >= 0 */
  DLDataType dtype;     /* type of one element */
  int64_t* shape;       /* ndim extents, each >= 0; may be NULL when ndim is 0 */
  int64_t* strides;     /* ndim steps in elements (not bytes), may be negative.  Before 1.2 NULL
                         * meant compact row-major; since 1.2 it is NULL only when ndim is 0 */
  uint64_t byte_offset; /* bytes from data to the first element */
} DLTensor;

/* Owned tensor of DLPack 0.x (capsule name "dltensor"): DLTensor 0, manager_ctx 48, deleter 56. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor; /* valid until deleter is called */
  void* manager_ctx;  /* private to the producer; may be NULL */
  /* Releases the tensor and `self`; called once, by the last owner.  NULL: nothing to release. */
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

/* Bits of DLManagedTensorVersioned.flags. */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL) /* consumer must not write */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL) /* fresh copy, shared with nobody */
/* Each value of fewer than 8 bits stands in a byte of its own. */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

/* Owned tensor of DLPack 1.x (capsule name "dltensor_versioned").
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       8      version               24      8      flags
 *   8       8      manager_ctx           32      48     dl_tensor
 *   16      8      deleter               (80 in all)
 *
 * The first three fields stay where they are in every future major. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version; /* what the producer speaks; check major first */
  void* manager_ctx;     /* private to the producer; may be NULL */
  /* Releases the tensor and `self`; called once, by the last owner.  NULL: nothing to release. */
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;     /* DLPACK_FLAG_BITMASK_*; unknown bits are ignored */
  DLTensor dl_tensor; /* valid until deleter is called */
} DLManagedTensorVersioned;

/* ---- Exchange between Python array libraries without the Python call ----------------------- */

/* All functions below return 0 on success and -1 on failure.  Those that take a Python object
 * need the GIL held (or an attached thread state) and leave a Python exception set on failure. */

/* Allocate a tensor with the ndim, shape, dtype and device of `prototype`; data and strides of
 * the prototype are ignored.  Needs no GIL.
 *
 * out        receives an owned tensor.
 * error_ctx  handed back to SetError unchanged.
 * SetError   called at most once before a failing return; texts borrowed until it returns. */
typedef int (*DLPackManagedTensorAllocator)(DLTensor* prototype, DLManagedTensorVersioned** out,
                                            void* error_ctx,
                                            void (*SetError)(void* error_ctx, const char* kind,
                                                             const char* message));

/* Export: *out receives an owned tensor that keeps the memory of `py_object` alive.  The caller
 * orders its work after the stream named by DLPackCurrentWorkStream; nothing is synchronized. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void* py_object,
                                                     DLManagedTensorVersioned** out);

/* Import: takes ownership of `tensor`; *out_py_object receives a new Python reference. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned* tensor,
                                                   void** out_py_object);

/* View: fills *out with pointers borrowed until `py_object` is changed or released. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void* py_object, DLTensor* out);

/* Stream on which the library enqueues work for the device on the calling thread; *out may be
 * NULL, which is the device's default stream. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id,
                                       void** out_current_stream);

/* Common start of every exchange table, so that a reader can find one it understands. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;                    /* version of the table this header starts */
  struct DLPackExchangeAPIHeader* prev_api; /* table of an older version, or NULL */
} DLPackExchangeAPIHeader;

/* Function table of one array library; immutable and alive until the process ends.
 *
 * Found through the class attribute `__dlpack_c_exchange_api__` of the array type: a capsule
 * named "dlpack_exchange_api", or an int that holds the address.  16-byte header, then five
 * pointers; 56 bytes. */
typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;                       /* may be NULL */
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync; /* never NULL */
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;     /* never NULL */
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;            /* may be NULL */
  DLPackCurrentWorkStream current_work_stream; /* may be NULL, e.g. for CPU-only libraries */
} DLPackExchangeAPI;

#undef DLPACK_ENUM_BASE_

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* DLPACK_DLPACK_H_ */

/* SPDX-License-Identifier: Apache-2.0
 *
 * DLPack 1.3: the C structs and the exchange API by which array libraries share tensors without
 * copying them.
 *
 * This header is an independent implementation of the public standard with the same names, layouts
 * and include guard.  If several copies of dlpack.h are installed, a translation unit uses the one
 * that it includes first; the tvm/ffi headers work with every copy of DLPack 1.x.  Valid C11 and
 * C++17.  tests/abi/layout_test.c checks the layouts. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#define DLPACK_ENUM_BASE_ : int32_t /* enums have 32 bits; C11 cannot declare the width */
#else
#define DLPACK_EXTERN_C
#define DLPACK_ENUM_BASE_
#endif

/* DLPack version that this header implements.  Different major versions are incompatible.  A new
 * minor version only adds device types, dtype codes, flags and functions. */
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

/* The DLPack version that a producer was compiled for.  If a consumer does not know the major
 * version, it may only call the deleter: the layout of all fields after the deleter may differ. */
typedef struct DLPackVersion {
  uint32_t major; /* DLPACK_MAJOR_VERSION in the header that the producer included */
  uint32_t minor; /* DLPACK_MINOR_VERSION in the header that the producer included */
} DLPackVersion;

/* ---- Device ------------------------------------------------------------------------------- */

/* Kind of device or memory that holds the data of a tensor.  The values 5 and 6 are unassigned. */
typedef enum DLDeviceType DLPACK_ENUM_BASE_ {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3, /* page-locked host memory from cudaMallocHost */
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9, /* Verilog simulator memory */
  kDLROCM = 10,
  kDLROCMHost = 11,    /* page-locked host memory from hipMallocHost */
  kDLExtDev = 12,      /* for experiments; producer and consumer must agree on the device */
  kDLCUDAManaged = 13, /* memory from cudaMallocManaged */
  kDLOneAPI = 14,      /* oneAPI unified shared memory */
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18,
} DLDeviceType;

/* A device: device_type at offset 0, device_id at offset 4; 8 bytes. */
typedef struct DLDevice {
  DLDeviceType device_type; /* one of DLDeviceType */
  int32_t device_id;        /* 0 for the first device of its type and for plain host memory */
} DLDevice;

/* ---- Data type ---------------------------------------------------------------------------- */

/* Values of DLDataType.code, which is an 8-bit field. */
typedef enum DLDataTypeCode DLPACK_ENUM_BASE_ {
  kDLInt = 0,          /* signed integer in two's complement */
  kDLUInt = 1,         /* unsigned integer */
  kDLFloat = 2,        /* IEEE 754 binary floating-point number */
  kDLOpaqueHandle = 3, /* opaque handle; only its producer can interpret the bits */
  kDLBfloat = 4,       /* upper 16 bits of an IEEE 754 binary32 */
  kDLComplex = 5,      /* complex number, real part first; `bits` counts both parts */
  kDLBool = 6,         /* boolean: 0 or 1; normally 8 bits */
  /* Names of small floats: eXmY has X exponent bits and Y mantissa bits; fn has finite values and
   * NaN but no infinity; uz has no negative zero; b11 has the exponent bias 11. */
  kDLFloat8_e3m4 = 7,
  kDLFloat8_e4m3 = 8,
  kDLFloat8_e4m3b11fnuz = 9,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14, /* unsigned power of two; scale of a block of elements */
  kDLFloat6_e2m3fn = 15,
  kDLFloat6_e3m2fn = 16,
  kDLFloat4_e2m1fn = 17,
} DLDataTypeCode;

/* Element type: code at offset 0, bits at offset 1, lanes at offset 2; 4 bytes.
 *
 * An element consists of `lanes` values of `bits` bits.  Values narrower than 8 bits are packed
 * without gaps in little-endian bit order, unless the flag
 * DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED is set. */
typedef struct DLDataType {
  uint8_t code;   /* DLDataTypeCode */
  uint8_t bits;   /* bits per lane, 0..255; usually 4, 8, 16, 32, 64 or 128 */
  uint16_t lanes; /* values per element; 1 unless the element is a vector */
} DLDataType;

/* ---- Tensors ------------------------------------------------------------------------------ */

/* Description of a strided tensor.  A DLTensor owns no memory: data, shape and strides are borrowed
 * from the owner of the struct.
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       8      data                  24      8      shape
 *   8       8      device                32      8      strides
 *   16      4      ndim                  40      8      byte_offset
 *   20      4      dtype                 (48 bytes in total)
 *
 * If the dtype occupies whole bytes, the element at index (i0, i1, ...) starts at
 *   data + byte_offset + (i0 * strides[0] + i1 * strides[1] + ...) * bytes per element. */
typedef struct DLTensor {
  void* data;           /* start of the allocation, or an opaque device handle; may be NULL if
                         * the tensor has no elements.  The standard requires 256-byte alignment of
                         * data, with byte_offset for the remainder; many producers do not comply */
  DLDevice device;      /* device of data */
  int32_t ndim;         /* number of dimensions, >= 0 */
  DLDataType dtype;     /* element type */
  int64_t* shape;       /* ndim extents, each >= 0; may be NULL if ndim is 0 */
  int64_t* strides;     /* ndim distances in elements (not bytes); may be negative.  Before
                         * DLPack 1.2, NULL meant compact row-major; since 1.2 strides is NULL
                         * only if ndim is 0 */
  uint64_t byte_offset; /* bytes from data to the first element */
} DLTensor;

/* Owned tensor of DLPack 0.x (Python capsule name "dltensor"): dl_tensor at offset 0, manager_ctx
 * at offset 48, deleter at offset 56; 64 bytes. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor; /* borrowed until deleter is called */
  void* manager_ctx;  /* private to the producer; may be NULL */
  /* Releases the tensor and the struct; consumes `self`.  The owner calls it exactly once.  NULL
   * if nothing needs to be released. */
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

/* Bits of DLManagedTensorVersioned.flags. */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL) /* the consumer must not write to data */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL) /* data is a copy made for this consumer */
/* Each value narrower than 8 bits occupies a whole byte. */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

/* Owned tensor of DLPack 1.x (Python capsule name "dltensor_versioned").
 *
 *   offset  bytes  field                 offset  bytes  field
 *   0       8      version               24      8      flags
 *   8       8      manager_ctx           32      48     dl_tensor
 *   16      8      deleter               (80 bytes in total)
 *
 * The offsets of the first three fields are the same in every future major version. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version; /* DLPack version of the producer; check `major` before other fields */
  void* manager_ctx;     /* private to the producer; may be NULL */
  /* Releases the tensor and the struct; consumes `self`.  The owner calls it exactly once.  NULL
   * if nothing needs to be released. */
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;     /* DLPACK_FLAG_BITMASK_*; consumers ignore unknown bits */
  DLTensor dl_tensor; /* borrowed until deleter is called */
} DLManagedTensorVersioned;

/* ---- Exchange API of Python array libraries ------------------------------------------------
 *
 * C functions for tensor exchange without a Python call.  Each returns 0 on success and -1 on
 * failure.  A function with a Python object as parameter or result must be called with the GIL held
 * (an attached thread state in free-threaded Python) and sets a Python exception on failure. */

/* Allocate a tensor with the ndim, shape, dtype and device of `prototype`.  The data and strides of
 * `prototype` are ignored.  Does not need the GIL.
 *
 * out        receives an owned tensor.
 * error_ctx  passed unchanged to SetError.
 * SetError   called at most once, before the function returns -1; kind and message are borrowed
 *            until SetError returns. */
typedef int (*DLPackManagedTensorAllocator)(DLTensor* prototype, DLManagedTensorVersioned** out,
                                            void* error_ctx,
                                            void (*SetError)(void* error_ctx, const char* kind,
                                                             const char* message));

/* Export a Python tensor.  *out receives an owned tensor that keeps the memory of `py_object`
 * alive. "NoSync": the function does not synchronize streams.  The caller orders its work after the
 * stream that DLPackCurrentWorkStream returns. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void* py_object,
                                                     DLManagedTensorVersioned** out);

/* Import a tensor as a Python object of the array library.  Consumes `tensor`; *out_py_object
 * receives a new reference. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned* tensor,
                                                   void** out_py_object);

/* Fill *out with the description of a Python tensor.  The pointers in *out are borrowed until
 * `py_object` is modified or released. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void* py_object, DLTensor* out);

/* Get the stream on which the library enqueues the calling thread's work for a device.  NULL in
 * *out_current_stream is the default stream of the device. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id,
                                       void** out_current_stream);

/* First member of the function table in every version of the exchange API.  A consumer follows
 * prev_api to find a version that the consumer supports. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;                    /* version of the struct that begins with this header */
  struct DLPackExchangeAPIHeader* prev_api; /* table of an older version, or NULL */
} DLPackExchangeAPIHeader;

/* Function table of one array library; immutable and valid until the process ends.
 *
 * The class attribute `__dlpack_c_exchange_api__` of the array type refers to the table: it is a
 * capsule named "dlpack_exchange_api", or an int with the address of the table.  The table consists
 * of a 16-byte header and five function pointers; 56 bytes. */
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

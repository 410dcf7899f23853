/* SPDX-License-Identifier: Apache-2.0
 *
 * XLA FFI declarations: the part of XLA's C interface for custom calls, version 0.x, that the
 * handler uses.
 *
 * Declared here so that the build needs no XLA.  Layouts are asserted below, and
 * tests/python/interop/test_xla_layout.py compares them with XLA's own header.  Each struct begins
 * with its size in bytes, since XLA's struct may be longer. */
#ifndef TVM_FFI_RUNTIME_XLA_XLA_FFI_H_
#define TVM_FFI_RUNTIME_XLA_XLA_FFI_H_

#include <stddef.h>
#include <stdint.h>

/* Versions of XLA's interface that these declarations describe.  A newer minor version only appends
 * fields to structs. */
enum { XLA_FFI_KNOWN_MAJOR = 0, XLA_FFI_OLDEST_MINOR = 1 };

typedef struct XLA_FFI_Error XLA_FFI_Error;     /* opaque error, created and owned by XLA */
typedef struct XLA_FFI_Context XLA_FFI_Context; /* opaque state of one execution of the program */

typedef struct XLA_FFI_Extension {
  size_t struct_size;
  int32_t type; /* XLA_FFI_Extension_Metadata; the handler ignores extensions of other types */
  struct XLA_FFI_Extension* next;
} XLA_FFI_Extension;

enum { XLA_FFI_Extension_Metadata = 1 };

typedef struct XLA_FFI_Api_Version {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  int major_version;
  int minor_version;
} XLA_FFI_Api_Version;

/* Answer of a handler to the metadata query, which XLA makes before accepting the handler. */
typedef struct XLA_FFI_Metadata {
  size_t struct_size;
  /* Out: version of XLA's interface that the handler was built for. */
  XLA_FFI_Api_Version api_version;
  uint32_t traits;       /* out: XLA_FFI_Trait_... */
  int64_t state_type_id; /* out: 0, because the handler has no state */
} XLA_FFI_Metadata;

enum { XLA_FFI_Trait_CommandBufferCompatible = 1 };

typedef struct XLA_FFI_Metadata_Extension {
  XLA_FFI_Extension base;
  XLA_FFI_Metadata* metadata;
} XLA_FFI_Metadata_Extension;

/* ---- Values in XLA's API ------------------------------------------------------------------ */

typedef int32_t XLA_FFI_DataType; /* xla::PrimitiveType, see xla_values.c */

typedef struct XLA_FFI_Buffer {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  XLA_FFI_DataType dtype;
  void* data;
  int64_t rank;
  int64_t* dims; /* length rank */
} XLA_FFI_Buffer;

typedef struct XLA_FFI_ByteSpan {
  const char* ptr; /* not NUL-terminated */
  size_t len;
} XLA_FFI_ByteSpan;

typedef struct XLA_FFI_Scalar {
  XLA_FFI_DataType dtype;
  void* value;
} XLA_FFI_Scalar;

typedef struct XLA_FFI_Array {
  XLA_FFI_DataType dtype;
  size_t size; /* number of elements in `data` */
  void* data;
} XLA_FFI_Array;

enum { XLA_FFI_ArgType_Buffer = 1, XLA_FFI_RetType_Buffer = 1 };

enum {
  XLA_FFI_AttrType_Array = 1,
  XLA_FFI_AttrType_Dictionary = 2,
  XLA_FFI_AttrType_Scalar = 3,
  XLA_FFI_AttrType_String = 4,
};

/* Arguments or results: buffers that XLA allocated. */
typedef struct XLA_FFI_Args {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  int64_t size;
  int32_t* types; /* length size */
  void** values;  /* pointers to XLA_FFI_Buffer; length size */
} XLA_FFI_Args;

typedef struct XLA_FFI_Attrs {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  int64_t size;
  int32_t* types;           /* length size */
  XLA_FFI_ByteSpan** names; /* attribute names, sorted by their bytes; length size */
  /* Pointers to XLA_FFI_Scalar, XLA_FFI_ByteSpan or XLA_FFI_Array, as given in `types`; length
   * size. */
  void** values;
} XLA_FFI_Attrs;

/* ---- Functions of XLA's API --------------------------------------------------------------- */

typedef struct XLA_FFI_Error_Create_Args {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  const char* message; /* message of the error; XLA copies it */
  int32_t code;        /* absl::StatusCode */
} XLA_FFI_Error_Create_Args;

typedef struct XLA_FFI_Error_Destroy_Args {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  XLA_FFI_Error* error;
} XLA_FFI_Error_Destroy_Args;

typedef struct XLA_FFI_Stream_Get_Args {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  XLA_FFI_Context* ctx;
  void* stream; /* out: stream handle of the platform, such as a CUstream */
} XLA_FFI_Stream_Get_Args;

typedef struct XLA_FFI_DeviceMemory_Allocate_Args {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  XLA_FFI_Context* ctx;
  size_t size; /* bytes */
  size_t alignment;
  void* data; /* out */
} XLA_FFI_DeviceMemory_Allocate_Args;

typedef struct XLA_FFI_DeviceMemory_Free_Args {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  XLA_FFI_Context* ctx;
  size_t size; /* bytes */
  void* data;
} XLA_FFI_DeviceMemory_Free_Args;

typedef struct XLA_FFI_DeviceOrdinal_Get_Args {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  XLA_FFI_Context* ctx;
  int32_t device_ordinal; /* out */
} XLA_FFI_DeviceOrdinal_Get_Args;

/* XLA's function table.  Functions that the handler does not call are declared as void*. */
typedef struct XLA_FFI_Api {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  XLA_FFI_Api_Version api_version;
  const void* internal_api;
  XLA_FFI_Error* (*Error_Create)(XLA_FFI_Error_Create_Args* args);
  void* Error_GetMessage;
  void (*Error_Destroy)(XLA_FFI_Error_Destroy_Args* args);
  void* Handler_Register;
  XLA_FFI_Error* (*Stream_Get)(XLA_FFI_Stream_Get_Args* args);
  void* Type_Register;
  void* Context_Get;
  void* State_Set;
  void* State_Get;
  XLA_FFI_Error* (*DeviceMemory_Allocate)(XLA_FFI_DeviceMemory_Allocate_Args* args);
  XLA_FFI_Error* (*DeviceMemory_Free)(XLA_FFI_DeviceMemory_Free_Args* args);
  void* ThreadPool_Schedule;
  void* ThreadPool_NumThreads;
  void* Future_Create;
  void* Future_SetAvailable;
  void* Future_SetError;
  void* RunId_Get;
  XLA_FFI_Error* (*DeviceOrdinal_Get)(XLA_FFI_DeviceOrdinal_Get_Args* args);
} XLA_FFI_Api;

typedef struct XLA_FFI_CallFrame {
  size_t struct_size;
  XLA_FFI_Extension* extension_start;
  const XLA_FFI_Api* api;
  XLA_FFI_Context* ctx;
  int32_t stage;
  XLA_FFI_Args args;
  XLA_FFI_Args rets;
  XLA_FFI_Attrs attrs;
} XLA_FFI_CallFrame;

#define XLA_FFI_PIN(Struct, field, offset) \
  _Static_assert(offsetof(Struct, field) == (offset), #Struct "." #field " has moved")
XLA_FFI_PIN(XLA_FFI_Extension, next, 16);
XLA_FFI_PIN(XLA_FFI_Api_Version, minor_version, 20);
XLA_FFI_PIN(XLA_FFI_Metadata, api_version, 8);
XLA_FFI_PIN(XLA_FFI_Metadata, traits, 32);
XLA_FFI_PIN(XLA_FFI_Metadata, state_type_id, 40);
XLA_FFI_PIN(XLA_FFI_Metadata_Extension, metadata, 24);
XLA_FFI_PIN(XLA_FFI_Buffer, dtype, 16);
XLA_FFI_PIN(XLA_FFI_Buffer, data, 24);
XLA_FFI_PIN(XLA_FFI_Buffer, rank, 32);
XLA_FFI_PIN(XLA_FFI_Buffer, dims, 40);
XLA_FFI_PIN(XLA_FFI_Scalar, value, 8);
XLA_FFI_PIN(XLA_FFI_Array, data, 16);
XLA_FFI_PIN(XLA_FFI_Args, values, 32);
XLA_FFI_PIN(XLA_FFI_Attrs, values, 40);
XLA_FFI_PIN(XLA_FFI_Error_Create_Args, code, 24);
XLA_FFI_PIN(XLA_FFI_Error_Destroy_Args, error, 16);
XLA_FFI_PIN(XLA_FFI_Stream_Get_Args, stream, 24);
XLA_FFI_PIN(XLA_FFI_DeviceMemory_Allocate_Args, alignment, 32);
XLA_FFI_PIN(XLA_FFI_DeviceMemory_Allocate_Args, data, 40);
XLA_FFI_PIN(XLA_FFI_DeviceMemory_Free_Args, data, 32);
XLA_FFI_PIN(XLA_FFI_DeviceOrdinal_Get_Args, device_ordinal, 24);
XLA_FFI_PIN(XLA_FFI_Api, api_version, 16);
XLA_FFI_PIN(XLA_FFI_Api, Error_Create, 48);
XLA_FFI_PIN(XLA_FFI_Api, Error_Destroy, 64);
XLA_FFI_PIN(XLA_FFI_Api, Stream_Get, 80);
XLA_FFI_PIN(XLA_FFI_Api, DeviceMemory_Allocate, 120);
XLA_FFI_PIN(XLA_FFI_Api, DeviceMemory_Free, 128);
XLA_FFI_PIN(XLA_FFI_Api, DeviceOrdinal_Get, 184);
XLA_FFI_PIN(XLA_FFI_CallFrame, api, 16);
XLA_FFI_PIN(XLA_FFI_CallFrame, stage, 32);
XLA_FFI_PIN(XLA_FFI_CallFrame, args, 40);
XLA_FFI_PIN(XLA_FFI_CallFrame, rets, 80);
XLA_FFI_PIN(XLA_FFI_CallFrame, attrs, 120);

#endif /* TVM_FFI_RUNTIME_XLA_XLA_FFI_H_ */

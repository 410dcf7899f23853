/* SPDX-License-Identifier: Apache-2.0
 *
 * The custom calls of XLA behind tvm_ffi.interop.jax: one handler for all functions.  A call names
 * its function in an attribute, and says in another how buffers and attributes become arguments:
 *
 *     __function    text: name of a global function
 *     __arguments   int32 array: the number of attributes; a number that keeps programs apart; then
 *                   for each argument 16 * index + source, the source being one of those below
 *
 * Other attributes are arguments.  Outputs that no argument names are what the function returns.
 * A library of its own: processes without XLA have no use for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/extra/c_host_call.h>

#include "device_memory.h"
#include "xla_ffi.h"

/* Where an argument comes from; tvm_ffi.interop._xla.call writes the same numbers. */
enum {
  kOperand = 0,
  kOutput = 1,
  kAttribute = 2, /* a number, a text, or an array of numbers in CPU memory */
  kNone = 3,
  kJSONGraph = 4, /* text of a value of any other kind */
};

/* How filling an argument fails. */
enum {
  kNotOurs = -1, /* the program was not made by our Python half */
  kRaised = -2,  /* an error is pending */
};

/* Status codes that are not the kind of an error of ours, and where we refuse ourselves. */
enum { kInvalidArgument = 3, kNotFound = 5, kOutOfMemory = 8, kUnimplemented = 12, kInternal = 13 };

/* ---- Errors ------------------------------------------------------------------------------- */

static XLA_FFI_Error* NewError(const XLA_FFI_Api* api, int32_t code, const char* message) {
  XLA_FFI_Error_Create_Args args;
  memset(&args, 0, sizeof(args));
  args.struct_size = sizeof(args);
  args.message = message;
  args.code = code;
  return api->Error_Create(&args);
}

/* An error as XLA has it: where, kind and text.  Releases it. */
static XLA_FFI_Error* ErrorOf(const XLA_FFI_Api* api, XLA_FFI_ByteSpan name,
                              TVMFFIObjectHandle error, int32_t code) {
  static const char format[] = "call_tvm_ffi('%.*s'): ";
  char stack[512];
  char* text = stack;
  int name_size = name.len < 256 ? (int)name.len : 256;
  size_t where = (size_t)snprintf(stack, sizeof(stack), format, name_size, name.ptr);
  size_t size = where + TVMFFIHostErrorText(error, stack + where, sizeof(stack) - where);
  XLA_FFI_Error* made;
  if (size >= sizeof(stack)) {
    text = (char*)malloc(size + 1);
    if (text == NULL) {
      text = stack; /* its beginning */
    } else {
      memcpy(text, stack, where);
      TVMFFIHostErrorText(error, text + where, size + 1 - where);
    }
  }
  made = NewError(api, code, text);
  if (text != stack) free(text);
  TVMFFIObjectDecRef(error);
  return made;
}

/* The thread's pending error; code 0: as its kind says. */
static XLA_FFI_Error* PendingError(const XLA_FFI_Api* api, XLA_FFI_ByteSpan name, int32_t code) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return NewError(api, kInternal, "call_tvm_ffi: failed without an error");
  return ErrorOf(api, name, error, code != 0 ? code : TVMFFIHostErrorStatus(error));
}

/* ---- Buffers and attributes as values ------------------------------------------------------ */

/* Element types by XLA's numbers; bits 0: none, or one that has no address of its own. */
static DLDataType ToDLPackType(XLA_FFI_DataType type) {
  static const DLDataType types[] = {
      [1] = {kDLBool, 8, 1},
      [2] = {kDLInt, 8, 1},
      [3] = {kDLInt, 16, 1},
      [4] = {kDLInt, 32, 1},
      [5] = {kDLInt, 64, 1},
      [6] = {kDLUInt, 8, 1},
      [7] = {kDLUInt, 16, 1},
      [8] = {kDLUInt, 32, 1},
      [9] = {kDLUInt, 64, 1},
      [10] = {kDLFloat, 16, 1},
      [11] = {kDLFloat, 32, 1},
      [12] = {kDLFloat, 64, 1},
      [15] = {kDLComplex, 64, 1},
      [16] = {kDLBfloat, 16, 1},
      [18] = {kDLComplex, 128, 1},
      [19] = {kDLFloat8_e5m2, 8, 1},
      [20] = {kDLFloat8_e4m3fn, 8, 1},
      [23] = {kDLFloat8_e4m3b11fnuz, 8, 1},
      [24] = {kDLFloat8_e5m2fnuz, 8, 1},
      [25] = {kDLFloat8_e4m3fnuz, 8, 1},
      [28] = {kDLFloat8_e4m3, 8, 1},
      [29] = {kDLFloat8_e3m4, 8, 1},
      [33] = {kDLFloat8_e8m0fnu, 8, 1},
  };
  static const DLDataType none = {0, 0, 0};
  if (type < 0 || (size_t)type >= sizeof(types) / sizeof(types[0])) return none;
  return types[type];
}

/* Describe compact memory; the tensor's strides are written to `strides`, of length ndim. */
static int Describe(DLTensor* out, XLA_FFI_DataType dtype, void* data, int64_t ndim, int64_t* shape,
                    int64_t* strides, DLDevice device) {
  int64_t step = 1;
  int64_t dim;
  out->data = data;
  out->device = device;
  out->ndim = (int32_t)ndim;
  out->dtype = ToDLPackType(dtype);
  out->shape = shape;
  out->strides = strides;
  out->byte_offset = 0;
  for (dim = ndim - 1; dim >= 0; --dim) {
    strides[dim] = step;
    step *= shape[dim] > 1 ? shape[dim] : 1;
  }
  return out->dtype.bits == 0;
}

static int SetScalar(const XLA_FFI_Scalar* scalar, TVMFFIAny* out) {
  const void* value = scalar->value;
  out->type_index = kTVMFFIInt;
  switch (scalar->dtype) {
    case 1:
      out->type_index = kTVMFFIBool;
      out->v_int64 = *(const uint8_t*)value != 0;
      return 0;
    case 2:
      out->v_int64 = *(const int8_t*)value;
      return 0;
    case 3:
      out->v_int64 = *(const int16_t*)value;
      return 0;
    case 4:
      out->v_int64 = *(const int32_t*)value;
      return 0;
    case 5:
      out->v_int64 = *(const int64_t*)value;
      return 0;
    case 6:
      out->v_int64 = *(const uint8_t*)value;
      return 0;
    case 7:
      out->v_int64 = *(const uint16_t*)value;
      return 0;
    case 8:
      out->v_int64 = *(const uint32_t*)value;
      return 0;
    case 9:
      out->v_int64 = *(const int64_t*)value;
      return 0;
    case 11:
      out->type_index = kTVMFFIFloat;
      out->v_float64 = *(const float*)value;
      return 0;
    case 12:
      out->type_index = kTVMFFIFloat;
      out->v_float64 = *(const double*)value;
      return 0;
    default:
      return -1;
  }
}

/* Release an owned value. */
static void ReleaseValue(TVMFFIAny* value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value->v_obj);
}

/* ---- One call ------------------------------------------------------------------------------ */

/* What a call needs beside the frame: in `stack`, or on the heap where that is too small. */
typedef struct Call {
  const XLA_FFI_CallFrame* frame;
  XLA_FFI_ByteSpan name;    /* of the function */
  const int32_t* arguments; /* length num_arguments */
  int32_t num_arguments;
  TVMFFIAny* values;  /* length num_arguments */
  DLTensor* inputs;   /* length args.size */
  DLTensor* outputs;  /* length rets.size */
  DLTensor* returned; /* length num_returned: the outputs that no argument names */
  int32_t num_returned;
  DLTensor* arrays; /* one for each attribute that is an array */
  int64_t* strides; /* as many as dimensions */
  void* heap;
  int64_t stack[384]; /* enough for about 16 buffers and 16 arguments */
} Call;

static const void* FindAttribute(const XLA_FFI_Attrs* attrs, TVMFFIByteArray name, int32_t type) {
  int64_t i;
  for (i = 0; i < attrs->size; ++i) {
    const XLA_FFI_ByteSpan* found = attrs->names[i];
    if (found->len == name.size && memcmp(found->ptr, name.data, name.size) == 0) {
      return attrs->types[i] == type ? attrs->values[i] : NULL;
    }
  }
  return NULL;
}

/* Read the two attributes that are ours.  Returns what is wrong, or NULL. */
static const char* ReadPlan(Call* call) {
  const XLA_FFI_Attrs* attrs = &call->frame->attrs;
  static const char function_name[] = "__function", arguments_name[] = "__arguments";
  TVMFFIByteArray function = {function_name, sizeof(function_name) - 1};
  TVMFFIByteArray arguments = {arguments_name, sizeof(arguments_name) - 1};
  const XLA_FFI_ByteSpan* name = FindAttribute(attrs, function, XLA_FFI_AttrType_String);
  const XLA_FFI_Array* plan = FindAttribute(attrs, arguments, XLA_FFI_AttrType_Array);
  if (name == NULL || plan == NULL || plan->dtype != 4 || plan->size < 2) {
    return "call_tvm_ffi: the call has no attributes __function and __arguments";
  }
  call->name = *name;
  call->arguments = (const int32_t*)plan->data + 2;
  call->num_arguments = (int32_t)plan->size - 2;
  if (*(const int32_t*)plan->data != attrs->size) {
    return "call_tvm_ffi: the program was changed: the call has other attributes than it was "
           "made with";
  }
  return NULL;
}

/* Find room for everything that the call describes. */
static int Allocate(Call* call) {
  const XLA_FFI_CallFrame* frame = call->frame;
  size_t num_tensors = (size_t)(frame->args.size + 2 * frame->rets.size + frame->attrs.size);
  size_t num_dims = (size_t)frame->attrs.size;
  size_t size_bytes;
  char* room = (char*)call->stack;
  int64_t i;
  for (i = 0; i < frame->args.size; ++i) {
    num_dims += (size_t)((XLA_FFI_Buffer*)frame->args.values[i])->rank;
  }
  for (i = 0; i < frame->rets.size; ++i) {
    num_dims += (size_t)((XLA_FFI_Buffer*)frame->rets.values[i])->rank;
  }
  size_bytes = num_tensors * sizeof(DLTensor) + (size_t)call->num_arguments * sizeof(TVMFFIAny) +
               num_dims * sizeof(int64_t);
  call->heap = NULL;
  if (size_bytes > sizeof(call->stack)) {
    call->heap = malloc(size_bytes);
    if (call->heap == NULL) return -1;
    room = (char*)call->heap;
  }
  call->values = (TVMFFIAny*)room;
  call->inputs = (DLTensor*)(call->values + call->num_arguments);
  call->outputs = call->inputs + frame->args.size;
  call->returned = call->outputs + frame->rets.size;
  call->arrays = call->returned + frame->rets.size;
  call->strides = (int64_t*)(call->arrays + frame->attrs.size);
  return 0;
}

static int DescribeBuffers(Call* call, const XLA_FFI_Args* buffers, DLTensor* out,
                           DLDevice device) {
  int64_t i;
  for (i = 0; i < buffers->size; ++i) {
    const XLA_FFI_Buffer* buffer = buffers->values[i];
    if (buffers->types[i] != XLA_FFI_ArgType_Buffer ||
        Describe(&out[i], buffer->dtype, buffer->data, buffer->rank, buffer->dims, call->strides,
                 device)) {
      return -1;
    }
    call->strides += buffer->rank;
  }
  return 0;
}

/* A text attribute as an owned string; short ones take no memory. */
static int SetText(const XLA_FFI_ByteSpan* text, TVMFFIAny* out) {
  TVMFFIByteArray bytes;
  bytes.data = text->ptr;
  bytes.size = text->len;
  return TVMFFIStringFromByteArray(&bytes, out) == 0 ? 0 : kRaised;
}

/* An attribute as an argument. */
static int SetAttribute(Call* call, int64_t index, TVMFFIAny* out) {
  const XLA_FFI_Attrs* attrs = &call->frame->attrs;
  DLDevice cpu = {kDLCPU, 0};
  XLA_FFI_Array* array;
  if (attrs->types[index] == XLA_FFI_AttrType_Scalar) return SetScalar(attrs->values[index], out);
  if (attrs->types[index] == XLA_FFI_AttrType_String) return SetText(attrs->values[index], out);
  if (attrs->types[index] != XLA_FFI_AttrType_Array) return kNotOurs;
  array = attrs->values[index];
  if (Describe(&call->arrays[index], array->dtype, array->data, 1, (int64_t*)&array->size,
               call->strides, cpu)) {
    return kNotOurs;
  }
  call->strides += 1;
  out->type_index = kTVMFFIDLTensorPtr;
  out->v_ptr = &call->arrays[index];
  return 0;
}

/* The value that a text describes; owned. */
static int SetFromJSONGraph(Call* call, int64_t index, TVMFFIAny* out) {
  static const char name[] = "ffi.FromJSONGraphString";
  TVMFFIByteArray bytes = {name, sizeof(name) - 1};
  TVMFFIObjectHandle read = NULL;
  TVMFFIAny text;
  int code;
  if (call->frame->attrs.types[index] != XLA_FFI_AttrType_String) return kNotOurs;
  memset(&text, 0, sizeof(text));
  if (TVMFFIHostFindFunction(&bytes, &read) != 0) return kRaised;
  code = SetText(call->frame->attrs.values[index], &text);
  if (code == 0) {
    code = TVMFFIFunctionCall(read, &text, 1, out) == 0 ? 0 : kRaised;
    ReleaseValue(&text);
  }
  return code;
}

/* Fill one argument, which is None so far. */
static int SetArgument(Call* call, int32_t source, int64_t index, TVMFFIAny* out) {
  const XLA_FFI_CallFrame* frame = call->frame;
  if (index < 0) return kNotOurs;
  switch (source) {
    case kOperand:
    case kOutput:
      if (index >= (source == kOperand ? frame->args.size : frame->rets.size)) return kNotOurs;
      out->type_index = kTVMFFIDLTensorPtr;
      out->v_ptr = (source == kOperand ? call->inputs : call->outputs) + index;
      return 0;
    case kNone:
      return 0;
    case kAttribute:
    case kJSONGraph:
      if (index >= frame->attrs.size) return kNotOurs;
      return source == kAttribute ? SetAttribute(call, index, out)
                                  : SetFromJSONGraph(call, index, out);
    default:
      return kNotOurs;
  }
}

/* List the outputs that no argument names. */
static void FindReturned(Call* call) {
  int64_t output;
  int32_t i;
  call->num_returned = 0;
  for (output = 0; output < call->frame->rets.size; ++output) {
    for (i = 0; i < call->num_arguments; ++i) {
      if (call->arguments[i] == 16 * (int32_t)output + kOutput) break;
    }
    if (i == call->num_arguments) call->returned[call->num_returned++] = call->outputs[output];
  }
}

static XLA_FFI_Error* CallFunction(Call* call, const TVMFFIHostScope* scope) {
  const XLA_FFI_Api* api = call->frame->api;
  TVMFFIByteArray name = {call->name.ptr, call->name.len};
  TVMFFIObjectHandle function = NULL, error = NULL;
  TVMFFIAny result;
  int code;
  memset(&result, 0, sizeof(result));
  if (TVMFFIHostFindFunction(&name, &function) != 0) {
    return PendingError(api, call->name, kNotFound);
  }
  code = TVMFFIHostCall(scope, function, call->values, call->num_arguments, &result, &error);
  if (code == 0 && call->num_returned == 0) {
    ReleaseValue(&result);
  } else if (code == 0) {
    code = TVMFFIHostMoveResults(&result, call->returned, call->num_returned);
    if (code != 0) TVMFFIErrorMoveFromRaised(&error);
  }
  return code == 0 ? NULL : ErrorOf(api, call->name, error, TVMFFIHostErrorStatus(error));
}

static XLA_FFI_Error* RunPlanned(Call* call, const TVMFFIHostScope* scope, DLDevice device) {
  const XLA_FFI_Api* api = call->frame->api;
  XLA_FFI_Error* failed = NULL;
  int32_t i;
  int code = 0;
  if (DescribeBuffers(call, &call->frame->args, call->inputs, device) != 0 ||
      DescribeBuffers(call, &call->frame->rets, call->outputs, device) != 0) {
    return NewError(api, kUnimplemented,
                    "call_tvm_ffi: a buffer has an element type without a DLPack type of whole "
                    "bytes (int4, float4, token)");
  }
  memset(call->values, 0, (size_t)call->num_arguments * sizeof(TVMFFIAny));
  for (i = 0; i < call->num_arguments && code == 0; ++i) {
    code = SetArgument(call, call->arguments[i] & 15, call->arguments[i] >> 4, &call->values[i]);
  }
  if (code == 0) {
    FindReturned(call);
    failed = CallFunction(call, scope);
  } else if (code == kRaised) {
    failed = PendingError(api, call->name, 0);
  } else {
    failed = NewError(api, kInvalidArgument, "call_tvm_ffi: __arguments does not fit the call");
  }
  for (i = 0; i < call->num_arguments; ++i) ReleaseValue(&call->values[i]);
  return failed;
}

/* ---- The environment of a call ------------------------------------------------------------- */

#define API_HAS(api, Function) \
  ((api)->struct_size >= offsetof(XLA_FFI_Api, Function) + sizeof((api)->Function))

/* The device and stream of a call that is not on the CPU. */
static XLA_FFI_Error* FillScope(const XLA_FFI_CallFrame* frame, TVMFFIHostScope* scope) {
  const XLA_FFI_Api* api = frame->api;
  XLA_FFI_Stream_Get_Args stream;
  XLA_FFI_DeviceOrdinal_Get_Args ordinal;
  XLA_FFI_Error* failed;
  memset(&stream, 0, sizeof(stream));
  stream.struct_size = sizeof(stream);
  stream.ctx = frame->ctx;
  failed = api->Stream_Get(&stream);
  if (failed != NULL) return failed;
  scope->stream = stream.stream;
  if (!API_HAS(api, DeviceOrdinal_Get)) return NULL;
  memset(&ordinal, 0, sizeof(ordinal));
  ordinal.struct_size = offsetof(XLA_FFI_DeviceOrdinal_Get_Args, device_ordinal) + sizeof(int32_t);
  ordinal.ctx = frame->ctx;
  failed = api->DeviceOrdinal_Get(&ordinal);
  scope->device.device_id = ordinal.device_ordinal;
  return failed;
}

/* Answer what a runtime asks before it accepts a handler.  It refuses one that was made for a newer
 * version than its own, or one older than it supports, and then refuses to start at all: so the
 * answer is its own version.  Whether we understand it is found out when we are called. */
static void AnswerMetadata(const XLA_FFI_CallFrame* frame, XLA_FFI_Metadata* metadata,
                           uint32_t traits) {
  const XLA_FFI_Api* api = frame->api;
  metadata->api_version.major_version = api ? api->api_version.major_version : XLA_FFI_KNOWN_MAJOR;
  metadata->api_version.minor_version = api ? api->api_version.minor_version : XLA_FFI_OLDEST_MINOR;
  metadata->traits = traits;
}

/* Make the call that the frame describes.  scope: NULL on the CPU. */
static XLA_FFI_Error* RunCall(const XLA_FFI_CallFrame* frame, const TVMFFIHostScope* scope,
                              DLDevice device) {
  XLA_FFI_Error* failed;
  const char* wrong;
  Call call;
  call.frame = frame;
  wrong = ReadPlan(&call);
  if (wrong != NULL) return NewError(frame->api, kInvalidArgument, wrong);
  if (Allocate(&call) != 0) {
    return NewError(frame->api, kOutOfMemory, "call_tvm_ffi: out of memory");
  }
  failed = RunPlanned(&call, scope, device);
  free(call.heap);
  return failed;
}

/* The same with XLA's stream and memory. */
static XLA_FFI_Error* RunOnDevice(const XLA_FFI_CallFrame* frame, DLDeviceType device_type) {
  TVMFFIHostScope scope;
  DeviceMemory memory;
  XLA_FFI_Error* failed;
  memset(&scope, 0, sizeof(scope));
  scope.struct_size = sizeof(scope);
  scope.device.device_type = device_type;
  scope.allocator = &DeviceMemoryAllocate;
  failed = FillScope(frame, &scope);
  if (failed != NULL) return failed;
  DeviceMemoryBegin(&memory, frame, scope.device);
  failed = RunCall(frame, &scope, scope.device);
  if (DeviceMemoryEnd(&memory) && failed == NULL) {
    failed = NewError(frame->api, kInternal,
                      "call_tvm_ffi: a tensor that the function made in XLA's memory outlives the "
                      "call");
  }
  return failed;
}

static XLA_FFI_Error* Handle(XLA_FFI_CallFrame* frame, DLDeviceType device_type, uint32_t traits) {
  if (frame->extension_start != NULL &&
      frame->extension_start->type == XLA_FFI_Extension_Metadata) {
    AnswerMetadata(frame, ((XLA_FFI_Metadata_Extension*)frame->extension_start)->metadata, traits);
    return NULL;
  }
  if (frame->api->api_version.major_version != XLA_FFI_KNOWN_MAJOR) {
    return NewError(frame->api, kUnimplemented, "call_tvm_ffi: unknown version of XLA's interface");
  }
  if (device_type != kDLCPU) return RunOnDevice(frame, device_type);
  return RunCall(frame, NULL, TVMFFIDLDeviceFromIntPair(kDLCPU, 0));
}

/* ---- Handlers by platform ------------------------------------------------------------------ */

#define HANDLER(Name, device_type, traits)                                     \
  TVM_FFI_DLL_EXPORT XLA_FFI_Error* TVMFFIXla##Name(XLA_FFI_CallFrame* frame); \
  XLA_FFI_Error* TVMFFIXla##Name(XLA_FFI_CallFrame* frame) {                   \
    return Handle(frame, device_type, traits);                                 \
  }

HANDLER(CallCpu, kDLCPU, 0)
HANDLER(CallCuda, kDLCUDA, 0)
HANDLER(CallRocm, kDLROCM, 0)
/* For functions that always launch the same work: XLA may record them into a CUDA graph. */
HANDLER(CaptureCuda, kDLCUDA, XLA_FFI_Trait_CommandBufferCompatible)
HANDLER(CaptureRocm, kDLROCM, XLA_FFI_Trait_CommandBufferCompatible)

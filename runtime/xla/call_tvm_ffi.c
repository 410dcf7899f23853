/* SPDX-License-Identifier: Apache-2.0
 *
 * XLA custom-call handler of tvm_ffi.interop.jax: one handler for all functions.
 *
 * Two attributes of a call describe it; all other attributes are arguments:
 *
 *     __function    string: name of a global function
 *     __arguments   int32 array: the number of attributes; a checksum of the name and the other
 *                   attributes; then 16 * index + source for each argument, see call_arguments.c
 *
 * Outputs to which no argument refers receive the results of the function.  The handler is in a
 * separate library, since processes without XLA do not need it. */
#include <string.h>
#include <tvm/ffi/extra/c_host_call.h>

#include "call_arguments.h"
#include "device_memory.h"
#include "named_function.h"
#include "xla_error.h"

/* ---- Execution of one call ----------------------------------------------------------------- */

static XLA_FFI_Error* CallFunction(Call* call, const TVMFFIHostScope* scope) {
  const XLA_FFI_Api* api = call->frame->api;
  TVMFFIObjectHandle function = NULL, error = NULL;
  TVMFFIAny result;
  int code;
  memset(&result, 0, sizeof(result));
  if (FindNamedFunction(call->checksum, call->name, &function) != 0) {
    return PendingError(api, call->name, kNotFound);
  }
  code = TVMFFIHostCall(scope, function, call->values, call->num_arguments, &result, &error);
  if (code == 0 && call->num_returned == 0) {
    ReleaseValue(&result);
  } else if (code == 0) {
    code = TVMFFIHostMoveResults(&result, call->tensors + call->num_arguments, call->num_returned);
    if (code != 0) TVMFFIErrorMoveFromRaised(&error);
  }
  return code == 0 ? NULL : ErrorOf(api, call->name, error, 0);
}

static XLA_FFI_Error* ConversionError(const Call* call, int code) {
  const XLA_FFI_Api* api = call->frame->api;
  if (code == kRaised) return PendingError(api, call->name, 0);
  if (code == kNoSpace) return NewError(api, kOutOfMemory, "call_tvm_ffi: out of memory");
  if (code == kNoElementType) {
    return NewError(api, kUnimplemented,
                    "call_tvm_ffi: a buffer has an element type that DLPack lacks");
  }
  return NewError(api, kInvalidArgument,
                  "call_tvm_ffi: the attribute __arguments does not match the call");
}

/* Run the call that the frame describes.  scope: device, stream and allocator of the call; receives
 * the read-only tensors. */
static XLA_FFI_Error* RunCall(const XLA_FFI_CallFrame* frame, TVMFFIHostScope* scope,
                              DLDevice device) {
  const char* problem;
  XLA_FFI_Error* failed;
  CallStorage storage;
  Call call;
  int code;
  call.frame = frame;
  call.device = device;
  problem = ReadCallAttributes(&call);
  if (problem != NULL) return NewError(frame->api, kInvalidArgument, problem);
  code = PrepareArguments(&call, &storage);
  if (code != 0) return ConversionError(&call, code);
  scope->read_only = call.tensors;
  scope->num_read_only = (size_t)call.num_read_only;
  failed = CallFunction(&call, scope);
  ReleaseArguments(&call, &storage);
  return failed;
}

/* ---- Device and stream of a call ----------------------------------------------------------- */

#define API_HAS(api, Function) \
  ((api)->struct_size >= offsetof(XLA_FFI_Api, Function) + sizeof((api)->Function))

/* Set the device and the stream of `scope` for a call that runs on a device. */
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

/* Answer the metadata query that XLA makes before it accepts a handler.  XLA refuses to start with
 * a handler whose version is newer than XLA's, or older than XLA supports.  The answer is therefore
 * XLA's own version, and Handle checks the major version at each call. */
static void AnswerMetadata(const XLA_FFI_CallFrame* frame, XLA_FFI_Metadata* metadata,
                           uint32_t traits) {
  const XLA_FFI_Api* api = frame->api;
  metadata->api_version.major_version = api ? api->api_version.major_version : XLA_FFI_KNOWN_MAJOR;
  metadata->api_version.minor_version = api ? api->api_version.minor_version : XLA_FFI_OLDEST_MINOR;
  metadata->traits = traits;
}

/* Run a call on the CPU, without a stream and an allocator. */
static XLA_FFI_Error* RunOnCpu(const XLA_FFI_CallFrame* frame) {
  TVMFFIHostScope scope;
  memset(&scope, 0, sizeof(scope));
  scope.struct_size = sizeof(scope);
  return RunCall(frame, &scope, TVMFFIDLDeviceFromIntPair(kDLCPU, 0));
}

/* Run a call on a device, with XLA's stream and allocator. */
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
                      "call_tvm_ffi: a tensor that the function allocated in XLA's memory outlives "
                      "the call");
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
  return device_type == kDLCPU ? RunOnCpu(frame) : RunOnDevice(frame, device_type);
}

/* ---- Handlers, one per platform ------------------------------------------------------------ */

#define HANDLER(Name, device_type, traits)                                     \
  TVM_FFI_DLL_EXPORT XLA_FFI_Error* TVMFFIXla##Name(XLA_FFI_CallFrame* frame); \
  XLA_FFI_Error* TVMFFIXla##Name(XLA_FFI_CallFrame* frame) {                   \
    return Handle(frame, device_type, traits);                                 \
  }

HANDLER(CallCpu, kDLCPU, 0)
HANDLER(CallCuda, kDLCUDA, 0)
HANDLER(CallRocm, kDLROCM, 0)
/* Handlers for functions that launch the same work in each call, so XLA may capture them in a CUDA
 * graph. */
HANDLER(CaptureCuda, kDLCUDA, XLA_FFI_Trait_CommandBufferCompatible)
HANDLER(CaptureRocm, kDLROCM, XLA_FFI_Trait_CommandBufferCompatible)

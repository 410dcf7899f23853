/* SPDX-License-Identifier: Apache-2.0 */
#include "call_attributes.h"

#include <string.h>
#include <tvm/ffi/extra/c_host_call.h>

/* Convert a string attribute to an owned TVM FFI string.  A short string needs no allocation. */
static int SetString(const XLA_FFI_ByteSpan* text, TVMFFIAny* out) {
  TVMFFIByteArray bytes;
  bytes.data = text->ptr;
  bytes.size = text->len;
  return TVMFFIStringFromByteArray(&bytes, out) == 0 ? 0 : kRaised;
}

int SetAttribute(Call* call, int64_t index, TVMFFIAny* out, DLTensor* tensor) {
  const XLA_FFI_Attrs* attrs = &call->frame->attrs;
  const DLDevice cpu = {kDLCPU, 0};
  XLA_FFI_Array* array = attrs->values[index];
  if (attrs->types[index] == XLA_FFI_AttrType_Scalar) return SetScalar(attrs->values[index], out);
  if (attrs->types[index] == XLA_FFI_AttrType_String) return SetString(attrs->values[index], out);
  if (attrs->types[index] != XLA_FFI_AttrType_Array) return kBadProgram;
  out->type_index = kTVMFFIDLTensorPtr;
  out->v_ptr = tensor;
  return Describe(call, array->dtype, array->data, 1, (int64_t*)&array->size, cpu, tensor);
}

int SetFromJSONGraph(Call* call, int64_t index, TVMFFIAny* out) {
  static const char name[] = "ffi.FromJSONGraphString";
  TVMFFIByteArray bytes = {name, sizeof(name) - 1};
  TVMFFIObjectHandle parser = NULL;
  TVMFFIAny text;
  int code;
  if (call->frame->attrs.types[index] != XLA_FFI_AttrType_String) return kBadProgram;
  memset(&text, 0, sizeof(text));
  if (TVMFFIHostFindFunction(&bytes, &parser) != 0) return kRaised;
  code = SetString(call->frame->attrs.values[index], &text);
  if (code == 0) {
    code = TVMFFIFunctionCall(parser, &text, 1, out) == 0 ? 0 : kRaised;
    ReleaseValue(&text);
  }
  return code;
}

# SPDX-License-Identifier: Apache-2.0
"""C functions of exported programs: creation of values, calls, and checks of their results."""

from __future__ import annotations

__all__ = ["FOOTER", "HEADER"]

HEADER = r"""/* Calls of a recording:
 *
 *     cc calls.c $(tvm-ffi-config --cflags --ldflags --libs) -ldl -o calls \
 *         -Wl,-rpath,$(tvm-ffi-config --libdir)
 *
 * The status is 0 if each call ends as recorded and writes the recorded elements. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

static int differences = 0;

static void Differ(int call, const char* what) {
  printf("call %d: %s differs from the recording\n", call, what);
  ++differences;
}

/* The fields of an error, a string or a tensor follow the header of the object. */
static void* Cell(TVMFFIObjectHandle object) { return (char*)object + sizeof(TVMFFIObject); }

static char load_error[512] = "";

static void Exit(const char* where, const char* what) {
  TVMFFIObjectHandle error = NULL;
  fprintf(stderr, "%s: %s\n", where, what);
  if (*load_error != 0) fprintf(stderr, "%s\n", load_error);
  TVMFFIErrorMoveFromRaised(&error);
  if (error != NULL) {
    const TVMFFIErrorCell* cell = (const TVMFFIErrorCell*)Cell(error);
    fprintf(stderr, "%.*s\n", (int)cell->message.size, cell->message.data);
  }
  exit(2);
}

static void Release(TVMFFIAny* value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value->v_obj);
  memset(value, 0, sizeof(*value));
}

/* Keeps the result of a call for later calls. */
static void Keep(TVMFFIAny* object, TVMFFIAny* result, int status) {
  if (status != 0) return;
  Release(object);
  *object = *result;
}

static TVMFFIAny ValueOf(int32_t type_index, int64_t payload) {
  TVMFFIAny value;
  memset(&value, 0, sizeof(value));
  value.type_index = type_index;
  value.v_int64 = payload;
  return value;
}

/* Returns an owned string or bytes; a string without NUL is a `const char*`. */
static TVMFFIAny TextOf(int is_string, const char* text, size_t size) {
  TVMFFIByteArray bytes = {text, size};
  TVMFFIAny value = ValueOf(kTVMFFIRawStr, 0);
  value.v_c_str = text;
  if (is_string && strlen(text) == size) return value;
  if (is_string ? TVMFFIStringFromByteArray(&bytes, &value)
                : TVMFFIBytesFromByteArray(&bytes, &value)) {
    Exit("a string", "out of memory");
  }
  return value;
}

static TVMFFIAny ViewOf(DLTensor* tensor) {
  TVMFFIAny value = ValueOf(kTVMFFIDLTensorPtr, 0);
  value.v_ptr = tensor;
  return value;
}

static void NoDeleter(DLManagedTensor* managed) { free(managed); }

static TVMFFIAny TensorOf(DLTensor* tensor) {
  TVMFFIAny value = ValueOf(kTVMFFITensor, 0);
  TVMFFIObjectHandle handle = NULL;
  DLManagedTensor* managed = (DLManagedTensor*)calloc(1, sizeof(*managed));
  if (managed == NULL) Exit("a tensor", "out of memory");
  managed->dl_tensor = *tensor;
  managed->deleter = &NoDeleter;
  if (TVMFFITensorFromDLPack(managed, 0, 0, &handle)) Exit("a tensor", "cannot be created");
  value.v_obj = (TVMFFIObject*)handle;
  return value;
}

enum { WRITE, SAME, READ };

/* Writes the elements of a tensor, compares or reads them; `packed` has them in row-major order.
 * Returns 0 if they are not the same. */
static int Walk(const DLTensor* tensor, unsigned char* packed, int action) {
  int64_t index[64] = {0}, count = 1, compact[64];
  size_t bits = (size_t)tensor->dtype.bits * tensor->dtype.lanes, size = bits / 8;
  char* data = (char*)tensor->data + tensor->byte_offset;
  for (int i = tensor->ndim; i-- > 0;) {
    compact[i] = count;
    count *= tensor->shape[i];
  }
  if (bits % 8 != 0) { /* several elements in a byte */
    size = ((size_t)count * bits + 7) / 8;
    count = count == 0 ? 0 : 1;
  }
  for (int64_t i = 0; i < count; ++i) {
    char* element = data;
    for (int j = 0; j < tensor->ndim && bits % 8 == 0; ++j) {
      int64_t stride = tensor->strides == NULL ? compact[j] : tensor->strides[j];
      element += index[j] * stride * (int64_t)size;
    }
    if (action == WRITE) memcpy(element, packed, size);
    if (action == READ) memcpy(packed, element, size);
    if (action == SAME && memcmp(packed, element, size) != 0) return 0;
    packed += size;
    for (int j = tensor->ndim; j-- > 0;) {
      if (++index[j] < tensor->shape[j]) break;
      index[j] = 0;
    }
  }
  return 1;
}

static TVMFFIObjectHandle GlobalFunction(const char* name) {
  TVMFFIByteArray bytes = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionGetGlobal(&bytes, &function)) Exit(name, "no function has this name");
  return function;
}

/* Returns the method "type_key.method", or NULL; borrowed. */
static TVMFFIObjectHandle Method(const char* name) {
  const char* method = strrchr(name, '.');
  TVMFFIByteArray key = {name, method == NULL ? 0 : (size_t)(method - name)};
  TVMFFIObjectHandle error = NULL;
  int32_t index = -1;
  if (method == NULL || TVMFFITypeKeyToIndex(&key, &index) != 0) {
    TVMFFIErrorMoveFromRaised(&error);
    if (error != NULL) TVMFFIObjectDecRef(error);
    return NULL;
  }
  const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(index);
  for (int32_t i = 0; i < type->num_methods; ++i) {
    const TVMFFIMethodInfo* info = &type->methods[i];
    if (info->name.size != strlen(method + 1)) continue;
    if (memcmp(info->name.data, method + 1, info->name.size) == 0) return info->method.v_obj;
  }
  return NULL;
}

/* Loads a library, which may register functions; NULL if that fails. */
static void* Load(const char* library) {
  void* loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == NULL) snprintf(load_error, sizeof(load_error), "%s", dlerror());
  return loaded;
}

/* Calls a function; if it is NULL, a symbol of the library, a method or a global function. */
static int Call(int number, const char* library, const char* name, TVMFFIObjectHandle function,
                const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  char symbol[512];
  void* loaded = library == NULL ? NULL : Load(library);
  snprintf(symbol, sizeof(symbol), "__tvm_ffi_%s", name);
  TVMFFISafeCallType call = loaded ? (TVMFFISafeCallType)dlsym(loaded, symbol) : NULL;
  printf("call %d: %s\n", number, name);
  fflush(stdout); /* the last line names the call that crashes */
  if (call != NULL && function == NULL) return call(NULL, args, num_args, result);
  if (function == NULL) function = Method(name);
  if (function != NULL) return TVMFFIFunctionCall(function, (TVMFFIAny*)args, num_args, result);
  function = GlobalFunction(name);
  if (function == NULL) Exit(name, "no function has this name");
  int status = TVMFFIFunctionCall(function, (TVMFFIAny*)args, num_args, result);
  TVMFFIObjectDecRef(function);
  return status;
}

/* Returns a new container; releases the parts. */
static TVMFFIAny Container(const char* type_key, TVMFFIAny* parts, int32_t num_parts) {
  TVMFFIAny result = ValueOf(kTVMFFINone, 0);
  TVMFFIObjectHandle function = GlobalFunction(type_key);
  if (function == NULL || TVMFFIFunctionCall(function, parts, num_parts, &result)) {
    Exit(type_key, "cannot be created");
  }
  TVMFFIObjectDecRef(function);
  return result;
}

static void CheckValue(int call, const TVMFFIAny* result, int32_t type_index, int64_t payload) {
  if (result->type_index == type_index && result->v_int64 == payload) return;
  double number;
  memcpy(&number, &payload, sizeof(number));
  int is_nan = type_index == kTVMFFIFloat && number != number;
  if (is_nan && result->type_index == kTVMFFIFloat && result->v_float64 != result->v_float64) {
    return;
  }
  Differ(call, "the result");
}

static void CheckText(int call, const TVMFFIAny* result, int is_string, const char* text,
                      size_t size) {
  int32_t index = result->type_index;
  int is_small = index == kTVMFFISmallStr || index == kTVMFFISmallBytes;
  TVMFFIByteArray bytes = {result->v_bytes, result->small_str_len};
  if (index == kTVMFFIStr || index == kTVMFFIBytes) {
    bytes = *(TVMFFIByteArray*)Cell(result->v_obj);
  } else if (!is_small) {
    bytes.size = size + 1;
  }
  int has_string = index == kTVMFFIStr || index == kTVMFFISmallStr;
  if (has_string != is_string || bytes.size != size || memcmp(bytes.data, text, size) != 0) {
    Differ(call, "the result");
  }
}

static void CheckError(int call, const char* kind, const char* message) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return Differ(call, "the error");
  const TVMFFIErrorCell* cell = (const TVMFFIErrorCell*)Cell(error);
  if (strlen(kind) != cell->kind.size || memcmp(kind, cell->kind.data, cell->kind.size) != 0 ||
      strlen(message) != cell->message.size ||
      memcmp(message, cell->message.data, cell->message.size) != 0) {
    Differ(call, "the error");
  }
  TVMFFIObjectDecRef(error);
}

/* Copies the elements of a result to the memory that later calls pass, and compares them. */
static void CheckTensor(int call, const TVMFFIAny* result, DLTensor* view,
                        unsigned char* content) {
  if (result->type_index != kTVMFFITensor) return Differ(call, "the result");
  DLTensor* tensor = (DLTensor*)Cell(result->v_obj);
  size_t size = ((size_t)view->dtype.bits * view->dtype.lanes + 7) / 8;
  if (tensor->ndim != view->ndim) return Differ(call, "the result");
  for (int i = 0; i < view->ndim; ++i) {
    if (tensor->shape[i] != view->shape[i]) return Differ(call, "the shape of the result");
    size *= (size_t)view->shape[i];
  }
  if (memcmp(&tensor->dtype, &view->dtype, sizeof(DLDataType)) != 0) {
    return Differ(call, "the dtype of the result");
  }
  unsigned char* packed = (unsigned char*)malloc(size + 1);
  if (packed == NULL) Exit("a result", "out of memory");
  Walk(tensor, packed, READ);
  if (view->data != NULL) Walk(view, packed, WRITE);
  free(packed);
  if (content != NULL && !Walk(tensor, content, SAME)) Differ(call, "the result");
}

"""

FOOTER = r"""
int main(void) {
%s  printf(differences ? "different\n" : "as recorded\n");
  return differences != 0;
}
"""

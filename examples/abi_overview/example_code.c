/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of the ABI in C11: values, objects, tensors, functions, strings and errors.
 *
 * The functions between marks such as [Object.Destroy.begin] and [Object.Destroy.end] are code as a
 * code generator or a language binding contains it; the documentation quotes them.  The demo_
 * functions after them run each operation and CHECK its effects, including reference counts.
 *
 * Ownership: a variable of type TVMFFIAny or TVMFFIObjectHandle either owns a reference or borrows
 * it; its bits do not show which.  Functions for both cases have the parameter IS_OWNING_ANY: true
 * for an Any that owns a reference, false for a view (AnyView).
 *
 * Failure: functions that return int return 0 on success, -1 on failure; after a failure the
 * thread's error slot contains the error. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

/* ---- Errors: raise, take, print ------------------------------------------------------------- */

/* [Error.RaiseException.begin] */
/* Raise an error: fill the thread's error slot and return -1.  The strings are copied. */
static int raise_out_of_memory(void) {
  TVMFFIErrorSetRaisedFromCStr("MemoryError", "example: out of memory");
  return -1;
}

/* Raise an error with a message that the runtime joins from parts. */
static int raise_type_mismatch(const char* expected, const TVMFFIAny* received) {
  const char* type_key = TVMFFIGetTypeInfo(received->type_index)->type_key.data;
  const char* parts[] = {"expected `", expected, "`, got `", type_key, "`"};
  TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, 5);
  return -1;
}
/* [Error.RaiseException.end] */

/* [Error.HandleReturnCode.begin] */
/* Move the pending error out of the thread's error slot after a call.  Returns an owned Error; NULL
 * after success, and if the exception is pending in the host language (return code -2). */
static TVMFFIObjectHandle take_error(int return_code) {
  TVMFFIObjectHandle error = NULL;
  if (return_code != 0) TVMFFIErrorMoveFromRaised(&error);
  return error;
}
/* [Error.HandleReturnCode.end] */

/* [Error.Print.begin] */
/* Print the lines of a backtrace in reverse order: its first line is the most recent call, which
 * Python prints last. */
static void print_lines_reversed(FILE* stream, TVMFFIByteArray text) {
  size_t end = text.size;
  while (end > 0) {
    size_t start = end - 1;
    while (start > 0 && text.data[start - 1] != '\n') --start;
    size_t length = end - start - (text.data[end - 1] == '\n');
    fprintf(stream, "%.*s\n", (int)length, text.data + start);
    end = start;
  }
}

/* Return the cell of an Error, which follows the object header. */
static const TVMFFIErrorCell* error_cell(TVMFFIObjectHandle error) {
  return (const TVMFFIErrorCell*)((const TVMFFIObject*)error + 1);
}

/* Print an Error.  Its strings are not NUL-terminated, so they are printed with their sizes. */
static void print_error(FILE* stream, TVMFFIObjectHandle error) {
  const TVMFFIErrorCell* cell = error_cell(error);
  if (cell->backtrace.size > 0) fprintf(stream, "Traceback (most recent call last):\n");
  print_lines_reversed(stream, cell->backtrace);
  fprintf(stream, "%.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size,
          cell->message.data);
}
/* [Error.Print.end] */

/* ---- Any: construct, destroy, extract ------------------------------------------------------- */

/* [Any_AnyView.FromInt_Float.begin] */
/* These functions write all 16 bytes of an Any, because equality and hash use the bytes. */
static TVMFFIAny any_none(void) {
  TVMFFIAny any;
  any.type_index = kTVMFFINone;
  any.zero_padding = 0;
  any.v_int64 = 0;
  return any;
}

static TVMFFIAny any_from_int(int64_t value) {
  TVMFFIAny any;
  any.type_index = kTVMFFIInt;
  any.zero_padding = 0;
  any.v_int64 = value;
  return any;
}

static TVMFFIAny any_from_float(double value) {
  TVMFFIAny any;
  any.type_index = kTVMFFIFloat;
  any.zero_padding = 0;
  any.v_float64 = value;
  return any;
}
/* [Any_AnyView.FromInt_Float.end] */

/* [Any_AnyView.FromObjectPtr.begin] */
/* Return an Any of a borrowed object.  NULL becomes None: an Any must not contain a NULL object. */
static TVMFFIAny any_from_object(TVMFFIObjectHandle object, bool IS_OWNING_ANY) {
  if (object == NULL) return any_none();
  TVMFFIAny any;
  any.type_index = ((const TVMFFIObject*)object)->type_index;
  any.zero_padding = 0;
  any.v_uint64 = 0; /* a 32-bit pointer uses only half of the payload */
  any.v_obj = object;
  if (IS_OWNING_ANY) TVMFFIObjectIncRef(object);
  return any;
}
/* [Any_AnyView.FromObjectPtr.end] */

/* [Any_AnyView.Destroy.begin] */
/* Release the object of an owning Any.  Values with type indices below kTVMFFIStaticObjectBegin
 * contain no object. */
static void any_destroy(TVMFFIAny* any, bool IS_OWNING_ANY) {
  if (IS_OWNING_ANY && any->type_index >= kTVMFFIStaticObjectBegin) {
    TVMFFIObjectDecRef(any->v_obj);
  }
  *any = any_none(); /* the Any is None now, so destroying it again has no effect */
}
/* [Any_AnyView.Destroy.end] */

/* [Any_AnyView.GetInt_Float.begin] */
static int any_get_int(const TVMFFIAny* any, int64_t* out) {
  switch (any->type_index) {
    case kTVMFFIInt:
    case kTVMFFIBool: /* a bool converts to the float 0 or 1 */
      *out = any->v_int64;
      return 0;
    default:
      return raise_type_mismatch("int", any);
  }
}

static int any_get_float(const TVMFFIAny* any, double* out) {
  switch (any->type_index) {
    case kTVMFFIFloat:
      *out = any->v_float64;
      return 0;
    case kTVMFFIInt: /* integers and bools convert; their payload is an int64_t */
    case kTVMFFIBool:
      *out = (double)any->v_int64;
      return 0;
    default:
      return raise_type_mismatch("float", any);
  }
}
/* [Any_AnyView.GetInt_Float.end] */

/* [Any_AnyView.GetDLTensor.begin] */
/* Write the DLTensor of a tensor argument to *out, borrowed from the argument.  The argument is a
 * DLTensor* or a Tensor object, whose DLTensor follows the object header. */
static int any_get_dltensor(const TVMFFIAny* any, DLTensor** out) {
  switch (any->type_index) {
    case kTVMFFIDLTensorPtr:
      *out = (DLTensor*)any->v_ptr;
      return 0;
    case kTVMFFITensor:
      *out = (DLTensor*)(any->v_obj + 1);
      return 0;
    default:
      return raise_type_mismatch("DLTensor*", any);
  }
}
/* [Any_AnyView.GetDLTensor.end] */

/* [Object.IsInstance.begin] */
/* Return true if a type is the ancestor type or derived from it.  type_ancestors[d] is the ancestor
 * of depth d, so one comparison is sufficient. */
static bool is_instance(int32_t type_index, int32_t ancestor_index) {
  if (type_index == ancestor_index) return true;
  if (type_index < kTVMFFIStaticObjectBegin || ancestor_index < kTVMFFIStaticObjectBegin) {
    return false; /* only object types have ancestors */
  }
  const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(type_index);
  const TVMFFITypeInfo* ancestor = TVMFFIGetTypeInfo(ancestor_index);
  return type->type_depth > ancestor->type_depth &&
         type->type_ancestors[ancestor->type_depth]->type_index == ancestor_index;
}
/* [Object.IsInstance.end] */

/* [Any_AnyView.GetObject.begin] */
/* Write the object of an Any to *out if it has the expected type.  *out is borrowed until the Any
 * is destroyed. */
static int any_get_object(const TVMFFIAny* any, int32_t expected_type, TVMFFIObjectHandle* out) {
  if (any->type_index < kTVMFFIStaticObjectBegin || !is_instance(any->type_index, expected_type)) {
    return raise_type_mismatch(TVMFFIGetTypeInfo(expected_type)->type_key.data, any);
  }
  *out = any->v_obj;
  return 0;
}
/* [Any_AnyView.GetObject.end] */

/* ---- Objects: move, release ----------------------------------------------------------------- */

/* [Object.MoveFromAny.begin] */
/* Write an owned reference to the object of an Any to *out.  An owning Any moves its reference and
 * becomes None; for a view, a new reference is added. */
static int object_move_from_any(TVMFFIAny* any, bool IS_OWNING_ANY, TVMFFIObjectHandle* out) {
  if (any->type_index < kTVMFFIStaticObjectBegin) return raise_type_mismatch("ffi.Object", any);
  *out = any->v_obj;
  if (IS_OWNING_ANY) {
    *any = any_none();
  } else {
    TVMFFIObjectIncRef(*out);
  }
  return 0;
}
/* [Object.MoveFromAny.end] */

/* [Object.Destroy.begin] */
/* Release an owned reference; NULL is allowed.  The last release destroys the object. */
static void object_release(TVMFFIObjectHandle object) { TVMFFIObjectDecRef(object); }
/* [Object.Destroy.end] */

/* ---- Tensors -------------------------------------------------------------------------------- */

/* [Tensor.AccessDLTensor.begin] */
/* Return the DLTensor of a Tensor object, borrowed until the object is released. */
static DLTensor* tensor_borrow_dltensor(TVMFFIObjectHandle tensor) {
  return (DLTensor*)((TVMFFIObject*)tensor + 1);
}

static int64_t num_elements(const DLTensor* tensor) {
  int64_t count = 1;
  for (int32_t dim = 0; dim < tensor->ndim; ++dim) count *= tensor->shape[dim];
  return count;
}

/* Return the address of the first element, byte_offset bytes after data. */
static void* first_element(const DLTensor* tensor) {
  return (char*)tensor->data + tensor->byte_offset;
}
/* [Tensor.AccessDLTensor.end] */

/* [Tensor_FromDLPack.begin] */
/* Convert a DLPack tensor to a Tensor without copying elements.
 *
 * from   consumed, even if the call fails.
 * out    receives an owned Tensor, which calls from->deleter when it is destroyed. */
static int tensor_from_dlpack(DLManagedTensorVersioned* from, TVMFFIObjectHandle* out) {
  int32_t require_alignment = 0; /* alignment in bytes; 0 accepts any alignment */
  int32_t require_contiguous = 0;
  int code = -1;
  /* Only the field `deleter` is known in tensors of another major version. */
  if (from->version.major != DLPACK_MAJOR_VERSION) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "tensor of an unknown major version of DLPack");
  } else {
    code = TVMFFITensorFromDLPackVersioned(from, require_alignment, require_contiguous, out);
  }
  if (code != 0 && from->deleter != NULL) from->deleter(from); /* the call has not consumed it */
  return code;
}
/* [Tensor_FromDLPack.end] */

/* [Tensor_Alloc.begin] */
/* Allocate a compact float32 tensor on the CPU with the current allocator: the allocator of the
 * calling framework, or the built-in allocator.  *out receives an owned Tensor. */
static int tensor_alloc(const int64_t* shape, int32_t ndim, TVMFFIObjectHandle* out) {
  DLTensor prototype;
  prototype.data = NULL; /* ignored */
  prototype.device.device_type = kDLCPU;
  prototype.device.device_id = 0;
  prototype.ndim = ndim;
  prototype.dtype.code = kDLFloat;
  prototype.dtype.bits = 32;
  prototype.dtype.lanes = 1;
  prototype.shape = (int64_t*)shape; /* the shape is only read, but the struct has no const */
  prototype.strides = NULL;          /* ignored */
  prototype.byte_offset = 0;
  return TVMFFIEnvTensorAlloc(&prototype, out);
}
/* [Tensor_Alloc.end] */

/* [Tensor_ToDLPackVersioned.begin] */
/* Export a tensor to a DLPack consumer.  *out owns a reference to the tensor; the consumer owns
 * *out and calls (*out)->deleter(*out) to release it. */
static int tensor_to_dlpack(TVMFFIObjectHandle tensor, DLManagedTensorVersioned** out) {
  return TVMFFITensorToDLPackVersioned(tensor, out);
}
/* [Tensor_ToDLPackVersioned.end] */

/* ---- Functions ------------------------------------------------------------------------------ */

/* [Function.Construct.begin] */
/* The C function of a function object with a closure: `self` points to a factor by which it
 * multiplies its argument. */
static int scale_call(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  double value;
  if (num_args != 1) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "scale(value) takes exactly 1 argument");
    return -1;
  }
  if (any_get_float(&args[0], &value) != 0) return -1;
  *result = any_from_float(*(const double*)self * value);
  return 0;
}

/* Create the function object.  *out receives an owned Function, which frees the factor when it is
 * destroyed. */
static int function_create_scale(double factor, TVMFFIObjectHandle* out) {
  double* self = malloc(sizeof(*self));
  if (self == NULL) return raise_out_of_memory();
  *self = factor;
  int code = TVMFFIFunctionCreate(self, scale_call, free, out);
  if (code != 0) free(self); /* a failed call has not consumed the closure */
  return code;
}

/* The C function of a function object without a closure: it returns its argument.  The argument is
 * borrowed and the result is owned, so TVMFFIAnyViewToOwnedAny adds a reference or copies a raw
 * string. */
static int identity_call(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle; /* the function object itself, because there is no closure */
  if (num_args != 1) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "identity(value) takes exactly 1 argument");
    return -1;
  }
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

static int function_create_identity(TVMFFIObjectHandle* out) {
  return TVMFFIFunctionCreate(NULL, identity_call, NULL, out);
}
/* [Function.Construct.end] */

/* [Function.GetGlobal.begin] */
/* Look up a global function.  *out receives an owned Function, or NULL if no function has this
 * name, which is not an error. */
static int function_get_global(const char* name, TVMFFIObjectHandle* out) {
  TVMFFIByteArray key = {name, strlen(name)};
  return TVMFFIFunctionGetGlobal(&key, out);
}
/* [Function.GetGlobal.end] */

/* [Function.SetGlobal.begin] */
/* Register a global function; the table of global functions adds a reference.  Fails if the name is
 * registered already. */
static int function_set_global(const char* name, TVMFFIObjectHandle function) {
  TVMFFIByteArray key = {name, strlen(name)};
  int allow_override = 0;
  return TVMFFIFunctionSetGlobal(&key, function, allow_override);
}
/* [Function.SetGlobal.end] */

/* [Function.Call.begin] */
/* Call the function scale(value).  The callee borrows the arguments; the caller owns the result. */
static int function_call_scale(TVMFFIObjectHandle scale, int64_t value, double* out) {
  TVMFFIAny args[] = {any_from_int(value)};
  TVMFFIAny result = any_none(); /* None, not an object, because the callee overwrites the result */
  if (TVMFFIFunctionCall(scale, args, 1, &result) != 0) return -1; /* the error stays pending */
  int code = any_get_float(&result, out);
  any_destroy(&result, true);
  return code;
}
/* [Function.Call.end] */

/* ---- Strings and bytes ---------------------------------------------------------------------- */

/* [String.Construct.begin] */
/* Return a value that borrows a C string, for use as an argument. */
static TVMFFIAny any_view_of_c_str(const char* text) {
  TVMFFIAny any = any_none();
  any.type_index = kTVMFFIRawStr;
  any.v_c_str = text;
  return any;
}

/* Return a value that borrows bytes, for use as an argument.  The struct TVMFFIByteArray is
 * borrowed as well. */
static TVMFFIAny any_view_of_bytes(TVMFFIByteArray* bytes) {
  TVMFFIAny any = any_none();
  any.type_index = kTVMFFIByteArrayPtr;
  any.v_ptr = bytes;
  return any;
}

/* Create an owned string: up to 7 bytes are stored in the Any, longer strings in a new object.  The
 * string may contain NUL bytes. */
static int any_from_string(const char* data, size_t size, TVMFFIAny* out) {
  TVMFFIByteArray content = {data, size};
  return TVMFFIStringFromByteArray(&content, out);
}

static int any_from_bytes(const char* data, size_t size, TVMFFIAny* out) {
  TVMFFIByteArray content = {data, size};
  return TVMFFIBytesFromByteArray(&content, out);
}
/* [String.Construct.end] */

/* [String.Read.begin] */
/* Read a string.  *out is borrowed until *any is destroyed or moved: a small string is stored in
 * *any itself. */
static int any_get_string(const TVMFFIAny* any, TVMFFIByteArray* out) {
  switch (any->type_index) {
    case kTVMFFIRawStr:
      out->data = any->v_c_str;
      out->size = strlen(any->v_c_str);
      return 0;
    case kTVMFFISmallStr:
      out->data = any->v_bytes;
      out->size = any->small_str_len;
      return 0;
    case kTVMFFIStr: /* a TVMFFIByteArray follows the object header */
      *out = *(const TVMFFIByteArray*)(any->v_obj + 1);
      return 0;
    default:
      return raise_type_mismatch("str", any);
  }
}

static int any_get_bytes(const TVMFFIAny* any, TVMFFIByteArray* out) {
  switch (any->type_index) {
    case kTVMFFIByteArrayPtr:
      *out = *(const TVMFFIByteArray*)any->v_ptr;
      return 0;
    case kTVMFFISmallBytes:
      out->data = any->v_bytes;
      out->size = any->small_str_len;
      return 0;
    case kTVMFFIBytes:
      *out = *(const TVMFFIByteArray*)(any->v_obj + 1);
      return 0;
    default:
      return raise_type_mismatch("bytes", any);
  }
}
/* [String.Read.end] */

/* ==== Checks of the operations above ========================================================= */

/* Report a failed CHECK: print its condition and the pending error, and exit with status 1. */
static void check_failed(const char* condition, int line) {
  fprintf(stderr, "example_code.c:%d: CHECK(%s) failed\n", line, condition);
  TVMFFIObjectHandle error = take_error(-1);
  if (error != NULL) print_error(stderr, error);
  object_release(error);
  exit(EXIT_FAILURE);
}

#define CHECK(condition) ((condition) ? (void)0 : check_failed(#condition, __LINE__))

static bool bytes_equal(TVMFFIByteArray bytes, const char* data, size_t size) {
  return bytes.size == size && memcmp(bytes.data, data, size) == 0;
}

static bool text_equal(TVMFFIByteArray bytes, const char* text) {
  return bytes_equal(bytes, text, strlen(text));
}

/* Return the number of strong references, the lower half of the counter.  A non-atomic read is
 * sufficient, because this program has one thread. */
static uint32_t strong_count(TVMFFIObjectHandle object) {
  return (uint32_t)((const TVMFFIObject*)object)->combined_ref_count;
}

/* Return true if a call failed with this error kind and message (NULL: any message); clear the
 * error. */
static bool failed_with(int return_code, const char* kind, const char* message) {
  TVMFFIObjectHandle error = take_error(return_code);
  if (error == NULL) return false;
  const TVMFFIErrorCell* cell = error_cell(error);
  bool matches =
      text_equal(cell->kind, kind) && (message == NULL || text_equal(cell->message, message));
  object_release(error);
  return matches;
}

/* Create an object for the demonstrations, a Function with one reference. */
static TVMFFIObjectHandle new_object(void) {
  TVMFFIObjectHandle object = NULL;
  CHECK(function_create_identity(&object) == 0);
  CHECK(strong_count(object) == 1);
  return object;
}

/* ---- Producer of DLPack tensors ---- */

enum { kMaxDims = 4 };

/* Tensor of a third-party library.  `managed` is the first field, so it has the address of the
 * struct. */
typedef struct ForeignTensor {
  DLManagedTensorVersioned managed;
  int64_t shape[kMaxDims];
  int64_t strides[kMaxDims];
} ForeignTensor;

static int num_foreign_tensors = 0; /* number of ForeignTensors that are not yet deleted */

static void foreign_tensor_delete(DLManagedTensorVersioned* self) {
  free(self->dl_tensor.data);
  free(self->manager_ctx);
  --num_foreign_tensors;
}

/* Initialize a compact tensor with the shape, dtype and device of the prototype, without data. */
static void foreign_tensor_init(ForeignTensor* tensor, const DLTensor* prototype) {
  DLManagedTensorVersioned* managed = &tensor->managed;
  managed->version.major = DLPACK_MAJOR_VERSION;
  managed->version.minor = DLPACK_MINOR_VERSION;
  managed->manager_ctx = tensor;
  managed->deleter = foreign_tensor_delete;
  managed->flags = 0;
  managed->dl_tensor = *prototype;
  managed->dl_tensor.shape = tensor->shape;
  managed->dl_tensor.strides = tensor->strides;
  managed->dl_tensor.byte_offset = 0;
  int64_t step = 1;
  for (int32_t dim = prototype->ndim - 1; dim >= 0; --dim) {
    tensor->shape[dim] = prototype->shape[dim];
    tensor->strides[dim] = step;
    step *= prototype->shape[dim];
  }
}

/* An allocator of type DLPackManagedTensorAllocator, as a framework provides it.  It reports errors
 * with SetError and returns -1. */
static int foreign_tensor_alloc(DLTensor* prototype, DLManagedTensorVersioned** out,
                                void* error_ctx,
                                void (*SetError)(void* error_ctx, const char* kind,
                                                 const char* message)) {
  if (prototype->device.device_type != kDLCPU || prototype->ndim > kMaxDims) {
    SetError(error_ctx, "ValueError", "example allocator: CPU tensors up to 4 dimensions only");
    return -1;
  }
  size_t element_bytes = (size_t)prototype->dtype.bits * prototype->dtype.lanes / 8;
  ForeignTensor* tensor = malloc(sizeof(*tensor));
  void* data = calloc((size_t)num_elements(prototype), element_bytes);
  if (tensor == NULL || data == NULL) {
    free(tensor);
    free(data);
    SetError(error_ctx, "MemoryError", "example allocator: out of memory");
    return -1;
  }
  foreign_tensor_init(tensor, prototype);
  tensor->managed.dl_tensor.data = data;
  ++num_foreign_tensors;
  *out = &tensor->managed;
  return 0;
}

/* SetError callback for allocations that are not expected to fail; the failed CHECK prints the
 * error. */
static void unexpected_error(void* error_ctx, const char* kind, const char* message) {
  (void)error_ctx;
  TVMFFIErrorSetRaisedFromCStr(kind, message);
}

/* Create a third-party 2 x 3 float32 tensor with the elements 0, 1, ..., 5. */
static DLManagedTensorVersioned* new_foreign_tensor(void) {
  int64_t shape[] = {2, 3};
  DLTensor prototype = {
      .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
  DLManagedTensorVersioned* tensor = NULL;
  CHECK(foreign_tensor_alloc(&prototype, &tensor, NULL, unexpected_error) == 0);
  for (int i = 0; i < 6; ++i) ((float*)tensor->dl_tensor.data)[i] = (float)i;
  return tensor;
}

/* ---- Demonstrations ---- */

static void demo_any_of_numbers(void) {
  TVMFFIAny seven = any_from_int(7), half = any_from_float(0.5);
  CHECK(seven.type_index == kTVMFFIInt && seven.zero_padding == 0 && seven.v_int64 == 7);
  CHECK(half.type_index == kTVMFFIFloat && half.zero_padding == 0 && half.v_float64 == 0.5);

  int64_t integer = 0;
  double number = 0;
  CHECK(any_get_int(&seven, &integer) == 0 && integer == 7);
  CHECK(any_get_float(&half, &number) == 0 && number == 0.5);
  /* An int converts to a float, but a float does not convert to an int. */
  CHECK(any_get_float(&seven, &number) == 0 && number == 7.0);
  CHECK(failed_with(any_get_int(&half, &integer), "TypeError", "expected `int`, got `float`"));

  any_destroy(&seven, true);
  CHECK(seven.type_index == kTVMFFINone && seven.v_int64 == 0);
}

static void demo_any_of_objects(void) {
  TVMFFIObjectHandle object = new_object();
  TVMFFIAny view = any_from_object(object, false);
  CHECK(view.type_index == kTVMFFIFunction && view.v_obj == object);
  CHECK(strong_count(object) == 1);
  TVMFFIAny owned = any_from_object(object, true);
  CHECK(strong_count(object) == 2);

  TVMFFIObjectHandle borrowed = NULL;
  CHECK(any_get_object(&view, kTVMFFIFunction, &borrowed) == 0 && borrowed == object);
  CHECK(any_get_object(&view, kTVMFFIObject, &borrowed) == 0); /* an ancestor type */
  CHECK(failed_with(any_get_object(&view, kTVMFFITensor, &borrowed), "TypeError",
                    "expected `ffi.Tensor`, got `ffi.Function`"));

  any_destroy(&view, false);
  CHECK(strong_count(object) == 2);
  any_destroy(&owned, true);
  CHECK(strong_count(object) == 1);
  CHECK(any_from_object(NULL, true).type_index == kTVMFFINone);
  object_release(object);
}

static void demo_object_ownership(void) {
  TVMFFIObjectHandle object = new_object(), moved = NULL, shared = NULL;
  TVMFFIAny owned = any_from_object(object, true), view = any_from_object(object, false);

  CHECK(object_move_from_any(&owned, true, &moved) == 0 && moved == object);
  /* The reference was moved, so the number of references is unchanged. */
  CHECK(owned.type_index == kTVMFFINone && strong_count(object) == 2);
  CHECK(object_move_from_any(&view, false, &shared) == 0 && shared == object);
  CHECK(view.v_obj == object && strong_count(object) == 3);
  CHECK(failed_with(object_move_from_any(&owned, true, &moved), "TypeError",
                    "expected `ffi.Object`, got `None`"));

  object_release(shared);
  object_release(moved);
  CHECK(strong_count(object) == 1);
  object_release(object);
  object_release(NULL);
}

/* Register a type and return its index; a registered type key returns its existing index. */
static int32_t register_type(const char* key, int32_t depth, int32_t parent) {
  TVMFFIByteArray type_key = {key, strlen(key)};
  int32_t no_static_index = -1, child_slots = 0, can_overflow = 1;
  return TVMFFITypeGetOrAllocIndex(&type_key, no_static_index, depth, child_slots, can_overflow,
                                   parent);
}

static void demo_instance_check(void) {
  int32_t node = register_type("example.Node", 1, kTVMFFIObject);
  int32_t leaf = register_type("example.Leaf", 2, node);
  int32_t other = register_type("example.Other", 1, kTVMFFIObject);
  CHECK(node >= kTVMFFIDynObjectBegin && leaf > node);
  CHECK(register_type("example.Node", 1, kTVMFFIObject) == node);

  CHECK(is_instance(leaf, leaf) && is_instance(leaf, node) && is_instance(leaf, kTVMFFIObject));
  CHECK(!is_instance(node, leaf) && !is_instance(leaf, other) && !is_instance(other, node));
  CHECK(is_instance(kTVMFFITensor, kTVMFFIObject) && !is_instance(kTVMFFIObject, kTVMFFITensor));
  CHECK(is_instance(kTVMFFIInt, kTVMFFIInt) && !is_instance(kTVMFFIInt, kTVMFFIObject));

  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(leaf);
  CHECK(text_equal(info->type_key, "example.Leaf") && info->type_depth == 2);
  CHECK(info->type_ancestors[0]->type_index == kTVMFFIObject);
  CHECK(info->type_ancestors[1]->type_index == node);
}

static void demo_dltensor_of_both_kinds(void) {
  DLManagedTensorVersioned* source = new_foreign_tensor();
  TVMFFIAny as_pointer = any_none();
  as_pointer.type_index = kTVMFFIDLTensorPtr;
  as_pointer.v_ptr = &source->dl_tensor;

  DLTensor* dltensor = NULL;
  CHECK(any_get_dltensor(&as_pointer, &dltensor) == 0 && dltensor == &source->dl_tensor);

  TVMFFIObjectHandle tensor = NULL;
  CHECK(tensor_from_dlpack(source, &tensor) == 0);
  TVMFFIAny as_object = any_from_object(tensor, false);
  CHECK(any_get_dltensor(&as_object, &dltensor) == 0);
  CHECK(dltensor == tensor_borrow_dltensor(tensor));

  TVMFFIAny number = any_from_int(1);
  CHECK(failed_with(any_get_dltensor(&number, &dltensor), "TypeError",
                    "expected `DLTensor*`, got `int`"));
  object_release(tensor);
  CHECK(num_foreign_tensors == 0);
}

static void demo_tensor_from_dlpack(void) {
  DLManagedTensorVersioned* source = new_foreign_tensor();
  void* data = source->dl_tensor.data;
  TVMFFIObjectHandle tensor = NULL;
  CHECK(tensor_from_dlpack(source, &tensor) == 0);

  const DLTensor* dltensor = tensor_borrow_dltensor(tensor);
  CHECK(first_element(dltensor) == data); /* the memory is shared, not copied */
  CHECK(dltensor->ndim == 2 && dltensor->shape[0] == 2 && dltensor->shape[1] == 3);
  CHECK(dltensor->strides[0] == 3 && dltensor->strides[1] == 1 && num_elements(dltensor) == 6);
  CHECK(dltensor->device.device_type == kDLCPU && dltensor->device.device_id == 0);
  CHECK(dltensor->dtype.code == kDLFloat && dltensor->dtype.bits == 32);
  CHECK(((const float*)first_element(dltensor))[5] == 5.0f);

  CHECK(num_foreign_tensors == 1);
  object_release(tensor);
  CHECK(num_foreign_tensors == 0);
}

static void demo_tensor_from_unknown_dlpack(void) {
  DLManagedTensorVersioned* source = new_foreign_tensor();
  source->version.major = DLPACK_MAJOR_VERSION + 1;
  TVMFFIObjectHandle tensor = NULL;
  CHECK(failed_with(tensor_from_dlpack(source, &tensor), "ValueError",
                    "tensor of an unknown major version of DLPack"));
  CHECK(tensor == NULL && num_foreign_tensors == 0);
}

static void demo_tensor_to_dlpack(void) {
  TVMFFIObjectHandle tensor = NULL;
  CHECK(tensor_from_dlpack(new_foreign_tensor(), &tensor) == 0);
  DLManagedTensorVersioned* exported = NULL;
  CHECK(tensor_to_dlpack(tensor, &exported) == 0);
  CHECK(strong_count(tensor) == 2);
  CHECK(exported->version.major == DLPACK_MAJOR_VERSION);
  CHECK(exported->dl_tensor.data == tensor_borrow_dltensor(tensor)->data);

  object_release(tensor); /* the consumer still owns a reference */
  CHECK(num_foreign_tensors == 1 && ((const float*)exported->dl_tensor.data)[4] == 4.0f);
  exported->deleter(exported);
  CHECK(num_foreign_tensors == 0);
}

static void demo_tensor_alloc_with_own_allocator(void) {
  DLPackManagedTensorAllocator previous = NULL;
  int for_all_threads = 0;
  CHECK(TVMFFIEnvSetDLPackManagedTensorAllocator(foreign_tensor_alloc, for_all_threads,
                                                 &previous) == 0);
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == foreign_tensor_alloc);

  int64_t shape[] = {2, 3, 1, 1, 1};
  TVMFFIObjectHandle tensor = NULL;
  CHECK(tensor_alloc(shape, 2, &tensor) == 0 && num_foreign_tensors == 1);
  CHECK(num_elements(tensor_borrow_dltensor(tensor)) == 6);
  object_release(tensor);
  CHECK(num_foreign_tensors == 0);
  CHECK(failed_with(tensor_alloc(shape, 5, &tensor), "ValueError",
                    "example allocator: CPU tensors up to 4 dimensions only"));

  CHECK(TVMFFIEnvSetDLPackManagedTensorAllocator(previous, for_all_threads, NULL) == 0);
}

static void demo_tensor_alloc_built_in(void) {
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == NULL); /* the thread has no allocator */
  int64_t shape[] = {4, 5};
  TVMFFIObjectHandle tensor = NULL;
  CHECK(tensor_alloc(shape, 2, &tensor) == 0);
  CHECK(((TVMFFIObject*)tensor)->type_index == kTVMFFITensor && strong_count(tensor) == 1);

  const DLTensor* dltensor = tensor_borrow_dltensor(tensor);
  CHECK(dltensor->strides[0] == 5 && dltensor->strides[1] == 1);
  memset(first_element(dltensor), 0, 20 * sizeof(float)); /* the allocated tensor is writable */
  object_release(tensor);
}

static void demo_function_call(void) {
  TVMFFIObjectHandle triple = NULL;
  CHECK(function_create_scale(3.0, &triple) == 0);
  double product = 0;
  CHECK(function_call_scale(triple, 14, &product) == 0 && product == 42.0);

  TVMFFIAny none = any_none(), result = any_none();
  CHECK(failed_with(TVMFFIFunctionCall(triple, &none, 1, &result), "TypeError",
                    "expected `float`, got `None`"));
  CHECK(failed_with(TVMFFIFunctionCall(triple, NULL, 0, &result), "TypeError",
                    "scale(value) takes exactly 1 argument"));
  CHECK(result.type_index == kTVMFFINone); /* a failed call leaves the result unchanged */
  object_release(triple);
}

static void demo_function_result_is_owned(void) {
  TVMFFIObjectHandle identity = new_object();
  TVMFFIAny arg = any_from_object(identity, false), result = any_none();
  CHECK(TVMFFIFunctionCall(identity, &arg, 1, &result) == 0);
  CHECK(result.v_obj == identity && strong_count(identity) == 2);
  any_destroy(&result, true);
  CHECK(strong_count(identity) == 1);
  object_release(identity);
}

/* Unregister a global function by calling ffi.FunctionRemoveGlobal. */
static void remove_global(const char* name) {
  TVMFFIObjectHandle remove = NULL;
  CHECK(function_get_global("ffi.FunctionRemoveGlobal", &remove) == 0 && remove != NULL);
  TVMFFIAny arg = any_view_of_c_str(name), was_registered = any_none();
  CHECK(TVMFFIFunctionCall(remove, &arg, 1, &was_registered) == 0);
  CHECK(was_registered.type_index == kTVMFFIBool && was_registered.v_int64 == 1);
  object_release(remove);
}

static void demo_function_global(void) {
  TVMFFIObjectHandle triple = NULL, found = NULL;
  CHECK(function_get_global("example.triple", &found) == 0 && found == NULL);
  CHECK(function_create_scale(3.0, &triple) == 0);
  CHECK(function_set_global("example.triple", triple) == 0 && strong_count(triple) == 2);
  CHECK(failed_with(function_set_global("example.triple", triple), "RuntimeError", NULL));

  CHECK(function_get_global("example.triple", &found) == 0 && found == triple);
  CHECK(strong_count(triple) == 3);
  object_release(found);
  remove_global("example.triple");
  CHECK(strong_count(triple) == 1);
  object_release(triple);
}

static void demo_error(void) {
  TVMFFIObjectHandle error = take_error(raise_out_of_memory());
  const TVMFFIErrorCell* cell = error_cell(error);
  CHECK(text_equal(cell->kind, "MemoryError"));
  CHECK(text_equal(cell->message, "example: out of memory"));
  CHECK(take_error(-1) == NULL); /* the error slot is empty */

  TVMFFIErrorSetRaised(error); /* raise the error again; the error slot adds a reference */
  CHECK(strong_count(error) == 2);
  TVMFFIObjectHandle again = take_error(-1);
  CHECK(again == error);
  print_error(stdout, again);
  object_release(again);
  object_release(error);
}

/* Strings in arguments have three forms, which any_get_string reads: C string, small string, string
 * object. */
static void demo_string(void) {
  TVMFFIAny raw = any_view_of_c_str("kernel"), small, heap;
  CHECK(any_from_string("kernel", 6, &small) == 0 && small.type_index == kTVMFFISmallStr);
  CHECK(any_from_string("a longer name", 13, &heap) == 0 && heap.type_index == kTVMFFIStr);

  TVMFFIByteArray text;
  CHECK(any_get_string(&raw, &text) == 0 && text_equal(text, "kernel"));
  CHECK(any_get_string(&small, &text) == 0 && text_equal(text, "kernel"));
  CHECK(small.v_bytes[6] == 0 && small.v_bytes[7] == 0); /* unused bytes are 0 */
  CHECK(any_get_string(&heap, &text) == 0 && text_equal(text, "a longer name"));
  any_destroy(&small, true);
  any_destroy(&heap, true);

  CHECK(any_from_string("a\0b", 3, &small) == 0);
  CHECK(any_get_string(&small, &text) == 0 && bytes_equal(text, "a\0b", 3));
  TVMFFIAny number = any_from_float(1);
  CHECK(failed_with(any_get_string(&number, &text), "TypeError", "expected `str`, got `float`"));
}

static void demo_bytes(void) {
  TVMFFIByteArray array = {"\0\1\2\3\4\5\6\7\10", 9};
  TVMFFIAny view = any_view_of_bytes(&array), small, heap;
  CHECK(any_from_bytes(array.data, 7, &small) == 0 && small.type_index == kTVMFFISmallBytes);
  CHECK(any_from_bytes(array.data, 9, &heap) == 0 && heap.type_index == kTVMFFIBytes);

  TVMFFIByteArray content;
  CHECK(any_get_bytes(&view, &content) == 0 && bytes_equal(content, array.data, 9));
  CHECK(any_get_bytes(&small, &content) == 0 && bytes_equal(content, array.data, 7));
  CHECK(any_get_bytes(&heap, &content) == 0 && bytes_equal(content, array.data, 9));
  CHECK(content.data != array.data); /* the object contains a copy */
  CHECK(failed_with(any_get_string(&small, &content), "TypeError",
                    "expected `str`, got `ffi.SmallBytes`"));
  any_destroy(&small, true);
  any_destroy(&heap, true);
}

/* Convert borrowed strings and bytes to owned values, as callees do to keep them after the call. */
static void demo_view_to_owned(void) {
  char buffer[] = "borrowed text";
  TVMFFIAny view = any_view_of_c_str(buffer), owned;
  CHECK(TVMFFIAnyViewToOwnedAny(&view, &owned) == 0 && owned.type_index == kTVMFFIStr);
  buffer[0] = 'X'; /* the owned value is a copy */
  TVMFFIByteArray text;
  CHECK(any_get_string(&owned, &text) == 0 && text_equal(text, "borrowed text"));
  any_destroy(&owned, true);

  TVMFFIByteArray array = {"abc", 3};
  view = any_view_of_bytes(&array);
  CHECK(TVMFFIAnyViewToOwnedAny(&view, &owned) == 0 && owned.type_index == kTVMFFISmallBytes);
}

int main(void) {
  static const struct {
    const char* name;
    void (*run)(void);
  } demos[] = {
      {"Any of int and float", demo_any_of_numbers},
      {"Any of objects", demo_any_of_objects},
      {"object ownership", demo_object_ownership},
      {"instance check", demo_instance_check},
      {"DLTensor of both kinds", demo_dltensor_of_both_kinds},
      {"tensor from DLPack", demo_tensor_from_dlpack},
      {"tensor from unknown DLPack", demo_tensor_from_unknown_dlpack},
      {"tensor to DLPack", demo_tensor_to_dlpack},
      {"allocation, own allocator", demo_tensor_alloc_with_own_allocator},
      {"function create and call", demo_function_call},
      {"function result is owned", demo_function_result_is_owned},
      {"function get and set global", demo_function_global},
      {"error raise, take, print", demo_error},
      {"three forms of a string", demo_string},
      {"three forms of bytes", demo_bytes},
      {"view to owned", demo_view_to_owned},
      {"allocation, built-in", demo_tensor_alloc_built_in},
  };
  for (size_t i = 0; i < sizeof(demos) / sizeof(demos[0]); ++i) {
    demos[i].run();
    printf("ok  %s\n", demos[i].name);
  }
  return 0;
}

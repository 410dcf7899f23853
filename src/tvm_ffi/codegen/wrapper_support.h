/* SPDX-License-Identifier: Apache-2.0
 *
 * Support code of generated wrappers: reading arguments, raising errors and returning results.
 *
 * Functions that raise are cold, so a check that passes costs only its comparison. */
#ifndef WRAPPER_SUPPORT_H_
#define WRAPPER_SUPPORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>

#define WRAPPER_HOT static inline __attribute__((unused))
#define WRAPPER_COLD static __attribute__((cold, noinline, unused))

#define WRAPPER_TEXT_(number) #number
#define WRAPPER_TEXT(number) WRAPPER_TEXT_(number)
#define WRAPPER_ABI_LEVEL             \
  WRAPPER_TEXT(TVM_FFI_VERSION_MAJOR) \
  "." WRAPPER_TEXT(TVM_FFI_VERSION_MINOR) "." WRAPPER_TEXT(TVM_FFI_VERSION_PATCH)

/* ---- Comparison of callees with their headers ------------------------------------------------ */

/* A call between WRAPPER_COMPARE and WRAPPER_COMPARED must not convert a pointer to another type,
 * or a number to a type that cannot hold it.  WRAPPER_PASS exempts pointers if the compiler has
 * found that the types are equal, apart from const and from names of one type, such as long long.
 */
#define WRAPPER_COMPARE_NUMBERS                                                   \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic error \"-Wconversion\"") \
      _Pragma("GCC diagnostic error \"-Wsign-conversion\"")                       \
          _Pragma("GCC diagnostic error \"-Woverflow\"")
#ifdef __cplusplus
#define WRAPPER_COMPARE WRAPPER_COMPARE_NUMBERS
#define WRAPPER_PASS(is_equal, type, pointer) (pointer)
#else
#define WRAPPER_COMPARE                                            \
  WRAPPER_COMPARE_NUMBERS                                          \
  _Pragma("GCC diagnostic error \"-Wincompatible-pointer-types\"") \
      _Pragma("GCC diagnostic error \"-Wint-conversion\"")         \
          _Pragma("GCC diagnostic error \"-Wpointer-sign\"")
#define WRAPPER_PASS(is_equal, type, pointer) \
  __builtin_choose_expr(is_equal, (void*)(pointer), (type)(pointer))
#endif
#define WRAPPER_COMPARED _Pragma("GCC diagnostic pop")

/* Check the type that a call returns.  Its arguments are compared elsewhere. */
#define WRAPPER_CHECK_RETURN(is_right, call, message)                                           \
  _Pragma("GCC diagnostic push")                                                                \
      _Pragma("GCC diagnostic ignored \"-Wincompatible-pointer-types\"")                        \
          _Pragma("GCC diagnostic ignored \"-Wint-conversion\"") _Pragma(                       \
              "GCC diagnostic ignored \"-Woverflow\"") _Static_assert(is_right(call), message); \
  _Pragma("GCC diagnostic pop")

/* 1 if a call returns an int, an unsigned int or an enumeration. */
#define WRAPPER_RETURNS_STATUS(call)                      \
  (__builtin_types_compatible_p(__typeof__(call), int) || \
   __builtin_types_compatible_p(__typeof__(call), unsigned))
/* 1 if a call returns nothing or a pointer, 0 if it returns a number or a struct. */
#define WRAPPER_RETURNS_NO_VALUE(call)            \
  (__builtin_classify_type(__builtin_choose_expr( \
       __builtin_types_compatible_p(__typeof__(call), void), (void*)0, call)) == 5)

/* The type of pointers to elements of several dtypes. */
struct wrapper_any_element;

/* Export row: three NUL-terminated strings.  Tools read export rows without running the library. */
typedef struct {
  const char* name;
  const char* kind;
  const char* text;
} wrapper_row;

/* ---- Strings in arguments -------------------------------------------------------------------- */

enum { WRAPPER_NUMBER_SIZE = 24, WRAPPER_MAX_STRIDES = 8, WRAPPER_MAX_RESULTS = 64 };

/* Write a number as decimal text to the end of `buffer`; return the start of the text. */
WRAPPER_COLD const char* wrapper_number(int64_t number, char* buffer) {
  char* text = buffer + WRAPPER_NUMBER_SIZE - 1;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  *text = '\0';
  do {
    *--text = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (number < 0) *--text = '-';
  return text;
}

/* Return the content of a string or bytes, borrowed from the value; undefined for other values. */
WRAPPER_HOT TVMFFIByteArray wrapper_content(const TVMFFIAny* value) {
  TVMFFIByteArray content = {NULL, 0};
  switch (value->type_index) {
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes:
      return TVMFFISmallBytesGetContentByteArray(value);
    case kTVMFFIStr:
    case kTVMFFIBytes:
      return *TVMFFIBytesGetByteArrayPtr(value->v_obj);
    case kTVMFFIByteArrayPtr:
      return *(const TVMFFIByteArray*)value->v_ptr;
    case kTVMFFIRawStr:
      content.data = value->v_c_str;
      while (content.data[content.size] != '\0') ++content.size;
      break;
    case kTVMFFIObjectRValueRef:
      return *TVMFFIBytesGetByteArrayPtr(*(TVMFFIObjectHandle*)value->v_ptr);
    default:
      break;
  }
  return content;
}

/* Return the type index of a value, or of the object that an rvalue reference moves. */
WRAPPER_HOT int32_t wrapper_index(const TVMFFIAny* value) {
  TVMFFIObjectHandle object;
  if (value->type_index != kTVMFFIObjectRValueRef) return value->type_index;
  object = *(TVMFFIObjectHandle*)value->v_ptr;
  return object == NULL ? (int32_t)kTVMFFINone : TVMFFIObjectGetTypeIndex(object);
}

WRAPPER_HOT bool wrapper_is_str(const TVMFFIAny* value) {
  int32_t index = wrapper_index(value);
  return index == kTVMFFISmallStr || index == kTVMFFIStr || index == kTVMFFIRawStr;
}

WRAPPER_HOT bool wrapper_is_bytes(const TVMFFIAny* value) {
  int32_t index = wrapper_index(value);
  return index == kTVMFFISmallBytes || index == kTVMFFIBytes || index == kTVMFFIByteArrayPtr;
}

/* ---- Errors: each function sets the pending error and returns -1 ----------------------------- */

/* Raise an error whose message consists of seven pieces; NULL is an empty piece. */
WRAPPER_COLD int wrapper_fail(const char* error, const char* a, const char* b, const char* c,
                              const char* d, const char* e, const char* f, const char* g) {
  const char* parts[7];
  parts[0] = a, parts[1] = b, parts[2] = c, parts[3] = d, parts[4] = e, parts[5] = f, parts[6] = g;
  TVMFFIErrorSetRaisedFromCStrParts(error, parts, 7);
  return -1;
}

/* Raise an error whose message has `count` (at most three) numbers, each after a string. */
WRAPPER_COLD int wrapper_fail_numbers(const char* error, int count, const char* a, int64_t first,
                                      const char* b, int64_t second, const char* c, int64_t third,
                                      const char* d) {
  char buffer[3][WRAPPER_NUMBER_SIZE];
  return wrapper_fail(error, a, wrapper_number(first, buffer[0]), b,
                      count > 1 ? wrapper_number(second, buffer[1]) : NULL, c,
                      count > 2 ? wrapper_number(third, buffer[2]) : NULL, d);
}

/* Raise an error for two tensors that differ in a dimension of an ellipsis.  The message consists
 * of `a`, the dimension, `b`, the dimension from the start of the ellipsis, `c`, the expected
 * extent, `d` and the extent. */
WRAPPER_COLD int wrapper_fail_dimension(const char* error, const char* a, int64_t axis,
                                        const char* b, int64_t index, const char* c,
                                        int64_t expected, const char* d, int64_t got) {
  char buffer[4][WRAPPER_NUMBER_SIZE];
  const char* parts[8];
  parts[0] = a, parts[2] = b, parts[4] = c, parts[6] = d;
  parts[1] = wrapper_number(axis, buffer[0]);
  parts[3] = wrapper_number(index, buffer[1]);
  parts[5] = wrapper_number(expected, buffer[2]);
  parts[7] = wrapper_number(got, buffer[3]);
  TVMFFIErrorSetRaisedFromCStrParts(error, parts, 8);
  return -1;
}

/* Return the name of a value's type for messages: the Python name, else the type key. */
WRAPPER_COLD const char* wrapper_type_name(const TVMFFIAny* value) {
  static const char* const type_names[] = {WRAPPER_TYPE_NAMES};
  int32_t index = wrapper_index(value);
  if (index == kTVMFFIDLTensorPtr && value->v_ptr == NULL) return "NULL";
  if (index >= (int32_t)(sizeof(type_names) / sizeof(type_names[0]))) {
    return TVMFFIGetTypeInfo(index)->type_key.data;
  }
  return index < 0 || type_names[index] == NULL ? "value of an unknown type" : type_names[index];
}

/* Raise an error for a value of a wrong type; `big_error` is the kind for a big integer. */
WRAPPER_COLD int wrapper_fail_type(const char* error, const char* big_error, const char* text,
                                   const TVMFFIAny* value) {
  return wrapper_fail(value->type_index == kTVMFFIBigInt ? big_error : error, text,
                      wrapper_type_name(value), NULL, NULL, NULL, NULL, NULL);
}

/* Raise an error for a tensor of a wrong dtype.  The message consists of `a`, `expected`, `b` and
 * the dtype. */
WRAPPER_COLD int wrapper_fail_dtype(const char* error, const char* a, const char* expected,
                                    const char* b, DLDataType dtype) {
  char buffer[2][WRAPPER_NUMBER_SIZE];
  TVMFFIAny name;
  int code;
  if (dtype.code == kDLComplex) { /* the runtime has no names for complex dtypes */
    return wrapper_fail(error, a, expected, b, "complex", wrapper_number(dtype.bits, buffer[0]),
                        dtype.lanes > 1 ? "x" : NULL,
                        dtype.lanes > 1 ? wrapper_number(dtype.lanes, buffer[1]) : NULL);
  }
  if (TVMFFIDataTypeToString(&dtype, &name) != 0) {
    TVMFFIObjectHandle nameless = NULL;
    TVMFFIErrorMoveFromRaised(&nameless);
    TVMFFIObjectDecRef(nameless);
    return wrapper_fail(error, a, expected, b, "an unnamed dtype", NULL, NULL, NULL);
  }
  code = wrapper_fail(error, a, expected, b, wrapper_content(&name).data, NULL, NULL, NULL);
  if (name.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(name.v_obj);
  return code;
}

/* Raise an error for a tensor on a wrong device. */
WRAPPER_COLD int wrapper_fail_device(const char* error, const char* text, DLDevice device) {
  static const char* const names[] = {WRAPPER_DEVICE_NAMES};
  char buffer[2][WRAPPER_NUMBER_SIZE];
  int32_t type = (int32_t)device.device_type;
  const char* name = NULL;
  if (type >= 0 && type < (int32_t)(sizeof(names) / sizeof(names[0]))) name = names[type];
  if (name == NULL) name = wrapper_number(type, buffer[0]);
  return wrapper_fail(error, text, name, ":", wrapper_number(device.device_id, buffer[1]), NULL,
                      NULL, NULL);
}

/* Raise an error for a tensor with gaps; the message shows the strides as a Python tuple. */
WRAPPER_COLD int wrapper_fail_strides(const char* error, const char* text, const DLTensor* tensor) {
  char buffer[WRAPPER_MAX_STRIDES][WRAPPER_NUMBER_SIZE];
  const char* parts[2 * WRAPPER_MAX_STRIDES + 4];
  int32_t count = 0, shown = tensor->ndim;
  if (shown > WRAPPER_MAX_STRIDES) shown = WRAPPER_MAX_STRIDES;
  parts[count++] = text;
  parts[count++] = "(";
  for (int32_t i = 0; i < shown; ++i) {
    if (i != 0) parts[count++] = ", ";
    parts[count++] = wrapper_number(tensor->strides[i], buffer[i]);
  }
  parts[count++] = tensor->ndim > shown ? ", ...)" : tensor->ndim == 1 ? ",)" : ")";
  TVMFFIErrorSetRaisedFromCStrParts(error, parts, count);
  return -1;
}

/* ---- Tensors in arguments -------------------------------------------------------------------- */

WRAPPER_COLD const DLTensor* wrapper_moved_tensor(const TVMFFIAny* value) {
  if (wrapper_index(value) != kTVMFFITensor) return NULL;
  return TVMFFITensorGetDLTensorPtr(*(TVMFFIObjectHandle*)value->v_ptr);
}

/* Return the tensor in an argument, borrowed from the argument; NULL for any other value. */
WRAPPER_HOT const DLTensor* wrapper_tensor(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(value->v_obj);
  if (value->type_index == kTVMFFIDLTensorPtr) return (const DLTensor*)value->v_ptr;
  return wrapper_moved_tensor(value);
}

WRAPPER_HOT bool wrapper_is_dtype(DLDataType dtype, int code, int bits, int lanes) {
  return dtype.code == code && dtype.bits == bits && dtype.lanes == lanes;
}

WRAPPER_HOT bool wrapper_is_empty(const DLTensor* tensor) {
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    if (tensor->shape[i] == 0) return true;
  }
  return false;
}

/* Return the first dimension of a tensor whose extent is negative; -1 if there is none. */
WRAPPER_HOT int32_t wrapper_negative_axis(const DLTensor* tensor, int32_t ndim) {
  for (int32_t i = 0; i < ndim; ++i) {
    if (tensor->shape[i] < 0) return i;
  }
  return -1;
}

/* Return the first i < count for which dimension `a_first + i` of `a` and dimension `b_first + i`
 * of `b` have different extents; -1 if there is none. */
WRAPPER_HOT int32_t wrapper_differing(const DLTensor* a, int32_t a_first, const DLTensor* b,
                                      int32_t b_first, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (a->shape[a_first + i] != b->shape[b_first + i]) return i;
  }
  return -1;
}

/* Return true if a tensor is empty, or if the axes from `first` on are in row-major order without
 * gaps; a negative `first` means all axes.  The strides of axes of extent 1 are ignored. */
WRAPPER_HOT bool wrapper_is_compact(const DLTensor* tensor, int32_t ndim, int32_t first) {
  uint64_t step = 1; /* unsigned, because the product of extents may overflow */
  if (tensor->strides == NULL) return true;
  for (int32_t i = ndim; i-- > 0 && i >= first;) {
    if (tensor->shape[i] != 1 && (uint64_t)tensor->strides[i] != step) {
      return wrapper_is_empty(tensor);
    }
    step *= (uint64_t)tensor->shape[i];
  }
  return true;
}

/* Return true if several indices refer to one element of a tensor, because a stride is 0. */
WRAPPER_HOT bool wrapper_repeats(const DLTensor* tensor, int32_t ndim) {
  if (tensor->strides == NULL) return false;
  for (int32_t i = 0; i < ndim; ++i) {
    if (tensor->strides[i] == 0 && tensor->shape[i] > 1) return !wrapper_is_empty(tensor);
  }
  return false;
}

/* Write the strides of a tensor to `out`; compute them if `tensor->strides` is NULL. */
WRAPPER_HOT void wrapper_strides(const DLTensor* tensor, int32_t ndim, int64_t* out) {
  uint64_t step = 1;
  for (int32_t i = ndim; i-- > 0;) {
    out[i] = tensor->strides == NULL ? (int64_t)step : tensor->strides[i];
    step *= tensor->shape[i] > 1 ? (uint64_t)tensor->shape[i] : 1;
  }
}

WRAPPER_HOT uint64_t wrapper_product(const DLTensor* tensor, int32_t ndim) {
  uint64_t size = 1; /* unsigned, because the product of extents may overflow */
  for (int32_t i = 0; i < ndim; ++i) size *= (uint64_t)tensor->shape[i];
  return size;
}

WRAPPER_HOT int64_t wrapper_size(const DLTensor* tensor) {
  return (int64_t)wrapper_product(tensor, tensor->ndim);
}

/* Return the address of the first element of a tensor. */
WRAPPER_HOT void* wrapper_address(const DLTensor* tensor) {
  return (void*)((uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset);
}

/* Return true if data pointers of the device are addresses, not handles. */
WRAPPER_HOT bool wrapper_has_addresses(DLDevice device) {
  const int32_t type = (int32_t)device.device_type;
  return type <= kDLCUDAHost || type == kDLCUDAManaged || type == kDLROCM || type == kDLROCMHost;
}

/* Return true if the elements of two tensors are apart, if the tensors are compact.  The printed
 * code passes the numbers of dimensions and the bits of an element as constants where it can. */
WRAPPER_HOT bool wrapper_apart(const DLTensor* a, int32_t ndim_a, uint64_t bits_a,
                               const DLTensor* b, int32_t ndim_b, uint64_t bits_b) {
  const uintptr_t first_a = (uintptr_t)wrapper_address(a), first_b = (uintptr_t)wrapper_address(b);
  if (first_a < first_b) {
    return first_b - first_a >= (wrapper_product(a, ndim_a) * bits_a + 7) / 8;
  }
  return first_a != first_b && first_a - first_b >= (wrapper_product(b, ndim_b) * bits_b + 7) / 8;
}

/* Return true if two tensors, which are not apart, certainly share memory: if they have the same
 * first element, or if both are compact.  Other tensors with gaps may be interleaved. */
WRAPPER_COLD bool wrapper_overlap(const DLTensor* a, const DLTensor* b) {
  if (a->device.device_type != b->device.device_type) return false;
  if (a->device.device_id != b->device.device_id) return false;
  if (a->data == NULL || b->data == NULL) return false;
  /* The data pointers of other devices may be handles, so only equal ones are comparable. */
  if (a->data != b->data && !wrapper_has_addresses(a->device)) return false;
  if (wrapper_is_empty(a) || wrapper_is_empty(b)) return false;
  if (wrapper_address(a) == wrapper_address(b)) return true;
  return wrapper_is_compact(a, a->ndim, 0) && wrapper_is_compact(b, b->ndim, 0);
}

/* Return the alignment in bytes that C gives elements of a dtype; 1 if C has no such type. */
WRAPPER_HOT uint32_t wrapper_alignment(DLDataType dtype) {
  uint32_t bits = dtype.code == kDLComplex ? dtype.bits / 2u : dtype.bits, size = bits / 8;
  return size * 8 == bits && (size & (size - 1)) == 0 && size != 0 ? size : 1;
}

/* ---- Arithmetic of extents: divisions return -1 on overflow, else 0 -------------------------- */

WRAPPER_HOT int wrapper_divide(int64_t left, int64_t right, int64_t* out) {
  if (right == -1) return __builtin_sub_overflow((int64_t)0, left, out) ? -1 : 0;
  *out = left / right - (left % right != 0 && (left < 0) != (right < 0));
  return 0;
}

WRAPPER_HOT int wrapper_divide_up(int64_t left, int64_t right, int64_t* out) {
  if (right == -1) return __builtin_sub_overflow((int64_t)0, left, out) ? -1 : 0;
  *out = left / right + (left % right != 0 && (left < 0) == (right < 0));
  return 0;
}

WRAPPER_HOT int64_t wrapper_modulo(int64_t left, int64_t right) {
  int64_t rest;
  if (right == -1) return 0;
  rest = left % right;
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

WRAPPER_HOT int64_t wrapper_min(int64_t left, int64_t right) { return left < right ? left : right; }

WRAPPER_HOT int64_t wrapper_max(int64_t left, int64_t right) { return left > right ? left : right; }

/* ---- Conversion of numbers and strings ------------------------------------------------------- */

/* Return false for a finite number that the conversion to float would round to infinity. */
WRAPPER_HOT bool wrapper_fits_float(const TVMFFIAny* value) {
  const double end = 0x1.ffffffp127; /* halfway between FLT_MAX and the next power of 2 */
  double number = value->v_float64;
  if (value->type_index != kTVMFFIFloat || (number < end && number > -end)) return true;
  return number - number != 0; /* infinite, or not a number */
}

/* Read an unsigned 64-bit integer; return false for any other value.  Integers of at least 2^63 are
 * passed as big integers. */
WRAPPER_HOT bool wrapper_uint64(const TVMFFIAny* value, uint64_t* out) {
  TVMFFIByteArray digits;
  if (value->type_index == kTVMFFIInt) {
    *out = (uint64_t)value->v_int64;
    return true;
  }
  if (value->type_index != kTVMFFIBigInt) return false;
  digits = TVMFFIBigIntGetContentByteArray(value);
  if (digits.size != 16) return false;
  for (int i = 8; i < 16; ++i) {
    if (digits.data[i] != 0) return false;
  }
  *out = 0;
  for (int i = 7; i >= 0; --i) *out = *out << 8 | (unsigned char)digits.data[i];
  return true;
}

WRAPPER_HOT double wrapper_float(const TVMFFIAny* value) {
  return value->type_index == kTVMFFIFloat ? value->v_float64 : (double)value->v_int64;
}

/* Convert an integer or a bool in an argument for a float parameter; a kernel reads v_float64. */
WRAPPER_HOT void wrapper_convert_to_float(TVMFFIAny* value) {
  if (value->type_index != kTVMFFIInt && value->type_index != kTVMFFIBool) return;
  value->v_float64 = (double)value->v_int64;
  value->type_index = kTVMFFIFloat;
}

/* Return the index of the first NUL in a string; -1 if the string has no NUL. */
WRAPPER_HOT int64_t wrapper_find_nul(TVMFFIByteArray text) {
  for (size_t i = 0; i < text.size; ++i) {
    if (text.data[i] == '\0') return (int64_t)i;
  }
  return -1;
}

WRAPPER_HOT int wrapper_return_none(TVMFFIAny* result) {
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}

WRAPPER_HOT int wrapper_return_int(int32_t type_index, int64_t value, TVMFFIAny* result) {
  result->type_index = type_index;
  result->zero_padding = 0;
  result->v_int64 = value;
  return 0;
}

WRAPPER_HOT int wrapper_return_float(double value, TVMFFIAny* result) {
  result->type_index = kTVMFFIFloat;
  result->zero_padding = 0;
  result->v_float64 = value;
  return 0;
}

WRAPPER_HOT int wrapper_return_uint64(uint64_t value, TVMFFIAny* result) {
  char bytes[16] = {0};
  TVMFFIByteArray digits = {NULL, sizeof(bytes)};
  if (value <= (uint64_t)INT64_MAX) {
    return wrapper_return_int(kTVMFFIInt, (int64_t)value, result);
  }
  for (int i = 0; i < 8; ++i) bytes[i] = (char)(value >> 8 * i & 0xff);
  digits.data = bytes;
  return TVMFFIBigIntFromByteArray(&digits, result);
}

/* ---- Tensors as results ---------------------------------------------------------------------- */

/* Return a tensor as the result of the call; consumes the handle. */
WRAPPER_HOT int wrapper_return_tensor(TVMFFIObjectHandle tensor, TVMFFIAny* result) {
  result->type_index = kTVMFFITensor;
  result->zero_padding = 0;
  result->v_obj = (TVMFFIObject*)tensor;
  return 0;
}

/* Return several tensors as an Array, the result of the call; consumes the handles. */
WRAPPER_HOT int wrapper_return_tensors(TVMFFIObjectHandle* tensors, int32_t count,
                                       TVMFFIAny* result) {
  static const TVMFFIByteArray name = {"ffi.Array", 9};
  TVMFFIAny elements[WRAPPER_MAX_RESULTS], array;
  TVMFFIObjectHandle make = NULL;
  int code = TVMFFIFunctionGetGlobal(&name, &make);
  if (code == 0 && make == NULL) {
    code = wrapper_fail("RuntimeError", "the runtime has no function ffi.Array", NULL, NULL, NULL,
                        NULL, NULL, NULL);
  }
  wrapper_return_none(&array);
  for (int32_t i = 0; i < count; ++i) wrapper_return_tensor(tensors[i], &elements[i]);
  if (code == 0) code = TVMFFIFunctionCall(make, elements, count, &array);
  for (int32_t i = 0; i < count; ++i) TVMFFIObjectDecRef(tensors[i]);
  TVMFFIObjectDecRef(make);
  if (code == 0) *result = array;
  return code;
}

#endif /* WRAPPER_SUPPORT_H_ */

/* ---- Workspaces ------------------------------------------------------------------------------ */

/* Only C files with workspaces include c_env_api.h; other files do not need these functions.  An
 * earlier text in the same file may have included the rest of the support code. */
#if defined(TVM_FFI_EXTRA_C_ENV_API_H_) && !defined(WRAPPER_WORKSPACES_H_)
#define WRAPPER_WORKSPACES_H_

enum { WRAPPER_WORKSPACE_ALIGNMENT = 256 };

/* Allocate aligned device memory for one call.  The caller must release the handle.  Size 0 leaves
 * handle and address NULL. */
WRAPPER_COLD int wrapper_workspace(int64_t bytes, DLDevice device, TVMFFIObjectHandle* handle,
                                   void** address) {
  int64_t shape[1];
  DLTensor prototype;
  uintptr_t first;
  if (bytes == 0) return 0;
  shape[0] = bytes;
  if (bytes <= INT64_MAX - WRAPPER_WORKSPACE_ALIGNMENT) shape[0] += WRAPPER_WORKSPACE_ALIGNMENT - 1;
  prototype.data = NULL;
  prototype.device = device;
  prototype.ndim = 1;
  prototype.dtype.code = kDLUInt;
  prototype.dtype.bits = 8;
  prototype.dtype.lanes = 1;
  prototype.shape = shape;
  prototype.strides = NULL;
  prototype.byte_offset = 0;
  if (TVMFFIEnvTensorAlloc(&prototype, handle) != 0) return -1;
  first = (uintptr_t)wrapper_address(TVMFFITensorGetDLTensorPtr(*handle));
  first += WRAPPER_WORKSPACE_ALIGNMENT - 1;
  *address = (void*)(first - first % WRAPPER_WORKSPACE_ALIGNMENT);
  return 0;
}

#endif /* WRAPPER_WORKSPACES_H_ */

/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversion of scalars and strings between Python objects and TVMFFIAny.
 *
 * Each `..._to_any` checks the type of its argument and fills all 16 bytes.  A value converted from
 * a long str owns a heap object; release it with `release_any` after the call. */
#ifndef BENCHMARKS_CALL_FLOOR_VALUE_H_
#define BENCHMARKS_CALL_FLOOR_VALUE_H_

#include <Python.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

#define FLOOR_MAX_SMALL_STR 7 /* maximum bytes of UTF-8 that fit into a TVMFFIAny */

/* One strong reference, and the weak reference that all strong references share. */
static const uint64_t kNewObjectCount = ((uint64_t)1 << 32) | 1;

/* Heap string: header, view of the content, content with a final NUL. */
typedef struct {
  TVMFFIObject header;
  TVMFFIByteArray content; /* address of `text`; strings of other code may point elsewhere */
  char text[];
} StringObject;

static void delete_string(void* self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(self);
}

static int fail_type(const char* expected, PyObject* value) {
  PyErr_Format(PyExc_TypeError, "expected %s, got %s", expected, Py_TYPE(value)->tp_name);
  return -1;
}

static inline int int_to_any(PyObject* value, TVMFFIAny* out) {
  int overflow;
  if (!PyLong_Check(value)) return fail_type("int", value);
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) {
    PyErr_SetString(PyExc_OverflowError, "int does not fit in 64 bits");
    return -1;
  }
  out->type_index = kTVMFFIInt;
  out->zero_padding = 0;
  out->v_int64 = number;
  return 0;
}

static inline int float_to_any(PyObject* value, TVMFFIAny* out) {
  if (!PyFloat_Check(value)) return fail_type("float", value);
  out->type_index = kTVMFFIFloat;
  out->zero_padding = 0;
  out->v_float64 = PyFloat_AS_DOUBLE(value);
  return 0;
}

/* Copy a long str, because the callee may keep the object after the Python str is freed. */
static int long_str_to_any(const char* text, size_t size, TVMFFIAny* out) {
  StringObject* string = (StringObject*)malloc(sizeof(StringObject) + size + 1);
  if (string == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  string->header.combined_ref_count = kNewObjectCount;
  string->header.type_index = kTVMFFIStr;
  string->header.__padding = 0;
  string->header.deleter = delete_string;
  string->content.data = string->text;
  string->content.size = size;
  memcpy(string->text, text, size);
  string->text[size] = '\0';
  out->type_index = kTVMFFIStr;
  out->zero_padding = 0;
  out->v_obj = &string->header;
  return 0;
}

static inline int str_to_any(PyObject* value, TVMFFIAny* out) {
  Py_ssize_t size;
  if (!PyUnicode_Check(value)) return fail_type("str", value);
  const char* text = PyUnicode_AsUTF8AndSize(value, &size); /* the str caches this text */
  if (text == NULL) return -1;
  if (size > FLOOR_MAX_SMALL_STR) return long_str_to_any(text, (size_t)size, out);
  out->type_index = kTVMFFISmallStr;
  out->small_str_len = (uint32_t)size;
  out->v_int64 = 0;
  memcpy(out->v_bytes, text, (size_t)size);
  return 0;
}

/* Release the reference of an owned value. */
static inline void release_any(const TVMFFIAny* value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value->v_obj);
}

/* Return a new Python object for a scalar or string; borrows the value. */
static inline PyObject* any_to_python(const TVMFFIAny* value) {
  switch (value->type_index) {
    case kTVMFFINone:
      Py_RETURN_NONE;
    case kTVMFFIInt:
      return PyLong_FromLongLong(value->v_int64);
    case kTVMFFIFloat:
      return PyFloat_FromDouble(value->v_float64);
    case kTVMFFISmallStr:
      return PyUnicode_DecodeUTF8(value->v_bytes, (Py_ssize_t)value->small_str_len, NULL);
    case kTVMFFIStr: {
      const TVMFFIByteArray* content = &((const StringObject*)value->v_obj)->content;
      return PyUnicode_DecodeUTF8(content->data, (Py_ssize_t)content->size, NULL);
    }
    default:
      PyErr_Format(PyExc_TypeError, "the floor has no conversion for type index %d",
                   (int)value->type_index);
      return NULL;
  }
}

/* Convert a Python object to an owned value.  Fails: -1, exception set. */
static inline int python_to_any(PyObject* value, TVMFFIAny* out) {
  if (PyLong_CheckExact(value)) return int_to_any(value, out);
  if (PyUnicode_CheckExact(value)) return str_to_any(value, out);
  if (PyFloat_CheckExact(value)) return float_to_any(value, out);
  if (value != Py_None) return fail_type("None, int, float or str", value);
  out->type_index = kTVMFFINone;
  out->zero_padding = 0;
  out->v_int64 = 0;
  return 0;
}

#endif /* BENCHMARKS_CALL_FLOOR_VALUE_H_ */

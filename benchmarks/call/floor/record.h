/* SPDX-License-Identifier: Apache-2.0
 *
 * Record: wrapper type of `../record.h`, which uses the registered field, method and constructor.
 */
#ifndef BENCHMARKS_CALL_FLOOR_RECORD_H_
#define BENCHMARKS_CALL_FLOOR_RECORD_H_

#include <Python.h>
#include <tvm/ffi/c_api.h>

#include "handle.h"
#include "invoke.h"
#include "value.h"

static const TVMFFIFieldInfo* record_field;
static TVMFFIObjectHandle record_get, record_constructor; /* borrowed from the type's table */

/* Look up the field, method and constructor of the type.  Fails: -1, exception set. */
static int find_record(const char* key_text) {
  TVMFFIByteArray key = {key_text, strlen(key_text)};
  TVMFFIByteArray constructor_name = {"__ffi_init__", strlen("__ffi_init__")};
  int32_t index;
  if (TVMFFITypeKeyToIndex(&key, &index) != 0) {
    raise_pending_error();
    return -1;
  }
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&constructor_name);
  record_field = &info->fields[0];
  record_get = info->methods[0].method.v_obj;
  record_constructor = column->data[index - column->begin_index].v_obj;
  return 0;
}

static PyObject* record_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  TVMFFIAny value, result;
  PyObject* x;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "O:Record", &x) || int_to_any(x, &value) != 0) return NULL;
  if (invoke_function(record_constructor, &value, 1, &result) != 0) return NULL;
  return handle_wrap(type, result.v_obj);
}

static PyObject* record_x(PyObject* self, void* closure) {
  TVMFFIAny value = {.type_index = kTVMFFINone};
  char* object = (char*)((HandleObject*)self)->handle;
  (void)closure;
  if (record_field->getter(object + record_field->offset, &value) != 0) {
    raise_pending_error();
    return NULL;
  }
  return any_to_python(&value);
}

static PyObject* record_call_get(PyObject* self, PyObject* no_args) {
  TVMFFIAny object = {.type_index = kTVMFFIObject}, result;
  (void)no_args;
  object.v_obj = (TVMFFIObject*)((HandleObject*)self)->handle;
  object.type_index = object.v_obj->type_index;
  if (invoke_function(record_get, &object, 1, &result) != 0) return NULL;
  return any_to_python(&result);
}

static int64_t record_value(PyObject* self) {
  return *(int64_t*)((char*)((HandleObject*)self)->handle + record_field->offset);
}

/* Compare the field of two records. */
static PyObject* record_compare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(other) != Py_TYPE(self)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  int equal = record_value(self) == record_value(other);
  return PyBool_FromLong(operation == Py_EQ ? equal : !equal);
}

static Py_hash_t record_hash(PyObject* self) {
  uint64_t mixed = (uint64_t)record_value(self) * 0x9E3779B97F4A7C15u; /* Fibonacci hashing */
  Py_hash_t hash = (Py_hash_t)(mixed ^ (mixed >> 32));
  return hash == -1 ? -2 : hash; /* -1 would signal an error */
}

static PyGetSetDef record_fields[] = {{"x", record_x, NULL, NULL, NULL}, {0}};
static PyMethodDef record_methods[] = {{"get", record_call_get, METH_NOARGS, NULL}, {0}};

static PyTypeObject RecordType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.Record",
    .tp_basicsize = sizeof(HandleObject),
    .tp_dealloc = handle_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_hash = record_hash,
    .tp_richcompare = record_compare,
    .tp_new = record_new,
    .tp_getset = record_fields,
    .tp_methods = record_methods,
};

#endif /* BENCHMARKS_CALL_FLOOR_RECORD_H_ */

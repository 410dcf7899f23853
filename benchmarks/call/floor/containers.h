/* SPDX-License-Identifier: Apache-2.0
 *
 * Array and Map.  The runtime's global functions create them and look up map keys; array elements
 * are read directly from the memory layout that the ABI defines. */
#ifndef BENCHMARKS_CALL_FLOOR_CONTAINERS_H_
#define BENCHMARKS_CALL_FLOOR_CONTAINERS_H_

#include <Python.h>
#include <tvm/ffi/c_api.h>

#include "error.h"
#include "handle.h"
#include "value.h"

#define FLOOR_MAX_NEW_ITEMS 2000

static TVMFFIObjectHandle make_array, make_map, get_map_item; /* owned; set by find_containers */

static int find_global(const char* name, TVMFFIObjectHandle* out) {
  TVMFFIByteArray text = {name, strlen(name)};
  if (TVMFFIFunctionGetGlobal(&text, out) == 0 && *out != NULL) return 0;
  PyErr_Format(PyExc_RuntimeError, "the library has no %s", name);
  return -1;
}

static int find_containers(void) {
  if (find_global("ffi.Array", &make_array) != 0) return -1;
  if (find_global("ffi.Map", &make_map) != 0) return -1;
  return find_global("ffi.MapGetItem", &get_map_item);
}

/* Return a new reference to a container of `items`; consumes the items.  Fails: NULL, exception
 * set. */
static TVMFFIObjectHandle make_container(TVMFFIObjectHandle make, TVMFFIAny* items, int32_t count) {
  TVMFFIAny result = {.type_index = kTVMFFINone};
  int code = TVMFFIFunctionCall(make, items, count, &result);
  for (int32_t i = 0; i < count; ++i) release_any(&items[i]);
  if (code == 0) return result.v_obj;
  raise_pending_error();
  return NULL;
}

/* Append a converted value to `items`.  Fails: releases all items; -1, exception set. */
static int append_item(TVMFFIAny* items, int32_t* count, PyObject* value) {
  if (*count < FLOOR_MAX_NEW_ITEMS && python_to_any(value, &items[*count]) == 0) {
    ++*count;
    return 0;
  }
  while (*count > 0) release_any(&items[--*count]);
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "too many items for the floor");
  return -1;
}

/* ---- Array -------------------------------------------------------------------------------- */

typedef struct {
  TVMFFIObject header;
  TVMFFIAny* data;
  int64_t size;
} ArrayMemory;

static inline const ArrayMemory* array_memory(PyObject* self) {
  return (const ArrayMemory*)((HandleObject*)self)->handle;
}

/* Return a new reference to an Array, or NULL with an exception set. */
static TVMFFIObjectHandle array_from_list(PyObject* list) {
  TVMFFIAny items[FLOOR_MAX_NEW_ITEMS];
  int32_t count = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    if (append_item(items, &count, PyList_GET_ITEM(list, i)) != 0) return NULL;
  }
  return make_container(make_array, items, count);
}

static PyObject* array_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* list;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "O!:Array", &PyList_Type, &list)) return NULL;
  TVMFFIObjectHandle array = array_from_list(list);
  return array != NULL ? handle_wrap(type, array) : NULL;
}

static Py_ssize_t array_length(PyObject* self) { return (Py_ssize_t)array_memory(self)->size; }

static PyObject* array_item(PyObject* self, Py_ssize_t index) {
  const ArrayMemory* memory = array_memory(self);
  if (index < 0 || index >= memory->size) {
    PyErr_SetString(PyExc_IndexError, "array index out of range");
    return NULL;
  }
  return any_to_python(&memory->data[index]);
}

typedef struct {
  PyObject_HEAD PyObject* array; /* owned */
  int64_t next;
} ArrayIterator;

static void array_iterator_dealloc(PyObject* self) {
  Py_DECREF(((ArrayIterator*)self)->array);
  PyObject_Free(self);
}

static PyObject* array_iterator_next(PyObject* self) {
  ArrayIterator* iterator = (ArrayIterator*)self;
  const ArrayMemory* memory = array_memory(iterator->array);
  if (iterator->next >= memory->size) return NULL;
  return any_to_python(&memory->data[iterator->next++]);
}

static PyTypeObject ArrayIteratorType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.ArrayIterator",
    .tp_basicsize = sizeof(ArrayIterator),
    .tp_dealloc = array_iterator_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = array_iterator_next,
};

static PyObject* array_iter(PyObject* self) {
  ArrayIterator* iterator = PyObject_New(ArrayIterator, &ArrayIteratorType);
  if (iterator == NULL) return NULL;
  Py_INCREF(self);
  iterator->array = self;
  iterator->next = 0;
  return (PyObject*)iterator;
}

static PySequenceMethods array_as_sequence = {.sq_length = array_length, .sq_item = array_item};

static PyTypeObject ArrayType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.Array",
    .tp_basicsize = sizeof(HandleObject),
    .tp_dealloc = handle_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = array_new,
    .tp_iter = array_iter,
    .tp_as_sequence = &array_as_sequence,
};

/* ---- Map ---------------------------------------------------------------------------------- */

/* Return a new reference to a Map, or NULL with an exception set. */
static TVMFFIObjectHandle map_from_dict(PyObject* dict) {
  TVMFFIAny items[FLOOR_MAX_NEW_ITEMS];
  PyObject *key, *value;
  Py_ssize_t position = 0;
  int32_t count = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    if (append_item(items, &count, key) != 0) return NULL;
    if (append_item(items, &count, value) != 0) return NULL;
  }
  return make_container(make_map, items, count);
}

static PyObject* map_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* dict;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "O!:Map", &PyDict_Type, &dict)) return NULL;
  TVMFFIObjectHandle map = map_from_dict(dict);
  return map != NULL ? handle_wrap(type, map) : NULL;
}

static PyObject* map_subscript(PyObject* self, PyObject* key) {
  TVMFFIAny args[2] = {{.type_index = kTVMFFIMap}};
  TVMFFIAny result = {.type_index = kTVMFFINone};
  args[0].v_obj = (TVMFFIObject*)((HandleObject*)self)->handle;
  if (python_to_any(key, &args[1]) != 0) return NULL;
  int code = TVMFFIFunctionCall(get_map_item, args, 2, &result);
  release_any(&args[1]);
  if (code != 0) {
    raise_pending_error();
    return NULL;
  }
  PyObject* value = any_to_python(&result);
  release_any(&result);
  return value;
}

static PyMappingMethods map_as_mapping = {.mp_subscript = map_subscript};

static PyTypeObject MapType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.Map",
    .tp_basicsize = sizeof(HandleObject),
    .tp_dealloc = handle_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = map_new,
    .tp_as_mapping = &map_as_mapping,
};

#endif /* BENCHMARKS_CALL_FLOOR_CONTAINERS_H_ */

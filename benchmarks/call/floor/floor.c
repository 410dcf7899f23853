/* SPDX-License-Identifier: Apache-2.0
 *
 * The floor: a hand-written CPython extension that does the work of the benchmark's call rows.
 *
 * It has one callable object per signature, as a binding has for functions that it finds in a
 * library.  Each checks its arguments, fills TVMFFIAny values on the C stack, calls the kernel
 * through a pointer with the GIL policy of the package, and converts the result.
 * benchmarks/README.md lists the work that it omits. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <tvm/ffi/c_api.h>

#include "callable.h"
#include "callback.h"
#include "containers.h"
#include "export.h"
#include "invoke.h"
#include "keywords.h"
#include "record.h"
#include "tensor.h"
#include "value.h"

static TVMFFISafeCallType kernel_noop;
static TVMFFISafeCallType kernel_echo;
static TVMFFISafeCallType kernel_apply;
static TVMFFISafeCallType kernel_raise_error;
static TVMFFISafeCallType kernel_check_tensors;
static TVMFFISafeCallType kernel_register_record;

/* Define a vectorcall function that first checks the number of arguments. */
#define FLOOR_FUNCTION(name, expected_nargs)                                                  \
  static PyObject* name##_body(PyObject* const* args);                                        \
  static PyObject* name(PyObject* callable, PyObject* const* args, size_t nargsf,             \
                        PyObject* kwnames) {                                                  \
    (void)callable;                                                                           \
    if (PyVectorcall_NARGS(nargsf) != (expected_nargs) || kwnames != NULL) {                  \
      return PyErr_Format(PyExc_TypeError, #name "() takes %d positional arguments, got %zd", \
                          expected_nargs, PyVectorcall_NARGS(nargsf));                        \
    }                                                                                         \
    return name##_body(args);                                                                 \
  }                                                                                           \
  static inline PyObject* name##_body(PyObject* const* args)

/* Return a new Python object for an owned scalar or string; consumes the result. */
static inline PyObject* take_result(TVMFFIAny* result) {
  PyObject* value = any_to_python(result);
  release_any(result);
  return value;
}

/* ---- Calls with scalars and strings ------------------------------------------------------- */

FLOOR_FUNCTION(noop, 0) {
  TVMFFIAny result;
  (void)args;
  return invoke(kernel_noop, NULL, 0, &result) == 0 ? take_result(&result) : NULL;
}

FLOOR_FUNCTION(noop_ints, 3) {
  TVMFFIAny values[3], result;
  for (int i = 0; i < 3; ++i) {
    if (int_to_any(args[i], &values[i]) != 0) return NULL;
  }
  return invoke(kernel_noop, values, 3, &result) == 0 ? take_result(&result) : NULL;
}

FLOOR_FUNCTION(noop_mixed, 3) {
  TVMFFIAny values[3], result;
  if (int_to_any(args[0], &values[0]) != 0) return NULL;
  if (float_to_any(args[1], &values[1]) != 0) return NULL;
  if (str_to_any(args[2], &values[2]) != 0) return NULL;
  int code = invoke(kernel_noop, values, 3, &result);
  release_any(&values[2]);
  return code == 0 ? take_result(&result) : NULL;
}

/* Call a kernel with one str argument. */
static inline PyObject* invoke_with_str(TVMFFISafeCallType kernel, PyObject* argument) {
  TVMFFIAny value, result;
  if (str_to_any(argument, &value) != 0) return NULL;
  int code = invoke(kernel, &value, 1, &result);
  release_any(&value);
  return code == 0 ? take_result(&result) : NULL;
}

FLOOR_FUNCTION(noop_str, 1) { return invoke_with_str(kernel_noop, args[0]); }
FLOOR_FUNCTION(echo_str, 1) { return invoke_with_str(kernel_echo, args[0]); }

FLOOR_FUNCTION(echo_int, 1) {
  TVMFFIAny value, result;
  if (int_to_any(args[0], &value) != 0) return NULL;
  return invoke(kernel_echo, &value, 1, &result) == 0 ? take_result(&result) : NULL;
}

FLOOR_FUNCTION(raise_error, 0) {
  TVMFFIAny result;
  (void)args;
  return invoke(kernel_raise_error, NULL, 0, &result) == 0 ? take_result(&result) : NULL;
}

/* ---- Calls with one container ------------------------------------------------------------- */

/* Call the no-op with a container; consumes the reference. */
static PyObject* invoke_with_container(int32_t type_index, TVMFFIObjectHandle container) {
  TVMFFIAny value = {.type_index = type_index}, result;
  if (container == NULL) return NULL;
  value.v_obj = (TVMFFIObject*)container;
  int code = invoke(kernel_noop, &value, 1, &result);
  TVMFFIObjectDecRef(container);
  return code == 0 ? take_result(&result) : NULL;
}

FLOOR_FUNCTION(noop_list, 1) {
  if (!PyList_CheckExact(args[0])) {
    fail_type("list", args[0]);
    return NULL;
  }
  return invoke_with_container(kTVMFFIArray, array_from_list(args[0]));
}

FLOOR_FUNCTION(noop_dict, 1) {
  if (!PyDict_CheckExact(args[0])) {
    fail_type("dict", args[0]);
    return NULL;
  }
  return invoke_with_container(kTVMFFIMap, map_from_dict(args[0]));
}

/* ---- Calls with three tensors ------------------------------------------------------------- */

static inline PyObject* invoke_with_tensors(TVMFFISafeCallType kernel, PyObject* const* args) {
  TVMFFIAny values[3], result;
  for (int i = 0; i < 3; ++i) {
    if (tensor_to_any(args[i], &values[i]) != 0) return NULL;
  }
  return invoke(kernel, values, 3, &result) == 0 ? take_result(&result) : NULL;
}

static inline PyObject* invoke_with_numpy(TVMFFISafeCallType kernel, PyObject* const* args) {
  CallTensor tensors[3];
  TVMFFIAny values[3], result;
  for (int i = 0; i < 3; ++i) {
    if (numpy_to_any(args[i], &tensors[i], &values[i]) != 0) return NULL;
  }
  if (invoke(kernel, values, 3, &result) != 0) return NULL;
  if (check_not_kept(tensors, 3) != 0) return NULL;
  return take_result(&result);
}

static inline PyObject* invoke_with_torch(TVMFFISafeCallType kernel, PyObject* const* args) {
  CallTensor tensors[3];
  TVMFFIAny values[3], result;
  for (int i = 0; i < 3; ++i) {
    if (torch_to_any(args[i], &tensors[i], &values[i]) != 0) return NULL;
  }
  DLPackManagedTensorAllocator previous = enter_allocator();
  int code = invoke(kernel, values, 3, &result);
  leave_allocator(previous);
  if (code != 0 || check_not_kept(tensors, 3) != 0) return NULL;
  return take_result(&result);
}

FLOOR_FUNCTION(noop_tensors, 3) { return invoke_with_tensors(kernel_noop, args); }
FLOOR_FUNCTION(noop_numpy, 3) { return invoke_with_numpy(kernel_noop, args); }
FLOOR_FUNCTION(noop_torch, 3) { return invoke_with_torch(kernel_noop, args); }
FLOOR_FUNCTION(check_tensors, 3) { return invoke_with_tensors(kernel_check_tensors, args); }
FLOOR_FUNCTION(check_numpy, 3) { return invoke_with_numpy(kernel_check_tensors, args); }
FLOOR_FUNCTION(check_torch, 3) { return invoke_with_torch(kernel_check_tensors, args); }

/* ---- Calls with keyword arguments --------------------------------------------------------- */

static PyObject* named(PyObject* callable, PyObject* const* args, size_t nargsf,
                       PyObject* kwnames) {
  PyObject* bound[NUM_NAMED];
  (void)callable;
  if (bind_named(args, PyVectorcall_NARGS(nargsf), kwnames, bound) != 0) return NULL;
  return noop_ints_body(bound);
}

static PyObject* named_torch(PyObject* callable, PyObject* const* args, size_t nargsf,
                             PyObject* kwnames) {
  PyObject* bound[NUM_NAMED];
  (void)callable;
  if (bind_named(args, PyVectorcall_NARGS(nargsf), kwnames, bound) != 0) return NULL;
  return invoke_with_torch(kernel_noop, bound);
}

/* ---- Tensors as results ------------------------------------------------------------------- */

/* Return 1 if the result is a tensor; otherwise release it, set a TypeError and return 0. */
static inline int expect_tensor(const TVMFFIAny* result) {
  if (result->type_index == kTVMFFITensor) return 1;
  release_any(result);
  PyErr_SetString(PyExc_TypeError, "the kernel did not return a tensor");
  return 0;
}

FLOOR_FUNCTION(echo_tensor, 1) {
  TVMFFIAny value, result;
  if (tensor_to_any(args[0], &value) != 0) return NULL;
  if (invoke(kernel_echo, &value, 1, &result) != 0) return NULL;
  return expect_tensor(&result) ? handle_wrap(&TensorType, result.v_obj) : NULL;
}

FLOOR_FUNCTION(echo_torch, 1) {
  DLTensor view;
  TVMFFIAny value, result;
  if (view_exchange_tensor(args[0], &view) != 0) return NULL;
  TVMFFIObjectHandle owned = own_tensor(&view, args[0]);
  if (owned == NULL) return NULL;
  set_tensor((TVMFFIObject*)owned, &value);
  DLPackManagedTensorAllocator previous = enter_allocator();
  int code = invoke(kernel_echo, &value, 1, &result);
  leave_allocator(previous);
  TVMFFIObjectDecRef(owned);
  if (code != 0 || !expect_tensor(&result)) return NULL;
  return torch_from_tensor(result.v_obj);
}

/* ---- Callbacks ---------------------------------------------------------------------------- */

static inline PyObject* invoke_apply(TVMFFIObjectHandle function, PyObject* argument) {
  TVMFFIAny values[2], result;
  values[0].type_index = kTVMFFIFunction;
  values[0].zero_padding = 0;
  values[0].v_obj = (TVMFFIObject*)function;
  if (int_to_any(argument, &values[1]) != 0) return NULL;
  return invoke(kernel_apply, values, 2, &result) == 0 ? take_result(&result) : NULL;
}

/* apply_function(Function, int) */
FLOOR_FUNCTION(apply_function, 2) {
  if (!PyObject_TypeCheck(args[0], &FunctionType)) {
    fail_type("Function", args[0]);
    return NULL;
  }
  return invoke_apply(((HandleObject*)args[0])->handle, args[1]);
}

/* apply_callable(callable, int): create a Function for one call. */
FLOOR_FUNCTION(apply_callable, 2) {
  TVMFFIObjectHandle function = function_from_callable(args[0]);
  if (function == NULL) return NULL;
  PyObject* result = invoke_apply(function, args[1]);
  TVMFFIObjectDecRef(function);
  return result;
}

/* ---- Set-up functions, which are not timed ------------------------------------------------ */

/* load(path): look up the kernels in a shared library, which is never closed. */
static PyObject* load(PyObject* module, PyObject* path) {
  const struct {
    const char* symbol;
    TVMFFISafeCallType* slot;
  } kernels[] = {
      {"__tvm_ffi_noop", &kernel_noop},
      {"__tvm_ffi_echo", &kernel_echo},
      {"__tvm_ffi_apply", &kernel_apply},
      {"__tvm_ffi_raise_error", &kernel_raise_error},
      {"__tvm_ffi_check_tensors", &kernel_check_tensors},
      {"__tvm_ffi_register_record", &kernel_register_record},
  };
  (void)module;
  const char* text = PyUnicode_AsUTF8(path);
  if (text == NULL) return NULL;
  void* library = dlopen(text, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return PyErr_Format(PyExc_OSError, "%s", dlerror());
  for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); ++i) {
    *kernels[i].slot = (TVMFFISafeCallType)dlsym(library, kernels[i].symbol);
    if (*kernels[i].slot == NULL) return PyErr_Format(PyExc_OSError, "%s", dlerror());
  }
  Py_RETURN_NONE;
}

/* load_numpy(): import NumPy's C API.  Separate from `load`, because importing NumPy starts
 * threads. */
static PyObject* load_numpy(PyObject* module, PyObject* no_args) {
  (void)module, (void)no_args;
  import_array1(NULL);
  Py_RETURN_NONE;
}

/* register_record(): register the type that Record wraps, and look up its members. */
static PyObject* register_record(PyObject* module, PyObject* no_args) {
  TVMFFIAny result;
  (void)module, (void)no_args;
  if (invoke(kernel_register_record, NULL, 0, &result) != 0) return NULL;
  if (find_record("benchmark.Record") != 0) return NULL;
  Py_RETURN_NONE;
}

/* set_release_gil(bool): set the GIL policy of all later calls. */
static PyObject* set_release_gil(PyObject* module, PyObject* flag) {
  (void)module;
  int is_true = PyObject_IsTrue(flag);
  if (is_true < 0) return NULL;
  releases_gil = is_true;
  Py_RETURN_NONE;
}

/* use_exchange_api(cls): set the tensor class of the ..._torch functions. */
static PyObject* use_exchange_api(PyObject* module, PyObject* cls) {
  (void)module;
  PyObject* capsule = PyObject_GetAttrString(cls, "__dlpack_c_exchange_api__");
  if (capsule == NULL) return NULL;
  void* table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  Py_DECREF(capsule);
  if (table == NULL) return NULL;
  if (((const DLPackExchangeAPI*)table)->dltensor_from_py_object_no_sync == NULL) {
    PyErr_SetString(PyExc_ValueError, "the exchange API has no function for borrowed tensors");
    return NULL;
  }
  exchange = (const DLPackExchangeAPI*)table;
  Py_INCREF(cls);
  Py_XSETREF(exchange_type, (PyTypeObject*)cls);
  Py_RETURN_NONE;
}

/* The no-op as a built-in function of the module, for the row noop_builtin. */
static PyObject* noop_builtin(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  return noop(module, args, (size_t)nargs, NULL);
}

#define FLOOR_CALLABLE(name) {#name, name}

static const struct {
  const char* name;
  vectorcallfunc vectorcall;
} callables[] = {
    FLOOR_CALLABLE(noop),           FLOOR_CALLABLE(noop_ints),    FLOOR_CALLABLE(noop_mixed),
    FLOOR_CALLABLE(noop_str),       FLOOR_CALLABLE(noop_tensors), FLOOR_CALLABLE(noop_numpy),
    FLOOR_CALLABLE(noop_torch),     FLOOR_CALLABLE(echo_int),     FLOOR_CALLABLE(echo_str),
    FLOOR_CALLABLE(echo_tensor),    FLOOR_CALLABLE(echo_torch),   FLOOR_CALLABLE(apply_function),
    FLOOR_CALLABLE(apply_callable), FLOOR_CALLABLE(raise_error),  FLOOR_CALLABLE(check_tensors),
    FLOOR_CALLABLE(check_numpy),    FLOOR_CALLABLE(check_torch),  FLOOR_CALLABLE(noop_list),
    FLOOR_CALLABLE(noop_dict),      FLOOR_CALLABLE(named),        FLOOR_CALLABLE(named_torch),
};

static PyMethodDef methods[] = {
    {"noop_builtin", (PyCFunction)(void (*)(void))noop_builtin, METH_FASTCALL, NULL},
    {"load", load, METH_O, NULL},
    {"load_numpy", load_numpy, METH_NOARGS, NULL},
    {"register_record", register_record, METH_NOARGS, NULL},
    {"set_release_gil", set_release_gil, METH_O, NULL},
    {"use_exchange_api", use_exchange_api, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "floor",
    .m_doc = "Hand-written binding of the benchmark kernels.",
    .m_size = -1,
    .m_methods = methods,
};

static PyTypeObject* const types[] = {
    &TensorType, &FunctionType, &CallableType, &ArrayType, &MapType, &RecordType,
};

static int add_members(PyObject* module) {
  if (make_parameters() != 0) return -1;
  add_tensor_methods();
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
    if (PyModule_AddType(module, types[i]) < 0) return -1;
  }
  for (size_t i = 0; i < sizeof(callables) / sizeof(callables[0]); ++i) {
    if (add_callable(module, callables[i].name, callables[i].vectorcall) != 0) return -1;
  }
  return PyType_Ready(&ArrayIteratorType);
}

PyMODINIT_FUNC PyInit_floor(void) {
  if (init_errors() != 0 || find_containers() != 0) return NULL;
  PyObject* module = PyModule_Create(&definition);
  if (module != NULL && add_members(module) != 0) Py_CLEAR(module);
  return module;
}

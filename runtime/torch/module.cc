// SPDX-License-Identifier: Apache-2.0
// The Python module tvm_ffi.interop.torch._native, which registers kernels in C++.
#include <memory>
#include <string>

#include "dispatcher_kernels.h"

namespace tvm_ffi_torch {
namespace {

const char kCapsuleName[] = "tvm_ffi.interop.torch.kernels";

// The registrations of one operator.
struct Registration {
  Operator op;
  int slot = -1;
  std::vector<void*> libraries;

  ~Registration() {
    for (void* library : libraries) torch_api.aoti_torch_delete_library_object(library);
    if (slot >= 0) ReturnKernels(slot);
    if (op.function != nullptr) TVMFFIObjectDecRef(op.function);
    for (TVMFFIObjectHandle check : op.checks) TVMFFIObjectDecRef(check);
    Py_XDECREF(op.wrapper);
    Py_XDECREF(op.kernel);
    Py_XDECREF(op.autograd);
    Py_XDECREF(op.apply);
  }
};

void DestroyCapsule(PyObject* capsule) {
  delete static_cast<Registration*>(PyCapsule_GetPointer(capsule, kCapsuleName));
}

void* PointerIn(PyObject* capsule) {
  return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
}

// load(tensor_offset, key_set_offset, plain_keys, transform_keys, raise_from_native,
//      releases_gil_of)
PyObject* Load(PyObject*, PyObject* args) {
  unsigned long long tensor_offset = 0, key_set_offset = 0, plain_keys = 0;
  PyObject *keys = nullptr, *raise_capsule = nullptr, *gil_capsule = nullptr;
  if (!PyArg_ParseTuple(args, "KKKO!OO", &tensor_offset, &key_set_offset, &plain_keys,
                        &PyTuple_Type, &keys, &raise_capsule, &gil_capsule)) {
    return nullptr;
  }
  void* const raise = PointerIn(raise_capsule);
  void* const gil = raise == nullptr ? nullptr : PointerIn(gil_capsule);
  if (gil == nullptr) return nullptr;
  if (const char* const missing = LoadTorchApi()) {
    return PyErr_Format(PyExc_ImportError, "this torch has no function %s", missing);
  }
  layout = Layout{tensor_offset, key_set_offset, plain_keys, {}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) {
    layout.transform_keys.push_back(static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(keys, i))));
  }
  if (PyErr_Occurred()) return nullptr;
  raise_from_native = reinterpret_cast<int (*)(int)>(raise);
  releases_gil_of = reinterpret_cast<const int* (*)(PyObject*)>(gil);
  Py_RETURN_NONE;
}

bool ParseExtents(PyObject* shape, Parameter* out) {
  out->has_shape = shape != Py_None;
  for (Py_ssize_t i = 0; out->has_shape && i < PyTuple_GET_SIZE(shape); ++i) {
    int kind = 0;
    long long value = 0;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(shape, i), "iL", &kind, &value)) return false;
    out->shape.push_back({static_cast<Extent::Kind>(kind), value});
  }
  return true;
}

bool ParseDtypes(PyObject* dtypes, Parameter* out) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dtypes); ++i) {
    int torch = 0, code = 0, bits = 0, lanes = 0;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(dtypes, i), "iiii", &torch, &code, &bits, &lanes)) {
      return false;
    }
    out->dtypes.push_back(
        {torch,
         {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)}});
  }
  return true;
}

// (kind, argument, is_optional, free_dimensions, is_result, name, device_type, dtype_name, dtypes,
//  shape or None)
bool ParseParameter(PyObject* tuple, Parameter* out) {
  int kind = 0, is_optional = 0, is_result = 0;
  PyObject *dtypes = nullptr, *shape = nullptr;
  if (!PyArg_ParseTuple(tuple, "iipipiiiO!O", &kind, &out->argument, &is_optional,
                        &out->free_dimensions, &is_result, &out->name, &out->device_type,
                        &out->dtype_name, &PyTuple_Type, &dtypes, &shape)) {
    return false;
  }
  out->kind = static_cast<Kind>(kind);
  out->is_optional = is_optional != 0;
  out->is_result = is_result != 0;
  return ParseDtypes(dtypes, out) && ParseExtents(shape, out);
}

bool ParseOperator(PyObject* parameters, PyObject* arguments, Operator* op) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parameters); ++i) {
    op->parameters.emplace_back();
    if (!ParseParameter(PyTuple_GET_ITEM(parameters, i), &op->parameters.back())) return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    int kind = 0, is_optional = 0, is_written = 0;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(arguments, i), "ipp", &kind, &is_optional,
                          &is_written)) {
      return false;
    }
    op->arguments.push_back({static_cast<Kind>(kind), is_optional != 0, is_written != 0});
  }
  return true;
}

bool RegisterAt(Registration* registration, const char* space, const char* name, const char* key,
                DispatcherKernel kernel) {
  void* library = nullptr;
  if (torch_api.aoti_torch_library_init_impl(space, key, "tvm_ffi", 1, &library) != 0) {
    PyErr_Format(PyExc_RuntimeError, "torch has no dispatch key %s", key);
    return false;
  }
  registration->libraries.push_back(library);
  if (torch_api.aoti_torch_library_impl(library, name, kernel) != 0) {
    PyErr_Format(PyExc_RuntimeError, "torch rejected a kernel of %s::%s at %s", space, name, key);
    return false;
  }
  return true;
}

PyObject* NewReferenceUnlessNone(PyObject* value) {
  if (value == Py_None) return nullptr;
  Py_INCREF(value);
  return value;
}

// Own a function, given its Python object, its address and the addresses of its checks.
bool OwnFunction(PyObject* wrapper, unsigned long long address, PyObject* checks, Operator* op) {
  Py_INCREF(wrapper);
  op->wrapper = wrapper;
  op->releases_gil = releases_gil_of(wrapper);
  op->function = reinterpret_cast<TVMFFIObjectHandle>(address);
  TVMFFIObjectIncRef(op->function);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(checks); ++i) {
    const auto check =
        static_cast<TVMFFIObjectHandle>(PyLong_AsVoidPtr(PyTuple_GET_ITEM(checks, i)));
    if (check == nullptr) return false;
    TVMFFIObjectIncRef(check);
    op->checks.push_back(check);
  }
  return true;
}

// register(namespace, name, keys, autograd_key, function, address of the function, addresses of
//          its checks, exchange_api, parameters, arguments, kernel, autograd, apply) -> capsule
//          that owns the kernels, or None if none are left
PyObject* Register(PyObject*, PyObject* args) {
  const char *space = nullptr, *name = nullptr, *autograd_key = nullptr;
  unsigned long long function = 0;
  PyObject *wrapper = nullptr, *checks = nullptr;
  PyObject *keys = nullptr, *exchange = nullptr, *parameters = nullptr, *arguments = nullptr;
  PyObject *kernel = nullptr, *autograd = nullptr, *apply = nullptr;
  if (!PyArg_ParseTuple(args, "ssO!sOKO!OO!O!OOO", &space, &name, &PyTuple_Type, &keys,
                        &autograd_key, &wrapper, &function, &PyTuple_Type, &checks, &exchange,
                        &PyTuple_Type, &parameters, &PyTuple_Type, &arguments, &kernel, &autograd,
                        &apply)) {
    return nullptr;
  }
  const auto* const api =
      static_cast<const DLPackExchangeAPI*>(PyCapsule_GetPointer(exchange, "dlpack_exchange_api"));
  if (api == nullptr) return nullptr;
  std::unique_ptr<Registration> owner(new Registration);
  Operator& op = owner->op;
  if (!ParseOperator(parameters, arguments, &op) || !OwnFunction(wrapper, function, checks, &op)) {
    return nullptr;
  }
  op.name = std::string(space) + "::" + name;
  op.allocator = api->managed_tensor_allocator;
  op.kernel = NewReferenceUnlessNone(kernel);
  op.autograd = NewReferenceUnlessNone(autograd);
  op.apply = NewReferenceUnlessNone(apply);
  DispatcherKernel backend_kernel = nullptr, autograd_kernel = nullptr;
  if (!TakeKernels(&op, &owner->slot, &backend_kernel, &autograd_kernel)) Py_RETURN_NONE;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) {
    const char* const key = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keys, i));
    if (key == nullptr || !RegisterAt(owner.get(), space, name, key, backend_kernel))
      return nullptr;
  }
  if (op.autograd != nullptr &&
      !RegisterAt(owner.get(), space, name, autograd_key, autograd_kernel)) {
    return nullptr;
  }
  PyObject* const capsule = PyCapsule_New(owner.get(), kCapsuleName, DestroyCapsule);
  if (capsule != nullptr) owner.release();
  return capsule;
}

PyObject* Forward(PyObject*, PyObject* setup_context) { return NewForward(setup_context); }

PyMethodDef kMethods[] = {
    {"load", Load, METH_VARARGS, "Find torch's functions; raise ImportError if one is missing."},
    {"forward", Forward, METH_O,
     "Return a forward for the torch.autograd.Function of an operator."},
    {"register", Register, METH_VARARGS, "Register kernels of an operator."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_native", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace tvm_ffi_torch

PyMODINIT_FUNC PyInit__native() {
  PyObject* const module = PyModule_Create(&tvm_ffi_torch::kModule);
#ifdef Py_GIL_DISABLED
  if (module != nullptr) PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
  return module;
}

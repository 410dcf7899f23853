// SPDX-License-Identifier: Apache-2.0
#include "dispatcher_kernels.h"

#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

// torch's exception for an error that is set in Python.  torch's code catches it by its name and
// reads the fields, so name and fields are those of torch 2.13.
struct __attribute__((visibility("default"))) python_error : public std::exception {
  python_error() = default;
  python_error(const python_error& other)
      : type(other.type), value(other.value), traceback(other.traceback), message(other.message) {
    const PyGILState_STATE gil = PyGILState_Ensure();
    Py_XINCREF(type);
    Py_XINCREF(value);
    Py_XINCREF(traceback);
    PyGILState_Release(gil);
  }
  python_error& operator=(const python_error&) = delete;
  ~python_error() override {
    if (type == nullptr && value == nullptr && traceback == nullptr) return;
    const PyGILState_STATE gil = PyGILState_Ensure();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyGILState_Release(gil);
  }
  const char* what() const noexcept override { return message.c_str(); }

  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  std::string message;
};

namespace tvm_ffi_torch {

int (*raise_from_native)(int code) = nullptr;
const int* (*releases_gil_of)(PyObject* function) = nullptr;

namespace {

class HoldGil {
 public:
  HoldGil() : state_(PyGILState_Ensure()) {}
  ~HoldGil() { PyGILState_Release(state_); }
  HoldGil(const HoldGil&) = delete;
  HoldGil& operator=(const HoldGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// Throw the Python exception that is set.  The caller holds the GIL until the exception leaves it.
[[noreturn]] void ThrowPythonError() {
  python_error error;
  PyErr_Fetch(&error.type, &error.value, &error.traceback);
  PyErr_NormalizeException(&error.type, &error.value, &error.traceback);
  PyObject* const text = error.value == nullptr ? nullptr : PyObject_Str(error.value);
  const char* const utf8 = text == nullptr ? nullptr : PyUnicode_AsUTF8(text);
  error.message = utf8 == nullptr ? "python_error" : utf8;
  Py_XDECREF(text);
  PyErr_Clear();
  throw error;
}

PyObject* ToPython(const Argument& argument, StackValue value) {
  if (argument.is_optional) {
    if (value == 0) Py_RETURN_NONE;
    value = *reinterpret_cast<StackValue*>(value);
  }
  double number = 0;
  switch (argument.kind) {
    case Kind::kTensor:
      return torch_api.wrap(reinterpret_cast<TensorHandle>(value));
    case Kind::kInt:
      return PyLong_FromLongLong(static_cast<long long>(value));
    case Kind::kFloat:
      std::memcpy(&number, &value, sizeof(number));
      return PyFloat_FromDouble(number);
    case Kind::kBool:
      return PyBool_FromLong((value & 0xff) != 0);
  }
  return nullptr;
}

void Consume(const Operator& op, StackValue* stack) {
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    TensorHandle tensor = TensorOf(op.arguments[i], stack[i]);
    if (tensor != nullptr) torch_api.aoti_torch_delete_tensor_object(tensor);
    if (op.arguments[i].is_optional && stack[i] != 0) {
      torch_api.torch_delete_stable_ivalue(reinterpret_cast<StackValue*>(stack[i]));
    }
  }
}

// Return a new handle of a Python tensor; null with a Python exception on failure.
TensorHandle HandleOf(PyObject* value) {
  static PyTypeObject* tensor_class = nullptr;
  if (tensor_class == nullptr) {
    PyObject* const torch = PyImport_ImportModule("torch");
    if (torch == nullptr) return nullptr;
    tensor_class = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(torch, "Tensor"));
    Py_DECREF(torch);
    if (tensor_class == nullptr) return nullptr;
  }
  TensorHandle handle = nullptr;
  if (!PyObject_TypeCheck(value, tensor_class)) {
    PyErr_Format(PyExc_TypeError, "expected a torch.Tensor as result of a kernel, got %.200s",
                 Py_TYPE(value)->tp_name);
  } else if (torch_api.aoti_torch_new_tensor_handle(
                 reinterpret_cast<char*>(value) + layout.tensor_offset, &handle) != 0) {
    PyErr_SetString(PyExc_RuntimeError, "torch could not copy a tensor handle");
  }
  return handle;
}

// Write the results of a Python kernel to the stack.  Returns false with an exception on failure.
bool StoreResults(PyObject* value, StackValue* stack, uint64_t num_results) {
  if (num_results == 0) return true;
  if (num_results == 1 && !PyTuple_Check(value)) {
    stack[0] = reinterpret_cast<StackValue>(HandleOf(value));
    return stack[0] != 0;
  }
  if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != static_cast<Py_ssize_t>(num_results)) {
    PyErr_SetString(PyExc_RuntimeError, "a kernel returned the wrong number of results");
    return false;
  }
  for (uint64_t i = 0; i < num_results; ++i) {
    TensorHandle handle = HandleOf(PyTuple_GET_ITEM(value, static_cast<Py_ssize_t>(i)));
    if (handle == nullptr) {
      while (i-- > 0) {
        torch_api.aoti_torch_delete_tensor_object(reinterpret_cast<TensorHandle>(stack[i]));
      }
      return false;
    }
    stack[i] = reinterpret_cast<StackValue>(handle);
  }
  return true;
}

// Return a tuple of the arguments; null with a Python exception on failure.
PyObject* PythonArguments(const Operator& op, const StackValue* stack) {
  PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(op.arguments.size()));
  for (size_t i = 0; tuple != nullptr && i < op.arguments.size(); ++i) {
    PyObject* const value = ToPython(op.arguments[i], stack[i]);
    if (value == nullptr) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), value);
  }
  return tuple;
}

// Call a Python kernel with the arguments, and consume them.
void CallPython(const Operator& op, PyObject* kernel, StackValue* stack, uint64_t num_results) {
  const HoldGil gil;
  PyObject* const args = PythonArguments(op, stack);
  Consume(op, stack);
  PyObject* const result = args == nullptr ? nullptr : PyObject_CallObject(kernel, args);
  Py_XDECREF(args);
  const bool is_stored = result != nullptr && StoreResults(result, stack, num_results);
  Py_XDECREF(result);
  if (!is_stored) ThrowPythonError();
}

// Increment the version counters of tensors that the operator will write.
void BumpVersions(const Operator& op, StackValue* stack) {
  try {
    for (size_t i = 0; i < op.arguments.size(); ++i) {
      if (!op.arguments[i].is_written) continue;
      TensorHandle tensor = TensorOf(op.arguments[i], stack[i]);
      if (tensor != nullptr) torch_api.bump_version(tensor);
    }
  } catch (...) {  // torch's error: an inference tensor outside of inference mode
    Consume(op, stack);
    throw;
  }
}

[[gnu::noinline]] void CallOnBackend(const Operator& op, StackValue* stack, uint64_t num_results) {
  int code = 0;
  if (!CallDirectly(op, stack, &code)) {
    CallPython(op, op.kernel, stack, num_results);
  } else if (code != 0) {
    const HoldGil gil;
    raise_from_native(code);
    ThrowPythonError();
  }
}

// True if no mode, no transform and no special tensor has a kernel between autograd's and the
// backend's.
bool IsBackendNext(const Operator& op, const StackValue* stack) {
  if (torch_api.is_mode_enabled()) return false;
  for (const int key : layout.transform_keys) {
    if (torch_api.is_key_included(key)) return false;
  }
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    TensorHandle tensor = TensorOf(op.arguments[i], stack[i]);
    if (tensor != nullptr && !IsPlain(tensor)) return false;
  }
  return true;
}

bool NeedsGradient(const Operator& op, const StackValue* stack) {
  if (!torch_api.aoti_torch_grad_mode_is_enabled()) return false;
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    TensorHandle tensor = TensorOf(op.arguments[i], stack[i]);
    if (tensor != nullptr && torch_api.requires_grad(*static_cast<void**>(tensor))) return true;
  }
  return false;
}

// ---- derivatives
// ------------------------------------------------------------------------------

// A call of `Operator::apply`, which calls `Forward`.
struct DerivedCall {
  const Operator& op;
  StackValue* stack;
  uint64_t num_results;
  PyObject* args;  // borrowed
};

thread_local DerivedCall* derived_call = nullptr;  // of the next call of `Forward`

[[gnu::noinline]] void CallApply(const Operator& op, StackValue* stack, uint64_t num_results) {
  const HoldGil gil;
  PyObject* const args = PythonArguments(op, stack);
  DerivedCall call{op, stack, num_results, args};
  DerivedCall* const outer = std::exchange(derived_call, &call);
  PyObject* const result = args == nullptr ? nullptr : PyObject_Call(op.apply, args, nullptr);
  if (std::exchange(derived_call, outer) == &call) Consume(op, stack);  // before `Forward`
  Py_XDECREF(args);
  const bool is_stored = result != nullptr && StoreResults(result, stack, num_results);
  Py_XDECREF(result);
  if (!is_stored) ThrowPythonError();
}

// Run the operator's kernel; returns false with a Python exception on failure.
bool CallOnBackendWithoutGil(const DerivedCall& call) {
  PyThreadState* const state = PyEval_SaveThread();
  try {
    CallOnBackend(call.op, call.stack, call.num_results);
    PyEval_RestoreThread(state);
    return true;
  } catch (python_error& error) {
    PyEval_RestoreThread(state);
    PyErr_Restore(std::exchange(error.type, nullptr), std::exchange(error.value, nullptr),
                  std::exchange(error.traceback, nullptr));
  } catch (const std::exception& error) {
    PyEval_RestoreThread(state);
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return false;
}

// Move the results from the stack to Python: one tensor or a tuple.
PyObject* TakeResults(const DerivedCall& call) {
  const auto count = static_cast<Py_ssize_t>(call.num_results);
  PyObject* const tuple = PyTuple_New(count);
  bool is_complete = tuple != nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const auto tensor = reinterpret_cast<TensorHandle>(call.stack[i]);
    PyObject* const value = is_complete ? torch_api.wrap(tensor) : nullptr;
    torch_api.aoti_torch_delete_tensor_object(tensor);
    if (value == nullptr) {
      is_complete = false;
    } else {
      PyTuple_SET_ITEM(tuple, i, value);
    }
  }
  if (!is_complete) {
    Py_XDECREF(tuple);
    return nullptr;
  }
  if (count != 1) return tuple;
  PyObject* const value = PyTuple_GET_ITEM(tuple, 0);
  Py_INCREF(value);
  Py_DECREF(tuple);
  return value;
}

PyObject* setup_keywords = nullptr;  // the names of the parameters of `setup_context`

// The `forward` of the `torch.autograd.Function` to which `Operator::apply` belongs.  `self` is the
// setup_context or None; args[0] is the context.
PyObject* Forward(PyObject* self, PyObject* const* args, Py_ssize_t num_args) {
  const DerivedCall* const call = num_args < 1 ? nullptr : std::exchange(derived_call, nullptr);
  if (call == nullptr) {
    PyErr_SetString(PyExc_RuntimeError,
                    "only an operator may apply its derivative; call the "
                    "operator");
    return nullptr;
  }
  if (!CallOnBackendWithoutGil(*call)) return nullptr;
  PyObject* const output = TakeResults(*call);
  if (output == nullptr || self == Py_None) return output;
  PyObject* const values[] = {args[0], call->args, output};
  PyObject* const result = PyObject_Vectorcall(self, values, 0, setup_keywords);
  if (result == nullptr) {
    Py_DECREF(output);
    return nullptr;
  }
  Py_DECREF(result);
  return output;
}

PyMethodDef kForward = {"forward", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Forward)),
                        METH_FASTCALL, nullptr};

[[gnu::noinline]] void CallAtAutograd(const Operator& op, StackValue* stack, uint64_t num_results) {
  if (!IsBackendNext(op, stack)) {
    CallPython(op, op.autograd, stack, num_results);
  } else if (op.apply == nullptr) {
    BumpVersions(op, stack);
    CallOnBackend(op, stack, num_results);
  } else if (NeedsGradient(op, stack)) {
    CallApply(op, stack, num_results);
  } else {
    CallOnBackend(op, stack, num_results);
  }
}

// ---- the table of kernels
// ------------------------------------------------------------------------

constexpr int kNumKernels = 1024;
const Operator* operators[kNumKernels];
std::mutex operators_mutex;  // of writes; a kernel reads its element while it is registered

template <int index>
void BackendKernel(StackValue* stack, uint64_t, uint64_t num_results) {
  CallOnBackend(*operators[index], stack, num_results);
}

template <int index>
void AutogradKernel(StackValue* stack, uint64_t, uint64_t num_results) {
  CallAtAutograd(*operators[index], stack, num_results);
}

template <int... indices>
void FindKernels(int slot, DispatcherKernel* backend, DispatcherKernel* autograd,
                 std::integer_sequence<int, indices...>) {
  static constexpr DispatcherKernel kBackend[] = {BackendKernel<indices>...};
  static constexpr DispatcherKernel kAutograd[] = {AutogradKernel<indices>...};
  *backend = kBackend[slot];
  *autograd = kAutograd[slot];
}

}  // namespace

PyObject* NewForward(PyObject* setup_context) {
  if (setup_keywords == nullptr) {
    setup_keywords = Py_BuildValue("(sss)", "ctx", "inputs", "output");
    if (setup_keywords == nullptr) return nullptr;
  }
  return PyCFunction_New(&kForward, setup_context);
}

bool TakeKernels(const Operator* op, int* slot, DispatcherKernel* backend,
                 DispatcherKernel* autograd) {
  const std::lock_guard<std::mutex> lock(operators_mutex);
  for (int i = 0; i < kNumKernels; ++i) {
    if (operators[i] != nullptr) continue;
    operators[i] = op;
    *slot = i;
    FindKernels(i, backend, autograd, std::make_integer_sequence<int, kNumKernels>());
    return true;
  }
  return false;
}

void ReturnKernels(int slot) {
  const std::lock_guard<std::mutex> lock(operators_mutex);
  operators[slot] = nullptr;
}

}  // namespace tvm_ffi_torch

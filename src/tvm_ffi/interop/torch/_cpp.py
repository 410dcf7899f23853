# SPDX-License-Identifier: Apache-2.0
"""Operators in C++, for processes without Python: programs that AOTInductor has compiled.

The source has everything that it needs of torch declared in it: functions of torch's C interface,
which keeps from release to release, so that no header of torch is compiled.  It is linked with the
library that has the functions, and registers the operators when it is loaded, under the names that
they have in Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..._binding.call import Function
from ...signature import Parameter
from ._operators import NAMESPACE, Operator, UntraceableError, traced_operator
from ._schema import schema_text, schema_word

__all__ = ["operators_source"]


def operators_source(functions: Iterable[Function]) -> str:
    """Return C++ that registers the operators of functions in processes without Python.

    Parameters
    ----------
    functions : iterable of Function
        Functions of libraries, with signatures; they take tensors, numbers and bools, each of which
        may be None, and return nothing.

    Returns
    -------
    str
        The source of a library.  It needs the headers of this package, and is linked with
        ``libtvm_ffi``, ``libtorch_cpu`` and the libraries that have the functions.

    Raises
    ------
    UntraceableError
        If a function is none of these; the message says why.

    Notes
    -----
    In a process with Python, where the library was loaded before, the operators are those of the
    library: programs call them without Python.
    """
    operators = [traced_operator(one) for one in functions]
    bodies = [_body(operator) for operator in operators]
    rows = "\n".join(map(_row, operators))
    return "\n".join([_HEAD, *bodies, _TAIL.replace("ROWS", rows).replace("NAMESPACE", NAMESPACE)])


def _symbol(operator: Operator) -> str:
    place = operator.place
    if not operator.name.startswith(f"{NAMESPACE}::"):
        raise UntraceableError(
            f"{operator.name}: somebody named it (tvm_ffi.interop.torch.register), and its rules "
            "are in Python"
        )
    if place is None or not place.library or not place.name.isidentifier():
        raise UntraceableError(f"{operator.name}: the function is in no library that C++ can link")
    return f"__tvm_ffi_{place.name}"


def _body(operator: Operator) -> str:
    signature = operator.signature
    if signature.results:
        raise UntraceableError(
            f"{operator.name}: operators in C++ return nothing, and `{signature}` does"
        )
    symbol = _symbol(operator)
    lines = [
        f'extern "C" int {symbol}(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);',
        f"static void Run_{operator.short_name}(uint64_t* stack, uint64_t, uint64_t) {{",
        f"  Arguments call({len(signature.parameters)});",
    ]
    lines += [
        f"  call.{_taker(operator, one)}(stack[{place}]);"
        for place, one in enumerate(signature.parameters)
    ]
    return "\n".join([*lines, f"  call.Run({symbol});", "}", ""])


_TAKERS = {"Tensor": "TakeTensor", "SymInt": "TakeInt", "float": "TakeFloat", "bool": "TakeBool"}


def _taker(operator: Operator, parameter: Parameter) -> str:
    word = schema_word(parameter.type) or ""
    taker = _TAKERS.get(word.rstrip("?"))
    if taker is None or parameter.kind == "variadic":
        raise UntraceableError(
            f"{operator.name}: operators in C++ take tensors, numbers and bools, and "
            f"'{parameter.name}' is none"
        )
    return f"Optional<&Arguments::{taker}>" if word.endswith("?") else taker


def _row(operator: Operator) -> str:
    schema = f"{operator.short_name}{schema_text(operator.signature)}"
    name, run = json.dumps(operator.short_name), f"Run_{operator.short_name}"
    return f"    {{{json.dumps(schema)}, {name}, {run}}},"


_HEAD = """\
// Made by tvm_ffi.interop.torch: operators of torch that call functions of the ABI.
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

// Torch's C interface, as far as it is used here.
extern "C" {
int aoti_torch_library_init_fragment(const char*, const char*, uint32_t, void**);
int aoti_torch_library_init_impl(const char*, const char*, const char*, uint32_t, void**);
int aoti_torch_library_def(void*, const char*);
int aoti_torch_library_impl(void*, const char*, void (*)(uint64_t*, uint64_t, uint64_t));
int aoti_torch_delete_tensor_object(void*);
int aoti_torch_get_data_ptr(void*, void**);
int aoti_torch_get_dim(void*, int64_t*);
int aoti_torch_get_sizes(void*, int64_t**);
int aoti_torch_get_strides(void*, int64_t**);
int aoti_torch_get_dtype(void*, int32_t*);
int aoti_torch_get_device_type(void*, int32_t*);
int aoti_torch_get_device_index(void*, int32_t*);
int32_t aoti_torch_device_type_cpu();
int32_t aoti_torch_device_type_cuda();
int32_t aoti_torch_dtype_bool();
int32_t aoti_torch_dtype_uint8();
int32_t aoti_torch_dtype_int8();
int32_t aoti_torch_dtype_int16();
int32_t aoti_torch_dtype_int32();
int32_t aoti_torch_dtype_int64();
int32_t aoti_torch_dtype_float16();
int32_t aoti_torch_dtype_bfloat16();
int32_t aoti_torch_dtype_float32();
int32_t aoti_torch_dtype_float64();
int32_t aoti_torch_dtype_complex64();
int32_t aoti_torch_dtype_complex128();
// Only where there is CUDA.
__attribute__((weak)) int aoti_torch_get_current_cuda_stream(int32_t, void**);
// What an optional argument is in; allocated by torch.
int torch_delete_stable_ivalue(uint64_t*);
}

namespace {

void Check(int code) {
  if (code != 0) throw std::runtime_error("torch does not tell about a tensor");
}

DLDataType TypeOf(void* tensor) {
  static const struct {
    int32_t torch;
    DLDataType type;
  } kTypes[] = {
      {aoti_torch_dtype_float32(), {kDLFloat, 32, 1}},
      {aoti_torch_dtype_float64(), {kDLFloat, 64, 1}},
      {aoti_torch_dtype_float16(), {kDLFloat, 16, 1}},
      {aoti_torch_dtype_bfloat16(), {kDLBfloat, 16, 1}},
      {aoti_torch_dtype_bool(), {kDLBool, 8, 1}},
      {aoti_torch_dtype_uint8(), {kDLUInt, 8, 1}},
      {aoti_torch_dtype_int8(), {kDLInt, 8, 1}},
      {aoti_torch_dtype_int16(), {kDLInt, 16, 1}},
      {aoti_torch_dtype_int32(), {kDLInt, 32, 1}},
      {aoti_torch_dtype_int64(), {kDLInt, 64, 1}},
      {aoti_torch_dtype_complex64(), {kDLComplex, 64, 1}},
      {aoti_torch_dtype_complex128(), {kDLComplex, 128, 1}},
  };
  int32_t found = 0;
  Check(aoti_torch_get_dtype(tensor, &found));
  for (const auto& row : kTypes) {
    if (row.torch == found) return row.type;
  }
  throw std::runtime_error("a tensor has an element type that operators in C++ do not pass");
}

// The arguments of one call: views of tensors that the call owns, and numbers.
class Arguments {
 public:
  explicit Arguments(size_t count) {
    args_.reserve(count);
    tensors_.reserve(count);  // arguments hold addresses of these
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    for (void* tensor : owned_) aoti_torch_delete_tensor_object(tensor);
  }

  void TakeTensor(uint64_t value) {
    void* tensor = reinterpret_cast<void*>(value);
    owned_.push_back(tensor);
    DLTensor view = {};
    int64_t ndim = 0;
    int32_t device_type = 0, device_index = 0;
    Check(aoti_torch_get_dim(tensor, &ndim));
    Check(aoti_torch_get_data_ptr(tensor, &view.data));
    Check(aoti_torch_get_sizes(tensor, &view.shape));
    Check(aoti_torch_get_strides(tensor, &view.strides));
    Check(aoti_torch_get_device_type(tensor, &device_type));
    Check(aoti_torch_get_device_index(tensor, &device_index));
    view.ndim = static_cast<int32_t>(ndim);
    view.dtype = TypeOf(tensor);
    view.device.device_type = kDLCPU;
    if (device_type != aoti_torch_device_type_cpu()) {
      if (device_type != aoti_torch_device_type_cuda()) {
        throw std::runtime_error("operators in C++ take tensors on cpu and cuda");
      }
      view.device.device_type = kDLCUDA;
      view.device.device_id = device_index;
    }
    tensors_.push_back(view);
    Take(kTVMFFIDLTensorPtr).v_ptr = &tensors_.back();
  }
  void TakeInt(uint64_t value) { Take(kTVMFFIInt).v_int64 = static_cast<int64_t>(value); }
  void TakeBool(uint64_t value) { Take(kTVMFFIBool).v_int64 = (value & 0xff) != 0; }
  void TakeFloat(uint64_t value) { std::memcpy(&Take(kTVMFFIFloat).v_float64, &value, 8); }

  template <void (Arguments::*take)(uint64_t)>
  void Optional(uint64_t value) {
    if (value == 0) {
      Take(kTVMFFINone);
      return;
    }
    uint64_t* place = reinterpret_cast<uint64_t*>(value);
    const uint64_t inner = *place;
    torch_delete_stable_ivalue(place);
    (this->*take)(inner);
  }

  void Run(int (*function)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*)) {
    const DLDevice* device = DeviceWithStream();
    void* before = nullptr;
    if (device != nullptr) {
      void* stream = nullptr;
      Check(aoti_torch_get_current_cuda_stream(device->device_id, &stream));
      TVMFFIEnvSetStream(device->device_type, device->device_id, stream, &before);
    }
    TVMFFIAny result = {};
    const int code = function(nullptr, args_.data(), static_cast<int32_t>(args_.size()), &result);
    if (device != nullptr) {
      TVMFFIEnvSetStream(device->device_type, device->device_id, before, nullptr);
    }
    if (code != 0) Raise();
    if (result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  }

 private:
  TVMFFIAny& Take(int32_t type_index) {
    args_.push_back(TVMFFIAny{});
    args_.back().type_index = type_index;
    return args_.back();
  }

  const DLDevice* DeviceWithStream() const {
    if (aoti_torch_get_current_cuda_stream == nullptr) return nullptr;
    for (const DLTensor& tensor : tensors_) {
      if (tensor.device.device_type == kDLCUDA) return &tensor.device;
    }
    return nullptr;
  }

  [[noreturn]] static void Raise() {
    TVMFFIObjectHandle error = nullptr;
    TVMFFIErrorMoveFromRaised(&error);
    if (error == nullptr) throw std::runtime_error("the function failed and does not say why");
    const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
    const std::string text = std::string(cell->kind.data, cell->kind.size) + ": " +
                             std::string(cell->message.data, cell->message.size);
    TVMFFIObjectDecRef(error);
    throw std::runtime_error(text);
  }

  std::vector<TVMFFIAny> args_;
  std::vector<DLTensor> tensors_;
  std::vector<void*> owned_;
};

}  // namespace
"""

_TAIL = """\
static const bool kIsRegistered = [] {
  static const struct {
    const char* schema;
    const char* name;
    void (*run)(uint64_t*, uint64_t, uint64_t);
  } kOperators[] = {
ROWS
  };
  void* definitions = nullptr;  // stay, and with them what they register
  void* kernels = nullptr;
  if (aoti_torch_library_init_fragment("NAMESPACE", __FILE__, __LINE__, &definitions) != 0 ||
      aoti_torch_library_init_impl("NAMESPACE", "CompositeExplicitAutograd", __FILE__, __LINE__,
                                   &kernels) != 0) {
    return false;
  }
  for (const auto& one : kOperators) {
    if (aoti_torch_library_def(definitions, one.schema) == 0) {  // else somebody has it already
      aoti_torch_library_impl(kernels, one.name, one.run);
    }
  }
  return true;
}();
"""

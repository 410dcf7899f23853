# SPDX-License-Identifier: Apache-2.0
"""Generation of C++ torch operators for processes without Python, such as AOTInductor programs.

The generated source declares the functions of torch's stable C interface that it uses, so it needs
no torch header.  Link it with the libraries that contain the functions.  Loading the resulting
library registers the operators under the names that they have in Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..._binding.call import Function
from ...signature import Parameter, TensorType
from ...signature._check_program import check_program
from ._operators import NAMESPACE, Operator, UntraceableError, traced_operator
from ._schema import may_write, schema_text, schema_type

__all__ = ["operators_source"]


def operators_source(functions: Iterable[Function]) -> str:
    """Return C++ source that registers operators of functions in processes without Python.

    Parameters
    ----------
    functions : iterable of Function
        Functions of libraries, with signatures.  Their parameters are tensors, numbers or bools,
        which may be optional.  They return nothing.

    Returns
    -------
    str
        Source text of a library.  Compile it with the headers of this package, and link it with
        ``libtvm_ffi``, ``libtorch_cpu`` and the libraries of the functions.

    Raises
    ------
    UntraceableError
        If a function is not of this form; the message gives the reason.

    Notes
    -----
    A Python process that loads the library before it traces a program uses the C++ operators, too.
    """
    operators = [traced_operator(function) for function in functions]
    bodies = [_body(operator) for operator in operators]
    rows = "\n".join(map(_row, operators))
    return "\n".join([_HEAD, *bodies, _TAIL.replace("ROWS", rows).replace("NAMESPACE", NAMESPACE)])


def _symbol(operator: Operator) -> str:
    locator = operator.locator
    if not operator.name.startswith(f"{NAMESPACE}::"):
        raise UntraceableError(
            f"{operator.name}: expected an operator that was created from a signature, got one "
            "created by tvm_ffi.interop.torch.register, whose rules are in Python"
        )
    if locator is None or not locator.library or not locator.name.isidentifier():
        raise UntraceableError(
            f"{operator.name}: expected a function of a library, got a global function or a Python "
            "callable; C++ can only link functions of libraries"
        )
    return f"__tvm_ffi_{locator.name}"


def _body(operator: Operator) -> str:
    signature = operator.signature
    if signature.results:
        raise UntraceableError(
            f"{operator.name}: expected a function without results, got `{signature}`; C++ "
            "operators return nothing"
        )
    symbol = _symbol(operator)
    lines = [
        f'extern "C" int {symbol}(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);',
        f"static void Run_{operator.short_name}(uint64_t* stack, uint64_t, uint64_t) {{",
        f"  Arguments call({len(signature.parameters)});",
    ]
    program = None if signature.unchecked else check_program(signature)
    if program is not None:
        lines.insert(1, f"static const char kProgram_{operator.short_name}[] ={_literal(program)};")
    lines += [
        f"  call.{_add_method(operator, parameter)}(stack[{index}]);"
        for index, parameter in enumerate(signature.parameters)
    ]
    if program is not None:
        name = f"kProgram_{operator.short_name}"
        lines.append(f"  static void* const check = CheckFunction({name}, sizeof({name}) - 1);")
        lines.append("  call.CheckWith(check);")
    return "\n".join([*lines, f"  call.Run({symbol});", "}", ""])


def _literal(data: bytes) -> str:
    """Return bytes as a C++ string literal on several lines."""
    pieces = (data[start : start + 24] for start in range(0, len(data), 24))
    return "".join('\n    "' + "".join(f"\\{byte:03o}" for byte in piece) + '"' for piece in pieces)


_ADD_METHODS = {"Tensor": "AddTensor", "SymInt": "AddInt", "float": "AddFloat", "bool": "AddBool"}


def _add_method(operator: Operator, parameter: Parameter) -> str:
    """Return the name of the method of the C++ class `Arguments` that adds an argument."""
    type_name = schema_type(parameter.type) or ""
    method = _ADD_METHODS.get(type_name.rstrip("?"))
    if isinstance(parameter.type, TensorType) and parameter.type.compact_from is not None:
        method = "AddWrittenCompact" if may_write(parameter) else "AddCompact"
        method = f"{method}<{parameter.type.compact_from}>"
    if method is None or parameter.kind == "variadic":
        raise UntraceableError(
            f"{operator.name}: parameter '{parameter.name}': expected a tensor, number or bool, "
            "because generated C++ operators support no other parameter types"
        )
    return f"AddOptional<&Arguments::{method}>" if type_name.endswith("?") else method


def _row(operator: Operator) -> str:
    schema = f"{operator.short_name}{schema_text(operator.signature)}"
    name, run = json.dumps(operator.short_name), f"Run_{operator.short_name}"
    return f"    {{{json.dumps(schema)}, {name}, {run}}},"


_HEAD = """\
// Generated by tvm_ffi.interop.torch: torch operators that call TVM FFI functions.
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

// The functions of torch's stable C interface that this file uses.
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
int aoti_torch_empty_strided(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t,
                             void**);
int aoti_torch_copy_(void*, void*, int32_t);
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
// Null in a build of torch without CUDA.
__attribute__((weak)) int aoti_torch_get_current_cuda_stream(int32_t, void**);
// Frees the cell of an optional argument, which torch allocated.
int torch_delete_stable_ivalue(uint64_t*);
}

namespace {

void Check(int code) {
  if (code != 0) throw std::runtime_error("a function of torch's C interface failed");
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
  int32_t dtype = 0;
  Check(aoti_torch_get_dtype(tensor, &dtype));
  for (const auto& row : kTypes) {
    if (row.torch == dtype) return row.type;
  }
  throw std::runtime_error("C++ operators do not support the dtype of a tensor");
}

[[noreturn]] void Raise() {
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == nullptr) throw std::runtime_error("the function failed but set no error");
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  const std::string text = std::string(cell->kind.data, cell->kind.size) + ": " +
                           std::string(cell->message.data, cell->message.size);
  TVMFFIObjectDecRef(error);
  throw std::runtime_error(text);
}

// Returns a function that raises an error unless its arguments satisfy a signature.
[[maybe_unused]] void* CheckFunction(const char* program, size_t size) {
  const TVMFFIByteArray name = {"pytvmffi.CheckFunction", 22};
  TVMFFIByteArray bytes = {program, size};
  TVMFFIObjectHandle create = nullptr;
  TVMFFIAny args[2] = {}, result = {};
  args[0].type_index = kTVMFFIByteArrayPtr;
  args[0].v_ptr = &bytes;
  if (TVMFFIFunctionGetGlobal(&name, &create) != 0 || create == nullptr) Raise();
  const int code = TVMFFIFunctionCall(create, args, 2, &result);
  TVMFFIObjectDecRef(create);
  if (code != 0) Raise();
  return result.v_obj;
}

// The arguments of one call: numbers, and views of tensors that this object owns.
class Arguments {
 public:
  explicit Arguments(size_t count) {
    args_.reserve(count);
    tensors_.reserve(count);  // args_ has the addresses of the elements
    owned_.reserve(2 * count);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    for (void* tensor : owned_) aoti_torch_delete_tensor_object(tensor);
  }

  void AddTensor(uint64_t value) { AddView(Own(value)); }
  // first: the first dimension that must be row-major without gaps, see IsCompact.
  template <int first>
  void AddCompact(uint64_t value) {
    AddView(CompactCopy(Own(value), first));
  }
  template <int first>
  void AddWrittenCompact(uint64_t value) {
    void* tensor = Own(value);
    void* copy = CompactCopy(tensor, first);
    if (copy != tensor) written_.push_back({tensor, copy});
    AddView(copy);
  }
  void AddInt(uint64_t value) { Add(kTVMFFIInt).v_int64 = static_cast<int64_t>(value); }
  void AddBool(uint64_t value) { Add(kTVMFFIBool).v_int64 = (value & 0xff) != 0; }
  void AddFloat(uint64_t value) { std::memcpy(&Add(kTVMFFIFloat).v_float64, &value, 8); }

  template <void (Arguments::*add)(uint64_t)>
  void AddOptional(uint64_t value) {
    if (value == 0) {
      Add(kTVMFFINone);
      return;
    }
    uint64_t* cell = reinterpret_cast<uint64_t*>(value);
    const uint64_t inner = *cell;
    torch_delete_stable_ivalue(cell);
    (this->*add)(inner);
  }

  void CheckWith(void* check) {
    TVMFFIAny result = {};
    const int32_t count = static_cast<int32_t>(args_.size());
    if (TVMFFIFunctionCall(check, args_.data(), count, &result) != 0) Raise();
  }

  void Run(int (*function)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*)) {
    const DLDevice* device = DeviceWithStream();
    void* previous_stream = nullptr;
    if (device != nullptr) {
      void* stream = nullptr;
      Check(aoti_torch_get_current_cuda_stream(device->device_id, &stream));
      TVMFFIEnvSetStream(device->device_type, device->device_id, stream, &previous_stream);
    }
    TVMFFIAny result = {};
    const int code = function(nullptr, args_.data(), static_cast<int32_t>(args_.size()), &result);
    if (device != nullptr) {
      TVMFFIEnvSetStream(device->device_type, device->device_id, previous_stream, nullptr);
    }
    if (code != 0) Raise();
    for (const auto& pair : written_) Check(aoti_torch_copy_(pair[0], pair[1], 0));
    if (result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  }

 private:
  void* Own(uint64_t value) {
    owned_.push_back(reinterpret_cast<void*>(value));
    return owned_.back();
  }

  // Returns true if the dimensions from `first` on are row-major without gaps.  A negative `first`
  // counts from the last dimension.
  static bool IsCompact(void* tensor, int first) {
    int64_t ndim = 0, step = 1;
    int64_t *sizes = nullptr, *strides = nullptr;
    Check(aoti_torch_get_dim(tensor, &ndim));
    Check(aoti_torch_get_sizes(tensor, &sizes));
    Check(aoti_torch_get_strides(tensor, &strides));
    const int64_t end = first < 0 ? ndim + first : first;
    bool is_compact = true;
    for (int64_t i = ndim - 1; i >= 0; --i) {
      if (sizes[i] == 0) return true;
      if (i >= end && sizes[i] != 1 && strides[i] != step) is_compact = false;
      step *= sizes[i];
    }
    return is_compact;
  }

  // Returns `tensor`, or a copy of it that is row-major without gaps.
  void* CompactCopy(void* tensor, int first) {
    if (IsCompact(tensor, first)) return tensor;
    int64_t ndim = 0;
    int64_t* sizes = nullptr;
    int32_t dtype = 0, device_type = 0, device_index = 0;
    Check(aoti_torch_get_dim(tensor, &ndim));
    Check(aoti_torch_get_sizes(tensor, &sizes));
    Check(aoti_torch_get_dtype(tensor, &dtype));
    Check(aoti_torch_get_device_type(tensor, &device_type));
    Check(aoti_torch_get_device_index(tensor, &device_index));
    std::vector<int64_t> strides(ndim, 1);
    for (int64_t i = ndim - 1; i > 0; --i) strides[i - 1] = strides[i] * sizes[i];
    void* copy = nullptr;
    Check(aoti_torch_empty_strided(ndim, sizes, strides.data(), dtype, device_type, device_index,
                                   &copy));
    owned_.push_back(copy);
    Check(aoti_torch_copy_(copy, tensor, 0));
    return copy;
  }

  void AddView(void* tensor) {
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
        throw std::runtime_error("C++ operators support tensors on cpu and cuda only");
      }
      view.device.device_type = kDLCUDA;
      view.device.device_id = device_index;
    }
    tensors_.push_back(view);
    Add(kTVMFFIDLTensorPtr).v_ptr = &tensors_.back();
  }

  TVMFFIAny& Add(int32_t type_index) {
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

  std::vector<TVMFFIAny> args_;
  std::vector<DLTensor> tensors_;
  std::vector<void*> owned_;
  std::vector<std::array<void*, 2>> written_;  // arguments, and compact copies of them
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
  void* definitions = nullptr;  // Never freed: freeing a library undoes its registrations.
  void* kernels = nullptr;
  if (aoti_torch_library_init_fragment("NAMESPACE", __FILE__, __LINE__, &definitions) != 0 ||
      aoti_torch_library_init_impl("NAMESPACE", "CompositeExplicitAutograd", __FILE__, __LINE__,
                                   &kernels) != 0) {
    return false;
  }
  for (const auto& op : kOperators) {
    if (aoti_torch_library_def(definitions, op.schema) == 0) {  // Fails if it is defined already.
      aoti_torch_library_impl(kernels, op.name, op.run);
    }
  }
  return true;
}();
"""

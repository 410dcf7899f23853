// SPDX-License-Identifier: Apache-2.0
#include "operator.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tvm_ffi_torch {

Layout layout;

namespace {

StackValue ValueOf(bool is_optional, StackValue value) {
  return is_optional ? *reinterpret_cast<StackValue*>(value) : value;
}

bool IsNone(bool is_optional, StackValue value) { return is_optional && value == 0; }

// A Tensor over the memory of a torch tensor.  Shape and strides follow the struct in memory,
// because torch changes its own in place, and the function may keep the Tensor.
struct TensorObject {
  TVMFFIObject header;
  DLTensor tensor;      // each Tensor begins with these two fields
  TensorHandle source;  // owned; null until the object owns it

  static TensorObject* New(const DLTensor& view) {
    const size_t ndim = static_cast<size_t>(view.ndim);
    TensorObject* const object =
        new (::operator new(sizeof(TensorObject) + 2 * ndim * sizeof(int64_t))) TensorObject;
    object->header.combined_ref_count = TVM_FFI_REF_COUNT_INITIAL;
    object->header.type_index = kTVMFFITensor;
    object->header.__padding = 0;
    object->header.deleter = Delete;
    object->tensor = view;
    object->tensor.shape = reinterpret_cast<int64_t*>(object + 1);
    object->tensor.strides = object->tensor.shape + ndim;
    std::copy_n(view.shape, ndim, object->tensor.shape);
    std::copy_n(view.strides, ndim, object->tensor.strides);
    object->source = nullptr;
    return object;
  }

  static void Delete(void* self, int flags) {
    TensorObject* const object = static_cast<TensorObject*>(self);
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0 && object->source != nullptr) {
      torch_api.aoti_torch_delete_tensor_object(object->source);
    }
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) ::operator delete(self);
  }

  uint64_t CountReferences() const {
    return __atomic_load_n(&header.combined_ref_count, __ATOMIC_ACQUIRE);
  }

  bool HasOtherOwner() const {
    return (CountReferences() & TVM_FFI_REF_COUNT_STRONG_MASK) > TVM_FFI_REF_COUNT_STRONG_ONE;
  }

  void Release() {
    if (CountReferences() == TVM_FFI_REF_COUNT_INITIAL) {
      Delete(this, kTVMFFIObjectDeleterFlagBitMaskBoth);
    } else {
      TVMFFIObjectDecRef(&header);
    }
  }

  // Own the memory of `torch_tensor`.  An argument's own tensor is not enough, because torch may
  // assign other memory to it, as `x.data = y` does.
  void KeepMemory(TensorHandle torch_tensor) {
    TensorHandle alias = nullptr;
    if (torch_api.aoti_torch__reinterpret_tensor(torch_tensor, tensor.ndim, tensor.shape,
                                                 tensor.strides, 0, &alias) != 0) {
      return;
    }
    if (source != nullptr) torch_api.aoti_torch_delete_tensor_object(source);
    source = alias;
  }
};

bool LacksMemory(const DLTensor& view) {
  return view.data == nullptr &&
         std::find(view.shape, view.shape + view.ndim, 0) == view.shape + view.ndim;
}

void DropRaisedError() {
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  if (error != nullptr) TVMFFIObjectDecRef(error);
}

// One call.  The destructor releases all that the call owns.
class Call {
 public:
  // Initializes only the elements that the operator uses: the call is short.
  explicit Call(const Operator& op) : op_(op) {
    for (size_t i = 0; i < op.parameters.size(); ++i) handles_[i] = results_of_[i] = nullptr;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    for (int i = 0; i < num_args_; ++i) {
      if (args_[i].type_index == kTVMFFITensor) ObjectOf(args_[i])->Release();
    }
    for (int i = 0; i < num_results_; ++i) {
      torch_api.aoti_torch_delete_tensor_object(results_[i]);
    }
  }

  // Read the arguments, allocate the results, and check all.
  bool Prepare(const StackValue* stack) {
    for (size_t i = 0; i < op_.parameters.size(); ++i) {
      const Parameter& parameter = op_.parameters[i];
      if (parameter.argument >= 0 && !Read(parameter, stack[parameter.argument], i)) return false;
    }
    for (size_t i = 0; i < op_.parameters.size(); ++i) {
      if (op_.parameters[i].is_result && !Allocate(op_.parameters[i], i)) return false;
    }
    if (!MakeTensors() || !SatisfyChecks()) return false;
    TakeArguments();
    return true;
  }

  int Run() {
    TVMFFIHostScope scope = {};
    scope.struct_size = sizeof(scope);
    scope.allocator = op_.allocator;
    if (device_.device_type == kDLCUDA) {
      scope.device = device_;
      torch_api.aoti_torch_get_current_cuda_stream(device_.device_id, &scope.stream);
    }
    TVMFFIAny result = {};
    TVMFFIObjectHandle error = nullptr;
    int code = TVMFFIHostCall(&scope, op_.function, args_,
                              static_cast<int32_t>(op_.parameters.size()), &result, &error);
    if (code == 0 && result.type_index != kTVMFFINone) {
      const std::string message = "expected the function of " + op_.name +
                                  " to return None, as its signature says, got a value";
      TVMFFIErrorSetRaisedFromCStr("RuntimeError", message.c_str());
      code = -1;
    }
    if (result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
    if (error != nullptr) {
      TVMFFIErrorSetRaised(error);
      TVMFFIObjectDecRef(error);
    }
    LeaveTensors();
    return code;
  }

  void MoveResults(StackValue* stack) {
    for (int i = 0; i < num_results_; ++i) stack[i] = reinterpret_cast<StackValue>(results_[i]);
    num_results_ = 0;
  }

 private:
  bool Read(const Parameter& parameter, StackValue value, size_t index) {
    TVMFFIAny& arg = args_[index];
    arg = TVMFFIAny{};
    if (IsNone(parameter.is_optional, value)) return true;
    value = ValueOf(parameter.is_optional, value);
    switch (parameter.kind) {
      case Kind::kTensor:
        return ReadTensor(parameter, reinterpret_cast<TensorHandle>(value), index);
      case Kind::kInt:
        arg.type_index = kTVMFFIInt;
        arg.v_int64 = static_cast<int64_t>(value);
        if (parameter.name >= 0) BindName(parameter.name, arg.v_int64);
        return true;
      case Kind::kFloat:
        arg.type_index = kTVMFFIFloat;
        std::memcpy(&arg.v_float64, &value, sizeof(double));
        return true;
      case Kind::kBool:
        arg.type_index = kTVMFFIBool;
        arg.v_int64 = (value & 0xff) != 0;
        return true;
    }
    return false;
  }

  bool ReadTensor(const Parameter& parameter, TensorHandle tensor, size_t index) {
    DLTensor& view = views_[index];
    int64_t ndim = 0;
    if (!IsPlain(tensor) || torch_api.aoti_torch_get_dim(tensor, &ndim) != 0 ||
        torch_api.aoti_torch_get_sizes(tensor, &view.shape) != 0 ||
        torch_api.aoti_torch_get_strides(tensor, &view.strides) != 0 ||
        torch_api.aoti_torch_get_data_ptr(tensor, &view.data) != 0) {
      return false;
    }
    view.ndim = static_cast<int32_t>(ndim);
    view.byte_offset = 0;
    handles_[index] = tensor;
    return ReadDevice(tensor, &view) && ReadDtype(parameter, tensor, &view) &&
           BindExtents(parameter, view) &&
           (parameter.free_dimensions >= view.ndim || IsCompact(view, parameter.free_dimensions));
  }

  bool ReadDevice(TensorHandle tensor, DLTensor* view) {
    int32_t type = 0, index = 0;
    if (torch_api.aoti_torch_get_device_type(tensor, &type) != 0 ||
        torch_api.aoti_torch_get_device_index(tensor, &index) != 0) {
      return false;
    }
    if (type == torch_api.aoti_torch_device_type_cpu()) {
      view->device = {kDLCPU, 0};
    } else if (type == torch_api.aoti_torch_device_type_cuda() &&
               torch_api.aoti_torch_get_current_cuda_stream != nullptr) {
      view->device = {kDLCUDA, index};
    } else {
      return false;
    }
    if (!has_tensor_) first_device_ = view->device;
    has_tensor_ = true;
    // As in calls from Python, the first tensor in device memory determines the stream.
    if (device_.device_type != kDLCUDA) device_ = view->device;
    return true;
  }

  bool ReadDtype(const Parameter& parameter, TensorHandle tensor, DLTensor* view) {
    int32_t dtype = 0;
    if (torch_api.aoti_torch_get_dtype(tensor, &dtype) != 0) return false;
    if (parameter.dtype_name >= 0 && (bound_dtypes_ >> parameter.dtype_name & 1) == 0) {
      bound_dtypes_ |= uint64_t{1} << parameter.dtype_name;
      dtypes_[parameter.dtype_name] = dtype;
    }
    for (const TensorDtype& candidate : parameter.dtypes) {
      if (candidate.torch == dtype) {
        view->dtype = candidate.dlpack;
        return true;
      }
    }
    return false;
  }

  bool BindExtents(const Parameter& parameter, const DLTensor& view) {
    if (!parameter.has_shape) return true;
    if (static_cast<size_t>(view.ndim) != parameter.shape.size()) return false;
    for (int32_t axis = 0; axis < view.ndim; ++axis) {
      const Extent& extent = parameter.shape[axis];
      if (extent.kind == Extent::kName) BindName(static_cast<int>(extent.value), view.shape[axis]);
    }
    return true;
  }

  // The first value of a name counts; the checks compare the others with it.
  void BindName(int name, int64_t value) {
    if ((bound_names_ >> name & 1) != 0) return;
    bound_names_ |= uint64_t{1} << name;
    names_[name] = value;
  }

  static bool IsCompact(const DLTensor& view, int32_t free_dimensions) {
    if (free_dimensions < 0) free_dimensions += view.ndim;
    int64_t expected = 1;
    bool is_compact = true;
    for (int32_t axis = view.ndim - 1; axis >= 0; --axis) {
      if (view.shape[axis] == 0) return true;
      bool counts = axis >= free_dimensions && view.shape[axis] != 1;
      if (counts && view.strides[axis] != expected) is_compact = false;
      expected *= view.shape[axis];
    }
    return is_compact;
  }

  // Allocate a result, and copy the argument if the function also reads it.
  bool Allocate(const Parameter& parameter, size_t index) {
    int64_t shape[kMaxNdim], strides[kMaxNdim];
    DLTensor& view = views_[index];
    const bool is_copy = parameter.argument >= 0;
    const int32_t ndim = is_copy ? view.ndim : static_cast<int32_t>(parameter.shape.size());
    if (ndim > kMaxNdim) return false;
    for (int32_t axis = 0; axis < ndim; ++axis) {
      const Extent* const extent = is_copy ? nullptr : &parameter.shape[axis];
      if (is_copy) {
        shape[axis] = view.shape[axis];
      } else if (extent->kind == Extent::kConstant) {
        shape[axis] = extent->value;
      } else if (extent->kind == Extent::kName && (bound_names_ >> extent->value & 1) != 0) {
        shape[axis] = names_[extent->value];
      } else {
        return false;
      }
      if (shape[axis] < 0) return false;
    }
    int64_t stride = 1;
    for (int32_t axis = ndim - 1; axis >= 0; --axis) {
      strides[axis] = stride;
      stride *= shape[axis] > 1 ? shape[axis] : 1;
    }
    TensorDtype dtype = {};
    TensorHandle tensor = nullptr;
    const DLDevice device = is_copy ? view.device : first_device_;
    const int32_t device_type = TorchType(device);
    // A copy is on the device of its argument.
    const bool has_device =
        is_copy ||
        (has_tensor_ && (parameter.device_type < 0 || parameter.device_type == device_type));
    if (!has_device || !ResultDtype(parameter, view, is_copy, &dtype) ||
        torch_api.aoti_torch_empty_strided(ndim, shape, strides, dtype.torch, device_type,
                                           device.device_id, &tensor) != 0) {
      return false;
    }
    results_[num_results_++] = tensor;
    if (is_copy && torch_api.aoti_torch_copy_(tensor, handles_[index], 0) != 0) return false;
    view = DLTensor{};
    view.ndim = ndim;
    view.dtype = dtype.dlpack;
    view.device = device;
    results_of_[index] = tensor;
    return torch_api.aoti_torch_get_sizes(tensor, &view.shape) == 0 &&
           torch_api.aoti_torch_get_strides(tensor, &view.strides) == 0 &&
           torch_api.aoti_torch_get_data_ptr(tensor, &view.data) == 0;
  }

  static int32_t TorchType(DLDevice device) {
    return device.device_type == kDLCUDA ? torch_api.aoti_torch_device_type_cuda()
                                         : torch_api.aoti_torch_device_type_cpu();
  }

  bool ResultDtype(const Parameter& parameter, const DLTensor& view, bool is_copy,
                   TensorDtype* out) const {
    for (const TensorDtype& candidate : parameter.dtypes) {
      const bool is_match =
          is_copy ? std::memcmp(&candidate.dlpack, &view.dtype, sizeof(DLDataType)) == 0
          : parameter.dtype_name < 0 ? parameter.dtypes.size() == 1
                                     : (bound_dtypes_ >> parameter.dtype_name & 1) != 0 &&
                                           dtypes_[parameter.dtype_name] == candidate.torch;
      if (is_match) {
        *out = candidate;
        return true;
      }
    }
    return false;
  }

  // Make a Tensor for each torch tensor, so that the function may keep it.
  bool MakeTensors() {
    for (size_t i = 0; i < op_.parameters.size(); ++i) {
      const Parameter& parameter = op_.parameters[i];
      if (parameter.argument < 0) args_[i] = TVMFFIAny{};
      num_args_ = static_cast<int>(i) + 1;
      TensorHandle source = parameter.is_result ? results_of_[i] : handles_[i];
      if (source == nullptr) continue;
      if (LacksMemory(views_[i])) return false;
      args_[i].v_obj = &TensorObject::New(views_[i])->header;
      args_[i].type_index = kTVMFFITensor;
    }
    return true;
  }

  // False if an argument violates a signature; the Python kernel then raises the error.
  bool SatisfyChecks() {
    for (TVMFFIObjectHandle check : op_.checks) {
      TVMFFIAny result = {};
      if (TVMFFIFunctionCall(check, args_, num_args_, &result) != 0) {
        DropRaisedError();
        return false;
      }
    }
    return true;
  }

  // Move the tensors of arguments from the stack to the objects.
  void TakeArguments() {
    for (size_t i = 0; i < op_.parameters.size(); ++i) {
      if (handles_[i] == nullptr) continue;
      if (op_.parameters[i].is_result) {
        torch_api.aoti_torch_delete_tensor_object(handles_[i]);  // copied into a result
      } else {
        ObjectOf(args_[i])->source = handles_[i];
      }
    }
  }

  // Let the function's references own the memory of tensors that the function keeps.
  void LeaveTensors() {
    for (int i = 0; i < num_args_; ++i) {
      if (args_[i].type_index != kTVMFFITensor || !ObjectOf(args_[i])->HasOtherOwner()) continue;
      ObjectOf(args_[i])->KeepMemory(op_.parameters[i].is_result ? results_of_[i] : handles_[i]);
    }
  }

  static TensorObject* ObjectOf(const TVMFFIAny& arg) {
    return reinterpret_cast<TensorObject*>(arg.v_obj);
  }

  const Operator& op_;
  TVMFFIAny args_[kMaxParameters];
  int num_args_ = 0;  // number of elements of args_ that may own an object
  DLTensor views_[kMaxParameters];
  TensorHandle handles_[kMaxParameters];     // borrowed from the stack
  TensorHandle results_of_[kMaxParameters];  // borrowed from results_
  TensorHandle results_[kMaxParameters];
  int num_results_ = 0;
  int64_t names_[kMaxNames];
  uint64_t bound_names_ = 0;
  int32_t dtypes_[kMaxNames];  // torch's numbers
  uint64_t bound_dtypes_ = 0;
  DLDevice device_ = {};        // of the stream
  DLDevice first_device_ = {};  // of the first tensor, if has_tensor_
  bool has_tensor_ = false;
};

}  // namespace

TensorHandle TensorOf(const Argument& argument, StackValue value) {
  if (argument.kind != Kind::kTensor || IsNone(argument.is_optional, value)) return nullptr;
  return reinterpret_cast<TensorHandle>(ValueOf(argument.is_optional, value));
}

bool IsPlain(TensorHandle tensor) {
  const char* const impl = *static_cast<const char* const*>(tensor);
  uint64_t keys = 0;
  std::memcpy(&keys, impl + layout.key_set_offset, sizeof(keys));
  return keys != 0 && (keys & ~layout.plain_keys) == 0;
}

bool CallDirectly(const Operator& op, StackValue* stack, int* code) {
  if (__atomic_load_n(op.releases_gil, __ATOMIC_RELAXED) == 0) return false;
  Call call(op);
  if (!call.Prepare(stack)) return false;
  *code = call.Run();
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    if (op.arguments[i].is_optional && stack[i] != 0) {
      torch_api.torch_delete_stable_ivalue(reinterpret_cast<StackValue*>(stack[i]));
    }
  }
  if (*code == 0) call.MoveResults(stack);
  return true;
}

}  // namespace tvm_ffi_torch

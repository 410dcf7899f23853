// SPDX-License-Identifier: Apache-2.0
// Copy of returned tensors into the output buffers of a host framework.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_host_call.h>

#include <cstring>

namespace tvm::ffi::extra {
namespace {

// A view of the tensors in a result: a single tensor, an Array or a List.
class ReturnedTensors {
 public:
  ReturnedTensors(const Any& result, int32_t expected) {
    if (result.as<TensorObj>() != nullptr) {
      single_ = &result;
      size_ = 1;
    } else if (const auto* array = result.as<ArrayObj>()) {
      items_ = array->begin();
      size_ = array->size();
    } else if (const auto* list = result.as<ListObj>()) {
      items_ = list->begin();
      size_ = list->size();
    } else {
      TVM_FFI_THROW(TypeError) << "the function returned " << result.GetTypeKey() << ", expected "
                               << expected << (expected == 1 ? " tensor" : " tensors");
    }
    if (size_ != static_cast<size_t>(expected)) {
      TVM_FFI_THROW(ValueError) << "the function returned " << size_
                                << (size_ == 1 ? " tensor" : " tensors") << ", expected "
                                << expected;
    }
  }

  const DLTensor& at(size_t i) const {
    const Any& item = single_ != nullptr ? *single_ : items_[i];
    const auto* tensor = item.as<TensorObj>();
    if (tensor == nullptr) {
      TVM_FFI_THROW(TypeError) << "result " << i << " of the function is " << item.GetTypeKey()
                               << ", expected a tensor";
    }
    return *tensor;
  }

 private:
  const Any* single_ = nullptr;
  const Any* items_ = nullptr;
  size_t size_ = 0;
};

bool SameShape(const DLTensor& a, const DLTensor& b) {
  return a.ndim == b.ndim &&
         (a.ndim == 0 ||
          std::memcmp(a.shape, b.shape, static_cast<size_t>(a.ndim) * sizeof(int64_t)) == 0);
}

String ShapeText(const DLTensor& tensor) {
  detail::MessageStream text;
  text << "[";
  for (int32_t dim = 0; dim < tensor.ndim; ++dim) {
    text << (dim == 0 ? "" : ", ") << tensor.shape[dim];
  }
  text << "]";
  return text.str();
}

void CheckFits(size_t index, const DLTensor& from, const DLTensor& to) {
  if (from.device.device_type != kDLCPU || to.device.device_type != kDLCPU) {
    TVM_FFI_THROW(ValueError) << "result " << index
                              << " of the function is not in CPU memory: it cannot be copied to "
                                 "the host's buffer; let the function write into a parameter";
  }
  if (from.dtype.code != to.dtype.code || from.dtype.bits != to.dtype.bits ||
      from.dtype.lanes != to.dtype.lanes) {
    TVM_FFI_THROW(ValueError) << "result " << index << " of the function has dtype " << from.dtype
                              << ", expected " << to.dtype;
  }
  if (!SameShape(from, to)) {
    TVM_FFI_THROW(ValueError) << "result " << index << " of the function has shape "
                              << ShapeText(from) << ", expected " << ShapeText(to);
  }
  if (from.dtype.bits * from.dtype.lanes % 8 != 0 && !IsContiguous(from)) {
    TVM_FFI_THROW(ValueError) << "result " << index
                              << " of the function must be contiguous, because "
                                 "a byte contains several elements of dtype "
                              << from.dtype;
  }
}

char* FirstElement(const DLTensor& tensor) {
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

// Copies the elements of a strided tensor to `out` in row-major order.  Returns the address after
// the last byte written.
char* Gather(const DLTensor& from, int32_t dim, const char* first, int64_t element_bytes,
             char* out) {
  if (dim == from.ndim) {
    std::memcpy(out, first, static_cast<size_t>(element_bytes));
    return out + element_bytes;
  }
  for (int64_t i = 0; i < from.shape[dim]; ++i) {
    out = Gather(from, dim + 1, first + i * from.strides[dim] * element_bytes, element_bytes, out);
  }
  return out;
}

void Copy(const DLTensor& from, const DLTensor& to) {
  size_t size_bytes = GetDataSize(to);
  if (size_bytes == 0) return;
  if (IsContiguous(from)) {
    std::memmove(FirstElement(to), FirstElement(from), size_bytes);
  } else {
    Gather(from, 0, FirstElement(from), from.dtype.bits * from.dtype.lanes / 8, FirstElement(to));
  }
}

}  // namespace
}  // namespace tvm::ffi::extra

using namespace tvm::ffi;
using namespace tvm::ffi::extra;

int TVMFFIHostMoveResults(TVMFFIAny* result, const DLTensor* outputs, int32_t num_outputs) {
  TVM_FFI_SAFE_CALL_BEGIN();
  Any owned = detail::AnyUnsafe::MoveTVMFFIAnyToAny(result);
  if (num_outputs == 0) return 0;
  ReturnedTensors returned(owned, num_outputs);
  // Check all results before writing the first output.
  for (int32_t i = 0; i < num_outputs; ++i) {
    CheckFits(static_cast<size_t>(i), returned.at(static_cast<size_t>(i)), outputs[i]);
  }
  for (int32_t i = 0; i < num_outputs; ++i) {
    Copy(returned.at(static_cast<size_t>(i)), outputs[i]);
  }
  TVM_FFI_SAFE_CALL_END();
}

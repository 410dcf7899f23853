// SPDX-License-Identifier: Apache-2.0
#include "cuda/seen_arguments.h"

#include <tvm/ffi/extra/c_prepared.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tvm::ffi::extra::cuda {
namespace {

static_assert(offsetof(DLTensor, shape) - offsetof(DLTensor, device) == sizeof(uint64_t[2]),
              "device, number of dimensions and dtype are adjacent");

uint64_t AddressOfData(const DLTensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.data); }

}  // namespace

SeenArguments::Difference SeenArguments::From(const TVMFFIAny* args, int32_t num_args) const {
  if (num_args != num_args_) return Difference::kOther;
  uint64_t addresses = 0, others = 0;  // bits that differ
  const int64_t* extents = extents_.data();
  for (const Argument& seen : arguments_) {
    const TVMFFIAny& arg = *args++;
    uint64_t words[2];
    if (!seen.is_tensor) {
      std::memcpy(words, &arg, sizeof(words));
      others |= (words[0] ^ seen.words[0]) | (words[1] ^ seen.words[1]);
      continue;
    }
    const DLTensor* tensor = TVMFFIPreparedTensorOf(&arg);
    if (tensor == nullptr) return Difference::kOther;
    std::memcpy(words, &tensor->device, sizeof(words));
    bool has_strides = tensor->strides != nullptr;
    if (words[0] != seen.words[0] || words[1] != seen.words[1] || has_strides != seen.has_strides) {
      return Difference::kOther;
    }
    addresses |= (AddressOfData(*tensor) ^ seen.data) | (tensor->byte_offset ^ seen.byte_offset);
    const int32_t ndim = seen.ndim;
    if (has_strides) {
      const int64_t* strides = extents + ndim;
      for (int32_t i = 0; i < ndim; ++i) {
        others |= static_cast<uint64_t>((extents[i] ^ tensor->shape[i]) |
                                        (strides[i] ^ tensor->strides[i]));
      }
      extents = strides + ndim;
    } else {
      for (int32_t i = 0; i < ndim; ++i) {
        others |= static_cast<uint64_t>(extents[i] ^ tensor->shape[i]);
      }
      extents += ndim;
    }
  }
  if (others != 0) return Difference::kOther;
  return addresses != 0 ? Difference::kAddresses : Difference::kNone;
}

void SeenArguments::Store(const TVMFFIAny* args, int32_t num_args) {
  Clear();
  arguments_.clear();
  extents_.clear();
  for (int32_t i = 0; i < num_args; ++i) {
    Argument& seen = arguments_.emplace_back();
    std::memcpy(seen.words, &args[i], sizeof(seen.words));
    const DLTensor* tensor = TVMFFIPreparedTensorOf(&args[i]);
    seen.is_tensor = tensor != nullptr;
    if (tensor == nullptr) {
      // Another object may get the address of an object that has died.
      if (args[i].type_index >= kTVMFFIStaticObjectBegin) return;
      continue;
    }
    std::memcpy(seen.words, &tensor->device, sizeof(seen.words));
    seen.data = AddressOfData(*tensor);
    seen.byte_offset = tensor->byte_offset;
    seen.ndim = std::max(tensor->ndim, 0);  // callers may pass any number
    seen.has_strides = tensor->strides != nullptr;
    extents_.insert(extents_.end(), tensor->shape, tensor->shape + seen.ndim);
    if (!seen.has_strides) continue;
    extents_.insert(extents_.end(), tensor->strides, tensor->strides + seen.ndim);
  }
  num_args_ = num_args;
}

}  // namespace tvm::ffi::extra::cuda

// SPDX-License-Identifier: Apache-2.0
// Tensor objects: DLPack import and export, and views.
#include "tensor.h"

#include <algorithm>
#include <cstdint>

#include "error.h"
#include "value.h"

namespace tvm::ffi::runtime {
namespace {

// The largest valid ndim.  No framework supports as many dimensions, so the DLTensor is invalid if
// its ndim is larger.
constexpr int32_t kMaxNdim = 1024;

void FillCompactStrides(const DLTensor& tensor, int64_t* strides) {
  int64_t step = 1;
  for (int32_t dim = tensor.ndim - 1; dim >= 0; --dim) {
    strides[dim] = step;
    step *= std::max<int64_t>(tensor.shape[dim], 1);
  }
}

bool HasElements(const DLTensor& tensor) {
  return std::find(tensor.shape, tensor.shape + tensor.ndim, 0) == tensor.shape + tensor.ndim;
}

bool IsCompact(const DLTensor& tensor) {
  if (tensor.strides == nullptr || !HasElements(tensor)) return true;
  int64_t step = 1;
  for (int32_t dim = tensor.ndim - 1; dim >= 0; --dim) {
    if (tensor.shape[dim] == 1) continue;  // the stride of this dimension is never used
    if (tensor.strides[dim] != step) return false;
    step *= tensor.shape[dim];
  }
  return true;
}

// Returns true if `data` is an address on devices of this type, so that byte_offset can be added.
bool HasAddressableData(DLDeviceType type) {
  switch (type) {
    case kDLCPU:
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLROCM:
    case kDLROCMHost:
    case kDLCUDAManaged:
      return true;
    default:
      return false;
  }
}

void CheckAlignment(const DLTensor& tensor, int32_t alignment) {
  if (alignment <= 0) return;
  uint64_t address = tensor.byte_offset;
  if (HasAddressableData(tensor.device.device_type)) {
    address += reinterpret_cast<uintptr_t>(tensor.data);
  }
  if (address % static_cast<uint64_t>(alignment) != 0) {
    Raise("RuntimeError", "FromDLPack: Data is not aligned to ", alignment, " bytes.");
  }
}

// Raises ValueError if the elements cannot be in memory: the offset or the size leads out of the
// address space, or the dtype has a number of lanes that no type has.
void CheckMemory(const DLTensor& tensor) {
  DLDataType dtype = tensor.dtype;
  // The type "void" has 0 bits and 0 lanes; scalable vectors have -2 lanes or less.
  if ((dtype.lanes == 0 && dtype.bits != 0) || dtype.lanes == UINT16_MAX) {
    Raise("ValueError", "FromDLPack: invalid dtype with ", static_cast<int16_t>(dtype.lanes),
          " lanes");
  }
  uint64_t base =
      HasAddressableData(tensor.device.device_type) ? reinterpret_cast<uintptr_t>(tensor.data) : 0;
  uint64_t first;
  if (tensor.byte_offset > INT64_MAX || __builtin_add_overflow(base, tensor.byte_offset, &first)) {
    Raise("ValueError", "FromDLPack: byte_offset ", tensor.byte_offset,
          " leads out of the address space");
  }
  if (tensor.strides != nullptr || !HasElements(tensor)) return;
  int64_t bits = dtype.bits * std::max<int64_t>(static_cast<int16_t>(dtype.lanes), 1);
  for (int32_t dim = 0; dim < tensor.ndim; ++dim) {
    if (__builtin_mul_overflow(bits, tensor.shape[dim], &bits)) {
      Raise("ValueError", "FromDLPack: the size in bits overflows int64 at shape[", dim,
            "] = ", tensor.shape[dim]);
    }
  }
}

// A tensor that owns `managed`, a DLManagedTensor or DLManagedTensorVersioned.
template <typename Managed>
struct ManagedTensorObject : TensorObject {
  using NestsDeeply = void;  // the deleter of `managed` may destroy another tensor
  explicit ManagedTensorObject(Managed* source) : managed(source) {
    static_cast<DLTensor&>(*this) = source->dl_tensor;
  }
  ~ManagedTensorObject() noexcept(false) {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }

  Managed* managed;
  // If `managed` has NULL strides, the memory after this struct contains the strides of a compact
  // tensor.
};

// A tensor over read-only memory.  IsReadOnly recognises such tensors by their deleter.
struct ReadOnlyTensorObject : ManagedTensorObject<DLManagedTensorVersioned> {
  using ManagedTensorObject::ManagedTensorObject;
};

template <typename Object, typename Managed>
Ref<TensorObject> NewFromManaged(Managed* managed) {
  const DLTensor& source = managed->dl_tensor;
  bool needs_strides = source.strides == nullptr && source.ndim > 0;
  size_t trailing_bytes = needs_strides ? sizeof(int64_t) * static_cast<size_t>(source.ndim) : 0;
  auto object = NewObject<Object>(kTVMFFITensor, trailing_bytes, managed);
  if (needs_strides) {
    auto* strides = reinterpret_cast<int64_t*>(object.get() + 1);
    FillCompactStrides(*object, strides);
    object->strides = strides;
  }
  return Ref<TensorObject>::Adopt(static_cast<TVMFFIObjectHandle>(object.release()));
}

Ref<TensorObject> NewFrom(DLManagedTensor* managed) {
  return NewFromManaged<ManagedTensorObject<DLManagedTensor>>(managed);
}

Ref<TensorObject> NewFrom(DLManagedTensorVersioned* managed) {
  if (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) {
    return NewFromManaged<ReadOnlyTensorObject>(managed);
  }
  return NewFromManaged<ManagedTensorObject<DLManagedTensorVersioned>>(managed);
}

template <typename Managed>
Ref<TensorObject> Import(Managed* managed, int32_t require_alignment, int32_t require_contiguous) {
  CheckShape(managed->dl_tensor, "FromDLPack");
  if (managed->dl_tensor.data == nullptr && HasElements(managed->dl_tensor)) {
    Raise("ValueError", "FromDLPack: the tensor has elements but no data");
  }
  CheckMemory(managed->dl_tensor);
  CheckAlignment(managed->dl_tensor, require_alignment);
  if (require_contiguous != 0 && !IsCompact(managed->dl_tensor)) {
    Raise("RuntimeError", "FromDLPack: Tensor is not contiguous.");
  }
  return NewFrom(managed);
}

void CheckVersion(const DLManagedTensorVersioned& managed) {
  // Another major version may have another layout: the fields after `version` cannot be read.
  if (managed.version.major != DLPACK_MAJOR_VERSION) {
    Raise("ValueError", "FromDLPack: DLPack version ", managed.version.major, ".",
          managed.version.minor, " is not supported, expected ", DLPACK_MAJOR_VERSION, ".x");
  }
  if (managed.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) {
    Raise("RuntimeError", "FromDLPack: tensors with padded sub-byte elements are not supported");
  }
}

struct ViewObject : TensorObject {
  using NestsDeeply = void;  // views may form a long chain of source tensors
  Ref<TVMFFIObject> source;
  // The memory after this struct contains copies of the shape and the strides.
};

struct ReadOnlyViewObject : ViewObject {};

// Returns a new managed tensor for DLPack consumers.  Its manager_ctx owns one reference to the
// tensor.
template <typename Managed>
Managed* Export(TVMFFIObjectHandle tensor) {
  Ref<TensorObject> source = Ref<TensorObject>::Share(tensor);
  auto* managed = new Managed();
  managed->dl_tensor = *source;
  managed->manager_ctx = source.release();
  managed->deleter = [](Managed* self) {
    DecRef(static_cast<TVMFFIObject*>(self->manager_ctx));
    delete self;
  };
  return managed;
}

template <typename View>
Ref<TensorObject> NewView(TVMFFIObjectHandle source, const DLTensor& prototype) {
  if (prototype.strides == nullptr) {
    Raise("InternalError", "TVMFFITensorCreateUnsafeView: prototype->strides is NULL");
  }
  CheckShape(prototype, "TVMFFITensorCreateUnsafeView");
  auto ndim = static_cast<size_t>(prototype.ndim);
  auto view = NewObject<View>(kTVMFFITensor, 2 * ndim * sizeof(int64_t));
  view->source = Ref<TVMFFIObject>::Share(source);
  static_cast<DLTensor&>(*view) = prototype;
  auto* extents = reinterpret_cast<int64_t*>(view.get() + 1);
  std::copy_n(prototype.shape, ndim, extents);
  std::copy_n(prototype.strides, ndim, extents + ndim);
  view->shape = extents;
  view->strides = extents + ndim;
  return Ref<TensorObject>::Adopt(static_cast<TVMFFIObjectHandle>(view.release()));
}

}  // namespace

bool IsReadOnly(const TVMFFIObject* object) {
  return object->deleter == detail::DeleterOf<ReadOnlyTensorObject>() ||
         object->deleter == detail::DeleterOf<ReadOnlyViewObject>();
}

void CheckShape(const DLTensor& tensor, const char* where) {
  if (tensor.ndim < 0 || tensor.ndim > kMaxNdim) {
    Raise("ValueError", where, ": ndim must be in 0..", kMaxNdim, ", got ", tensor.ndim);
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) {
    Raise("ValueError", where, ": shape is NULL but ndim is ", tensor.ndim);
  }
  int64_t count = 1;
  for (int32_t dim = 0; dim < tensor.ndim; ++dim) {
    int64_t extent = tensor.shape[dim];
    if (extent < 0) {
      Raise("ValueError", where, ": shape[", dim, "] must be >= 0, got ", extent);
    }
    if (__builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count)) {
      Raise("ValueError", where, ": the element count overflows int64 at shape[", dim,
            "] = ", extent);
    }
  }
}

Ref<TensorObject> NewTensorFromManaged(DLManagedTensorVersioned* managed) {
  return NewFrom(managed);
}

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFITensorFromDLPack(DLManagedTensor* from, int32_t require_alignment,
                           int32_t require_contiguous, TVMFFIObjectHandle* out) {
  return GuardBoundary(
      [&] { *out = Import(from, require_alignment, require_contiguous).release(); });
}

int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned* from, int32_t require_alignment,
                                    int32_t require_contiguous, TVMFFIObjectHandle* out) {
  return GuardBoundary([&] {
    CheckVersion(*from);
    *out = Import(from, require_alignment, require_contiguous).release();
  });
}

int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor** out) {
  return GuardBoundary([&] { *out = Export<DLManagedTensor>(from); });
}

int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from, DLManagedTensorVersioned** out) {
  return GuardBoundary([&] {
    auto* managed = Export<DLManagedTensorVersioned>(from);
    managed->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    bool is_read_only = IsReadOnly(static_cast<TVMFFIObject*>(from));
    managed->flags = is_read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    *out = managed;
  });
}

int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor* prototype,
                                 TVMFFIObjectHandle* out) {
  return GuardBoundary([&] {
    auto new_view = IsReadOnly(static_cast<TVMFFIObject*>(source)) ? &NewView<ReadOnlyViewObject>
                                                                   : &NewView<ViewObject>;
    *out = new_view(source, *prototype).release();
  });
}

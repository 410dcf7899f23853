// SPDX-License-Identifier: Apache-2.0
// Contents of tensors, and tensors at given addresses for replays.
#include "observe/contents.h"

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "../platform/platform.h"

namespace tvm::ffi::extra {
namespace {

// ---- XXH64 --------------------------------------------------------------------------------------

constexpr uint64_t kPrimes[] = {0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                                0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5};

uint64_t RotateLeft(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

// Processors with the other byte order compute other digests.
template <typename T>
T Load(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

uint64_t Round(uint64_t lane, uint64_t word) {
  return RotateLeft(lane + word * kPrimes[1], 31) * kPrimes[0];
}

// ---- Elements -----------------------------------------------------------------------------------

bool IsCompact(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim; i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

char* FirstElement(const DLTensor& tensor) {
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

// Calls copy(element, size) for blocks of the elements in row-major order.
template <typename Copy>
void ForEachBlock(const DLTensor& tensor, size_t size, Copy&& copy) {
  if (size == 0) return;
  if (IsCompact(tensor)) return copy(FirstElement(tensor), size);
  auto element_size = static_cast<int64_t>(tensor.dtype.bits) * tensor.dtype.lanes / 8;
  std::vector<int64_t> index(static_cast<size_t>(tensor.ndim));
  int64_t offset = 0;  // in elements
  for (;;) {
    copy(FirstElement(tensor) + offset * element_size, static_cast<size_t>(element_size));
    int32_t axis = tensor.ndim - 1;
    for (; axis >= 0; --axis) {
      offset += tensor.strides[axis];
      auto i = static_cast<size_t>(axis);
      if (++index[i] < tensor.shape[axis]) break;
      offset -= tensor.strides[axis] * tensor.shape[axis];
      index[i] = 0;
    }
    if (axis < 0) return;
  }
}

// ---- Functions for replays ----------------------------------------------------------------------

constexpr size_t kPage = 4096;

// Zeroed memory whose address equals a given address modulo the size of a page.
struct PageMemory {
  explicit PageMemory(int64_t address) : remainder(static_cast<size_t>(address) % kPage) {}

  void AllocData(DLTensor* tensor) {
    bytes = std::make_unique<char[]>(static_cast<size_t>(tensor->shape[0]) + 2 * kPage);
    auto first = reinterpret_cast<uintptr_t>(bytes.get());
    tensor->data = bytes.get() + (kPage - first % kPage) + remainder;
  }
  void FreeData(DLTensor* /*tensor*/) {}

  size_t remainder;
  std::unique_ptr<char[]> bytes;
};

Tensor NewMemory(int64_t size, int64_t address) {
  if (size < 0) TVM_FFI_THROW(ValueError) << "expected a size of at least 0, got " << size;
  return Tensor::FromNDAlloc(PageMemory(address), ShapeView(&size, 1), {kDLUInt, 8, 1},
                             {kDLCPU, 0});
}

// Shape and strides of a view, and a reference to its memory.
struct ViewOfMemory {
  Optional<Tensor> memory;
  std::vector<int64_t> shape, strides;
  DLManagedTensorVersioned managed{};
};

// Returns a view of memory, or a tensor without memory; `offset` is the offset of `data` in the
// memory in bytes.  The caller ensures that all elements are in the memory.
Tensor NewView(const Optional<Tensor>& memory, int64_t offset, const Shape& shape,
               const Optional<Shape>& strides, DLDataType dtype, int64_t byte_offset) {
  auto view = std::make_unique<ViewOfMemory>();
  view->memory = memory;
  view->shape.assign(shape.begin(), shape.end());
  if (strides.has_value()) view->strides.assign(strides.value().begin(), strides.value().end());
  DLTensor& tensor = view->managed.dl_tensor;
  if (memory.has_value()) {
    tensor.data = static_cast<char*>(memory.value().data_ptr()) + offset;
  }
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(shape.size());
  tensor.dtype = dtype;
  tensor.shape = view->shape.data();
  tensor.strides = strides.has_value() ? view->strides.data() : nullptr;
  tensor.byte_offset = static_cast<uint64_t>(byte_offset);
  view->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  view->managed.manager_ctx = view.get();
  view->managed.deleter = [](DLManagedTensorVersioned* self) {
    delete static_cast<ViewOfMemory*>(self->manager_ctx);
  };
  Tensor result = Tensor::FromDLPackVersioned(&view->managed);
  view.release();
  return result;
}

size_t SizeOf(const DLTensor& tensor) {
  std::optional<size_t> size = ReadableSize(tensor);
  if (!size) TVM_FFI_THROW(ValueError) << "expected a tensor whose elements the CPU can read";
  return *size;
}

const DLTensor& ViewOf(const Tensor& tensor) {
  if (!tensor.defined()) TVM_FFI_THROW(TypeError) << "expected a tensor, got None";
  return *tensor.GetDLTensorPtr();
}

Bytes ReadElements(const Tensor& tensor) {
  std::string bytes(SizeOf(ViewOf(tensor)), '\0');
  CopyElementsTo(ViewOf(tensor), bytes.data());
  return Bytes(std::move(bytes));
}

void WriteElements(const Tensor& tensor, const Bytes& bytes) {
  size_t expected = SizeOf(ViewOf(tensor));
  if (bytes.size() != expected) {
    TVM_FFI_THROW(ValueError) << "expected " << expected << " bytes, got " << bytes.size();
  }
  CopyElementsFrom(ViewOf(tensor), bytes.data());
}

// Digests are returned as signed integers, like all integers of the ABI.
int64_t ElementsDigest(const Tensor& tensor) {
  const DLTensor& view = ViewOf(tensor);
  return static_cast<int64_t>(DigestOfElements(view, SizeOf(view)));
}
int64_t FileDigest(const String& path) { return static_cast<int64_t>(DigestOfFile(path)); }

}  // namespace

uint64_t DigestOf(const void* bytes, size_t size) {
  auto* next = static_cast<const unsigned char*>(bytes);
  const unsigned char* end = next + size;
  uint64_t hash = kPrimes[4];
  if (size >= 32) {
    uint64_t lanes[] = {kPrimes[0] + kPrimes[1], kPrimes[1], 0, 0 - kPrimes[0]};
    for (; end - next >= 32; next += 32) {
      for (int i = 0; i < 4; ++i) lanes[i] = Round(lanes[i], Load<uint64_t>(next + 8 * i));
    }
    hash = RotateLeft(lanes[0], 1) + RotateLeft(lanes[1], 7) + RotateLeft(lanes[2], 12) +
           RotateLeft(lanes[3], 18);
    for (uint64_t lane : lanes) hash = (hash ^ Round(0, lane)) * kPrimes[0] + kPrimes[3];
  }
  hash += size;
  for (; end - next >= 8; next += 8) {
    hash = RotateLeft(hash ^ Round(0, Load<uint64_t>(next)), 27) * kPrimes[0] + kPrimes[3];
  }
  if (end - next >= 4) {
    hash = RotateLeft(hash ^ Load<uint32_t>(next) * kPrimes[0], 23) * kPrimes[1] + kPrimes[2];
    next += 4;
  }
  for (; next < end; ++next) hash = RotateLeft(hash ^ *next * kPrimes[4], 11) * kPrimes[0];
  hash = (hash ^ hash >> 33) * kPrimes[1];
  hash = (hash ^ hash >> 29) * kPrimes[2];
  return hash ^ hash >> 32;
}

uint64_t DigestOfFile(const std::string& path) {
  size_t size;
  intptr_t file = platform::OpenFile(path, &size);
  if (file == -1) return 0;
  std::unique_ptr<char[]> bytes(new char[size]);
  int error = 0;
  size_t num_read = platform::ReadFile(file, 0, bytes.get(), size, &error);
  platform::CloseFile(file);
  return error == 0 && size != 0 ? DigestOf(bytes.get(), num_read) : 0;
}

std::optional<size_t> ReadableSize(const DLTensor& tensor) {
  DLDeviceType device = tensor.device.device_type;
  if (device != kDLCPU && device != kDLCUDAHost && device != kDLROCMHost) return std::nullopt;
  uint64_t bits = uint64_t{tensor.dtype.bits} * tensor.dtype.lanes;
  bool is_empty = false;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] < 0) return std::nullopt;
    is_empty = is_empty || tensor.shape[i] == 0;
  }
  if (is_empty) return 0;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (__builtin_mul_overflow(bits, static_cast<uint64_t>(tensor.shape[i]), &bits)) {
      return std::nullopt;
    }
  }
  bool is_readable = tensor.data != nullptr && (tensor.dtype.bits % 8 == 0 || IsCompact(tensor));
  if (!is_readable || bits / 8 > SIZE_MAX / 2) return std::nullopt;
  return static_cast<size_t>(bits / 8 + (bits % 8 != 0 ? 1 : 0));
}

void CopyElementsTo(const DLTensor& tensor, void* bytes) {
  auto* next = static_cast<char*>(bytes);
  ForEachBlock(tensor, *ReadableSize(tensor), [&](const char* element, size_t size) {
    std::memcpy(next, element, size);
    next += size;
  });
}

void CopyElementsFrom(const DLTensor& tensor, const void* bytes) {
  auto* next = static_cast<const char*>(bytes);
  ForEachBlock(tensor, *ReadableSize(tensor), [&](char* element, size_t size) {
    std::memcpy(element, next, size);
    next += size;
  });
}

uint64_t DigestOfElements(const DLTensor& tensor, size_t size) {
  if (IsCompact(tensor) && size != 0) return DigestOf(FirstElement(tensor), size);
  std::unique_ptr<char[]> bytes(new char[size]);
  CopyElementsTo(tensor, bytes.get());
  return DigestOf(bytes.get(), size);
}

void RegisterContents() {
  reflection::GlobalDef()
      .def("pytvmffi.MemoryNew", &NewMemory)
      .def("pytvmffi.MemoryView", &NewView)
      .def("pytvmffi.ElementsRead", &ReadElements)
      .def("pytvmffi.ElementsWrite", &WriteElements)
      .def("pytvmffi.ElementsDigest", &ElementsDigest)
      .def("pytvmffi.FileDigest", &FileDigest);
}

}  // namespace tvm::ffi::extra

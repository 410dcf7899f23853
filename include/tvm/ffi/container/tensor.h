// SPDX-License-Identifier: Apache-2.0
// Tensor: an owned reference to a multi-dimensional array.  TensorView: a borrowed view of one.
//
// data_ptr() is the start of the allocation; the first element is byte_offset() bytes after it.
// Extents and strides count elements.
#ifndef TVM_FFI_CONTAINER_TENSOR_H_
#define TVM_FFI_CONTAINER_TENSOR_H_

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/function_detail.h>

namespace tvm {
namespace ffi {

// Returns true if a data pointer of the device is an address on which the host can do pointer
// arithmetic.
inline bool IsDirectAddressDevice(DLDevice device) {
  return device.device_type <= kDLCUDAHost || device.device_type == kDLCUDAManaged ||
         device.device_type == kDLROCM || device.device_type == kDLROCMHost;
}

// True if the tensor is compact and row-major.  Strides of dimensions of extent 1 are ignored;
// empty tensors are always contiguous.
inline bool IsContiguous(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  // Unsigned arithmetic, because the product of some extents may overflow although another extent
  // is 0.
  uint64_t expected = 1;
  bool compact = true;
  for (int32_t i = tensor.ndim; i > 0; --i) {
    int64_t extent = tensor.shape[i - 1];
    if (extent == 0) return true;
    if (extent == 1) continue;
    compact = compact && static_cast<uint64_t>(tensor.strides[i - 1]) == expected;
    expected *= static_cast<uint64_t>(extent);
  }
  return compact;
}

// True if the address of the first element is a multiple of `alignment` bytes.
inline bool IsAligned(const DLTensor& tensor, size_t alignment) {
  size_t address = static_cast<size_t>(tensor.byte_offset);
  if (IsDirectAddressDevice(tensor.device)) address += reinterpret_cast<size_t>(tensor.data);
  return address % alignment == 0;
}

// Returns the size of `numel` elements in bytes, rounded up to a whole byte.
inline size_t GetDataSize(size_t numel, DLDataType dtype) {
  return (numel * dtype.bits * dtype.lanes + 7) / 8;
}

namespace detail {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowExtent(size_t dimension, int64_t extent) {
  ThrowFormatted("ValueError", "shape[%zu] must be >= 0, got %lld", dimension,
                 static_cast<long long>(extent));  // NOLINT(*)
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowDataSize(size_t num_dimensions) {
  ThrowFormatted("ValueError",
                 "a tensor of this shape, of %zu dimensions, is too large: the size "
                 "of its data in bits overflows 64 bits",
                 num_dimensions);
}

// Returns the size in bytes of a tensor's elements.  Fails: ValueError if an extent is negative or
// the size overflows.
TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline size_t CheckedDataSize(ShapeView shape, DLDataType dtype) {
  uint64_t bits = uint64_t{dtype.bits} * dtype.lanes;
  bool is_empty = false;
  bool overflows = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) ThrowExtent(i, shape[i]);
    is_empty = is_empty || shape[i] == 0;
    overflows = __builtin_mul_overflow(bits, static_cast<uint64_t>(shape[i]), &bits) || overflows;
  }
  // If any extent is 0, an overflow of the product of other extents is not an error.
  if (is_empty) return 0;
  if (overflows) ThrowDataSize(shape.size());
  return bits / 8 + (bits % 8 != 0);
}

}  // namespace detail

// Returns the size in bytes of a tensor's elements.  Fails: ValueError if an extent is negative or
// the size overflows.
inline size_t GetDataSize(const DLTensor& tensor) {
  return detail::CheckedDataSize(ShapeView(tensor.shape, static_cast<size_t>(tensor.ndim)),
                                 tensor.dtype);
}

// Object to which a Tensor refers: a DLTensor.  The object owns either the memory of the elements
// or a reference to the owner of that memory.
class TensorObj : public Object, public DLTensor {
 public:
  static constexpr int32_t _type_index = kTVMFFITensor;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFITensor, TensorObj, Object)

  // Return a new DLPack managed tensor.  The managed tensor owns a reference to this object.  The
  // caller owns the managed tensor and must call its deleter.
  DLManagedTensor* ToDLPack() const {
    DLManagedTensor* out;
    detail::CheckSafeCall(TVMFFITensorToDLPack(detail::ObjectUnsafe::GetHeader(this), &out));
    return out;
  }
  DLManagedTensorVersioned* ToDLPackVersioned() const {
    DLManagedTensorVersioned* out;
    detail::CheckSafeCall(
        TVMFFITensorToDLPackVersioned(detail::ObjectUnsafe::GetHeader(this), &out));
    return out;
  }
};

namespace detail {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowDimension(int64_t index, int32_t ndim) {
  ThrowFormatted("IndexError", "Index %lld out of bounds for tensor with %d dimensions",
                 static_cast<long long>(index), ndim);  // NOLINT(*)
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowNoStrides() {
  ThrowError("InternalError",
             std::string_view("the DLTensor of a Tensor object has no strides array"));
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowTensorValue(const char* message) {
  ThrowError("ValueError", std::string_view(message));
}

// Returns the dimension number for `index`; a negative index counts from the last dimension.
// Fails: IndexError if it is out of range.
inline int64_t CheckDimension(int64_t index, int32_t ndim) {
  int64_t position = index < 0 ? index + ndim : index;
  if (TVM_FFI_PREDICT_FALSE(position < 0 || position >= ndim)) ThrowDimension(index, ndim);
  return position;
}

TVM_FFI_FAILURE_ inline int64_t CompactStride(const DLTensor& tensor, int64_t position) {
  auto next = static_cast<size_t>(position) + 1;
  return ShapeView(tensor.shape + next, static_cast<size_t>(tensor.ndim) - next).Product();
}

// Moves the address of the first element of `tensor` by a number of elements.
inline void AddElementOffset(DLTensor* tensor, int64_t elements) {
  int64_t bits;
  if (__builtin_mul_overflow(elements, tensor->dtype.bits * tensor->dtype.lanes, &bits)) {
    ThrowTensorValue("as_strided: the element offset is too large");
  }
  if (bits % 8 != 0)
    ThrowTensorValue("as_strided: the element offset must be a whole number of bytes");
  if (IsDirectAddressDevice(tensor->device)) {
    tensor->data = static_cast<char*>(tensor->data) + bits / 8;
  } else {
    tensor->byte_offset += static_cast<uint64_t>(bits / 8);
  }
}

// Returns the number of elements from the first to the last element of a tensor.  Fails: ValueError
// if an extent or stride is negative, or the number overflows.
inline int64_t CountStridedElements(ShapeView shape, ShapeView strides) {
  if (shape.size() != strides.size()) {
    ThrowTensorValue("shape and strides must have the same size.");
  }
  int64_t count = 1;
  bool is_empty = false;
  bool overflows = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) ThrowExtent(i, shape[i]);
    if (strides[i] < 0) ThrowTensorValue("FromEnvAllocStrided: expected strides >= 0");
    if (shape[i] == 0) {
      is_empty = true;
      continue;
    }
    int64_t distance;
    overflows = __builtin_mul_overflow(shape[i] - 1, strides[i], &distance) ||
                __builtin_add_overflow(count, distance, &count) || overflows;
  }
  if (is_empty) return 0;
  if (overflows) ThrowDataSize(shape.size());
  return count;
}

// Returns a copy of the DLTensor `prototype` with the given shape and strides.  The arrays of shape
// and strides are borrowed.
inline DLTensor Restrided(DLTensor prototype, ShapeView shape, ShapeView strides,
                          int64_t element_offset) {
  if (shape.size() != strides.size()) {
    ThrowTensorValue("shape and strides must have the same size.");
  }
  if (shape.size() > static_cast<size_t>(INT32_MAX)) {
    ThrowTensorValue("a tensor must have at most 2147483647 dimensions");
  }
  prototype.shape = const_cast<int64_t*>(shape.data());
  prototype.strides = const_cast<int64_t*>(strides.data());
  prototype.ndim = static_cast<int32_t>(shape.size());
  AddElementOffset(&prototype, element_offset);
  return prototype;
}

// CRTP base with the accessors of Tensor and TensorView.  Self::GetDLTensorPtr() returns the
// DLTensor.
template <typename Self>
class TensorAccessors {
 public:
  void* data_ptr() const { return dl().data; }
  DLDevice device() const { return dl().device; }
  int32_t ndim() const { return dl().ndim; }
  int32_t dim() const { return dl().ndim; }
  DLDataType dtype() const { return dl().dtype; }
  uint64_t byte_offset() const { return dl().byte_offset; }
  ShapeView shape() const { return ShapeView(dl().shape, static_cast<size_t>(dl().ndim)); }
  ShapeView sizes() const { return shape(); }
  ShapeView strides() const {
    const DLTensor& tensor = dl();
    if (tensor.strides == nullptr && tensor.ndim > 0) ThrowNoStrides();
    return ShapeView(tensor.strides, static_cast<size_t>(tensor.ndim));
  }
  int64_t size(int64_t index) const {
    const DLTensor& tensor = dl();
    return tensor.shape[CheckDimension(index, tensor.ndim)];
  }
  // Returns the stride of a dimension, in elements.  If the tensor has no strides array, computes
  // the stride of a compact row-major tensor.
  int64_t stride(int64_t index) const {
    const DLTensor& tensor = dl();
    int64_t position = CheckDimension(index, tensor.ndim);
    if (TVM_FFI_PREDICT_FALSE(tensor.strides == nullptr)) return CompactStride(tensor, position);
    return tensor.strides[position];
  }
  int64_t numel() const { return shape().Product(); }
  bool IsContiguous() const { return ffi::IsContiguous(dl()); }
  bool is_contiguous() const { return IsContiguous(); }
  bool IsAligned(size_t alignment) const { return ffi::IsAligned(dl(), alignment); }

 private:
  const DLTensor& dl() const { return *static_cast<const Self*>(this)->GetDLTensorPtr(); }
};

// Tensor object that stores the allocator of its elements.  Shape and strides follow the object in
// memory.
template <typename TNDAlloc>
class TensorObjFromNDAlloc : public TensorObj {
 public:
  template <typename... ExtraArgs>
  TensorObjFromNDAlloc(TNDAlloc alloc, ShapeView extents, const int64_t* strides_or_null,
                       DLDataType tensor_dtype, DLDevice tensor_device, ExtraArgs&&... extra)
      : alloc_(std::move(alloc)) {
    device = tensor_device;
    ndim = static_cast<int32_t>(extents.size());
    dtype = tensor_dtype;
    byte_offset = 0;
    data = nullptr;
    shape = reinterpret_cast<int64_t*>(this + 1);
    strides = shape + extents.size();
    if (strides_or_null == nullptr) FillStridesFromShape(extents, strides);
    for (size_t i = 0; i < extents.size(); ++i) {
      shape[i] = extents[i];
      if (strides_or_null != nullptr) strides[i] = strides_or_null[i];
    }
    alloc_.AllocData(static_cast<DLTensor*>(this), std::forward<ExtraArgs>(extra)...);
  }
  ~TensorObjFromNDAlloc() { alloc_.FreeData(static_cast<DLTensor*>(this)); }

 private:
  TNDAlloc alloc_;
};

}  // namespace detail

// Owned reference to a tensor, or null.  Copies of the reference share the memory.
class Tensor : public ObjectRef, public detail::TensorAccessors<Tensor> {
 public:
  Tensor() = default;
  explicit Tensor(ObjectPtr<TensorObj> tensor) : ObjectRef(ObjectPtr<Object>(std::move(tensor))) {}
  explicit Tensor(UnsafeInit tag) : ObjectRef(tag) {}
  TVM_FFI_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(Tensor);
  using ContainerType = TensorObj;
  static constexpr bool _type_is_nullable = true;

  const DLTensor* GetDLTensorPtr() const { return get(); }

  // Returns a tensor on the same memory with another shape and strides.  element_offset is the
  // distance, in elements, of the new first element from this tensor's first element.
  template <typename Offset = std::nullopt_t, typename Int = int64_t>
  Tensor as_strided(ShapeView shape, ShapeView strides,
                    Offset element_offset = std::nullopt) const {
    DLTensor prototype =
        detail::Restrided(*get(), shape, strides, std::optional<Int>(element_offset).value_or(0));
    TVMFFIObjectHandle out;
    detail::CheckSafeCall(
        TVMFFITensorCreateUnsafeView(detail::ObjectUnsafe::GetHeader(get()), &prototype, &out));
    return FromOwnedHandle(out);
  }

  // Allocate a tensor with alloc.AllocData(DLTensor*, extra...), which sets `data`;
  // alloc.FreeData(DLTensor*) frees the memory.
  template <typename TNDAlloc, typename... ExtraArgs>
  static Tensor FromNDAlloc(TNDAlloc alloc, ShapeView shape, DLDataType dtype, DLDevice device,
                            ExtraArgs&&... extra) {
    return NewFromNDAlloc(std::move(alloc), shape, nullptr, dtype, device,
                          std::forward<ExtraArgs>(extra)...);
  }
  template <typename TNDAlloc, typename... ExtraArgs>
  static Tensor FromNDAllocStrided(TNDAlloc alloc, ShapeView shape, ShapeView strides,
                                   DLDataType dtype, DLDevice device, ExtraArgs&&... extra) {
    if (shape.size() != strides.size()) {
      detail::ThrowTensorValue("shape and strides must have the same size.");
    }
    return NewFromNDAlloc(std::move(alloc), shape, strides.data(), dtype, device,
                          std::forward<ExtraArgs>(extra)...);
  }
  // Allocates a tensor with env_alloc, normally TVMFFIEnvTensorAlloc.
  static Tensor FromEnvAlloc(int (*env_alloc)(DLTensor*, TVMFFIObjectHandle*), ShapeView shape,
                             DLDataType dtype, DLDevice device) {
    DLTensor prototype{};
    prototype.device = device;
    prototype.dtype = dtype;
    prototype.shape = const_cast<int64_t*>(shape.data());
    prototype.ndim = static_cast<int32_t>(shape.size());
    TVMFFIObjectHandle out;
    detail::CheckSafeCall(env_alloc(&prototype, &out));
    return FromOwnedHandle(out);
  }
  // Allocates a tensor with the given strides, which must not be negative.  Allocators ignore the
  // strides of a prototype, so env_alloc allocates the elements as a tensor with one dimension.
  static Tensor FromEnvAllocStrided(int (*env_alloc)(DLTensor*, TVMFFIObjectHandle*),
                                    ShapeView shape, ShapeView strides, DLDataType dtype,
                                    DLDevice device) {
    int64_t count = detail::CountStridedElements(shape, strides);
    if (shape.size() == 0) return FromEnvAlloc(env_alloc, shape, dtype, device);
    return FromEnvAlloc(env_alloc, ShapeView(&count, 1), dtype, device).as_strided(shape, strides);
  }
  // Return a Tensor for a DLPack managed tensor.  Takes ownership of the managed tensor unless the
  // conversion throws.
  static Tensor FromDLPack(DLManagedTensor* tensor, size_t require_alignment = 0,
                           bool require_contiguous = false) {
    TVMFFIObjectHandle out;
    detail::CheckSafeCall(TVMFFITensorFromDLPack(tensor, static_cast<int32_t>(require_alignment),
                                                 require_contiguous, &out));
    return FromOwnedHandle(out);
  }
  static Tensor FromDLPackVersioned(DLManagedTensorVersioned* tensor, size_t require_alignment = 0,
                                    bool require_contiguous = false) {
    TVMFFIObjectHandle out;
    detail::CheckSafeCall(TVMFFITensorFromDLPackVersioned(
        tensor, static_cast<int32_t>(require_alignment), require_contiguous, &out));
    return FromOwnedHandle(out);
  }
  DLManagedTensor* ToDLPack() const { return get()->ToDLPack(); }
  DLManagedTensorVersioned* ToDLPackVersioned() const { return get()->ToDLPackVersioned(); }

  const TensorObj* get() const { return static_cast<const TensorObj*>(data_.get()); }
  const TensorObj* operator->() const { return get(); }

 private:
  template <typename TNDAlloc, typename... ExtraArgs>
  static Tensor NewFromNDAlloc(TNDAlloc alloc, ShapeView shape, const int64_t* strides,
                               DLDataType dtype, DLDevice device, ExtraArgs&&... extra) {
    if (shape.size() > static_cast<size_t>(INT32_MAX)) {
      detail::ThrowTensorValue("a tensor must have at most 2147483647 dimensions");
    }
    // Check the size here, because allocators multiply the extents without an overflow check.
    detail::CheckedDataSize(shape, dtype);
    return Tensor(ObjectPtr<TensorObj>(
        make_inplace_array_object<detail::TensorObjFromNDAlloc<TNDAlloc>, int64_t>(
            2 * shape.size(), std::move(alloc), shape, strides, dtype, device,
            std::forward<ExtraArgs>(extra)...)));
  }
  static Tensor FromOwnedHandle(TVMFFIObjectHandle handle) {
    return Tensor(
        detail::ObjectUnsafe::ObjectPtrFromOwned<TensorObj>(static_cast<TVMFFIObject*>(handle)));
  }
};

// Borrowed view of a tensor: a copy of its DLTensor, valid while the tensor is alive.
class TensorView : public detail::TensorAccessors<TensorView> {
 public:
  TensorView(const Tensor& tensor) : TensorView(tensor.GetDLTensorPtr()) {}  // NOLINT(*)
  // The view would outlive the temporary Tensor.
  TensorView(Tensor&&) = delete;
  TensorView(const DLTensor* tensor) : tensor_(*NotNull(tensor)) {}  // NOLINT(*)

  // Returns a pointer to this view's DLTensor.  It is not const, because many C functions take a
  // non-const DLTensor*.
  DLTensor* GetDLTensorPtr() const { return const_cast<DLTensor*>(&tensor_); }
  // Same as Tensor::as_strided, but borrows the arrays of shape and strides.
  template <typename Offset = std::nullopt_t, typename Int = int64_t>
  TensorView as_strided(ShapeView shape, ShapeView strides,
                        Offset element_offset = std::nullopt) const {
    DLTensor tensor =
        detail::Restrided(tensor_, shape, strides, std::optional<Int>(element_offset).value_or(0));
    return TensorView(&tensor);
  }

 private:
  static const DLTensor* NotNull(const DLTensor* tensor) {
    if (TVM_FFI_PREDICT_FALSE(tensor == nullptr)) {
      detail::ThrowNullReference(StaticTypeKey::kTVMFFIDLTensorPtr);
    }
    return tensor;
  }
  DLTensor tensor_;
};

// Return the size in bytes of a tensor's elements.
inline size_t GetDataSize(const Tensor& tensor) { return GetDataSize(*tensor.GetDLTensorPtr()); }
inline size_t GetDataSize(const TensorView& tensor) {
  return GetDataSize(*tensor.GetDLTensorPtr());
}

// ---- Conversion traits ------------------------------------------------------------------------

namespace detail {

// Returns the DLTensor of a DLTensor pointer or a Tensor object; nullptr for other values.
inline DLTensor* FindDLTensor(const TVMFFIAny* src) {
  if (src->type_index == kTVMFFIDLTensorPtr) return static_cast<DLTensor*>(src->v_ptr);
  if (src->type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(src->v_obj);
  return nullptr;
}

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowTensorNotOwned() {
  ThrowError("RuntimeError",
             std::string_view("DLTensor* cannot be held in Any as it does not retain ownership, "
                              "use Tensor instead"));
}

template <>
inline constexpr const char* type_name_v<Tensor> = StaticTypeKey::kTVMFFITensor;
template <>
inline constexpr const char* type_name_v<TensorView> = StaticTypeKey::kTVMFFIDLTensorPtr;
template <>
inline constexpr const char* type_name_v<DLTensor*> = StaticTypeKey::kTVMFFIDLTensorPtr;

struct DLTensorTraits : TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  static constexpr int32_t field_static_type_index = kTVMFFIDLTensorPtr;
  static bool CheckAnyStrict(const TVMFFIAny* src) { return src->type_index == kTVMFFIDLTensorPtr; }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIDLTensorPtr; }
  static std::string TypeSchema() { return SchemaOfKey(StaticTypeKey::kTVMFFIDLTensorPtr); }
};

}  // namespace detail

namespace detail {
template <typename T>
struct DLTensorPtrTraits : DLTensorTraits {
  static void CopyToAnyView(const T& src, TVMFFIAny* result) {
    SetPointerPayload(result, kTVMFFIDLTensorPtr, src);
  }
  static void MoveToAny(DLTensor*, TVMFFIAny*) { ThrowTensorNotOwned(); }
  static DLTensor* CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return static_cast<DLTensor*>(src->v_ptr);
  }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    DLTensor* tensor = FindDLTensor(src);
    if (tensor == nullptr && src->type_index != kTVMFFIDLTensorPtr) return std::nullopt;
    return T(tensor);
  }
};
}  // namespace detail
template <>
struct TypeTraits<DLTensor*> : detail::DLTensorPtrTraits<DLTensor*> {};

namespace detail {
template <typename T>
struct TensorViewTraits : DLTensorTraits {
  static void CopyToAnyView(const T& src, TVMFFIAny* result) {
    SetPointerPayload(result, kTVMFFIDLTensorPtr, src.GetDLTensorPtr());
  }
  static void MoveToAny(T, TVMFFIAny*) {
    static_assert(sizeof(T) == 0,
                  "a TensorView does not own its tensor: it cannot be stored in an Any or returned "
                  "from a function; use Tensor");
  }
  static TensorView CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return TensorView(static_cast<DLTensor*>(src->v_ptr));
  }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    const DLTensor* tensor = FindDLTensor(src);
    if (tensor == nullptr) return std::nullopt;
    return TensorView(tensor);
  }
};
}  // namespace detail
template <>
struct TypeTraits<TensorView> : detail::TensorViewTraits<TensorView> {};

namespace detail {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowNoTensor(const TVMFFIAny* arg, int index,
                                                        CallSite site) {
  ThrowTypeMismatch(arg, index, site);
}

TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline const DLTensor* ReadTensor(const TVMFFIAny* arg, int index,
                                                                    CallSite site) {
  const DLTensor* tensor = FindDLTensor(arg);
  if (TVM_FFI_PREDICT_FALSE(tensor == nullptr)) ThrowNoTensor(arg, index, site);
  return tensor;
}

// Fast path for TensorView, the most frequent parameter type: constructs the parameter without a
// std::optional.
template <>
struct ArgumentReader<TensorView> {
  static TensorView Read(const TVMFFIAny* arg, int index, CallSite site) {
    return ReadTensor(arg, index, site);
  }
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_TENSOR_H_

// SPDX-License-Identifier: Apache-2.0
// Map<K, V>: an immutable, insertion-ordered hash table with copy-on-write.
#ifndef TVM_FFI_CONTAINER_MAP_H_
#define TVM_FFI_CONTAINER_MAP_H_

#include <tvm/ffi/container/map_ref_detail.h>

namespace tvm {
namespace ffi {

// Object to which a Map refers.
class MapObj : public MapBaseObj {
 public:
  static constexpr int32_t _type_index = kTVMFFIMap;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIMap, MapObj, Object)

  static ObjectPtr<Object> ShallowCopy(const MapObj* from) {
    return detail::MapUnsafe::Copy(from, kTVMFFIMap);
  }
};

template <>
inline ObjectPtr<MapObj> make_object<MapObj>() = delete;

// The third template parameter is always void.  It exists because the mangled names in published
// binaries contain it.
template <typename K, typename V, typename = void>
class Map : public detail::MapRef<Map<K, V>, K, V> {
  using Base = detail::MapRef<Map<K, V>, K, V>;
  template <typename KU, typename VU>
  static constexpr bool kSubsumes = type_subsumes_v<K, KU> && type_subsumes_v<V, VU> &&
                                    !(std::is_same_v<K, KU> && std::is_same_v<V, VU>);

 public:
  using ContainerType = MapObj;
  using iterator = typename Base::iterator;
  static constexpr bool _type_container_is_exact = false;
  static constexpr bool _type_is_nullable = false;

  Map() : Base(Base::MakeEmpty()) {}
  explicit Map(UnsafeInit tag) : Base(tag) {}
  explicit Map(ObjectPtr<Object> map) : Base(std::move(map)) {}
  Map(const Map&) = default;
  Map(Map&&) noexcept = default;
  Map& operator=(const Map&) = default;
  Map& operator=(Map&&) noexcept = default;
  template <typename KU, typename VU, typename = std::enable_if_t<kSubsumes<KU, VU>>>
  Map(const Map<KU, VU>& other) : Base(other.data_) {}  // NOLINT(*)
  template <typename KU, typename VU, typename = std::enable_if_t<kSubsumes<KU, VU>>>
  Map(Map<KU, VU>&& other) noexcept : Base(std::move(other.data_)) {}  // NOLINT(*)
  template <typename Iter, typename = typename std::iterator_traits<Iter>::iterator_category>
  Map(Iter first, Iter last) : Base(Base::MakeFrom(first, last)) {}
  Map(std::initializer_list<std::pair<K, V>> pairs)  // NOLINT(*)
      : Base(Base::MakeFrom(pairs.begin(), pairs.end())) {}
  // Constructs a Map with the pairs of a std::unordered_map<K, V>.
  template <typename M, typename = std::enable_if_t<detail::is_hashed_map_v<M, K, V>>>
  Map(const M& pairs)  // NOLINT(*)
      : Base(Base::MakeFrom(pairs.begin(), pairs.end())) {}

  // Return the value of a key as a const value, because a TensorView can be constructed from a
  // const Tensor but not from a non-const temporary.  Fails: KeyError if the key is missing.
  const V at(const K& key) const { return Base::at(key); }
  const V operator[](const K& key) const { return Base::at(key); }

  const MapObj* get() const { return GetMapObj(); }
  const MapObj* operator->() const { return GetMapObj(); }
  // Returns the MapObj for writing.  If there are other references to the MapObj, first replaces it
  // by a copy.
  MapObj* CopyOnWrite() {
    if (this->data_ == nullptr) {
      this->data_ = Base::MakeEmpty();
    } else if (!this->data_.unique()) {
      this->data_ = MapObj::ShallowCopy(GetMapObj());
    }
    return GetMapObj();
  }
  void clear() {
    if (this->data_ != nullptr) this->data_ = Base::MakeEmpty();
  }

 private:
  static constexpr int32_t kTypeIndex = kTVMFFIMap;
  MapObj* GetMapObj() const { return static_cast<MapObj*>(this->data_.get()); }
  MapObj* Writable() { return CopyOnWrite(); }
  void Put(MapBaseObj::KVType&& pair) {
    CopyOnWrite();
    detail::MapUnsafe::Insert(&this->data_, std::move(pair));
  }

  template <typename, typename, typename>
  friend class Map;
  template <typename, typename, typename>
  friend class detail::MapRef;
};

// Returns a map with the pairs of lhs and rhs.  A key in both maps gets its value in rhs.
template <typename K, typename V>
Map<K, V> Merge(Map<K, V> lhs, const Map<K, V>& rhs) {
  // Second reference to rhs.  If lhs and rhs refer to the same object, Set then copies the object
  // instead of changing the map that the loop iterates over.
  Map<K, V> source = rhs;
  for (const auto& [key, value] : source) lhs.Set(key, value);
  return lhs;
}

template <typename K, typename V, typename KU, typename VU>
inline constexpr bool type_subsumes_v<Map<K, V>, Map<KU, VU>> =
    type_subsumes_v<K, KU> && type_subsumes_v<V, VU>;
template <typename K, typename V>
inline constexpr bool use_default_type_traits_v<Map<K, V>> = false;

template <typename K, typename V>
struct TypeTraits<Map<K, V>> : MapTypeTraitsBase<Map<K, V>, K, V, kTVMFFIMap, kTVMFFIDict> {
  static std::string TypeStr() { return detail::ContainerTypeStr<K, V>("Map"); }
  static std::string TypeSchema() { return detail::ContainerTypeSchema<K, V>("ffi.Map"); }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_MAP_H_

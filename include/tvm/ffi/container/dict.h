// SPDX-License-Identifier: Apache-2.0
// Dict<K, V>: a mutable, insertion-ordered hash table; all references to it see changes.
#ifndef TVM_FFI_CONTAINER_DICT_H_
#define TVM_FFI_CONTAINER_DICT_H_

#include <tvm/ffi/container/map_ref_detail.h>

namespace tvm {
namespace ffi {

// Object to which a Dict refers.
class DictObj : public MapBaseObj {
 public:
  static constexpr int32_t _type_index = kTVMFFIDict;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIDict, DictObj, Object)

  static ObjectPtr<Object> ShallowCopy(const DictObj* from) {
    return detail::MapUnsafe::Copy(from, kTVMFFIDict);
  }
};

template <>
inline ObjectPtr<DictObj> make_object<DictObj>() = delete;

// The third template parameter is always void.  It exists because the mangled names in published
// binaries contain it.
template <typename K, typename V, typename = void>
class Dict : public detail::MapRef<Dict<K, V>, K, V> {
  using Base = detail::MapRef<Dict<K, V>, K, V>;
  template <typename KU, typename VU>
  static constexpr bool kSubsumes = type_subsumes_v<K, KU> && type_subsumes_v<V, VU> &&
                                    !(std::is_same_v<K, KU> && std::is_same_v<V, VU>);

 public:
  using ContainerType = DictObj;
  using iterator = typename Base::iterator;
  static constexpr bool _type_container_is_exact = false;
  static constexpr bool _type_is_nullable = false;

  Dict() : Base(Base::MakeEmpty()) {}
  explicit Dict(UnsafeInit tag) : Base(tag) {}
  explicit Dict(ObjectPtr<Object> dict) : Base(std::move(dict)) {}
  Dict(const Dict&) = default;
  Dict(Dict&&) noexcept = default;
  Dict& operator=(const Dict&) = default;
  Dict& operator=(Dict&&) noexcept = default;
  template <typename KU, typename VU, typename = std::enable_if_t<kSubsumes<KU, VU>>>
  Dict(const Dict<KU, VU>& other) : Base(other.data_) {}  // NOLINT(*)
  template <typename KU, typename VU, typename = std::enable_if_t<kSubsumes<KU, VU>>>
  Dict(Dict<KU, VU>&& other) noexcept : Base(std::move(other.data_)) {}  // NOLINT(*)
  template <typename Iter, typename = typename std::iterator_traits<Iter>::iterator_category>
  Dict(Iter first, Iter last) : Base(Base::MakeFrom(first, last)) {}
  Dict(std::initializer_list<std::pair<K, V>> pairs)  // NOLINT(*)
      : Base(Base::MakeFrom(pairs.begin(), pairs.end())) {}
  // Constructs a Dict with the pairs of a std::unordered_map<K, V>.
  template <typename M, typename = std::enable_if_t<detail::is_hashed_map_v<M, K, V>>>
  Dict(const M& pairs)  // NOLINT(*)
      : Base(Base::MakeFrom(pairs.begin(), pairs.end())) {}

  DictObj* get() const { return GetDictObj(); }
  DictObj* operator->() const { return GetDictObj(); }
  void clear() {
    if (GetDictObj() != nullptr) GetDictObj()->clear();
  }

 private:
  static constexpr int32_t kTypeIndex = kTVMFFIDict;
  DictObj* GetDictObj() const { return static_cast<DictObj*>(this->data_.get()); }
  DictObj* Writable() const { return GetDictObj(); }
  void Put(MapBaseObj::KVType&& pair) {
    if (GetDictObj() == nullptr) detail::ThrowNullMap();
    detail::MapUnsafe::InsertInPlace(GetDictObj(), std::move(pair));
  }

  template <typename, typename, typename>
  friend class Dict;
  template <typename, typename, typename>
  friend class detail::MapRef;
};

template <typename K, typename V, typename KU, typename VU>
inline constexpr bool type_subsumes_v<Dict<K, V>, Dict<KU, VU>> =
    type_subsumes_v<K, KU> && type_subsumes_v<V, VU>;
template <typename K, typename V>
inline constexpr bool use_default_type_traits_v<Dict<K, V>> = false;

template <typename K, typename V>
struct TypeTraits<Dict<K, V>> : MapTypeTraitsBase<Dict<K, V>, K, V, kTVMFFIDict, kTVMFFIMap> {
  static std::string TypeStr() { return detail::ContainerTypeStr<K, V>("Dict"); }
  static std::string TypeSchema() { return detail::ContainerTypeSchema<K, V>("ffi.Dict"); }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_DICT_H_

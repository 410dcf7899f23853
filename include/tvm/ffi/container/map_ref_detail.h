// SPDX-License-Identifier: Apache-2.0
// Common interface and conversion traits of Map and Dict.
#ifndef TVM_FFI_CONTAINER_MAP_REF_DETAIL_H_
#define TVM_FFI_CONTAINER_MAP_REF_DETAIL_H_

#include <tvm/ffi/container/map_base.h>

#include <initializer_list>

namespace tvm {
namespace ffi {
namespace detail {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowNullMap() {
  TVM_FFI_THROW(RuntimeError) << "cannot change a null map";
}

// Key of a lookup, converted to Any.  Strings, bytes and object references are borrowed, without a
// change of the reference count.
template <typename K>
class LookupKey {
 public:
  explicit LookupKey(const K& key) {
    if constexpr (kIsBorrowed) {
      new (&any_) Any();
      TypeTraits<K>::CopyToAnyView(key, AnyUnsafe::TVMFFIAnyPtrFromAny(any_));
    } else {
      new (&any_) Any(key);
    }
  }
  ~LookupKey() {
    if constexpr (!kIsBorrowed) any_.~Any();
  }
  LookupKey(const LookupKey&) = delete;
  LookupKey& operator=(const LookupKey&) = delete;
  operator const Any&() const { return any_; }  // NOLINT(*)

 private:
  // True for key types whose values a lookup borrows.  Object references with user-defined traits
  // are converted to an owned Any instead, because their CopyToAnyView may produce a value that no
  // table contains, such as a C string.
  static constexpr bool kIsBorrowed =
      std::is_same_v<K, String> || std::is_same_v<K, Bytes> ||
      (std::is_base_of_v<ObjectRef, K> && use_default_type_traits_v<K>);
  union {
    Any any_;
  };
};
template <>
class LookupKey<Any> {
 public:
  explicit LookupKey(const Any& key) : key_(key) {}
  operator const Any&() const { return key_; }  // NOLINT(*)

 private:
  const Any& key_;
};

// CRTP base of Map and Dict.  Self defines these private members, which MapRef uses:
//   kTypeIndex            type index of the object
//   Writable()            returns the object for writing
//   Put(pair)             inserts a pair or replaces the value of its key
template <typename Self, typename K, typename V>
class MapRef : public ObjectRef {
  static_assert(all_storage_enabled_v<K, V>,
                "Map and Dict require key and value types that Any can store");

 public:
  using key_type = K;
  using mapped_type = V;

  // Iterator that returns pairs as const values, because a TensorView can be constructed from a
  // const Tensor but not from a non-const temporary.
  class iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using difference_type = int64_t;
    using value_type = std::pair<K, V>;
    using pointer = value_type*;
    using reference = value_type;

    iterator() = default;
    bool operator==(const iterator& other) const { return iter_ == other.iter_; }
    bool operator!=(const iterator& other) const { return iter_ != other.iter_; }
    const value_type operator*() const {
      return value_type(AnyUnsafe::CopyFromAnyViewAfterCheck<K>(iter_->first),
                        AnyUnsafe::CopyFromAnyViewAfterCheck<V>(iter_->second));
    }
    iterator& operator++() {
      ++iter_;
      return *this;
    }
    iterator& operator--() {
      --iter_;
      return *this;
    }
    iterator operator++(int) { return iterator(iter_++); }
    iterator operator--(int) { return iterator(iter_--); }

   private:
    explicit iterator(MapBaseObj::iterator iter) : iter_(iter) {}

    MapBaseObj::iterator iter_;
    friend class MapRef;
  };

  size_t size() const { return table() != nullptr ? table()->size() : 0; }
  bool empty() const { return size() == 0; }
  size_t count(const K& key) const {
    return table() != nullptr ? table()->count(LookupKey<K>(key)) : 0;
  }
  iterator begin() const { return table() != nullptr ? iterator(table()->begin()) : iterator(); }
  iterator end() const { return table() != nullptr ? iterator(table()->end()) : iterator(); }
  iterator find(const K& key) const {
    return table() != nullptr ? iterator(table()->find(LookupKey<K>(key))) : iterator();
  }
  // Returns the value of a key.  Fails: KeyError if the key is missing.
  V at(const K& key) const {
    const MapBaseObj* map = table();
    if (map == nullptr) ThrowKeyMissing();
    return AnyUnsafe::CopyFromAnyViewAfterCheck<V>(map->at(LookupKey<K>(key)));
  }
  V operator[](const K& key) const { return at(key); }
  std::optional<V> Get(const K& key) const {
    // Read the table pointer only once, because a key's hook may assign another table to this
    // variable.
    const MapBaseObj* map = table();
    if (map == nullptr) return std::nullopt;
    MapBaseObj::iterator found = map->find(LookupKey<K>(key));
    if (found == map->end()) return std::nullopt;
    return AnyUnsafe::CopyFromAnyViewAfterCheck<V>(found->second);
  }
  void Set(const K& key, const V& value) { self().Put(MapBaseObj::KVType(Any(key), Any(value))); }
  void erase(const K& key) {
    const MapBaseObj* map = table();
    if (map == nullptr) return;
    MapBaseObj::iterator found = map->find(LookupKey<K>(key));
    if (TVM_FFI_PREDICT_FALSE(map != table())) ThrowMapChanged("__any_hash__` or `__any_equal__");
    // A Map with other references is copied only if it contains the key.  In the copy, the pair has
    // the same index.
    if (found != map->end()) self().Writable()->erase(found);
  }

 protected:
  using ObjectRef::ObjectRef;
  MapRef() = default;

  static ObjectPtr<Object> MakeEmpty() { return MapUnsafe::MakeSmall(Self::kTypeIndex, 0); }
  template <typename Iter>
  static ObjectPtr<Object> MakeFrom(Iter first, Iter last, uint64_t count) {
    ObjectPtr<Object> map = MapUnsafe::MakeForCount(Self::kTypeIndex, count);
    for (; first != last; ++first) {
      const auto& pair = *first;
      MapUnsafe::Insert(&map, MapBaseObj::KVType(ToAny<K>(pair.first), ToAny<V>(pair.second)));
    }
    return map;
  }
  template <typename Iter>
  static ObjectPtr<Object> MakeFrom(Iter first, Iter last) {
    uint64_t count = 0;
    for (Iter it = first; it != last; ++it) ++count;
    return MakeFrom(first, last, count);
  }

 private:
  template <typename T, typename U>
  static Any ToAny(const U& value) {
    if constexpr (std::is_same_v<T, U> || std::is_same_v<T, Any>) {
      return Any(value);
    } else {
      return Any(T(value));
    }
  }
  const MapBaseObj* table() const { return static_cast<const MapBaseObj*>(data_.get()); }
  Self& self() { return static_cast<Self&>(*this); }
};

// True for the unordered maps of the standard library.  Their header is not included here.
template <typename T, typename K, typename V, typename Enable = void>
inline constexpr bool is_hashed_map_v = false;
template <typename T, typename K, typename V>
inline constexpr bool is_hashed_map_v<T, K, V,
                                      std::enable_if_t<std::is_same_v<typename T::key_type, K> &&
                                                       std::is_same_v<typename T::mapped_type, V> &&
                                                       (sizeof(typename T::hasher) > 0)>> = true;

}  // namespace detail

// Conversion to Ref, a Map<K, V> or Dict<K, V>.  A source object of the same container type whose
// keys and values all have types K and V is shared.  Otherwise the pairs are converted into a new
// table.  An object of the other container type (other_index) is always copied.
template <typename Ref, typename K, typename V, int32_t own_index, int32_t other_index>
struct MapTypeTraitsBase : ObjectRefTypeTraitsBase<Ref> {
  using Base = ObjectRefTypeTraitsBase<Ref>;

  static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index != own_index) return false;
    if constexpr (!kHoldsAny) {
      for (const MapBaseObj::KVType& pair : *Table(src)) {
        if (!detail::AnyUnsafe::CheckAnyStrict<K>(pair.first) ||
            !detail::AnyUnsafe::CheckAnyStrict<V>(pair.second)) {
          return false;
        }
      }
    }
    return true;
  }
  static std::optional<Ref> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index != own_index && src->type_index != other_index) return std::nullopt;
    if (CheckAnyStrict(src)) return Base::CopyFromAnyViewAfterCheck(src);
    Ref result;
    const MapBaseObj* table = Table(src);
    // Iterate over a copy of the table.  Converting pairs and inserting them into the result may
    // call hash or equality hooks of keys, and such a hook may change the source table.
    ObjectPtr<MapBaseObj> copy;
    if constexpr (std::is_same_v<K, Any> || !kConvertsWithoutUserCode) {
      copy = detail::MapUnsafe::Copy(table, own_index);
      table = copy.get();
    }
    for (const MapBaseObj::KVType& pair : *table) {
      std::optional<K> key = pair.first.template try_cast<K>();
      if (!key.has_value()) return std::nullopt;
      std::optional<V> value = pair.second.template try_cast<V>();
      if (!value.has_value()) return std::nullopt;
      result.Set(*key, *value);
    }
    return result;
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (src->type_index == own_index || src->type_index == other_index) {
      // The message names the container type of Ref, even if the source has the other type.
      std::string name = own_index == kTVMFFIMap ? "Map" : "Dict";
      // Iterate over a copy of the table, because converting a key or value may call hooks that
      // change the source table.
      ObjectPtr<MapBaseObj> copy = detail::MapUnsafe::Copy(Table(src), own_index);
      for (const MapBaseObj::KVType& pair : *copy) {
        if (!pair.first.template try_cast<K>().has_value()) {
          return name + "[some key is " + detail::AnyUnsafe::GetMismatchTypeInfo<K>(pair.first) +
                 ", V]";
        }
        if (!pair.second.template try_cast<V>().has_value()) {
          return name + "[K, some value is " +
                 detail::AnyUnsafe::GetMismatchTypeInfo<V>(pair.second) + "]";
        }
      }
    }
    return TypeTraitsBase::GetMismatchTypeInfo(src);
  }

 private:
  static constexpr bool kHoldsAny = std::is_same_v<K, Any> && std::is_same_v<V, Any>;
  static constexpr bool kConvertsWithoutUserCode =
      detail::converts_without_user_code_v<K> && detail::converts_without_user_code_v<V>;
  static const MapBaseObj* Table(const TVMFFIAny* src) {
    return detail::ObjectUnsafe::RawObjectPtrFromUnowned<MapBaseObj>(src->v_obj);
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_MAP_REF_DETAIL_H_

// SPDX-License-Identifier: Apache-2.0
// The part of their interface that Map and Dict have in common, and their conversions.
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

// A key as tables look it up, an Any.  Text and references are lent: their count stays as it is.
template <typename K>
class LookupKey {
 public:
  explicit LookupKey(const K& key) {
    if constexpr (kIsLent) {
      new (&any_) Any();
      TypeTraits<K>::CopyToAnyView(key, AnyUnsafe::TVMFFIAnyPtrFromAny(any_));
    } else {
      new (&any_) Any(key);
    }
  }
  ~LookupKey() {
    if constexpr (!kIsLent) any_.~Any();
  }
  LookupKey(const LookupKey&) = delete;
  LookupKey& operator=(const LookupKey&) = delete;
  operator const Any&() const { return any_; }  // NOLINT(*)

 private:
  // Traits that somebody else wrote may lend what no table has, such as a C string.
  static constexpr bool kIsLent = std::is_same_v<K, String> || std::is_same_v<K, Bytes> ||
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

// Self supplies, privately for MapRef:
//   kTypeIndex            the type index of its objects
//   Writable()            the object, ready to be changed
//   Put(pair)             changes a pair or adds one
template <typename Self, typename K, typename V>
class MapRef : public ObjectRef {
  static_assert(all_storage_enabled_v<K, V>, "keys and values are what an Any can hold");

 public:
  using key_type = K;
  using mapped_type = V;

  // Yields pairs by value; const as the elements of an Array are.
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
  // A KeyError when there is no such key.
  V at(const K& key) const {
    const MapBaseObj* map = table();
    if (map == nullptr) ThrowKeyMissing();
    return AnyUnsafe::CopyFromAnyViewAfterCheck<V>(map->at(LookupKey<K>(key)));
  }
  V operator[](const K& key) const { return at(key); }
  std::optional<V> Get(const K& key) const {
    // The table, as hooks of keys may put another one into this variable.
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
    // A shared Map is copied only when there is something to erase; the copy has it in the same
    // place.
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

// True for the unordered maps of the standard library, whose header is not included here.
template <typename T, typename K, typename V, typename Enable = void>
inline constexpr bool is_hashed_map_v = false;
template <typename T, typename K, typename V>
inline constexpr bool is_hashed_map_v<T, K, V,
                                      std::enable_if_t<std::is_same_v<typename T::key_type, K> &&
                                                       std::is_same_v<typename T::mapped_type, V> &&
                                                       (sizeof(typename T::hasher) > 0)>> = true;

}  // namespace detail

// Conversion of Ref, a Map<K, V> or Dict<K, V>: shared when every pair fits, else copied with
// converted pairs; the other kind of table (other_index) is always copied.
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
    // Hooks of keys run when the result gets them, and when a part is converted; they may change
    // the source.
    ObjectPtr<MapBaseObj> copy;
    if constexpr (std::is_same_v<K, Any> || !kConvertsAlone) {
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
      // Named after what was wanted, not after what came.
      std::string name = own_index == kTVMFFIMap ? "Map" : "Dict";
      // See above.
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
  static constexpr bool kConvertsAlone = detail::converts_alone_v<K> && detail::converts_alone_v<V>;
  static const MapBaseObj* Table(const TVMFFIAny* src) {
    return detail::ObjectUnsafe::RawObjectPtrFromUnowned<MapBaseObj>(src->v_obj);
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_MAP_REF_DETAIL_H_

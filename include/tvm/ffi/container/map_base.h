// SPDX-License-Identifier: Apache-2.0
// MapBaseObj: the hash table of Map and Dict, with keys and values of type Any.
//
// Up to four pairs are stored consecutively (small layout); more pairs are stored in a hash table
// (dense layout).  Inlined code in every library reads and changes tables that other libraries
// created, so layout and algorithm are part of the binary contract.  The type index distinguishes
// Map from Dict; it is independent of the layout.
#ifndef TVM_FFI_CONTAINER_MAP_BASE_H_
#define TVM_FFI_CONTAINER_MAP_BASE_H_

#include <tvm/ffi/container/container_detail.h>
#include <tvm/ffi/optional.h>

namespace tvm {
namespace ffi {

namespace detail {
struct TVM_FFI_HIDDEN_ MapUnsafe;
}

// Common base of MapObj and DictObj: a hash table of (Any, Any) pairs in order of insertion.
class MapBaseObj : public Object {
 public:
  using NestsDeeply_ = void;  // see release_detail.h
  using key_type = Any;
  using mapped_type = Any;
  using KVType = std::pair<Any, Any>;
  static_assert(std::is_standard_layout_v<KVType> && sizeof(KVType) == 32,
                "the size of a pair is part of the binary contract");

  // Iterator over the pairs in the order of insertion.  `--end()` is an iterator at the last pair.
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using difference_type = int64_t;
    using value_type = KVType;
    using pointer = KVType*;
    using reference = KVType&;

    iterator() = default;
    bool operator==(const iterator& other) const {
      return index == other.index && self == other.self;
    }
    bool operator!=(const iterator& other) const { return !(*this == other); }
    pointer operator->() const { return self->PairAt(index); }
    reference operator*() const { return *self->PairAt(index); }
    iterator& operator++() {
      index = self->IndexAfter(index);
      return *this;
    }
    iterator& operator--() {
      index = self->IndexBefore(index);
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    iterator operator--(int) {
      iterator before = *this;
      --*this;
      return before;
    }

   protected:
    iterator(uint64_t index, const MapBaseObj* self) : index(index), self(self) {}

    uint64_t index{0};
    const MapBaseObj* self{nullptr};

   private:
    friend class MapBaseObj;
  };

  MapBaseObj(const MapBaseObj&) = delete;
  MapBaseObj& operator=(const MapBaseObj&) = delete;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t count(const key_type& key) const { return find(key) != end() ? 1 : 0; }
  iterator begin() const { return iterator(FirstIndex(), this); }
  iterator end() const { return iterator(EndIndex(), this); }
  iterator find(const key_type& key) const { return iterator(IndexOf(key), this); }
  const mapped_type& at(const key_type& key) const { return ValueAt(key); }
  mapped_type& at(const key_type& key) { return ValueAt(key); }
  void erase(const iterator& position) {
    if (position != end()) EraseIndex(position.index);
  }
  void erase(const key_type& key) { erase(find(key)); }
  // Erases all pairs; keeps the allocated memory.
  void clear();

 protected:
  MapBaseObj() = default;
  ~MapBaseObj() = default;

  static constexpr uint64_t kSmallTag = uint64_t{1} << 63;
  static constexpr uint64_t kNoIndex = ~uint64_t{0};
  static constexpr uint64_t kSmallInitialCapacity = 2;
  static constexpr uint64_t kSmallMaxCapacity = 4;

  bool IsSmall() const { return (slots_ & kSmallTag) != 0; }
  // In the functions below, the index of a pair is the position of the pair in the array of pairs
  // (small layout) or the number of the slot that contains the pair (dense layout).
  uint64_t FirstIndex() const;
  uint64_t EndIndex() const { return IsSmall() ? size_ : kNoIndex; }
  uint64_t IndexAfter(uint64_t index) const;
  uint64_t IndexBefore(uint64_t index) const;
  uint64_t IndexOf(const Any& key) const;
  KVType* PairAt(uint64_t index) const;
  void EraseIndex(uint64_t index);
  // Inserts a pair, or replaces the value if the table contains the key.  Returns false
  // without an insertion if the table must grow first.
  bool TryPut(KVType* pair);
  // Destroys the pairs and frees the memory.
  void Release();
  // Returns the hash of a key.  `index` is the index of the key in the table, or kNoIndex if the
  // table does not contain the key.
  uint64_t HashOf(const Any& key, uint64_t index) const;
  // Same as HashOf, but inlined into its callers, the search functions.
  TVM_FFI_INLINE uint64_t HashInLine(const Any& key, uint64_t index) const {
    return AnyHash::Combine(key,
                            [&](const TVMFFIAny* hook) { return CallHashHook(hook, key, index); });
  }
  // Returns true if the key `stored`, which is at `index` of the table, equals `key`.
  TVM_FFI_INLINE bool KeyEquals(const Any& stored, uint64_t index, const Any& key) const {
    return AnyEqual::Compare(
        stored, key, [&](const TVMFFIAny* hook) { return CallEqualHook(hook, index, key); });
  }

  void* data_{nullptr};
  uint64_t size_{0};
  uint64_t slots_{0};
  void (*data_deleter_)(void*){nullptr};

 private:
  class HookWatch;

  Any& ValueAt(const Any& key) const;
  // Call the hash or equality hook (a function that the key's type registers).  Fails: RuntimeError
  // if the hook changed the table.
  uint64_t CallHashHook(const TVMFFIAny* hook, const Any& key, uint64_t index) const;
  bool CallEqualHook(const TVMFFIAny* hook, uint64_t index, const Any& key) const;

  friend struct detail::MapUnsafe;
};

// Small layout: an array of pairs.  The array normally follows the object in memory.  A Dict that
// grows keeps its object and turns it into a DenseMapBaseObj.  Therefore the memory of a small
// table has room for a DenseMapBaseObj, and the destructor of a small table checks the current
// layout.
class TVM_FFI_HIDDEN_ SmallMapBaseObj : public MapBaseObj {
 public:
  SmallMapBaseObj() = default;
  ~SmallMapBaseObj() { Release(); }

 private:
  uint64_t Capacity() const { return slots_ & ~kSmallTag; }
  KVType* Pairs() const { return static_cast<KVType*>(data_); }
  uint64_t Find(const Any& key) const;
  void Erase(uint64_t index);
  bool Put(KVType* pair);
  void Clear();

  friend class MapBaseObj;
  friend struct detail::MapUnsafe;
};

// Dense layout: a hash table with chains inside the slot array.  The hash of a key selects its home
// slot.  The home slot is the head of the chain of all keys with this home.  If an entry of another
// chain occupies the home slot when a key is inserted, that entry and its successors in the chain
// move to other slots.  A doubly linked list of slots keeps the order of insertion.
class TVM_FFI_HIDDEN_ DenseMapBaseObj : public MapBaseObj {
 public:
  DenseMapBaseObj() = default;
  ~DenseMapBaseObj() { Release(); }

 private:
  static constexpr uint64_t kBlockSlots = 16;
  static constexpr uint64_t kNoSlot = kNoIndex;
  // Metadata byte of a slot: kEmpty; kProtected while the slot is vacated for a new entry;
  // otherwise
  //   bit 7      1 if the slot is not the head of its chain
  //   bits 0-6   index in kMapJumps of the distance to the next slot; 0 at the end of the chain
  static constexpr uint8_t kEmpty = 0xFF;
  static constexpr uint8_t kProtected = 0xFE;
  static constexpr uint8_t kMemberBit = 0x80;

  struct Entry {
    KVType pair;
    uint64_t prev;
    uint64_t next;
  };
  static_assert(sizeof(Entry) == 48, "the size of an entry is part of the binary contract");
  struct Block {
    uint8_t bytes[kBlockSlots + kBlockSlots * sizeof(Entry)];
  };
  static_assert(sizeof(Block) == 784 && alignof(Block) == 1,
                "size and alignment of a block are part of the binary contract");
  // Slot of the hash table in which to store a pair: a free slot (is_free is true), or the slot
  // that contains an equal key (is_free is false).
  struct InsertPosition {
    uint64_t slot;
    bool is_free;
  };

  Block* BlockOf(uint64_t slot) const { return static_cast<Block*>(data_) + slot / kBlockSlots; }
  uint8_t& Meta(uint64_t slot) const { return BlockOf(slot)->bytes[slot % kBlockSlots]; }
  Entry* At(uint64_t slot) const {
    return reinterpret_cast<Entry*>(BlockOf(slot)->bytes + kBlockSlots +
                                    slot % kBlockSlots * sizeof(Entry));
  }
  bool IsHead(uint64_t slot) const { return (Meta(slot) & kMemberBit) == 0; }
  // Return the number of the slot with the pair that was inserted first (or last).  The functions
  // check the size of the table, because iter_list_head_ and iter_list_tail_ are not reset when all
  // pairs are moved to another table.
  uint64_t First() const { return size_ == 0 ? kNoSlot : iter_list_head_; }
  uint64_t Last() const { return size_ == 0 ? kNoSlot : iter_list_tail_; }
  uint64_t HomeOfHash(uint64_t hash) const {
    return (uint64_t{11400714819323198485U} * hash) >> fib_shift_;
  }
  TVM_FFI_INLINE uint64_t HomeOf(const Any& key) const {
    return HomeOfHash(HashInLine(key, kNoIndex));
  }
  bool IsFull() const {
    return static_cast<double>(size_ + 1) > static_cast<double>(slots_) * 0.99;
  }

  uint64_t Step(uint64_t slot, uint8_t meta) const;
  uint64_t Find(const Any& key) const;
  void Erase(uint64_t slot);
  bool Put(KVType* pair);
  void Clear();
  InsertPosition FindInsertPosition(const Any& key);
  template <typename Moved>
  bool Evict(uint64_t slot, uint64_t before, const Moved& moved);
  bool EvictPair(uint64_t slot);
  bool EvictPairs(uint64_t slot, uint64_t before, uint64_t count);
  uint64_t PredecessorOf(uint64_t slot, uint64_t hash) const;
  uint64_t ExtendChain(uint64_t last);
  void SetJump(uint64_t slot, uint8_t jump) {
    Meta(slot) = static_cast<uint8_t>((Meta(slot) & kMemberBit) | jump);
  }
  void LinkLast(uint64_t slot);
  void Unlink(uint64_t slot);
  void RelinkNeighbours(uint64_t to);
  static void DeleteBlocks(void* blocks) { delete[] static_cast<Block*>(blocks); }
  void Allocate(uint64_t slots, uint32_t fib_shift);
  void SetNoTable();

  uint32_t fib_shift_{63};
  uint64_t iter_list_head_{kNoSlot};
  uint64_t iter_list_tail_{kNoSlot};

  friend class MapBaseObj;
  friend struct detail::MapUnsafe;
};

template <>
inline ObjectPtr<MapBaseObj> make_object<MapBaseObj>() = delete;

namespace detail {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowKeyMissing() {
  TVM_FFI_THROW(KeyError) << "key is not in Map";
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowMapChanged(const char* hook) {
  TVM_FFI_THROW(RuntimeError) << "the Map or Dict changed while `" << hook
                              << "` of a key was running";
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowKeyDropped(const char* hook) {
  TVM_FFI_THROW(RuntimeError) << "the key of the lookup was released while `" << hook
                              << "` of a key was running";
}

// Creates, copies and grows tables for Map and Dict.
struct TVM_FFI_HIDDEN_ MapUnsafe {
  using KVType = MapBaseObj::KVType;

  static ObjectPtr<MapBaseObj> MakeSmall(int32_t type_index, uint64_t capacity);
  static ObjectPtr<MapBaseObj> MakeDense(int32_t type_index, uint64_t slots, uint32_t fib_shift);
  // Returns a new empty table with capacity for `count` pairs.
  static ObjectPtr<MapBaseObj> MakeForCount(int32_t type_index, uint64_t count);
  static ObjectPtr<MapBaseObj> Copy(const MapBaseObj* from, int32_t type_index);
  // Returns a new, larger table with all pairs of `from`; the pairs are moved, so `from` loses
  // them.
  static ObjectPtr<MapBaseObj> Grow(MapBaseObj* from);
  // Inserts a pair into the table *map, to which no other reference may exist.  If the table has no
  // room for the pair, creates a larger table object with all pairs and stores it in *map.
  static void Insert(ObjectPtr<Object>* map, KVType&& pair);
  // Inserts a pair into a table to which other references may exist.  If the table has no room for
  // the pair, the object `map` gets larger memory and keeps its address.
  static void InsertInPlace(MapBaseObj* map, KVType&& pair);

 private:
  static void CopyBits(void* to, const KVType* from) { std::memcpy(to, from, sizeof(KVType)); }
  static ObjectPtr<MapBaseObj> GrowDense(MapBaseObj* from, uint64_t slots, uint32_t fib_shift);
  // Hash of a pair's key, and the slot of the pair in the larger table that MapUnsafe::Grow
  // creates.  Arrays of Relocation are in the order in which the pairs were inserted.
  struct Relocation {
    uint64_t hash;
    uint64_t slot;
  };
  static void HashAll(const MapBaseObj* from, Relocation* relocations);
  static bool RelocateAll(const MapBaseObj* from, Relocation* relocations, DenseMapBaseObj* to);
  static uint64_t FreeSlotFor(uint64_t hash, Relocation* relocations, DenseMapBaseObj* to);
  static void MoveTableTo(MapBaseObj* target, ObjectPtr<MapBaseObj>&& source);
  static void ReleaseInlineOwner(void* data);
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

#include <tvm/ffi/container/map_ref_detail.h>
#include <tvm/ffi/container/map_table_detail.h>
#endif  // TVM_FFI_CONTAINER_MAP_BASE_H_

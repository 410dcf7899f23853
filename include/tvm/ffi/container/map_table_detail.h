// SPDX-License-Identifier: Apache-2.0
// Hash table algorithms of map_base.h: search, insertion, removal, growth.
//
// Growth copies pairs to the new table as raw bytes, and the old table gives them up only when the
// new table is complete.  If an allocation or a hash hook fails, the old table is unchanged.
// Erased pairs are destroyed last, when the table is consistent again, because a destructor may use
// the table.
//
// A key's hash or equality hook may also use the table, during a search.  Only CallHashHook and
// CallEqualHook call hooks, always before the first change to the table.  If the table changed
// while the hook ran, they throw.  Keys without hooks do not pay for this check.
#ifndef TVM_FFI_CONTAINER_MAP_TABLE_DETAIL_H_
#define TVM_FFI_CONTAINER_MAP_TABLE_DETAIL_H_

#include <tvm/ffi/container/map_base.h>

// Function specifiers: the compiler must not inline the function and must not export its symbol.
#define TVM_FFI_MAP_TABLE_ TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline

namespace tvm {
namespace ffi {
namespace detail {

// Distances between consecutive slots of a chain, indexed by bits 0-6 of the slot's metadata.
// clang-format off
TVM_FFI_HIDDEN_ inline constexpr uint64_t kMapJumps[126] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 21, 28, 36, 45, 55, 66, 78, 91, 105, 120,
    136, 153, 171, 190, 210, 231, 253, 276, 300, 325, 351, 378, 406, 435, 465, 496, 528, 561, 595,
    630, 666, 703, 741, 780, 820, 861, 903, 946, 990, 1035, 1081, 1128, 1176, 1225, 1275, 1326,
    1378, 1431, 1485, 1540, 1596, 1653, 1711, 1770, 1830, 1891, 1953, 2016, 2080, 2145, 2211, 2278,
    2346, 2415, 2485, 2556, 2628, 8515, 19110, 42778, 96141, 216153, 486591, 1092981, 2458653,
    5532801, 12442566, 27993903, 62983476, 141717030, 318844378, 717352503, 1614057336,
    3631522476ULL, 8170957530ULL, 18384510628ULL, 41364789378ULL, 93070452520ULL, 209408356380ULL,
    471168559170ULL, 1060128894105ULL, 2385289465695ULL, 5366898840628ULL, 12075518705635ULL,
    27169915244790ULL, 61132312065111ULL, 137547689707000ULL, 309482283181501ULL,
    696335127828753ULL, 1566753995631385ULL, 3525196511162271ULL, 7931691992677701ULL,
    17846306936293605ULL, 40154190677507445ULL, 90346928918121501ULL, 203280589587557251ULL,
    457381325854679626ULL, 1029107982097042876ULL, 2315492959180353330ULL, 5209859154120846435ULL};
// clang-format on

}  // namespace detail

// ---- Hash and equality hooks of keys ----------------------------------------------------------

// Detects changes of a table during a call of the hash or equality hook of a key's type.  Owns
// references to both keys, so that no other object is allocated at their addresses, and to the
// table, so that a Map is copied instead of changed.
class TVM_FFI_HIDDEN_ MapBaseObj::HookWatch {
 public:
  // `index` is the index of the stored key, or kNoIndex if only the lookup key is passed to the
  // hook.  `lookup_key` is the key searched for.
  TVM_FFI_NO_INLINE HookWatch(const MapBaseObj* table, uint64_t index, const Any& lookup_key)
      : table_(detail::ObjectUnsafe::ObjectPtrFromUnowned<MapBaseObj>(
            detail::ObjectUnsafe::GetHeader(table))),
        lookup_key_(lookup_key),
        index_(index),
        data_(table->data_),
        size_(table->size_),
        slots_(table->slots_) {
    if (index != kNoIndex) key_ = table->PairAt(index)->first;
    if (table->IsSmall()) return;
    first_ = Dense()->iter_list_head_;
    last_ = Dense()->iter_list_tail_;
    if (index != kNoIndex) meta_ = Dense()->Meta(index);
  }
  const Any& key() const { return key_; }
  const Any& lookup_key() const { return lookup_key_; }
  // Checks the table and the lookup key after a hook has returned.  Fails: RuntimeError if the hook
  // changed the table or released the lookup key.
  TVM_FFI_NO_INLINE void CheckUnchanged(const char* hook) const {
    if (HasChanged()) detail::ThrowMapChanged(hook);
    // If this is the only reference to the lookup key, the hook has released the caller's
    // reference, which the search borrows.
    if (detail::AnyUnsafe::RawObjectPtrFromAnyAfterCheck(lookup_key_)->use_count() == 1) {
      detail::ThrowKeyDropped(hook);
    }
  }

 private:
  const DenseMapBaseObj* Dense() const { return static_cast<DenseMapBaseObj*>(table_.get()); }
  // Returns true if the table changed since this HookWatch was constructed.  Also returns true if
  // table_ is the last strong reference to the table, because the caller's variable then no longer
  // refers to the table.
  bool HasChanged() const {
    if (table_.use_count() == 1 || table_->data_ != data_ || table_->size_ != size_ ||
        table_->slots_ != slots_) {
      return true;
    }
    if (!table_->IsSmall()) {
      if (Dense()->iter_list_head_ != first_ || Dense()->iter_list_tail_ != last_) return true;
      if (index_ != kNoIndex && Dense()->Meta(index_) != meta_) return true;
    }
    return index_ != kNoIndex && !table_->PairAt(index_)->first.same_as(key_);
  }

  ObjectPtr<MapBaseObj> table_;
  Any lookup_key_;
  Any key_;
  uint64_t index_;
  void* data_;
  uint64_t size_;
  uint64_t slots_;
  uint64_t first_{0};
  uint64_t last_{0};
  uint8_t meta_{0};
};

TVM_FFI_MAP_TABLE_ uint64_t MapBaseObj::CallHashHook(const TVMFFIAny* hook, const Any& key,
                                                     uint64_t index) const {
  HookWatch watch(this, index, key);
  uint64_t hash = AnyHash::CallHook(hook, watch.lookup_key());
  watch.CheckUnchanged("__any_hash__");
  return hash;
}

TVM_FFI_MAP_TABLE_ bool MapBaseObj::CallEqualHook(const TVMFFIAny* hook, uint64_t index,
                                                  const Any& key) const {
  HookWatch watch(this, index, key);
  bool is_equal = AnyEqual::CallHook(hook, watch.key(), watch.lookup_key());
  watch.CheckUnchanged("__any_equal__");
  return is_equal;
}

TVM_FFI_MAP_TABLE_ uint64_t MapBaseObj::HashOf(const Any& key, uint64_t index) const {
  return HashInLine(key, index);
}

// ---- Small layout -----------------------------------------------------------------------------

TVM_FFI_MAP_TABLE_ uint64_t SmallMapBaseObj::Find(const Any& key) const {
  uint64_t index = 0;
  while (index < size_ && !KeyEquals(Pairs()[index].first, index, key)) ++index;
  return index;
}

TVM_FFI_MAP_TABLE_ void SmallMapBaseObj::Erase(uint64_t index) {
  KVType erased(std::move(Pairs()[index]));
  --size_;
  std::memmove(static_cast<void*>(Pairs() + index), Pairs() + index + 1,
               (size_ - index) * sizeof(KVType));
}

TVM_FFI_MAP_TABLE_ bool SmallMapBaseObj::Put(KVType* pair) {
  // Return false if the table has kSmallMaxCapacity pairs, even if the table already contains the
  // key.  The caller then changes the table to the dense layout.
  if (size_ == kSmallMaxCapacity) return false;
  uint64_t index = Find(pair->first);
  if (index < size_) {
    Pairs()[index].second.swap(pair->second);
    return true;
  }
  if (size_ == Capacity()) return false;
  new (Pairs() + size_) KVType(std::move(*pair));
  ++size_;
  return true;
}

TVM_FFI_MAP_TABLE_ void SmallMapBaseObj::Clear() {
  while (size_ > 0) Erase(size_ - 1);
}

// ---- Dense layout: chains ---------------------------------------------------------------------

inline uint64_t DenseMapBaseObj::Step(uint64_t slot, uint8_t meta) const {
  uint8_t jump = meta & static_cast<uint8_t>(~kMemberBit);
  // The metadata bytes kEmpty and kProtected do not contain an index into kMapJumps.  They occur at
  // this point only if the chain is corrupt.
  if (jump == 0 || jump >= std::size(detail::kMapJumps)) return kNoSlot;
  return (slot + detail::kMapJumps[jump]) & (slots_ - 1);
}

TVM_FFI_MAP_TABLE_ uint64_t DenseMapBaseObj::Find(const Any& key) const {
  if (size_ == 0) return kNoSlot;
  uint64_t slot = HomeOf(key);
  if (!IsHead(slot)) return kNoSlot;
  while (slot != kNoSlot && !KeyEquals(At(slot)->pair.first, slot, key)) {
    slot = Step(slot, Meta(slot));
  }
  return slot;
}

// Returns the slot before `slot` in the chain of `hash`.  Returns kNoSlot if that chain does not
// contain `slot`; the hash of the key has then changed since the key was inserted.
TVM_FFI_MAP_TABLE_ uint64_t DenseMapBaseObj::PredecessorOf(uint64_t slot, uint64_t hash) const {
  uint64_t before = HomeOfHash(hash);
  if (!IsHead(before)) return kNoSlot;
  while (before != kNoSlot) {
    uint64_t next = Step(before, Meta(before));
    if (next == slot) break;
    before = next;
  }
  return before;
}

// Appends a free slot to the chain that ends at `last`.  Returns the slot, or kNoSlot if all slots
// at the distances of kMapJumps from `last` are in use.
inline uint64_t DenseMapBaseObj::ExtendChain(uint64_t last) {
  for (uint8_t i = 1; i < std::size(detail::kMapJumps); ++i) {
    uint64_t slot = (last + detail::kMapJumps[i]) & (slots_ - 1);
    if (Meta(slot) == kEmpty) {
      Meta(slot) = kMemberBit;
      SetJump(last, i);
      return slot;
    }
  }
  return kNoSlot;
}

// Moves the entry in `slot` and all later entries of the same chain to free slots.  `before` is the
// slot before `slot` in the chain.  Calls moved(from, old metadata of from, to) for each moved
// entry.  Returns false if an entry finds no free slot; earlier entries have then moved, and the
// chain ends before this entry.
template <typename Moved>
bool DenseMapBaseObj::Evict(uint64_t slot, uint64_t before, const Moved& moved) {
  // `slot` itself becomes kProtected, not kEmpty, so that no later entry of the chain moves into
  // it.
  uint8_t vacated = kProtected;
  for (uint64_t from = slot; from != kNoSlot;) {
    uint8_t meta = Meta(from);
    uint64_t to = ExtendChain(before);
    if (to == kNoSlot) return false;
    std::memcpy(static_cast<void*>(At(to)), At(from), sizeof(Entry));
    moved(from, meta, to);
    Meta(from) = vacated;
    vacated = kEmpty;
    before = to;
    from = Step(from, meta);
  }
  return true;
}

// Same as Evict, but leaves the table unchanged if an entry finds no free slot.
TVM_FFI_MAP_TABLE_ bool DenseMapBaseObj::EvictPair(uint64_t slot) {
  uint64_t before = PredecessorOf(slot, HashOf(At(slot)->pair.first, slot));
  if (before == kNoSlot) return false;
  uint64_t count = 1;
  for (uint64_t at = slot; (at = Step(at, Meta(at))) != kNoSlot;) ++count;
  if (count > 1) return EvictPairs(slot, before, count);
  return Evict(slot, before, [this](uint64_t, uint8_t, uint64_t to) { RelinkNeighbours(to); });
}

TVM_FFI_MAP_TABLE_ bool DenseMapBaseObj::EvictPairs(uint64_t slot, uint64_t before,
                                                    uint64_t count) {
  struct Move {
    uint64_t from;
    uint64_t to;
    uint8_t meta;
  };
  // Log of moved entries, used to undo the moves if a later move fails.  The array is allocated
  // only for more than 16 entries.  A chain is that long only if many keys collide.
  struct Moves {
    explicit Moves(uint64_t count)
        : items(count > std::size(inline_items) ? new Move[count] : inline_items) {}
    ~Moves() {
      if (items != inline_items) delete[] items;
    }
    Move inline_items[16];
    Move* items;
  } moves(count);
  uint64_t done = 0;
  uint8_t meta_before = Meta(before);
  bool is_evicted = Evict(slot, before, [&](uint64_t from, uint8_t meta, uint64_t to) {
    RelinkNeighbours(to);
    moves.items[done++] = {from, to, meta};
  });
  if (is_evicted) return true;
  // Undo the moves in reverse order, because a later entry may have moved to the slot of an earlier
  // one.
  while (done > 0) {
    const Move& move = moves.items[--done];
    std::memcpy(static_cast<void*>(At(move.from)), At(move.to), sizeof(Entry));
    RelinkNeighbours(move.from);
    Meta(move.to) = kEmpty;
    Meta(move.from) = move.meta;
  }
  Meta(before) = meta_before;
  return false;
}

// Returns the slot in which to store a pair with this key, or kNoSlot if the table must grow.  A
// free slot is linked into its chain, but not yet into the list of insertion order.
TVM_FFI_MAP_TABLE_ DenseMapBaseObj::InsertPosition DenseMapBaseObj::FindInsertPosition(
    const Any& key) {
  if (slots_ == 0) return {kNoSlot, false};
  uint64_t home = HomeOf(key);
  if (Meta(home) == kEmpty) {
    Meta(home) = 0;
    ++size_;
    return {home, true};
  }
  if (!IsHead(home)) {
    if (IsFull() || !EvictPair(home)) return {kNoSlot, false};
    Meta(home) = 0;
    ++size_;
    return {home, true};
  }
  uint64_t last = home;
  for (uint64_t slot = home; slot != kNoSlot; slot = Step(slot, Meta(slot))) {
    if (KeyEquals(At(slot)->pair.first, slot, key)) {
      Unlink(slot);
      return {slot, false};
    }
    last = slot;
  }
  uint64_t added = IsFull() ? kNoSlot : ExtendChain(last);
  if (added == kNoSlot) return {kNoSlot, false};
  ++size_;
  return {added, true};
}

TVM_FFI_MAP_TABLE_ bool DenseMapBaseObj::Put(KVType* pair) {
  InsertPosition position = FindInsertPosition(pair->first);
  if (position.slot == kNoSlot) return false;
  Entry* entry = At(position.slot);
  if (position.is_free) {
    new (&entry->pair) KVType(std::move(*pair));
  } else {
    entry->pair.second.swap(pair->second);
  }
  LinkLast(position.slot);
  return true;
}

TVM_FFI_MAP_TABLE_ void DenseMapBaseObj::Erase(uint64_t slot) {
  Entry* entry = At(slot);
  uint64_t last = slot;
  uint64_t before = kNoSlot;
  for (uint64_t next; (next = Step(last, Meta(last))) != kNoSlot; last = next) before = last;
  if (last == slot && !IsHead(slot)) before = PredecessorOf(slot, HashOf(entry->pair.first, slot));

  KVType erased(std::move(entry->pair));
  Unlink(slot);
  if (last != slot) {
    // Move the entry in the last slot of the chain to the erased slot; the last slot becomes free.
    std::memcpy(static_cast<void*>(entry), At(last), sizeof(Entry));
    RelinkNeighbours(slot);
  }
  if (before != kNoSlot) SetJump(before, 0);
  Meta(last) = kEmpty;
  --size_;
}

TVM_FFI_MAP_TABLE_ void DenseMapBaseObj::Clear() {
  for (uint64_t slot; (slot = First()) != kNoSlot;) {
    KVType erased(std::move(At(slot)->pair));
    Unlink(slot);
    Meta(slot) = kEmpty;
    --size_;
  }
}

// ---- Dense layout: order and memory -----------------------------------------------------------

inline void DenseMapBaseObj::LinkLast(uint64_t slot) {
  Entry* entry = At(slot);
  entry->prev = iter_list_tail_;
  entry->next = kNoSlot;
  (entry->prev == kNoSlot ? iter_list_head_ : At(entry->prev)->next) = slot;
  iter_list_tail_ = slot;
}

inline void DenseMapBaseObj::Unlink(uint64_t slot) {
  Entry* entry = At(slot);
  (entry->prev == kNoSlot ? iter_list_head_ : At(entry->prev)->next) = entry->next;
  (entry->next == kNoSlot ? iter_list_tail_ : At(entry->next)->prev) = entry->prev;
}

// Updates the list of insertion order after an entry was copied to slot `to`: links the neighbours
// of the entry to that slot.
inline void DenseMapBaseObj::RelinkNeighbours(uint64_t to) {
  Entry* entry = At(to);
  (entry->prev == kNoSlot ? iter_list_head_ : At(entry->prev)->next) = to;
  (entry->next == kNoSlot ? iter_list_tail_ : At(entry->next)->prev) = to;
}

inline void DenseMapBaseObj::SetNoTable() {
  data_ = nullptr;
  data_deleter_ = nullptr;
  size_ = 0;
  slots_ = 0;
  fib_shift_ = 63;
  iter_list_head_ = kNoSlot;
  iter_list_tail_ = kNoSlot;
}

// Allocates an empty slot array for a table object without a slot array.
TVM_FFI_MAP_TABLE_ void DenseMapBaseObj::Allocate(uint64_t slots, uint32_t fib_shift) {
  uint64_t count = (slots + kBlockSlots - 1) / kBlockSlots;
  Block* blocks = new Block[count];
  for (uint64_t i = 0; i < count; ++i) std::memset(blocks[i].bytes, kEmpty, kBlockSlots);
  data_ = blocks;
  data_deleter_ = DeleteBlocks;
  slots_ = slots;
  fib_shift_ = fib_shift;
}

// ---- Small and dense layout -------------------------------------------------------------------

inline uint64_t MapBaseObj::FirstIndex() const {
  return IsSmall() ? 0 : static_cast<const DenseMapBaseObj*>(this)->First();
}

inline uint64_t MapBaseObj::IndexAfter(uint64_t index) const {
  return IsSmall() ? index + 1 : static_cast<const DenseMapBaseObj*>(this)->At(index)->next;
}

inline uint64_t MapBaseObj::IndexBefore(uint64_t index) const {
  if (IsSmall()) return index - 1;
  const DenseMapBaseObj* dense = static_cast<const DenseMapBaseObj*>(this);
  return index == kNoIndex ? dense->Last() : dense->At(index)->prev;
}

inline MapBaseObj::KVType* MapBaseObj::PairAt(uint64_t index) const {
  if (IsSmall()) return static_cast<KVType*>(data_) + index;
  return &static_cast<const DenseMapBaseObj*>(this)->At(index)->pair;
}

inline uint64_t MapBaseObj::IndexOf(const Any& key) const {
  return IsSmall() ? static_cast<const SmallMapBaseObj*>(this)->Find(key)
                   : static_cast<const DenseMapBaseObj*>(this)->Find(key);
}

inline Any& MapBaseObj::ValueAt(const Any& key) const {
  uint64_t index = IndexOf(key);
  if (TVM_FFI_PREDICT_FALSE(index == EndIndex())) detail::ThrowKeyMissing();
  return PairAt(index)->second;
}

inline void MapBaseObj::EraseIndex(uint64_t index) {
  if (IsSmall()) {
    static_cast<SmallMapBaseObj*>(this)->Erase(index);
  } else {
    static_cast<DenseMapBaseObj*>(this)->Erase(index);
  }
}

inline bool MapBaseObj::TryPut(KVType* pair) {
  return IsSmall() ? static_cast<SmallMapBaseObj*>(this)->Put(pair)
                   : static_cast<DenseMapBaseObj*>(this)->Put(pair);
}

// Erases pairs one by one, because the destructor of a value may use the table and change its
// layout.  keep_alive owns the table in case a destructor releases the caller's reference.
inline void MapBaseObj::clear() {
  ObjectPtr<MapBaseObj> keep_alive =
      detail::ObjectUnsafe::ObjectPtrFromUnowned<MapBaseObj>(detail::ObjectUnsafe::GetHeader(this));
  for (uint64_t count = size_; count > 0 && size_ > 0; --count) EraseIndex(FirstIndex());
}

// Destroys all pairs and frees the memory.  Only destructors call it, so no other code refers to
// the table.
TVM_FFI_MAP_TABLE_ void MapBaseObj::Release() {
  if (IsSmall()) {
    static_cast<SmallMapBaseObj*>(this)->Clear();
  } else {
    static_cast<DenseMapBaseObj*>(this)->Clear();
  }
  if (data_deleter_ != nullptr) data_deleter_(data_);
}

// ---- Creation and growth ----------------------------------------------------------------------

namespace detail {

TVM_FFI_MAP_TABLE_ ObjectPtr<MapBaseObj> MapUnsafe::MakeSmall(int32_t type_index,
                                                              uint64_t capacity) {
  if (capacity < MapBaseObj::kSmallInitialCapacity) capacity = MapBaseObj::kSmallInitialCapacity;
  ObjectPtr<SmallMapBaseObj> map =
      SimpleObjAllocator().make_inplace_array<SmallMapBaseObj, KVType>(capacity);
  ObjectUnsafe::GetHeader(map.get())->type_index = type_index;
  map->data_ = map.get() + 1;
  map->slots_ = capacity | MapBaseObj::kSmallTag;
  return map;
}

TVM_FFI_MAP_TABLE_ ObjectPtr<MapBaseObj> MapUnsafe::MakeDense(int32_t type_index, uint64_t slots,
                                                              uint32_t fib_shift) {
  ObjectPtr<DenseMapBaseObj> map = SimpleObjAllocator().make_object<DenseMapBaseObj>();
  ObjectUnsafe::GetHeader(map.get())->type_index = type_index;
  map->Allocate(slots, fib_shift);
  return map;
}

TVM_FFI_MAP_TABLE_ ObjectPtr<MapBaseObj> MapUnsafe::MakeForCount(int32_t type_index,
                                                                 uint64_t count) {
  if (count < MapBaseObj::kSmallMaxCapacity) return MakeSmall(type_index, count);
  uint64_t slots = 1;
  uint32_t fib_shift = 64;
  for (; slots <= count; slots *= 2) --fib_shift;
  if (slots < 2 * count) {
    slots *= 2;
    --fib_shift;
  }
  return MakeDense(type_index, slots, fib_shift);
}

TVM_FFI_MAP_TABLE_ ObjectPtr<MapBaseObj> MapUnsafe::Copy(const MapBaseObj* from,
                                                         int32_t type_index) {
  const DenseMapBaseObj* source = static_cast<const DenseMapBaseObj*>(from);
  // A dense table whose pairs were moved to another table has no slots.  The copy of such a table
  // is an empty small table.
  if (from->IsSmall() || from->slots_ == 0) {
    ObjectPtr<MapBaseObj> copy = MakeSmall(type_index, from->size_);
    for (const KVType& pair : *from) {
      new (copy->PairAt(copy->size_)) KVType(pair);
      ++copy->size_;
    }
    return copy;
  }
  ObjectPtr<MapBaseObj> copy = MakeDense(type_index, from->slots_, source->fib_shift_);
  DenseMapBaseObj* target = static_cast<DenseMapBaseObj*>(copy.get());
  for (uint64_t slot = 0; slot < from->slots_; ++slot) {
    uint8_t meta = source->Meta(slot);
    if (meta == DenseMapBaseObj::kEmpty) continue;
    DenseMapBaseObj::Entry* entry = source->At(slot);
    new (target->At(slot)) DenseMapBaseObj::Entry(*entry);
    target->Meta(slot) = meta;
  }
  target->size_ = source->size_;
  target->iter_list_head_ = source->iter_list_head_;
  target->iter_list_tail_ = source->iter_list_tail_;
  return copy;
}

// Stores the hash of every pair's key in `relocations`.  Counts the pairs and throws if their
// number has changed, because HookWatch does not detect a hook that changes only the order of the
// pairs.
TVM_FFI_MAP_TABLE_ void MapUnsafe::HashAll(const MapBaseObj* from, Relocation* relocations) {
  uint64_t count = from->size_;
  uint64_t done = 0;
  for (uint64_t index = from->FirstIndex(); index != from->EndIndex();
       index = from->IndexAfter(index)) {
    if (done == count) ThrowMapChanged("__any_hash__");
    relocations[done++].hash = from->HashOf(from->PairAt(index)->first, index);
  }
  if (done != count) ThrowMapChanged("__any_hash__");
}

// Copies the pairs into an empty table, to the same slots as if they were inserted one by one.
// Calls no hooks.  Returns false if the table is too small; it must then be discarded.
//
// The first loop stores in `next` of each entry the index of its pair in `relocations`; the second
// loop replaces it by the link.
TVM_FFI_MAP_TABLE_ bool MapUnsafe::RelocateAll(const MapBaseObj* from, Relocation* relocations,
                                               DenseMapBaseObj* to) {
  for (uint64_t i = 0; i < from->size_; ++i) {
    uint64_t slot = FreeSlotFor(relocations[i].hash, relocations, to);
    if (slot == DenseMapBaseObj::kNoSlot) return false;
    to->At(slot)->next = i;
    relocations[i].slot = slot;
  }
  for (const KVType& pair : *from) {
    CopyBits(&to->At(relocations->slot)->pair, &pair);
    to->LinkLast(relocations->slot);
    ++relocations;
  }
  to->size_ = from->size_;
  return true;
}

// Returns a free slot for a new key with this hash, linked into the chain of the hash.  Returns
// kNoSlot if the table is too small.
inline uint64_t MapUnsafe::FreeSlotFor(uint64_t hash, Relocation* relocations,
                                       DenseMapBaseObj* to) {
  uint64_t slot = to->HomeOfHash(hash);
  if (to->IsHead(slot)) {
    uint64_t last = slot;
    for (uint64_t next; (next = to->Step(last, to->Meta(last))) != DenseMapBaseObj::kNoSlot;) {
      last = next;
    }
    return to->ExtendChain(last);
  }
  if (to->Meta(slot) != DenseMapBaseObj::kEmpty) {
    uint64_t before = to->PredecessorOf(slot, relocations[to->At(slot)->next].hash);
    if (before == DenseMapBaseObj::kNoSlot) return before;
    bool is_evicted = to->Evict(slot, before, [&](uint64_t, uint8_t, uint64_t moved) {
      relocations[to->At(moved)->next].slot = moved;
    });
    if (!is_evicted) return DenseMapBaseObj::kNoSlot;
  }
  to->Meta(slot) = 0;
  return slot;
}

TVM_FFI_MAP_TABLE_ ObjectPtr<MapBaseObj> MapUnsafe::GrowDense(MapBaseObj* from, uint64_t slots,
                                                              uint32_t fib_shift) {
  struct Relocations {
    explicit Relocations(uint64_t count) : items(new Relocation[count]) {}
    ~Relocations() { delete[] items; }
    Relocation* items;
  } relocations(from->size_);
  HashAll(from, relocations.items);
  for (;; slots *= 2, --fib_shift) {
    ObjectPtr<MapBaseObj> grown = MakeDense(from->type_index(), slots, fib_shift);
    if (RelocateAll(from, relocations.items, static_cast<DenseMapBaseObj*>(grown.get()))) {
      return grown;
    }
  }
}

TVM_FFI_MAP_TABLE_ ObjectPtr<MapBaseObj> MapUnsafe::Grow(MapBaseObj* from) {
  if (from->IsSmall()) {
    SmallMapBaseObj* small = static_cast<SmallMapBaseObj*>(from);
    ObjectPtr<MapBaseObj> grown;
    if (small->Capacity() < MapBaseObj::kSmallMaxCapacity) {
      uint64_t capacity = small->Capacity() * 2;
      if (capacity < MapBaseObj::kSmallInitialCapacity) {
        capacity = MapBaseObj::kSmallInitialCapacity;
      }
      if (capacity > MapBaseObj::kSmallMaxCapacity) capacity = MapBaseObj::kSmallMaxCapacity;
      grown = MakeSmall(from->type_index(), capacity);
      std::memcpy(grown->data_, small->data_, small->size_ * sizeof(KVType));
      grown->size_ = small->size_;
    } else {
      grown = GrowDense(from, 8, 61);
    }
    small->size_ = 0;
    return grown;
  }
  DenseMapBaseObj* dense = static_cast<DenseMapBaseObj*>(from);
  if (dense->slots_ == 0) return MakeDense(from->type_index(), 8, 61);
  ObjectPtr<MapBaseObj> grown = GrowDense(from, dense->slots_ * 2, dense->fib_shift_ - 1);
  dense->data_deleter_(dense->data_);
  dense->SetNoTable();
  return grown;
}

TVM_FFI_MAP_TABLE_ void MapUnsafe::Insert(ObjectPtr<Object>* map, KVType&& pair) {
  while (true) {
    MapBaseObj* table = static_cast<MapBaseObj*>(map->get());
    if (table->TryPut(&pair)) return;
    *map = Grow(table);
  }
}

TVM_FFI_MAP_TABLE_ void MapUnsafe::InsertInPlace(MapBaseObj* map, KVType&& pair) {
  while (!map->TryPut(&pair)) MoveTableTo(map, Grow(map));
}

// Deleter for an array of pairs that is part of the memory of a small table, but belongs to another
// object.  Releases the small table.
inline void MapUnsafe::ReleaseInlineOwner(void* data) {
  DecRef(reinterpret_cast<TVMFFIObject*>(static_cast<char*>(data) - sizeof(SmallMapBaseObj)));
}

// Moves the memory and the pairs of `source` into the object `target`.  `target` is empty, because
// its pairs were moved to `source` earlier.
TVM_FFI_MAP_TABLE_ void MapUnsafe::MoveTableTo(MapBaseObj* target, ObjectPtr<MapBaseObj>&& source) {
  if (target->IsSmall() && target->data_deleter_ != nullptr) target->data_deleter_(target->data_);
  target->data_ = source->data_;
  target->size_ = source->size_;
  target->slots_ = source->slots_;
  target->data_deleter_ = source->data_deleter_;
  if (!source->IsSmall()) {
    DenseMapBaseObj* to = static_cast<DenseMapBaseObj*>(target);
    DenseMapBaseObj* from = static_cast<DenseMapBaseObj*>(source.get());
    to->fib_shift_ = from->fib_shift_;
    to->iter_list_head_ = from->iter_list_head_;
    to->iter_list_tail_ = from->iter_list_tail_;
    from->SetNoTable();
    return;
  }
  source->size_ = 0;
  if (source->data_deleter_ != nullptr) {
    source->data_deleter_ = nullptr;
  } else {
    target->data_deleter_ = ReleaseInlineOwner;
    ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(std::move(source));
  }
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#undef TVM_FFI_MAP_TABLE_
#endif  // TVM_FFI_CONTAINER_MAP_TABLE_DETAIL_H_

// SPDX-License-Identifier: Apache-2.0
// Global functions for Map and Dict (ffi.Map*, ffi.Dict*).
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "registration.h"
#include "walk/collision_limit.h"
#include "walk/object_lock.h"

namespace tvm::ffi {
namespace {

template <typename Table>
void MakeTable(PackedArgs args, Any* rv) {
  TVM_FFI_ICHECK_EQ(args.size() % 2, 0);
  auto key_at = [&](size_t i) { return Any(args[static_cast<int>(2 * i)]); };
  // C callers may pass a negative number of arguments.
  const int num_pairs = std::max(args.size() / 2, 0);
  if (extra::HaveTooManyCollisions(static_cast<size_t>(num_pairs), key_at)) {
    TVM_FFI_THROW(ValueError) << extra::kTooManyCollisions;
  }
  Table table;
  for (int i = 0; i < 2 * num_pairs; i += 2) table.Set(Any(args[i]), Any(args[i + 1]));
  *rv = std::move(table);
}

template <typename TableObj>
int64_t Size(const TableObj* table) {
  return static_cast<int64_t>(table->size());
}

template <typename TableObj>
int64_t Count(const TableObj* table, const Any& key) {
  return static_cast<int64_t>(table->count(key));
}

template <typename TableObj>
Any GetItem(const TableObj* table, const Any& key) {
  return table->at(key);
}

// Returns the sentinel object for missing keys.  The object is looked up at the first call only.  A
// static variable with a guard would deadlock, because a user may replace ffi.GetInvalidObject by a
// function that calls this function.
const Any& MissingSentinel() {
  static std::atomic<const Any*> missing{nullptr};
  const Any* known = missing.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto made = std::make_unique<Any>(Function::GetGlobalRequired("ffi.GetInvalidObject")());
  if (!missing.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) return *known;
  return *made.release();
}

template <typename TableObj>
Any GetItemOrMissing(const TableObj* table, const Any& key) {
  auto found = table->find(key);
  return found != table->end() ? found->second : MissingSentinel();
}

// An iterator over a map, as a function.  Called with 0, it returns the key of the current pair;
// with 1, the value; with any other number, it advances and returns true if there is a next pair.
// It copies the current pair and finds the next pair from the key, so that a change of the table
// during iteration raises an error.
class ForwardIterator {
 public:
  explicit ForwardIterator(const MapBaseObj* table)
      : table_(GetObjectPtr<MapBaseObj>(const_cast<MapBaseObj*>(table))) {
    Visit(table->begin());
  }

  Any operator()(int64_t request) {
    extra::ObjectLock lock(table_.get());
    if (request == 0 || request == 1) {
      if (is_at_end_) {
        TVM_FFI_THROW(IndexError) << "the map iterator is at the end and has no current pair";
      }
      return request == 0 ? pair_.first : pair_.second;
    }
    if (!is_at_end_) Advance();
    return !is_at_end_;
  }

 private:
  void Advance() {
    Any key = pair_.first;  // copy the key, because its hash hook may advance this iterator
    auto position = table_->find(key);
    if (position == table_->end()) {
      TVM_FFI_THROW(RuntimeError)
          << "the map changed during iteration: its current key was removed";
    }
    Visit(++position);
  }
  void Visit(const MapBaseObj::iterator& position) {
    is_at_end_ = position == table_->end();
    pair_ = is_at_end_ ? MapBaseObj::KVType() : *position;
  }

  ObjectPtr<MapBaseObj> table_;
  MapBaseObj::KVType pair_;
  bool is_at_end_ = false;
};

template <typename TableObj>
Function NewForwardIterator(const TableObj* table) {
  return Function::FromPacked([walk = ForwardIterator(table)](PackedArgs args, Any* rv) mutable {
    *rv = walk(args.size() > 0 ? args[0].cast<int64_t>() : 2);
  });
}

}  // namespace

void extra::RegisterMapFunctions() {
  using AnyDict = Dict<Any, Any>;
  reflection::GlobalDef()
      .def_packed("ffi.Map", &MakeTable<Map<Any, Any>>)
      .def("ffi.MapSize", &Size<MapObj>)
      .def("ffi.MapCount", &Count<MapObj>)
      .def("ffi.MapGetItem", &GetItem<MapObj>)
      .def("ffi.MapGetItemOrMissing", &GetItemOrMissing<MapObj>)
      .def("ffi.MapForwardIterFunctor", &NewForwardIterator<MapObj>)
      .def_packed("ffi.Dict", &MakeTable<AnyDict>)
      .def("ffi.DictSize", &Size<DictObj>)
      .def("ffi.DictCount", &Count<DictObj>)
      .def("ffi.DictGetItem", &GetItem<DictObj>)
      .def("ffi.DictGetItemOrMissing", &GetItemOrMissing<DictObj>)
      .def("ffi.DictForwardIterFunctor", &NewForwardIterator<DictObj>)
      .def("ffi.DictSetItem",
           [](AnyDict dict, const Any& key, const Any& value) { dict.Set(key, value); })
      .def("ffi.DictErase", [](AnyDict dict, const Any& key) { dict.erase(key); })
      .def("ffi.DictClear", [](AnyDict dict) { dict.clear(); });
}

}  // namespace tvm::ffi

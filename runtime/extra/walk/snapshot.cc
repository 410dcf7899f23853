// SPDX-License-Identifier: Apache-2.0
// Snapshots: shallow copies of Lists, Maps and Dicts.
#include "walk/snapshot.h"

#include <tvm/ffi/container/list.h>

#include "walk/value_access.h"

namespace tvm::ffi::extra {

Any CopyList(const Any& list) {
  const SeqBaseObj* from = SequenceOf(list);
  ObjectPtr<ListObj> copy = make_object<ListObj>();
  ObjectLock lock(from);
  copy->Reserve(static_cast<int64_t>(from->size()));
  copy->InitRange(0, from->begin(), from->end());
  return List<Any>(ObjectPtr<Object>(std::move(copy)));
}

Any CopyTable(const Any& table) {
  const MapBaseObj* from = TableOf(table);
  ObjectLock lock(from);
  ObjectPtr<MapBaseObj> copy = detail::MapUnsafe::Copy(from, table.type_index());
  return ObjectRef(ObjectPtr<Object>(std::move(copy)));
}

}  // namespace tvm::ffi::extra

// SPDX-License-Identifier: Apache-2.0
// Device search: the first non-CPU device of the tensors in a nested container.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <vector>

#include "registration.h"
#include "walk/object_lock.h"
#include "walk/object_table.h"

namespace tvm::ffi {
namespace {

// Depth-first search with an explicit stack and a set of visited objects, because nesting may be
// deep and a List may contain itself.
class DeviceSearch {
 public:
  DLDevice Find(const Any& root) {
    pending_.push_back(root);
    while (!pending_.empty()) {
      Any value = std::move(pending_.back());
      pending_.pop_back();
      if (const auto* tensor = value.as<TensorObj>()) {
        if (tensor->device.device_type != kDLCPU) return tensor->device;
      } else {
        PushElements(value);
      }
    }
    return DLDevice{kDLCPU, 0};
  }

 private:
  void PushElements(const Any& value) {
    const auto* object = value.as<Object>();
    if (object == nullptr || !seen_.Insert(object)) return;
    size_t first = pending_.size();
    if (const auto* array = value.as<ArrayObj>()) {
      pending_.insert(pending_.end(), array->begin(), array->end());
    } else if (const auto* list = value.as<ListObj>()) {
      extra::ObjectLock lock(list);
      pending_.insert(pending_.end(), list->begin(), list->end());
    } else if (const auto* map = value.as<MapObj>()) {
      PushValues(map);
    } else if (const auto* dict = value.as<DictObj>()) {
      PushValues(dict);
    }
    std::reverse(pending_.begin() + static_cast<int64_t>(first), pending_.end());
  }
  void PushValues(const MapBaseObj* table) {
    extra::ObjectLock lock(table);
    for (const auto& pair : *table) pending_.push_back(pair.second);
  }

  std::vector<Any> pending_;
  extra::ObjectSet seen_;
};

}  // namespace

void extra::RegisterContainerDevice() {
  reflection::GlobalDef().def("ffi.ContainerFindFirstNonCPUDevice",
                              [](const Any& value) { return DeviceSearch().Find(value); });
}

}  // namespace tvm::ffi

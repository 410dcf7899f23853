// SPDX-License-Identifier: Apache-2.0
// Current streams: one per thread and device.
#include <tvm/ffi/extra/c_env_api.h>

#include <array>
#include <vector>

#include "error.h"
#include "extra_layer.h"
#include "thread_state.h"

namespace tvm::ffi::runtime {
namespace {

constexpr int32_t kMaxDeviceType = 64;  // larger than all DLPack device types, which are below 20
constexpr int32_t kMaxDeviceId = 4096;

class StreamTable {
 public:
  TVMFFIStreamHandle Get(int32_t device_type, int32_t device_id) const {
    if (device_type < 0 || device_type >= kMaxDeviceType || device_id < 0) return nullptr;
    const auto& streams = streams_[static_cast<size_t>(device_type)];
    auto id = static_cast<size_t>(device_id);
    return id < streams.size() ? streams[id] : nullptr;
  }

  TVMFFIStreamHandle Exchange(int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream) {
    if (device_type < 0 || device_type >= kMaxDeviceType) {
      Raise("ValueError", "device type must be in 0..", kMaxDeviceType - 1, ", got ", device_type);
    }
    if (device_id < 0 || device_id >= kMaxDeviceId) {
      Raise("ValueError", "device id must be in 0..", kMaxDeviceId - 1, ", got ", device_id);
    }
    auto& streams = streams_[static_cast<size_t>(device_type)];
    auto id = static_cast<size_t>(device_id);
    if (id >= streams.size()) streams.resize(id + 1, nullptr);
    return std::exchange(streams[id], stream);
  }

 private:
  std::array<std::vector<TVMFFIStreamHandle>, kMaxDeviceType> streams_;
};

thread_local uint64_t num_stream_changes = 0;

}  // namespace

uint64_t NumStreamChanges() { return num_stream_changes; }

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream,
                       TVMFFIStreamHandle* opt_out_original_stream) {
  return GuardBoundary([&] {
    auto& table = ThreadState<StreamTable>::Get();
    TVMFFIStreamHandle original = table.Exchange(device_type, device_id, stream);
    num_stream_changes += original == stream ? 0 : 1;
    if (opt_out_original_stream != nullptr) *opt_out_original_stream = original;
  });
}

TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  const auto* table = ThreadState<StreamTable>::Find();
  return table == nullptr ? nullptr : table->Get(device_type, device_id);
}

// SPDX-License-Identifier: Apache-2.0
// DLDevice: conversion, comparison and names such as `cuda:1`.
#ifndef TVM_FFI_DEVICE_H_
#define TVM_FFI_DEVICE_H_

#include <tvm/ffi/any.h>

namespace tvm {
namespace ffi {
namespace detail {

// Name of a device type in a device string `name:index`.  If kDeviceNames has several names for a
// type, the first one is printed.
struct DeviceName {
  std::string_view text;
  DLDeviceType type;
};
inline constexpr DeviceName kDeviceNames[] = {
    {"cpu", kDLCPU},        {"cuda", kDLCUDA},       {"opencl", kDLOpenCL}, {"vulkan", kDLVulkan},
    {"metal", kDLMetal},    {"mps", kDLMetal},       {"vpi", kDLVPI},       {"rocm", kDLROCM},
    {"ext_dev", kDLExtDev}, {"hexagon", kDLHexagon}, {"webgpu", kDLWebGPU}, {"wgpu", kDLWebGPU},
    {"maia", kDLMAIA},      {"trn", kDLTrn}};

// Parses `name[:index]` into *out and returns true on success.  Characters after a space are
// ignored.
inline bool ParseDevice(std::string_view text, DLDevice* out) {
  text = text.substr(0, text.find(' '));
  size_t colon = text.find(':');
  int32_t index = 0;
  if (colon != std::string_view::npos) {
    std::string_view digits = text.substr(colon + 1);
    if (digits.empty() || digits.size() > 9) return false;
    for (char c : digits) {
      if (c < '0' || c > '9') return false;
      index = index * 10 + (c - '0');
    }
  }
  for (const DeviceName& name : kDeviceNames) {
    if (name.text != text.substr(0, colon)) continue;
    *out = DLDevice{name.type, index};
    return true;
  }
  return false;
}

// Writes a device, such as `cuda:1`, to an error message.  For a device type without a name, writes
// its number, as in `99:0`.
inline MessageStream& operator<<(MessageStream& out, const DLDevice& device) {
  for (const DeviceName& name : kDeviceNames) {
    if (name.type == device.device_type) return out << name.text << ":" << device.device_id;
  }
  return out << static_cast<int>(device.device_type) << ":" << device.device_id;
}

template <typename T>
struct DeviceTraits : PlainValueTraits<DeviceTraits<T>, T> {
  using Base = PlainValueTraits<DeviceTraits<T>, T>;
  static constexpr int32_t field_static_type_index = kTVMFFIDevice;
  static void CopyToAnyView(const T& src, TVMFFIAny* result) {
    SetIntPayload(result, kTVMFFIDevice, 0);
    result->v_device = src;
  }
  static T CopyFromAnyViewAfterCheck(const TVMFFIAny* src) { return src->v_device; }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    if (Base::CheckAnyStrict(src)) return src->v_device;
    // The type `Text` depends on T, so that only files that convert a device instantiate the string
    // traits.
    using Text = std::enable_if_t<(sizeof(T) > 0), std::string>;
    std::optional<Text> text = TypeTraits<Text>::TryCastFromAnyView(src);
    if (!text.has_value()) return std::nullopt;
    T device;
    if (!ParseDevice(*text, &device)) return std::nullopt;
    return device;
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIDevice; }
};
}  // namespace detail
template <>
struct TypeTraits<DLDevice> : detail::DeviceTraits<DLDevice> {};

}  // namespace ffi
}  // namespace tvm

// Compare device type and device id.  The operators are templates, so that overload resolution
// prefers operators that user code defines.
template <typename = void>
bool operator==(const DLDevice& lhs, const DLDevice& rhs) {
  return lhs.device_type == rhs.device_type && lhs.device_id == rhs.device_id;
}
template <typename = void>
bool operator!=(const DLDevice& lhs, const DLDevice& rhs) {
  return !(lhs == rhs);
}
// Writes a device in the same form as detail::MessageStream.
template <typename Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const DLDevice& device) {
  for (const auto& name : ::tvm::ffi::detail::kDeviceNames) {
    if (name.type == device.device_type) return out << name.text << ":" << device.device_id;
  }
  return out << static_cast<int>(device.device_type) << ":" << device.device_id;
}

#endif  // TVM_FFI_DEVICE_H_

// SPDX-License-Identifier: Apache-2.0
// DLDevice as a value and as text: `cuda:1`.
#ifndef TVM_FFI_DEVICE_H_
#define TVM_FFI_DEVICE_H_

#include <tvm/ffi/any.h>

namespace tvm {
namespace ffi {
namespace detail {

// Parses `name[:index]`; what follows a space is not looked at.
TVM_FFI_FAILURE_ inline std::optional<DLDevice> ParseDevice(std::string_view text) {
  struct Name {
    std::string_view text;
    DLDeviceType type;
  };
  constexpr Name kNames[] = {
      {"cpu", kDLCPU},        {"cuda", kDLCUDA},     {"opencl", kDLOpenCL}, {"vulkan", kDLVulkan},
      {"metal", kDLMetal},    {"mps", kDLMetal},     {"vpi", kDLVPI},       {"rocm", kDLROCM},
      {"ext_dev", kDLExtDev}, {"hexagon", kDLHexagon}, {"wgpu", kDLWebGPU}, {"webgpu", kDLWebGPU},
      {"maia", kDLMAIA},      {"trn", kDLTrn}};
  text = text.substr(0, text.find(' '));
  size_t colon = text.find(':');
  int32_t index = 0;
  if (colon != std::string_view::npos) {
    std::string_view digits = text.substr(colon + 1);
    if (digits.empty() || digits.size() > 9) return std::nullopt;
    for (char c : digits) {
      if (c < '0' || c > '9') return std::nullopt;
      index = index * 10 + (c - '0');
    }
  }
  for (const Name& name : kNames) {
    if (name.text == text.substr(0, colon)) return DLDevice{name.type, index};
  }
  return std::nullopt;
}

}  // namespace detail

template <>
struct TypeTraits<DLDevice> : detail::PlainValueTraits<TypeTraits<DLDevice>, DLDevice> {
  static constexpr int32_t field_static_type_index = kTVMFFIDevice;
  static void CopyToAnyView(const DLDevice& src, TVMFFIAny* result) {
    detail::SetIntPayload(result, kTVMFFIDevice, 0);
    result->v_device = src;
  }
  static DLDevice CopyFromAnyViewAfterCheck(const TVMFFIAny* src) { return src->v_device; }
  static std::optional<DLDevice> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return src->v_device;
    std::optional<std::string> text = TypeTraits<std::string>::TryCastFromAnyView(src);
    if (!text.has_value()) return std::nullopt;
    return detail::ParseDevice(*text);
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIDevice; }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_DEVICE_H_

// SPDX-License-Identifier: Apache-2.0
// CUDA modules on the stand-in driver: functions that create them and read the recorded driver
// calls.
#ifndef TVM_FFI_TESTS_CPP_CUDA_MODULE_SETTING_H_
#define TVM_FFI_TESTS_CPP_CUDA_MODULE_SETTING_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/module.h>

#include <string>
#include <vector>

#include "fake_driver/fake_driver.h"

namespace setting {

using namespace tvm::ffi;  // NOLINT(*)

inline const char* const kPtx = R"(.version 7.0
.target sm_50
.visible .entry scale(
  .param .u64 x
)
{ ret; }
.visible .entry all_types (.param .u64 p) { ret; }
)";

using Texts = std::vector<const char*>;
using Fixed = std::vector<std::pair<const char*, int64_t>>;

inline Array<String> TextArray(const Texts& texts) {
  Array<String> array;
  for (const char* text : texts) array.push_back(text);
  return array;
}

inline Array<Any> Kernel(const char* name, const Texts& parameters, const Texts& launch = {},
                         const Fixed& fixed = {}, const char* symbol = nullptr) {
  Map<String, int64_t> map;
  for (const auto& [word, value] : fixed) map.Set(word, value);
  return {String(name), String(symbol == nullptr ? name : symbol), TextArray(parameters),
          TextArray(launch), map};
}

inline Module Create(const std::vector<Array<Any>>& kernels, std::string_view image = kPtx,
                     const char* format = "") {
  Array<Array<Any>> array(kernels.begin(), kernels.end());
  Function create = Function::GetGlobalRequired("pytvmffi.CUDAModuleCreate");
  return create(Bytes(image.data(), image.size()), format, array).cast<Module>();
}

inline Function Get(const Module& module, const char* name) {
  return module->GetFunction(name).value();
}

// The recorded driver calls since the last TakeLines, without the first cuInit.
inline std::vector<std::string> TakeCalls() {
  std::string text(fake_driver_take_calls(nullptr, 0) + 1, '\0');
  fake_driver_take_calls(text.data(), text.size());
  std::vector<std::string> lines;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    std::string line = text.substr(begin, end - begin);
    if (line != "cuInit(0)") lines.push_back(line);
  }
  return lines;
}

inline std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The recorded lines that begin with one of these function names.
inline std::vector<std::string> Only(const char* start) {
  std::vector<std::string> lines;
  for (const std::string& line : TakeCalls()) {
    if (line.rfind(start, 0) == 0) lines.push_back(line);
  }
  return lines;
}

// Host memory that is declared as device memory.
struct Vector {
  float elements[4] = {};
  int64_t shape[1] = {4}, strides[1] = {1};
  DLTensor tensor{elements, {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};

  explicit Vector(int device_id = 0, DLDeviceType type = kDLCUDA) {
    tensor.device = {type, device_id};
  }
  DLTensor* get() { return &tensor; }
};

}  // namespace setting

#endif  // TVM_FFI_TESTS_CPP_CUDA_MODULE_SETTING_H_

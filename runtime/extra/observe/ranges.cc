// SPDX-License-Identifier: Apache-2.0
// Ranges: each call is a range of NVTX, if its library is found, and of a profiler of the host
// language, such as torch.profiler.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../platform/platform.h"
#include "observe/argument_text.h"
#include "observe/observer.h"
#include "registration.h"

namespace tvm::ffi::extra {
namespace {

// The functions of NVTX; null without its library.
struct Nvtx {
  Nvtx() {
    platform::LoadFailure failure;
    void* library = platform::OpenLibrary(platform::kNvtx, platform::Binding::kNow, &failure);
    if (library == nullptr) return;
    pop = reinterpret_cast<int (*)()>(platform::FindSymbol(library, "nvtxRangePop"));
    if (pop == nullptr) return;
    push = reinterpret_cast<int (*)(const char*)>(platform::FindSymbol(library, "nvtxRangePushA"));
  }
  int (*push)(const char* message) = nullptr;
  int (*pop)() = nullptr;
};

class Ranges {
 public:
  Ranges(const Optional<Function>& begin, const Optional<Function>& end)
      : begin_(begin), end_(end) {}

  // The token is the range of the host language; null without one.
  void* Begin(const TVMFFIObservedCall& call) {
    if (nvtx_.push != nullptr) nvtx_.push(MessageOf(call).c_str());
    if (!begin_.has_value()) return nullptr;
    std::vector<AnyView> values = {AnyView(call.name.data)};
    for (int32_t i = 0; i < call.num_args; ++i) values.push_back(ValueOf(call.args[i]));
    Any range;
    begin_.value().CallPacked(values.data(), static_cast<int32_t>(values.size()), &range);
    return range == nullptr ? nullptr : new Any(std::move(range));
  }
  void End(const TVMFFIObservedCall&, void* token) {
    if (nvtx_.push != nullptr) nvtx_.pop();
    if (token == nullptr) return;
    std::unique_ptr<Any> range(static_cast<Any*>(token));
    end_.value()(*range);
  }
  // Returns the names of the profilers.
  Array<String> Read() const {
    Array<String> names;
    if (begin_.has_value()) names.push_back("torch");
    if (nvtx_.push != nullptr) names.push_back("nvtx");
    return names;
  }

 private:
  static std::string MessageOf(const TVMFFIObservedCall& call) {
    std::string message(call.name.data, call.name.size);
    message.push_back('(');
    AppendArguments(call, &message);
    message.push_back(')');
    return message;
  }
  // Other objects are not passed: a moved argument would be taken from the function.
  static AnyView ValueOf(const TVMFFIAny& arg) {
    bool is_tensor = TensorOf(arg) != nullptr;
    bool is_string = arg.type_index == kTVMFFIStr || arg.type_index == kTVMFFISmallStr ||
                     arg.type_index == kTVMFFIRawStr;
    if (is_tensor || is_string || arg.type_index <= kTVMFFIFloat) {
      return AnyView::CopyFromTVMFFIAny(arg);
    }
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(arg.type_index);
    return info == nullptr ? AnyView("?") : AnyView(info->type_key.data);
  }

  const Nvtx nvtx_;
  const Optional<Function> begin_;
  const Optional<Function> end_;
};

// Adds an observer that opens a range for each call, as AddObserver does; its function returns the
// names of the profilers.
//
// `begin` gets the name and the arguments of a call, and returns the range or None; `end` gets the
// range.  Objects other than tensors and strings are passed as their type keys.
Array<Any> AddRanges(const Array<String>& names, const Optional<Function>& begin,
                     const Optional<Function>& end) {
  return AddObserver(std::make_shared<Ranges>(begin, end), names);
}

void StartRangesOfEnvironment() {
  const char* names = std::getenv("TVM_FFI_RANGES");
  if (names == nullptr || *names == '\0') return;
  try {
    AddRanges(SplitNames(names), {}, {});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tvm_ffi: TVM_FFI_RANGES: calls are not observed: %s\n", error.what());
  }
}

}  // namespace

void RegisterRanges() {
  reflection::GlobalDef().def("pytvmffi.ObserverAddRanges", &AddRanges);
  StartRangesOfEnvironment();
}

}  // namespace tvm::ffi::extra

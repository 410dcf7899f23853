// SPDX-License-Identifier: Apache-2.0
#include "module/library/function_names.h"

#include <tvm/ffi/extra/module.h>

#include <algorithm>
#include <string_view>

namespace tvm::ffi::extra {
namespace {

bool BeginsWith(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}

bool IsFunction(const std::string& name) {
  return BeginsWith(name, symbol::tvm_ffi_symbol_prefix) &&
         !BeginsWith(name, symbol::tvm_ffi_metadata_prefix) &&
         !BeginsWith(name, symbol::tvm_ffi_doc_prefix) && name != symbol::tvm_ffi_library_ctx &&
         name != symbol::tvm_ffi_library_bin;
}

}  // namespace

std::vector<std::string> FunctionNamesAmong(const std::vector<std::string>& symbols,
                                            const std::string& prefix) {
  std::string beginning = symbol::tvm_ffi_symbol_prefix + prefix;
  std::vector<std::string> names;
  for (const std::string& full : symbols) {
    bool is_own = BeginsWith(full, beginning) && full.size() > beginning.size();
    if (is_own && IsFunction(full)) names.push_back(full.substr(beginning.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tvm::ffi::extra

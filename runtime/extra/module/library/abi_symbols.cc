// SPDX-License-Identifier: Apache-2.0
#include "module/library/abi_symbols.h"

#include <cstddef>

namespace tvm::ffi::extra {

bool IsAbiSymbol(std::string_view name) {
  constexpr std::string_view kC = "TVMFFI", kMangled = "_Z", kNamespace = "3tvm3ffi";
  if (name.substr(0, kC.size()) == kC) return true;
  if (name.substr(0, kMangled.size()) != kMangled) return false;
  // Prefixes that a mangled name may have before its namespace: _ZN, _ZNK, _ZTVN, _ZGVZN.
  size_t begin = name.find_first_not_of("GIKNSTVZ", kMangled.size());
  return begin != std::string_view::npos && name[begin - 1] != 'T' &&
         name.substr(begin, kNamespace.size()) == kNamespace;
}

}  // namespace tvm::ffi::extra

# SPDX-License-Identifier: Apache-2.0
# TVM_FFI_VERSION: the level of the C ABI, read from the macros in c_api.h.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../include/tvm/ffi/c_api.h version_lines
  REGEX "^#define TVM_FFI_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
list(TRANSFORM version_lines REPLACE "[^0-9]+([0-9]+).*" "\\1")
string(REPLACE ";" "." TVM_FFI_VERSION "${version_lines}")

# SPDX-License-Identifier: Apache-2.0
# WebAssembly with WASI, by Zig.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(TVM_FFI_ZIG_TARGET wasm32-wasi)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)

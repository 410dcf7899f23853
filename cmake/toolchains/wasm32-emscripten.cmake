# SPDX-License-Identifier: Apache-2.0
# WebAssembly with Emscripten, whose libraries have exceptions of WebAssembly; node runs the programs.
execute_process(COMMAND em-config EMSCRIPTEN_ROOT
  OUTPUT_VARIABLE EMSCRIPTEN_ROOT_PATH OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(EMSCRIPTEN_SYSTEM_PROCESSOR wasm32)
include(${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake)
set(CMAKE_C_FLAGS_INIT -fwasm-exceptions)
set(CMAKE_CXX_FLAGS_INIT -fwasm-exceptions)
# Programs end when main returns, read and write files of the machine, and have the stack of Linux.
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-sEXIT_RUNTIME=1 -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sTOTAL_STACK=8MB")
# Programs of Emscripten 3.1.6 fetch their own file, by a URL that is none, if node has `fetch`.
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-experimental-fetch)

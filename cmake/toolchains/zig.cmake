# SPDX-License-Identifier: Apache-2.0
# Compilers of Zig for TVM_FFI_ZIG_TARGET.  The variable ZIG of the environment names the program
# `zig`; `python -m ziglang` of PyPI's package `ziglang` has it in its folder.
set(CMAKE_C_COMPILER $ENV{ZIG} cc -target ${TVM_FFI_ZIG_TARGET})
set(CMAKE_CXX_COMPILER $ENV{ZIG} c++ -target ${TVM_FFI_ZIG_TARGET})
# CMake passes no arguments before the operation of `ar`.
foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "$ENV{ZIG} ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "$ENV{ZIG} ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "$ENV{ZIG} ranlib <TARGET>")
endforeach()

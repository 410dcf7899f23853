# SPDX-License-Identifier: Apache-2.0
# tvm_ffi::minimal and tvm_ffi::static of wheels, which contain the sources in place of the archive.
# The build compiles the archive if a target links it: up to two minutes of processor time.
include(ExternalProject)

if(NOT TARGET tvm_ffi_archive)
  get_filename_component(tvm_ffi_sources ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
  set(tvm_ffi_build ${CMAKE_BINARY_DIR}/tvm_ffi_archive)
  set(tvm_ffi_options)
  foreach(variable CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_CXX_FLAGS CMAKE_MAKE_PROGRAM
      CMAKE_OSX_ARCHITECTURES CMAKE_SYSROOT CMAKE_TOOLCHAIN_FILE)
    if(${variable})
      list(APPEND tvm_ffi_options "-D${variable}=${${variable}}")
    endif()
  endforeach()
  ExternalProject_Add(tvm_ffi_archive EXCLUDE_FROM_ALL ON
    SOURCE_DIR ${tvm_ffi_sources} BINARY_DIR ${tvm_ffi_build} PREFIX ${tvm_ffi_build}/external
    CMAKE_ARGS -DCMAKE_BUILD_TYPE=Release ${tvm_ffi_options}
    BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target tvm_ffi_minimal --parallel
    BUILD_BYPRODUCTS ${tvm_ffi_build}/lib/libtvm_ffi_static.a
    INSTALL_COMMAND "")

  add_library(tvm_ffi::minimal STATIC IMPORTED GLOBAL)
  set_target_properties(tvm_ffi::minimal PROPERTIES
    IMPORTED_LOCATION ${tvm_ffi_build}/lib/libtvm_ffi_static.a
    IMPORTED_LINK_INTERFACE_LANGUAGES CXX)
  target_link_libraries(tvm_ffi::minimal INTERFACE
    tvm_ffi::header Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(tvm_ffi::minimal tvm_ffi_archive)

  add_library(tvm_ffi::static INTERFACE IMPORTED GLOBAL)
  target_link_libraries(tvm_ffi::static INTERFACE tvm_ffi::minimal)
  target_link_options(tvm_ffi::static INTERFACE LINKER:-u,tvm_ffi_dynamic_loading)
endif()

# SPDX-License-Identifier: Apache-2.0
# Tests of the CUDA headers over a stand-in CUDA library: no test needs a device or a toolkit.

add_library(fake_cuda STATIC fake_cuda/fake_cuda.cc)
target_include_directories(fake_cuda INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/fake_cuda)
set_target_properties(fake_cuda PROPERTIES
  CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
tvm_ffi_set_warnings(fake_cuda)

# tvm_ffi_add_cuda_test(NAME INCLUDE DRIVER_DEFINITIONS): cuda_test.cc for both APIs in one program.
function(tvm_ffi_add_cuda_test name include driver_definitions)
  tvm_ffi_add_cpp_tests(${name} tvm_ffi::shared cuda_test.cc fake_cuda/images.cc)
  # One test makes a result that the enumeration does not have.
  target_compile_options(${name} PRIVATE -Wno-conversion)
  add_library(${name}_driver OBJECT cuda_test.cc)
  foreach(target ${name} ${name}_driver)
    target_include_directories(${target} SYSTEM PRIVATE ${include})
  endforeach()
  foreach(property COMPILE_OPTIONS CXX_STANDARD CXX_STANDARD_REQUIRED CXX_EXTENSIONS)
    get_target_property(value ${name} ${property})
    set_target_properties(${name}_driver PROPERTIES ${property} "${value}")
  endforeach()
  target_link_libraries(${name}_driver PRIVATE doctest_main tvm_ffi::shared)
  target_compile_definitions(${name}_driver PRIVATE ${driver_definitions})
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:${name}_driver>)
  target_link_libraries(${name} PRIVATE fake_cuda)
endfunction()

set(FAKE_CUDA_HEADERS ${CMAKE_CURRENT_SOURCE_DIR}/fake_cuda)
tvm_ffi_add_cuda_test(cpp_cuda ${FAKE_CUDA_HEADERS} TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=1)
# With an older toolkit the headers choose the driver API by themselves.
tvm_ffi_add_cuda_test(cpp_cuda_older ${FAKE_CUDA_HEADERS} CUDART_VERSION=12070)

# The real headers prove that the stand-in has their names, numbers and layouts.
find_path(TVM_FFI_CUDA_HEADERS cuda_runtime.h PATHS ENV CUDA_HOME /usr/local/cuda
  PATH_SUFFIXES include)
if(TVM_FFI_CUDA_HEADERS)
  file(STRINGS ${TVM_FFI_CUDA_HEADERS}/cuda_runtime_api.h line REGEX "define +CUDART_VERSION +")
  string(REGEX MATCH "[0-9]+" TVM_FFI_CUDA_VERSION "${line}")
  if(TVM_FFI_CUDA_VERSION GREATER_EQUAL 12080)
    tvm_ffi_add_cuda_test(cpp_cuda_toolkit ${TVM_FFI_CUDA_HEADERS}
      TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=1)
  endif()
endif()

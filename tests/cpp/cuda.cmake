# SPDX-License-Identifier: Apache-2.0
# Tests of the CUDA headers over a stand-in CUDA library: no test needs a device or a toolkit.

add_library(fake_cuda STATIC fake_cuda/fake_cuda.cc)
target_include_directories(fake_cuda INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/fake_cuda)
set_target_properties(fake_cuda PROPERTIES
  CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
tvm_ffi_set_warnings(fake_cuda)

# tvm_ffi_add_cuda_test(NAME STANDARD INCLUDE DRIVER_DEFINITIONS): cuda_test.cc for both APIs in one
# program.
function(tvm_ffi_add_cuda_test name standard include driver_definitions)
  set(objects)
  foreach(api driver runtime)
    add_library(${name}_${api} OBJECT cuda_test.cc)
    tvm_ffi_set_up_cpp_test(${name}_${api} ${standard})
    target_include_directories(${name}_${api} SYSTEM PRIVATE ${include})
    list(APPEND objects $<TARGET_OBJECTS:${name}_${api}>)
  endforeach()
  target_compile_definitions(${name}_driver PRIVATE ${driver_definitions})
  add_executable(${name} fake_cuda/images.cc ${objects})
  tvm_ffi_set_up_cpp_test(${name} ${standard})
  target_link_libraries(${name} PRIVATE fake_cuda)
  tvm_ffi_run_cpp_test(${name})
endfunction()

set(FAKE_CUDA_HEADERS ${CMAKE_CURRENT_SOURCE_DIR}/fake_cuda)
# With an older toolkit the headers choose the driver API by themselves.
tvm_ffi_add_cuda_test(cpp_cuda_test_17 17 ${FAKE_CUDA_HEADERS} CUDART_VERSION=12070)
tvm_ffi_add_cuda_test(cpp_cuda_test_20 20 ${FAKE_CUDA_HEADERS}
  TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=1)

# The real headers prove that the stand-in has their names, numbers and layouts.
find_path(TVM_FFI_CUDA_HEADERS cuda_runtime.h PATHS ENV CUDA_HOME /usr/local/cuda
  PATH_SUFFIXES include)
if(TVM_FFI_CUDA_HEADERS)
  file(STRINGS ${TVM_FFI_CUDA_HEADERS}/cuda_runtime_api.h line REGEX "define +CUDART_VERSION +")
  string(REGEX MATCH "[0-9]+" TVM_FFI_CUDA_VERSION "${line}")
  if(TVM_FFI_CUDA_VERSION GREATER_EQUAL 12080)
    tvm_ffi_add_cuda_test(cpp_cuda_toolkit_test_17 17 ${TVM_FFI_CUDA_HEADERS}
      TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=1)
  endif()
endif()

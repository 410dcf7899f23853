# SPDX-License-Identifier: Apache-2.0
# Tests of CUDA modules with a stand-in driver that has the real driver's SONAME: the program links
# with it, so the runtime finds it when it loads libcuda.so.1.
add_library(fake_driver ${TVM_FFI_SHARED} fake_driver/fake_driver.c)
set_target_properties(fake_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake_driver)
target_link_libraries(fake_driver PRIVATE Threads::Threads)
tvm_ffi_set_warnings(fake_driver)
target_compile_options(fake_driver PRIVATE -Wno-pedantic)

tvm_ffi_add_cpp_tests(cpp_cuda_module tvm_ffi::shared
  cuda_module_test.cc cuda_module_form_test.cc cuda_current_device_test.cc cuda_lock_order_test.cc)
target_link_libraries(cpp_cuda_module PRIVATE -Wl,--no-as-needed fake_driver)
# Built in tests/runtime.
add_dependencies(cpp_cuda_module loading_library)
target_compile_definitions(cpp_cuda_module PRIVATE
  LOADING_LIBRARY="$<TARGET_FILE:loading_library>")

# The toolkit's header proves that our declarations have the same numbers and layouts.
if(TVM_FFI_CUDA_HEADERS AND TVM_FFI_CUDA_VERSION GREATER_EQUAL 12000)
  tvm_ffi_add_cpp_tests(cpp_cuda_layout tvm_ffi::shared cuda_driver_layout_test.cc)
  target_include_directories(cpp_cuda_layout SYSTEM PRIVATE ${TVM_FFI_CUDA_HEADERS})
endif()

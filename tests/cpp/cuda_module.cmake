# SPDX-License-Identifier: Apache-2.0
# Tests of modules over the CUDA driver, with a stand-in that has the driver's SONAME: the program
# has loaded it when the runtime asks for libcuda.so.1.
add_library(fake_driver SHARED fake_driver/fake_driver.c)
set_target_properties(fake_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake_driver)
target_link_libraries(fake_driver PRIVATE Threads::Threads)
tvm_ffi_set_warnings(fake_driver)
target_compile_options(fake_driver PRIVATE -Wno-pedantic)

foreach(concept cuda_module cuda_module_form)
  tvm_ffi_add_cpp_test(${concept}_test 17)
  target_link_libraries(cpp_${concept}_test_17 PRIVATE -Wl,--no-as-needed fake_driver)
endforeach()

# The toolkit's header proves that our declarations have its numbers and layouts.
if(TVM_FFI_CUDA_HEADERS AND TVM_FFI_CUDA_VERSION GREATER_EQUAL 12000)
  add_executable(cpp_cuda_driver_layout_test cuda_driver_layout.cc)
  target_include_directories(cpp_cuda_driver_layout_test SYSTEM PRIVATE ${TVM_FFI_CUDA_HEADERS})
  tvm_ffi_set_up_cpp_test(cpp_cuda_driver_layout_test 17)
  tvm_ffi_run_cpp_test(cpp_cuda_driver_layout_test)
endif()

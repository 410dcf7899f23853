# SPDX-License-Identifier: Apache-2.0
# tvm_ffi_set_warnings(TARGET): enable the compiler warnings for this repository's code.
function(tvm_ffi_set_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
  if(TVM_FFI_WARNINGS_AS_ERRORS)
    # GCC 16 reports false array-bounds errors: it devirtualizes a call to a class that the object
    # does not have.
    target_compile_options(${target} PRIVATE -Werror -Wno-error=array-bounds)
  endif()
endfunction()

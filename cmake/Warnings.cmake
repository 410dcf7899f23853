# SPDX-License-Identifier: Apache-2.0
# tvm_ffi_set_warnings(TARGET): the warnings our own code must be free of.
function(tvm_ffi_set_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
  if(TVM_FFI_WARNINGS_AS_ERRORS)
    # Not the guesses of GCC 16, which follows a virtual call into a class that the object is not of.
    target_compile_options(${target} PRIVATE -Werror -Wno-error=array-bounds)
  endif()
endfunction()

# SPDX-License-Identifier: Apache-2.0
# tvm_ffi_set_warnings(TARGET): the warnings our own code must be free of.
function(tvm_ffi_set_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
  if(TVM_FFI_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

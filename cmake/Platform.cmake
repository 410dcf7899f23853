# SPDX-License-Identifier: Apache-2.0
# The system's sources of the runtime, tvm_ffi_platform, and the options that depend on the system.
#
#   TVM_FFI_LOAD_OPTIONS    link options of libtvm_ffi: its exported names, no unloading
#   TVM_FFI_COMPLETE        link option that rejects undefined symbols in a library
#   TVM_FFI_TLS_OPTIONS     compile options for thread-local variables
#   TVM_FFI_RPATH_ORIGIN    the folder of the library itself, in a run path
set(platform itanium_names)
set(TVM_FFI_LOAD_OPTIONS)
set(TVM_FFI_COMPLETE)
set(TVM_FFI_TLS_OPTIONS)
set(TVM_FFI_RPATH_ORIGIN $ORIGIN)
if(WIN32)
  list(APPEND platform windows_files windows_addresses windows_loading windows_threads
    windows_text pe_check file_reader charconv_numbers unprotected_memory)
  # The names of Microsoft's linker, tvm_ffi.dll and tvm_ffi.lib; MinGW's begin with "lib".
  set(CMAKE_SHARED_LIBRARY_PREFIX "")
  set(CMAKE_IMPORT_LIBRARY_PREFIX "")
  set(CMAKE_IMPORT_LIBRARY_SUFFIX .lib)
elseif(APPLE)
  list(APPEND platform posix_memory posix_files posix_mapping posix_addresses posix_loading
    itanium_stack darwin_threads macho_check macho_image macho_loading file_reader
    charconv_numbers unprotected_memory)
  set(TVM_FFI_RPATH_ORIGIN @loader_path)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Emscripten")
  list(APPEND platform posix_memory posix_files wasm_numbers wasm_stubs unprotected_memory)
else()
  list(APPEND platform posix_memory posix_files posix_mapping posix_addresses posix_loading
    itanium_stack linux_memory linux_threads elf_check elf_defect elf_exports elf_file elf_loader elf_loading
    elf_runtimes elf_symbols file_reader charconv_numbers)
  # The version script hides template instances of the standard library, so that no other library
  # uses them.  nodelete keeps the library mapped after dlclose, because objects, threads and exit
  # handlers call its code later.
  set(TVM_FFI_LOAD_OPTIONS
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map -Wl,-z,nodelete)
  set(TVM_FFI_COMPLETE -Wl,--no-undefined)
  # The thread-local variables are a few pointers.  They fit into the static TLS space that the
  # loader reserves for libraries opened by dlopen, and this model reads them without a function
  # call.
  set(TVM_FFI_TLS_OPTIONS -ftls-model=initial-exec)
endif()
list(TRANSFORM platform PREPEND ${TVM_FFI_RUNTIME}/platform/)
list(TRANSFORM platform APPEND .cc)

add_library(tvm_ffi_platform STATIC EXCLUDE_FROM_ALL ${platform})
set_target_properties(tvm_ffi_platform PROPERTIES
  POSITION_INDEPENDENT_CODE ON CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_compile_options(tvm_ffi_platform PRIVATE ${TVM_FFI_TLS_OPTIONS})
tvm_ffi_set_warnings(tvm_ffi_platform)

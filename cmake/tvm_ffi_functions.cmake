# SPDX-License-Identifier: Apache-2.0
# CMake functions for projects that use tvm_ffi; find_package(tvm_ffi) includes this file.

# tvm_ffi_configure_target(TARGET [LINK_SHARED ON|OFF] [LINK_HEADER ON|OFF])
#
# Compile and link TARGET against the runtime.  With LINK_SHARED OFF, the process that loads TARGET
# must provide the runtime's symbols; a Python process has loaded the runtime.
function(tvm_ffi_configure_target target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LINK_SHARED;LINK_HEADER;DEBUG_SYMBOL;MSVC_FLAGS" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(WARNING "tvm_ffi_configure_target: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(kind HEADER SHARED)
    if(NOT DEFINED arg_LINK_${kind} OR arg_LINK_${kind})
      string(TOLOWER ${kind} library)
      target_link_libraries(${target} PRIVATE tvm_ffi::${library})
    endif()
  endforeach()
endfunction()

# tvm_ffi_add_prefix_map(TARGET FOLDER)
#
# Make file names in messages and debug information of TARGET relative to FOLDER, so that they do not
# contain the path of the build machine.
function(tvm_ffi_add_prefix_map target folder)
  foreach(language C CXX)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANG_AND_ID:${language},GNU,Clang,AppleClang>:-ffile-prefix-map=${folder}/=>")
  endforeach()
endfunction()

# tvm_ffi_add_apple_dsymutil(TARGET)
#
# On Apple systems, collect the debug information of TARGET from its object files into a .dSYM file.
function(tvm_ffi_add_apple_dsymutil target)
  if(APPLE)
    add_custom_command(TARGET ${target} POST_BUILD COMMAND dsymutil $<TARGET_FILE:${target}>)
  endif()
endfunction()

# tvm_ffi_install(TARGET [DESTINATION DIR])
#
# Install the library TARGET into the folder DIR of the installation prefix.  In a wheel, the prefix
# is the folder of the Python package.
function(tvm_ffi_install target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESTINATION" "")
  if(NOT arg_DESTINATION)
    set(arg_DESTINATION .)
  endif()
  install(TARGETS ${target}
    LIBRARY DESTINATION ${arg_DESTINATION}
    RUNTIME DESTINATION ${arg_DESTINATION}
    ARCHIVE DESTINATION ${arg_DESTINATION})
endfunction()

# tvm_ffi_add_kernels(TARGET SOURCE... [LINK_SHARED ON|OFF])
#
# Add a library for tvm_ffi.load_module() with the file name TARGET.so.  By default it does not link
# the runtime, which the loading process provides; use LINK_SHARED ON for a process without it.  The
# library contains metadata unless TVM_FFI_DLL_EXPORT_INCLUDE_METADATA is defined as 0.
function(tvm_ffi_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LINK_SHARED" "")
  if(NOT DEFINED arg_LINK_SHARED)
    set(arg_LINK_SHARED OFF)
  endif()
  add_library(${target} MODULE ${arg_UNPARSED_ARGUMENTS})
  tvm_ffi_configure_target(${target} LINK_SHARED ${arg_LINK_SHARED})
  target_compile_definitions(${target} PRIVATE TVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT=1)
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX ".so" CXX_EXTENSIONS OFF)
endfunction()

# Set VARIABLE to the suffix of a generated source in a language that the project has enabled.
function(tvm_ffi_generated_suffix_ variable)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(C IN_LIST languages)
    set(${variable} c PARENT_SCOPE)
  else()
    set(${variable} cc PARENT_SCOPE)
  endif()
endfunction()

# add_tvm_ffi_cubin(TARGET CUDA SOURCE), add_tvm_ffi_fatbin(TARGET CUDA SOURCE)
#
# Compile only the device code: $<TARGET_OBJECTS:TARGET> is the cubin or the fatbin.  A cubin has one
# architecture, CMAKE_CUDA_ARCHITECTURES.
function(add_tvm_ffi_cubin target)
  tvm_ffi_add_image_(${target} --cubin ${ARGN})
  get_target_property(architectures ${target} CUDA_ARCHITECTURES)
  if(architectures MATCHES "^[0-9]+[a-z]?$")  # without -real, nvcc would add PTX as a second image
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES ${architectures}-real)
  endif()
endfunction()

function(add_tvm_ffi_fatbin target)
  tvm_ffi_add_image_(${target} --fatbin ${ARGN})
endfunction()

function(tvm_ffi_add_image_ target option)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "CUDA" "")
  if(NOT arg_CUDA OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "expected TARGET CUDA SOURCE, got: ${target} ${ARGN}")
  endif()
  add_library(${target} OBJECT ${arg_CUDA})
  target_compile_options(${target} PRIVATE ${option})
endfunction()

# tvm_ffi_embed_bin_into(TARGET SYMBOL NAME BIN FILE)
#
# Embed FILE, a cubin or a fatbin, in TARGET for TVM_FFI_EMBED_CUBIN(NAME) in its sources.  FILE may
# be the output of another rule of the same directory, and may be a generator expression.
function(tvm_ffi_embed_bin_into target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SYMBOL;BIN" "")
  if(NOT arg_SYMBOL MATCHES "^[A-Za-z0-9_]+$" OR NOT arg_BIN)
    message(FATAL_ERROR "tvm_ffi_embed_bin_into(TARGET SYMBOL NAME BIN FILE): SYMBOL consists of "
      "letters, digits and underscores, got `${arg_SYMBOL}`; BIN is a file, got `${arg_BIN}`")
  endif()
  tvm_ffi_generated_suffix_(suffix)
  set(base ${CMAKE_CURRENT_BINARY_DIR}/tvm_ffi_embedded/${target}_${arg_SYMBOL})
  set(source ${base}.${suffix})
  get_filename_component(file "${arg_BIN}" ABSOLUTE)
  if(arg_BIN MATCHES "\\$<")  # OBJECT_DEPENDS does not support generator expressions
    set(file ${base}.bin)
    add_custom_command(OUTPUT ${file} COMMAND ${CMAKE_COMMAND} -E copy "${arg_BIN}" ${file}
      DEPENDS "${arg_BIN}" VERBATIM)
  endif()
  set(symbol __tvm_ffi__cubin_${arg_SYMBOL})
  set(text "/* Generated: the bytes of a file as read-only data. */\n__asm__(\n")
  foreach(line ".section .rodata" ".balign 64" ".globl ${symbol}" ".hidden ${symbol}" "${symbol}:"
      ".incbin \\\"${file}\\\"" ".globl ${symbol}_end" ".hidden ${symbol}_end" "${symbol}_end:"
      ".text")
    string(APPEND text "    \"${line}\\n\"\n")
  endforeach()
  file(GENERATE OUTPUT ${source} CONTENT "${text});\n")
  set_source_files_properties(${source} PROPERTIES GENERATED ON OBJECT_DEPENDS "${file}")
  target_sources(${target} PRIVATE ${source})
endfunction()

# tvm_ffi_add_system_library(TARGET [PREFIX PREFIX] FUNCTIONS NAME...)
#
# Register the symbols __tvm_ffi_<PREFIX><NAME>, which are linked into TARGET, before main.
# tvm_ffi.system_lib(PREFIX), in C the global function `ffi.SystemLib`, then has the functions NAME.
function(tvm_ffi_add_system_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX" "FUNCTIONS")
  if(NOT arg_FUNCTIONS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tvm_ffi_add_system_library(TARGET [PREFIX PREFIX] FUNCTIONS NAME...), "
      "got: ${ARGN}")
  endif()
  set(declarations "")
  set(calls "")
  foreach(name IN LISTS arg_FUNCTIONS)
    set(symbol __tvm_ffi_${arg_PREFIX}${name})
    string(APPEND declarations
      "int ${symbol}(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);\n")
    string(APPEND calls
      "  TVMFFIEnvModRegisterSystemLibSymbol(\"${symbol}\", (void*)(uintptr_t)&${symbol});\n")
  endforeach()
  tvm_ffi_generated_suffix_(suffix)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/tvm_ffi_system_library/${target}_${arg_PREFIX}.${suffix})
  file(GENERATE OUTPUT ${source} CONTENT "/* Generated: registers functions before main. */
#include <stdint.h>
#include <tvm/ffi/extra/c_env_api.h>

#ifdef __cplusplus
extern \"C\" {
#endif
${declarations}#ifdef __cplusplus
}
#endif

__attribute__((constructor)) static void register_symbols(void) {
${calls}}
")
  set_source_files_properties(${source} PROPERTIES GENERATED ON)
  target_sources(${target} PRIVATE ${source})
  target_link_libraries(${target} PRIVATE tvm_ffi::header)
endfunction()

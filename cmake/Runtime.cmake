# SPDX-License-Identifier: Apache-2.0
# Targets of the runtime: tvm_ffi_header (include paths), tvm_ffi_shared (libtvm_ffi.so),
# tvm_ffi_static and tvm_ffi_minimal (libtvm_ffi_static.a).

# A wheel contains the sources of the runtime as an archive.  Each build extracts it into a folder that
# is named after the content, because the files in the archive have no times.
set(TVM_FFI_RUNTIME ${PROJECT_SOURCE_DIR}/runtime)
set(archive ${PROJECT_SOURCE_DIR}/runtime.tar)
if(EXISTS ${archive})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
  file(SHA256 ${archive} digest)
  string(SUBSTRING ${digest} 0 8 digest)
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${PROJECT_BINARY_DIR}/sources/${digest})
  set(TVM_FFI_RUNTIME ${PROJECT_BINARY_DIR}/sources/${digest}/runtime)
endif()
file(GLOB_RECURSE TVM_FFI_RUNTIME_SOURCES CONFIGURE_DEPENDS
  ${TVM_FFI_RUNTIME}/core/*.cc ${TVM_FFI_RUNTIME}/extra/*.cc)

find_package(Threads REQUIRED)
include(cmake/Platform.cmake)

add_library(tvm_ffi_header INTERFACE)
target_include_directories(tvm_ffi_header INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(tvm_ffi_header INTERFACE cxx_std_17)

# The object files of both libraries; position-independent, because the archive may be linked into a
# shared library.
add_library(tvm_ffi_objects OBJECT ${TVM_FFI_RUNTIME_SOURCES})
set_target_properties(tvm_ffi_objects PROPERTIES
  POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF
  C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_link_libraries(tvm_ffi_objects PUBLIC tvm_ffi_header)
target_include_directories(tvm_ffi_objects PRIVATE ${TVM_FFI_RUNTIME}/extra)
target_compile_definitions(tvm_ffi_objects PRIVATE TVM_FFI_EXPORTS)
target_compile_options(tvm_ffi_objects PRIVATE ${TVM_FFI_TLS_OPTIONS})
tvm_ffi_set_warnings(tvm_ffi_objects)
# -O3 gains time where values are walked and compared: core, content, structural, observe.  Elsewhere it
# adds code only; visits and mutations call a function for each node.
set(smaller ${TVM_FFI_RUNTIME_SOURCES})
list(FILTER smaller INCLUDE REGEX
  "runtime/extra/(checks|cuda|dispatch|globals|json|module|reflection)/|\
structural/(container_mutations|container_visits|structural_mutate|structural_visit)[.]cc$")
set_source_files_properties(${smaller} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
# -Os for code that calls without observers rarely execute: registration, loading, readers, reports,
# new choices of a dispatch.
set(smallest ${TVM_FFI_RUNTIME_SOURCES})
list(FILTER smallest INCLUDE REGEX "runtime/extra/(dynamic_loading|module/.*|\
checks/(failure|program)|dispatch/(candidate_table|cpu_features|dispatch_program)|\
content/access_path_repr|cuda/(image|module_format|signature)|\
globals/(json|module|registry)_functions|observe/(argument_text|contents|created_tensors|debug_reports|\
fault_list|lent_views|ranges|stats|stream_capture)|reflection/(described|reflection)_types|\
structural/visit_error_context)[.]cc$")
list(FILTER smallest EXCLUDE REGEX "/library_module[.]cc$")
set_source_files_properties(${smallest} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)

set(TVM_FFI_OBJECTS $<TARGET_OBJECTS:tvm_ffi_objects> $<TARGET_OBJECTS:tvm_ffi_platform>)

# A platform without shared libraries, such as WebAssembly, has archives only.
get_property(TVM_FFI_HAS_SHARED_LIBRARIES GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS)
set(TVM_FFI_SHARED STATIC)
set(TVM_FFI_MODULE STATIC)
if(TVM_FFI_HAS_SHARED_LIBRARIES)
  set(TVM_FFI_SHARED SHARED)
  set(TVM_FFI_MODULE MODULE)
endif()

add_library(tvm_ffi_shared ${TVM_FFI_SHARED} ${TVM_FFI_OBJECTS})
# Published binaries need exactly this SONAME.
set_target_properties(tvm_ffi_shared PROPERTIES OUTPUT_NAME tvm_ffi NO_SONAME OFF
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
target_link_options(tvm_ffi_shared PRIVATE ${TVM_FFI_LOAD_OPTIONS} ${TVM_FFI_COMPLETE})
set_property(TARGET tvm_ffi_shared PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
target_link_libraries(tvm_ffi_shared PUBLIC tvm_ffi_header
  PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

# One archive with two targets.  A linker extracts only the archive members that a program needs.  No
# member needs dynamic_loading, so `minimal` omits it, and `static` requests it with -u.
add_library(tvm_ffi_minimal STATIC ${TVM_FFI_OBJECTS})
set_target_properties(tvm_ffi_minimal PROPERTIES OUTPUT_NAME tvm_ffi_static
  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
target_link_libraries(tvm_ffi_minimal PUBLIC tvm_ffi_header Threads::Threads ${CMAKE_DL_LIBS})

add_library(tvm_ffi_static INTERFACE)
target_link_libraries(tvm_ffi_static INTERFACE tvm_ffi_minimal)
target_link_options(tvm_ffi_static INTERFACE LINKER:-u,tvm_ffi_dynamic_loading)

if(TVM_FFI_SANITIZERS)
  foreach(target tvm_ffi_platform tvm_ffi_objects tvm_ffi_shared)
    target_compile_options(${target} PUBLIC
      -fsanitize=${TVM_FFI_SANITIZERS} -fno-omit-frame-pointer -g1
      # GCC warns that ThreadSanitizer does not model fences.  The reference counts use them only
      # after atomic operations, which ThreadSanitizer models.
      $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
    target_link_options(${target} PUBLIC -fsanitize=${TVM_FFI_SANITIZERS})
  endforeach()
endif()

add_library(tvm_ffi::header ALIAS tvm_ffi_header)
add_library(tvm_ffi::shared ALIAS tvm_ffi_shared)
add_library(tvm_ffi::minimal ALIAS tvm_ffi_minimal)
add_library(tvm_ffi::static ALIAS tvm_ffi_static)

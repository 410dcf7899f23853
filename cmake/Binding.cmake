# SPDX-License-Identifier: Apache-2.0
# The compiled half of the Python package: one extension module per src/tvm_ffi/_binding/*.pyx,
# all built alike and installed to tvm_ffi/_binding.
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module NumPy)

set(TVM_FFI_PYTHON_ROOT ${PROJECT_SOURCE_DIR}/src)
set(TVM_FFI_BINDING_ROOT ${TVM_FFI_PYTHON_ROOT}/tvm_ffi/_binding)
file(GLOB TVM_FFI_BINDING_SOURCES CONFIGURE_DEPENDS ${TVM_FFI_BINDING_ROOT}/*.pyx)
file(GLOB TVM_FFI_BINDING_DECLARATIONS CONFIGURE_DEPENDS ${TVM_FFI_BINDING_ROOT}/*.pxd)

# tvm_ffi_add_binding_module(SOURCE): the module tvm_ffi._binding.<name of SOURCE>.
function(tvm_ffi_add_binding_module source)
  get_filename_component(name ${source} NAME_WE)
  set(generated ${PROJECT_BINARY_DIR}/binding/${name}.c)
  # Cython's own dependency file misses `from package cimport module`, so every module depends on
  # every declaration; copy_if_different then spares the C compiler when the code is the same.
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/binding/new
    COMMAND ${Python_EXECUTABLE} -m cython -3 --fast-fail -X freethreading_compatible=True
      --module-name tvm_ffi._binding.${name} -I ${TVM_FFI_PYTHON_ROOT}
      -o ${PROJECT_BINARY_DIR}/binding/new/${name}.c tvm_ffi/_binding/${name}.pyx
    COMMAND ${CMAKE_COMMAND} -E copy_if_different
      ${PROJECT_BINARY_DIR}/binding/new/${name}.c ${generated}
    WORKING_DIRECTORY ${TVM_FFI_PYTHON_ROOT}
    DEPENDS ${source} ${TVM_FFI_BINDING_DECLARATIONS}
    COMMENT "Cython ${name}.pyx"
    VERBATIM)

  python_add_library(binding${name} MODULE WITH_SOABI ${generated})
  set_target_properties(binding${name} PROPERTIES
    OUTPUT_NAME ${name}
    C_VISIBILITY_PRESET hidden
    INSTALL_RPATH $ORIGIN/../lib)
  # Not -O3: its unrolled and vectorised loops are made for long arrays, ours run over a few
  # dimensions or arguments.
  target_compile_options(binding${name} PRIVATE $<$<CONFIG:Release>:-O2>)
  # Newer compilers take these for errors by themselves.
  target_compile_options(binding${name} PRIVATE -Werror=incompatible-pointer-types
    -Werror=int-conversion -Werror=implicit-function-declaration)
  # NumPy's API as of 1.22: what runs there runs on every later NumPy, 2 included.
  target_compile_definitions(binding${name} PRIVATE
    NPY_NO_DEPRECATED_API=NPY_1_22_API_VERSION NPY_TARGET_VERSION=NPY_1_22_API_VERSION)
  target_include_directories(binding${name} SYSTEM PRIVATE ${Python_NumPy_INCLUDE_DIRS})
  target_link_libraries(binding${name} PRIVATE tvm_ffi_shared)
  install(TARGETS binding${name} LIBRARY DESTINATION _binding)
endfunction()

foreach(source IN LISTS TVM_FFI_BINDING_SOURCES)
  tvm_ffi_add_binding_module(${source})
endforeach()

# SPDX-License-Identifier: Apache-2.0
# The compiled half of the Python package: one extension module per .pyx file below src/tvm_ffi/_binding,
# all built alike and installed to the same folder.
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module NumPy)

set(TVM_FFI_PYTHON_ROOT ${PROJECT_SOURCE_DIR}/src)
set(TVM_FFI_BINDING_ROOT ${TVM_FFI_PYTHON_ROOT}/tvm_ffi/_binding)
file(GLOB_RECURSE TVM_FFI_BINDING_SOURCES CONFIGURE_DEPENDS
  RELATIVE ${TVM_FFI_BINDING_ROOT} ${TVM_FFI_BINDING_ROOT}/*.pyx)
file(GLOB_RECURSE TVM_FFI_BINDING_DECLARATIONS CONFIGURE_DEPENDS ${TVM_FFI_BINDING_ROOT}/*.pxd)

set(TVM_FFI_AFTER_CYTHON ${PROJECT_SOURCE_DIR}/cmake/allow_missing_tracebacks.py)

# tvm_ffi_add_binding_module(SOURCE): FOLDER/NAME.pyx becomes the module tvm_ffi._binding.FOLDER.NAME.
function(tvm_ffi_add_binding_module source)
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(name ${source} NAME_WE)
  set(target binding_${folder}_${name})
  set(new ${PROJECT_BINARY_DIR}/binding/new/${folder})
  set(generated ${PROJECT_BINARY_DIR}/binding/${folder}/${name}.c)
  # Cython's own dependency file misses `from package cimport module`, so every module depends on
  # every declaration; copy_if_different then spares the C compiler when the code is the same.
  # No pickles of Cython's making: what they set the fields to is for the writer to choose.
  # Methods that are Python's own, as `binding=False` makes them, tell their signatures in their texts.
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${new} ${PROJECT_BINARY_DIR}/binding/${folder}
    COMMAND ${Python_EXECUTABLE} -m cython -3 --fast-fail -X freethreading_compatible=True
      -X auto_pickle=False -X embedsignature=True -X embedsignature.format=clinic
      --module-name tvm_ffi._binding.${folder}.${name} -I ${TVM_FFI_PYTHON_ROOT}
      -o ${new}/${name}.c tvm_ffi/_binding/${source}
    COMMAND ${Python_EXECUTABLE} ${TVM_FFI_AFTER_CYTHON} ${new}/${name}.c
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${new}/${name}.c ${generated}
    WORKING_DIRECTORY ${TVM_FFI_PYTHON_ROOT}
    DEPENDS ${TVM_FFI_BINDING_ROOT}/${source} ${TVM_FFI_BINDING_DECLARATIONS} ${TVM_FFI_AFTER_CYTHON}
    COMMENT "Cython ${source}"
    VERBATIM)

  python_add_library(${target} MODULE WITH_SOABI ${generated})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/binding/${folder}
    C_VISIBILITY_PRESET hidden
    INSTALL_RPATH $ORIGIN/../../lib)
  # Not -O3: its unrolled and vectorised loops are made for long arrays, ours run over a few
  # dimensions or arguments.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  # Newer compilers take these for errors by themselves.
  target_compile_options(${target} PRIVATE -Werror=incompatible-pointer-types
    -Werror=int-conversion -Werror=implicit-function-declaration)
  # NumPy's API as of 1.22: what runs there runs on every later NumPy, 2 included.
  target_compile_definitions(${target} PRIVATE
    NPY_NO_DEPRECATED_API=NPY_1_22_API_VERSION NPY_TARGET_VERSION=NPY_1_22_API_VERSION)
  target_include_directories(${target} SYSTEM PRIVATE ${Python_NumPy_INCLUDE_DIRS})
  target_link_libraries(${target} PRIVATE tvm_ffi_shared)
  install(TARGETS ${target} LIBRARY DESTINATION _binding/${folder})
endfunction()

foreach(source IN LISTS TVM_FFI_BINDING_SOURCES)
  tvm_ffi_add_binding_module(${source})
endforeach()
# Python before 3.14 unwinds threads that come too late; they are held up there.
target_compile_options(binding_object_gate PRIVATE -fexceptions)

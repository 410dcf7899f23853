# SPDX-License-Identifier: Apache-2.0
# Extension modules of the Python package: one per folder of src/tvm_ffi/_binding, whose __init__.pyx
# includes the other files.  Cython writes type imports, string tables and helper code once per
# module, so a few large modules compile faster and are smaller than many small ones.
# scikit-build-core's name is that of the Python for which the wheel is; CMake's is that of the
# Python that runs, or empty where it compiles for another system.
if(SKBUILD_SOABI)
  set(Python_SOABI ${SKBUILD_SOABI})
endif()

set(TVM_FFI_PYTHON_ROOT ${PROJECT_SOURCE_DIR}/src)
set(TVM_FFI_BINDING_ROOT ${TVM_FFI_PYTHON_ROOT}/tvm_ffi/_binding)
# The folders are sorted by compile time, and the slowest is first.
set(TVM_FFI_BINDING_FOLDERS tensor call object values types containers convert)
file(GLOB_RECURSE TVM_FFI_BINDING_DECLARATIONS CONFIGURE_DEPENDS ${TVM_FFI_BINDING_ROOT}/*.pxd)

set(TVM_FFI_AFTER_CYTHON ${PROJECT_SOURCE_DIR}/cmake/allow_missing_tracebacks.py)

# tvm_ffi_add_binding_module(FOLDER): compile the files of a folder to tvm_ffi._binding.FOLDER, the
# compiled __init__ of that package.
function(tvm_ffi_add_binding_module folder)
  set(target binding_${folder})
  set(new ${PROJECT_BINARY_DIR}/binding/new)
  set(generated ${PROJECT_BINARY_DIR}/binding/${folder}.c)
  file(GLOB sources CONFIGURE_DEPENDS
    ${TVM_FFI_BINDING_ROOT}/${folder}/*.py[xi] ${TVM_FFI_BINDING_ROOT}/${folder}/*.pxi)
  # Cython's dependency file omits `from package cimport module`, so every module depends on every
  # declaration; with copy_if_different, unchanged C code is not compiled again.
  # auto_pickle=False: with Cython's pickle support, a pickle could set fields to any value.
  # embedsignature: methods with `binding=False` have their signatures only in their docstrings.
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${new}
    COMMAND ${Python_EXECUTABLE} -m cython -3 --fast-fail -X freethreading_compatible=True
      -X auto_pickle=False -X embedsignature=True -X embedsignature.format=clinic
      --module-name tvm_ffi._binding.${folder} -I ${TVM_FFI_PYTHON_ROOT}
      -o ${new}/${folder}.c tvm_ffi/_binding/${folder}/__init__.pyx
    COMMAND ${Python_EXECUTABLE} ${TVM_FFI_AFTER_CYTHON} ${new}/${folder}.c
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${new}/${folder}.c ${generated}
    WORKING_DIRECTORY ${TVM_FFI_PYTHON_ROOT}
    DEPENDS ${sources} ${TVM_FFI_BINDING_DECLARATIONS} ${TVM_FFI_AFTER_CYTHON}
    COMMENT "Cython ${folder}"
    VERBATIM)

  python_add_library(${target} MODULE WITH_SOABI ${generated})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME __init__
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/binding/${folder}
    C_VISIBILITY_PRESET hidden
    INSTALL_RPATH ${TVM_FFI_RPATH_ORIGIN}/../../lib)
  # The option is not -O3, which unrolls and vectorizes loops for long arrays, because the loops of
  # the binding run over a few dimensions or arguments.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  # These warnings are errors by default in newer compilers.
  target_compile_options(${target} PRIVATE -Werror=incompatible-pointer-types
    -Werror=int-conversion -Werror=implicit-function-declaration)
  # Use the API of NumPy 1.22, so that the binary runs with NumPy 1.22 and later, including 2.
  target_compile_definitions(${target} PRIVATE
    NPY_NO_DEPRECATED_API=NPY_1_22_API_VERSION NPY_TARGET_VERSION=NPY_1_22_API_VERSION)
  target_include_directories(${target} SYSTEM PRIVATE ${Python_NumPy_INCLUDE_DIRS})
  target_link_libraries(${target} PRIVATE tvm_ffi_shared)
  install(TARGETS ${target} LIBRARY DESTINATION _binding/${folder})
endfunction()

foreach(folder IN LISTS TVM_FFI_BINDING_FOLDERS)
  tvm_ffi_add_binding_module(${folder})
endforeach()
# Python before 3.14 ends threads that attach at exit by unwinding their stacks.  The interpreter
# gate holds them during the unwinding, which therefore needs -fexceptions.
target_compile_options(binding_object PRIVATE -fexceptions)

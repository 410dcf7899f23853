# SPDX-License-Identifier: Apache-2.0
"""Process-wide setup for native libraries: global C ABI symbols and interpreter hooks."""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL

cdef extern from *:
    """
    #ifdef _WIN32
    #define WIN32_LEAN_AND_MEAN
    #include <windows.h>

    /* Return the path of libtvm_ffi, or NULL with an exception.  The library is found by its name:
     * the address of an imported function may be that of a jump in the importing library. */
    static PyObject* tvm_ffi_find_library_path(const void* function) {
      wchar_t path[32768];
      HMODULE library = GetModuleHandleW(L"tvm_ffi.dll");
      DWORD size = library == NULL ? 0 : GetModuleFileNameW(library, path, 32768);
      (void)function;
      if (size == 0) {
        PyErr_SetString(PyExc_ImportError, "cannot find the path of the library tvm_ffi.dll");
        return NULL;
      }
      return PyUnicode_FromWideChar(path, (Py_ssize_t)size);
    }

    /* A library names those from which it imports, so no symbol has a scope. */
    static const char* tvm_ffi_make_symbols_global(const char* path) {
      (void)path;
      return NULL;
    }
    #else
    #include <dlfcn.h>

    static PyObject* tvm_ffi_find_library_path(const void* function) {
      Dl_info info;
      if (dladdr(function, &info) == 0 || info.dli_fname == NULL) {
        PyErr_SetString(PyExc_ImportError,
            "cannot find the path of the library libtvm_ffi, because dladdr failed");
        return NULL;
      }
      return PyUnicode_DecodeUTF8(
          info.dli_fname, (Py_ssize_t)strlen(info.dli_fname), "surrogateescape");
    }

    /* Return the reason of a failure, or NULL.  The library is loaded already, so `dlopen` with
     * RTLD_GLOBAL only extends the scope of its symbols. */
    static const char* tvm_ffi_make_symbols_global(const char* path) {
      return dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) == NULL ? dlerror() : NULL;
    }
    #endif
    """
    str _find_library_path "tvm_ffi_find_library_path"(const void* function)
    const char* _make_global "tvm_ffi_make_symbols_global"(const char* path)

cdef extern from *:
    """
    /* Locks that the runtime takes on free-threaded Python, while it reads a native object during a
     * walk (a recursive traversal of values).  A section is the period in which the runtime holds
     * the lock of one object; `tvm_ffi_guard` of object.pxd implements the lock.  A thread that is
     * not attached to the interpreter takes no lock, because attaching could block forever. */
    #ifdef Py_GIL_DISABLED
    typedef struct {
      tvm_ffi_guard guard;
      int is_held;
    } tvm_ffi_section;
    _Static_assert(sizeof(tvm_ffi_section) <= 32, "the runtime reserves 32 bytes for a section");

    static PyObject** tvm_ffi_runtime_locks;

    static void tvm_ffi_begin_section(void* memory, const void* object) {
      tvm_ffi_section* section = (tvm_ffi_section*)memory;
      section->is_held = PyThreadState_GetUnchecked() != NULL;
      if (section->is_held) tvm_ffi_begin_guard(&section->guard, tvm_ffi_runtime_locks, object);
    }
    static void tvm_ffi_end_section(void* memory) {
      tvm_ffi_section* section = (tvm_ffi_section*)memory;
      if (section->is_held) tvm_ffi_end_guard(&section->guard);
    }
    #else
    static PyObject** tvm_ffi_runtime_locks;
    #define tvm_ffi_begin_section NULL
    #define tvm_ffi_end_section NULL
    #endif
    """
    PyObject** _runtime_locks "tvm_ffi_runtime_locks"
    void* _begin_section "tvm_ffi_begin_section"
    void* _end_section "tvm_ffi_end_section"


def _refuse_another_implementation() -> None:
    """Raise ImportError if another implementation of the runtime provides the C ABI symbols.

    The loader binds the symbols to the first loaded library that defines them.  This library may be
    another implementation.  A copy of this project's runtime is accepted.  The test for such a copy
    is the type attribute ``__native_stack_is_low__``, which only this project defines, for its C++
    headers.
    """
    cdef abi.TVMFFIByteArray name
    cdef bytes text = b"__native_stack_is_low__"
    name.data, name.size = text, len(text)
    if abi.TVMFFIGetTypeAttrColumn(&name) == NULL:
        raise ImportError(
            f"this process has already loaded the library {library_path} of another implementation "
            "of the TVM FFI, and two implementations cannot be used in one process; import tvm_ffi "
            "before the module that loads the other implementation, or uninstall the other one")


def _make_symbols_global() -> None:
    """Make the runtime's symbols visible to libraries that are not linked to libtvm_ffi.

    Most libraries of generated code are not linked to libtvm_ffi.
    """
    cdef bytes name = library_path.encode("utf-8", "surrogateescape")
    cdef const char* reason = _make_global(name)
    if reason != NULL:
        raise ImportError(f"cannot make the symbols of {library_path} global: {reason.decode()}")


def _register_interpreter_hooks() -> None:
    """Register the functions by which the runtime checks for signals and locks objects in walks.

    `check_signals` acquires the GIL itself, through the interpreter gate, so that no thread waits
    for the GIL during interpreter shutdown.  Object locks exist on free-threaded Python only.
    """
    global _runtime_locks
    check(abi.TVMFFIEnvRegisterCAPI(b"PyErr_CheckSignals", <void*>check_signals))
    if GIL_IS_OPTIONAL:
        _runtime_locks = object_locks()
        check(abi.TVMFFIEnvRegisterCAPI(b"ObjectLock_Begin", <void*>_begin_section))
        check(abi.TVMFFIEnvRegisterCAPI(b"ObjectLock_End", <void*>_end_section))


# The path of the libtvm_ffi that this binding is linked to.
library_path = _find_library_path(<const void*>abi.TVMFFIGetVersion)
_refuse_another_implementation()
_make_symbols_global()
_register_interpreter_hooks()

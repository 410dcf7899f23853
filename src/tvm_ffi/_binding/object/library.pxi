# SPDX-License-Identifier: Apache-2.0
"""What the process owes to native libraries: the C ABI's symbols, and the interpreter's."""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL

cdef extern from "dlfcn.h":
    ctypedef struct Dl_info:
        const char* dli_fname
    int dladdr(const void* address, Dl_info* info)
    void* dlopen(const char* filename, int flags)
    char* dlerror()
    enum:
        RTLD_NOW, RTLD_GLOBAL, RTLD_NOLOAD

cdef extern from *:
    """
    /* The locks of object.pxd for the runtime's walks.  Threads outside the interpreter have none:
     * to enter it might take for ever, and where there is a GIL they have no lock either. */
    #ifdef Py_GIL_DISABLED
    typedef struct {
      tvm_ffi_guard guard;
      int is_held;
    } tvm_ffi_section;
    _Static_assert(sizeof(tvm_ffi_section) <= 32, "the runtime has no more room for it");

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


def _path() -> str:
    """Return the path of the libtvm_ffi that this binding is linked to."""
    cdef Dl_info info
    if dladdr(<const void*>abi.TVMFFIGetVersion, &info) == 0 or info.dli_fname == NULL:
        raise ImportError("cannot locate libtvm_ffi")
    return info.dli_fname.decode("utf-8", "surrogateescape")


def _refuse_another_implementation() -> None:
    """Raise ImportError if the C ABI's symbols are those of another runtime.

    The binding gets them from whatever was loaded first: a program or a library may have brought a
    runtime along.  A copy of this one serves as well.  Only this one has the attribute, which is
    there for the C++ headers.
    """
    cdef abi.TVMFFIByteArray name
    cdef bytes text = b"__native_stack_is_low__"
    name.data, name.size = text, len(text)
    if abi.TVMFFIGetTypeAttrColumn(&name) == NULL:
        raise ImportError(
            f"{library_path} is in this process already and belongs to another implementation of "
            "the TVM FFI, which pytvmffi cannot be mixed with; import tvm_ffi before what loads "
            "it, or remove that implementation")


def _make_symbols_global() -> None:
    """Let libraries that are not linked to libtvm_ffi, as most generated code, find its symbols.

    The library is loaded already; opening it once more only widens the scope of its symbols.
    """
    cdef bytes name = library_path.encode("utf-8", "surrogateescape")
    if dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) == NULL:
        raise ImportError(f"cannot make the symbols of {library_path} global: {dlerror().decode()}")


def _register_interpreter_hooks() -> None:
    """Let long native calls notice Ctrl-C, and walks see each object at one moment.

    What is lent for the first takes the GIL itself, so that nobody waits for it while the
    interpreter ends.  The second is nothing where there is a GIL.
    """
    global _runtime_locks
    check(abi.TVMFFIEnvRegisterCAPI(b"PyErr_CheckSignals", <void*>check_signals))
    if GIL_IS_OPTIONAL:
        _runtime_locks = object_locks()
        check(abi.TVMFFIEnvRegisterCAPI(b"ObjectLock_Begin", <void*>_begin_section))
        check(abi.TVMFFIEnvRegisterCAPI(b"ObjectLock_End", <void*>_end_section))


library_path = _path()
_refuse_another_implementation()
_make_symbols_global()
_register_interpreter_hooks()

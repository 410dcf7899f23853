# SPDX-License-Identifier: Apache-2.0
"""What the process owes to native libraries: the C ABI's symbols, and the interpreter's."""

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object.error cimport check

cdef extern from "dlfcn.h":
    ctypedef struct Dl_info:
        const char* dli_fname
    int dladdr(const void* address, Dl_info* info)
    void* dlopen(const char* filename, int flags)
    char* dlerror()
    enum:
        RTLD_NOW, RTLD_GLOBAL, RTLD_NOLOAD

cdef extern from "Python.h":
    int PyErr_CheckSignals() noexcept
    int PyGILState_Ensure() noexcept
    void PyGILState_Release(int state) noexcept


def _path() -> str:
    """Return the path of the libtvm_ffi that this binding is linked to."""
    cdef Dl_info info
    if dladdr(<const void*>abi.TVMFFIGetVersion, &info) == 0 or info.dli_fname == NULL:
        raise ImportError("cannot locate libtvm_ffi")
    return info.dli_fname.decode("utf-8", "surrogateescape")


def _make_symbols_global() -> None:
    """Let libraries that are not linked to libtvm_ffi, as most generated code, find its symbols.

    The library is loaded already; opening it once more only widens the scope of its symbols.
    """
    cdef bytes name = path.encode("utf-8", "surrogateescape")
    if dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) == NULL:
        raise ImportError(f"cannot make the symbols of {path} global: {dlerror().decode()}")


def _lend_interpreter() -> None:
    """Let long native calls notice Ctrl-C, see TVMFFIEnvCheckSignals."""
    check(abi.TVMFFIEnvRegisterCAPI(b"PyErr_CheckSignals", <void*>PyErr_CheckSignals))
    check(abi.TVMFFIEnvRegisterCAPI(b"PyGILState_Ensure", <void*>PyGILState_Ensure))
    check(abi.TVMFFIEnvRegisterCAPI(b"PyGILState_Release", <void*>PyGILState_Release))


path = _path()
_make_symbols_global()
_lend_interpreter()

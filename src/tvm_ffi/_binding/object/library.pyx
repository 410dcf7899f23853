# SPDX-License-Identifier: Apache-2.0
"""What the process owes to native libraries: the C ABI's symbols, and the interpreter's."""

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object.error cimport check
from tvm_ffi._binding.object.gate cimport check_signals

cdef extern from "dlfcn.h":
    ctypedef struct Dl_info:
        const char* dli_fname
    int dladdr(const void* address, Dl_info* info)
    void* dlopen(const char* filename, int flags)
    char* dlerror()
    enum:
        RTLD_NOW, RTLD_GLOBAL, RTLD_NOLOAD


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
            f"{path} is in this process already and belongs to another implementation of the TVM "
            "FFI, which pytvmffi cannot be mixed with; import tvm_ffi before what loads it, or "
            "remove that implementation")


def _make_symbols_global() -> None:
    """Let libraries that are not linked to libtvm_ffi, as most generated code, find its symbols.

    The library is loaded already; opening it once more only widens the scope of its symbols.
    """
    cdef bytes name = path.encode("utf-8", "surrogateescape")
    if dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) == NULL:
        raise ImportError(f"cannot make the symbols of {path} global: {dlerror().decode()}")


def _lend_interpreter() -> None:
    """Let long native calls notice Ctrl-C, see TVMFFIEnvCheckSignals.

    What is lent takes the GIL itself, so that nobody waits for it while the interpreter ends.
    """
    check(abi.TVMFFIEnvRegisterCAPI(b"PyErr_CheckSignals", <void*>check_signals))


path = _path()
_refuse_another_implementation()
_make_symbols_global()
_lend_interpreter()

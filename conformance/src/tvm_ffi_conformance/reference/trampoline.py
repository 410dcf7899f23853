# SPDX-License-Identifier: Apache-2.0
"""Trampoline library: C source of ``libtvm_ffi.so`` whose functions jump into Python callbacks.

The source is generated from the prototypes of `tvm_ffi_conformance.abi` and compiled with the
system's C compiler. The library exports

- every C function of the ABI; each jumps through a table that Python fills,
- one entry point for each kind of callback that an object stores (deleters, safe calls), which
  jump through the same table, so that no stored address points into memory of Python,
- atomic operations and an identity for the calling thread, which Python cannot express.

After `close`, empty table entries make all functions return 0: objects may be released by static
destructors after Python has ended.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Callable

from tvm_ffi_conformance import abi

# Callbacks whose addresses the reference stores in objects, managed tensors and tables.
# Creators and setters of built-in types have no context: one for each type and for each field.
FIELD_KINDS = ["int64", "int32", "bool", "float64", "pointer", "dtype", "device", "any", "object"]
CREATORS = [f"create_{number}" for number in range(9)]
SETTERS = [f"set_{number}" for number in range(18)]
_REFLECTION = [
    *(f"int tvm_ffi_reference_get_{kind}(void* field, TVMFFIAny* result)" for kind in FIELD_KINDS),
    *(f"int tvm_ffi_reference_{name}(void* field, const TVMFFIAny* value)" for name in SETTERS),
    *(f"int tvm_ffi_reference_{name}(TVMFFIObjectHandle* result)" for name in CREATORS),
]
CALLBACKS = abi.prototypes(
    """
void tvm_ffi_reference_object_deleter(void* self, int flags)
void tvm_ffi_reference_update_backtrace(void* self, const TVMFFIByteArray* text, int32_t mode)
int tvm_ffi_reference_safe_call(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result)
void tvm_ffi_reference_data_deleter(void* data)
void tvm_ffi_reference_managed_deleter(DLManagedTensor* self)
void tvm_ffi_reference_managed_versioned_deleter(DLManagedTensorVersioned* self)
void* tvm_ffi_reference_allocate(uint64_t size, uint64_t alignment, int32_t index, void* context)
void tvm_ffi_reference_delete_space(void* space)
void tvm_ffi_reference_set_error(void* context, const char* kind, const char* message)
void tvm_ffi_reference_thread_exit(void* number)
"""
    + "\n".join(_REFLECTION)
)
PROTOTYPES = {**abi.FUNCTIONS, **CALLBACKS}

_PRELUDE = """\
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { const char* data; size_t size; } TVMFFIByteArray;

#define EXPORT __attribute__((visibility("default")))

enum { kFunctions = %(count)d };
static void* table[kFunctions];

EXPORT void tvm_ffi_reference_bind(int index, void* function) {
  __atomic_store_n(&table[index], function, __ATOMIC_RELEASE);
}

static void* entry(int index) { return __atomic_load_n(&table[index], __ATOMIC_ACQUIRE); }

/* Reference counts are shared with native threads, which change them by atomic instructions. */
EXPORT uint64_t tvm_ffi_reference_fetch_add(uint64_t* counter, uint64_t change) {
  return __atomic_fetch_add(counter, change, __ATOMIC_ACQ_REL);
}
EXPORT void* tvm_ffi_reference_exchange(void** address, void* value) {
  return __atomic_exchange_n(address, value, __ATOMIC_ACQ_REL);
}

/* Module objects have a vtable, whose members need a C++ compiler: each entry ends the process. */
static void missing_member(void) {
  fputs("tvm_ffi_conformance.reference: C++ members of ModuleObj are not implemented\\n", stderr);
  abort();
}
EXPORT void (*tvm_ffi_reference_vtable[12])(void) = {[0 ... 11] = missing_member};

/* Numbers of threads are never used again, unlike the identifiers of the system. */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t last_thread;
static void thread_ends(void* number) {
  void (*function)(void*) = (void (*)(void*))entry(%(thread_exit)d);
  if (function) function(number);
}
static void make_key(void) { pthread_key_create(&key, thread_ends); }
EXPORT uint64_t tvm_ffi_reference_thread(void) {
  pthread_once(&once, make_key);
  uint64_t number = (uint64_t)(uintptr_t)pthread_getspecific(key);
  if (number == 0) {
    number = __atomic_add_fetch(&last_thread, 1, __ATOMIC_RELAXED);
    pthread_setspecific(key, (void*)(uintptr_t)number);
  }
  return number;
}
"""

# ctypes callbacks cannot return a struct by value: the Python function writes through a pointer.
_STRUCT_RESULT = """\
EXPORT {returns} {name}({parameters}) {{
  {returns} result = {{0, 0}};
  void (*function)({types}) = (void (*)({types}))entry({index});
  if (function) function({arguments});
  return result;
}}
"""

_FUNCTION = """\
EXPORT {returns} {name}({parameters}) {{
  {returns} (*function)({types}) = ({returns} (*)({types}))entry({index});
  {jump}
}}
"""

_VALUES = {"void", "int", "int32_t", "uint64_t", "TVMFFIByteArray"}


def _plain(c_type: str) -> str:
    """Return the type that the trampoline uses for `c_type`: all pointers are ``void*``."""
    return c_type if c_type in _VALUES else "void*"


def callback_type(name: str) -> type[ctypes._CFuncPtr]:
    """Return the class of the ctypes callback for the table entry `name`."""
    prototype = PROTOTYPES[name]
    if prototype.returns == "TVMFFIByteArray":
        return ctypes.CFUNCTYPE(None, *prototype.argtypes, ctypes.c_void_p)
    return prototype.callback


def _definition(index: int, name: str) -> str:
    """Return the C definition of the table entry `name`."""
    prototype = PROTOTYPES[name]
    types = [_plain(parameter.c_type) for parameter in prototype.parameters]
    names = [f"a{position}" for position in range(len(types))]
    returns = _plain(prototype.returns)
    parameters = ", ".join(map(" ".join, zip(types, names))) or "void"
    text = {"returns": returns, "name": name, "index": index, "parameters": parameters}
    if returns == "TVMFFIByteArray":
        text["types"] = ", ".join([*types, "void*"])
        return _STRUCT_RESULT.format(arguments=", ".join([*names, "&result"]), **text)
    call = f"function({', '.join(names)})"
    jump = f"if (function) {call};" if returns == "void" else f"return function ? {call} : 0;"
    return _FUNCTION.format(types=", ".join(types) or "void", jump=jump, **text)


def source() -> str:
    """Return the C source of the trampoline."""
    names = list(PROTOTYPES)
    thread_exit = names.index("tvm_ffi_reference_thread_exit")
    prelude = _PRELUDE % {"count": len(names), "thread_exit": thread_exit}
    definitions = [_definition(index, name) for index, name in enumerate(names)]
    return "\n".join([prelude, *definitions])


def build(folder: Path, more: str = "") -> Path:
    """Compile the trampoline and `more` C source into `folder`; return the path of the library.

    Raises
    ------
    RuntimeError
        If the C compiler (``$CC``, by default ``cc``) is missing or fails.
    """
    path, library = folder / "trampoline.c", folder / abi.SONAME
    path.write_text(source() + more, encoding="utf-8")
    command = [*shlex.split(os.environ.get("CC") or "cc"), "-std=gnu11", "-O1", "-fPIC", "-shared"]
    options = f"-fvisibility=hidden -Wl,-soname,{abi.SONAME} -pthread"
    command += [*options.split(), "-o", str(library), str(path), "-ldl"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RuntimeError(f"the reference needs a C compiler: {error}; set CC") from error
    if result.returncode:
        raise RuntimeError(f"{shlex.join(command)} failed:\n{result.stderr}")
    return library


def is_runtime_loaded() -> bool:
    """Return True if the process has loaded a library with the SONAME of the runtime."""
    try:
        ctypes.CDLL(abi.SONAME, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return True


class Trampoline:
    """The loaded trampoline library: the one at `path`, or a new one."""

    def __init__(self, path: str | None = None) -> None:
        if path is None and is_runtime_loaded():
            text = f"expected a process without a runtime, but {abi.SONAME} is loaded already"
            raise RuntimeError(f"Reference(): {text}; start a process that does not import tvm_ffi")
        with tempfile.TemporaryDirectory() as folder:  # the file may go once it is mapped
            path = path or str(build(Path(folder)))
            self.library = abi.declare(ctypes.CDLL(path, mode=os.RTLD_GLOBAL | os.RTLD_NOW))
            held = ctypes.PyDLL(path)  # keeps the GIL: short functions that never call Python
        self._callbacks: list[object] = []
        self._index = {name: index for index, name in enumerate(PROTOTYPES)}
        held.tvm_ffi_reference_bind.argtypes = [ctypes.c_int, ctypes.c_void_p]
        self._bind = held.tvm_ffi_reference_bind
        self.thread = held.tvm_ffi_reference_thread
        self.thread.restype = ctypes.c_uint64
        self.fetch_add = held.tvm_ffi_reference_fetch_add
        self.fetch_add.restype = ctypes.c_uint64
        self.fetch_add.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        self.exchange = held.tvm_ffi_reference_exchange
        self.exchange.restype = ctypes.c_void_p
        self.exchange.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        atexit.register(self.close)

    def bind(self, name: str, function: Callable[..., object]) -> None:
        """Make the table entry `name` call `function`."""
        callback = callback_type(name)(function)
        self._callbacks.append(callback)
        self._bind(self._index[name], ctypes.cast(callback, ctypes.c_void_p))

    def address(self, name: str) -> int:
        """Return the address of an exported function."""
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0

    def vtable(self) -> int:
        """Return the address of the vtable of module objects."""
        return ctypes.addressof(ctypes.c_void_p.in_dll(self.library, "tvm_ffi_reference_vtable"))

    def close(self) -> None:
        """Empty the table: functions that are called from now on return 0."""
        for index in self._index.values():
            self._bind(index, None)

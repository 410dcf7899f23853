# SPDX-License-Identifier: Apache-2.0
"""Chapter 7, environment: streams, tensor allocator, signals, and handles that are made once."""

from __future__ import annotations

import ctypes

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import read_c_string, read_pointer, write_pointer
from .values import Pending, Raised

_ALLOCATOR = abi.callback("DLPackManagedTensorAllocator")
_INIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_CODE = ctypes.CFUNCTYPE(ctypes.c_int)
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_int)
_C_API = ("PyErr_CheckSignals", "PyGILState_Ensure", "PyGILState_Release")


class Environment(Chapter):
    """What a library asks of the process around it: streams, memory for tensors, signals."""

    def set_up(self) -> None:
        # c-abi.md, "6.9 Environment": the stream table belongs to the thread.
        self._streams: dict[tuple[int, int, int], int] = {}
        self._thread_allocators: dict[int, int] = {}
        self._allocator = 0
        self._c_api: dict[str, int] = {}

    def _thread(self) -> int:
        return self.runtime.trampoline.thread()

    def forget_thread(self, number: int) -> None:
        """Forget the state of a thread that has ended."""
        self._thread_allocators.pop(number, None)
        for key in [key for key in self._streams if key[0] == number]:
            del self._streams[key]

    def TVMFFIEnvSetStream(self, device_type: int, device_id: int, stream: int, out: int) -> None:
        # c-abi.md, "6.9 Environment": the previous value goes to the optional out pointer.
        key = (self._thread(), device_type, device_id)
        if out:
            write_pointer(out, self._streams.get(key, 0))
        self._streams[key] = stream

    def TVMFFIEnvGetStream(self, device_type: int, device_id: int) -> int:
        # compiler-integration.md, "Kernel Language Compilers": the current environment stream.
        return self._streams.get((self._thread(), device_type, device_id), 0)

    def TVMFFIEnvSetDLPackManagedTensorAllocator(
        self, allocator: int, write_to_global: int, out: int
    ) -> None:
        # c-abi.md, "6.9 Environment": always the thread's slot, with write_to_global also the one
        # of the process; the out value is the previous one of the thread.
        number = self._thread()
        if out:
            write_pointer(out, self._thread_allocators.get(number, 0))
        self._thread_allocators[number] = allocator
        if write_to_global:
            self._allocator = allocator

    def TVMFFIEnvGetDLPackManagedTensorAllocator(self) -> int:
        return self._thread_allocators.get(self._thread(), 0) or self._allocator

    def TVMFFIEnvTensorAlloc(self, prototype: int, out: int) -> None:
        # abi-overview.rst, "Construct Tensor": the prototype holds shape, dtype and device; the
        # allocator is that of the framework.
        allocator = self.TVMFFIEnvGetDLPackManagedTensorAllocator()
        if not allocator:
            text = "likely because TVMFFIEnvSetDLPackManagedTensorAllocator has not been called."
            raise Raised("RuntimeError", f"TVMFFIEnvTensorAlloc: allocator is nullptr, {text}")
        managed = ctypes.c_void_p()
        set_error = self.runtime.trampoline.address("tvm_ffi_reference_set_error")
        # c-abi.md, "6.9 Environment": allocator(prototype, &managed, null, set_error).
        code = _ALLOCATOR(allocator)(prototype, ctypes.addressof(managed), None, set_error)
        if code:
            if not self.runtime.errors.pending_handle():
                self._report(f"returned {code} without a call of SetError")
            raise Pending(code)
        if not managed.value:
            self._report("returned 0 without a tensor")
            raise Raised("RuntimeError", "TVMFFIEnvTensorAlloc: the allocator returned no tensor")
        write_pointer(out, self.runtime.tensors.from_managed(managed.value, versioned=True))

    def _report(self, detail: str) -> None:
        self.runtime.checks.report("allocator.result", "allocator", detail)

    def on_set_error(self, _context: int, kind: int, message: int) -> None:
        """Raise the error of an allocator."""
        self.runtime.errors.TVMFFIErrorSetRaisedFromCStr(kind, message)

    def TVMFFIEnvRegisterCAPI(self, name: int, symbol: int) -> None:
        text = read_c_string(name).decode()
        if text not in _C_API:
            raise Raised("ValueError", f"Unknown env API {text}")
        self._c_api[text] = symbol

    def TVMFFIEnvCheckSignals(self) -> None:
        # c-abi.md, "6.9 Environment": 0 without a checker; else under the GIL; a failure is -1 with
        # an empty error slot, since the exception is set on the side of Python.
        check, ensure, release = (self._c_api.get(name) for name in _C_API)
        if not check:
            return
        state = _CODE(ensure)() if ensure else 0
        code = _CODE(check)()
        if release:
            _RELEASE(release)(state)
        if code:
            raise Pending

    def TVMFFIHandleInitOnce(self, handle_addr: int, init_func: int) -> None:
        # c-abi.md, "6.7 One-time handles": look, take the mutex, look again, call.
        if read_pointer(handle_addr):
            return
        with self.runtime.once:
            if read_pointer(handle_addr):
                return
            result = ctypes.c_void_p()
            code = _INIT(init_func)(ctypes.addressof(result))
            if code:  # returned unchanged, and the slot stays null
                raise Pending(code)
            if not result.value:
                raise Raised("RuntimeError", "init_func must return a non-NULL handle")
            self.runtime.trampoline.exchange(handle_addr, result.value)

    def TVMFFIHandleDeinitOnce(self, handle_addr: int, deinit_func: int) -> int:
        # c-abi.md, "6.7 One-time handles": exchange with null, then deinit of the old value.
        old = self.runtime.trampoline.exchange(handle_addr, None)
        return _INIT(deinit_func)(old) if old else 0

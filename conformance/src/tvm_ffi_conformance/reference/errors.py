# SPDX-License-Identifier: Apache-2.0
"""Chapter 4, errors: error objects, the error slot of each thread, backtraces."""

from __future__ import annotations

import ctypes
import os

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import at, cell, read_byte_array, read_c_string, read_pointer, text_at, write_pointer
from .values import Raised

_SIZE = abi.HEADER_SIZE + ctypes.sizeof(abi.TVMFFIErrorCell)


class Errors(Chapter):
    """Creates error objects and keeps the pending error of each thread."""

    def set_up(self) -> None:
        # abi-overview.rst, "Retrieve Error Object": the error is stored in thread-local storage.
        # Threads of native code have no lasting thread state in Python, so that `threading.local`
        # would forget the error between two calls; the trampoline numbers the threads instead.
        self.pending: dict[int, int] = {}
        self._backtraces: dict[int, int] = {}
        self.runtime.objects.layouts[abi.kTVMFFIError] = self._references

    def new(
        self, kind: bytes, message: bytes, backtrace: bytes = b"", cause: int = 0, context: int = 0
    ) -> int:
        """Return a new error object; `cause` and `context` gain a reference each."""
        objects = self.runtime.objects
        record = objects.new(abi.kTVMFFIError, _SIZE, self._destroy)
        content = cell(abi.TVMFFIErrorCell, record.address)
        for name, text in (("kind", kind), ("message", message), ("backtrace", backtrace)):
            self._store(getattr(content, name), text)
        update = self.runtime.trampoline.address("tvm_ffi_reference_update_backtrace")
        content.update_backtrace = update
        # c-abi.md, "6.5 Errors": both handles may be null; each gets +1 and is released with the
        # error.
        for handle in (cause, context):
            if handle:
                objects.incref(handle)
        content.cause_chain, content.extra_context = cause, context
        return record.address

    def _store(self, array: abi.TVMFFIByteArray, text: bytes) -> None:
        """Replace the string of an error by a copy of `text`."""
        old = array.data
        buffer = self.runtime.heap.allocate(len(text) + 1, "text of an error")
        ctypes.memmove(buffer, text, len(text))
        array.data, array.size = buffer, len(text)
        if old:
            self.runtime.heap.release(old)

    def _destroy(self, address: int) -> None:
        """Release the strings and the two handles of an error."""
        content = cell(abi.TVMFFIErrorCell, address)
        for array in (content.kind, content.message, content.backtrace):
            self.runtime.heap.release(array.data)
        for handle in self._references(address):
            self.runtime.objects.decref(handle)

    def _references(self, address: int) -> list[int]:
        """Return the handles in the layout of an error."""
        content = cell(abi.TVMFFIErrorCell, address)
        return [handle for handle in (content.cause_chain, content.extra_context) if handle]

    def on_update_backtrace(self, error: int, text: int, mode: int) -> None:
        """Replace or extend the backtrace of an error."""
        # c-abi.md, "7.1 Object and kinds": mode 0 replaces, 1 appends.  Frames are in the order of
        # the most recent call first, which makes appending on the way up possible.
        content = cell(abi.TVMFFIErrorCell, error)
        backtrace = read_byte_array(at(abi.TVMFFIByteArray, text))
        if mode == abi.kTVMFFIBacktraceUpdateModeAppend:
            backtrace = read_byte_array(content.backtrace) + backtrace
        self._store(content.backtrace, backtrace)

    def content(self, error: int) -> tuple[str, str, str]:
        """Return kind, message and backtrace of an error."""
        content = cell(abi.TVMFFIErrorCell, error)
        parts = (content.kind, content.message, content.backtrace)
        kind, message, backtrace = (
            read_byte_array(each).decode(errors="replace") for each in parts
        )
        return kind, message, backtrace

    def summary(self, error: int) -> str:
        """Return kind and message of an error."""
        kind, message, _ = self.content(error)
        return f"{kind}: {message}"

    def pending_handle(self) -> int:
        """Return the borrowed pending error of the calling thread; 0 if none."""
        return self.pending.get(self.runtime.trampoline.thread(), 0)

    def set_pending(self, error: int) -> None:
        """Put a reference that the caller owns into the slot, in place of an earlier error."""
        # c-abi.md, "7.1 Object and kinds": the slot is one per thread; setting replaces.
        self.clear()
        self.runtime.objects.adopt(error)
        self.pending[self.runtime.trampoline.thread()] = error

    def take(self) -> int:
        """Return the pending error with its reference, and empty the slot; 0 if none."""
        error = self.pending.pop(self.runtime.trampoline.thread(), 0)
        if error:
            self.runtime.objects.hand_over(error)
        return error

    def clear(self) -> None:
        """Release the pending error of the calling thread."""
        error = self.take()
        if error:
            self.runtime.objects.decref(error)

    def forget_thread(self, number: int) -> None:
        """Release the pending error of a thread that has ended."""
        error = self.pending.pop(number, 0)
        if error:
            self.runtime.objects.drop(error)

    def store(self, failure: Raised) -> None:
        """Make `failure` the pending error."""
        kind, message = failure.kind.encode(), failure.message.encode()
        self.set_pending(self.new(kind, message))

    def take_as_exception(self, code: int = -1) -> Raised:
        """Return the pending error as an exception of Python, and empty the slot."""
        error = self.take()
        if not error:
            return Raised("InternalError", f"the callee returned {code} without an error")
        kind, message, _ = self.content(error)
        self.runtime.objects.decref(error)
        return Raised(kind, message)

    def TVMFFIErrorMoveFromRaised(self, result: int) -> None:
        # abi-overview.rst, "Retrieve Error Object": transfers ownership to the caller and clears
        # the slot.  c-abi.md, "6.5 Errors": null if none.
        write_pointer(result, self.take())

    def TVMFFIErrorSetRaised(self, error: int) -> None:
        # c-abi.md, "6.5 Errors": adds a reference; the caller keeps its own.
        objects = self.runtime.objects
        if not objects.check_handle(error, "error"):
            return
        if objects.type_index(error) != abi.kTVMFFIError:
            detail = f"the type index of the object is {objects.type_index(error)}"
            self.runtime.checks.report("error.object", "error", detail)
            return
        objects.incref(error)
        self.set_pending(error)

    def TVMFFIErrorSetRaisedFromCStr(self, kind: int, message: int) -> None:
        # abi-overview.rst, "Raise Exception": sets the error of the thread.
        self._raise(kind, read_c_string(message))

    def TVMFFIErrorSetRaisedFromCStrParts(self, kind: int, parts: int, num_parts: int) -> None:
        # c-abi.md, "6.5 Errors": the message is the concatenation; null parts are skipped.
        pointers = [read_pointer(parts + 8 * position) for position in range(num_parts)]
        self._raise(kind, b"".join(read_c_string(pointer) for pointer in pointers))

    def _raise(self, kind: int, message: bytes) -> None:
        name = read_c_string(kind)
        if not name:
            # c-abi.md, "6.1 Conventions": a null kind ends the process; the reference goes on.
            self.runtime.checks.report("error.kind", "kind", "the kind is null or empty")
            name = b"RuntimeError"
        self.set_pending(self.new(name, message))

    def TVMFFIErrorCreate(self, kind: int, message: int, backtrace: int, out: int) -> None:
        self.TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, backtrace, 0, 0, out)

    def TVMFFIErrorCreateWithCauseAndExtraContext(
        self, kind: int, message: int, backtrace: int, cause: int, context: int, out: int
    ) -> None:
        # c-abi.md, "6.5 Errors": the strings are copied.
        for handle, argument in ((cause, "cause_chain"), (context, "extra_context")):
            if handle:
                self.runtime.objects.require(handle, argument)
        texts = [text_at(address).encode() for address in (kind, message, backtrace)]
        write_pointer(out, self.new(*texts, cause, context))

    def TVMFFIBacktrace(self, filename: int, lineno: int, func: int, _cross_boundary: int) -> int:
        # c-abi.md, "7.2 Backtrace text": two spaces, File "PATH", line N, in FUNC, newline.  A
        # build without a library for stacks emits only the frame given by the arguments.
        line = ""
        if filename and func:
            path = read_c_string(filename).decode("utf-8", "replace")
            line = f'  File "{path}", line {lineno}, in {read_c_string(func).decode()}\n'
        limit = os.environ.get("TVM_TRACEBACK_LIMIT", "512")
        text = line.encode() if limit != "0" else b""
        # c-abi.md, "6.5 Errors": array and text belong to the thread, until its next call.
        number, size = self.runtime.trampoline.thread(), ctypes.sizeof(abi.TVMFFIByteArray)
        old = self._backtraces.get(number)
        if old:
            self.runtime.heap.release(old)
        buffer = self.runtime.heap.allocate(size + len(text) + 1, "backtrace")
        ctypes.memmove(buffer + size, text, len(text))
        array = at(abi.TVMFFIByteArray, buffer)
        array.data, array.size = buffer + size, len(text)
        self._backtraces[number] = buffer
        return buffer

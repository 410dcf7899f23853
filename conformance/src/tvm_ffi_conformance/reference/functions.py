# SPDX-License-Identifier: Apache-2.0
"""Chapter 5, functions: function objects, closures, calls, and the table of global functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import POINTER_CALL, at, cell, read_byte_array, read_pointer, text_at, write_pointer
from .values import Pending, Raised, any_at

SAFE_CALL = abi.callback("TVMFFISafeCallType")
_SIZE = abi.HEADER_SIZE + ctypes.sizeof(abi.TVMFFIFunctionCell)
_WRAPPER_SIZE = _SIZE + 24  # self, the callback and the deleter follow the cell

# Body of a closure of Python: address of the arguments, their number, address of the result.
Body = Callable[[int, int, int], None]


class Functions(Chapter):
    """Function objects and the table of global functions."""

    def set_up(self) -> None:
        self.names: dict[int, str] = {}
        self._bodies: dict[int, Body] = {}
        self._symbols: dict[int, Callable[[int, int, int, int], int]] = {}
        self.globals: dict[str, int] = {}
        self.metadata: dict[str, tuple[str, str]] = {}  # metadata and documentation by name

    def new(self, name: str, safe_call: int = 0, size: int = _SIZE) -> int:
        """Return a new function object; without a `safe_call`, the reference runs it."""
        record = self.runtime.objects.new(abi.kTVMFFIFunction, size, self._destroy)
        content = cell(abi.TVMFFIFunctionCell, record.address)
        stub = "tvm_ffi_reference_safe_call"
        content.safe_call = safe_call or self.runtime.trampoline.address(stub)
        # c-abi.md, "8.1 Function": a null cpp_call is always correct; clients use safe_call then.
        content.cpp_call = None
        self.names[record.address] = name
        return record.address

    def _destroy(self, address: int) -> None:
        self.names.pop(address, None)
        self._bodies.pop(address, None)
        self._symbols.pop(address, None)

    def new_symbol(self, symbol: int, name: str, module: int) -> int:
        """Return a function object for an exported symbol; it keeps `module` alive."""
        address = self.new(name)
        self.runtime.objects.incref(module)
        self.runtime.objects.records[address].references.append(module)
        self._symbols[address] = SAFE_CALL(symbol)
        return address

    def new_closure(self, name: str, body: Body, references: Sequence[int] = ()) -> int:
        """Return a function object that calls `body`; it takes over `references`."""
        address = self.new(name)
        self.runtime.objects.records[address].references += references
        self._bodies[address] = body
        return address

    def new_wrapper(self, self_pointer: int, safe_call: int, deleter: int, name: str) -> int:
        """Return a function object for a native callback."""
        if not self_pointer and not deleter:
            # c-abi.md, "13.2 TVMFFIFunctionCreate": the object holds the pointer of the user, whose
            # first argument is the handle of the function, not null.
            return self.new(name, safe_call)
        # Otherwise a larger object forwards the call with `self` as the first argument.
        address = self.new(name, size=_WRAPPER_SIZE)
        for position, pointer in enumerate((self_pointer, safe_call, deleter)):
            write_pointer(address + _SIZE + 8 * position, pointer)

        def destroy(handle: int) -> None:
            self._destroy(handle)
            if deleter:  # runs when the strong count reaches 0
                POINTER_CALL(deleter)(self_pointer)

        self.runtime.objects.records[address].destroy = destroy
        return address

    def on_safe_call(self, handle: int, args: int, n: int, result: int) -> int:
        """Run a function whose safe_call is of the reference; check the call if none did yet."""
        name = self.name_of(handle)
        if self.runtime.checks.frames()[-1:] == [name]:
            return self._run(handle, args, n, result)
        # C++ clients call the pointer in the cell without TVMFFIFunctionCall.
        run = lambda *call: self._run(*(part or 0 for part in call))  # noqa: E731
        return self.runtime.checks.call_from_native(run, handle, args, n, result)

    def _run(self, handle: int, args: int, n: int, result: int) -> int:
        """Run a closure of Python, an exported symbol, or a native callback."""
        body = self._bodies.get(handle)
        if body is not None:
            return self.runtime.guard(self.name_of(handle), lambda: body(args, n, result))
        symbol = self._symbols.get(handle)
        if symbol is not None:
            # c-abi.md, "13.3 Exported function symbols": the handle argument is null.
            return symbol(None, args or None, n, result)
        self_pointer, callback = (read_pointer(handle + _SIZE + 8 * i) for i in (0, 1))
        return SAFE_CALL(callback)(self_pointer, args or None, n, result)

    def name_of(self, handle: int) -> str:
        """Return the name of a function for messages."""
        return self.names.get(handle) or f"function at {handle:#x}"

    def safe_call_of(self, handle: int) -> Callable[[int, int, int, int], int]:
        """Return the callable form of a function's safe_call."""
        # abi-overview.rst, "Function": the FunctionObj stores call pointers after the header.
        return SAFE_CALL(cell(abi.TVMFFIFunctionCell, handle).safe_call)

    def call_object(self, handle: int, args: int, n: int, result: int) -> None:
        """Call a function object from Python; raise `Pending` if it fails."""
        checks = self.runtime.checks
        function = self.safe_call_of(handle)
        code = checks.call_from_python(self.name_of(handle), function, handle, args, n, result)
        if code:
            raise Pending(code)

    def call_views(self, handle: int, views: Sequence[int]) -> abi.TVMFFIAny:
        """Return the owned result of a function object for the values at some addresses."""
        packed = b"".join(bytes(any_at(view)) for view in views)
        buffer, result = ctypes.create_string_buffer(packed, len(packed) or 1), abi.TVMFFIAny()
        out = ctypes.addressof(result)
        self.call_object(handle, ctypes.addressof(buffer), len(views), out)
        return result

    def set_global(self, name: str, handle: int, *, override: bool = False) -> None:
        """Register a function; the table takes its own reference."""
        if name in self.globals and not override:
            # c-abi.md, "6.4 Functions and globals": an existing name without override.
            raise Raised("RuntimeError", f"Global Function `{name}` is already registered")
        objects = self.runtime.objects
        objects.hold(handle)
        self.names.setdefault(handle, name)
        old = self.globals.get(name)
        self.globals[name] = handle
        self.metadata[name] = ("", "")
        if old is not None:
            objects.drop(old)

    def remove_global(self, name: str) -> bool:
        """Remove a global function; return False if it does not exist."""
        handle = self.globals.pop(name, None)
        self.metadata.pop(name, None)
        if handle is None:
            return False
        self.runtime.objects.drop(handle)
        return True

    def TVMFFIFunctionCreate(self, self_: int, safe_call: int, deleter: int, out: int) -> None:
        # abi-overview.rst, "Construct and Destroy": from a TVMFFISafeCallType and a deleter.
        if not safe_call:
            self.runtime.checks.report("function.safe-call", "safe_call", "the pointer is null")
            raise Raised("InternalError", "`safe_call` is null")
        name = f"function created by {self.runtime.checks.where()}"
        write_pointer(out, self.new_wrapper(self_, safe_call, deleter, name))

    def TVMFFIFunctionCall(self, func: int, args: int, num_args: int, result: int) -> int:
        # c-abi.md, "6.4 Functions and globals": calls the safe_call of the cell with the handle as
        # the first argument; nothing else.  The return code of the callee is the result.
        self.runtime.objects.require(func, "func", abi.kTVMFFIFunction)
        function = self.safe_call_of(func)
        return self.runtime.checks.call_from_native(function, func, args, num_args, result)

    def TVMFFIFunctionGetGlobal(self, name: int, out: int) -> None:
        # abi-overview.rst, "Global Registry": returns an owning handle.  c-abi.md, "6.4 Functions
        # and globals": a missing name returns 0 and null.
        handle = self.globals.get(text_at(name), 0)
        if handle:
            self.runtime.objects.incref(handle)
        write_pointer(out, handle)

    def TVMFFIFunctionSetGlobal(self, name: int, f: int, allow_override: int) -> None:
        self.runtime.objects.require(f, "f", abi.kTVMFFIFunction)
        self.set_global(text_at(name), f, override=bool(allow_override))

    def TVMFFIFunctionSetGlobalFromMethodInfo(self, method_info: int, allow_override: int) -> None:
        # c-abi.md, "6.4 Functions and globals": name, doc and metadata are copied, the method is
        # retained.
        info = at(abi.TVMFFIMethodInfo, method_info)
        parts = (info.name, info.doc, info.metadata)
        name, doc, metadata = (read_byte_array(each).decode() for each in parts)
        self.runtime.objects.require(info.method.v_obj or 0, "method", abi.kTVMFFIFunction)
        self.set_global(name, info.method.v_obj, override=bool(allow_override))
        self.metadata[name] = (metadata, doc)

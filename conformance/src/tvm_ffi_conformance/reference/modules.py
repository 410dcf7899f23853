# SPDX-License-Identifier: Apache-2.0
"""Chapter 10, modules: libraries, their symbols, imports, and `__tvm_ffi__library_bin`.

Modules of C++ classes are left out: their base class is C++ code of the runtime.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import read_c_string, read_pointer, write_pointer
from .values import ANY_SIZE, Raised, any_at, write_any

# c-abi.md, "8. In-memory layout of built-in objects": the handle is 8 bytes after the address of
# the C++ object, which begins with its vptr; `imports_` and the cache are at +24 and +32.
VPTR_SIZE = 8
_IMPORTS, _CACHE = 24, 32
_SIZE = 40
_PREFIX = abi.SYMBOL_PREFIX
_KIND_OF_LIBRARY = "_lib"
# c-abi.md, "14.2 Semantics": library modules have mask 3.
PROPERTY_MASK = sum(abi.MODULE_PROPERTY_MASK[name] for name in ("BinarySerializable", "Runnable"))


@dataclass
class Module:
    """What a module object means: its kind and how to find a symbol."""

    kind: str
    find_symbol: Callable[[str], int]
    """Returns the address of a symbol, without the prefix; 0 if it is missing."""


def parse_library_bin(content: bytes) -> tuple[list[list[int]], list[tuple[str, bytes]]]:
    """Return the children of each module, and kind and payload of each module."""
    # compiler-integration.md, "Enable Export and Loading":
    # <import_tree> <key0: str> [val0: bytes] <key1: str> [val1: bytes] ...
    position = 0

    def number() -> int:
        nonlocal position
        if position + 8 > len(content):
            raise Raised("InternalError", "library_bin: the data ends early")
        position += 8
        return int.from_bytes(content[position - 8 : position], "little")

    def sized() -> bytes:
        # "Both bytes and str are serialized as <size: u64> <content>."
        nonlocal position
        size = number()
        if not size or position + size > len(content):
            # c-abi.md, "14.4 Import tree bytes": a length of zero fails, too.
            raise Raised("InternalError", f"library_bin: invalid length {size}")
        position += size
        return content[position - size : position]

    # "<import_tree> uses CSR sparse array format: <indptr: vec<u64>> <child_indices: vec<u64>>."
    rows = [number() for _ in range(number())]
    children = [number() for _ in range(number())]
    modules = []
    for _ in range(len(rows) - 1):
        kind = sized().decode()
        # "_lib indicates the module corresponds to the dynamic library itself"; without payload.
        modules.append((kind, b"" if kind == _KIND_OF_LIBRARY else sized()))
    tree = [children[start:stop] for start, stop in zip(rows, rows[1:])]
    if any(child >= len(modules) for row in tree for child in row):
        raise Raised("InternalError", "library_bin: a child index is out of range")
    return tree, modules


class Modules(Chapter):
    """Loads libraries and finds their functions."""

    def set_up(self) -> None:
        self.modules: dict[int, Module] = {}
        self._context_symbols: dict[str, int] = {}
        self._system_symbols: dict[str, int] = {}
        self._system_libraries: dict[str, int] = {}
        self.pinned: list[int] = []
        self.runtime.objects.layouts[abi.kTVMFFIModule] = self._references

    def new(self, kind: str, find_symbol: Callable[[str], int]) -> int:
        """Return a new module object with an empty Array of imports and an empty Map."""
        objects = self.runtime.objects
        record = objects.new(abi.kTVMFFIModule, _SIZE, self._destroy, before=VPTR_SIZE)
        handle = record.address
        write_pointer(handle - VPTR_SIZE, self.runtime.trampoline.vtable())
        write_pointer(handle + _IMPORTS, self.runtime.sequences.new_array([]))
        write_pointer(handle + _CACHE, self.runtime.maps.new(abi.kTVMFFIMap))
        self.modules[handle] = Module(kind, find_symbol)
        return handle

    def _destroy(self, handle: int) -> None:
        del self.modules[handle]
        for reference in self._references(handle):
            self.runtime.objects.decref(reference)

    def _references(self, handle: int) -> list[int]:
        return [read_pointer(handle + _IMPORTS), read_pointer(handle + _CACHE)]

    def load_file(self, path: str) -> int:
        """Return a new module for a file, through the loader of its format."""
        # c-abi.md, "14.3 Loading": the extension is the text after the last dot.
        extension = os.path.splitext(path)[1][1:]  # noqa: PTH122  # a path of the loader
        if not extension:
            raise Raised("RuntimeError", f"Failed to get file format from {path}")
        if extension in {"dll", "dylib", "dso"}:
            extension = "so"
        loader = self.runtime.functions.globals.get(f"ffi.Module.load_from_file.{extension}")
        if loader is None:
            text = f"Loader for `.{extension}` files is not registered, resolved to (ffi.Module."
            raise Raised("RuntimeError", f"{text}load_from_file.{extension})")
        return self._call_loader(loader, [path.encode(), extension.encode()], text=True)

    def _call_loader(self, loader: int, contents: list[bytes], *, text: bool) -> int:
        """Return the module that a global function makes from strings or bytes."""
        arguments, strings = (abi.TVMFFIAny * len(contents))(), self.runtime.strings
        views = [ctypes.addressof(arguments) + ANY_SIZE * i for i in range(len(contents))]
        for view, content in zip(views, contents):
            (strings.store_text if text else strings.store_bytes)(content, view)
        try:
            result = self.runtime.functions.call_views(loader, views)
        finally:
            for view in views:
                self.runtime.values.release(view)
        if result.type_index != abi.kTVMFFIModule:
            self.runtime.values.release(ctypes.addressof(result))
            raise Raised("TypeError", "a loader of modules returned a value of another type")
        return result.v_obj

    def load_library(self, path: str) -> int:
        """Return the module of a shared library, with its imports."""
        try:
            # c-abi.md, "14.3 Loading": lazy binding and local scope.
            library = ctypes.CDLL(path, mode=os.RTLD_LAZY | os.RTLD_LOCAL)
        except OSError as error:
            text = f"Failed to load dynamic shared library {path} {error}"
            raise Raised("InternalError", text) from error

        # c-abi.md, "14.3 Loading": context symbols first, then the import tree or a single module,
        # then the ModuleObj* of the library module in the library-context slot.
        for name, value in self._context_symbols.items():
            slot = _symbol(library, name)
            if slot:
                write_pointer(slot, value)
        own = self.new("library", lambda name: _symbol(library, _PREFIX + name))
        root = own
        binary = _symbol(library, abi.LIBRARY_BIN_SYMBOL)
        if binary:
            # compiler-integration.md, "Enable Export and Loading": <nbytes: u64>, then the bytes.
            size = ctypes.c_uint64.from_address(binary).value
            root = self._build_tree(own, ctypes.string_at(binary + 8, size))
        slot = _symbol(library, abi.LIBRARY_CTX_SYMBOL)
        if slot:
            # c-abi.md, "20 Traps checklist": library_ctx uses the lower address.
            write_pointer(slot, own - VPTR_SIZE)
        return root

    def _build_tree(self, own: int, content: bytes) -> int:
        """Return module 0 of the import tree, which owns the others."""
        tree, kinds = parse_library_bin(content)
        modules: list[int] = []
        for kind, payload in kinds:
            if kind == _KIND_OF_LIBRARY:
                modules.append(own)
                continue
            loader = self.runtime.functions.globals.get(f"ffi.Module.load_from_bytes.{kind}")
            if loader is None:
                text = f"Library binary was created using {{{kind}}} but a loader of that name"
                raise Raised("RuntimeError", f"{text} is not registered.")
            modules.append(self._call_loader(loader, [payload], text=False))
        for parent, row in zip(modules, tree):
            for child in row:
                self.import_module(parent, modules[child])
        # compiler-integration.md: the final composed module is returned: the result is module 0.
        for module in modules[1:]:
            self.runtime.objects.decref(module)
        return modules[0]

    def imports(self, handle: int) -> list[int]:
        """Return the handles of the imported modules."""
        elements = self.runtime.sequences.elements(read_pointer(handle + _IMPORTS))
        return [any_at(address).v_obj for address in elements]

    def import_module(self, handle: int, other: int) -> None:
        """Append a module to the imports of another."""
        # c-abi.md, "14.2 Semantics": cycles are refused.
        pending = [other]
        while pending:
            module = pending.pop()
            if module == handle:
                raise Raised("RuntimeError", "Cyclic dependency detected during import")
            pending += self.imports(module)
        view = abi.TVMFFIAny()
        write_any(ctypes.addressof(view), abi.kTVMFFIModule, other)
        elements = self.runtime.sequences.elements(read_pointer(handle + _IMPORTS))
        array = self.runtime.sequences.new_array([*elements, ctypes.addressof(view)])
        old = read_pointer(handle + _IMPORTS)
        write_pointer(handle + _IMPORTS, array)
        self.runtime.objects.decref(old)

    def clear_imports(self, handle: int) -> None:
        """Remove all imports."""
        old = read_pointer(handle + _IMPORTS)
        write_pointer(handle + _IMPORTS, self.runtime.sequences.new_array([]))
        self.runtime.objects.decref(old)

    def symbol(self, handle: int, name: str) -> int:
        """Return the address of an exported function of a module; 0 if it is missing."""
        module = self.modules.get(handle)
        return module.find_symbol(name) if module else 0

    def get_function(self, handle: int, name: str, *, query_imports: bool) -> int:
        """Return a new function object for a name; 0 if it is missing."""
        # stable-c-abi.rst, "Callee: add_one_cpu Kernel": the symbol is __tvm_ffi_{func_name}.
        symbol = self.symbol(handle, name)
        if symbol:
            return self.runtime.functions.new_symbol(symbol, name, handle)
        # c-abi.md, "14.2 Semantics": the own function first, then each import depth-first.
        if query_imports:
            for module in self.imports(handle):
                found = self.get_function(module, name, query_imports=True)
                if found:
                    return found
        return 0

    def text_of(self, handle: int, prefix: str, name: str) -> str | None:
        """Return the text that a metadata or documentation symbol returns."""
        # c-abi.md, "13.3 Exported function symbols": a packed function without arguments.
        function = self.get_function(handle, prefix[len(_PREFIX) :] + name, query_imports=False)
        if not function:
            return None
        try:
            result = self.runtime.functions.call_views(function, [])
            content = self.runtime.strings.read(ctypes.addressof(result))
            self.runtime.values.release(ctypes.addressof(result))
        finally:
            self.runtime.objects.decref(function)
        return None if content is None else content.decode()

    def system_library(self, prefix: str) -> int:
        """Return the module of the symbols that were registered, with a new reference."""
        # c-abi.md, "14.3 Loading": one cached module per prefix; __tvm_ffi_ + prefix + name, then
        # __tvm_ffi_ + name.
        if prefix not in self._system_libraries:
            symbols = self._system_symbols

            def find(name: str) -> int:
                return symbols.get(f"{_PREFIX}{prefix}{name}") or symbols.get(_PREFIX + name) or 0

            handle = self.new("library", find)
            self.runtime.objects.adopt(handle)
            self._system_libraries[prefix] = handle
        handle = self._system_libraries[prefix]
        self.runtime.objects.incref(handle)
        return handle

    def TVMFFIEnvModLookupFromImports(self, library_ctx: int, func_name: int, out: int) -> None:
        # c-abi.md, "6.9 Environment": library_ctx is the ModuleObj*; the result is borrowed from a
        # cache of the module; cache, then imports, then global functions.
        handle, name = library_ctx + VPTR_SIZE, read_c_string(func_name).decode()
        if handle not in self.modules:
            raise Raised("InternalError", "`library_ctx` is not a module")
        key = abi.TVMFFIAny()
        self.runtime.strings.store_text(name.encode(), ctypes.addressof(key))
        cache = read_pointer(handle + _CACHE)
        try:
            with self.runtime.once:
                found = self.runtime.maps.find(cache, ctypes.addressof(key))
                function = any_at(found).v_obj if found else self._fill_cache(handle, name, key)
        finally:
            self.runtime.values.release(ctypes.addressof(key))
        write_pointer(out, function)

    def _fill_cache(self, handle: int, name: str, key: abi.TVMFFIAny) -> int:
        """Find a function for a library and put it into the cache, which owns it."""
        function = self._find_imported(handle, name)
        value = abi.TVMFFIAny()
        write_any(ctypes.addressof(value), abi.kTVMFFIFunction, function)
        cache = read_pointer(handle + _CACHE)
        self.runtime.maps.set(cache, ctypes.addressof(key), ctypes.addressof(value))
        self.runtime.objects.decref(function)
        return function

    def _find_imported(self, handle: int, name: str) -> int:
        for module in self.imports(handle):
            function = self.get_function(module, name, query_imports=True)
            if function:
                return function
        function = self.runtime.functions.globals.get(name, 0)
        if not function:
            text = f"Cannot find function {name} in the imported modules or global registry."
            raise Raised("RuntimeError", text)
        self.runtime.objects.incref(function)
        return function

    def TVMFFIEnvModRegisterContextSymbol(self, name: int, symbol: int) -> None:
        # c-abi.md, "6.9 Environment": applied to libraries that are loaded afterwards.
        self._context_symbols[read_c_string(name).decode()] = symbol

    def TVMFFIEnvModRegisterSystemLibSymbol(self, name: int, symbol: int) -> None:
        # c-abi.md, "6.9 Environment": always 0; a different address replaces the earlier one.
        self._system_symbols[read_c_string(name).decode()] = symbol


def _symbol(library: ctypes.CDLL, name: str) -> int:
    """Return the address of a symbol; 0 if it is missing."""
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(library, name))
    except ValueError:
        return 0

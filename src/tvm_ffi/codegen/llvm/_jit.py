# SPDX-License-Identifier: Apache-2.0
"""`JitModule`: modules that LLVM compiles in this process."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

from llvmlite import binding as llvm

from ..._binding.call import Function
from ...builds import announce
from ...export import export_library as export_objects
from ...module import CustomModule, ModulePropertyMask
from ...registry import get_global_func
from . import _target as target
from ._code import RUNTIME
from ._emit import rows_of

__all__ = ["JitModule", "export", "is_exported"]

_PREFIX = "__tvm_ffi_"
_CONTEXT = "__tvm_ffi__library_ctx"  # data symbol for the address of the module
_LIBRARY_NAMES = ("_library_ctx", "_library_bin")
_engine: Any = None  # the LLVM JIT of this process; it frees machine code without references
_numbers = itertools.count()
_kept_alive: list[Any] = []  # references to machine code that is never freed


class JitModule(
    CustomModule,
    kind="llvm",
    properties=ModulePropertyMask.RUNNABLE | ModulePropertyMask.COMPILATION_EXPORTABLE,
):
    """Module of functions that LLVM has compiled in this process; it also stores the IR.

    Created by `tvm_ffi.codegen.llvm.jit`.  Functions keep the code alive.  `export_library` writes
    the module to a library, compiled again for the baseline of the architecture.  `write_to_file`
    writes an object file (``"o"``), IR (``"ll"``) or assembly (``"s"``); `inspect_source` returns
    the text formats.
    """

    __module__ = "tvm_ffi.codegen.llvm"  # the module from which users import the class

    def __init__(self, text: str, symbols: Mapping[str, int], level: int) -> None:
        self._triple = target.triple_of(text)
        target.check_is_here(self._triple)
        # Make callees internal, because other libraries may define symbols with the same names.
        text = target.linked([text], is_exported, self._triple)
        self._text, self._level = text, level
        names = [name for name in target.exported_functions(text) if name.startswith(_PREFIX)]
        has_context = _CONTEXT in target.variables(text)
        exported = [*names, _CONTEXT] if has_context else names
        self._code = _loaded(text, exported, symbols, level)
        suffixes = [name[len(_PREFIX) :] for name in names]
        self._names = tuple(name for name in suffixes if not _is_description(name, suffixes))
        self._functions = {name: self._function(name) for name in self._names}
        if not _can_be_unloaded(text, self._names):
            _kept_alive.append(self._code)
        if has_context:
            # The code finds functions of imported modules by this slot.  The call also keeps the
            # module until the process ends.
            slot = ctypes.c_void_p(self._code[_CONTEXT])
            get_global_func("pytvmffi.ModuleSetLibraryContext")(self, slot)

    def _function(self, name: str) -> Function:
        address = self._code[_PREFIX + name]
        return Function.__from_extern_c__(address, keep_alive_object=self._code)

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return the function with this name; None if the module does not have it."""
        return self._functions.get(name)

    def function_names(self) -> tuple[str, ...]:
        """Return the names of all functions."""
        return self._names

    def find_function_doc(self, name: str) -> str | None:
        """Return the documentation of a function; None if it has no documentation."""
        return self._metadata_string("doc", name)

    def find_function_metadata(self, name: str) -> dict[str, Any] | None:
        """Return the metadata of a function; None if it has no metadata."""
        text = self._metadata_string("metadata", name)
        metadata: dict[str, Any] | None = None if text is None else json.loads(text)
        return metadata

    def _metadata_string(self, kind: str, name: str) -> str | None:
        symbol = f"_{kind}_{name}"
        if name not in self._functions or f"{_PREFIX}{symbol}" not in self._code:
            return None
        text: str = self._function(symbol)()
        return text

    def object_code(self, cpu: str = "", features: str = "") -> bytes:
        """Return the module as an object file, by default for the baseline of the architecture."""
        return target.object_of(self._text, self._triple, cpu, features, self._level)

    def get_write_formats(self) -> list[str]:  # type: ignore[override]
        """Return the formats of `write_to_file`."""
        return ["o", "ll", "s"]

    def inspect_source(self, fmt: str = "") -> str:
        """Return the module as IR (``"ll"``, the default) or as assembly (``"s"``)."""
        if fmt == "s":
            return target.assembly_of(self._text, self._triple, "", "", self._level)
        return self._text if fmt in ("", "ll") else ""

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write an object file for the baseline of the architecture, or the module as text."""
        fmt = fmt or Path(file_name).suffix.removeprefix(".")
        if fmt not in self.get_write_formats():
            formats = ", ".join(self.get_write_formats())
            raise ValueError(f"a module of kind llvm is written as {formats}, not as {fmt!r}")
        is_text = fmt != "o"
        code = self.inspect_source(fmt).encode("utf-8") if is_text else self.object_code()
        Path(file_name).write_bytes(code)


def export(
    path: str | os.PathLike[str],
    modules: Sequence[JitModule],
    cpu: str,
    features: str,
    options: Mapping[str, Any],
) -> Path:
    """Write modules to one library; see `tvm_ffi.codegen.llvm.export_library`."""
    for module in modules:
        if not isinstance(module, JitModule):
            raise TypeError(
                f"expected a module that codegen.llvm.jit returned, got {type(module).__name__}"
            )
    if not modules:
        raise ValueError("expected at least one module, got none")
    names = [name for module in modules for name in module.function_names()]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise ValueError(f"duplicate function name '{duplicate}'")
    level = max(module._level for module in modules)
    triple = target.triple_of("")
    text = target.linked([module._text for module in modules], is_exported, triple)
    with tempfile.TemporaryDirectory(prefix="tvm_ffi_") as folder:
        file = Path(folder) / "code.o"
        file.write_bytes(target.object_of(text, triple, cpu, features, level))
        return export_objects(path, objects=file, functions=names, **options)


def is_exported(name: str) -> bool:
    """Return True if a symbol of a module is visible to callers or tools."""
    return name.startswith((_PREFIX, "tvm_ffi.rows"))


class _Code:
    """Machine code in memory; deleting this object releases the machine code."""

    def __init__(self, tracker: Any, names: list[str]) -> None:
        self._tracker = tracker
        self._addresses: dict[str, int] = {name: tracker[name] for name in names}

    def __getitem__(self, name: str) -> int:
        return self._addresses[name]

    def __contains__(self, name: str) -> bool:
        return name in self._addresses


def _loaded(text: str, names: list[str], symbols: Mapping[str, int], level: int) -> _Code:
    """Compile a module for this machine and load it."""
    global _engine  # noqa: PLW0603  (created with the first module)
    triple = target.triple_of(text)
    functions = [name[len(_PREFIX) :] for name in names if name.startswith(_PREFIX)]
    key = hashlib.sha256(f"{level}\n{text}".encode()).hexdigest()
    reasons = ["codegen.llvm.jit compiles in each process; export_library writes a library"]
    announce("LLVM", ", ".join(functions) or "module", key=key, reasons=reasons)
    with target.LOCK:
        features = llvm.get_host_cpu_features().flatten()
        code = target.object_of(text, triple, llvm.get_host_cpu_name(), features, level)
        if _engine is None:
            _engine = llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)
            _engine._owned = True  # keep the machine code at exit: functions may be called later
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name, address in symbols.items():
            library.import_symbol(name, address)
        for name in names:
            library.export_symbol(name)
        try:
            tracker = library.link(_engine, f"tvm_ffi.{next(_numbers)}")
        except RuntimeError as error:
            missing = target.missing_functions(text, symbols)
            problem = (
                f"this process does not define the functions {', '.join(missing)}"
                if missing
                else str(error)
            )
            raise ValueError(f"the module cannot be linked: {problem}") from error
    return _Code(tracker, names)


def _can_be_unloaded(text: str, names: Iterable[str]) -> bool:
    """Return True if results of these functions never need the functions' machine code.

    Wrappers return numbers, and tensors from other allocators.  Other functions, and functions that
    create objects, may return objects whose deleters are in the code.
    """
    calls = {name for name in target.declared_functions(text) if name.startswith("TVMFFI")}
    return calls <= RUNTIME.keys() and {*map(rows_of, names)} <= target.variables(text)


def _is_description(name: str, names: list[str]) -> bool:
    """Return True if a symbol is for metadata, documentation or module loading, not for calls."""
    described = (name.removeprefix(f"_{kind}_") for kind in ("metadata", "doc"))
    return name in _LIBRARY_NAMES or any(other != name and other in names for other in described)

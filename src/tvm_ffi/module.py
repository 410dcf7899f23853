# SPDX-License-Identifier: Apache-2.0
"""Modules: functions loaded from a file."""

from __future__ import annotations

import os
from enum import IntEnum
from typing import Any

from . import _ffi_api
from ._binding._function import Function
from ._binding._object import Object, register_class, type_key_to_index

__all__ = ["Module", "ModulePropertyMask", "load_module"]


class ModulePropertyMask(IntEnum):
    """What can be done with a module; bits of ``Module.get_property_mask()``."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    COMPILATION_EXPORTABLE = 4


class Module(Object):
    """Named functions from one source, such as a shared library.

    ``module.f``, ``module["f"]`` and ``module.get_function("f")`` are the same function;
    ``module(...)`` calls the function named `entry_name`.  Made by `load_module`.

    Notes
    -----
    A function keeps its module alive, and a loaded library stays mapped for the life of the
    process: whatever its functions return may outlive both.
    """

    __slots__ = ("__dict__",)
    entry_name = "main"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("Module cannot be constructed directly; use load_module")

    @property
    def kind(self) -> str:
        """Kind of the module, ``"library"`` for shared libraries."""
        return str(_ffi_api.ModuleGetKind(self))

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Return a function of the module.

        Parameters
        ----------
        name : str
            Name of the function.
        query_imports : bool
            Whether to look into imported modules as well.

        Raises
        ------
        AttributeError
            If the module has no such function.
        """
        function: Function | None = _ffi_api.ModuleGetFunction(self, name, query_imports)
        if function is None:
            raise AttributeError(f"Module has no function '{name}'")
        function.__name__ = name
        return function

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether the module has a function of this name."""
        implemented: bool = _ffi_api.ModuleImplementsFunction(self, name, query_imports)
        return implemented

    def get_function_metadata(
        self, name: str, query_imports: bool = False
    ) -> dict[str, Any] | None:
        """Return what the library says about a function; None when it says nothing."""
        import json

        text: str | None = _ffi_api.ModuleGetFunctionMetadata(self, name, query_imports)
        metadata: dict[str, Any] | None = None if text is None else json.loads(text)
        return metadata

    def get_function_doc(self, name: str, query_imports: bool = False) -> str | None:
        """Return the documentation of a function; None when the library has none."""
        doc: str | None = _ffi_api.ModuleGetFunctionDoc(self, name, query_imports)
        return doc

    def import_module(self, module: Module) -> None:
        """Let functions of another module be found through this one.

        Raises
        ------
        RuntimeError
            If the other module already imports this one, directly or not.
        """
        _ffi_api.ModuleImportModule(self, module)

    def clear_imports(self) -> None:
        """Forget all imported modules."""
        _ffi_api.ModuleClearImports(self)

    def inspect_source(self, fmt: str = "") -> str:
        """Return the module's source in a format; empty when it has none."""
        source: str = _ffi_api.ModuleInspectSource(self, fmt)
        return source

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write the module to a file; RuntimeError where its kind cannot."""
        _ffi_api.ModuleWriteToFile(self, file_name, fmt)

    def get_property_mask(self) -> int:
        """Return the bits of `ModulePropertyMask` that hold."""
        mask: int = _ffi_api.ModuleGetPropertyMask(self)
        return mask

    def is_binary_serializable(self) -> bool:
        """Whether the module can be saved to bytes."""
        return bool(self.get_property_mask() & ModulePropertyMask.BINARY_SERIALIZABLE)

    def is_runnable(self) -> bool:
        """Whether the module has functions to call."""
        return bool(self.get_property_mask() & ModulePropertyMask.RUNNABLE)

    def is_compilation_exportable(self) -> bool:
        """Whether the module can be exported as an object file."""
        return bool(self.get_property_mask() & ModulePropertyMask.COMPILATION_EXPORTABLE)

    def __getattr__(self, name: str) -> Function:
        # Reached for names that are not there yet; the answer is kept in the instance.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        function = self.get_function(name)
        self.__dict__[name] = function
        return function

    def __getitem__(self, name: str) -> Function:
        if not isinstance(name, str):
            raise ValueError(f"a module is indexed by a function name, got {type(name).__name__}")
        return self.get_function(name)

    def __call__(self, *args: Any) -> Any:
        """Call the function named `entry_name`."""
        return self.get_function(self.entry_name)(*args)


def load_module(path: str | os.PathLike[str], keep_module_alive: bool = True) -> Module:
    """Load a module from a file.

    Parameters
    ----------
    path : str or os.PathLike
        The file; its suffix selects the loader.  A relative path without a slash is searched for
        as the system's dynamic loader does.
    keep_module_alive : bool
        Whether the module object stays for the life of the process.

    Raises
    ------
    RuntimeError
        If the file cannot be loaded, or no loader is registered for the suffix.
    """
    module: Module = _ffi_api.ModuleLoadFromFile(os.fspath(path))
    if keep_module_alive:
        _ffi_api.ModuleGlobalsAdd(module)
    return module


_index = type_key_to_index("ffi.Module")
assert _index is not None  # one of the built-in types
register_class(_index, Module)

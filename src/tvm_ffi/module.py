# SPDX-License-Identifier: Apache-2.0
"""Modules: functions loaded from a file."""

from __future__ import annotations

import os
from enum import IntEnum
from typing import Any

from ._binding._function import Function, find_global_func
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

    entry_name = "main"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("Module cannot be constructed directly; use load_module")

    @property
    def kind(self) -> str:
        """Kind of the module, ``"library"`` for shared libraries."""
        return _MODULE_GET_KIND(self)

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
        function = _MODULE_GET_FUNCTION(self, name, query_imports)
        if function is None:
            raise AttributeError(f"Module has no function '{name}'")
        function.__name__ = name
        return function

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether the module has a function of this name."""
        return _MODULE_IMPLEMENTS_FUNCTION(self, name, query_imports)

    def get_function_metadata(
        self, name: str, query_imports: bool = False
    ) -> dict[str, Any] | None:
        """Return what the library says about a function; None when it says nothing."""
        import json

        text = _MODULE_GET_FUNCTION_METADATA(self, name, query_imports)
        return None if text is None else json.loads(text)

    def get_function_doc(self, name: str, query_imports: bool = False) -> str | None:
        """Return the documentation of a function; None when the library has none."""
        return _MODULE_GET_FUNCTION_DOC(self, name, query_imports)

    def import_module(self, module: Module) -> None:
        """Let functions of another module be found through this one.

        Raises
        ------
        RuntimeError
            If the other module already imports this one, directly or not.
        """
        _MODULE_IMPORT_MODULE(self, module)

    def clear_imports(self) -> None:
        """Forget all imported modules."""
        _MODULE_CLEAR_IMPORTS(self)

    def inspect_source(self, fmt: str = "") -> str:
        """Return the module's source in a format; empty when it has none."""
        return _MODULE_INSPECT_SOURCE(self, fmt)

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write the module to a file; RuntimeError where its kind cannot."""
        _MODULE_WRITE_TO_FILE(self, file_name, fmt)

    def get_property_mask(self) -> int:
        """Return the bits of `ModulePropertyMask` that hold."""
        return _MODULE_GET_PROPERTY_MASK(self)

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
    module = _MODULE_LOAD_FROM_FILE(os.fspath(path))
    if keep_module_alive:
        _MODULE_GLOBALS_ADD(module)
    return module


register_class(type_key_to_index("ffi.Module"), Module)

_MODULE_LOAD_FROM_FILE = find_global_func("ffi.ModuleLoadFromFile")
_MODULE_GLOBALS_ADD = find_global_func("ffi.ModuleGlobalsAdd")
_MODULE_GET_KIND = find_global_func("ffi.ModuleGetKind")
_MODULE_GET_FUNCTION = find_global_func("ffi.ModuleGetFunction")
_MODULE_IMPLEMENTS_FUNCTION = find_global_func("ffi.ModuleImplementsFunction")
_MODULE_GET_FUNCTION_METADATA = find_global_func("ffi.ModuleGetFunctionMetadata")
_MODULE_GET_FUNCTION_DOC = find_global_func("ffi.ModuleGetFunctionDoc")
_MODULE_IMPORT_MODULE = find_global_func("ffi.ModuleImportModule")
_MODULE_CLEAR_IMPORTS = find_global_func("ffi.ModuleClearImports")
_MODULE_INSPECT_SOURCE = find_global_func("ffi.ModuleInspectSource")
_MODULE_WRITE_TO_FILE = find_global_func("ffi.ModuleWriteToFile")
_MODULE_GET_PROPERTY_MASK = find_global_func("ffi.ModuleGetPropertyMask")

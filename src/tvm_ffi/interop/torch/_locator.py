# SPDX-License-Identifier: Apache-2.0
"""Locators of functions: the module, global name or Python callable that a function comes from.

A saved program contains the locators of the functions that it calls.  A locator contains the same
information as the function's pickle.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from ..._binding.call import Function, convert_func, function_of_class, named_function
from ..._binding.object import NativeReference
from ..._internal.platform import memory_map
from ...module import Module
from ...module._signatures import display_name
from ...registry import get_global_func_metadata
from ...signature import Signature
from .._file_digest import file_digest

__all__ = ["FunctionLocator", "content_of_file", "locate"]


@dataclass(frozen=True)
class FunctionLocator:
    """The module, global name or Python callable that a function comes from.

    Parameters
    ----------
    name : str
        Name of the function in its module, or its global name.
    library : str
        Path of the module's file, or the display name of a module without a file.  Empty for a
        function that does not belong to a module.
    is_global : bool
        True if `name` is a global name.
    identity : hashable
        A key that is equal for all `Function` wrappers of the same native function while one of
        them exists.
    source : object
        The module, the global function or the Python callable.
    """

    name: str
    library: str
    is_global: bool
    identity: Hashable
    source: Any

    @property
    def stem(self) -> str:
        """First component of the operator's name: the library's name, "global" or "python"."""
        if self.library:
            return PurePath(self.library).name.partition(".")[0]
        return "global" if self.is_global else "python"

    @property
    def content(self) -> str | None:
        """Digest of the library's file; None if only this process has the function.

        Empty for a global function, which other processes find by its name.
        """
        if self.library:
            return None if self.is_file_replaced else content_of_file(self.library)
        return "" if self.is_global else None

    @property
    def is_file_replaced(self) -> bool:
        """True if the library's file was replaced or removed after the process had loaded it."""
        is_library = isinstance(self.source, Module) and self.source.kind == "library"
        return (
            is_library
            and Path(self.library).is_absolute()
            and not _is_mapped(self.source, self.library)
        )

    def __str__(self) -> str:
        if not self.library:
            return f"{'global' if self.is_global else 'Python'} function '{self.name}'"
        content = self.content
        digest = f" (sha256 {content[:16]})" if content else ""
        if self.is_file_replaced:
            digest = ", whose file was replaced or removed after this process had loaded it"
        return f"function '{self.name}' of {self.library}{digest}"

    def signature(self) -> Signature | None:
        """Return the function's signature, or None if the function does not declare one."""
        if isinstance(self.source, Module):
            return self.source.get_function_signature(self.name, True)
        if self.is_global:
            return Signature.from_metadata(get_global_func_metadata(self.name), self.name)
        try:
            return Signature.from_function(self.source)
        except (TypeError, ValueError):
            return None


def locate(function: Function) -> FunctionLocator | None:
    """Return the locator of a function, or None if the function cannot be pickled."""
    try:
        reconstruct, args = function.__reduce__()
        # The pickle of an instance of a subclass of `Function` contains the plain `Function`.
        if reconstruct is function_of_class:
            reconstruct, args = args[1].__reduce__()
    except TypeError:
        return None
    if reconstruct is named_function:
        return FunctionLocator(args[0], "", True, (args[0], _address(function)), function)
    if reconstruct is convert_func:
        name = getattr(args[0], "__name__", "")
        return FunctionLocator(name, "", False, _address(function), args[0])
    if not isinstance(args[0], Module):  # for example a dispatch without a global name
        return None
    module, name, _ = args
    return FunctionLocator(name, display_name(module), False, (module.__chandle__(), name), module)


def content_of_file(path: str | os.PathLike[str]) -> str | None:
    """Return the digest of a file; None if the file does not exist."""
    try:
        return file_digest(path)
    except OSError:
        return None


# Files that are mapped, by path: the module, and the device and the inode number of the file.
# No other file gets these numbers while the module exists, because the module keeps the mapping.
_mapped_files: dict[str, tuple[NativeReference, tuple[int, int]]] = {}


def _is_mapped(module: Module, path: str) -> bool:
    """Return True if a file is the one that the process has mapped under this path for a module."""
    try:
        status = Path(path).stat()
    except OSError:
        return False
    file = status.st_dev, status.st_ino
    known = _mapped_files.get(path)
    if known is None or known[1] != file or known[0]() != module:
        if not _is_path_mapped(path):
            return False
        _mapped_files[path] = NativeReference(module), file
    return True


def _is_path_mapped(path: str) -> bool:
    """Return True if a file is the one that the process has mapped under this path.

    The kernel marks the path of a mapped file that was removed or replaced.
    """
    lines = memory_map()
    if lines is None:
        return True
    mapped = {fields[5] for line in lines.splitlines() if len(fields := line.split(None, 5)) == 6}
    name = os.fsencode(Path(path).resolve())
    return name in mapped and name + b" (deleted)" not in mapped


def _address(function: Function) -> int:
    return function.__chandle__()

# SPDX-License-Identifier: Apache-2.0
"""Rules for the names of a new distribution, of its module and of its functions."""

from __future__ import annotations

import keyword
import re
import sys

# Target names that CMake reserves; the CMake target of the library has the name of the module.
_CMAKE_TARGETS = {
    *("all", "clean", "edit_cache", "help", "install", "package", "package_source", "preinstall"),
    *("rebuild_cache", "test"),
}
# Modules that the generated files import.  A new module with one of these names would hide the
# imported module.
_USED_HERE = {"numpy", "pytest", "pytvmffi", "tests", "tvm_ffi"}
# Names in the generated modules that a function must not replace.
_USED_IN_MODULES = {"_LIBRARY", "_libinfo", "_library"}
# Python 3.9 lacks sys.stdlib_module_names.
_STANDARD_LIBRARY = getattr(sys, "stdlib_module_names", sys.builtin_module_names)


def module_name(distribution: str) -> str:
    """Return the module name for a distribution name.

    Raises
    ------
    ValueError
        If the distribution name is invalid, or Python or CMake does not allow the module name.

    Notes
    -----
    Source: PyPA specification "Names and normalization", which was PEP 503 and PEP 508.
    """
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", distribution):
        raise ValueError(
            "package name: expected ASCII letters, digits, '-', '_' and '.', beginning and ending "
            f"with a letter or digit, got {distribution!r}"
        )
    module = re.sub(r"[-_.]+", "_", distribution).lower()
    for is_wrong, why in (
        (not module.isidentifier(), "is not a Python identifier"),
        (keyword.iskeyword(module), "is a Python keyword"),
        (module in _STANDARD_LIBRARY, "is a standard library module"),
        (module in _USED_HERE, "is a module that the new package uses"),
        (module in _CMAKE_TARGETS, "is a target that CMake reserves"),
    ):
        if is_wrong:
            raise ValueError(
                f"package {distribution!r}: its module would be {module!r}, which {why}"
            )
    return module


def why_unusable(function: str) -> str | None:
    """Return the reason why a module cannot have a function with a name; None if it can."""
    if keyword.iskeyword(function):
        return "is a Python keyword"
    if function.startswith("__") and function.endswith("__"):
        return "is reserved by Python, as all names that begin and end with two underscores"
    if function in _USED_IN_MODULES:
        return "is a name that the new package uses"
    return None

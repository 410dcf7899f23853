# SPDX-License-Identifier: Apache-2.0
"""Names of distributions, and of the modules in them."""

from __future__ import annotations

import keyword
import re
import sys

# Names that CMake keeps for targets of its own; the library is a target of the module's name.
_CMAKE_TARGETS = {
    *("all", "clean", "edit_cache", "help", "install", "package", "package_source", "preinstall"),
    *("rebuild_cache", "test"),
}
# What a package that is built and tested with our files imports.
_USED_HERE = {"numpy", "pytest", "pytvmffi", "tests", "tvm_ffi"}
_STANDARD_LIBRARY = getattr(sys, "stdlib_module_names", sys.builtin_module_names)  # from 3.10 on


def module_name(distribution: str) -> str:
    """Return the name of the module in a distribution.

    Raises
    ------
    ValueError
        If an index would not take the distribution's name, or Python or CMake not the module's.

    Notes
    -----
    Source: PyPA specification "Names and normalization", which was PEP 503 and PEP 508.
    """
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", distribution):
        raise ValueError(
            "a package's name has ASCII letters, digits, '-', '_' and '.', and begins and ends "
            f"with a letter or digit; got {distribution!r}"
        )
    module = re.sub(r"[-_.]+", "_", distribution).lower()
    for is_wrong, why in (
        (not module.isidentifier(), "is no identifier of Python"),
        (keyword.iskeyword(module), "is a keyword of Python"),
        (module in _STANDARD_LIBRARY, "is a module of Python itself"),
        (module in _USED_HERE, "is a module that the new package uses"),
        (module in _CMAKE_TARGETS, "is a target that CMake reserves"),
    ):
        if is_wrong:
            raise ValueError(
                f"package {distribution!r}: its module would be {module!r}, which {why}"
            )
    return module

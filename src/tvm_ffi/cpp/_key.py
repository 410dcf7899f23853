# SPDX-License-Identifier: Apache-2.0
"""Cache keys: the hash of a recipe and of the files that the recipe names.

A key contains no path, host, user or time, so that a cache can be filled on another machine, see
`_portable`.  Headers are not part of the cache key, because they are known only after the compiler
has run.  `_freshness` compares them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import NamedTuple, Union

from .._internal.platform import SYSTEM, machine, processor
from .._internal.regular_file import open_regular
from .._version import __version__
from ._files import content_digest, existing_files, text_digest
from ._recipe import Recipe

__all__ = ["TOOLCHAIN", "CacheKey", "Input", "cache_key", "key_of"]

# The value of an input.  A manifest contains it, so JSON must be able to represent it.
Input = Union[str, "list[str]"]

# Environment variables that change the search paths or the options of compilers and linkers.
_VARIABLES = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH"),
    *("GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS", "SDKROOT"),
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "HIP_PATH", "HIP_PLATFORM"),
    *("HIPCC_COMPILE_FLAGS_APPEND", "HIPCC_LINK_FLAGS_APPEND", "HIP_CLANG_PATH"),
)
_TIME = re.compile(rb"__(?:DATE|TIME)__")
# Options that select the processor of this machine: -march=native, -mtune=native.
_NATIVE = re.compile(r"-m(?:arch|cpu|tune)=native\b")
# Inputs that only a machine with compilers has; their names begin with one of these words.
TOOLCHAIN = ("compiler ", "variable ")


class CacheKey(NamedTuple):
    """The cache key of a recipe."""

    digest: str
    """SHA-256 of the recipe's name and inputs, in hexadecimal."""
    inputs: dict[str, Input]
    """The inputs by name; build reasons use the names to explain why two keys differ."""
    recipe: str
    """SHA-256 of the recipe's name and of the inputs without compilers and their variables."""
    has_compilers: bool = True
    """False if this machine lacks a compiler; builds of any compiler then serve."""


def cache_key(recipe: Recipe) -> CacheKey:
    """Return the cache key of a recipe; the function reads the source files in the recipe."""
    portable = recipe.portable
    inputs: dict[str, Input] = {
        "package": __version__,
        "platform": f"{SYSTEM} {machine()}",
        "functions": list(recipe.exports),
        "product": recipe.product,
        "linked files": portable.paths(existing_files(recipe.linked)),
    }
    for language, version in recipe.compilers.items():
        inputs[f"compiler {language}"] = version
    for step in recipe.steps:
        inputs[f"command for {step.output}"] = portable.command(step.command)
        if any(map(_NATIVE.search, step.command)):
            inputs["processor"] = processor()
    has_time = False
    for name, content in recipe.files.items():
        text = content if isinstance(content, str) else content.decode("latin-1")
        inputs[f"source {name}"] = text_digest(text)
        has_time |= "__DATE__" in text or "__TIME__" in text
    for path in recipe.sources:
        inputs[f"source {portable.path(path)}"] = content_digest(path)
    for variable in _VARIABLES:
        if variable in os.environ:
            inputs[f"variable {variable}"] = os.environ[variable]
    # Compilers read the time from this variable, for two macros only.
    if "SOURCE_DATE_EPOCH" in os.environ and (has_time or any(map(_uses_time, recipe.sources))):
        inputs["variable SOURCE_DATE_EPOCH"] = os.environ["SOURCE_DATE_EPOCH"]
    return key_of(recipe.name, inputs)._replace(has_compilers=not recipe.problem)


def key_of(name: str, inputs: Mapping[str, Input]) -> CacheKey:
    """Return the cache key for the name and the inputs of a recipe, such as those of a manifest."""
    common = {key: value for key, value in inputs.items() if not key.startswith(TOOLCHAIN)}
    return CacheKey(_digest(name, inputs), dict(inputs), _digest(name, common))


def _digest(name: str, inputs: Mapping[str, Input]) -> str:
    text = json.dumps([name, inputs], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _uses_time(path: str) -> bool:
    """Return True if a source file uses the time of its compilation."""
    try:
        with open_regular(path) as file:
            return _TIME.search(file.readall()) is not None
    except OSError:
        return False

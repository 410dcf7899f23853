# SPDX-License-Identifier: Apache-2.0
"""Cache keys: the hash of a recipe and of the files that the recipe names.

Headers are not part of the cache key, because they are known only after the compiler has run.
`_freshness` compares them.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import NamedTuple, Union

from .._internal.platform import SYSTEM, machine
from .._version import __version__
from ._files import content_digest, existing_files, text_digest
from ._recipe import Recipe

__all__ = ["CacheKey", "Input", "cache_key"]

# The value of an input.  A manifest contains it, so JSON must be able to represent it.
Input = Union[str, "list[str]"]

# Environment variables that change the search paths or the options of compilers and linkers.
_VARIABLES = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH"),
    *("GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH", "SDKROOT"),
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "HIP_PATH", "HIP_PLATFORM"),
    *("HIPCC_COMPILE_FLAGS_APPEND", "HIPCC_LINK_FLAGS_APPEND", "HIP_CLANG_PATH"),
)


class CacheKey(NamedTuple):
    """The cache key of a recipe."""

    digest: str
    """SHA-256 of the recipe's name and inputs, in hexadecimal."""
    inputs: dict[str, Input]
    """The inputs by name; build reasons use the names to explain why two keys differ."""


def cache_key(recipe: Recipe) -> CacheKey:
    """Return the cache key of a recipe; the function reads the source files in the recipe."""
    inputs: dict[str, Input] = {
        "package": __version__,
        "platform": f"{SYSTEM} {machine()}",
        "functions": list(recipe.exports),
        "product": recipe.product,
        "linked files": existing_files(recipe.linked),
    }
    for language, version in recipe.compilers.items():
        inputs[f"compiler {language}"] = version
    for step in recipe.steps:
        inputs[f"command for {step.output}"] = list(step.command)
    for name, content in recipe.files.items():
        text = content if isinstance(content, str) else content.decode("latin-1")
        inputs[f"source {name}"] = text_digest(text)
    for path in recipe.sources:
        inputs[f"source {path}"] = content_digest(path)
    for variable in _VARIABLES:
        if variable in os.environ:
            inputs[f"variable {variable}"] = os.environ[variable]
    text = json.dumps([recipe.name, inputs], sort_keys=True)
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    return CacheKey(digest, inputs)

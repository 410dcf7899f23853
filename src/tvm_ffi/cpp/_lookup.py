# SPDX-License-Identifier: Apache-2.0
"""Build pipeline: the stages from a build request to the path of the product.

    request      `_request`      arguments, checked
    toolchain    `_compiler`     commands and versions of the compilers
    recipe       `_recipe`       files and commands; computed without reading a source file
    key          `_key`          hash of the recipe and of the files that it names
    lookup       `_cache_store`  the finished build with this key whose headers are unchanged
    build        `_build`        on a miss: run the steps, then publish the product

With a `build_directory`, `_folder` replaces the last three stages.  The modules of the last stage
are imported on a cache miss only, so that a cache hit stays fast.
"""

from __future__ import annotations

from pathlib import Path

from ..builds import announce
from ._cache_store import CacheEntry, checked_cache
from ._compiler import find_toolchain
from ._key import cache_key
from ._recipe import Recipe, make_recipe
from ._request import IS_WINDOWS, Request

__all__ = ["find_or_build"]


def find_or_build(request: Request) -> Path:
    """Return the path of the product of a request; build it if it is not in the cache."""
    if IS_WINDOWS:
        raise NotImplementedError("tvm_ffi.cpp cannot build libraries on Windows yet")
    cache = checked_cache()
    languages = {unit.language for unit in request.units}
    toolchain = find_toolchain(languages, request.backend, cache.compilers_folder)
    recipe = make_recipe(request, toolchain)
    if request.build_directory is not None:
        from ._folder import build_in_folder

        _check_compilers(recipe)
        return build_in_folder(recipe, request.build_directory, request.is_verbose)
    entry = CacheEntry(cache, recipe.name, cache_key(recipe), recipe.product, recipe.portable)
    product = entry.find()
    if product is None:
        from ._build import build_in_cache
        from ._reasons import miss_reasons

        announce("library", recipe.name, key=entry.key.digest, reasons=lambda: miss_reasons(entry))
        _check_compilers(recipe)
        return build_in_cache(recipe, entry, request.is_verbose)
    if request.is_verbose:
        from ._command import build_log, log

        with build_log(is_verbose=True):
            log(f"{recipe.name} is in the cache: {product}")
    return product


def _check_compilers(recipe: Recipe) -> None:
    """Raise RuntimeError if this machine lacks a compiler of a recipe."""
    if recipe.problem:
        raise RuntimeError(recipe.problem)

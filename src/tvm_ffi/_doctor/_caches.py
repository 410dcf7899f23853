# SPDX-License-Identifier: Apache-2.0
"""Findings about the build cache and the compilers."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from ..cpp import cache
from ..cpp._cache_store import BuildCache, cache_layers, cache_root
from ..cpp._compiler import compiler_command, describe_compiler
from ..cpp._gpu import find_toolkit
from ..cpp._ninja import find_ninja
from ._finding import Finding

__all__ = ["examine_caches", "examine_compilers"]


def examine_caches() -> Iterator[Finding]:
    """Yield findings about the folders of the build cache."""
    try:
        root = cache_root()
    except RuntimeError as error:
        yield Finding("cache", "note", "folder", str(error))
        return
    yield from _folder(root, is_layer=False)
    for layer in cache_layers():
        yield from _folder(layer, is_layer=True)


def _folder(root: Path, *, is_layer: bool) -> Iterator[Finding]:
    kind = "read-only folder" if is_layer else "folder"
    if not root.is_dir():
        remedy = "correct TVM_FFI_CACHE_PATH" if is_layer else ""
        message = f"the {kind} does not exist"
        yield Finding("cache", "problem" if is_layer else "note", str(root), message, remedy)
        return
    try:
        BuildCache(root).check()
        found = cache.verify(root=root)
    except OSError as error:
        yield Finding("cache", "problem", str(root), str(error))
        return
    damaged = {folder: problem for folder, problem in found.items() if problem}
    is_writable = is_layer or os.access(root, os.W_OK)
    message = f"{kind} with {len(found) - len(damaged)} builds"
    if not is_writable:
        message += "; it cannot be written, so builds that are not in it fail"
    yield Finding("cache", "ok" if is_writable else "note", str(root), message)
    for folder, problem in [*damaged.items()][:1]:
        others = f", and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        remedy = f"rm -rf {shlex.quote(str(folder))}; `tvm-ffi cache verify` lists all"
        yield Finding("cache", "problem", str(folder), f"damaged{others}: {problem}", remedy)


def examine_compilers() -> Iterator[Finding]:
    """Yield the compilers that builds would use; a warm cache does not need them."""
    versions = cache_root() / ".compilers"
    for language, variable, default in (("C", "CC", "cc"), ("C++", "CXX", "c++")):
        try:
            command = compiler_command(variable, default)
            version = describe_compiler(command, versions)
        except (RuntimeError, ValueError) as error:
            yield Finding("compilers", "note", language, str(error))
        else:
            yield Finding("compilers", "ok", language, version.partition(";")[0])
    try:
        toolkit = find_toolkit(None, is_required=False)
        problem, program = toolkit.problem, toolkit.compiler[0]
    except (RuntimeError, ValueError) as error:
        problem, program = str(error), ""
    yield Finding("compilers", "note" if problem else "ok", "device code", problem or program)
    ninja = find_ninja()
    message = ninja or "not installed; files are compiled one after the other"
    yield Finding("compilers", "ok" if ninja else "note", "ninja", message)

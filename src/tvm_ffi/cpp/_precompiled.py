# SPDX-License-Identifier: Apache-2.0
"""Precompiled headers: the headers of generated C++ files, parsed once per compiler and options.

Reading these headers takes most of the time that a small kernel needs to compile.  GCC and Clang
can save the parsed headers, and read ``-include headers.hpp`` from a file ``headers.hpp.gch`` in
the same folder.  A separate recipe builds that file: it is found and built in the cache like a
library, and its digest is compared before an output that depends on it is published.

Generated C++ files start with the same headers, so the compiled code does not change.  A compiler
that rejects the precompiled file reads the headers, and a source that fails to compile with the
file is compiled again without it.  Building the file takes as long as compiling three small
kernels, so it is built only when a second source asks for it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from ._cache_store import BuildCache, CacheEntry, Manifest, warn_of_damage
from ._command import log
from ._files import content_digest
from ._key import cache_key
from ._recipe import Recipe, Step
from ._source import CPP_INCLUDES

__all__ = ["DamagedHeadersError", "PrecompiledHeaders", "wanted_headers"]

# Name of the file in the build folder that includes the headers.  The user's text can include files
# of the build folder, so the name must not be one that a user's header has.
_INCLUDED_FILE = ".precompiled_headers.hpp"

# Notes (empty files) in the index folder of the headers' recipe.  "asked": a build has asked for
# the headers; "unusable": building or using the headers has failed.
_ASKED = "asked"
_UNUSABLE = "unusable"
# Time after a failure until a build may use precompiled headers again.  The cause of the failure
# may have been temporary, such as a lack of memory.
_UNUSABLE_SECONDS = 86400.0

# Limit of the total size of all precompiled files.  Each set of compiler options has a file of
# about 30 MB; the least recently used files are removed.
_MAX_BYTES = 1 << 28


class DamagedHeadersError(Exception):
    """Error: the file with precompiled headers is missing, unreadable or damaged."""


class PrecompiledHeaders:
    """The file with precompiled headers for one compiler and its options.

    Attributes
    ----------
    recipe, entry
        The recipe that builds the file, and the recipe's entry in the cache.
    product : path or None
        Path of the precompiled file; None while it is not built.
    manifest : Manifest or None
        Manifest of the file, with its digest and the digests of the headers in it.
    """

    def __init__(self, recipe: Recipe, cache: BuildCache) -> None:
        self.recipe = recipe
        self.entry = CacheEntry(
            cache, recipe.name, cache_key(recipe), recipe.product, recipe.portable
        )
        self.product: Path | None = None
        self.manifest: Manifest | None = None

    def find(self) -> bool:
        """Look the precompiled file up in the cache; return True if it exists and is whole.

        Whole means that the file has its recorded size; `check_content` checks its digest later.
        """
        product = self.entry.find(Manifest.has_recorded_size)
        manifest = None if product is None else Manifest.read(product.parent)
        if manifest is not None:
            self.product, self.manifest = product, manifest
        return manifest is not None

    def use_in(self, folder: Path, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Link the precompiled file into a build folder; return steps that compile with it."""
        assert self.product is not None
        (folder / _INCLUDED_FILE).write_text(CPP_INCLUDES, encoding="utf-8")
        link = folder / f"{_INCLUDED_FILE}.gch"
        link.unlink(missing_ok=True)
        # If another process removes the precompiled file now, the link has no target, and the
        # compiler reads the headers instead.
        link.symlink_to(self.product)
        compiling, *others = steps
        index = compiling.command.index("-MD")
        # The option -pipe makes the compiler and the assembler run in parallel.
        options = ("-include", _INCLUDED_FILE, "-pipe")
        command = (*compiling.command[:index], *options, *compiling.command[index:])
        return (compiling._replace(command=command), *others)

    def check_content(self) -> None:
        """Compare the precompiled file's digest with its manifest's, while the compiler runs.

        Hashing the file takes as long as all other work of this package for a small kernel, so it
        runs in parallel with the compiler.  A compiler that reads a damaged file may never end, so
        it must be stopped.

        Raises
        ------
        DamagedHeadersError
            If the digests differ or the file cannot be read; this stops the compiler.
        """
        assert self.product is not None
        assert self.manifest is not None
        if not self.manifest.is_whole(self.product.parent):
            raise DamagedHeadersError

    def remove_damaged(self) -> None:
        """Remove the precompiled file if its content is damaged; a later build creates a new one.

        The file is damaged if its digest differs from the digest in its manifest.  This method
        computes the digest itself, because a file that could not be read earlier may be intact, and
        because another process may have replaced the file since the failed check.
        """
        assert self.product is not None
        product, self.product = self.product, None
        manifest = Manifest.read(product.parent)
        try:
            is_damaged = manifest is not None and content_digest(product) != manifest.content
        except OSError:
            return
        if is_damaged and product.exists():
            warn_of_damage(product, "removed")
            self.entry.cache.remove_folder(product.parent)

    def disable(self, reason: object) -> None:
        """Disable precompiled headers for a day, because building or using their file failed."""
        log("headers are not precompiled for a day: %s", reason)
        self.entry.add_note(_UNUSABLE)

    def give_up(self) -> None:
        """Disable the headers for a day and remove their file: a valid source failed with it."""
        assert self.product is not None
        self.disable("a source compiles only without precompiled headers")
        product, self.product = self.product, None
        self.entry.cache.remove_folder(product.parent)

    def prune(self) -> None:
        """Remove the least recently used precompiled files above the size limit."""
        from .cache import prune

        with contextlib.suppress(OSError):
            prune(names=[self.recipe.name], max_bytes=_MAX_BYTES, root=self.entry.cache.root)


def wanted_headers(recipe: Recipe | None, cache: BuildCache) -> PrecompiledHeaders | None:
    """Return the precompiled headers of a recipe, or None to compile without them.

    The precompiled file may not be built yet.  The first build that asks for the file compiles
    without it, and so does every build for a day after a failure.  The environment variable
    ``TVM_FFI_CPP_EXTENSION_PRECOMPILE`` disables the file (0) or lets the first build create it
    (1).
    """
    setting = os.environ.get("TVM_FFI_CPP_EXTENSION_PRECOMPILE")
    if recipe is None or setting == "0":
        return None
    headers = PrecompiledHeaders(recipe, cache)
    entry = headers.entry
    if entry.has_note(_UNUSABLE, _UNUSABLE_SECONDS):
        return None
    if headers.find():
        return headers
    is_second = entry.has_note(_ASKED)
    entry.add_note(_ASKED)
    return headers if is_second or setting == "1" else None

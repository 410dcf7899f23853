# SPDX-License-Identifier: Apache-2.0
"""The headers in front of C++ text, precompiled: read once for each compiler and its options.

Reading them is most of what a small kernel takes to compile.  GCC and Clang can write down what
they have read, and answer ``-include headers.hpp`` from a file ``headers.hpp.gch`` beside it.  That
file is an artifact of the cache like all others: the caller's alone, made under a lock, known by
the content of all headers, compared with its digest before anything made with it is used.

What compiles stays the same.  The text has these headers in front anyway, a compiler that cannot
use the file reads them, and what fails is compiled again without it.  To make it takes as long as
to compile three small kernels: it is made for the second text that asks for it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ._command import log
from ._files import content_of
from ._manifest import Manifest
from ._plan import Plan, Step, key_of
from ._source import CPP_HEAD, CPP_HEADERS, CPP_MAIN
from ._store import Store, warn_of_damage

__all__ = [
    "NAME",
    "DamagedHeadersError",
    "PrecompiledHeaders",
    "check_content",
    "find_headers",
    "give_up",
    "remove_damaged",
    "with_headers",
]

NAME = "precompiled_headers"
_PRODUCT = "headers.hpp.gch"
# In build folders, where the user's text finds what it includes by such a name.
_TEXT = ".precompiled_headers.hpp"

# Notes about a plan.
_ASKED = "asked"
_UNUSABLE = "unusable"
_UNUSABLE_SECONDS = 86400.0  # a compiler may also have failed because memory ran out

# Each has other options, and about 30 MB.  What was not used for the longest time goes first.
_MOST_BYTES = 1 << 28

# Options after which other headers could be read, or these not first.
_IN_FRONT = ("-include", "--include", "-imacros", "--imacros", "-iquote", "-Wp,", "-x", "@")


class PrecompiledHeaders(NamedTuple):
    """The file, and what it was made from."""

    product: Path
    base: str
    """Key of its plan."""
    manifest: Manifest


def find_headers(
    plan: Plan, store: Store, make: Callable[[Plan, str, Store], Path]
) -> PrecompiledHeaders | None:
    """Return the headers for a plan; None where it has none, or the first time they are asked for.

    Parameters
    ----------
    plan : Plan
        What is to be built.
    store : Store
        Where they are kept.
    make : function of Plan, str and Store
        Builds a plan with a key, and returns its product.
    """
    wish = os.environ.get("TVM_FFI_CPP_EXTENSION_PRECOMPILE")
    wanted = None if wish == "0" else _header_plan(plan)
    if wanted is None:
        return None
    base = key_of(wanted)
    if store.has_note(NAME, base, _UNUSABLE, _UNUSABLE_SECONDS):
        return None
    product = store.find(NAME, base, _PRODUCT, Manifest.has_its_size)  # and `check_content`
    if product is None:
        is_second = store.has_note(NAME, base, _ASKED)
        store.note(NAME, base, _ASKED)
        product = _made(wanted, base, store, make) if is_second or wish == "1" else None
    manifest = None if product is None else Manifest.read(product.parent)
    if product is None or manifest is None:
        return None
    return PrecompiledHeaders(product, base, manifest)


class DamagedHeadersError(Exception):
    """Precompiled headers are not what was built, or are gone, or cannot be read."""


def check_content(headers: PrecompiledHeaders) -> None:
    """Compare headers with their digest; called while the compiler reads them.

    That takes as long as everything else that is done here for a small kernel.  What the compiler
    does with damaged ones may never end: `DamagedHeadersError` has to stop it.
    """
    if not headers.manifest.is_whole(headers.product.parent):
        raise DamagedHeadersError


def with_headers(plan: Plan, folder: Path, headers: PrecompiledHeaders) -> Plan:
    """Return a plan that uses the headers, which are put into its build folder."""
    (folder / _TEXT).write_text(CPP_HEAD, encoding="utf-8")
    link = folder / f"{_TEXT}.gch"
    link.unlink(missing_ok=True)
    # Pruned at this moment, it leads nowhere, and the compiler reads the text.
    link.symlink_to(headers.product)
    compiling, *others = plan.steps
    place = compiling.command.index("-MD")
    used = ("-include", _TEXT, "-pipe")  # the assembler begins before the compiler ends
    words = (*compiling.command[:place], *used, *compiling.command[place:])
    return plan._replace(steps=(compiling._replace(command=words), *others))


def remove_damaged(headers: PrecompiledHeaders, store: Store) -> None:
    """Remove headers that are not what was built; the next text has them made.

    They are looked at again: a file that could not be read may be good, and other builders remove
    headers, too, and make them anew.
    """
    folder = headers.product.parent
    manifest = Manifest.read(folder)
    try:
        is_damaged = manifest is not None and content_of(headers.product) != manifest.content
    except OSError:
        return
    if is_damaged and headers.product.exists():
        warn_of_damage(headers.product, "removed")
        store.remove_folder(folder)


def give_up(headers: PrecompiledHeaders, store: Store) -> None:
    """Remove headers with which a text that is right did not compile, and make none for a day."""
    log("headers are not precompiled for a day: text did not compile with them")
    store.note(NAME, headers.base, _UNUSABLE)
    store.remove_folder(headers.product.parent)


def _header_plan(plan: Plan) -> Plan | None:
    """Return how a plan's headers are made; None unless it compiles C++ text and nothing else."""
    compiled = [step for step in plan.steps if step.level == 0]
    if len(compiled) != 1 or compiled[0].inputs != (CPP_MAIN,) or CPP_MAIN not in plan.files:
        return None
    compiler = str(plan.parts["compiler cpp"])
    if not _is_known(compiler) or any(word.startswith(_IN_FRONT) for word in compiled[0].command):
        return None
    step = _header_step(compiled[0])
    parts = {
        name: part
        for name, part in plan.parts.items()
        if name in ("package", "platform", "compiler cpp") or name.startswith("variable ")
    }
    parts[f"command for {_PRODUCT}"] = list(step.command)
    named = [path for path in plan.linked if any(path in word for word in step.command)]
    return Plan(NAME, _PRODUCT, {}, (step,), parts, tuple(named), plan.own_folders)


def _is_known(compiler: str) -> bool:
    """Whether a compiler is GCC or Clang, by what it says about its version."""
    said = compiler.lower()
    return "clang version" in said or "free software" in said


def _header_step(compiling: Step) -> Step:
    """Return how the headers are read.

    Clang wants to see the file again that it has compiled: an empty one that does not move with the
    build folder.
    """
    depfile = f"{_PRODUCT}.d"
    headers = [word for header in CPP_HEADERS for word in ("-include", header)]
    names = {
        CPP_MAIN: (*headers, "-x", "c++-header", os.devnull),
        compiling.depfile: (depfile,),
        compiling.output: (_PRODUCT,),
    }
    words = [new for word in compiling.command for new in names.get(word, (word,))]
    return Step(tuple(words), (os.devnull,), _PRODUCT, depfile)


def _made(
    wanted: Plan, base: str, store: Store, make: Callable[[Plan, str, Store], Path]
) -> Path | None:
    """Make the headers; None if that fails, which then costs no later build anything."""
    from .cache import prune

    try:
        product = make(wanted, base, store)
    except PermissionError:
        raise  # the cache is not safe
    except (RuntimeError, OSError) as error:
        log("headers are not precompiled for a day: %s", error)
        store.note(NAME, base, _UNUSABLE)
        return None
    with contextlib.suppress(OSError):
        prune(names=[NAME], max_bytes=_MOST_BYTES, root=store.root)
    return product

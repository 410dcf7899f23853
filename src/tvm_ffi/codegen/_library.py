# SPDX-License-Identifier: Apache-2.0
"""Wrapper libraries for functions of an existing C library."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import cpp
from .._internal.suggestion import did_you_mean
from .._library.linking import dynamic_symbols
from ..module import load_module
from ..signature import Signature
from ._wrapper import Wrapper, make_wrapper
from .c import source_of

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["wrap_library"]


def wrap_library(
    library: str | os.PathLike[str],
    functions: Sequence[str | Signature | Wrapper],
    *,
    includes: Sequence[str] = (),
    include_paths: Sequence[str] = (),
    output: str | os.PathLike[str] | None = None,
) -> Module:
    """Return a module that calls functions of a C library; the library is not modified.

    Parameters
    ----------
    library : str or path-like
        A shared library, such as ``libfoo.so``.
    functions : sequence of str, Signature or Wrapper
        The functions to wrap: ``"foo(x: float32*[n], y: out float32*[n], n: int32)"``.  A
        `Wrapper` describes a function whose arguments are not the parameters in order.
    includes, include_paths : sequence of str, optional
        Headers that declare the functions, and their folders; the compiler then compares the
        declarations with the signatures.
    output : str or path-like, optional
        Where to write a copy of the wrapper library for distribution.  The loader searches the
        wrapped library in its present folder and in the folder of the copy.

    Returns
    -------
    Module
        Functions that check their arguments; `inspect.signature` shows them.

    Raises
    ------
    ValueError
        If a signature cannot be wrapped, or the library does not have a function.
    OSError
        If the library cannot be read.
    RuntimeError
        If the compiler fails.
    """
    path = Path(library).absolute()
    wrappers = [f if isinstance(f, Wrapper) else make_wrapper(f) for f in functions]
    _check_symbols(path, wrappers)
    # Link by file name, because the linker records the given path for a library without SONAME.
    link = [f"-L{path.parent}", f"-l:{path.name}", f"-Wl,-rpath,{path.parent}"]
    built = cpp.build_inline(
        f"{path.name.partition('.')[0]}_wrappers",
        c_sources=source_of(wrappers, includes=includes),
        extra_ldflags=[*link, "-Wl,-rpath,$ORIGIN"],
        extra_include_paths=include_paths,
    )
    if output is None:
        return load_module(built)
    shutil.copyfile(built, output)
    # Load by an absolute path, because the loader searches a bare file name in system folders.
    return load_module(Path(output).absolute())


def _check_symbols(path: Path, wrappers: Sequence[Wrapper]) -> None:
    """Raise ValueError unless the C library defines all callees of the wrappers."""
    defined, _ = dynamic_symbols(path)
    for wrapper in wrappers:
        for callee in wrapper.callees.values():
            if callee not in defined:
                hint = did_you_mean(callee, defined)
                raise ValueError(f"{path} has no function '{callee}'{hint}")

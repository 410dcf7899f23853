# SPDX-License-Identifier: Apache-2.0
"""Libraries of C that exist already, made callable: one more library with their wrappers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import cpp
from .._library.linking import dynamic_symbols
from .._suggestion import did_you_mean
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
    """Return a module with functions of a library of C, which stays as it is.

    Parameters
    ----------
    library : str or path-like
        A shared library, such as ``libfoo.so``.
    functions : sequence of str, Signature or Wrapper
        What it has: ``"foo(x: float32*[n], y: out float32*[n], n: int32)"``.  Where the function
        takes something else than the parameters in order, a `Wrapper` says so.
    includes, include_paths : sequence of str, optional
        Headers that declare the functions, and where they are; compilers then compare them with
        the signatures.
    output : str or path-like, optional
        Where to write a copy of the library with the wrappers, for others to load.  It finds the
        wrapped library where that lies now, and beside itself.

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
    # By name: a library without a SONAME would be looked for where it was, and nowhere else.
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
    return load_module(Path(output).absolute())  # a bare name would be searched for elsewhere


def _check_symbols(path: Path, wrappers: Sequence[Wrapper]) -> None:
    """Raise ValueError unless the library has all functions that are called."""
    defined, _ = dynamic_symbols(path)
    for wrapper in wrappers:
        for callee in wrapper.callees.values():
            if callee not in defined:
                hint = did_you_mean(callee, defined)
                raise ValueError(f"{path} has no function '{callee}'{hint}")

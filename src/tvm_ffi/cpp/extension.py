# SPDX-License-Identifier: Apache-2.0
"""Building and loading libraries from source text and source files.

Four functions: from text (``_inline``) or from files, and with the library loaded (``load``) or not
(``build``).  All of them go through a plan (`_plan`) that is carried out by `_build`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from ._build import product_in_cache, product_in_folder
from ._exports import exports_of
from ._gpu import BACKENDS
from ._manifest import FILE as MANIFEST_FILE
from ._plan import Plan, Request, make_plan
from ._source import Unit, inline_units
from ._store import cache_root, checked_root

if TYPE_CHECKING:
    from ..module import Module
    from ..signature import Signature

__all__ = ["IS_WINDOWS", "build", "build_inline", "build_ninja", "load", "load_inline"]

IS_WINDOWS = sys.platform == "win32"

_KINDS = {".c": "c", ".cu": "cuda", ".o": "object", ".obj": "object"}


def build_inline(
    name: str,
    *,
    cpp_sources: Sequence[str] | str | None = None,
    cuda_sources: Sequence[str] | str | None = None,
    functions: Mapping[str, str | Signature] | Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    embed_cubin: Mapping[str, bytes] | None = None,
    backend: str | None = None,
    output: str | None = None,
    c_sources: Sequence[str] | str | None = None,
    verbose: bool = False,
) -> str:
    """Build a shared library from source text and return its path.

    Parameters
    ----------
    name : str
        Name of the module; the library is ``NAME.so``.
    cpp_sources, cuda_sources, c_sources : str or sequence of str, optional
        Text in C++, CUDA (or HIP) and C; at least one is needed.  Several texts of a kind are
        joined.  The headers for kernels are included in front: for C that is the C ABI alone, and
        no C++ compiler is needed.
    functions : mapping of str to str or Signature, sequence of str, or str, optional
        The functions to export: functions of the C++ text if there is one, else of the CUDA text.
        C text defines ``__tvm_ffi_NAME`` itself with the calling convention of the ABI; what is
        listed here is declared in front of it, and must be there.  In a mapping, each with its
        documentation or its signature: a `tvm_ffi.Signature`, or text that begins with the
        function's name and a parenthesis and can be read as one.  The documentation in a signature
        becomes that of the function.
    extra_cflags, extra_cuda_cflags, extra_ldflags : sequence of str, optional
        More options for the C and C++ compilers, the CUDA compiler and the linker, behind ours.
    extra_include_paths : sequence of str, optional
        More folders with headers.
    build_directory : str, optional
        Folder to build in, with ninja.  By default the library comes from the cache, and is built
        if it is not there.
    embed_cubin : mapping of str to bytes, optional
        Compiled kernels, by the names in ``TVM_FFI_EMBED_CUBIN``.
    backend : {"cuda", "hip"}, optional
        What `cuda_sources` is for; by default ``TVM_FFI_GPU_BACKEND``, or what is installed.
    output : str, optional
        File name of the product; with the suffix ``.o`` it is an object file.
    verbose : bool
        Whether to show the commands and what they print, on the standard error stream unless
        ``TVM_FFI_CPP_EXTENSION_LOG_BUILD`` names another.

    Returns
    -------
    str
        Path of the product.

    Raises
    ------
    RuntimeError
        If a compiler fails (the message has its command and what it said) or is missing.
    ValueError
        If a name, the backend or an architecture makes no sense.

    Notes
    -----
    Processes on all machines that share a cache build a library once.  It is built again when
    something changes that it was made from: text, headers, options, compilers, this package.
    """
    plan = _inline_plan(
        name,
        {"c": c_sources, "cpp": cpp_sources, "cuda": cuda_sources},
        functions=exports_of(functions),
        cflags=tuple(extra_cflags or ()),
        cuda_cflags=tuple(extra_cuda_cflags or ()),
        ldflags=tuple(extra_ldflags or ()),
        include_paths=_absolute(extra_include_paths),
        cubins=_checked_cubins(embed_cubin),
        backend=_checked_backend(backend),
        output=_checked_name(output or f"{name}.so"),
    )
    return _carry_out(plan, build_directory, verbose)


def load_inline(
    name: str,
    *,
    cpp_sources: Sequence[str] | str | None = None,
    cuda_sources: Sequence[str] | str | None = None,
    functions: Mapping[str, str | Signature] | Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    embed_cubin: Mapping[str, bytes] | None = None,
    keep_module_alive: bool = True,
    backend: str | None = None,
    c_sources: Sequence[str] | str | None = None,
    verbose: bool = False,
) -> Module:
    """Build a shared library from source text and load it.

    Parameters
    ----------
    name, cpp_sources, cuda_sources, c_sources, functions, extra_cflags, extra_cuda_cflags, \
    extra_ldflags, extra_include_paths, build_directory, embed_cubin, backend, verbose
        As in `build_inline`.
    keep_module_alive : bool
        As in `tvm_ffi.load_module`.

    Returns
    -------
    Module
        The loaded library.

    Examples
    --------
    >>> import tvm_ffi.cpp
    >>> module = tvm_ffi.cpp.load_inline(
    ...     "doc_halve",
    ...     c_sources='''
    ...     int __tvm_ffi_halve(void* handle, const TVMFFIAny* args, int32_t num_args,
    ...                         TVMFFIAny* result) {
    ...       result->type_index = kTVMFFIFloat;
    ...       result->v_float64 = args[0].v_float64 / 2;
    ...       return 0;
    ...     }''',
    ... )  # doctest: +SKIP
    >>> module.halve(3.0)  # doctest: +SKIP
    1.5
    """

    def find() -> str:
        return build_inline(
            name,
            cpp_sources=cpp_sources,
            cuda_sources=cuda_sources,
            functions=functions,
            extra_cflags=extra_cflags,
            extra_cuda_cflags=extra_cuda_cflags,
            extra_ldflags=extra_ldflags,
            extra_include_paths=extra_include_paths,
            build_directory=build_directory,
            embed_cubin=embed_cubin,
            backend=backend,
            c_sources=c_sources,
            verbose=verbose,
        )

    return _load(find, keep_module_alive)


def build(
    name: str,
    *,
    sources: Sequence[str] | str | None = None,
    cpp_files: Sequence[str] | str | None = None,
    cuda_files: Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    backend: str | None = None,
    output: str | None = None,
    verbose: bool = False,
) -> str:
    """Build a shared library from files and return its path.

    Parameters
    ----------
    name : str
        Name of the module; the library is ``NAME.so``.
    sources : str or sequence of str
        Paths.  ``.c`` is C, ``.cu`` CUDA or HIP, ``.o`` and ``.obj`` are linked as they are, all
        others are C++.
    cpp_files, cuda_files : str or sequence of str, optional
        The older way to say it; the suffix does not matter here.
    extra_cflags, extra_cuda_cflags, extra_ldflags, extra_include_paths, build_directory, \
    backend, output, verbose
        As in `build_inline`.

    Returns
    -------
    str
        Path of the product.

    Raises
    ------
    RuntimeError
        If a file or a compiler is missing, or a compiler fails.
    ValueError
        If a name, the backend or an architecture makes no sense.
    """
    units = [_file_unit(path) for path in _as_list(sources)]
    units += [Unit("cpp", path) for path in _absolute(cpp_files)]
    units += [Unit("cuda", path) for path in _absolute(cuda_files)]
    assert units, "sources must be provided."
    missing = [unit.path for unit in units if not Path(unit.path).is_file()]
    if missing:
        raise RuntimeError(f"source file not found: {missing[0]}")
    request = Request(
        name=_checked_name(name),
        units=units,
        cflags=tuple(extra_cflags or ()),
        cuda_cflags=tuple(extra_cuda_cflags or ()),
        ldflags=tuple(extra_ldflags or ()),
        include_paths=_absolute(extra_include_paths),
        backend=_checked_backend(backend),
        output=_checked_name(output or f"{name}.so"),
    )
    return _carry_out(make_plan(request, checked_root()), build_directory, verbose)


def load(
    name: str,
    *,
    sources: Sequence[str] | str | None = None,
    cpp_files: Sequence[str] | str | None = None,
    cuda_files: Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    keep_module_alive: bool = True,
    backend: str | None = None,
    verbose: bool = False,
) -> Module:
    """Build a shared library from files and load it.

    Parameters
    ----------
    name, sources, cpp_files, cuda_files, extra_cflags, extra_cuda_cflags, extra_ldflags, \
    extra_include_paths, build_directory, backend, verbose
        As in `build`.
    keep_module_alive : bool
        As in `tvm_ffi.load_module`.

    Returns
    -------
    Module
        The loaded library.
    """

    def find() -> str:
        return build(
            name,
            sources=sources,
            cpp_files=cpp_files,
            cuda_files=cuda_files,
            extra_cflags=extra_cflags,
            extra_cuda_cflags=extra_cuda_cflags,
            extra_ldflags=extra_ldflags,
            extra_include_paths=extra_include_paths,
            build_directory=build_directory,
            backend=backend,
            verbose=verbose,
        )

    return _load(find, keep_module_alive)


def build_ninja(build_dir: str) -> None:
    """Run ninja in a folder that has a ``build.ninja``.

    Parameters
    ----------
    build_dir : str
        The folder.

    Raises
    ------
    RuntimeError
        If ninja fails, with its status and all it printed, or is not installed.

    Notes
    -----
    ``MAX_JOBS`` limits the number of commands at a time.
    """
    from ._ninja import run_ninja

    run_ninja(Path(build_dir))


# ---- Arguments -----------------------------------------------------------------------------------


def _as_list(given: Sequence[str] | str | None) -> list[str]:
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def _absolute(paths: Sequence[str] | str | None) -> tuple[str, ...]:
    return tuple(str(Path(path).absolute()) for path in _as_list(paths))


def _file_unit(path: str) -> Unit:
    file = Path(path).absolute()
    return Unit(_KINDS.get(file.suffix, "cpp"), str(file))


def _checked_name(name: str) -> str:
    """Return a name if a file can have it, and ninja can build such a file."""
    if name in {"", ".", ".."} or "/" in name or not name.isprintable():
        raise ValueError(f"name must be one that a file can have, got {name!r}")
    if "|" in name:
        raise ValueError(
            f"name must not contain '|', which ninja has no way to write, got {name!r}"
        )
    if name == MANIFEST_FILE:
        raise ValueError(f"name must not be {name!r}, which is a file of the cache's own")
    return name


def _checked_backend(backend: str | None) -> str | None:
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f'backend must be "cuda" or "hip", got {backend!r}')
    return backend


def _checked_cubins(cubins: Mapping[str, bytes] | None) -> dict[str, bytes]:
    if cubins and IS_WINDOWS:
        raise NotImplementedError("embed_cubin is not supported on Windows")
    for name in cubins or ():
        if re.fullmatch(r"\w+", name, re.ASCII) is None:
            raise ValueError(f"a cubin is named by letters, digits and underscores, got {name!r}")
    return dict(cubins or {})


# ---- The work ------------------------------------------------------------------------------------


def _inline_plan(name: str, sources: Mapping[str, Sequence[str] | str | None], **rest: Any) -> Plan:
    texts = {kind: _as_list(text) for kind, text in sources.items() if text is not None}
    given = {kind: text for kind, text in texts.items() if text}
    assert given, "sources must be provided."
    units, files = inline_units(_checked_name(name), given, rest["functions"])
    return make_plan(Request(name=name, units=units, files=files, **rest), checked_root())


def _carry_out(plan: Plan, build_directory: str | None, is_verbose: bool) -> str:
    if IS_WINDOWS:
        raise NotImplementedError("libraries cannot be built on Windows yet")
    if build_directory is None:
        return str(product_in_cache(plan, cache_root(), is_verbose))
    return str(product_in_folder(plan, Path(build_directory).absolute(), is_verbose))


def _load(find: Callable[[], str], keep_module_alive: bool) -> Module:
    from ..module import load_module

    path = find()
    try:
        return load_module(path, keep_module_alive=keep_module_alive)
    except RuntimeError:
        if Path(path).exists():
            raise
    # Pruned at this moment.
    return load_module(find(), keep_module_alive=keep_module_alive)

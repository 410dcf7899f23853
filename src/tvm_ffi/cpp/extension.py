# SPDX-License-Identifier: Apache-2.0
"""Build and load libraries from source text and source files.

Two functions compile source text (``_inline``) and two compile files.  ``load`` functions return
the loaded module, ``build`` functions the path of the library.  They share their options
(`Options`), which `build_inline` documents.  Each function creates a request, and `find_or_build`
returns the path of its product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ._exports import exports_of
from ._lookup import find_or_build
from ._request import IS_WINDOWS, Options, Request, file_request, inline_request

if TYPE_CHECKING:
    from ..module import Module
    from ..signature import Signature

__all__ = ["IS_WINDOWS", "build", "build_inline", "build_ninja", "load", "load_inline"]


def build_inline(
    name: str,
    *,
    cpp_sources: Sequence[str] | str | None = None,
    cuda_sources: Sequence[str] | str | None = None,
    functions: Mapping[str, str | Signature] | Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | str | None = None,
    extra_cuda_cflags: Sequence[str] | str | None = None,
    extra_ldflags: Sequence[str] | str | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    embed_cubin: Mapping[str, bytes] | None = None,
    backend: str | None = None,
    output: str | None = None,
    c_sources: Sequence[str] | str | None = None,
    verbose: bool = False,
    unchecked: bool = False,
) -> str:
    """Build a shared library from source text and return its path.

    Parameters
    ----------
    name : str
        Name of the module; the file name of the library is ``NAME.so``.
    cpp_sources, cuda_sources, c_sources : str or sequence of str, optional
        Source text in C++, CUDA (or HIP) and C; at least one is required.  Several texts of a
        language are concatenated to one translation unit, so a later text sees the declarations of
        earlier texts, and no two texts may define the same name.  The package's C++ headers are
        included before C++ and CUDA text.  C text gets the headers of the C ABI only, and needs no
        C++ compiler.
    functions : mapping of str to str or Signature, sequence of str, or str, optional
        Names of the functions to export, which the C++ text defines, or the CUDA text if there is
        no C++ text.  In C text, the function NAME is defined as ``__tvm_ffi_NAME`` with the calling
        convention of the ABI; it is declared before the text, and linking fails if it is not
        defined.  The value of a mapping is the documentation of the function or its signature: a
        `tvm_ffi.Signature`, or text that starts with the function's name and a parenthesis and can
        be parsed as a signature.  The documentation in a signature becomes that of the function.
        A function with a signature checks its arguments, for callers in every language.
    extra_cflags, extra_cuda_cflags, extra_ldflags : sequence of str or str, optional
        Additional options for the C and C++ compilers, the CUDA compiler and the linker.  They are
        passed after the default options.  A str is split like a shell command.  Each function must
        be defined when the library is linked; ``-Wl,-z,undefs`` in `extra_ldflags` allows functions
        that the loading process defines.
    extra_include_paths : sequence of str, optional
        Additional folders in which the compilers search for headers.
    build_directory : str, optional
        Folder to build in with ninja, without the build cache.  By default the library comes from
        the cache, and is built if the cache does not contain it.
    embed_cubin : mapping of str to bytes, optional
        Content of cubins to embed, by the names that ``TVM_FFI_EMBED_CUBIN`` uses in the sources.
    backend : {"cuda", "hip"}, optional
        Language of `cuda_sources`.  The default is ``TVM_FFI_GPU_BACKEND``, else the backend of the
        installed torch, else the one whose compiler is installed.
    output : str, optional
        File name of the product; default: ``NAME.so``.  A name with the suffix ``.o`` selects an
        object file instead of a library.
    verbose : bool
        True to print the commands and their output to the standard error stream, unless
        ``TVM_FFI_CPP_EXTENSION_LOG_BUILD`` names another stream.
    unchecked : bool
        True to leave out the argument checks of the signatures, as if each had the clause
        ``unchecked``.

    Returns
    -------
    str
        Path of the library or object file.

    Raises
    ------
    RuntimeError
        If a compiler is missing or fails; the message contains its command and its output.
    ValueError
        If a file name, the backend or an architecture is invalid.

    Notes
    -----
    Processes that share a build cache, also on several machines, build a library once.  It is built
    again when one of its inputs changes: source text, headers, options, compilers or this package.
    """
    options = Options(
        extra_cflags,
        extra_cuda_cflags,
        extra_ldflags,
        extra_include_paths,
        build_directory,
        backend,
        verbose,
    )
    sources = {"c": c_sources, "cpp": cpp_sources, "cuda": cuda_sources}
    request = inline_request(
        name, sources, exports_of(functions, unchecked), embed_cubin, output, options
    )
    return str(find_or_build(request))


def load_inline(
    name: str,
    *,
    cpp_sources: Sequence[str] | str | None = None,
    cuda_sources: Sequence[str] | str | None = None,
    functions: Mapping[str, str | Signature] | Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | str | None = None,
    extra_cuda_cflags: Sequence[str] | str | None = None,
    extra_ldflags: Sequence[str] | str | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    embed_cubin: Mapping[str, bytes] | None = None,
    keep_module_alive: bool = True,
    backend: str | None = None,
    c_sources: Sequence[str] | str | None = None,
    verbose: bool = False,
    unchecked: bool = False,
) -> Module:
    """Build a shared library from source text and load it.

    Parameters
    ----------
    name, cpp_sources, cuda_sources, c_sources, functions, extra_cflags, extra_cuda_cflags, \
    extra_ldflags, extra_include_paths, build_directory, embed_cubin, backend, verbose, unchecked
        See `build_inline`.
    keep_module_alive : bool
        See `tvm_ffi.load_module`.

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
    options = Options(
        extra_cflags,
        extra_cuda_cflags,
        extra_ldflags,
        extra_include_paths,
        build_directory,
        backend,
        verbose,
    )
    sources = {"c": c_sources, "cpp": cpp_sources, "cuda": cuda_sources}
    request = inline_request(
        name, sources, exports_of(functions, unchecked), embed_cubin, None, options
    )
    return _load(request, keep_module_alive)


def build(
    name: str,
    *,
    sources: Sequence[str] | str | None = None,
    cpp_files: Sequence[str] | str | None = None,
    cuda_files: Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | str | None = None,
    extra_cuda_cflags: Sequence[str] | str | None = None,
    extra_ldflags: Sequence[str] | str | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    backend: str | None = None,
    output: str | None = None,
    verbose: bool = False,
    unchecked: bool = False,
) -> str:
    """Build a shared library from files and return its path.

    Parameters
    ----------
    name, extra_cflags, extra_cuda_cflags, extra_ldflags, extra_include_paths, build_directory, \
    backend, output, verbose
        See `build_inline`.
    sources : str or sequence of str
        Paths of source and object files.  The suffix ``.c`` means C, ``.cu`` CUDA or HIP, ``.o``
        and ``.obj`` object files, and any other suffix C++.
    cpp_files, cuda_files : str or sequence of str, optional
        Paths of C++ files and of CUDA files, with any suffix.  The three parameters must name at
        least one file.
    unchecked : bool
        True to leave out the argument checks of all signatures in the files, as if each had the
        clause ``unchecked``.

    Returns
    -------
    str
        Path of the library or object file.

    Raises
    ------
    RuntimeError
        If a source file or a compiler is missing, or a compiler fails.
    ValueError
        If a file name, the backend, an architecture or a signature in a file is invalid.

    Notes
    -----
    A function whose signature is declared with ``TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE`` or
    ``TVM_FFI_DLL_EXPORT_SIGNATURE`` checks its arguments, for callers in every language.  Macros
    between ``#if`` and ``#endif``, in headers or in other macros are not found; calls from Python
    check the arguments of these functions.
    """
    options = Options(
        extra_cflags,
        extra_cuda_cflags,
        extra_ldflags,
        extra_include_paths,
        build_directory,
        backend,
        verbose,
    )
    request = file_request(name, sources, cpp_files, cuda_files, output, options, unchecked)
    return str(find_or_build(request))


def load(
    name: str,
    *,
    sources: Sequence[str] | str | None = None,
    cpp_files: Sequence[str] | str | None = None,
    cuda_files: Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | str | None = None,
    extra_cuda_cflags: Sequence[str] | str | None = None,
    extra_ldflags: Sequence[str] | str | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    keep_module_alive: bool = True,
    backend: str | None = None,
    verbose: bool = False,
    unchecked: bool = False,
) -> Module:
    """Build a shared library from files and load it.

    Parameters
    ----------
    name, sources, cpp_files, cuda_files, extra_cflags, extra_cuda_cflags, extra_ldflags, \
    extra_include_paths, build_directory, backend, verbose, unchecked
        See `build`.
    keep_module_alive : bool
        See `tvm_ffi.load_module`.

    Returns
    -------
    Module
        The loaded library.
    """
    options = Options(
        extra_cflags,
        extra_cuda_cflags,
        extra_ldflags,
        extra_include_paths,
        build_directory,
        backend,
        verbose,
    )
    request = file_request(name, sources, cpp_files, cuda_files, None, options, unchecked)
    return _load(request, keep_module_alive)


def build_ninja(build_dir: str) -> None:
    """Run ninja in a folder that contains a ``build.ninja`` file.

    Parameters
    ----------
    build_dir : str
        Path of the folder.

    Raises
    ------
    RuntimeError
        If ninja is not installed or fails; the message contains its exit status and output.

    Notes
    -----
    ``MAX_JOBS`` limits the number of parallel commands.
    """
    from ._ninja import announce_ninja, run_ninja

    folder = Path(build_dir)
    announce_ninja(folder.name, folder, ())
    run_ninja(folder)


def _load(request: Request, keep_module_alive: bool) -> Module:
    from ..module import load_module

    path = find_or_build(request)
    try:
        return load_module(str(path), keep_module_alive=keep_module_alive)
    except RuntimeError:
        if path.exists():
            raise
    # Another process has pruned the library from the cache before it was loaded.
    return load_module(str(find_or_build(request)), keep_module_alive=keep_module_alive)

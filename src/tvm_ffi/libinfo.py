# SPDX-License-Identifier: Apache-2.0
"""Paths of the files of this package, and of libraries that other packages ship.

The functions work for an installed package, an editable installation and a source tree with a CMake
build in ``build/``.  Build scripts use this module, so it works without the compiled binding, and
importing it imports no other module.
"""

from __future__ import annotations

TYPE_CHECKING = False  # replaces typing.TYPE_CHECKING without importing typing
if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterable, Iterator
    from importlib.metadata import Distribution
    from pathlib import Path
    from typing import Callable

    from .module import Module

_DISTRIBUTION = "pytvmffi"


# ---- Files of this package -----------------------------------------------------------------------


def find_libtvm_ffi() -> str:
    """Return the path of the runtime library, libtvm_ffi.

    Raises
    ------
    RuntimeError
        If the library is not found; the message lists the searched folders.
    """
    # Try the usual path first: `_find_library_by_basename` reads the metadata of the distribution,
    # which is slow.
    found = _resolve_and_validate(_paths(*_library_files("tvm_ffi", "lib/")), _is_file)
    return found or str(_find_library_by_basename(_DISTRIBUTION, "tvm_ffi"))


def find_include_path() -> str:
    """Return the folder of the headers, which contains ``tvm/ffi/c_api.h``.

    Raises
    ------
    RuntimeError
        If the folder is not found.  The other ``find_`` functions raise it for the same reason.
    """
    return str(_find_file("include/tvm/ffi/c_api.h").parents[2])


def find_dlpack_include_path() -> str:
    """Return the folder of the DLPack header, which contains ``dlpack/dlpack.h``."""
    return str(_find_file("include/dlpack/dlpack.h").parents[1])


def find_python_helper_include_path() -> str:
    """Raise RuntimeError: this package has no C++ headers for its Python binding.

    The binding is written in Cython; the incumbent has such headers.
    """
    return str(_find_file("include/tvm_ffi_python_helpers.h").parent)


def include_paths() -> list[str]:
    """Return the folders for the ``-I`` options of a compiler, sorted and without duplicates."""
    return sorted({find_include_path(), find_dlpack_include_path()})


def find_cmake_path() -> str:
    """Return the folder of the CMake package, the value for ``tvm_ffi_ROOT``."""
    # The path of the file in an installation, then its path in a build folder.
    config = "tvm_ffi-config.cmake"
    return str(_find_file(f"share/cmake/tvm_ffi/{config}", config).parent)


def find_source_path() -> str:
    """Return the folder of the runtime's sources, an argument for CMake's ``add_subdirectory``.

    In an installed package, the sources are an archive in this folder, which CMake extracts into
    the build folder.
    """
    return str(_find_file("cmake/Runtime.cmake").parents[1])


def find_rust_path() -> str:
    """Return the folder of the Rust crate ``pytvmffi``, the path of a Cargo dependency."""
    return str(_find_file("rust/Cargo.toml").parent)


def find_cython_lib() -> str:
    """Return the path of the extension module that defines ``Function``."""
    from importlib.machinery import EXTENSION_SUFFIXES

    return str(_find_file(*(f"_binding/call/__init__{suffix}" for suffix in EXTENSION_SUFFIXES)))


def find_windows_implib() -> str:
    """Return the path of the import library of libtvm_ffi; it exists on Windows only."""
    return str(_find_file("lib/tvm_ffi.lib"))


def _find_file(*names: str) -> Path:
    """Return the path of the first existing file of this package among relative paths `names`."""
    from pathlib import Path

    found = _resolve_and_validate(_paths(*names), _is_file)
    if found is None:
        searched = "".join(f"\n  {root}" for root in _roots())
        raise RuntimeError(f"Cannot find {' or '.join(names)}; searched directories:{searched}")
    return Path(found)


def _paths(*names: str) -> Iterator[Path]:
    """Return the possible absolute paths of a file of this package, the most likely path first."""
    return (root / name for root in _roots() for name in names)


def _roots() -> Iterator[Path]:
    """Return the folders that may contain the folders ``lib`` and ``include`` of this package."""
    from pathlib import Path

    package = Path(__file__).resolve().parent
    source_tree = package.parents[1]
    yield package
    yield source_tree
    # In an editable installation, `package` is in the source tree, but the compiled files and
    # headers are in another folder.  The metadata of the distribution list these files.
    for header in _distribution_files(_DISTRIBUTION, "c_api.h"):
        yield header.parents[3]
    yield source_tree / "build"


# ---- Libraries of any package --------------------------------------------------------------------


def load_lib_ctypes(
    package: str, target_name: str, mode: str, extra_lib_paths: list[Path] | None = None
) -> ctypes.CDLL:
    """Load a shared library that a package ships, with `ctypes`.

    Parameters
    ----------
    package : str
        Name of the distribution, as in ``pip install``.
    target_name : str
        Name of the library without prefix and suffix: ``"x"`` for ``libx.so``, and for ``x.so``,
        the name of files that the CMake function ``tvm_ffi_add_kernels(x ...)`` builds.
    mode : str
        Name of a constant in `ctypes`: ``"RTLD_GLOBAL"`` or ``"RTLD_LOCAL"``.
    extra_lib_paths : list of pathlib.Path, optional
        Folders that are searched if the distribution does not list the library.

    Raises
    ------
    RuntimeError
        If the library is not found.
    TypeError
        If an element of `extra_lib_paths` is not a `pathlib.Path`.
    ValueError
        If `mode` is not one of the two constants.
    """
    import ctypes

    flags = getattr(ctypes, mode, None)
    if not isinstance(flags, int):
        raise ValueError(
            f'load_lib_ctypes: mode must be "RTLD_GLOBAL" or "RTLD_LOCAL", got {mode!r}'
        )
    path = _find_library_by_basename(package, target_name, extra_lib_paths)
    return ctypes.CDLL(str(path), flags)


def load_lib_module(
    package: str,
    target_name: str,
    keep_module_alive: bool = True,
    extra_lib_paths: list[Path] | None = None,
) -> Module:
    """Load a shared library that a package ships as a `tvm_ffi.Module`.

    Parameters
    ----------
    package, target_name, extra_lib_paths
        See `load_lib_ctypes`.
    keep_module_alive : bool
        See `tvm_ffi.load_module`.

    Raises
    ------
    RuntimeError
        If the library is not found.
    TypeError
        If an element of `extra_lib_paths` is not a `pathlib.Path`.
    """
    from .module import load_module

    path = _find_library_by_basename(package, target_name, extra_lib_paths)
    return load_module(str(path), keep_module_alive=keep_module_alive)


def _find_library_by_basename(
    package: str,
    target_name: str,
    extra_lib_paths: list[Path] | None = None,
    *,
    use_fallback_build_path: bool = True,
    use_env_path: bool = True,
) -> Path:
    """Return the path of a library that a distribution ships.

    Search order: the files of the distribution, `extra_lib_paths`, the build folders of this
    package, the folders in environment variables.  Third-party packages rely on it.
    """
    from pathlib import Path

    for index, folder in enumerate(extra_lib_paths or ()):
        if not isinstance(folder, Path):
            raise TypeError(
                f"extra_lib_paths[{index}] must be a pathlib.Path, "
                f"got {type(folder).__name__}: {folder!r}"
            )
    names = _library_files(target_name)
    # The CMake function tvm_ffi_add_kernels() uses this file name on all platforms.
    module_file = f"{target_name}.so"
    if module_file not in names:
        names.append(module_file)
    for name in names:
        for path in _distribution_files(package, name):
            return path.resolve()
    folders = list(extra_lib_paths or ())
    if use_fallback_build_path:
        here = Path(__file__).resolve().parent
        folders += [root / sub for root in (here, here.parents[1]) for sub in ("build/lib", "lib")]
    if use_env_path:
        folders += _library_search_folders()
    paths = (folder / name for folder in folders for name in names)
    found = _resolve_and_validate(paths, _is_file)
    if found is None:
        state, own_folders = _distribution_folders(package)
        searched = "".join(f"\n  {folder}" for folder in (*own_folders, *folders))
        raise RuntimeError(
            f"Cannot find library {' or '.join(names)} of {package}{state}; "
            f"searched directories:{searched}"
        )
    return Path(found)


def _resolve_and_validate(paths: Iterable[Path], cond: Callable[[Path], bool | Path]) -> str | None:
    """Return the first path for which `cond` returns True, resolved; None if there is no such path.

    If `cond` returns another path, return that path instead.
    """
    for path in paths:
        resolved = path.resolve()
        answer = cond(resolved)
        if answer is True:
            return str(resolved)
        if answer:
            return str(answer)
    return None


def _library_files(target_name: str, folder: str = "") -> list[str]:
    """Return the file names that a library may have on this platform, the usual name first."""
    from ._internal.platform import LIBRARY_PREFIX, LIBRARY_SUFFIXES

    return [f"{folder}{LIBRARY_PREFIX}{target_name}{suffix}" for suffix in LIBRARY_SUFFIXES]


def _library_search_folders() -> list[Path]:
    """Return the folders in the loader's search variable, such as LD_LIBRARY_PATH, and in PATH."""
    import os
    from pathlib import Path

    from ._internal.platform import LOADER_VARIABLES

    values = (os.environ.get(variable, "") for variable in (*LOADER_VARIABLES, "PATH"))
    return [Path(entry) for value in values for entry in value.split(os.pathsep) if entry]


def _distribution_files(package: str, name: str) -> Iterator[Path]:
    """Yield the paths of existing files of a distribution whose file name is `name`."""
    from importlib import metadata
    from pathlib import Path

    try:
        files = metadata.files(package) or ()
    except metadata.PackageNotFoundError:
        return
    for file in files:
        path = Path(str(file.locate()))
        if file.name == name and path.is_file():
            yield path


def _distribution_folders(package: str) -> tuple[str, list[Path]]:
    """Return a pair: a clause for error messages, and the folders with files of a distribution.

    The clause gives the reason if there are no folders; otherwise the clause is empty.
    """
    from importlib import metadata

    try:
        files = _installed_files(metadata.distribution(package))
    except metadata.PackageNotFoundError:
        return ", which is not installed", []
    except ValueError:  # the name `package` is empty
        return "", []
    if not files:
        return ", whose metadata lists no files", []
    folders = {file.resolve().parent for file in files}
    return "", sorted(
        folder
        for folder in folders
        if folder.name != "__pycache__" and folder.suffix != ".dist-info"
    )


def _installed_files(distribution: Distribution) -> list[Path]:
    """Return the files in the RECORD of a distribution, including files that no longer exist.

    From Python 3.12 on, ``Distribution.files`` omits missing files.
    """
    import csv
    from pathlib import Path

    record = distribution.read_text("RECORD")
    if record is None:
        return [Path(str(file.locate())) for file in distribution.files or ()]
    rows = csv.reader(record.splitlines())
    return [Path(str(distribution.locate_file(row[0]))) for row in rows if row]


def _is_file(path: Path) -> bool:
    return path.is_file()

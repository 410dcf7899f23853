# SPDX-License-Identifier: Apache-2.0
"""Where the files of this package, and the libraries of other packages, are.

Works for an installed package, an editable installation and a source tree with a CMake build in
``build/``.  Build scripts ask these questions, so nothing here needs the compiled half of the
package, and importing this module imports no other one.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without loading typing
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
    """Return the path of the runtime, libtvm_ffi.

    Raises
    ------
    RuntimeError
        If there is none; the message lists the folders that were searched.
    """
    # The usual place first: reading the metadata of the distribution takes long.
    found = _resolve_and_validate(_paths(*_library_files("tvm_ffi", "lib/")), _is_file)
    return found or str(_find_library_by_basename(_DISTRIBUTION, "tvm_ffi"))


def find_include_path() -> str:
    """Return the folder of the headers: ``tvm/ffi/c_api.h`` lies below it.

    Raises
    ------
    RuntimeError
        If there is none; so in all functions below.
    """
    return str(_find_file("include/tvm/ffi/c_api.h").parents[2])


def find_dlpack_include_path() -> str:
    """Return the folder of the DLPack header: ``dlpack/dlpack.h`` lies below it."""
    return str(_find_file("include/dlpack/dlpack.h").parents[1])


def find_python_helper_include_path() -> str:
    """Return the folder of the C++ headers that other implementations bind Python with.

    This one has none (its binding is Cython), so it raises RuntimeError.
    """
    return str(_find_file("include/tvm_ffi_python_helpers.h").parent)


def include_paths() -> list[str]:
    """Return the folders for the ``-I`` options of a compiler, sorted, each once."""
    return sorted({find_include_path(), find_dlpack_include_path()})


def find_cmake_path() -> str:
    """Return the folder of the CMake package, the value for ``tvm_ffi_ROOT``."""
    config = "tvm_ffi-config.cmake"  # the second place is that of a build folder
    return str(_find_file(f"share/cmake/tvm_ffi/{config}", config).parent)


def find_source_path() -> str:
    """Return the folder of the runtime's sources, an argument for CMake's ``add_subdirectory``."""
    return str(_find_file("runtime/core/object.cc").parents[2])


def find_cython_lib() -> str:
    """Return the path of the extension module that defines ``Function``."""
    from importlib.machinery import EXTENSION_SUFFIXES

    return str(_find_file(*(f"_binding/call/__init__{suffix}" for suffix in EXTENSION_SUFFIXES)))


def find_windows_implib() -> str:
    """Return the path of the import library of libtvm_ffi, which exists on Windows only."""
    return str(_find_file("lib/tvm_ffi.lib"))


def _find_file(*names: str) -> Path:
    """Return the first of our files that has one of the names, relative to a root."""
    from pathlib import Path

    found = _resolve_and_validate(_paths(*names), _is_file)
    if found is None:
        searched = "".join(f"\n  {root}" for root in _roots())
        raise RuntimeError(f"Cannot find {' or '.join(names)}; searched directories:{searched}")
    return Path(found)


def _paths(*names: str) -> Iterator[Path]:
    """Return where files of our own with these names may be, the most likely path first."""
    return (root / name for root in _roots() for name in names)


def _roots() -> Iterator[Path]:
    """Return the folders that may contain ``lib/``, ``include/`` and so on."""
    from pathlib import Path

    package = Path(__file__).resolve().parent
    source_tree = package.parents[1]
    yield package
    yield source_tree
    # An editable installation uses the sources, and its compiled files lie elsewhere.
    for header in _distribution_files(_DISTRIBUTION, "c_api.h"):
        yield header.parents[3]
    yield source_tree / "build"


# ---- Libraries of any package --------------------------------------------------------------------


def load_lib_ctypes(
    package: str, target_name: str, mode: str, extra_lib_paths: list[Path] | None = None
) -> ctypes.CDLL:
    """Load a shared library that a package ships.

    Parameters
    ----------
    package : str
        Name of the distribution, as in ``pip install``.
    target_name : str
        Name of the library without prefix and suffix: ``"x"`` for ``libx.so``, or for ``x.so``,
        which is what ``tvm_ffi_add_kernels(x ...)`` in CMake makes.
    mode : str
        Name of a constant in `ctypes`: ``"RTLD_GLOBAL"`` or ``"RTLD_LOCAL"``.
    extra_lib_paths : list of pathlib.Path, optional
        Folders to look in when the distribution does not list the library.

    Raises
    ------
    RuntimeError
        If the library is not found.
    TypeError
        If an extra path is no `pathlib.Path`.
    ValueError
        If there is no such mode.
    """
    import ctypes

    flags = getattr(ctypes, mode, None)
    if not isinstance(flags, int):
        raise ValueError(f'mode must be "RTLD_GLOBAL" or "RTLD_LOCAL", got {mode!r}')
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
        As in `load_lib_ctypes`.
    keep_module_alive : bool
        As in `tvm_ffi.load_module`.

    Raises
    ------
    RuntimeError
        If the library is not found.
    TypeError
        If an extra path is no `pathlib.Path`.
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
    """Return the path of a library; used by other packages, which rely on the order of search."""
    from pathlib import Path

    for index, folder in enumerate(extra_lib_paths or ()):
        if not isinstance(folder, Path):
            raise TypeError(
                f"extra_lib_paths[{index}] must be a pathlib.Path, "
                f"got {type(folder).__name__}: {folder!r}"
            )
    names = _library_files(target_name)
    module_file = f"{target_name}.so"  # as tvm_ffi_add_kernels() in CMake calls it, everywhere
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
    """Return the first path, resolved, for which `cond` is true, or the path that it returns."""
    for path in paths:
        resolved = path.resolve()
        answer = cond(resolved)
        if answer is True:
            return str(resolved)
        if answer:
            return str(answer)
    return None


def _library_files(target_name: str, folder: str = "") -> list[str]:
    """Return the file names that a library may have on this platform, the usual one first."""
    import sys

    if sys.platform == "win32":
        return [f"{folder}{target_name}.dll"]
    suffixes = (".dylib", ".so") if sys.platform == "darwin" else (".so",)
    return [f"{folder}lib{target_name}{suffix}" for suffix in suffixes]


def _library_search_folders() -> list[Path]:
    """Return the folders named in the environment variables of the loader and in PATH."""
    import os
    import sys
    from pathlib import Path

    loader = {"win32": (), "darwin": ("DYLD_LIBRARY_PATH",)}.get(sys.platform, ("LD_LIBRARY_PATH",))
    values = (os.environ.get(variable, "") for variable in (*loader, "PATH"))
    return [Path(entry) for value in values for entry in value.split(os.pathsep) if entry]


def _distribution_files(package: str, name: str) -> Iterator[Path]:
    """Return the installed files of a distribution that have this name and exist."""
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
    """Return the folders that a distribution has files in, and what to say when it has none."""
    from importlib import metadata

    try:
        files = _installed_files(metadata.distribution(package))
    except metadata.PackageNotFoundError:
        return ", which is not installed", []
    except ValueError:  # an empty name
        return "", []
    if not files:
        return ", which does not say what was installed", []
    folders = {file.resolve().parent for file in files}
    return "", sorted(
        folder
        for folder in folders
        if folder.name != "__pycache__" and folder.suffix != ".dist-info"
    )


def _installed_files(distribution: Distribution) -> list[Path]:
    """Return all that was installed; from Python 3.12 on, ``files`` leaves out what is gone."""
    import csv
    from pathlib import Path

    record = distribution.read_text("RECORD")
    if record is None:
        return [Path(str(file.locate())) for file in distribution.files or ()]
    rows = csv.reader(record.splitlines())
    return [Path(str(distribution.locate_file(row[0]))) for row in rows if row]


def _is_file(path: Path) -> bool:
    return path.is_file()

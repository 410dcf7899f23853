# SPDX-License-Identifier: Apache-2.0
"""`libinfo`: search for files of the package and for libraries of other packages."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_ffi import libinfo

# The file name that the platform gives a library called "x".
LIBRARY = {"darwin": "libx.dylib", "win32": "x.dll"}.get(sys.platform, "libx.so")


@pytest.fixture
def quiet_environment(monkeypatch):
    """Remove the environment variables that contain library folders."""
    for variable in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Install a distribution ``thing`` that contains the library; return the library's path."""
    site = tmp_path / "site"
    library = site / "thing" / "lib" / LIBRARY
    library.parent.mkdir(parents=True)
    library.touch()
    metadata = site / "thing-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n", "utf-8"
    )
    (metadata / "RECORD").write_text(f"thing/lib/{LIBRARY},,\nthing/gone/{LIBRARY},,\n", "utf-8")
    monkeypatch.syspath_prepend(str(site))
    return library


def test_files_of_the_package_are_found():
    assert Path(libinfo.find_libtvm_ffi()).is_file()
    assert (Path(libinfo.find_include_path()) / "tvm/ffi/c_api.h").is_file()
    assert (Path(libinfo.find_dlpack_include_path()) / "dlpack/dlpack.h").is_file()
    assert (Path(libinfo.find_cmake_path()) / "tvm_ffi-config.cmake").is_file()
    assert (Path(libinfo.find_source_path()) / "CMakeLists.txt").is_file()
    assert Path(libinfo.find_cython_lib()).is_file()


def test_include_paths_are_sorted_and_unique():
    paths = libinfo.include_paths()
    assert paths == sorted({libinfo.find_include_path(), libinfo.find_dlpack_include_path()})


@pytest.mark.parametrize("name", ["find_python_helper_include_path", "find_windows_implib"])
def test_files_that_the_package_lacks_raise(name):
    with pytest.raises(RuntimeError, match=r"Cannot find .*; searched directories:\n  "):
        getattr(libinfo, name)()


def test_a_source_tree_is_searched(tmp_path):
    """A copy of the module in src/ of a source tree finds both files of the build in build/.

    The module needs one other module, which depends on the system.
    """
    package = tmp_path / "src" / "tvm_ffi"
    expected_paths = {
        "find_include_path": tmp_path / "include",
        "find_libtvm_ffi": tmp_path / "build" / "lib" / Path(libinfo.find_libtvm_ffi()).name,
        "find_cmake_path": tmp_path / "build",
        "find_source_path": tmp_path,
        "find_rust_path": tmp_path / "rust",
    }
    files = (
        tmp_path / "include" / "tvm" / "ffi" / "c_api.h",
        tmp_path / "build" / "tvm_ffi-config.cmake",
        tmp_path / "cmake" / "Runtime.cmake",
        tmp_path / "rust" / "Cargo.toml",
        expected_paths["find_libtvm_ffi"],
        package / "__init__.py",
        package / "_internal" / "__init__.py",
    )
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for name in ("libinfo.py", "_internal/platform.py"):
        (package / name).write_bytes((Path(libinfo.__file__).parent / name).read_bytes())
    # The interpreter is isolated and without site-packages, so that it does not find an installed
    # package.
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'src')!r})\n"
        "from tvm_ffi import libinfo\n"
        f"for name in {list(expected_paths)}: print(getattr(libinfo, name)())"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [str(path.resolve()) for path in expected_paths.values()]


def test_a_library_is_found_through_its_distribution(distribution, tmp_path):
    decoy = tmp_path / "decoy" / LIBRARY
    decoy.parent.mkdir()
    decoy.touch()
    found = libinfo._find_library_by_basename("thing", "x", [decoy.parent])
    assert found == distribution.resolve()


def test_extra_paths_come_before_the_environment(tmp_path, monkeypatch):
    folders = [tmp_path / "extra", tmp_path / "environment"]
    for folder in folders:
        folder.mkdir()
        (folder / LIBRARY).touch()
    monkeypatch.setenv("PATH", str(folders[1]))
    find = libinfo._find_library_by_basename
    assert find("no-such-package", "x", folders[:1]) == (folders[0] / LIBRARY).resolve()
    assert find("no-such-package", "x") == (folders[1] / LIBRARY).resolve()


@pytest.mark.usefixtures("quiet_environment")
def test_a_missing_library_lists_the_folders_searched(tmp_path):
    with pytest.raises(RuntimeError) as caught:
        libinfo._find_library_by_basename("no-such-package", "x", [tmp_path])
    package = Path(libinfo.__file__).resolve().parent
    beside = [root / sub for root in (package, package.parents[1]) for sub in ("build/lib", "lib")]
    message, *folders = str(caught.value).splitlines()
    names = f"{LIBRARY} or x.so of no-such-package, which is not installed"
    assert message == f"Cannot find library {names}; searched directories:"
    assert folders == [
        *(f"  {folder}" for folder in (tmp_path, *beside)),
    ]


@pytest.mark.usefixtures("quiet_environment")
def test_the_folders_of_the_package_are_listed_first(distribution, tmp_path):
    with pytest.raises(RuntimeError) as caught:
        libinfo._find_library_by_basename("thing", "y", [tmp_path])
    message, *folders = str(caught.value).splitlines()
    assert message.endswith(" or y.so of thing; searched directories:")
    assert folders[:3] == [
        f"  {folder}"
        for folder in (distribution.parents[1] / "gone", distribution.parent, tmp_path)
    ]


def test_a_library_without_the_lib_prefix_is_found(distribution):
    """`tvm_ffi_add_kernels(x ...)` builds x.so; a file with the prefix `lib` has precedence."""
    library = distribution.parent / "x.so"
    library.touch()
    record = distribution.parents[2] / "thing-1.0.dist-info" / "RECORD"
    record.write_text("thing/lib/x.so,,\n", "utf-8")
    assert libinfo._find_library_by_basename("thing", "x") == library.resolve()
    record.write_text(f"thing/lib/x.so,,\nthing/lib/{LIBRARY},,\n", "utf-8")
    assert libinfo._find_library_by_basename("thing", "x") == distribution.resolve()


@pytest.mark.usefixtures("quiet_environment")
def test_the_search_can_be_restricted():
    """The package's folder, which contains the runtime library, is not searched here."""
    with pytest.raises(RuntimeError, match="Cannot find library"):
        libinfo._find_library_by_basename(
            "no-such-package", "tvm_ffi", use_fallback_build_path=False, use_env_path=False
        )


def test_extra_paths_must_be_paths():
    message = r"extra_lib_paths\[1\] must be a pathlib\.Path, got str: '/x'"
    with pytest.raises(TypeError, match=message):
        libinfo._find_library_by_basename("thing", "x", [Path("/y"), "/x"])


@pytest.mark.parametrize(
    ("cond", "expected"),
    [
        pytest.param(Path.is_dir, "here", id="first-that-holds"),
        pytest.param(lambda path: path / "x" if path.is_dir() else False, "here/x", id="its-path"),
        pytest.param(lambda path: False, None, id="none"),
    ],
)
def test_resolve_and_validate(tmp_path, cond, expected):
    (tmp_path / "here").mkdir()
    paths = [tmp_path / "absent", tmp_path / "here" / ".." / "here"]
    found = libinfo._resolve_and_validate(paths, cond)
    assert found == (None if expected is None else str(tmp_path.resolve() / expected))


def test_load_lib_ctypes_loads_the_runtime():
    library = libinfo.load_lib_ctypes("pytvmffi", "tvm_ffi", "RTLD_GLOBAL")
    version = (ctypes.c_uint32 * 3)()
    library.TVMFFIGetVersion(version)
    assert tuple(version) == (0, 1, 16)


def test_load_lib_ctypes_rejects_an_unknown_mode():
    with pytest.raises(ValueError, match=r"mode must be .*, got 'RTLD_SOMETIMES'"):
        libinfo.load_lib_ctypes("pytvmffi", "tvm_ffi", "RTLD_SOMETIMES")


def test_importing_libinfo_imports_no_other_module():
    """The package imports `libinfo`, so imports of `libinfo` would slow down every program."""
    code = (
        "import __future__, importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('libinfo', {libinfo.__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "before = set(sys.modules)\n"
        "spec.loader.exec_module(module)\n"
        "print(sorted(set(sys.modules) - before))"
    )
    command = [sys.executable, "-I", "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"

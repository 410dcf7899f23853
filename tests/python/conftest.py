# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all Python tests: compiled kernels, fresh interpreters, leak checks, fake driver."""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Callable

import boundary_mode
import fake_driver as fake_driver_library
import hypothesis
import pytest

import tvm_ffi
from tvm_ffi import libinfo
from tvm_ffi._binding.object import live_object_count
from tvm_ffi.core import CObject, TypeInfo

# No deadline: single examples are slow on a busy machine.
hypothesis.settings.register_profile("tests", deadline=None, database=None)
hypothesis.settings.load_profile("tests")

# Free-threaded Python 3.13 makes all classes and functions immortal once a second thread starts.
# Objects that these refer to would never be released.
if sys.version_info[:2] == (3, 13) and sysconfig.get_config_var("Py_GIL_DISABLED"):
    import _testinternalcapi

    _testinternalcapi.suppress_immortalization(True)

FOLDER = Path(__file__).resolve().parent / "kernels"
C_SOURCES = ("values.c", "errors.c", "tensors.c", "threads.c", "signatures.c")
CXX_SOURCES = ("throws.cc", "exits.cc")


def _compile(folder: Path, source: str) -> tuple[Path, subprocess.Popen[str]]:
    """Start a compiler. The kernels are not linked with libtvm_ffi: its symbols are global."""
    is_cxx = source.endswith(".cc")
    compiler = os.environ.get("CXX", "c++") if is_cxx else os.environ.get("CC", "cc")
    target = folder / f"{source}.o"
    command = [*shlex.split(compiler), "-std=c++17" if is_cxx else "-std=gnu11"]
    command += ["-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pthread"]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    command += ["-c", str(FOLDER / source), "-o", str(target)]
    return target, subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="session")
def kernel_library(build_once: Callable[..., Path]) -> Path:
    """Return the path of the compiled kernels."""
    if "TVM_FFI_TESTS_KERNELS" in os.environ:  # where no compiler runs
        return Path(os.environ["TVM_FFI_TESTS_KERNELS"])
    return build_once("kernels", _compile_all) / "kernels.so"


def _compile_all(folder: Path) -> None:
    jobs = [_compile(folder, source) for source in C_SOURCES + CXX_SOURCES]
    for target, job in jobs:
        messages = job.communicate()[1]
        assert job.returncode == 0, f"cannot compile {target.stem}:\n{messages}"
    linker = shlex.split(os.environ.get("CXX", "c++"))
    objects = [str(target) for target, _ in jobs]
    command = [*linker, "-shared", "-pthread", *objects, "-o", str(folder / "kernels.so")]
    subprocess.run(command, check=True)


@pytest.fixture(scope="session")
def kernels(kernel_library: Path) -> tvm_ffi.Module:
    """Return the module of compiled kernels."""
    module = tvm_ffi.load_module(kernel_library)
    module.converted(None, "")  # loads a cached default, which is an object that stays alive
    return module


@pytest.fixture(scope="session")
def echo(kernels: tvm_ffi.Module) -> tvm_ffi.Function:
    """Return the kernel that returns its argument."""
    return kernels.echo


@pytest.fixture(scope="session")
def run_python(kernel_library: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs source text in a fresh interpreter.

    ``sys.argv[1]`` is the path of the kernels; keyword arguments are environment variables.
    """

    def run(code: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *options, "-c", code, str(kernel_library)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=300,  # more time than two imports of torch need on a busy machine
            check=False,
        )

    return run


def _caches_wrappers(x: object) -> bool:
    # Does not use `issubclass`, which would hash the class.
    is_module = type.__subclasscheck__(tvm_ffi.Module, type(x))
    return is_module or type(x) is TypeInfo


# Objects that existed before the first test.
_first_caches: list[object] = []


def pytest_collection_finish() -> None:
    """Exclude objects of collected tests and imported packages from garbage collection."""
    gc.collect()
    _first_caches[:] = filter(_caches_wrappers, gc.get_objects())
    gc.freeze()


def _num_cached_by(namespace: Mapping[str, object]) -> int:
    """Return the number of wrappers that a class keeps: constructors and enum variants."""
    variants: dict[int, object] = namespace.get("_known", {})  # type: ignore[assignment]
    return sum(name in namespace for name in ("__ffi_init__", "__ffi_new__")) + len(variants)


def _num_wrappers_in_globals() -> int:
    """Return the number of wrappers in the package's modules, most of which load lazily."""
    return len(
        {
            id(value)
            for name, module in sys.modules.copy().items()
            if name.partition(".")[0] == "tvm_ffi"
            for value in vars(module).copy().values()
            if isinstance(value, CObject)
        }
    )


def _count_live_objects() -> int:
    """Return the number of live wrappers, except those that the package caches permanently.

    Python modules and ffi.Module objects cache functions; classes of native types cache their
    methods and constructor.
    """
    gc.collect()
    cached = _num_wrappers_in_globals()
    for x in [*_first_caches, *filter(_caches_wrappers, gc.get_objects())]:
        if type(x) is TypeInfo:
            cached += len(x.methods) + _num_cached_by(vars(x.type_cls or object))
        else:
            cached += len(vars(x))
    return live_object_count() - cached


@pytest.fixture(autouse=True, scope="module")
def _no_object_is_leaked(kernels: tvm_ffi.Module) -> Iterator[None]:
    """Compare the number of live wrappers before and after the tests of a file.

    References that native code keeps without a wrapper are found by stress/test_leaks.py.
    """
    before = _count_live_objects()
    yield
    after = _count_live_objects()
    assert after <= before, f"{after - before} objects more than before the tests of this file"


if os.environ.get("TVM_FFI_DEBUG_FILE"):
    # A file for each worker, so that the faults after the start of a test are those of the test.
    os.environ["TVM_FFI_DEBUG_FILE"] += os.environ.get("PYTEST_XDIST_WORKER", "")


@pytest.fixture(autouse="TVM_FFI_DEBUG_FILE" in os.environ)
def _no_fault_is_found(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test if the debug context finds a fault and the test has no marker `breaks_rules`."""
    path = Path(os.environ["TVM_FFI_DEBUG_FILE"])
    size = path.stat().st_size if path.exists() else 0
    yield
    if request.node.get_closest_marker("breaks_rules") or not path.exists():
        return
    faults = path.read_bytes()[size:].decode()
    assert not faults, f"the debug context found faults:\n{faults}"


@pytest.fixture(autouse=bool(os.environ.get(boundary_mode.VARIABLE)))
def _boundary_mode() -> Iterator[None]:
    """Run each test in boundary mode, see support/boundary_mode.py."""
    end = boundary_mode.take_lone_tensors()
    boundary_mode.enter()
    yield
    boundary_mode.leave()
    end()


@pytest.fixture(scope="session")
def fake_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a library that replaces the CUDA driver."""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"the C compiler {compiler[0]} is not installed")
    return fake_driver_library.build(tmp_path_factory.mktemp("fake_driver")).parent

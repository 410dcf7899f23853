# SPDX-License-Identifier: Apache-2.0
"""Published third-party software, and environments in which test programs use it.

An environment is created once and kept in the folder ``TVM_FFI_PUBLISHED``, set by the targets of
the Makefile; that folder also contains the wheel of this package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from scratch_environment import SetupError, make_environment, run_program, without_search_paths

BUILD = Path(os.environ.get("TVM_FFI_PUBLISHED", "build/published")).resolve()
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
TORCH = "torch==2.13.0"  # an exact CPU build: builds with CUDA have gigabytes
# Requirements of the published packages, except the incumbent.
TVM_NEEDS = (
    "numpy", "ml_dtypes", "psutil", "cloudpickle", "typing_extensions", "scipy", "packaging",
)  # fmt: skip
FLASHINFER = "flashinfer-python==0.7.2.post1"
FLASHINFER_NEEDS = (
    TORCH, "numpy", "ninja", "click", "einops", "nvidia-ml-py", "packaging", "requests",
    "tabulate", "tqdm",
)  # fmt: skip
TILELANG_NEEDS = (TORCH, "tqdm", "z3-solver==4.15.4.0", *TVM_NEEDS)


@dataclass(frozen=True)
class Software:
    """A published package, or several in one environment, and the program that uses them."""

    name: str
    program: Path
    packages: tuple[str, ...] = ()
    """Packages installed without dependencies, such as the incumbent or another torch."""
    needs: tuple[str, ...] = ()
    """Packages that are installed with their dependencies."""
    beside: str | None = None
    """A package that is unpacked in the environment's folder ``beside``, which is on no path."""
    built: str | None = None
    """A package that is built from source against the installed runtime, after all others."""
    commands: tuple[str, ...] = ()
    """Compilers that the program runs."""
    suite: str | None = None
    """Package whose source distribution contains tests; they run after the program."""
    incumbent: str = "apache-tvm-ffi==0.1.15.post2"
    """Release of the incumbent to compare with; the package's metadata must allow it."""
    timeout_s: int = 600


def wheel() -> Path:
    """Return the path of this package's wheel, which the make target has built."""
    (found,) = (BUILD / "wheel").glob("pytvmffi-*.whl")
    return found


def interpreter(software: Software, runtime: str = "ours") -> Path:
    """Return the interpreter of an environment with the package on one of the two runtimes.

    Parameters
    ----------
    software : Software
        The software to install.
    runtime : {"ours", "incumbent"}
        The runtime to install.

    Raises
    ------
    SetupError
        If third-party software cannot be obtained, for example without a package index.
    AssertionError
        If this package cannot be installed, or the software cannot be built with it.
    """
    folder = BUILD / f"{software.name} on {runtime}".replace(" ", "-")
    variables = without_search_paths()
    python = make_environment(folder, list(software.needs) or ["pip"])
    if runtime == "ours":
        _must_succeed([python, *PIP, "--no-deps", "--force-reinstall", wheel()])
        _must_succeed([python.parent / "tvm-ffi", "provide", "apache-tvm-ffi"])
    else:
        run_program([python, *PIP, software.incumbent], variables)
    if software.packages:
        run_program([python, *PIP, "--no-deps", *software.packages], variables)
    if software.beside:
        target = ("--no-deps", "--upgrade", "--target", folder / "beside")
        run_program([python, *PIP, *target, software.beside], variables)
    if software.built:
        copied = folder / "source"  # builds leave files with paths of the environment
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(source(software.built, python), copied)
        _must_succeed([python, *PIP, "--no-deps", "--no-build-isolation", copied])
    return python


def _must_succeed(command: list[str | Path]) -> None:
    try:
        run_program(command, without_search_paths())
    except SetupError as error:
        raise AssertionError(f"{' '.join(map(str, command))}: {error}") from error


def source(requirement: str, python: Path) -> Path:
    """Return the folder of an unpacked source distribution.

    Raises
    ------
    SetupError
        If it cannot be obtained.
    """
    folder = BUILD / "sources" / requirement
    if not folder.is_dir():
        options = ("--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--quiet")
        # pip runs the build system for metadata.
        build = ("scikit-build-core", "setuptools_scm", "cmake", "ninja")
        run_program([python, *PIP, *build], without_search_paths())
        archives = folder.with_suffix(".archives")
        download = [python, "-m", "pip", "download", *options, "--dest", archives, requirement]
        run_program(download, without_search_paths())
        (archive,) = archives.glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return unpacked


def missing_commands(software: Software) -> list[str]:
    """Return the compilers that the program runs and this machine lacks."""
    return [command for command in software.commands if shutil.which(command) is None]


def run(software: Software, python: Path, *arguments: str | Path, folder: Path) -> str:
    """Run an interpreter in an empty folder and return its standard output.

    Raises
    ------
    AssertionError
        If it fails; the message ends with the output.
    """
    done = subprocess.run(
        [python, *arguments],
        env={
            **without_search_paths(),
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
            "TVM_FFI_CACHE_DIR": str(folder / "cache"),
        },
        cwd=folder, capture_output=True, text=True, timeout=software.timeout_s, check=False,
    )  # fmt: skip
    if done.returncode != 0:  # an `assert` statement would append text to the program's output
        raise AssertionError(f"status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_program_of(software: Software, python: Path, folder: Path) -> None:
    """Run the program; its last line is ``done`` if it succeeds.

    Raises
    ------
    AssertionError
        If it fails, or ends early.
    """
    printed = run(software, python, software.program, folder=folder)
    assert printed.splitlines()[-1:] == ["done"], printed

# SPDX-License-Identifier: Apache-2.0
"""CUDA and HIP toolkits: the backend, the toolkit's folder, and the target architectures.

Environment variables take precedence over installed toolkits.  No array library is imported.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "BACKENDS",
    "Toolkit",
    "cuda_devices",
    "find_toolkit",
    "requested_backend",
    "torch_backend",
]

BACKENDS = ("cuda", "hip")


class Toolkit(NamedTuple):
    """A GPU toolkit: the compiler, flags and target architectures for device code."""

    compiler: tuple[str, ...]
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    architectures: tuple[str, ...]
    problem: str = ""
    """Why the toolkit cannot compile: the message for a missing toolkit, else empty."""

    @property
    def home(self) -> str:
        """The folder of the toolkit."""
        return str(Path(self.compiler[0]).parents[1])


def find_toolkit(backend: str | None, *, is_required: bool = True) -> Toolkit:
    """Return the toolkit of a backend; None selects the default backend.

    If `is_required` is False, a missing toolkit is returned with its usual folder and `problem`.

    The default is ``TVM_FFI_GPU_BACKEND``, else the backend of the installed torch, else the
    backend whose compiler is installed.

    Raises
    ------
    RuntimeError
        If no toolkit or no architecture is found; the message names the variable to set.
    ValueError
        If an architecture name in an environment variable is invalid.
    """
    chosen = backend or requested_backend() or torch_backend() or _installed_backend()
    return _hip_toolkit(is_required) if chosen == "hip" else _cuda_toolkit(is_required)


# ---- Backend selection ---------------------------------------------------------------------------


def requested_backend() -> str | None:
    """Return ``TVM_FFI_GPU_BACKEND`` or None; raise ValueError if it is not a backend."""
    value = os.environ.get("TVM_FFI_GPU_BACKEND", "").lower()
    if value and value not in BACKENDS:
        raise ValueError(f'TVM_FFI_GPU_BACKEND must be "cuda" or "hip", got {value!r}')
    return value or None


@functools.cache
def torch_backend() -> str | None:
    """Return the backend of the installed torch, without importing torch; None without GPU."""
    from importlib.util import find_spec, module_from_spec, spec_from_file_location

    torch = find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        return None
    path = Path(torch.submodule_search_locations[0], "version.py")
    spec = spec_from_file_location("_torch_version", path)
    if spec is None or spec.loader is None or not path.is_file():
        return None
    version = module_from_spec(spec)
    spec.loader.exec_module(version)
    if getattr(version, "hip", None):
        return "hip"
    return "cuda" if getattr(version, "cuda", None) else None


def _installed_backend() -> str:
    return "hip" if shutil.which("hipcc") and not shutil.which("nvcc") else "cuda"


# ---- Toolkit folders -----------------------------------------------------------------------------


def _cuda_toolkit(is_required: bool) -> Toolkit:
    defaults = ("/usr/local/cuda", "/opt/cuda")
    home, problem = _home(("CUDA_HOME", "CUDA_PATH"), "nvcc", defaults, is_required)
    architectures = _cuda_architectures(problem)
    targets = [f"-gencode=arch=compute_{name},code=sm_{name}" for name in architectures]
    return Toolkit(
        compiler=(str(home / "bin" / "nvcc"),),
        compile_flags=("-Xcompiler", "-fPIC", "-std=c++17", "-O2", *targets),
        link_flags=(f"-L{home / 'lib64'}", "-lcudart"),
        architectures=architectures,
        problem=problem,
    )


def _hip_toolkit(is_required: bool) -> Toolkit:
    home, problem = _home(("ROCM_HOME", "ROCM_PATH"), "hipcc", ("/opt/rocm",), is_required)
    architectures = _rocm_architectures(problem)
    flags = ("-std=c++17", "-O2", "-fPIC", "-D__HIP_PLATFORM_AMD__=1", "-fno-gpu-rdc")
    return Toolkit(
        compiler=(str(home / "bin" / "hipcc"),),
        compile_flags=(*flags, *(f"--offload-arch={name}" for name in architectures)),
        link_flags=(f"-L{home / 'lib'}", "-lamdhip64"),
        architectures=architectures,
        problem=problem,
    )


def _home(
    variables: tuple[str, ...], compiler: str, defaults: tuple[str, ...], is_required: bool
) -> tuple[Path, str]:
    """Return the folder of the toolkit and no problem, or its usual folder and the problem."""
    try:
        return _find_home(variables, compiler, defaults), ""
    except RuntimeError as error:
        if is_required:
            raise
        return Path(defaults[0]), str(error)


def _find_home(variables: tuple[str, ...], compiler: str, defaults: tuple[str, ...]) -> Path:
    """Return the folder of the toolkit.

    The folder is the value of the first environment variable that is set, else the first of the
    usual folders that contains the compiler.
    """
    for variable in variables:
        value = os.environ.get(variable)
        if value:
            if not Path(value, "bin", compiler).is_file():
                raise RuntimeError(
                    f"{variable}: expected a toolkit folder with bin/{compiler}, got {value!r}"
                )
            return Path(value)
    for home in _candidate_homes(compiler, defaults):
        if (home / "bin" / compiler).is_file() and (home / "include").is_dir():
            return home
    raise RuntimeError(
        f"{compiler} is not found; install it, or set {variables[0]} to the folder of its toolkit"
    )


def _candidate_homes(compiler: str, defaults: tuple[str, ...]) -> Iterator[Path]:
    """Yield folders that may contain the toolkit.

    A compiler in PATH that is a script may start a compiler in another folder, so its folder is the
    last candidate.
    """
    found = shutil.which(compiler)
    if found and Path(found).read_bytes()[:2] != b"#!":
        yield Path(found).resolve().parents[1]
    yield from map(Path, defaults)
    if found:
        yield Path(found).parents[1]


# ---- Target architectures ------------------------------------------------------------------------


def _cuda_architectures(problem: str) -> tuple[str, ...]:
    """Return the target architectures in nvcc's notation: ``90a`` for the version 9.0a."""
    listed = os.environ.get("TVM_FFI_CUDA_ARCH_LIST", "").split()
    names = listed or cuda_devices()
    if not names:
        raise RuntimeError(
            problem
            or "Could not detect CUDA compute_cap automatically. "
            "Please set TVM_FFI_CUDA_ARCH_LIST environment variable."
        )
    return tuple(map(_cuda_architecture, names))


def _cuda_architecture(name: str) -> str:
    match = re.fullmatch(r"(\d+)\.(\d[a-z]?)", name)
    if match is None:
        raise ValueError(
            f"Invalid CUDA architecture: {name}; expected a version such as 8.9 or 9.0a"
        )
    return match[1] + match[2]


@functools.cache
def cuda_devices() -> tuple[str, ...]:
    """Return the architectures of the CUDA devices of this machine, without duplicates."""
    lines = _lines_of("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")
    return tuple(dict.fromkeys(line for line in lines if re.fullmatch(r"\d+\.\d", line)))


def _rocm_architectures(problem: str) -> tuple[str, ...]:
    listed = tuple(os.environ.get("TVM_FFI_ROCM_ARCH_LIST", "").split())
    names = listed or _rocm_devices()
    if not names:
        raise RuntimeError(
            problem
            or "Could not detect ROCm architectures automatically. "
            "Please set TVM_FFI_ROCM_ARCH_LIST environment variable."
        )
    return names


@functools.cache
def _rocm_devices() -> tuple[str, ...]:
    words = [line.split()[-1] for line in _lines_of("rocm_agent_enumerator")]
    if not words:
        named = (re.fullmatch(r"Name:\s+(\S+)", line) for line in _lines_of("rocminfo"))
        words = [match[1] for match in named if match]
    names = (word for word in words if re.fullmatch(r"gfx[0-9a-f]+", word))
    # The program rocm_agent_enumerator lists the CPU as gfx000.
    return tuple(name for name in dict.fromkeys(names) if name != "gfx000")


def _lines_of(*command: str) -> list[str]:
    """Return the stripped lines that a program prints; empty if it fails or is not installed."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]

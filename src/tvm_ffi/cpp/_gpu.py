# SPDX-License-Identifier: Apache-2.0
"""CUDA and HIP: which of them, where its toolkit is, and for which architectures.

Environment variables decide, then what is installed.  No array library is imported to find out.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["BACKENDS", "Toolkit", "find_toolkit", "requested_backend", "torch_backend"]

BACKENDS = ("cuda", "hip")


class Toolkit(NamedTuple):
    """How device code is compiled and linked."""

    compiler: tuple[str, ...]
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    architectures: tuple[str, ...]


def find_toolkit(backend: str | None) -> Toolkit:
    """Return the toolkit of a backend, of the usual one for None.

    Raises
    ------
    RuntimeError
        If there is no toolkit, or no architecture is known; the message names the variable to set.
    ValueError
        If an architecture is misspelled.
    """
    chosen = backend or requested_backend() or torch_backend() or _installed_backend()
    return _hip_toolkit() if chosen == "hip" else _cuda_toolkit()


# ---- Which backend -------------------------------------------------------------------------------


def requested_backend() -> str | None:
    """Return what ``TVM_FFI_GPU_BACKEND`` says; ValueError if that is no backend."""
    value = os.environ.get("TVM_FFI_GPU_BACKEND", "").lower()
    if value and value not in BACKENDS:
        raise ValueError(f'TVM_FFI_GPU_BACKEND must be "cuda" or "hip", got {value!r}')
    return value or None


@functools.cache
def torch_backend() -> str | None:
    """Return what the installed torch was built for, None for CPUs only; torch is not imported."""
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


# ---- Toolkits ------------------------------------------------------------------------------------


def _cuda_toolkit() -> Toolkit:
    home = _home(("CUDA_HOME", "CUDA_PATH"), "nvcc", ("/usr/local/cuda", "/opt/cuda"))
    architectures = _cuda_architectures()
    targets = [f"-gencode=arch=compute_{name},code=sm_{name}" for name in architectures]
    return Toolkit(
        compiler=(str(home / "bin" / "nvcc"),),
        compile_flags=("-Xcompiler", "-fPIC", "-std=c++17", "-O2", *targets),
        link_flags=(f"-L{home / 'lib64'}", "-lcudart"),
        architectures=architectures,
    )


def _hip_toolkit() -> Toolkit:
    home = _home(("ROCM_HOME", "ROCM_PATH"), "hipcc", ("/opt/rocm",))
    architectures = _rocm_architectures()
    flags = ("-std=c++17", "-O2", "-fPIC", "-D__HIP_PLATFORM_AMD__=1", "-fno-gpu-rdc")
    return Toolkit(
        compiler=(str(home / "bin" / "hipcc"),),
        compile_flags=(*flags, *(f"--offload-arch={name}" for name in architectures)),
        link_flags=(f"-L{home / 'lib'}", "-lamdhip64"),
        architectures=architectures,
    )


def _home(variables: tuple[str, ...], compiler: str, usual: tuple[str, ...]) -> Path:
    """Return the folder of a toolkit: that of a variable, or the first one that has a compiler."""
    for variable in variables:
        value = os.environ.get(variable)
        if value:
            if not Path(value, "bin", compiler).is_file():
                raise RuntimeError(f"{compiler} is not in {value}/bin, where {variable} points")
            return Path(value)
    for home in _likely_homes(compiler, usual):
        if (home / "bin" / compiler).is_file() and (home / "include").is_dir():
            return home
    raise RuntimeError(
        f"{compiler} is not found; install it, or set {variables[0]} to the folder of its toolkit"
    )


def _likely_homes(compiler: str, usual: tuple[str, ...]) -> Iterator[Path]:
    """Return where a toolkit may be; a script in PATH may only start the compiler of another."""
    found = shutil.which(compiler)
    if found and Path(found).read_bytes()[:2] != b"#!":
        yield Path(found).resolve().parents[1]
    yield from map(Path, usual)
    if found:
        yield Path(found).parents[1]


# ---- Architectures -------------------------------------------------------------------------------


def _cuda_architectures() -> tuple[str, ...]:
    """Return architectures as nvcc names them: ``90a`` for 9.0a."""
    listed = os.environ.get("TVM_FFI_CUDA_ARCH_LIST", "").split()
    names = listed or _cuda_devices()
    if not names:
        raise RuntimeError(
            "Could not detect CUDA compute_cap automatically. "
            "Please set TVM_FFI_CUDA_ARCH_LIST environment variable."
        )
    return tuple(map(_cuda_architecture, names))


def _cuda_architecture(name: str) -> str:
    match = re.fullmatch(r"(\d+)\.(\d[a-z]?)", name)
    if match is None:
        raise ValueError(f"Invalid CUDA architecture: {name}; one looks like 8.9 or 9.0a")
    return match[1] + match[2]


@functools.cache
def _cuda_devices() -> tuple[str, ...]:
    """Return the architectures of the devices that are here, each once."""
    lines = _lines_of("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")
    return tuple(dict.fromkeys(line for line in lines if re.fullmatch(r"\d+\.\d", line)))


def _rocm_architectures() -> tuple[str, ...]:
    listed = tuple(os.environ.get("TVM_FFI_ROCM_ARCH_LIST", "").split())
    names = listed or _rocm_devices()
    if not names:
        raise RuntimeError(
            "Could not detect ROCm architectures automatically. "
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
    return tuple(name for name in dict.fromkeys(names) if name != "gfx000")  # that is the CPU


def _lines_of(*command: str) -> list[str]:
    """Return the lines that a program prints, stripped; none if it fails or is not there."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]

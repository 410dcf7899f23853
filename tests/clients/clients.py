# SPDX-License-Identifier: Apache-2.0
"""Which published packages are used, what each needs, and the program that uses it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
TORCH = "torch==2.13.0"  # exactly: a CPU build; other requirements bring a CUDA build of gigabytes


@dataclass(frozen=True)
class Client:
    """A package, or several in one environment."""

    name: str
    packages: tuple[str, ...] = ()
    """Installed without what they ask for, which would be the incumbent as well."""
    needs: tuple[str, ...] = ()
    """Installed with what they ask for."""
    built: str | None = None
    """Built from its source distribution against the runtime that is there, after all others."""
    program: str = ""
    commands: tuple[str, ...] = ()
    """Compilers that the program runs."""
    suite: str | None = None
    """Source distribution with tests, which run after the program."""
    incumbent: str = "apache-tvm-ffi==0.1.15.post2"
    """The release with which the package is compared; one that its metadata admits."""
    timeout_s: int = 600

    @property
    def path(self) -> Path:
        """The program."""
        return (FOLDER / "programs" / self.program).resolve()


_JAX = ("jax==0.10.2", "numpy", "pytest", "ninja")
_TVM = ("numpy", "ml_dtypes", "psutil", "cloudpickle", "typing_extensions", "scipy", "packaging")
_FLASHINFER = (
    TORCH, "numpy", "ninja", "click", "einops", "nvidia-ml-py", "packaging", "requests",
    "tabulate", "tqdm",
)  # fmt: skip
_TILELANG = (TORCH, "tqdm", "z3-solver==4.15.4.0", *_TVM)

CLIENTS = [
    Client(
        "jax-tvm-ffi",
        packages=("jax-tvm-ffi==0.1.3",),
        needs=_JAX,
        program="use_jax_tvm_ffi.py",
        commands=("g++",),
        suite="jax-tvm-ffi==0.1.3",
    ),
    Client(
        "jax-tvm-ffi from source",
        needs=(*_JAX, "scikit-build-core", "cmake"),
        built="jax-tvm-ffi==0.1.3",
        program="use_jax_tvm_ffi.py",
        commands=("g++",),
        suite="jax-tvm-ffi==0.1.3",
    ),
    Client(
        "Apache TVM",
        packages=("apache-tvm==0.27.0",),
        needs=_TVM,
        program="use_tvm.py",
        commands=("gcc",),
        incumbent="apache-tvm-ffi==0.1.14.post0",
    ),
    Client(
        "TileLang",
        packages=("tilelang==0.1.15",),
        needs=_TILELANG,
        program="use_tilelang.py",
        commands=("gcc", "nvcc"),
        incumbent="apache-tvm-ffi==0.1.12",
    ),
    Client(
        "TVM and TileLang",
        packages=("apache-tvm==0.27.0", "tilelang==0.1.15"),
        needs=_TILELANG,
        program="use_tvm_and_tilelang.py",
        commands=("gcc", "nvcc"),
    ),
    Client(
        "cuteDSL",
        needs=("nvidia-cutlass-dsl==4.8.1", "numpy"),
        program="use_cutedsl.py",
        commands=("gcc",),
    ),
    Client(
        "FlashInfer",
        packages=("flashinfer-python==0.7.2.post1",),
        needs=_FLASHINFER,
        program="use_flashinfer.py",
        commands=("cc", "nvcc"),
        timeout_s=1200,
    ),
    Client(
        "xgrammar",
        packages=("xgrammar==0.2.8",),
        needs=(TORCH, "numpy", "pydantic", "pytest"),
        program="../../compat/clients/use_xgrammar.py",
    ),
    Client(
        "ORC-JIT",
        packages=("apache-tvm-ffi-orcjit==0.1.3",),
        needs=("typing_extensions",),
        program="use_orcjit.py",
        commands=("g++",),
    ),
]

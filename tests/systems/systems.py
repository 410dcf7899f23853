# SPDX-License-Identifier: Apache-2.0
"""Table of compilers: the requirements of each compiler, and the program that uses it."""

from __future__ import annotations

from pathlib import Path

from published import FLASHINFER, FLASHINFER_NEEDS, TILELANG_NEEDS, TORCH, Software

PROGRAMS = Path(__file__).resolve().parent / "programs"

_HIDET = (
    TORCH, "numpy", "cuda-python==13.0.3", "click", "filelock", "gitpython",
    "importlib_metadata", "lark", "networkx", "nvtx", "packaging", "psutil", "requests",
    "scipy", "tabulate", "tomlkit", "tqdm",
)  # fmt: skip

_HELION = (TORCH, "numpy", "filecheck", "packaging", "psutil", "rich", "scikit-learn")
_NVRTC = ("cuda-bindings==13.5.0", "cuda-pathfinder==1.9.0", "nvidia-cuda-nvrtc==13.5.37")

SYSTEMS: list[Software] = [
    Software(
        "CuPy",
        packages=("cupy-cuda12x==14.2.0", *_NVRTC),
        needs=("numpy", "typing_extensions"),
        program=PROGRAMS / "use_cupy_kernels.py",
        commands=("cc", "ld"),
    ),
    Software(
        "cuteDSL",
        needs=("nvidia-cutlass-dsl==4.8.1", "numpy"),
        program=PROGRAMS / "use_cutedsl.py",
        commands=("cc",),
    ),
    Software(
        "FlashInfer",
        packages=(FLASHINFER,),
        needs=FLASHINFER_NEEDS,
        program=PROGRAMS / "use_flashinfer.py",
        commands=("cc", "nvcc"),
        timeout_s=1200,
    ),
    Software(
        "Helion",
        packages=("helion==1.5.1", "triton==3.9.0"),
        needs=(*_HELION, "typing_extensions"),
        program=PROGRAMS / "use_helion.py",
        commands=("cc", "ld"),
    ),
    Software(
        "Hidet",
        packages=("hidet==0.6.1", "hip-python-fork==6.3.3.540.31.1"),
        needs=_HIDET,
        program=PROGRAMS / "use_hidet.py",
        commands=("cc", "g++", "ld", "nvcc"),
    ),
    Software(
        "Mojo",
        packages=("max==26.7.0", "max-core==26.7.0", "max-mojo-libs==26.7.0"),
        needs=("mojo==1.2.0", "numpy"),
        program=PROGRAMS / "use_mojo.py",
        commands=("cc", "nm"),
    ),
    Software(
        "NVRTC",
        packages=_NVRTC,
        needs=("numpy", "typing_extensions"),
        program=PROGRAMS / "use_nvrtc.py",
        commands=("cc", "ld"),
    ),
    Software(
        "PyInstaller",
        needs=("pyinstaller==6.22.3", "numpy", "typing_extensions"),
        program=PROGRAMS / "use_pyinstaller.py",
        commands=("cc",),
    ),
    Software(
        "TileLang",
        packages=("tilelang==0.1.15",),
        needs=TILELANG_NEEDS,
        program=PROGRAMS / "use_tilelang.py",
        commands=("cc", "nvcc"),
    ),
    Software(
        "Triton",
        packages=("triton==3.9.0",),
        needs=("numpy", "typing_extensions"),
        program=PROGRAMS / "use_triton.py",
        commands=("cc", "nm"),
    ),
]

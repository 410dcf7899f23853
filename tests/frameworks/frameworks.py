# SPDX-License-Identifier: Apache-2.0
"""Which frameworks are tried, what each needs, and the program that uses it."""

from __future__ import annotations

from pathlib import Path

from published import TORCH, Software

PROGRAMS = Path(__file__).resolve().parent / "programs"

FRAMEWORKS = [
    Software(
        "PyTorch",
        PROGRAMS / "use_torch.py",
        needs=(TORCH, "numpy>=2.0"),
        commands=("c++",),
        timeout_s=1200,  # a program over torch's C++ headers takes minutes on a busy machine
    ),
    Software(
        "TensorFlow",
        PROGRAMS / "use_tensorflow.py",
        needs=("tensorflow-cpu==2.21.0", "numpy>=2.0", "pytest"),
        commands=("c++",),
    ),
    Software(
        "Dask",
        PROGRAMS / "use_dask.py",
        needs=("dask[array,distributed]==2026.8.0", "numpy>=2.0", "pytest"),
        commands=("c++",),
    ),
]

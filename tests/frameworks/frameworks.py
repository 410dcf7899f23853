# SPDX-License-Identifier: Apache-2.0
"""Which frameworks are tried, what each needs, and the program that uses it."""

from __future__ import annotations

from pathlib import Path

from published import Software

PROGRAMS = Path(__file__).resolve().parent / "programs"

FRAMEWORKS = [
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

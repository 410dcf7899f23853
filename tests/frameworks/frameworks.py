# SPDX-License-Identifier: Apache-2.0
"""Which frameworks are tried, what each needs, and the program that uses it."""

from __future__ import annotations

from pathlib import Path

from published import TORCH, Software

PROGRAMS = Path(__file__).resolve().parent / "programs"

_BUILD = ("ninja", "rich")  # what tvm_ffi.cpp wants

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
    Software(
        "graph in Inductor",
        PROGRAMS / "graph_in_inductor.py",
        needs=(TORCH, "numpy>=2.0", *_BUILD),
        commands=("cc", "c++"),
    ),
    Software(
        "graph in XLA",
        PROGRAMS / "graph_in_xla.py",
        needs=("jax==0.11.2", "numpy>=2.0", *_BUILD),
        commands=("cc",),
    ),
    Software(
        "graph in Apache TVM",
        PROGRAMS / "graph_in_tvm.py",
        packages=("apache-tvm==0.27.0",),
        needs=(
            *("numpy>=2.0", "ml_dtypes", "psutil", "cloudpickle", "typing_extensions", "scipy"),
            *("packaging", *_BUILD),
        ),
        commands=("cc",),
    ),
]

# SPDX-License-Identifier: Apache-2.0
"""Table of frameworks: the requirements of each framework, and the program that uses it."""

from __future__ import annotations

import sys
from pathlib import Path

from published import TORCH, TVM_NEEDS, Software

PROGRAMS = Path(__file__).resolve().parent / "programs"

_BUILD = ("ninja", "rich")  # required by tvm_ffi.cpp


def _jax(release: str) -> Software:
    return Software(
        f"JAX {release}",
        PROGRAMS / "use_jax.py",
        needs=(f"jax=={release}", "flatbuffers", "ninja", "numpy>=2.0", "pytest"),
        commands=("cc", "c++"),
    )


FRAMEWORKS = [
    Software(
        "PyTorch",
        PROGRAMS / "use_torch.py",
        needs=(TORCH, "numpy>=2.0"),
        commands=("c++",),
        timeout_s=1200,  # a program that uses torch's C++ headers takes minutes on a busy machine
    ),
    Software(
        "TensorFlow",
        PROGRAMS / "use_tensorflow.py",
        needs=("tensorflow-cpu==2.21.0", "numpy>=2.0", "pytest"),
        commands=("c++",),
    ),
    Software(
        "Paddle",
        PROGRAMS / "use_paddle.py",
        needs=("paddlepaddle==3.3.1", "numpy>=2.0"),
    ),
    Software(
        "CuPy",
        PROGRAMS / "use_cupy.py",
        needs=("cupy-cuda12x==14.2.0", "numba-cuda==0.30.4"),
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
        needs=("jax==0.10.2", "numpy>=2.0", *_BUILD),
        commands=("cc",),
    ),
    Software(
        "graph in Apache TVM",
        PROGRAMS / "graph_in_tvm.py",
        packages=("apache-tvm==0.27.0",),
        needs=(*TVM_NEEDS, "numpy>=2.0", *_BUILD),
        commands=("cc",),
    ),
    _jax("0.10.2"),
    *(map(_jax, ("0.11.2", "0.12.0.1")) if sys.version_info >= (3, 12) else ()),
    Software(
        "jax-tvm-ffi",
        PROGRAMS / "use_jax_tvm_ffi.py",
        packages=("jax-tvm-ffi==0.1.3",),
        needs=("jax==0.10.2", "ninja", "numpy>=2.0"),
        commands=("c++",),
    ),
]

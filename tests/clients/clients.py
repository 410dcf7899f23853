# SPDX-License-Identifier: Apache-2.0
"""Table of client packages: each package, its requirements and the program that uses it."""

from __future__ import annotations

from pathlib import Path

from published import FLASHINFER, FLASHINFER_NEEDS, TILELANG_NEEDS, TORCH, TVM_NEEDS, Software

PROGRAMS = Path(__file__).resolve().parent / "programs"

_JAX = ("jax==0.10.2", "numpy", "pytest", "ninja")
# Of the tests in its source distribution.  Those that need an account of a model hub are skipped.
_XGRAMMAR_TESTS = ("transformers", "sentencepiece", "tiktoken", "protobuf", "cohere-melody")

CLIENTS = [
    Software(
        "jax-tvm-ffi",
        packages=("jax-tvm-ffi==0.1.3",),
        needs=_JAX,
        program=PROGRAMS / "use_jax_tvm_ffi.py",
        commands=("g++",),
        suite="jax-tvm-ffi==0.1.3",
    ),
    Software(
        "jax-tvm-ffi from source",
        needs=(*_JAX, "scikit-build-core", "cmake"),
        built="jax-tvm-ffi==0.1.3",
        program=PROGRAMS / "use_jax_tvm_ffi.py",
        commands=("g++",),
        suite="jax-tvm-ffi==0.1.3",
    ),
    Software(
        "Apache TVM",
        packages=("apache-tvm==0.27.0",),
        needs=TVM_NEEDS,
        program=PROGRAMS / "use_tvm.py",
        commands=("gcc",),
        incumbent="apache-tvm-ffi==0.1.14.post0",
    ),
    Software(
        "TileLang",
        packages=("tilelang==0.1.15",),
        needs=TILELANG_NEEDS,
        program=PROGRAMS / "use_tilelang.py",
        commands=("gcc", "nvcc"),
        incumbent="apache-tvm-ffi==0.1.12",
    ),
    Software(
        "TVM and TileLang",
        packages=("apache-tvm==0.27.0", "tilelang==0.1.15"),
        needs=TILELANG_NEEDS,
        program=PROGRAMS / "use_tvm_and_tilelang.py",
        commands=("gcc", "nvcc"),
    ),
    Software(
        "cuteDSL",
        needs=("nvidia-cutlass-dsl==4.8.1", "numpy"),
        program=PROGRAMS / "use_cutedsl.py",
        commands=("gcc",),
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
        "xgrammar",
        packages=("xgrammar==0.2.8",),
        needs=(TORCH, "numpy", "pydantic", "pytest", *_XGRAMMAR_TESTS),
        program=PROGRAMS.parents[1] / "compat" / "clients" / "use_xgrammar.py",
        suite="xgrammar==0.2.8",
        timeout_s=1200,
    ),
    Software(
        "tvm_ffi.testing",
        needs=("numpy", "typing_extensions", "pytest"),
        beside="apache-tvm-ffi==0.1.15.post2",
        program=PROGRAMS / "use_incumbent_testing.py",
    ),
    Software(
        "ORC-JIT",
        packages=("apache-tvm-ffi-orcjit==0.1.3",),
        needs=("typing_extensions",),
        program=PROGRAMS / "use_orcjit.py",
        commands=("g++",),
    ),
]

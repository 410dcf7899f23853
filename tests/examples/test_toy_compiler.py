# SPDX-License-Identifier: Apache-2.0
"""The toy compiler example: its README, expressions, and errors for invalid programs."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

NAME = "toy_compiler"
HEAD = "f(x: float32[n], y: out float32[n], a: float32 = 1.0)"

pytest.importorskip("llvmlite", reason="llvmlite is not installed")


@pytest.fixture
def compile_program(example):
    """Return the function of the example that compiles a program."""
    spec = importlib.util.spec_from_file_location("toyc_of_example", example(NAME) / "toyc.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.compile_program


def test_commands_of_the_readme(example, run, readme_blocks):
    (block,) = readme_blocks(NAME, "sh")
    (shown,) = readme_blocks(NAME, "")
    assert run("sh", "-euc", block, cwd=example(NAME)) == shown


def test_the_compiler_is_short(example):
    assert len((example(NAME) / "toyc.py").read_text(encoding="utf-8").splitlines()) < 150


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("y = x", [1, 2, 3]),
        ("y = -x * a + 0.5", [-1.5, -3.5, -5.5]),
        ("y = (x - 1) / a", [0, 0.5, 1]),
        ("y = max(min(x, 2), a - 1)", [1, 2, 2]),
        ("y = 7", [7, 7, 7]),
    ],
)
def test_expressions_are_computed_for_each_element(compile_program, expression, expected):
    kernels = compile_program(f"# a comment\n\n{HEAD}: {expression}\n")
    y = np.zeros(3, np.float32)
    kernels.f(np.array([1, 2, 3], np.float32), y, a=2)
    assert y.tolist() == expected


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (f"{HEAD}: x = y", "line 1: f: expected an output parameter, got 'x'"),
        (f"\n{HEAD}: y = z", "line 2: f: unknown parameter 'z'"),
        (f"{HEAD}: y = x ** 2", r"f: unsupported expression `x \*\* 2`"),
        (f"{HEAD}: y = sin(x)", r"f: unsupported expression `sin\(x\)`"),
        (f"{HEAD}: y = '1'", "f: unsupported expression `'1'`"),
        (f"{HEAD}: x", "f: expected NAME = EXPRESSION"),
        (f"{HEAD}: y = x y", "f: expected NAME = EXPRESSION"),
        (f"{HEAD}: y = x = y", "f: expected NAME = EXPRESSION"),
        (
            "f(x: float32[n], y: out float32[m]): y = x",
            "expected tensors of one shape with named extents",
        ),
        (
            "f(x: float32[_], y: out float32[_]): y = x",
            "expected tensors of one shape with named extents",
        ),
        (
            "f(x: float32[...], y: out float32[...]): y = x",
            "expected tensors of one shape with named extents",
        ),
        (
            "f(x: float32[n], y: out float64[n]): y = x",
            "expected only float32 or only float64 parameters",
        ),
        (
            "f(x: float32[n] | None, y: out float32[n]): y = x",
            "expected only float32 or only float64",
        ),
        ("f(n: int, y: out float32[n]): y = n", "expected only float32 or only float64 parameters"),
        ("f(x float32): y = x", "line 1: "),
        (f"{HEAD}: y = x\n{HEAD}: y = x", "line 2: f: the name is used by another kernel"),
    ],
)
def test_invalid_programs_are_refused(compile_program, program, text):
    with pytest.raises(SystemExit, match=text):
        compile_program(program)

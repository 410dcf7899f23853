# SPDX-License-Identifier: Apache-2.0
"""The ahead-of-time program with kernels in several languages."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
from pathlib import Path

import pytest

from .test_aot_program import SYSTEM_LIBRARIES, needed_libraries, undefined_symbols

NAME = "aot_program/languages"
CRATE = Path(__file__).resolve().parents[2] / "rust"
# For each language, the program or package that it needs, and the languages whose program is
# missing.
NEEDS = {"c": "cc", "mojo": "mojo", "numba": "numba", "rust": "cargo", "triton": "triton"}
MISSING = {
    language
    for language, name in NEEDS.items()
    if shutil.which(name) is None and importlib.util.find_spec(name) is None
}

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed"),
    pytest.mark.skipif(shutil.which("readelf") is None, reason="no readelf"),
]


def has_gpu() -> bool:
    try:
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    except OSError:
        return False


def expected(language: str, result: str = "y = [1.5, 2, 2.5]") -> str:
    return (
        f"{language:8} {result}\n"
        f"{'':8} ValueError: axpy_{language}() argument 'y': shape[0] must be n = 3, got 2\n"
    )


def expected_here(language: str) -> str:
    runs = language != "triton" or has_gpu()
    return expected(language) if runs else expected(language, "no GPU")


@pytest.fixture
def folder(example):
    """Return a copy of the example and of the Rust crate that its Cargo.toml names by path."""
    folder = example("aot_program") / "languages"
    (folder.parents[2] / "rust").symlink_to(CRATE)
    return folder


def test_commands_of_the_readme(folder, run, readme_blocks):
    [block], [shown] = readme_blocks(NAME, "sh"), readme_blocks(NAME, "")
    output = run("sh", "-euc", block, cwd=folder, timeout_s=300)
    assert shown == "".join(map(expected, NEEDS))
    assert [line for line in output.splitlines() if "left out" in line] == [
        f"{language:8} left out: no {NEEDS[language]}" for language in NEEDS if language in MISSING
    ]
    available = [language for language in NEEDS if language not in MISSING]
    assert output.endswith("".join(map(expected_here, available)))


@pytest.mark.parametrize("language", NEEDS)
def test_a_program_with_one_language_needs_only_system_libraries(folder, run, language):
    if language in MISSING:
        pytest.skip(f"{NEEDS[language]} is not installed")
    run("python", "build.py", "build", language, cwd=folder, timeout_s=300)
    program = folder / "build" / "axpy"
    assert run(program, cwd=folder) == expected_here(language)
    assert needed_libraries(run, program) <= SYSTEM_LIBRARIES | {"ld-linux-x86-64.so.2"}
    undefined = undefined_symbols(run, program)
    assert ("dlopen" in undefined) == (language == "triton")  # Triton kernels load the CUDA driver
    assert not any(name.startswith(("Py", "_Py")) for name in undefined)


def test_an_unknown_language_is_a_usage_error(folder, run):
    output = run("python", "build.py", "build", "cobol", cwd=folder, status=1)
    assert "usage: " in output
    assert "[c|mojo|numba|rust|triton]" in output

# SPDX-License-Identifier: Apache-2.0
"""The program with kernels of several languages and the runtime in it."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
from pathlib import Path

import pytest

from .test_aot_program import SYSTEM_LIBRARIES, needed_libraries, undefined_symbols

NAME = "aot_program/languages"
CRATE = Path(__file__).resolve().parents[2] / "rust"
# Of each language: what it cannot do without, and whether that is here.
NEEDS = {"c": "cc", "mojo": "mojo", "numba": "numba", "rust": "cargo", "triton": "triton"}
MISSING = {
    language
    for language, what in NEEDS.items()
    if shutil.which(what) is None and importlib.util.find_spec(what) is None
}

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
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
    """Return a copy of the example, with what it depends on by its path."""
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
    there = [language for language in NEEDS if language not in MISSING]
    assert output.endswith("".join(map(expected_here, there)))


@pytest.mark.parametrize("language", NEEDS)
def test_each_language_alone_needs_the_system_only(folder, run, language):
    if language in MISSING:
        pytest.skip(f"no {NEEDS[language]}")
    run("python", "build.py", "build", language, cwd=folder, timeout_s=300)
    program = folder / "build" / "axpy"
    assert run(program, cwd=folder) == expected_here(language)
    assert needed_libraries(run, program) <= SYSTEM_LIBRARIES | {"ld-linux-x86-64.so.2"}
    undefined = undefined_symbols(run, program)
    assert ("dlopen" in undefined) == (language == "triton")  # which opens the driver
    assert not any(name.startswith(("Py", "_Py")) for name in undefined)


def test_a_language_that_is_named_has_to_be_there(folder, run):
    output = run("python", "build.py", "build", "cobol", cwd=folder, status=1)
    assert "usage: " in output
    assert "[c|mojo|numba|rust|triton]" in output

# SPDX-License-Identifier: Apache-2.0
"""Code blocks of the documentation: each page is executed from top to bottom in an empty folder.

tests/examples builds and runs the code that pages quote from the examples.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tvm_ffi import libinfo

from .pages import blocks_of

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
RUN_PAGE = Path(__file__).resolve().parent / "run_page.py"
RUN = {"c", "cpp", "python", "sh"}
PAGES = sorted(
    page
    for page in DOCS.rglob("*.md")
    if any(block.language in RUN or block.file for block in blocks_of(page))
)
# Largest number of blocks on all pages that are skipped with a reason.
MAX_NOT_RUN = 5

needs_compilers = pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("c++") is None, reason="no compilers cc and c++"
)


def error_of(page: Path, folder: Path, **variables: str) -> str:
    """Execute a page in a fresh interpreter; return its error, or an empty string."""
    search = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    cache = {"TVM_FFI_CACHE_DIR": str(folder / "cache")}  # do not use the user's build cache
    process = subprocess.run(
        [sys.executable, "-W", "error", str(RUN_PAGE), str(page)],
        cwd=folder,
        env={**os.environ, "PATH": search, "LC_ALL": "C", **cache, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return "" if process.returncode == 0 else process.stdout or "no message"


@needs_compilers
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_page(page, tmp_path):
    assert error_of(page, tmp_path) == ""


def test_few_blocks_are_skipped():
    """Blocks do not count if their reason names a test program that runs them."""
    reasons = [block.not_run for page in PAGES for block in blocks_of(page) if block.not_run]
    untested = [
        reason for reason in reasons if not (ROOT / reason.partition(" does it")[0]).is_file()
    ]
    assert len(untested) <= MAX_NOT_RUN, untested


@needs_compilers
def test_readme(tmp_path):
    """The README omits the body of its kernel and uses make: the quickstart's kernel is built.

    The README loads the library without a folder, from the current one.
    """
    kernel = ROOT / "examples" / "quickstart" / "kernel.c"
    flags = [f"-I{path}" for path in libinfo.include_paths()]
    command = ["cc", "-shared", "-fPIC", str(kernel), *flags, "-o", str(tmp_path / "add_one.so")]
    subprocess.run(command, check=True)
    shown = [block for block in blocks_of(ROOT / "README.md") if block.language in {"c", "python"}]
    assert {block.language for block in shown} == {"c", "python"}
    page = tmp_path / "page.md"
    page.write_text(
        "\n".join(
            f"```{block.language}\n{block.text.replace('{ ... }', ';')}```" for block in shown
        ),
        encoding="utf-8",
    )
    assert error_of(page, tmp_path) == ""


RUN_DOCSTRINGS = """
import doctest, importlib, pkgutil, tvm_ffi

names = ["tvm_ffi", *(entry.name for entry in pkgutil.walk_packages(tvm_ffi.__path__, "tvm_ffi."))]
modules = []
for name in names:
    try:
        modules.append(importlib.import_module(name))
    except ModuleNotFoundError:  # the framework, or PyInstaller, is not installed
        if not name.startswith(("tvm_ffi.interop.", "tvm_ffi._pyinstaller.hook")):
            raise
for module in modules:  # loads lazy attributes, so that their docstrings are tested
    [getattr(module, name) for name in getattr(module, "__all__", ())]
results = [
    doctest.testmod(
        module,
        extraglobs={"tvm_ffi": tvm_ffi},
        optionflags=doctest.ELLIPSIS,
    )
    for module in modules
]
print(sum(result.failed for result in results), sum(result.attempted for result in results) >= 20)
"""


def test_examples_in_docstrings():
    """The examples run in a separate process, because registered classes stay registered."""
    process = subprocess.run(
        [sys.executable, "-c", RUN_DOCSTRINGS],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (process.returncode, process.stdout) == (0, "0 True\n"), process.stderr


# ---- Detection of errors -------------------------------------------------------------------------


@needs_compilers
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\nx = 1 / 0\n```", "division by zero"),
        ("```python\n>>> 1 + 1\n3\n```", "Got:\n    2"),
        ("```python\nprint(1)\n```\n\n```text\n2\n```", "but this was printed:\n1"),
        ("```sh\nexit 3\n```", "exit status 3"),
        ("```sh\necho a\n```\n\n```text\nb\n```", "but this was printed:\na"),
        ("```c\nint f(void) { return missing; }\n```", "missing"),
        ("```cpp\n#include <tvm/ffi/any.h>\nint x = tvm::ffi::Any();\n```", "Any"),
        ("```{code-block} c\n:caption: a.c\n\nx\n```\n\n```sh\ncc -c a.c\n```", "exit status 1"),
    ],
)
def test_wrong_blocks_are_detected(tmp_path, text, message):
    page = tmp_path / "page.md"
    page.write_text(text + "\n", encoding="utf-8")
    assert message in error_of(page, tmp_path)


def test_marked_blocks_are_skipped(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- not run: it would fail -->\n```python\n1 / 0\n```\n\n"
        "<!-- needs: a_module_that_is_not_there -->\n\n```python\n1 / 0\n```\n",
        encoding="utf-8",
    )
    assert error_of(page, tmp_path) == ""

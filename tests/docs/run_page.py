# SPDX-License-Identifier: Apache-2.0
"""Execution of the code blocks of a page, in the current folder:  ``python run_page.py PAGE``.

Exits with status 1 and a message with page and line if a block fails or prints other output than
the page shows.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import shlex
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

from pages import Block, blocks_of

from tvm_ffi import libinfo

COMPILERS = {"c": ("CC", "cc", "-std=c11"), "cpp": ("CXX", "c++", "-std=c++17")}
OUTPUT = "text"


class PageError(Exception):
    """Failure of a code block."""


class PageRunner:
    """Runs the blocks of a page in order; keeps the Python names that they define."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self.names: dict[str, object] = {"__name__": "__main__"}
        self.printed: str | None = None  # output of the block before this one

    def run(self, block: Block) -> None:
        """Run, compile or write a block, or compare its text with the last printed output."""
        printed, self.printed = self.printed, None
        if block.language == OUTPUT and block.file is None:
            if printed is not None:
                compare(block.text, printed)
        elif block.not_run is not None or is_missing(block.needs):
            return
        elif block.file is not None:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language in COMPILERS:
            compile_text(block)
        elif block.language == "sh":
            self.printed = run_shell(block.text)
        elif block.language == "python":
            self.printed = self._run_python(block)

    def _run_python(self, block: Block) -> str | None:
        if block.text.startswith(">>>"):
            self._run_prompts(block)
            return None
        padding = "\n" * (block.line - 1)  # gives tracebacks the page's line numbers
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(padding + block.text, str(self.page), "exec"), self.names)
        return output.getvalue()

    def _run_prompts(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(
            block.text, self.names, self.page.name, str(self.page), block.line - 1
        )
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        if runner.run(test, out=report.write, clear_globs=False).failed:
            raise PageError(report.getvalue())
        self.names.update(test.globs)


def is_missing(need: str | None) -> bool:
    """Return True if the module or program that a block needs is missing."""
    if need is None or shutil.which(need) is not None:
        return False
    return importlib.util.find_spec(need) is None


def compile_text(block: Block) -> None:
    """Check syntax and types of a C or C++ block with a compiler; warnings count as errors."""
    variable, default, standard = COMPILERS[block.language]
    command = [*shlex.split(os.environ.get(variable) or default), standard, "-fsyntax-only"]
    command += ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    language = {"c": "c", "cpp": "c++"}[block.language]
    run([*command, "-x", language, "-"], block.text)


def run_shell(commands: str) -> str:
    """Run shell commands and return their output; stop at the first failing command."""
    return run(["sh", "-euc", commands])


def run(command: list[str], text: str | None = None) -> str:
    """Run a program and return its output."""
    done = subprocess.run(
        command,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise PageError(f"exit status {done.returncode}:\n{done.stdout}")
    return done.stdout


def compare(expected: str, printed: str) -> None:
    """Compare the output on the page with the output printed; ``...`` on the page is any text."""
    if not doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS):
        raise PageError(f"the page shows\n{expected}\nbut this was printed:\n{printed}")


def main(page: Path) -> None:
    """Run the blocks of a page; stop at the first failure."""
    runner = PageRunner(page)
    for block in blocks_of(page):
        try:
            runner.run(block)
        except Exception as error:
            if not isinstance(error, PageError):
                traceback.print_exc()
            raise SystemExit(f"{page}:{block.line}: {error}") from error


if __name__ == "__main__":
    main(Path(sys.argv[1]))

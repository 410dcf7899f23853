# SPDX-License-Identifier: Apache-2.0
"""Progress line on the terminal during a long build."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")


def terminal_output(code: str) -> str:
    """Return the standard error output of a fresh process whose standard error is a terminal."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stderr=terminal,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(terminal)
    output = b""
    try:
        while block := os.read(master, 4096):
            output += block
    except OSError:  # the process has closed its terminal
        pass
    os.close(master)
    assert process.wait(60) == 0, output
    return output.decode()


# The delay before the progress line is a parameter, because machines differ in speed.
BUILD = """
from tvm_ffi import cpp
from tvm_ffi.cpp import _progress
_progress._SECONDS_UNTIL_SHOWN = {seconds}
cpp.build_inline("a [kernel]", c_sources="int x;")
"""


def test_a_long_build_shows_its_name(wrapped_cc):
    pytest.importorskip("rich")
    wrapped_cc('case "$*" in *-c*) sleep 1;; esac')
    assert "building a [kernel]" in terminal_output(BUILD.format(seconds=0.05))


def test_a_short_build_shows_nothing(wrapped_cc):
    wrapped_cc()
    assert terminal_output(BUILD.format(seconds=60)) == ""


def test_without_rich_a_long_build_shows_one_line(wrapped_cc):
    """Regression: a first build of half a minute printed nothing unless `rich` was installed."""
    wrapped_cc("sleep 0.3")
    code = f"import sys; sys.modules['rich'] = None\n{BUILD.format(seconds=0.05)}"
    assert terminal_output(code) == "tvm_ffi: building a [kernel] ...\r\n"

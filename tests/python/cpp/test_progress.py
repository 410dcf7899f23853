# SPDX-License-Identifier: Apache-2.0
"""The line that a terminal shows while a build takes long."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def seen_on_a_terminal(code: str) -> str:
    """Return what a fresh process writes to a terminal as its standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 4096):
            seen += part
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    assert process.wait(60) == 0, seen
    return seen.decode()


# With another idea of what takes long: machines differ.
BUILD = """
from tvm_ffi import cpp
from tvm_ffi.cpp import _progress
_progress._SECONDS_UNTIL_SHOWN = {seconds}
cpp.build_inline("a [kernel]", c_sources="int x;")
"""


def test_a_long_build_says_what_it_builds(wrapped_cc):
    pytest.importorskip("rich")
    wrapped_cc('case "$*" in *-c*) sleep 1;; esac')
    assert "building a [kernel]" in seen_on_a_terminal(BUILD.format(seconds=0.05))


def test_a_short_build_says_nothing(wrapped_cc):
    wrapped_cc()
    assert seen_on_a_terminal(BUILD.format(seconds=60)) == ""


def test_without_rich_nothing_is_said(wrapped_cc):
    wrapped_cc("sleep 0.3")
    code = f"import sys; sys.modules['rich'] = None\n{BUILD.format(seconds=0.05)}"
    assert seen_on_a_terminal(code) == ""

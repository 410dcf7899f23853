# SPDX-License-Identifier: Apache-2.0
"""Screen pictures of consoles and notebooks: they show the package's current output."""

from __future__ import annotations

import shutil
import sys

import pytest

pytest.importorskip("numpy", reason="no NumPy")
import screens


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="earlier consoles print functions otherwise")
def test_pictures_show_the_current_output():
    """``python tools/screens.py`` generates the pictures that differ."""
    for path, drawn in screens.screens().items():
        assert path.read_text(encoding="utf-8") == drawn, path.name

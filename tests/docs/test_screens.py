# SPDX-License-Identifier: Apache-2.0
"""The pictures of consoles and notebooks show what the package says today."""

from __future__ import annotations

import shutil
import sys

import pytest

pytest.importorskip("numpy", reason="no NumPy")
import screens


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="earlier consoles show functions otherwise")
def test_pictures_show_what_is_shown():
    """``python tools/screens.py`` draws them again."""
    for path, drawn in screens.screens().items():
        assert path.read_text(encoding="utf-8") == drawn, path.name

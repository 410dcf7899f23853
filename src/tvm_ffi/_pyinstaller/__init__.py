# SPDX-License-Identifier: Apache-2.0
"""The folder of PyInstaller hooks; the entry point ``pyinstaller40`` names `get_hook_dirs`."""

from __future__ import annotations

from pathlib import Path

__all__ = ["get_hook_dirs"]


def get_hook_dirs() -> list[str]:
    """Return the folders in which PyInstaller looks for hooks."""
    return [str(Path(__file__).parent)]

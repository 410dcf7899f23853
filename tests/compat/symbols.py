# SPDX-License-Identifier: Apache-2.0
"""Symbols of libtvm_ffi that published libraries import."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .rows import ABI

ASKED_FOR = {
    symbol: sorted(client for client, names in ABI["client_imports"].items() if symbol in names)
    for symbol in sorted(set().union(*ABI["client_imports"].values()))
}


def dynamic_symbols(library: Path, *options: str) -> set[str]:
    """Return the names of a library's dynamic symbols."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm is not installed")
    command = [nm, "--dynamic", "--portability", *options, str(library)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[0] for line in text.splitlines()}


def symbols_asked_for(library: Path) -> set[str]:
    """Return the symbols that a library imports from libtvm_ffi."""
    names = dynamic_symbols(library, "--undefined-only")
    return {name for name in names if re.match(r"TVMFFI|_Z\w*3tvm3ffi", name)}

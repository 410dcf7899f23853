# SPDX-License-Identifier: Apache-2.0
"""The two halves of the operator for TensorFlow agree; what it does is shown with TensorFlow."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_ffi.interop._tensorflow import call
from tvm_ffi.interop._tensorflow.extent import Extent

# TensorFlow's C++ names of types, by those that both of us use.
NAMES = {"HALF": "float16", "FLOAT": "float32", "DOUBLE": "float64"}


@pytest.fixture(scope="module")
def source():
    """Return the text of the C++ half."""
    path = Path(__file__).parents[3] / "src" / "tvm_ffi" / "interop" / "_tensorflow" / "op.cc"
    return path.read_text(encoding="utf-8")


def test_both_know_the_same_element_types(source):
    known = re.findall(r"\{tf::DT_(\w+), \{", source)
    assert {NAMES.get(name, name.lower()) for name in known} == call._DTYPES


def test_both_know_the_same_sources_of_arguments(source):
    names = re.search(r"enum Source \{ (.*?) \};", source)[1].split(", ")
    assert [name[1:].upper() for name in names] == ["INPUT", "OUTPUT", "SCALAR", "VALUE"]
    assert [getattr(call, f"_{name[1:].upper()}") for name in names] == [0, 1, 2, 3]
    assert f"kNewBuffer = {call._NEW_BUFFER};" in source


def test_an_unknown_extent_is_reckoned_with():
    n = Extent(7)
    assert (n + 1).tensor == 8
    assert (1 + n * n - 2).tensor == 48
    assert (20 - n).tensor == 13
    assert (-(-n // 2)).tensor == 4  # as cdiv is worked out
    assert (n % 4 + 3 * n).tensor == 24
    assert (100 // n + 100 % n).tensor == 16
    assert n == 3  # nobody knows before the graph runs
    assert (n != 3) is False
    with pytest.raises(ValueError, match="known when the graph runs: pass out="):
        min(n, 3)


def test_tensorflow_that_is_missing_is_named():
    program = (
        "import sys; sys.modules['tensorflow'] = None\n"
        "try:\n"
        "    import tvm_ffi.interop.tensorflow\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "this adapter needs tensorflow: pip install 'tensorflow'\n", done.stderr

# SPDX-License-Identifier: Apache-2.0
"""The two halves of the operator for TensorFlow agree; what it does is shown with TensorFlow."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_ffi.interop._tensorflow import call, library
from tvm_ffi.interop._tensorflow.extent import Extent
from tvm_ffi.interop._xla import call as xla_call

# TensorFlow's C++ names of types, by those that both of us use.
NAMES = {"HALF": "float16", "FLOAT": "float32", "DOUBLE": "float64"}


@pytest.fixture(scope="module")
def source():
    """Return the text of the C++ half."""
    folder = Path(__file__).parents[3] / "src" / "tvm_ffi" / "interop" / "_tensorflow"
    return "".join((folder / name).read_text(encoding="utf-8") for name in ("op.cc", "node.h"))


def test_both_know_the_same_element_types(source):
    known = re.findall(r"\{tf::DT_(\w+), \{", source)
    assert {NAMES.get(name, name.lower()) for name in known} == call._DTYPES


def test_both_know_the_same_sources_of_arguments(source):
    names = re.search(r"enum Source \{ (.*?) \};", source)[1].split(", ")
    assert [name[1:].upper() for name in names] == ["INPUT", "OUTPUT", "SCALAR", "VALUE"]
    assert [getattr(call, f"_{name[1:].upper()}") for name in names] == [0, 1, 2, 3]
    assert f"kNewBuffer = {call._NEW_BUFFER};" in source


def test_a_call_in_xla_says_where_arguments_come_from_as_that_of_jax_does():
    folder = Path(__file__).parents[3] / "src" / "tvm_ffi" / "interop" / "_tensorflow"
    text = (folder / "xla_op.cc").read_text(encoding="utf-8")
    written = re.search(r"enum CustomCallSource {(.*)}", text)[1]
    found = {name: int(number) for name, number in re.findall(r"k(\w+) = (\d)", written)}
    assert found == {
        "Operand": xla_call.OPERAND,
        "Result": xla_call.OUTPUT,
        "Attribute": xla_call.ATTRIBUTE,
        "None": xla_call.NONE,
        "JSONGraph": xla_call.JSON_GRAPH,
    }


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


# ---- which library of operators belongs to which TensorFlow --------------------------------------

OPERATORS = """
#include <tensorflow_version.h>
extern "C" int version() { return TENSORFLOW_VERSION; }
"""


class TensorFlow:
    """Stands for a release of TensorFlow: headers, flags, and what loads operators."""

    def __init__(self, folder, version="2.21.0", abi=1, number=1):
        (folder / "include").mkdir(parents=True, exist_ok=True)
        header = folder / "include" / "tensorflow_version.h"
        header.write_text(f"#define TENSORFLOW_VERSION {number}\n")
        self.__version__, self.number = version, number
        self.sysconfig = self
        self.get_compile_flags = lambda: [f"-I{header.parent}", f"-D_GLIBCXX_USE_CXX11_ABI={abi}"]
        self.get_link_flags = lambda: [f"-L{folder}"]
        self.load_op_library = lambda path: path
        self.RegisterGradient = lambda name: lambda refuse: None


@pytest.fixture
def operators(tmp_path, monkeypatch):
    """Return what loads operators, of a source that needs no TensorFlow."""
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "operators.cc"
    source.write_text(OPERATORS)
    monkeypatch.setattr(library, "SOURCE", source)
    return library.operators


def test_one_tensorflow_finds_what_it_has_built(operators, tmp_path):
    first, second = TensorFlow(tmp_path / "one"), TensorFlow(tmp_path / "one")
    assert operators(first) == operators(second)


@pytest.mark.parametrize(
    "other",
    [
        lambda path: TensorFlow(path / "another"),
        lambda path: TensorFlow(path / "one", version="2.21.1"),
        lambda path: TensorFlow(path / "one", abi=0),
        lambda path: TensorFlow(path / "one", number=2),
    ],
    ids=["environment", "version", "abi", "headers"],
)
def test_another_tensorflow_never_loads_it(operators, tmp_path, other):
    """Also where another release was installed over the first one, in the same folder."""
    path = operators(TensorFlow(tmp_path / "one"))
    another = other(tmp_path)
    assert operators(another) != path
    assert ctypes.CDLL(operators(another)).version() == another.number
    assert ctypes.CDLL(path).version() == 1

# SPDX-License-Identifier: Apache-2.0
"""Tables that the TensorFlow operator's Python and C++ sources share, and its build cache.

``tests/frameworks`` runs the operator with TensorFlow.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_ffi.interop._tensorflow import call, library
from tvm_ffi.interop._tensorflow.extent import Extent
from tvm_ffi.interop._xla import attributes

# Names of dtypes by TensorFlow's C++ names, where they differ.
NAMES = {"HALF": "float16", "FLOAT": "float32", "DOUBLE": "float64"}


@pytest.fixture(scope="module")
def source():
    """Return the C++ source text of the operator."""
    folder = Path(__file__).parents[3] / "src" / "tvm_ffi" / "interop" / "_tensorflow"
    return "".join((folder / name).read_text(encoding="utf-8") for name in ("op.cc", "node.h"))


def test_python_and_cpp_have_the_same_element_types(source):
    names = re.findall(r"\{tf::DT_(\w+), \{", source)
    assert {NAMES.get(name, name.lower()) for name in names} == call._DTYPES


def test_python_and_cpp_have_the_same_argument_sources(source):
    names = re.search(r"enum Source \{ (.*?) \};", source)[1].split(", ")
    assert [name[1:].upper() for name in names] == ["INPUT", "OUTPUT", "SCALAR", "VALUE"]
    assert [getattr(call, f"_{name[1:].upper()}") for name in names] == [0, 1, 2, 3]
    assert f"kNewBuffer = {call._NEW_BUFFER};" in source


def test_xla_kernel_has_the_argument_sources_of_the_jax_adapter():
    folder = Path(__file__).parents[3] / "src" / "tvm_ffi" / "interop" / "_tensorflow"
    text = (folder / "xla_op.cc").read_text(encoding="utf-8")
    enum = re.search(r"enum CustomCallSource {(.*)}", text)[1]
    sources = {name: int(number) for name, number in re.findall(r"k(\w+) = (\d)", enum)}
    assert sources == {
        "Operand": attributes.OPERAND,
        "Result": attributes.OUTPUT,
        "Attribute": attributes.ATTRIBUTE,
        "None": attributes.NONE,
        "JSONGraph": attributes.JSON_GRAPH,
    }


def test_arithmetic_on_symbolic_extents():
    n = Extent(7)
    assert (n + 1).tensor == 8
    assert (1 + n * n - 2).tensor == 48
    assert (20 - n).tensor == 13
    assert (-(-n // 2)).tensor == 4  # how cdiv is computed
    assert (n % 4 + 3 * n).tensor == 24
    assert (100 // n + 100 % n).tensor == 16
    assert n == 3  # Compared by the function when the graph runs.
    assert (n != 3) is False
    with pytest.raises(ValueError, match="known only when the graph runs; pass the "):
        min(n, 3)


def test_error_without_tensorflow_names_the_package_to_install():
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
    assert done.stdout == "this adapter needs the package tensorflow: pip install 'tensorflow'\n", (
        done.stderr
    )


# ---- cache key of the operator library -----------------------------------------------------------

OPERATORS = """
#include <tensorflow_version.h>
extern "C" int version() { return TENSORFLOW_VERSION; }
"""


class TensorFlow:
    """A fake TensorFlow release: headers, compiler flags and the loader of operators."""

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
    """Return the function `operators`, with a source that needs no TensorFlow."""
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "operators.cc"
    source.write_text(OPERATORS)
    monkeypatch.setattr(library, "SOURCE", source)
    return library.operators


def test_operators_are_built_once_per_tensorflow(operators, tmp_path):
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
def test_another_tensorflow_has_another_library(operators, tmp_path, other):
    """The other release may be installed in the same folder."""
    path = operators(TensorFlow(tmp_path / "one"))
    another = other(tmp_path)
    assert operators(another) != path
    assert ctypes.CDLL(operators(another)).version() == another.number
    assert ctypes.CDLL(path).version() == 1

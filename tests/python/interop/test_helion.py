# SPDX-License-Identifier: Apache-2.0
"""The Helion adapter without Helion: argument errors, pointer writes, extents from sizes.

``tests/systems`` compiles Helion kernels.
"""

from __future__ import annotations

import ast
import importlib
import sys
from enum import Enum
from types import ModuleType, SimpleNamespace

import pytest

from tvm_ffi.interop._helion.extents import UnknownExtentError, condition_of, extent_of, product
from tvm_ffi.interop._helion.pointer_writes import written_parameters
from tvm_ffi.signature._expression import evaluate, extent_text
from tvm_ffi.signature._parsing import parse_conditions

# ---- the adapter with a fake Helion module -------------------------------------------------------

ADAPTERS = ("tvm_ffi.interop.helion", "tvm_ffi.interop.triton")


@pytest.fixture
def import_adapter(monkeypatch):
    """Return a function that imports the adapter with a fake Helion of a given version."""
    pytest.importorskip("torch")
    # These modules are imported before the fake modules, because torch checks only once whether
    # Triton is installed.
    importlib.import_module("tvm_ffi.interop._helion.captured_launch")

    def imported(version: str = "1.5.1"):
        helion, triton = ModuleType("helion"), ModuleType("triton")
        helion.__version__, triton.__version__ = version, "3.9.0"
        helion.Kernel, helion.Config = Kernel, Config
        helion.RefMode = Enum("RefMode", ["OFF", "EAGER"])
        for name, module in (("helion", helion), ("triton", triton)):
            monkeypatch.setitem(sys.modules, name, module)
        return importlib.import_module("tvm_ffi.interop.helion")

    for name in ADAPTERS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield imported
    for name in ADAPTERS:
        sys.modules.pop(name, None)


class Config:
    """The members of ``helion.Config`` that the adapter reads."""

    def __init__(self, **config: object) -> None:
        self.config = config


class Kernel:
    """The members of ``helion.Kernel`` that the adapter reads."""

    name = "scale"

    def __init__(self, backend: str = "triton", configs: tuple[Config, ...] = ()) -> None:
        ref_mode = sys.modules["helion"].RefMode.OFF
        self.settings = SimpleNamespace(backend=backend, ref_mode=ref_mode)
        self.configs = configs

    def normalize_args(self, *arguments: object) -> tuple[object, ...]:
        if len(arguments) != 1:
            raise TypeError("too many positional arguments")
        return arguments


def test_error_without_helion_names_the_package_to_install(import_adapter, monkeypatch):
    monkeypatch.setitem(sys.modules, "helion", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"needs the package helion: pip install 'helion'"
    ):
        importlib.import_module("tvm_ffi.interop.helion")


def test_untested_helion_version_is_named_in_a_warning(import_adapter):
    with pytest.warns(UserWarning, match=r"helion 1\.6\.0 was not tested with tvm_ffi\.interop"):
        import_adapter("1.6.0")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        pytest.param((3, ()), TypeError, "made by helion.kernel, got int", id="not-a-kernel"),
        pytest.param((Kernel, ()), TypeError, "made by helion.kernel, got type", id="class"),
        pytest.param(
            ("kernel", 3), TypeError, "scale: example_args: expected a tuple", id="not-a-tuple"
        ),
        pytest.param(
            ("kernel", (1, 2)), TypeError, "scale: example_args: too many", id="number-of-arguments"
        ),
        pytest.param(("kernel", (1,)), ValueError, "scale: expected config= for", id="no-config"),
        pytest.param(
            ("kernel", (1,), 3), TypeError, "helion.Config or a mapping, got int", id="config"
        ),
        pytest.param(
            ("kernel", (1,), {"pid_type": "persistent_interleaved"}),
            ValueError,
            "scale: the grid of a config with pid_type 'persistent_interleaved' depends on",
            id="persistent",
        ),
    ],
)
def test_wrong_arguments_are_rejected_before_compilation(import_adapter, arguments, error, text):
    adapter = import_adapter()
    kernel, *rest = arguments
    with pytest.raises(error, match=text):
        adapter.to_module(Kernel() if kernel == "kernel" else kernel, *rest, target=90)


def test_kernels_for_other_backends_than_triton_are_rejected(import_adapter):
    adapter = import_adapter()
    with pytest.raises(ValueError, match="scale: expected .* 'triton', got backend 'pallas'"):
        adapter.to_plan(Kernel("pallas"), (1,), target=90)
    interpreted = Kernel()
    interpreted.settings.ref_mode = sys.modules["helion"].RefMode.EAGER
    with pytest.raises(ValueError, match="scale: .*got an interpreted one; .*HELION_INTERPRET"):
        adapter.to_plan(interpreted, (1,), target=90)


# ---- pointers that a kernel writes to ------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "written"),
    [
        pytest.param("tl.store(x + i, tl.load(y + i))", {"x"}, id="store"),
        pytest.param("p = y + i\n    q = p\n    tl.store(q, 1)", {"y"}, id="through-names"),
        pytest.param("q = p\n    p = y\n    tl.store(q, 1)", {"y"}, id="swapped"),
        pytest.param("i = tl.load(y)\n    tl.store(x + i, i)", {"x"}, id="loaded-value"),
        pytest.param("p = x\n    p += i\n    tl.store(p, 1)", {"x"}, id="moved"),
        pytest.param("old = tl.atomic_add(x, tl.load(y), sem='relaxed')", {"x"}, id="atomic"),
        pytest.param("tl.store(pointer=x, value=1)", {"x"}, id="keyword"),
        pytest.param(
            "d = tl.make_tensor_descriptor(x, [n], [1], [8])\n    d.store([0], tl.load(y))",
            {"x"},
            id="descriptor",
        ),
        pytest.param("d.store([0], y)", set(), id="unknown-descriptor"),
        pytest.param("helpers.barrier(x, n)", {"x"}, id="other-function"),
        pytest.param("tl.inline_asm_elementwise('', '', [x], tl.int32, False, 1)", {"x"}, id="asm"),
        pytest.param("v = tl.dot(tl.load(x), tl.load(y))", set(), id="read"),
    ],
)
def test_written_parameters(body, written):
    tree = ast.parse(f"def kernel(x, y, n):\n    {body}\n")
    assert written_parameters(tree, ["x", "y"]) == written


# ---- torch sizes ---------------------------------------------------------------------------------


@pytest.fixture
def sympy():
    return pytest.importorskip("sympy")


NAMES = {"s0": "n", "s1": "m"}


def test_sizes_become_expressions_with_the_same_value(sympy):
    functions = pytest.importorskip("torch.utils._sympy.functions")
    n, m = sympy.symbols("s0 s1", integer=True, positive=True)
    for size, value in (
        (sympy.Integer(7), 7),
        (n, 10),
        (n * m + 2 * n - 3, 47),
        (n - m, 7),
        (-n, -10),
        (-n - m, -13),
        (-2 * n, -20),
        (m**3, 27),
        (functions.FloorDiv(n + 15, 16) * functions.FloorDiv(m, 2), 1),
        (functions.Mod(n, 4), 2),
        (functions.PythonMod(n, m), 1),
        (sympy.Max(n, 4 * m), 12),
        (sympy.Min(n, 4 * m), 10),
    ):
        extent = extent_of(size, NAMES)
        assert evaluate(extent, {"n": 10, "m": 3}) == value, extent_text(extent)
    assert extent_of(512, {}) == 512


def test_sizes_that_are_not_extent_expressions_are_errors(sympy):
    n = sympy.Symbol("s0", integer=True)
    for size in (sympy.Symbol("u0"), sympy.sqrt(n), n / 3, sympy.sin(n)):
        with pytest.raises(UnknownExtentError):
            extent_of(size, NAMES)
    with pytest.raises(UnknownExtentError, match=r"^x.{79}\.\.\.$"):
        extent_of(sympy.Symbol("x" * 200), NAMES)


def test_comparisons_become_conditions_of_launch_plans(sympy):
    n, m = sympy.symbols("s0 s1", integer=True)
    for relation, text in (
        (sympy.Eq(n, m + 1), "n == m + 1"),
        (sympy.Ne(n, 1), "n != 1"),
        (n < 2 * m, "n < 2*m"),
        (n <= m, "n <= m"),
        (n > 100, "n > 100"),
        (n >= -3, "n >= 0 - 3"),
    ):
        condition = condition_of(relation, NAMES)
        assert condition == text
        assert len(parse_conditions(condition)) == 1
    with pytest.raises(UnknownExtentError):
        condition_of(sympy.And(n > 1, m > 1), NAMES)


def test_product_is_the_number_of_elements_of_a_shape():
    assert product([]) == 1
    assert product([2, 3]) == 6
    assert extent_text(product(["n", 4, "m", 2])) == "8*n*m"
    assert extent_text(product(["n", 1])) == "n"
    assert extent_text(product(["n", 0])) == "0*n"

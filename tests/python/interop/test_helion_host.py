# SPDX-License-Identifier: Apache-2.0
"""Captured launches of host code as Helion writes it, and errors for host code that does more."""

from __future__ import annotations

import ast
import inspect
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from tvm_ffi.interop._helion.captured_launch import CapturedLaunch  # noqa: E402 # needs torch
from tvm_ffi.interop._helion.host_call import HostCall  # noqa: E402


class JitFunction:
    """The members of ``triton.JITFunction`` that the adapter uses."""

    __name__ = "_helion_scale"

    def __init__(self, text: str, constants: tuple[str, ...] = ()) -> None:
        self._tree = ast.parse(f"def kernel({text}")
        names = [argument.arg for argument in self._tree.body[0].args.args]
        self.params = [SimpleNamespace(name=name, is_constexpr=name in constants) for name in names]

    def parse(self) -> ast.AST:
        return self._tree


SCALE = JitFunction("x, out): tl.store(out, tl.load(x))")


def capture(
    host, *examples: object, dynamic: bool = False, index_dtype: torch.dtype = torch.int32
) -> CapturedLaunch:
    """Return the launch of host code; extents are symbols if `dynamic`, else constants."""
    declared = {
        name: parameter
        for name, parameter in inspect.signature(host).parameters.items()
        if name != "_launcher"
    }
    environment = SimpleNamespace(
        index_dtype=index_dtype, shape_env=SimpleNamespace(simplify=lambda expression: expression)
    )
    bound = symbolic(examples) if dynamic else examples
    call = HostCall("scale", declared, examples, bound, environment)
    call.run(host)
    return CapturedLaunch(call)


def symbolic(examples: tuple[object, ...]) -> list[object]:
    """Return fake arguments like Helion's: tensors in which each extent is a different symbol."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import (
        DimDynamic,
        ShapeEnv,
        StatelessSymbolicContext,
    )

    environment = ShapeEnv(duck_shape=False, specialize_zero_one=False)
    mode = FakeTensorMode(shape_env=environment)
    return [
        mode.from_tensor(
            example,
            symbolic_context=StatelessSymbolicContext(
                dynamic_sizes=[DimDynamic.DYNAMIC] * example.ndim
            ),
        )
        for example in examples
    ]


X = torch.zeros(4, 6)


def test_allocated_tensors_are_results_and_written_arguments_are_inout():
    def host(x, y, *, _launcher):
        out = torch.empty_like(x)
        _launcher(kernel, (4,), x, y, out, num_warps=2, ptx_options=None)
        return y, out

    kernel = JitFunction("x, y, out): tl.store(out, tl.load(x)); tl.store(y, 0)")
    captured = capture(host, X, torch.zeros(3, dtype=torch.int64))
    text = "scale(x: float32[4, 6], y: inout int64[3]) -> float32[4, 6]"
    assert str(captured.signature) == text
    assert captured.arguments == {"x": "x", "y": "y", "out": "result"}
    assert captured.element_types == {"x": "float32", "y": "int64", "out": "float32"}
    assert (captured.grid, captured.options, captured.when) == (["4"], {"num_warps": 2}, "")


def test_dynamic_extents_become_expressions_and_conditions():
    def host(x, y, *, _launcher):
        n, m = x.shape
        assert y.size(0) == m
        scratch = torch.empty([n, 2], dtype=torch.float16, device=x.device)
        factor = 2 if n > 3 else 1
        _launcher(kernel, ((n + 7) // 8 * m, factor), x, y, scratch, m, n * m, 1, 5, None)
        return x

    kernel = JitFunction("x, y, scratch, m, size, one, five, nothing): helpers.write(scratch, y)")
    captured = capture(host, X, torch.zeros(6), dynamic=True)
    assert str(captured.signature) == "scale(x: float32[x0, x1], y: inout float32[x1])"
    assert captured.grid == ["(x0 + 7)//8*x1", "2"]
    assert captured.arguments == {
        "x": "x", "y": "y", "scratch": "workspace(4*x0)", "m": "int32 x1", "size": "int32 x0*x1",
        "five": "int32 5",
    }  # fmt: skip
    assert captured.constants == {"one": 1, "nothing": None}
    assert captured.when == (
        "x0 > 3 and x0*x1 <= 2147483647 and x1 <= 2147483647 and 2*x0 <= 2147483647"
    )


def launch(*arguments, _launcher, **options):
    _launcher(SCALE, (1,), *arguments, **options)


def none(x, *, _launcher):
    return x


def twice(x, *, _launcher):
    for _ in range(2):
        launch(x, torch.empty_like(x), _launcher=_launcher)


def of_zeros(x, *, _launcher):
    launch(x, torch.zeros_like(x), _launcher=_launcher)


def reading(x, *, _launcher):
    if x.sum() > 0:
        launch(x, x, _launcher=_launcher)


def of_another(x, *, _launcher):
    launch(x, X, _launcher=_launcher)


def inside(x, *, _launcher):
    launch(x[1:], x, _launcher=_launcher)


def keeping(x, *, _launcher):
    launch(x, x, _launcher=_launcher, _persistent_state_specs=((x, 1, None, False),))


def number(x, *, _launcher):
    launch(x, x, _launcher=_launcher)
    return 3


def transposed(x, *, _launcher):
    out = torch.empty(6, 4)
    launch(x, out, _launcher=_launcher)
    return out.T


def both_views(x, *, _launcher):
    out = torch.empty(4, 6)
    launch(x, out, _launcher=_launcher)
    return out, out.view(-1)


def asserting(x, *, _launcher):
    assert x.size(0) == 5, "five rows"


@pytest.mark.parametrize(
    ("host", "text"),
    [
        (none, "expected one kernel launch in the host code, got 0"),
        (twice, "expected one kernel launch .*, got 2: _helion_scale, _helion_scale"),
        (of_zeros, r"the host code runs aten\.zeros_like\.default, but a launch plan only"),
        (reading, r"the host code runs aten\.sum\.default, but a launch plan only"),
        (of_another, "kernel argument 'out' is a tensor from outside of the call"),
        (inside, "kernel argument 'x' is a view with an offset into a tensor"),
        (keeping, "launch plans do not support Helion's option _persistent_state_specs"),
        (number, "the kernel returns int; only tensors can be returned"),
        (
            transposed,
            r"the result of shape \(4, 6\) is not compact, or is a view of a larger tensor",
        ),
        (both_views, "two of the kernel's results share memory"),
        (asserting, "example_args do not satisfy an assertion of the host code: five rows"),
    ],
)
def test_host_code_that_does_more_than_launch_is_rejected(host, text):
    with pytest.raises(ValueError, match=f"^scale: .*{text}"):
        capture(host, X)


@pytest.mark.parametrize(
    ("host_arguments", "text"),
    [
        (lambda x, out: ((1,), x, out, x.size(0) ** 0.5), "kernel argument 'n' is `.*`, which the"),
        (lambda x, out: ((x.size(0) | 1,), x, out, 1), "the grid is `.*`, which cannot be wri"),
    ],
)
def test_sizes_that_are_not_extent_expressions_are_rejected(host_arguments, text):
    def host(x, *, _launcher):
        out = torch.empty_like(x)
        _launcher(JitFunction("x, out, n): tl.store(out, n)"), *host_arguments(x, out))
        return out

    with pytest.raises(ValueError, match=f"^scale: {text}"):
        capture(host, X, dynamic=True)


def test_constants_of_a_kernel_cannot_depend_on_extents():
    def host(x, *, _launcher):
        out = torch.empty_like(x)
        _launcher(JitFunction("x, out, m): pass", ("m",)), (1,), x, out, x.size(1))

    assert capture(host, X).constants == {"m": 6}
    with pytest.raises(ValueError, match=r"^scale: the kernel's constant 'm' depends on extents"):
        capture(host, X, dynamic=True)


def test_conditions_that_plans_cannot_express_are_rejected():
    def host(x, *, _launcher):
        factor = 2 if x.size(0) | 1 > 3 else 1
        _launcher(SCALE, (factor,), x, x)

    with pytest.raises(ValueError, match=r"^scale: the host code branches on `.*hl\.specialize"):
        capture(host, X, dynamic=True)


@pytest.mark.parametrize(
    ("examples", "error", "text"),
    [
        pytest.param((X.T, X), ValueError, r"'x': expected a compact tensor, got", id="strides"),
        pytest.param((X, X), ValueError, r"'y': .*, got the memory of 'x'", id="aliases"),
        pytest.param((X.to_sparse(), X), TypeError, "'x': expected a dense tensor", id="sparse"),
        pytest.param(([X], X), TypeError, r"'x': expected a tensor, got list", id="container"),
        pytest.param(({"a": [X]}, X), TypeError, r"'x': expected a tensor, got dict", id="deep"),
    ],
)
def test_examples_that_signatures_cannot_describe_are_rejected(examples, error, text):
    def host(x, y, *, _launcher):
        raise AssertionError

    with pytest.raises(error, match=f"^scale: example of {text}"):
        capture(host, *examples)


def test_kernels_with_64_bit_indices_get_64_bit_extents():
    def host(x, *, _launcher):
        _launcher(JitFunction("x, n): tl.store(x, n)"), (1,), x, x.size(0))

    captured = capture(host, X[0], dynamic=True, index_dtype=torch.int64)
    assert (captured.arguments["n"], captured.when) == ("x0", "")
    captured = capture(host, X[0], dynamic=True)
    assert (captured.arguments["n"], captured.when) == ("int32 x0", "x0 <= 2147483647")


def test_examples_may_be_meta_tensors():
    def host(x, y, *, _launcher):
        _launcher(SCALE, (1,), x, y)

    huge = torch.empty(1 << 40, device="meta")
    captured = capture(host, huge, torch.empty(3, device="meta"))
    assert str(captured.signature) == "scale(x: float32[1099511627776], y: inout float32[3])"


def test_rows_of_one_tensor_do_not_count_as_shared_memory():
    def host(x, y, *, _launcher):
        _launcher(SCALE, (1,), x, y)

    assert str(capture(host, X[0], X[1]).signature) == "scale(x: float32[6], y: inout float32[6])"

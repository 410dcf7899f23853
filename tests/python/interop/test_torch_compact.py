# SPDX-License-Identifier: Apache-2.0
"""Compact parameters of torch operators: strided arguments, transforms, fake kernels."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # raised in torch

STRIDED = torch.arange(6.0)[::2]  # 0, 2, 4


def save_factor(ctx, inputs, output):
    ctx.factor = inputs[1]


@pytest.fixture(scope="module", params=["C++", "Python"])
def packed(request, interop, functions):
    """Return an operator with a derivative, whose kernel is in C++ or in Python."""
    options = {} if request.param == "C++" else {"fake": lambda x, factor=2.0: torch.empty_like(x)}
    return interop.register(
        functions.packed,
        f"test_compact::packed_{len(options)}",
        functional=True,
        setup_context=save_factor,
        backward=lambda ctx, grad: (packed_of(grad, ctx.factor), None),
        **options,
    )


def packed_of(x, factor):
    return torch.ops.test_compact.packed_grad(x, factor)


@pytest.fixture(scope="module", autouse=True)
def gradient_operator(interop, functions):
    return interop.register(functions.packed, "test_compact::packed_grad", functional=True)


def test_strided_argument_is_copied(packed):
    """An operator read the memory of a strided view as if it were compact."""
    assert packed(STRIDED, 10.0).tolist() == [0.0, 20.0, 40.0]
    x = torch.arange(6.0).reshape(3, 2)
    assert torch.equal(torch.vmap(lambda column: packed(column, 3.0), in_dims=1)(x), x.T * 3)


def test_vmap_over_no_elements_names_the_missing_rule(packed):
    """Regression: IndexError from the adapter."""
    with pytest.raises(ValueError, match="vmap over 0 elements needs a batching rule; pass vmap="):
        torch.vmap(lambda row: packed(row, 3.0))(torch.zeros(0, 3))


def test_gradient_of_a_sum_is_copied(packed):
    """The gradient of `sum` is expanded: its strides are 0."""
    x = torch.ones(3, requires_grad=True)
    packed(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0, 5.0]


def test_traced_program_copies(interop, functions):
    def program(x, y):
        functions.packed(x, y, 3.0)

    y = torch.zeros(6)
    torch._dynamo.reset()
    torch.compile(program, fullgraph=True, backend="aot_eager")(STRIDED, y[1::2])
    assert y.tolist() == [0.0, 0.0, 0.0, 6.0, 0.0, 12.0]


def test_written_arguments_get_the_contents_of_the_copy(interop, functions):
    operator = interop.operator_of(functions.packed)
    y = torch.full((6,), -1.0, requires_grad=True)
    operator(STRIDED, y.detach()[::2])
    assert y.tolist() == [0.0, -1.0, 4.0, -1.0, 8.0, -1.0]
    total = torch.arange(6.0)
    interop.operator_of(functions.packed_sum)(STRIDED, total[::2])
    assert total.tolist() == [0.0, 1.0, 4.0, 3.0, 8.0, 5.0]
    adding = interop.register(functions.packed_sum, "test_compact::sum", functional=True)
    assert adding(STRIDED, total[1::2]).tolist() == [1.0, 5.0, 9.0]
    assert total.tolist() == [0.0, 1.0, 4.0, 3.0, 8.0, 5.0]


def test_written_argument_with_elements_in_one_place_is_rejected(interop, functions):
    with pytest.raises(RuntimeError, match="single memory location"):
        interop.operator_of(functions.packed)(STRIDED, torch.zeros(1).expand(3))


def test_opcheck_compares_the_values(packed):
    x = torch.arange(6.0)[::2].requires_grad_()
    assert set(torch.library.opcheck(packed, (x, 3.0)).values()) == {"SUCCESS"}


def test_rows_keep_their_distance_and_other_strides_are_copied(interop, functions):
    operator = interop.operator_of(functions.scaled_rows)
    x, y = torch.arange(12.0).reshape(3, 4), torch.zeros(6, 4)
    operator(x[:, 1:3], y[::2, 2:])
    assert y.tolist() == [
        *([0.0, 0.0, 2.0, 4.0], [0.0] * 4, [0.0, 0.0, 10.0, 12.0], [0.0] * 4),
        *([0.0, 0.0, 18.0, 20.0], [0.0] * 4),
    ]
    turned = torch.zeros(3, 4)
    operator(x.T, turned.T)
    assert torch.equal(turned, 2 * x)
    with pytest.raises(
        ValueError, match=r"'x': .* compact from dimension -1, got strides \(1, 4\)"
    ):
        functions.scaled_rows(x.T, turned.T)


def test_fake_kernel_does_not_replace_the_checks(interop, functions):
    """With `fake=` and autocast, a function got a dtype that its signature excludes."""
    operator = interop.register(
        functions.scaled,
        "test_compact::cast",
        functional=True,
        fake=lambda x, factor=2.0: torch.empty_like(x),
        autocast={"cpu": torch.bfloat16},
    )
    assert operator(STRIDED.clone()).tolist() == [0.0, 4.0, 8.0]
    message = r"scaled\(\) argument 'x': expected dtype float32, got bfloat16"
    with torch.autocast("cpu"), pytest.raises(ValueError, match=message):
        operator(STRIDED)
    with pytest.raises(ValueError, match="'x': expected 1 dimension, got 2"):
        operator(torch.zeros(2, 2))
    narrow = interop.register(
        functions.scaled,
        "test_compact::narrow",
        functional=True,
        fake=lambda x, factor=2.0: x.new_empty(1, dtype=torch.float16),
    )
    with pytest.raises(ValueError, match="'y': expected dtype float32, got float16"):
        narrow(STRIDED)


def test_explicit_signature_is_checked(interop, functions):
    operator = interop.register(
        functions.nameless,
        "test_compact::nameless",
        signature="nameless(x: float32[n] compact, y: out float32[n] compact)",
    )
    y = torch.zeros(6)
    operator(STRIDED, y[::2])
    assert y.tolist() == [0.0, 0.0, 4.0, 0.0, 8.0, 0.0]
    with pytest.raises(ValueError, match=r"nameless\(\) argument 'y': shape\[0\] must be n = 3"):
        operator(STRIDED, torch.zeros(2))

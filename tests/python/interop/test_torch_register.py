# SPDX-License-Identifier: Apache-2.0
"""Registered torch operators: fake kernels, derivatives, batching rules, autocast, devices."""

from __future__ import annotations

import pytest

import tvm_ffi

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # raised in torch

X = torch.tensor([1.0, 2.0, 3.0])


def save_factor(ctx, inputs, output):
    ctx.factor = inputs[1]


def derive_scaled(ctx, grad):
    return grad * ctx.factor, None


@pytest.fixture(scope="module")
def scaled(interop, functions):
    """Return an operator that returns x * factor, with a derivative and a batching rule."""

    def map_scaled(info, dims, x, factor=2.0):  # torch omits arguments that equal their default.
        return operator(x.reshape(-1), factor).reshape(x.shape), dims[0]

    operator = interop.register(
        functions.scaled,
        "test_register::scaled",
        functional=True,
        backward=derive_scaled,
        setup_context=save_factor,
        jvp=lambda ctx, x, factor: x * ctx.factor,
        vmap=map_scaled,
        autocast={"cpu": torch.float32},
    )
    return operator


def compiled(program, backend="aot_eager", **options):
    torch._dynamo.reset()
    return torch.compile(program, fullgraph=True, backend=backend, **options)


def test_functional_operator_returns_the_out_tensor(scaled):
    assert str(scaled._schema) == "test_register::scaled(Tensor x, float factor=2.) -> Tensor"
    assert scaled(X).tolist() == [2.0, 4.0, 6.0]
    assert torch.ops.test_register.scaled(X, factor=3.0).tolist() == [3.0, 6.0, 9.0]


@pytest.mark.parametrize("backend", [None, "aot_eager", "inductor"])
def test_derivatives(scaled, backend):
    def program(x):
        return scaled(x * 2, 5.0).sum()

    x = X.clone().requires_grad_()
    (program if backend is None else compiled(program, backend))(x).backward()
    assert x.grad.tolist() == [10.0, 10.0, 10.0]


def test_batching_rule(scaled):
    x = torch.stack([X, X + 1, X + 2, X + 3])
    assert torch.equal(torch.vmap(lambda row: scaled(row, 2.0))(x), x * 2)
    assert torch.equal(compiled(torch.vmap(lambda row: scaled(row, 2.0)))(x), x * 2)


ROWS = torch.stack([X, X + 1])
EYE = torch.eye(3)
TRANSFORMS = {  # f is scaled(x, 3), and the loss is the sum of the squares of f
    "grad": (lambda f, loss: torch.func.grad(loss)(X), 18 * X),
    "grad of grad": (
        lambda f, loss: torch.func.grad(lambda x: torch.func.grad(loss)(x).sum())(X),
        torch.full((3,), 18.0),
    ),
    "vjp": (lambda f, loss: torch.func.vjp(f, X)[1](X)[0], 3 * X),
    "jvp": (lambda f, loss: torch.func.jvp(f, (X,), (X,))[1], 3 * X),
    "jacrev": (lambda f, loss: torch.func.jacrev(f)(X), 3 * EYE),
    "jacfwd": (lambda f, loss: torch.func.jacfwd(f)(X), 3 * EYE),
    "hessian": (lambda f, loss: torch.func.hessian(loss)(X), 18 * EYE),
    "grad for each row": (lambda f, loss: torch.vmap(torch.func.grad(loss))(ROWS), 18 * ROWS),
    "grad of rows": (
        lambda f, loss: torch.func.grad(lambda x: torch.vmap(loss)(x).sum())(ROWS),
        18 * ROWS,
    ),
}


@pytest.mark.parametrize(("transform", "expected"), TRANSFORMS.values(), ids=TRANSFORMS)
def test_transforms(scaled, transform, expected):
    def function(x):
        return scaled(x, 3.0)

    assert torch.equal(transform(function, lambda x: (function(x) ** 2).sum()), expected)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_transforms_in_compiled_programs(scaled, backend):
    loss = compiled(torch.vmap(torch.func.grad(lambda x: (scaled(x, 3.0) ** 2).sum())), backend)
    assert torch.equal(loss(ROWS), 18 * ROWS)


def test_transforms_of_an_operator_with_keywords_and_two_results(interop):
    """Rules get keyword arguments in the form of `torch.library`; vmap calls once per row."""

    def both(x, y, z, factor):
        y.numpy()[:] = x.numpy() * factor
        z.numpy()[:] = x.numpy() + factor

    def keep(ctx, inputs, output, keyword_only_inputs):
        ctx.factor = keyword_only_inputs["factor"]

    operator = interop.register(
        tvm_ffi.convert_func(both),
        "test_register::both",
        signature="both(x: float32[n], y: out float32[n], z: out float32[n], *, factor: float=2.0)",
        functional=True,
        setup_context=keep,
        backward=lambda ctx, y, z: y * ctx.factor + z,
    )

    def loss(x):
        y, z = operator(x, factor=3.0)
        return (y + z).sum()

    assert torch.func.grad(loss)(X).tolist() == [4.0, 4.0, 4.0]
    assert torch.func.grad(lambda x: operator(x)[0].sum())(X).tolist() == [2.0, 2.0, 2.0]
    assert torch.vmap(torch.func.grad(loss))(ROWS).tolist() == [[4.0, 4.0, 4.0]] * 2
    y, z = torch.vmap(operator)(ROWS)
    assert torch.equal(y, 2 * ROWS)
    assert torch.equal(z, ROWS + 2)


def test_error_of_a_transform_without_a_rule_names_the_rule(interop, functions):
    operator = interop.register(functions.doubled, "test_register::no_rules")
    with pytest.raises(NotImplementedError, match="no_rules has no derivative; pass backward="):
        torch.func.grad(lambda x: operator(x).sum())(X)
    with pytest.raises(NotImplementedError, match="no_rules has no forward derivative; pass jvp"):
        torch.func.jvp(operator, (X,), (X,))
    with pytest.raises(
        NotImplementedError, match="no_rules cannot be transformed by .*functionali"
    ):
        torch.func.functionalize(operator)(X)
    assert torch.vmap(operator)(ROWS).tolist() == (2 * ROWS).tolist()


def test_autocast(scaled):
    with torch.autocast("cpu"):
        assert scaled(X.bfloat16()).dtype == torch.float32


def test_operator_passes_opcheck(scaled):
    x = X.clone().requires_grad_()
    assert set(torch.library.opcheck(scaled, (x, 3.0)).values()) == {"SUCCESS"}


def test_functional_operator_copies_inout_arguments(interop, functions):
    added = interop.register(functions.added, "test_register::added", functional=True)
    total = torch.ones(3)
    assert added(X, total).tolist() == [2.0, 3.0, 4.0]
    assert total.tolist() == [1.0, 1.0, 1.0]
    assert set(torch.library.opcheck(added, (X, total)).values()) == {"SUCCESS"}


def test_unknown_directions_count_as_written(interop, functions):
    """Regression: a functional operator wrote into the argument, and returned nothing."""
    operator = interop.register(
        functions.added,
        "test_register::unknown",
        signature="added(x: float32[n], total: unknown float32[n])",
        functional=True,
    )
    assert str(operator._schema).endswith("(Tensor x, Tensor total) -> Tensor")
    total = torch.ones(3)
    assert operator(X, total).tolist() == [2.0, 3.0, 4.0]
    assert total.tolist() == [1.0, 1.0, 1.0]


def test_writes_increment_the_version_counter(interop, functions):
    """Autograd rejects a derivative that needs the overwritten contents."""
    added = interop.register(functions.added, "test_register::added_to")
    total = torch.ones(3, requires_grad=True)
    saved = total * 1
    product = saved * saved
    added(X, saved.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    assert set(torch.library.opcheck(added, (X, X.clone())).values()) == {"SUCCESS"}


def test_calls_of_the_function_are_traced_as_the_registered_operator(interop, functions):
    def derive(ctx, grad):
        return grad * 2

    module = tvm_ffi.load_module(functions_path(functions), keep_module_alive=False)
    operator = interop.register(module.doubled, "test_register::doubled", backward=derive)
    assert interop.operator_of(module.doubled) is operator
    x = X.clone().requires_grad_()
    compiled(lambda x: module.doubled(x).sum())(x).backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def functions_path(module):
    """Return the path of the library of a module."""
    return module.__reduce__()[1][1]


def test_explicit_signature_and_fake_kernel(interop, functions):
    nameless = interop.register(
        functions.nameless,
        "test_register::nameless",
        signature="nameless(x: float32[n], y: out float32[n])",
    )
    y = torch.zeros(3)
    nameless(X, y)
    assert y.tolist() == [2.0, 4.0, 6.0]
    shapeless = interop.register(
        functions.shapeless, "test_register::shapeless", fake=lambda x: x.new_empty(3)
    )
    assert compiled(lambda x: shapeless(x) + 1)(X).tolist() == [2.0, 2.0, 2.0]


def test_numbers_as_results_need_a_fake_kernel(interop, functions):
    with pytest.raises(interop.UntraceableError, match="result 0 is not a tensor; pass.*fake="):
        interop.register(functions.length, "test_register::length")
    length = interop.register(
        functions.length,
        "test_register::length",
        fake=lambda x: torch.library.get_ctx().new_dynamic_size(),
    )
    assert compiled(lambda x: x.new_zeros(length(x)))(X).tolist() == [0.0, 0.0, 0.0]


def test_devices(interop, functions):
    operator = interop.register(functions.doubled, "test_register::on_cpu", devices=["cpu"])
    assert operator(X).tolist() == [2.0, 4.0, 6.0]
    assert operator(X.to("meta")).device.type == "meta"
    cuda = interop.register(functions.doubled, "test_register::on_cuda", devices=["cuda"])
    with pytest.raises(NotImplementedError, match="test_register::on_cuda.* 'CPU' backend"):
        cuda(X)


# ---- bad input -----------------------------------------------------------------------------------


def test_backward_without_a_derivative_is_an_error(interop, functions):
    operator = interop.register(functions.doubled, "test_register::underived")
    result = operator(X.clone().requires_grad_())
    with pytest.raises(NotImplementedError, match="underived has no derivative; pass backward="):
        result.sum().backward()
    assert operator(X).tolist() == [2.0, 4.0, 6.0]


def test_errors_in_rules_and_fake_kernels_propagate(interop, functions):
    def fail(*args):
        raise ZeroDivisionError("not today")

    rules = {"backward": fail, "vmap": fail, "jvp": fail}
    operator = interop.register(functions.doubled, "test_register::failing_rules", **rules)
    with pytest.raises(ZeroDivisionError, match="not today"):
        operator(X.clone().requires_grad_()).sum().backward()
    with pytest.raises(ZeroDivisionError, match="not today"):
        torch.vmap(operator)(X[None])
    with pytest.raises(ZeroDivisionError, match="not today"):
        torch.func.grad(lambda x: operator(x).sum())(X)
    with pytest.raises(ZeroDivisionError, match="not today"):
        torch.func.jvp(operator, (X,), (X,))
    bad = interop.register(functions.doubled, "test_register::failing_fake", fake=fail)
    with pytest.raises(torch._dynamo.exc.TorchRuntimeError, match="not today"):
        compiled(bad)(X)
    assert operator(X).tolist() == bad(X).tolist() == [2.0, 4.0, 6.0]


def test_inductor_detects_a_wrong_fake_kernel(interop, functions):
    operator = interop.register(
        functions.doubled, "test_register::wrong_fake", fake=lambda x: x.new_empty(4)
    )
    with pytest.raises(AssertionError, match=r"(?s)expected size 3==4.*wrong_fake"):
        compiled(lambda x: operator(x) + 1, "inductor")(X)


BAD = {
    "callable": (
        lambda f: (len, "a::b", {}),
        TypeError,
        "expected a tvm_ffi.Function, got builtin",
    ),
    "name": (lambda f: (f.doubled, "double", {}), ValueError, "like 'ns::f', got 'double'"),
    "keyword": (
        lambda f: (f.doubled, "a::import", {}),
        ValueError,
        "expected no Python keyword in a name, got 'a::import'",
    ),
    "name type": (lambda f: (f.doubled, 5, {}), TypeError, "`name`: expected a str, got int"),
    "rule": (lambda f: (f.doubled, "a::b", {"vmap": 5}), TypeError, "`vmap`: expected a callable"),
    "context": (
        lambda f: (f.doubled, "a::b", {"setup_context": print}),
        TypeError,
        "`setup_context`: expected also `backward` or `jvp`, got neither",
    ),
    "devices": (
        lambda f: (f.doubled, "a::b", {"devices": "cpu"}),
        TypeError,
        r"`devices`: expected a sequence of device types, got a str; pass \['cpu'\]",
    ),
    "device index": (
        lambda f: (f.doubled, "a::b", {"devices": ["cpu", "cuda:0"]}),
        ValueError,
        "`devices`: torch has no device type 'cuda:0'",
    ),
    "autocast device": (
        lambda f: (f.doubled, "a::b", {"autocast": {"gpu": torch.float16}}),
        ValueError,
        "`autocast`: torch has no device type 'gpu'",
    ),
    "autocast dtype": (
        lambda f: (f.doubled, "a::b", {"autocast": {"cpu": "half"}}),
        TypeError,
        "`autocast`: expected a torch.dtype for 'cpu', got str",
    ),
    "signature": (
        lambda f: (f.nameless, "a::b", {}),
        TypeError,
        "no signature; pass a signature as signature=",
    ),
    "derivative": (
        lambda f: (f.scaled, "a::b", {"backward": len}),
        ValueError,
        "may write to 'y'.*functional=True",
    ),
    "no effect": (
        lambda f: (f.nameless, "a::b", {"signature": "nameless(x: float32[n], y: float32[n])"}),
        TypeError,
        "no results and writes no argument.*declare the parameter as `out` or `inout`",
    ),
    "no functional effect": (
        lambda f: (f.nameless, "a::b", {"signature": "f(x: float32[n])", "functional": True}),
        TypeError,
        "no results and writes no argument",
    ),
    "result": (lambda f: (f.shapeless, "a::b", {}), TypeError, "does not specify the shape.*fake="),
    "type": (lambda f: (f.mapped, "a::b", {}), TypeError, "no type for parameter 'options'"),
    "device": (
        lambda f: (f.doubled, "a::b", {"devices": ["abacus"]}),
        ValueError,
        "`devices`: torch has no device type 'abacus'",
    ),
    "autocast": (
        lambda f: (f.doubled, "a::b", {"autocast": {"meta": torch.half}}),
        ValueError,
        "'meta' does not support autocast",
    ),
}


@pytest.mark.parametrize(("make", "error", "message"), BAD.values(), ids=BAD)
def test_wrong_arguments_of_register_are_rejected(interop, functions, make, error, message):
    function, name, options = make(functions)
    with pytest.raises(error, match=message):
        interop.register(function, name, **options)
    assert not hasattr(torch.ops.a, "b")


def test_operator_names_are_unique(interop, functions):
    interop.register(functions.doubled, "test_register::taken")
    with pytest.raises(ValueError, match=r"test_register::taken exists already, for `doubled\("):
        interop.register(functions.doubled, "test_register::taken")
    with pytest.raises(ValueError, match="operator aten::relu exists already in torch"):
        interop.register(functions.doubled, "aten::relu")

# SPDX-License-Identifier: Apache-2.0
"""Kernels of torch operators in C++: the cases in which they call Python, errors, threads."""

from __future__ import annotations

import concurrent.futures
import gc
import sys
import weakref

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # raised in torch

X = torch.tensor([1.0, 2.0, 3.0])


@pytest.fixture(scope="module")
def scaled(interop, functions):
    return interop.register(
        functions.scaled,
        "test_kernels::scaled",
        functional=True,
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
        backward=lambda ctx, grad: (grad * ctx.factor, None),
    )


@pytest.fixture(params=["C++", "Python"])
def variant(request, monkeypatch, interop):
    """Run a test with both kinds of kernels; kernels in Python are for other versions of torch."""
    if request.param == "Python":
        monkeypatch.setattr(_native_kernels(), "_native", lambda: None)
    return request.param.lower().replace("+", "p")


def _native_kernels():
    from tvm_ffi.interop.torch import _native_kernels

    return _native_kernels


def calls_python(call):
    """Return True if a call runs Python functions of the adapter."""
    files = []
    sys.setprofile(lambda frame, event, _: files.append(frame.f_code.co_filename))
    try:
        call()
    finally:
        sys.setprofile(None)
    return any("interop/torch" in file for file in files)


def runs_native(call):
    """Return True if a call runs no Python, or if this build or this torch has Python kernels only.

    The call is made in any case.
    """
    called = calls_python(call)
    return not called or _native_kernels()._native() is None


def test_call_runs_no_python(interop, functions, scaled):
    """The kernel in C++ is used at all: the Python kernel would return the same values."""
    y = torch.zeros(3)
    total = torch.zeros(3)
    added = interop.register(functions.added, "test_kernels::added")
    assert runs_native(lambda: scaled(X, 3.0))
    traced = interop.operator_of(functions.scaled)
    assert runs_native(lambda: traced(X, y, 3.0))
    assert runs_native(lambda: added(X, total))
    doubled = interop.operator_of(functions.doubled)
    assert calls_python(lambda: doubled(X))
    assert (y.tolist(), total.tolist()) == ([3.0, 6.0, 9.0], [1.0, 2.0, 3.0])


def test_optional_arguments_and_keywords(interop, functions):
    operator = interop.operator_of(functions.chosen)
    y = torch.zeros(2)
    operator(y)
    assert y.tolist() == [-1.0, 70.0]
    operator(y, X, 2.5, number=8, flag=True)
    assert y.tolist() == [1.0, 2581.0]
    assert runs_native(lambda: operator(y, X, None, 9))
    assert y.tolist() == [1.0, 90.0]


def test_dtype_variables_and_integers_are_checked(interop, functions):
    operator = interop.register(functions.transposed, "test_kernels::transposed", functional=True)
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    assert torch.equal(operator(x, 2), x.T)
    with pytest.raises(ValueError, match=r"argument 'n': must be n = 2, got 3"):
        operator(x, 3)
    with pytest.raises(ValueError, match="'x': expected dtype float32 or int32, got float64"):
        operator(x.double(), 2)


def test_errors_keep_their_class(interop, functions):
    failing = interop.register(functions.failing, "test_kernels::failing", functional=True)
    for x in (X, X.clone().requires_grad_()):
        with pytest.raises(ValueError, match="^no luck today$"):
            failing(x)


def test_failed_calls_release_their_arguments(interop, functions):
    operator = interop.operator_of(functions.failing)
    x, y = X.clone(), X.clone()
    released = [weakref.ref(x), weakref.ref(y)]
    storage = x.untyped_storage()._cdata
    assert storage
    with pytest.raises(ValueError, match="no luck"):
        operator(x, y)
    del x, y
    gc.collect()
    assert [reference() for reference in released] == [None, None]


def test_special_tensors(interop, functions):
    """Views with lazy values, subclasses and sparse tensors are not read as dense memory."""
    scaled = interop.register(functions.packed, "test_kernels::packed", functional=True)
    imaginary = torch.view_as_complex(torch.stack([X, X], dim=1).contiguous()).conj().imag
    assert imaginary.is_neg()
    assert scaled(imaginary, 2.0).tolist() == [-2.0, -4.0, -6.0]
    assert scaled(torch.nn.Parameter(X), 2.0).tolist() == [2.0, 4.0, 6.0]
    assert scaled(torch._efficientzerotensor(3), 2.0).tolist() == [0.0, 0.0, 0.0]
    assert scaled(torch.zeros(0)).tolist() == []
    with pytest.raises(TypeError, match="sparse"):
        scaled(X.to_sparse())
    with torch.inference_mode():
        assert scaled(torch.ones(3), 2.0).tolist() == [2.0, 2.0, 2.0]


def test_modes_see_the_operator(scaled):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    x = X.clone().requires_grad_()
    with Mode():
        scaled(X, 3.0)
        scaled(x, 3.0).sum().backward()
    assert seen.count(scaled) == 2
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_gradient_runs_the_rules_only(scaled):
    """The call with a gradient runs no Python of the adapter, and calls torch's dispatcher once."""
    x = X.clone().requires_grad_()
    results = []
    assert runs_native(lambda: results.append(scaled(x, 3.0)))
    assert "derivative" in type(results[0].grad_fn).__name__
    results[0].sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_gradient_with_keywords_and_two_results(interop, functions):
    seen = []

    def save(ctx, inputs, keyword_only_inputs, output):
        seen.append((inputs, keyword_only_inputs, output))
        ctx.factor = keyword_only_inputs["factor"]

    operator = interop.register(
        functions.scaled,
        "test_kernels::keywords",
        signature="f(x: inout float32[n], y: out float32[n], *, factor: float = 2.0)",
        functional=True,
        setup_context=save,
        backward=lambda ctx, first, second: first + second * ctx.factor,
    )
    x = X.clone().requires_grad_()
    copy, doubled = operator(x, factor=4.0)
    (first, second) = torch.autograd.grad((copy + doubled).sum(), x)[0], doubled.tolist()
    assert (first.tolist(), second) == ([5.0, 5.0, 5.0], [4.0, 8.0, 12.0])
    ((inputs, keywords, output),) = seen
    assert (len(inputs), inputs[0] is x, keywords, len(output)) == (1, True, {"factor": 4.0}, 2)


def test_gradient_of_a_strided_argument(interop, functions):
    operator = interop.register(
        functions.packed,
        "test_kernels::strided_gradient",
        functional=True,
        backward=lambda ctx, grad: (grad * 2.0, None),
    )
    x = torch.arange(6.0).requires_grad_()
    y = operator(x[::2])
    y.sum().backward()
    assert y.tolist() == [0.0, 4.0, 8.0]
    assert x.grad.tolist() == [2.0, 0.0, 2.0, 0.0, 2.0, 0.0]


def test_errors_with_a_gradient(interop, functions):
    """Calls that fail before, in and after the kernel release their arguments; the next works."""

    def refuse(ctx, inputs, output):
        raise LookupError("no context")

    operator = interop.register(
        functions.scaled,
        "test_kernels::refused",
        functional=True,
        setup_context=refuse,
        backward=lambda ctx, grad: (grad, None),
    )
    x = X.clone().requires_grad_()
    released = weakref.ref(x)
    with pytest.raises(LookupError, match="^no context$"):
        operator(x)
    with pytest.raises(ValueError, match="'x': expected 1 dimension, got 2"):
        operator(x[None])
    assert operator(X).tolist() == [2.0, 4.0, 6.0]
    del x
    gc.collect()
    assert released() is None


def test_derivative_is_applied_by_its_operator_only(scaled):
    result = scaled(X.clone().requires_grad_(), 3.0)
    function = type(result.grad_fn)._forward_cls
    with pytest.raises(RuntimeError, match="call the operator$"):
        super(torch.autograd.Function, function).apply(X.clone().requires_grad_(), 3.0)
    assert scaled(X.clone().requires_grad_(), 3.0).tolist() == [3.0, 6.0, 9.0]


def test_writes_to_an_inference_tensor_fail(interop, functions):
    operator = interop.register(functions.added, "test_kernels::added_inference")
    with torch.inference_mode():
        total = torch.zeros(3)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="inference tensor"):
            operator(X, total)
    with torch.inference_mode():
        operator(X, total)
    assert total.tolist() == [1.0, 2.0, 3.0]


def test_second_derivative(scaled):
    x = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad((scaled(x, 3.0) ** 2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), x)
    assert gradient.tolist() == [18.0, 36.0, 54.0]
    assert second.tolist() == [18.0, 18.0, 18.0]


def test_hessian_needs_a_forward_derivative(scaled):
    def loss(x):
        return (scaled(x, 3.0) ** 2).sum()

    with pytest.raises(NotImplementedError, match="no forward derivative; pass jvp="):
        torch.func.hessian(loss)(X)
    assert torch.equal(torch.func.jacrev(torch.func.jacrev(loss))(X), 18 * torch.eye(3))


def test_threads(scaled):
    def run(number):
        return [scaled(X, float(number)).tolist() for _ in range(200)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for number, results in enumerate(pool.map(run, range(8))):
            assert results == [[number, 2 * number, 3 * number]] * 200


def test_result_outlives_the_call_and_owns_its_memory(scaled):
    results = [scaled(X, float(number)) for number in range(50)]
    gc.collect()
    assert [result[0].item() for result in results] == [float(number) for number in range(50)]
    assert len({result.data_ptr() for result in results}) == 50


def test_symbolic_integers_are_traced(interop, functions):
    operator = interop.register(
        functions.transposed,
        "test_kernels::traced",
        functional=True,
        backward=lambda ctx, grad: (grad.T, None),
    )

    def program(x, n):
        return operator(x, n).sum()

    torch._dynamo.reset()
    run = torch.compile(program, fullgraph=True, backend="aot_eager", dynamic=True)
    for n in (2, 3):
        x = torch.ones(n, 4, requires_grad=True)
        run(x, n).backward()
        assert torch.equal(x.grad, torch.ones(n, 4))


# ---- checks --------------------------------------------------------------------------------------


def test_memory_is_checked(interop, functions, variant):
    """Regression: kernels in C++ dropped the checks of overlap, repeated elements and alignment."""
    scale = interop.register(functions.scaled, f"test_memory_{variant}::scaled")
    aligned = interop.register(
        functions.aligned, f"test_memory_{variant}::aligned", functional=True
    )
    base = torch.arange(5.0)
    with pytest.raises(ValueError, match="'y': the array shares memory with argument 'x'"):
        scale(base[:4], base[1:])
    with pytest.raises(ValueError, match="'y': expected an array without repeated elements"):
        scale(X, base[:1].expand(3))
    assert base.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="'x': expected an address aligned to 16 bytes, got .* 4$"):
        aligned(base[1:])
    scale(base[:2], base[2:4])
    assert base.tolist() == [0.0, 1.0, 0.0, 2.0, 4.0]
    assert aligned(base).tolist() == [0.0, 2.0, 0.0, 4.0, 8.0]


def test_memory_is_checked_without_a_registration(interop, functions):
    base = torch.arange(5.0)
    for operator in (interop.operator_of(functions.packed), interop.operator_of(functions.scaled)):
        with pytest.raises(ValueError, match="'y': the array shares memory with argument 'x'"):
            operator(base[:4], base[1:])
    assert base.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_the_signature_of_a_registration_is_checked(interop, functions, variant):
    """Regression: operators did not check the memory of functions without an own signature."""
    nameless = interop.register(
        functions.get_function("nameless"),
        f"test_nameless_{variant}::nameless",
        signature="nameless(x: float32[n] compact, y: out float32[n] compact)",
    )
    base = torch.arange(5.0)
    with pytest.raises(ValueError, match="'y': the array shares memory with argument 'x'"):
        nameless(base[:4], base[1:])
    pairs = torch.zeros(3, 2)
    nameless(X, pairs[:, 1])
    assert pairs.tolist() == [[0.0, 2.0], [0.0, 4.0], [0.0, 6.0]]


def test_the_signature_of_the_function_is_checked(interop, functions, variant):
    """Regression: with a wider signature in `register`, a function wrote beyond its array."""
    loose = interop.register(
        functions.packed,
        f"test_loose_{variant}::packed",
        signature="packed(x: float32[n], y: out float32[_], factor: float = 2.0)",
    )
    base = torch.zeros(8)
    with pytest.raises(ValueError, match=r"'y': shape\[0\] must be n = 8, got 4"):
        loose(torch.ones(8), base[:4])
    with pytest.raises(ValueError, match="'x': expected a compact tensor"):
        loose(torch.ones(8)[::2], base[:4])
    assert base.tolist() == [0.0] * 8
    loose(torch.ones(4), base[:4])
    assert base.tolist() == [2.0] * 4 + [0.0] * 4


def test_a_missing_tensor_is_an_error_of_the_signature(interop, functions, variant):
    """Regression: None for a tensor was KeyError 'n'."""
    operator = interop.register(functions.scaled, f"test_none_{variant}::scaled", functional=True)
    with pytest.raises(TypeError, match=r"scaled\(\) argument 'x': expected .*, got None"):
        operator(None)


# ---- memory, the GIL, devices --------------------------------------------------------------------


def test_a_kept_tensor_does_not_change(interop, functions):
    """Regression: a kept tensor had shape and memory of the torch tensor, which torch changes."""
    keep, kept = interop.operator_of(functions.keep), functions.get_function("kept")
    x = torch.arange(6.0).reshape(2, 3)
    keep(x)
    tensor = kept()
    x.t_()
    assert (tensor.shape, tensor.strides) == ((2, 3), (3, 1))
    x = torch.arange(6.0).reshape(2, 3)
    keep(x)
    tensor = kept()
    address = x.data_ptr()
    x.data = torch.zeros(1)
    assert tensor.shape == (2, 3)
    others = [torch.full((2, 3), 7.0) for _ in range(100)]
    assert address not in [other.data_ptr() for other in others]
    assert torch.from_dlpack(tensor).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_a_kept_result_owns_its_memory(interop, functions):
    operator = interop.register(functions.keep, "test_keep::keep", functional=True)
    result = operator(torch.arange(6.0).reshape(2, 3))
    address, tensor = result.data_ptr(), functions.get_function("kept")()
    del result
    others = [torch.full((2, 3), 7.0) for _ in range(100)]
    assert address not in [other.data_ptr() for other in others]
    assert torch.from_dlpack(tensor).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="needs the GIL")
def test_the_gil_is_held_where_the_function_needs_it(interop, functions):
    """Regression: operators released the GIL for functions that use Python's C API."""
    y = torch.zeros(1)
    function = functions.holds_gil
    operator = interop.operator_of(function)
    operator(y)
    assert y.item() == 0.0
    function.release_gil = False
    try:
        operator(y)
        assert y.item() == 1.0
        registered = interop.register(function, "test_gil::held", functional=True)
        assert registered().item() == 1.0
    finally:
        function.release_gil = True
    operator(y)
    assert y.item() == 0.0
    interop.operator_of(functions.blocks_not)(y)
    assert y.item() == 1.0


def test_results_are_on_the_declared_device(interop, functions, variant):
    """Regression: kernels in C++ allocated results on the device of the first tensor."""
    operator = interop.register(
        functions.on_cuda, f"test_device_{variant}::on_cuda", functional=True
    )
    if torch.cuda.is_available():
        assert operator(X.cuda()).device.type == "cuda"
    else:
        with pytest.raises((AssertionError, RuntimeError), match="(?i)cuda"):
            operator(X)


def test_copies_are_on_the_device_of_their_argument(interop, functions):
    """Regression: the copy of an argument was on the device of the first tensor."""
    operator = interop.register(functions.added, "test_device::added", functional=True)
    with torch._subclasses.FakeTensorMode():
        x = torch.ones(3, device="cpu")
        total = torch.ones(3, device="cuda")
        assert operator(x, total).device.type == "cuda"

# SPDX-License-Identifier: Apache-2.0
"""Programs that torch.compile traces: calls of functions with a signature become operators.

Most tests trace and run without Inductor, whose compilation takes seconds.
"""

from __future__ import annotations

import threading
from typing import Annotated

import pytest

import tvm_ffi

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # raised in torch

X = torch.tensor([1.0, 2.0, 3.0])
Read = Annotated[tvm_ffi.Tensor, "float32[n]"]
Written = Annotated[tvm_ffi.Tensor, "out float32[n]"]


class Graphs:
    """A compiler backend that records graphs and runs them unchanged."""

    def __init__(self):
        self.graphs = []

    def __call__(self, module, inputs):
        self.graphs.append(module.graph)
        return module.forward

    def calls(self):
        """Return the operators that the graphs call, except torch's built-in operators."""
        return [
            node.target
            for graph in self.graphs
            for node in graph.nodes
            if isinstance(node.target, torch._ops.OpOverload)
            and not node.target.name().startswith("aten::")
        ]


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()


def compiled(program, backend="aot_eager", **options):
    return torch.compile(program, fullgraph=True, backend=backend, **options)


def written(function, length=3, **keywords):
    """Return a program that passes a new tensor as the function's output, and returns it."""

    def program(x):
        y = torch.zeros(length)
        function(x, y, **keywords)
        return y

    return program


# ---- traced calls ------------------------------------------------------------------------------


def test_call_is_one_operator_call_in_the_graph(functions):
    graphs = Graphs()
    program = compiled(written(functions.scaled, factor=0.5), graphs)
    assert program(X).tolist() == [0.5, 1.0, 1.5]
    assert [str(operator._schema).partition("(")[2] for operator in graphs.calls()] == [
        "Tensor x, Tensor(a!) y, float factor=2.) -> ()"
    ]


class Layer(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module, self.scaled = module, module.scaled

    def forward(self, x):
        y, z = torch.zeros(3), torch.zeros(3)
        self.scaled(x, y)
        self.module.scaled(y, z)
        return z


def attribute_of_module(module):
    vars(module).pop("scaled", None)  # Remove the function that an earlier trace cached.
    return written(lambda x, y: module.scaled(x, y, 4.0))


def item_of_module(module):
    return written(lambda x, y: module["scaled"](x, y, 4.0))


def found_in_module(module):
    return written(lambda x, y: module.get_function("scaled")(x, y, 4.0))


def local_variable(module):
    scaled = module.scaled
    return written(lambda x, y: scaled(x, y, 4.0))


def global_variable(module):
    globals()["_scaled"] = module.scaled
    return written(lambda x, y: _scaled(x, y, 4.0))  # noqa: F821


@pytest.mark.parametrize(
    "make",
    [attribute_of_module, item_of_module, found_in_module, local_variable, global_variable, Layer],
)
def test_functions_are_traced_from_attributes_items_and_variables(functions, make):
    assert compiled(make(functions))(X).tolist() == [4.0, 8.0, 12.0]
    globals().pop("_scaled", None)


def test_function_argument_is_guarded(functions):
    program = compiled(lambda function, x: written(function)(x))
    assert program(functions.scaled, X).tolist() == [2.0, 4.0, 6.0]
    assert program(functions.added, X).tolist() == [1.0, 2.0, 3.0]
    assert program(functions.scaled, X).tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("dynamic", [False, True])
def test_inductor_compiles_the_call(functions, dynamic):
    def program(x):
        y = torch.empty_like(x)
        functions.scaled(x + 1, y, factor=3.0)
        first, second = functions.pair(functions.doubled(y))
        return y + 1, first, second

    run = compiled(program, "inductor", dynamic=dynamic)
    for length in (3, 5):
        y, first, second = run(torch.ones(length))
        assert y.tolist() == [7.0] * length
        assert first.tolist() == [1.0] * (length + 1)
        assert second.tolist() == [2.0] * (2 * length)


def test_extents_of_results_are_symbolic_expressions(functions):
    graphs = Graphs()
    program = compiled(functions.pair, graphs, dynamic=True)
    assert [len(tensor) for tensor in program(X)] == [4, 6]
    assert [len(tensor) for tensor in program(torch.ones(7))] == [8, 14]
    assert len(graphs.graphs) == 1


def test_symbolic_extents_are_compared_during_tracing(functions):
    def program(x):
        y = torch.zeros(x.shape[1], x.shape[0], dtype=x.dtype)
        functions.transposed(x, y, x.shape[0])
        return y

    run = compiled(program, dynamic=True)
    for x in (torch.arange(6.0).reshape(2, 3), torch.arange(20, dtype=torch.int32).reshape(5, 4)):
        assert torch.equal(run(x), x.T)


def test_defaults_keywords_and_optional_arguments(functions):
    def program(x):
        few, many = torch.zeros(5), torch.zeros(5)
        functions.optional(few)
        functions.optional(many, x, scale=3, flag=False, text="abcd")
        return few, many

    few, many = compiled(program)(X)
    assert few.tolist() == [-1.0, -1.0, 7.0, 1.0, 3.0]
    assert many.tolist() == [1.0, 3.0, 7.0, 0.0, 4.0]


def test_variadic_arguments_and_lists(functions):
    def program(x):
        y, count = torch.zeros(2), torch.zeros(1)
        functions.joined(y, x, x + 1, start=5)
        functions.counted([x, x, x], count)
        return y, count

    y, count = compiled(program)(X)
    assert (y.tolist(), count.tolist()) == ([6.0, 7.0], [3.0])


def test_calls_that_write_stay_in_order(functions):
    def program(log):
        for digit in (1, 2, 3):
            functions.noted(log, digit)
        return log + 0

    log = torch.zeros(1)
    assert compiled(program)(log).tolist() == [123.0]
    assert log.tolist() == [123.0]


def test_argument_that_is_read_and_written(functions):
    x = X.clone()
    compiled(lambda x: functions.added(x, x))(x)
    assert x.tolist() == [2.0, 4.0, 6.0]


def test_results_require_no_gradient_in_eager_and_compiled_calls(functions):
    x = X.clone().requires_grad_()
    assert not functions.doubled(x).requires_grad
    assert not compiled(functions.doubled)(x).requires_grad


def test_registered_functions_and_python_callables(interop):
    def triple(x: Read, y: Written) -> None:
        torch.from_dlpack(y).copy_(torch.from_dlpack(x) * 3)

    python = tvm_ffi.convert_func(triple)
    named = tvm_ffi.register_global_func(
        "test.torch.triple",
        tvm_ffi.convert_func(triple),
        signature="triple(x: float32[n], y: out float32[n])",
    )
    try:
        for function in (python, named, tvm_ffi.get_global_func("test.torch.triple")):
            assert compiled(written(function))(X).tolist() == [3.0, 6.0, 9.0]
    finally:
        tvm_ffi.remove_global_func("test.torch.triple")


def test_results_have_the_extents_of_an_ellipsis():
    """The fake kernel needs neither `fake=` nor a fixed number of dimensions."""
    function = tvm_ffi.register_global_func(
        "test.torch.summed",
        lambda x, y: torch.from_dlpack(x) + torch.from_dlpack(y)[0],
        signature="summed(x: float32[*s], y: float32[n, *s]) -> float32[*s]",
    )
    try:
        program = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=True)
        for shape in ((), (3,), (2, 3), (4, 1)):
            x = torch.ones(shape)
            assert torch.equal(program(x, torch.ones(2, *shape)), x + 1)
        text = r"shape\[2\] must be s\[1\] = s?\d+, got s?\d+"
        with pytest.raises(RuntimeError, match=text):
            program(torch.ones(2, 3), torch.ones(2, 2, 4))
        with pytest.raises(Exception, match=r"expected 2 dimensions for \*s, got 1"):
            program(torch.ones(2, 3), torch.ones(2, 2))
    finally:
        tvm_ffi.remove_global_func("test.torch.summed")


# ---- operators ---------------------------------------------------------------------------------


def test_operator_of_a_function_does_not_change(interop, functions):
    operator = interop.operator_of(functions.scaled)
    assert interop.operator_of(functions.get_function("scaled")) is operator
    assert interop.operator_of(functions.added) is not operator
    assert operator.name().startswith("tvm_ffi::torch_kernels_scaled_")


def test_concurrent_threads_get_one_operator(interop, functions):
    barrier, operators = threading.Barrier(8), []

    def look_up():
        barrier.wait()
        operators.append(interop.operator_of(functions.joined))

    threads = [threading.Thread(target=look_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, operators))) == 1


def test_different_signature_is_a_different_operator(interop, torch_library):
    module = tvm_ffi.load_module(torch_library, keep_module_alive=False)
    before = interop.operator_of(module.added)
    module.describe({"added": "added(x: float32[n], total: inout float32[m])"})
    after = interop.operator_of(module.added)
    assert before is not after
    assert before.name() != after.name()


def test_replaced_global_function_has_its_own_operator(interop):
    signature = "f(x: float32[n], y: out float32[n])"
    name = "test.torch.f"
    try:
        registered = [
            tvm_ffi.register_global_func(
                name,
                lambda x, y, factor=factor: torch.from_dlpack(y).copy_(x.numpy() * factor),
                override=True,
                signature=signature,
            )
            for factor in (2, 3)
        ]
        current = tvm_ffi.get_global_func(name)
        assert interop.operator_of(current) is interop.operator_of(registered[1])
    finally:
        tvm_ffi.remove_global_func(name)


@pytest.mark.parametrize("name", ["scaled", "added", "doubled", "pair"])
def test_operators_pass_opcheck(interop, functions, name):
    args = (X, X.clone()) if name in ("scaled", "added") else (X,)
    checks = torch.library.opcheck(interop.operator_of(getattr(functions, name)), args)
    assert set(checks.values()) == {"SUCCESS"}


# ---- untraceable calls ---------------------------------------------------------------------------

UNTRACEABLE = {
    "nameless": ("`nameless` has no signature", (X, X.clone()), []),
    "silent": ("the function has no results and writes no argument", (X,), []),
    "mapped": (r"no type for parameter 'options', Map\[str, int\]", (X, {"a": 1}), []),
    "length": ("it returns int, whose value is unknown while a program is traced", (X,), 3),
    "shapeless": ("signature does not specify the shape of result 0", (X,), [1.0, 1.0, 1.0]),
}


@pytest.mark.parametrize(("name", "expected"), UNTRACEABLE.items(), ids=UNTRACEABLE)
def test_untraceable_call_breaks_the_graph_with_a_reason(interop, functions, name, expected):
    reason, args, value = expected
    function = getattr(functions, name)
    pattern = f"(?s){reason}.*interop.torch.register"
    with pytest.raises(torch._dynamo.exc.Unsupported, match=pattern):
        compiled(function)(*args)
    with pytest.raises(interop.UntraceableError, match=reason):
        interop.operator_of(function)
    result = torch.compile(function, backend="eager")(*args)
    assert (torch.zeros(0) if result is None else torch.as_tensor(result)).tolist() == value


def test_function_that_the_module_does_not_have(functions):
    def program(x):
        return functions.scale(x)

    with pytest.raises(torch._dynamo.exc.Unsupported, match="Module has no function 'scale'"):
        compiled(program)(X)
    with pytest.raises(
        AttributeError, match="Module has no function 'scale'; did you mean 'scaled'"
    ):
        torch.compile(program, backend="eager")(X)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((X, X[:2].clone()), r"argument 'y': shape\[0\] must be n = 3, got 2"),
        ((X, X.double()), "argument 'y': expected dtype float32, got float64"),
        ((X[None], X), "argument 'x': expected 1 dimension, got 2"),
    ],
)
def test_wrong_tensors_are_rejected_during_tracing(functions, args, message):
    with pytest.raises(torch._dynamo.exc.TorchRuntimeError, match=message):
        compiled(functions.scaled)(*args)


def test_too_many_arguments_are_rejected(functions):
    with pytest.raises(torch._dynamo.exc.Unsupported, match="failed to bind arguments"):
        compiled(lambda x: functions.doubled(x, x))(X)
    with pytest.raises(TypeError, match=r"doubled\(\) takes 1 positional argument"):
        torch.compile(lambda x: functions.doubled(x, x), backend="eager")(X)


# ---- errors at run time --------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("failing", ValueError, "no luck today"),
        ("talkative", RuntimeError, "torch_kernels_talkative_.* to return None"),
        ("fruitless", KeyError, "no result today"),
        ("one_of_two", RuntimeError, "`one_of_two`: expected 2 results, got 1; the signature"),
        ("number_for_tensor", RuntimeError, "expected a tensor as result, got int"),
        ("same", RuntimeError, "result 0 of `same`: expected new memory, got memory of an"),
    ],
)
@pytest.mark.breaks_rules
def test_errors_propagate_and_the_next_call_works(functions, backend, name, error, message):
    function = getattr(functions, name)
    program = written(function) if name in ("failing", "talkative") else function
    run = compiled(program, backend)
    for _ in range(2):
        with pytest.raises(error, match=message):
            run(X)
    assert compiled(functions.doubled)(X).tolist() == [2.0, 4.0, 6.0]


def test_inductor_detects_a_wrong_result_shape(functions):
    with pytest.raises(AssertionError, match=r"(?s)expected size 2==3.*too_short"):
        compiled(lambda x: functions.too_short(x) + 1, "inductor")(X)


# ---- transforms and other tracers ----------------------------------------------------------------


def test_transforms_without_a_rule_are_rejected_by_the_binding(functions):
    cases = {
        "vmap": lambda f: torch.vmap(f)(X[None]),
        r"torch\.func \(grad": lambda f: torch.func.grad(lambda x: f(x).sum())(X),
        r"transform of torch\.func": lambda f: torch.func.functionalize(f)(X),
    }
    for message, transform in cases.items():
        with pytest.raises(TypeError, match=message):
            transform(functions.doubled)


def test_traced_transforms_without_a_rule_are_rejected(functions):
    program = compiled(torch.func.grad(lambda x: functions.doubled(x).sum()))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="`doubled` has no derivative"):
        program(X)


def test_make_fx_records_the_operator(interop, functions):
    from torch.fx.experimental.proxy_tensor import make_fx

    for mode in ("fake", "symbolic"):
        graph = make_fx(written(functions.scaled, factor=4.0), tracing_mode=mode)(X)
        assert interop.operator_of(functions.scaled) in [node.target for node in graph.graph.nodes]
        assert graph(X).tolist() == [4.0, 8.0, 12.0]


def test_fake_tensors(functions):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = functions.doubled(torch.zeros(3))
    assert (type(fake).__name__, tuple(fake.shape)) == ("FakeTensor", (3,))


def test_meta_tensors_need_the_operator(interop, functions):
    """A call with a meta tensor and a tensor with data returned and wrote nothing."""
    x = torch.zeros(3, device="meta")
    for y in (x, torch.zeros(3)):
        with pytest.raises(TypeError, match="device 'meta' holds no data.*operator_of"):
            functions.scaled(x, y)
    meta = interop.operator_of(functions.pair)(x)
    assert [(x.device.type, tuple(x.shape)) for x in meta] == [("meta", (4,)), ("meta", (6,))]


def test_fake_tensors_without_a_signature_are_rejected(interop, functions):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(3)
    with pytest.raises(interop.UntraceableError, match="`nameless` has no signature"):
        functions.nameless(fake, fake)
    with pytest.raises(TypeError, match="device 'meta' holds no data"):
        functions.nameless(torch.zeros(3, device="meta"), X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.eye(3).to_sparse(), r"tensor\.to_dense\(\)"),
        (lambda: torch.quantize_per_tensor(X, 0.1, 0, torch.qint8), r"tensor\.int_repr\(\)"),
        (lambda: torch.tensor([1 + 2j]).conj(), "resolve_conj"),
        (lambda: torch.tensor([1 + 2j]).conj().imag, "resolve_neg"),
    ],
    ids=["sparse", "quantized", "conjugated", "negated"],
)
@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor")
def test_tensors_that_the_dispatcher_cannot_help_are_rejected(functions, make, message):
    with pytest.raises(TypeError, match=message):
        functions.doubled(make())
    assert functions.doubled(X).tolist() == [2.0, 4.0, 6.0]


class Wrapped(torch.Tensor):
    """A tensor subclass that wraps another tensor and forwards operators to that tensor."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(tensors, context, size, stride):
        return Wrapped(tensors["inner"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        inner = [value.inner if isinstance(value, Wrapped) else value for value in args]
        return Wrapped(function(*inner, **(kwargs or {})))


class Untraceable(torch.Tensor):
    """A wrapper without the methods that torch.compile needs."""

    __new__ = Wrapped.__new__
    __init__ = Wrapped.__init__

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        inner = [value.inner if isinstance(value, cls) else value for value in args]
        result = function(*inner, **(kwargs or {}))
        return None if result is None else cls(result)


@pytest.mark.parametrize("wrap", [Wrapped, Untraceable])
def test_wrapper_subclass_handles_the_operator(functions, interop, wrap):
    """Regression: direct calls refused classes that torch.compile cannot trace."""
    registered = interop.register(functions.doubled, f"test_tracing::doubled_{wrap.__name__}")
    for call in (functions.doubled, interop.operator_of(functions.doubled), registered):
        result = call(wrap(X))
        assert type(result) is wrap
        assert result.inner.tolist() == [2.0, 4.0, 6.0]
    empty = functions.doubled(wrap(torch.zeros(0)))  # has no elements, but its class decides
    assert type(empty) is wrap


def test_wrapper_subclass_gets_written_arguments(functions):
    y = Untraceable(torch.zeros(3))
    assert functions.scaled(X, y) is None
    assert y.inner.tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(TypeError, match="class Untraceable wraps other tensors and has no memory"):
        functions.nameless(X, y)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_are_rejected(interop, functions, layout):
    """Regression: operators, and direct calls with jagged tensors, gave a NotImplementedError."""
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)
    written = interop.register(functions.added, f"test_tracing::added_{str(layout)[6:]}")
    operator = interop.operator_of(functions.doubled)
    with pytest.raises(TypeError, match=r"'x' .*nested tensor .*tensor\.unbind\(\)"):
        functions.doubled(nested)
    for call in (lambda: operator(nested), lambda: written(nested, X), lambda: written(X, nested)):
        for mode in (False, True):
            with (
                torch.inference_mode(mode),
                pytest.raises(
                    TypeError, match="nested tensor, which .* not support; pass .*unbind"
                ),
            ):
                call()
    assert operator(X).tolist() == [2.0, 4.0, 6.0]


def test_eager_calls_create_no_operator(run_python, torch_library):
    program = (
        f"import torch, tvm_ffi\nmodule = tvm_ffi.load_module({str(torch_library)!r})\n"
        "x = torch.ones(2)\nbefore = module.doubled(x)\n"
        "import tvm_ffi.interop.torch\n"
        "assert torch.equal(module.doubled(x), before)\n"
        "print([name for name in dir(torch.ops.tvm_ffi) if 'doubled' in name])"
    )
    result = run_python(program)
    assert (result.stdout, result.stderr) == ("[]\n", "")

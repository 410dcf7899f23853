# SPDX-License-Identifier: Apache-2.0
"""Programs that torch.compile traces: functions with a signature are operators, without a word.

Most are traced and run without Inductor, whose compiler takes seconds.
"""

from __future__ import annotations

import threading
from typing import Annotated

import pytest

import tvm_ffi

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's own use

X = torch.tensor([1.0, 2.0, 3.0])
Read = Annotated[tvm_ffi.Tensor, "float32[n]"]
Written = Annotated[tvm_ffi.Tensor, "out float32[n]"]


class Graphs:
    """A compiler that keeps the graphs that it gets, and runs them as they are."""

    def __init__(self):
        self.graphs = []

    def __call__(self, module, inputs):
        self.graphs.append(module.graph)
        return module.forward

    def calls(self):
        """Return what the graphs call, without operators of torch's own."""
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
    """Return a program that calls a function with a new tensor to write to, and returns that."""

    def program(x):
        y = torch.zeros(length)
        function(x, y, **keywords)
        return y

    return program


# ---- what is traced ----------------------------------------------------------------------------


def test_the_graph_has_one_call_of_one_operator(functions):
    graphs = Graphs()
    program = compiled(written(functions.scaled, factor=0.5), graphs)
    assert program(X).tolist() == [0.5, 1.0, 1.5]
    assert [str(one._schema).partition("(")[2] for one in graphs.calls()] == [
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
    vars(module).pop("scaled", None)  # as if nobody had asked for it
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
def test_functions_are_traced_wherever_they_are_found(functions, make):
    assert compiled(make(functions))(X).tolist() == [4.0, 8.0, 12.0]
    globals().pop("_scaled", None)


def test_a_function_that_is_an_argument_is_guarded(functions):
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


def test_extents_of_results_are_expressions_over_symbols(functions):
    graphs = Graphs()
    program = compiled(functions.pair, graphs, dynamic=True)
    assert [len(one) for one in program(X)] == [4, 6]
    assert [len(one) for one in program(torch.ones(7))] == [8, 14]
    assert len(graphs.graphs) == 1


def test_extents_that_must_be_equal_are_compared_while_tracing(functions):
    def program(x):
        y = torch.zeros(x.shape[1], x.shape[0], dtype=x.dtype)
        functions.transposed(x, y, x.shape[0])
        return y

    run = compiled(program, dynamic=True)
    for x in (torch.arange(6.0).reshape(2, 3), torch.arange(20, dtype=torch.int32).reshape(5, 4)):
        assert torch.equal(run(x), x.T)


def test_defaults_names_and_options(functions):
    def program(x):
        few, many = torch.zeros(5), torch.zeros(5)
        functions.optional(few)
        functions.optional(many, x, scale=3, flag=False, text="abcd")
        return few, many

    few, many = compiled(program)(X)
    assert few.tolist() == [-1.0, -1.0, 7.0, 1.0, 3.0]
    assert many.tolist() == [1.0, 3.0, 7.0, 0.0, 4.0]


def test_any_number_of_arguments_and_lists(functions):
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


def test_an_argument_that_is_also_written(functions):
    x = X.clone()
    compiled(lambda x: functions.added(x, x))(x)
    assert x.tolist() == [2.0, 4.0, 6.0]


def test_nothing_is_derived_through_a_function_compiled_or_not(functions):
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


# ---- operators ---------------------------------------------------------------------------------


def test_a_function_has_one_operator(interop, functions):
    operator = interop.operator_of(functions.scaled)
    assert interop.operator_of(functions.get_function("scaled")) is operator
    assert interop.operator_of(functions.added) is not operator
    assert operator.name().startswith("tvm_ffi::torch_kernels_scaled_")


def test_threads_that_ask_at_once_get_one_operator(interop, functions):
    barrier, found = threading.Barrier(8), []

    def ask():
        barrier.wait()
        found.append(interop.operator_of(functions.joined))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_another_signature_makes_another_operator(interop, torch_library):
    module = tvm_ffi.load_module(torch_library, keep_module_alive=False)
    before = interop.operator_of(module.added)
    module.describe({"added": "added(x: float32[n], total: inout float32[m])"})
    after = interop.operator_of(module.added)
    assert before is not after
    assert before.name() != after.name()


def test_a_name_that_is_registered_again_makes_another_operator(interop):
    signature = "f(x: float32[n], y: out float32[n])"
    name = "test.torch.f"
    try:
        made = [
            tvm_ffi.register_global_func(
                name,
                lambda x, y, factor=factor: torch.from_dlpack(y).copy_(x.numpy() * factor),
                override=True,
                signature=signature,
            )
            for factor in (2, 3)
        ]
        now = tvm_ffi.get_global_func(name)
        assert interop.operator_of(now) is interop.operator_of(made[1])
    finally:
        tvm_ffi.remove_global_func(name)


@pytest.mark.parametrize("name", ["scaled", "added", "doubled", "pair"])
def test_operators_pass_the_checks_of_torch(interop, functions, name):
    args = (X, X.clone()) if name in ("scaled", "added") else (X,)
    checks = torch.library.opcheck(interop.operator_of(getattr(functions, name)), args)
    assert set(checks.values()) == {"SUCCESS"}


# ---- what cannot be traced -----------------------------------------------------------------------

UNTRACEABLE = {
    "nameless": ("`nameless` has no signature", (X, X.clone()), []),
    "silent": ("it returns nothing and writes nothing", (X,), []),
    "mapped": (r"no type for parameter 'options', Map\[str, int\]", (X, {"a": 1}), []),
    "length": ("it returns int, which nobody knows while a program is traced", (X,), 3),
    "shapeless": ("the signature does not say which shape result 0 has", (X,), [1.0, 1.0, 1.0]),
}


@pytest.mark.parametrize(("name", "expected"), UNTRACEABLE.items(), ids=UNTRACEABLE)
def test_what_cannot_be_traced_breaks_the_graph_and_says_why(interop, functions, name, expected):
    words, args, value = expected
    function = getattr(functions, name)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=f"(?s){words}.*interop.torch.register"):
        compiled(function)(*args)
    with pytest.raises(interop.UntraceableError, match=words):
        interop.operator_of(function)
    result = torch.compile(function, backend="eager")(*args)
    assert (torch.zeros(0) if result is None else torch.as_tensor(result)).tolist() == value


def test_a_function_that_is_not_there(functions):
    def program(x):
        return functions.scale(x)

    with pytest.raises(torch._dynamo.exc.Unsupported, match="Module has no function 'scale'"):
        compiled(program)(X)
    with pytest.raises(
        AttributeError, match="Module has no function 'scale'; did you mean 'scaled'"
    ):
        torch.compile(program, backend="eager")(X)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((X, X[:2].clone()), r"argument 'y': shape\[0\] must be n = 3, got 2"),
        ((X, X.double()), "argument 'y': expected dtype float32, got float64"),
        ((X[None], X), "argument 'x': expected 1 dimension, got 2"),
    ],
)
def test_tensors_that_do_not_fit_are_refused_while_tracing(functions, args, words):
    with pytest.raises(torch._dynamo.exc.TorchRuntimeError, match=words):
        compiled(functions.scaled)(*args)


def test_arguments_that_are_too_many(functions):
    with pytest.raises(torch._dynamo.exc.Unsupported, match="failed to bind arguments"):
        compiled(lambda x: functions.doubled(x, x))(X)
    with pytest.raises(TypeError, match=r"doubled\(\) takes 1 positional argument"):
        torch.compile(lambda x: functions.doubled(x, x), backend="eager")(X)


# ---- what fails when it runs ---------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("failing", ValueError, "no luck today"),
        ("talkative", RuntimeError, "torch_kernels_talkative_.* to return None"),
        ("fruitless", KeyError, "no result today"),
        ("one_of_two", RuntimeError, "returned 1 result, and its signature says 2 results"),
        ("number_for_tensor", RuntimeError, "returned int, and its signature says a tensor"),
        ("same", RuntimeError, "result 0 of `same` is memory of one of its arguments"),
    ],
)
def test_errors_arrive_and_the_next_call_works(functions, backend, name, error, words):
    function = getattr(functions, name)
    program = written(function) if name in ("failing", "talkative") else function
    run = compiled(program, backend)
    for _ in range(2):
        with pytest.raises(error, match=words):
            run(X)
    assert compiled(functions.doubled)(X).tolist() == [2.0, 4.0, 6.0]


def test_inductor_finds_out_that_a_result_has_another_shape(functions):
    with pytest.raises(AssertionError, match=r"(?s)expected size 2==3.*too_short"):
        compiled(lambda x: functions.too_short(x) + 1, "inductor")(X)


# ---- transforms and other tracers ----------------------------------------------------------------


def test_transforms_without_a_rule_are_refused_as_without_the_adapter(functions):
    cases = {
        "vmap": lambda f: torch.vmap(f)(X[None]),
        r"torch\.func \(grad": lambda f: torch.func.grad(lambda x: f(x).sum())(X),
        r"transform of torch\.func": lambda f: torch.func.functionalize(f)(X),
    }
    for words, transform in cases.items():
        with pytest.raises(TypeError, match=words):
            transform(functions.doubled)


def test_transforms_that_are_traced_are_refused(functions):
    program = compiled(torch.func.grad(lambda x: functions.doubled(x).sum()))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="`doubled` has no derivative"):
        program(X)


def test_make_fx_records_the_operator(interop, functions):
    from torch.fx.experimental.proxy_tensor import make_fx

    for mode in ("fake", "symbolic"):
        graph = make_fx(written(functions.scaled, factor=4.0), tracing_mode=mode)(X)
        assert interop.operator_of(functions.scaled) in [node.target for node in graph.graph.nodes]
        assert graph(X).tolist() == [4.0, 8.0, 12.0]


def test_fake_and_meta_tensors(functions):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = functions.doubled(torch.zeros(3))
    assert (type(fake).__name__, tuple(fake.shape)) == ("FakeTensor", (3,))
    meta = functions.pair(torch.zeros(3, device="meta"))
    assert [(one.device.type, tuple(one.shape)) for one in meta] == [("meta", (4,)), ("meta", (6,))]


def test_fake_tensors_without_a_signature_are_refused(interop, functions):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(3)
    with pytest.raises(interop.UntraceableError, match="`nameless` has no signature"):
        functions.nameless(fake, fake)
    with pytest.raises(TypeError, match="device 'meta' holds no data"):
        functions.nameless(torch.zeros(3, device="meta"), X)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.eye(3).to_sparse(), r"tensor\.to_dense\(\)"),
        (lambda: torch.quantize_per_tensor(X, 0.1, 0, torch.qint8), r"tensor\.int_repr\(\)"),
        (lambda: torch.tensor([1 + 2j]).conj(), "resolve_conj"),
        (lambda: torch.tensor([1 + 2j]).conj().imag, "resolve_neg"),
    ],
    ids=["sparse", "quantized", "conjugated", "negated"],
)
@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor")
def test_tensors_that_are_refused_without_the_adapter_stay_refused(functions, make, words):
    with pytest.raises(TypeError, match=words):
        functions.doubled(make())
    assert functions.doubled(X).tolist() == [2.0, 4.0, 6.0]


class Wrapped(torch.Tensor):
    """A tensor that stands for another one, and notes what is done to it."""

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
        inner = [one.inner if isinstance(one, Wrapped) else one for one in args]
        return Wrapped(function(*inner, **(kwargs or {})))


def test_a_class_that_wraps_tensors_decides_itself(functions):
    result = functions.doubled(Wrapped(X))
    assert type(result) is Wrapped
    assert result.inner.tolist() == [2.0, 4.0, 6.0]


def test_calls_that_nobody_traces_are_as_without_the_adapter(run_python, torch_library):
    """Fewer instructions would be another path; the same path is the same text of the error."""
    program = (
        f"import torch, tvm_ffi\nmodule = tvm_ffi.load_module({str(torch_library)!r})\n"
        "x = torch.ones(2)\nbefore = module.doubled(x)\n"
        "import tvm_ffi.interop.torch\n"
        "assert torch.equal(module.doubled(x), before)\n"
        "print([name for name in dir(torch.ops.tvm_ffi) if 'doubled' in name])"
    )
    result = run_python(program)
    assert (result.stdout, result.stderr) == ("[]\n", "")

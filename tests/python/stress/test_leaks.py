# SPDX-License-Identifier: Apache-2.0
"""Memory leaks: memory in use before and after thousands of operations of each kind.

There are two measures, because Python allocates small objects itself: the bytes in use on the C
library's heap, and the number of blocks of Python's allocator.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
import pickle
import sys
from typing import Any, Optional

import numpy as np
import pytest
from elsewhere import make_step
from forged import Framework, Source

import tvm_ffi
from tvm_ffi import core, dataclasses
from tvm_ffi._binding.object import purge_object_metadata
from tvm_ffi.dataclasses import StrEnum, field, init_property, py_class
from tvm_ffi.error import TracebackManager
from tvm_ffi.module import CustomModule

pytestmark = [
    pytest.mark.unsanitized("its allocator does not tell how much is in use"),
    pytest.mark.undebugged("the debug context keeps released objects in its quarantine"),
]

ROUNDS = 1000
# Allowed growth per round: less than the smallest native object or one Python object, but more than
# one-time costs.
MAX_BYTES = 8 * ROUNDS
MAX_BLOCKS = ROUNDS // 10


class Text(str):
    """A subclass of str."""

    __slots__ = ()


class Broken:
    """A DLPack exporter that raises."""

    def __dlpack__(self, **arguments):
        raise BufferError("no export")


class Pointer:
    """An object that has an address (pointer protocol)."""

    def __tvm_ffi_opaque_ptr__(self):
        return 16


class Convertible(core.ObjectConvertible):
    """A value that converts to a list."""

    def asobject(self):
        return [LONG, 2**80]


class Stream:
    """A stream object of a framework."""

    def __cuda_stream__(self):
        return 0, 2**63


class Handled:
    """A class with a registered handler for pointers."""


core._OPAQUE_PTR_HANDLERS[Handled] = lambda value: 1 << 40


def held_string():
    """Return a String with a native object."""
    value = core.String(LONG)
    value.__init_cached_object_by_constructor__(lambda: LONG)
    return value


def read_only(array):
    array.flags.writeable = False
    return array


ARRAY = np.arange(24.0).reshape(2, 3, 4)
DEEP = np.zeros((1,) * 12)
LONG = "a text that does not fit the value"
VALUES = {
    "none": None,
    "bool": True,
    "int": 10**12,
    "big-int": 2**80,
    "float": 1.5,
    "small-str": "small",
    "long-str": LONG,
    "str-subclass": Text(LONG),
    "non-ascii": "caf\u00e9 " * 5,
    "bytes": LONG.encode(),
    "bytearray": bytearray(LONG.encode()),
    "string": core.String(LONG),
    "string-with-object": held_string(),
    "bytes-subclass": core.Bytes(LONG.encode()),
    "convertible": Convertible(),
    "stream-protocol": Stream(),
    "handled": Handled(),
    "wrapped-tensor": core.DLTensorTestWrapper(tvm_ffi.from_dlpack(ARRAY)),
    "dtype": tvm_ffi.dtype("float32x4"),
    "numpy-dtype": np.dtype("int16"),
    "device": tvm_ffi.device("cuda:1"),
    "pointer": ctypes.c_void_p(8),
    "pointer-protocol": Pointer(),
    "shape": tvm_ffi.Shape((1, 2, 3)),
    "opaque": object(),
    "callable": lambda: 1,
    "exception": ValueError("as a value"),
    "error": core.Error("ValueError", "m", "b"),
    "tensor": tvm_ffi.from_dlpack(ARRAY),
    "array": ARRAY,
    "view": ARRAY[::-1, ::2],
    "read-only": tvm_ffi.readonly(read_only(np.zeros(3))),
    "many-dims": DEEP,
    "numpy-scalar": np.float32(1.5),
    "numpy-int": np.int64(5),
}


class _BadPointer:
    def __tvm_ffi_opaque_ptr__(self):
        return 1 << 70


BAD_POINTER = _BadPointer()


class PyNativeTuple(core.PyNativeObject, tuple):
    """A class whose values must have a native object."""


class _Endless(core.ObjectConvertible):
    def asobject(self):
        return _Endless()


ENDLESS = _Endless()

# Each export creates a new capsule, but the exporters are reused: free-threaded Python 3.13 leaks
# memory with each ctypes function pointer.
SOURCE, LEGACY_SOURCE = Source(), Source(version=None)
LATER_SOURCE, NEGATIVE_NDIM = Source(version=(9, 0)), Source(ndim=-1)
NEGATIVE_EXTENT = Source((-3, 4), version=None)


def raise_error():
    raise KeyError("from a callback")


def raise_new_class():
    raise type("Fresh", (Exception,), {})("of a new class")


def keep_and_forget(kernels, value):
    kernels.keep(value)
    kernels.kept()
    kernels.forget()


def change_containers():
    values = tvm_ffi.List([LONG, ARRAY])
    values.append(values.pop(0))
    values[:] = [LONG, LONG]
    table = tvm_ffi.Dict({LONG: ARRAY})
    for i in range(10):
        table[LONG + str(i)] = values
    del table[LONG]
    table.update({"x": [table[LONG + "1"]]})


def send_out_of_band(value):
    buffers = []
    text = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=[bytes(buffer) for buffer in buffers])


def register_and_remove():
    tvm_ffi.register_global_func("test.leaks", lambda: 1)
    tvm_ffi.get_global_func("test.leaks")()
    tvm_ffi.remove_global_func("test.leaks")


class Answer(CustomModule, kind="test.leaks"):
    """A module with one function."""

    def __init__(self):
        self.text = LONG

    def find_function(self, name):
        return (lambda: self.text) if name == "f" else None


@py_class("test.leaks.Node", eq=True, order=True, unsafe_hash=True)
class Node(tvm_ffi.Object):
    """A type with a field of each memory layout."""

    number: int
    text: str
    items: list[int]
    value: Any = None
    made: dict[str, str] = field(default_factory=lambda: {LONG: LONG})
    other: Optional[Node] = None  # noqa: UP045  (evaluated, also by Python 3.9)

    @init_property
    def size(self) -> int:
        return len(self.items)

    def __post_init__(self):
        if self.number < 0:
            raise ValueError(LONG)


class Side(StrEnum, type_key="test.leaks.Side"):
    """An enumeration."""

    left = "a side whose name is long"


def cycle_of_python_values():
    node = Node(1, LONG, [])
    node.value = lambda: node


def use_python_defined_types():
    node = Node(1, LONG, [1, 2], value=len, other=Node(2, LONG, (3,)))
    node.items, node.text, node.value = [4], LONG + LONG, [LONG]
    assert node != copy.deepcopy(node).other
    assert node < dataclasses.replace(node, number=3)
    assert hash(node) == hash(copy.copy(node))
    dataclasses.asdict(node)
    node.value = None
    pickle.loads(pickle.dumps(node))
    assert pickle.loads(pickle.dumps(Side.left)) is Side.left


def define_refused_class(**annotations):
    """Define a class that is refused; the refusal must release its type key."""
    body = {"__annotations__": annotations, "a": [LONG], "f": tvm_ffi.method(lambda self: LONG)}
    py_class("test.leaks.Failing")(type(tvm_ffi.Object)("Failing", (tvm_ffi.Object,), body))


def use_custom_modules():
    """Call functions through an import, and in a module whose wrapper was released."""
    modules = tvm_ffi.Array([Answer(), Answer()])
    modules[0].import_module(modules[1])
    assert modules[0]["f"]() == LONG
    assert modules[1].get_function("f", query_imports=True)() == LONG


WORKS = {
    "custom-modules": lambda k: use_custom_modules(),
    "python-defined-types": lambda k: use_python_defined_types(),
    "circle-of-python-values": lambda k: cycle_of_python_values(),
    "read-containers": lambda k: [
        [list(k.echo([LONG, [ARRAY], {LONG: 2**90}])[1]) for _ in range(2)],
        list(k.echo({LONG: ARRAY, "b": [LONG]}).items()),
    ],
    "change-containers": lambda k: change_containers(),
    "many-arguments": lambda k: k.count(*range(30), LONG, ARRAY, 2**90),
    "callback": lambda k: k.call(lambda x, y: x, LONG, ARRAY),
    "callback-with-lent-tensor": lambda k: k.call_with_borrowed(lambda t: t.ndim, ARRAY),
    "callback-with-raw-str": lambda k: k.call_with_raw_str(len),
    "callback-with-moved": lambda k: k.call_with_moved(lambda f: None, k.echo),
    "taken": lambda k: k.take(core.ObjectRValueRef(tvm_ffi.convert_func(len))),
    "callback-by-name": lambda k: tvm_ffi.convert_func(lambda **names: names["a"])(
        a=[LONG], b=ARRAY
    ),
    "signature": lambda k: inspect.signature(tvm_ffi.convert_func(lambda x: x)),
    "documentation": lambda k: k["clamp"].__doc__,
    "pickled-function": lambda k: pickle.loads(pickle.dumps(k["count"])),
    "pickled-tensor": lambda k: pickle.loads(pickle.dumps(tvm_ffi.from_dlpack(ARRAY.T), 5)),
    "pickled-out-of-band": lambda k: send_out_of_band(tvm_ffi.from_dlpack(ARRAY)),
    "pickled-object": lambda k: pickle.loads(pickle.dumps(make_step(1, [LONG]))),
    "copied-tensor": lambda k: copy.copy(tvm_ffi.from_dlpack(ARRAY)),
    "any": lambda k: core._to_py_class_value(tvm_ffi.CAny([LONG, ARRAY])),
    "deep-copy": lambda k: copy.deepcopy(tvm_ffi.Array([LONG, {"a": [2**80]}, tvm_ffi.List([1])])),
    "deep-copy-of-python": lambda k: copy.deepcopy(tvm_ffi.List([LONG, {"a": {1, 2}}])),
    "value-from-object": lambda k: held_string(),
    "traceback": lambda k: TracebackManager().append_traceback(None, LONG, 3, "f"),
    "convert-func": lambda k: tvm_ffi.convert_func(lambda: 1)(),
    "new-tensor": lambda k: k.new_like(ARRAY),
    "row-of-tensor": lambda k: k.first_row(ARRAY),
    "from-dlpack": lambda k: tvm_ffi.from_dlpack(ARRAY),
    "from-capsule": lambda k: tvm_ffi.from_dlpack(ARRAY.__dlpack__()),
    "from-versioned-capsule": lambda k: tvm_ffi.from_dlpack(
        k.echo(ARRAY).__dlpack__(max_version=(1, 0))
    ),
    "numpy": lambda k: k.echo(ARRAY).numpy(),
    "export-unused": lambda k: k.echo(ARRAY).__dlpack__(),
    "export-versioned-unused": lambda k: k.echo(ARRAY).__dlpack__(max_version=(1, 0)),
    "exporter": lambda k: k.count(SOURCE),
    "legacy-exporter": lambda k: k.count(LEGACY_SOURCE),
    "copied-text": lambda k: k.copy_text(LONG),
    "caught": lambda k: k.catch(raise_error),
    "error-value": lambda k: core.Error("ValueError", LONG, LONG).py_error(),
    "error-backtrace": lambda k: core.Error("ValueError", "", "").update_backtrace(LONG),
    "registry": lambda k: register_and_remove(),
    "missing-global": lambda k: tvm_ffi.get_global_func("test.none", allow_missing=True),
    "function-wrapper": lambda k: k["count"],
    "dtype": lambda k: tvm_ffi.dtype("float16x3"),
    "device": lambda k: str(tvm_ffi.device("cuda:3")),
    "stream": lambda k: tvm_ffi.use_raw_stream(tvm_ffi.device("cuda"), 3).__enter__().__exit__(),
}

FAILURES = {
    "raise": (ValueError, lambda k: k["raise"]("ValueError", LONG)),
    "raise-unknown-kind": (RuntimeError, lambda k: k["raise"]("Odd", LONG)),
    "raise-with-backtrace": (ValueError, lambda k: k.raise_here()),
    "fail-silently": (RuntimeError, lambda k: k.fail_silently(-1)),
    "fail-with-minus-two": (RuntimeError, lambda k: k.fail_silently(-2)),
    "already-set-kind": (RuntimeError, lambda k: k["raise"]("EnvErrorAlreadySet", "")),
    "throw-unknown": (RuntimeError, lambda k: k.throw_unknown()),
    "callback-raises": (KeyError, lambda k: k.call(raise_error)),
    "callback-raises-new-class": (Exception, lambda k: k.call(raise_new_class)),
    "callback-raises-through-two": (KeyError, lambda k: k.call(k.call, raise_error)),
    "raised-again": (KeyError, lambda k: k.raise_object(k.catch(raise_error))),
    "unknown-result": (ValueError, lambda k: k.return_borrowed(40)),
    "borrowed-result": (ValueError, lambda k: k.return_borrowed(8)),
    "bad-utf8": (UnicodeDecodeError, lambda k: k.return_bad_text(True)),
    "lone-surrogate": (UnicodeEncodeError, lambda k: k.count(LONG, ARRAY, "\ud800")),
    "element": (OverflowError, lambda k: k.count(LONG, [LONG, [ARRAY, BAD_POINTER]])),
    "object-array": (TypeError, lambda k: k.count(LONG, np.zeros(1, object))),
    "value-without-object": (ValueError, lambda k: k.count(LONG, PyNativeTuple((1, LONG)))),
    "convertible-without-end": (RecursionError, lambda k: k.count(LONG, ENDLESS)),
    "byte-order": (TypeError, lambda k: k.count(LONG, np.zeros(1, ">f4"))),
    "odd-stride": (ValueError, lambda k: k.count(np.zeros(4, "i1,f4")["f1"])),
    "keyword": (TypeError, lambda k: k.count(x=1)),
    "keyword-unknown": (TypeError, lambda k: tvm_ffi.convert_func(lambda a: a)(LONG, b=ARRAY)),
    "keyword-refused": (
        TypeError,
        lambda k: tvm_ffi.convert_func(len)(LONG, x=np.zeros(1, object)),
    ),
    "pickle-refused": (TypeError, lambda k: pickle.dumps(make_step(1, len))),
    "buffer-of-another-size": (
        ValueError,
        lambda k: tvm_ffi.from_dlpack(ARRAY).__reduce_ex__(4)[0](b"x", (3,), (0, 8, 1), False),
    ),
    "any-refused": (TypeError, lambda k: tvm_ffi.CAny([LONG, np.zeros(1, object)])),
    "empty-object": (ValueError, lambda k: k.count(LONG, tvm_ffi.Object())),
    "empty-function": (ValueError, lambda k: tvm_ffi.Function()()),
    "broken-exporter": (BufferError, lambda k: k.count(LONG, Broken())),
    "forged-version": (ValueError, lambda k: k.count(LATER_SOURCE)),
    "forged-ndim": (ValueError, lambda k: k.count(NEGATIVE_NDIM)),
    "forged-shape": (ValueError, lambda k: k.count(NEGATIVE_EXTENT)),
    "not-contiguous": (
        RuntimeError,
        lambda k: tvm_ffi.from_dlpack(ARRAY.T, require_contiguous=True),
    ),
    "read-only": (BufferError, lambda k: k.echo(read_only(np.zeros(3)))),
    "export-read-only": (
        BufferError,
        lambda k: k.echo(tvm_ffi.readonly(np.zeros(3))).__dlpack__(),
    ),
    "lent-exported": (BufferError, lambda k: k.call_with_borrowed(np.from_dlpack, ARRAY)),
    "lent-returned": (ValueError, lambda k: k.call_with_borrowed(lambda t: t, ARRAY)),
    "moved-out": ((ValueError, RuntimeError), lambda k: k.call_with_moved_out(len)),
    "missing-function": (AttributeError, lambda k: k["no_such_function"]),
    "missing-global": (ValueError, lambda k: tvm_ffi.get_global_func("test.none")),
    "missing-file": (RuntimeError, lambda k: tvm_ffi.load_module("/no/such/file.so")),
    "duplicate-name": (RuntimeError, lambda k: tvm_ffi.register_global_func("ffi.Shape", len)),
    "unknown-dtype": (ValueError, lambda k: tvm_ffi.dtype("zz")),
    "unknown-device": (ValueError, lambda k: tvm_ffi.device("zz")),
    "python-defined-type-refuses": (TypeError, lambda k: Node(1, LONG, [LONG])),
    "python-defined-type-lacks": (TypeError, lambda k: Node(1, LONG, other=Node(1, LONG, []))),
    "python-defined-type-raises": (ValueError, lambda k: Node(-1, LONG, [1], value=[LONG])),
    "definition-refused": (TypeError, lambda k: define_refused_class(a=list, b=set)),
    "bad-shape": (ValueError, lambda k: tvm_ffi.Shape([1, "x"])),
}


def in_use(kernels):
    for _ in range(2):  # in free-threaded Python, the second collection frees the remaining objects
        gc.collect()
    purge_object_metadata()  # records of dead objects wait for this call
    return kernels.heap_bytes(), sys.getallocatedblocks()


def check_growth(kernels, work, rounds=ROUNDS, max_bytes=None, max_blocks=MAX_BLOCKS):
    """Run the work many times; pass if memory has not grown in one of several measurements.

    A leak grows in every measurement; caches and tables grow only sometimes.
    """
    if max_bytes is None:
        max_bytes = MAX_BYTES * rounds // ROUNDS + 4096
    for _ in range(rounds // 4):
        work(kernels)
    growth = []
    for _ in range(4):
        before = in_use(kernels)
        for _ in range(rounds):
            work(kernels)
        num_bytes, num_blocks = (now - then for now, then in zip(in_use(kernels), before))
        if num_bytes < max_bytes and num_blocks < max_blocks:
            return
        growth.append(f"{num_bytes} bytes and {num_blocks} Python blocks")
    pytest.fail(f"memory grew in each measurement of {rounds} rounds: {'; '.join(growth)}")


@pytest.fixture(autouse=True, scope="module")
def _measurable(kernels, _no_object_is_leaked):
    """Skip without heap statistics; exclude objects that exist from garbage collection."""
    if kernels.heap_bytes() < 0:
        pytest.skip("the C library does not report the memory in use")
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize(
    "leak",
    [
        pytest.param(lambda k: k.copy_text(LONG), id="str"),
        pytest.param(lambda k: k.echo(ARRAY), id="tensor"),
        pytest.param(lambda k: k.get_function("count"), id="function"),
    ],
)
def test_the_measurement_detects_a_leak(kernels, leak):
    leaked = []
    with pytest.raises(pytest.fail.Exception, match="memory grew in each measurement of"):
        check_growth(kernels, lambda k: leaked.append(leak(k)))


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_passing_a_value_leaks_nothing(kernels, value):
    check_growth(kernels, lambda k: k.echo(value))


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_keeping_a_value_leaks_nothing(kernels, value):
    check_growth(kernels, lambda k: keep_and_forget(k, value))


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_returning_a_value_from_a_callback_leaks_nothing(kernels, value):
    check_growth(kernels, lambda k: k.call(lambda x: x, value))


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_work_leaks_nothing(kernels, work):
    check_growth(kernels, work)


@pytest.mark.parametrize(("error", "work"), FAILURES.values(), ids=FAILURES)
def test_failure_leaks_nothing(kernels, error, work):
    def attempt(k):
        try:
            work(k)
        except error:
            return
        pytest.fail("the call raised no exception")

    check_growth(kernels, attempt, rounds=400)


def test_native_threads_leak_nothing(kernels):
    def attempt(k):
        assert k.call_on_thread(lambda x: x, LONG) == LONG
        try:
            k.call_on_thread(raise_error)
        except KeyError:
            return

    check_growth(kernels, attempt, rounds=200)


@pytest.mark.parametrize("owning", [False, True], ids=["borrowing", "owning"])
def test_the_exchange_api_leaks_nothing(kernels, owning):
    framework = Framework(owning=owning)
    tensor = framework.tensor_class(device=(2, 3))

    def attempt(k):
        k.count(tensor, LONG)
        k.echo(tensor)
        framework.stream_queries.clear()

    check_growth(kernels, attempt)


def test_torch_tensors_leak_nothing(kernels):
    torch = pytest.importorskip("torch")
    tensor, conjugated = torch.arange(6.0).reshape(2, 3), torch.tensor([1j]).conj()

    def attempt(k):
        k.echo(tensor)
        k.new_like(tensor)
        k.first_row(tensor)
        k.last(tensor, ARRAY)
        keep_and_forget(k, tensor.T)
        k.call(lambda t: t, tensor)
        tvm_ffi.from_dlpack(tensor)
        try:
            k.count(tensor, conjugated)
        except TypeError:
            return
        pytest.fail("the call raised no exception")

    check_growth(kernels, attempt, rounds=400)


def test_classes_that_come_and_go_leak_nothing(kernels):
    def attempt(k):
        for _ in range(100):
            k.count(type("Fresh", (), {})())
        gc.collect()  # a class refers to itself, so it needs a collection

    # The interpreter's type tables grow and shrink by some hundred blocks during the test; a leak
    # would take 100 objects per round.
    check_growth(kernels, attempt, rounds=40, max_blocks=1000, max_bytes=40_000)

# SPDX-License-Identifier: Apache-2.0
"""Thread stress: eight threads run all operations of shared objects in random order.

TVM_FFI_STRESS_SECONDS sets the duration, TVM_FFI_STRESS_SEED the random seed, which a failure
names.  A thread may only get errors caused by concurrent changes of other threads.
"""

from __future__ import annotations

import copy
import gc
import operator
import os
import pickle
import random
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from function_operations import OPERATIONS as FUNCTION_OPERATIONS
from function_operations import Described
from threads_together import run_together

import tvm_ffi
from tvm_ffi import core, registry, testing

NUM_THREADS = 8
SECONDS = float(os.environ.get("TVM_FFI_STRESS_SECONDS", "1.5"))
SEED = int(os.environ.get("TVM_FFI_STRESS_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
MAX_ELEMENTS = 200
LONG = "a text that lies on the heap"


class Token:
    """A Python object for native containers; the class counts its live instances."""

    alive = 0
    lock = threading.Lock()

    def __new__(cls):  # this function is also called for copies
        with Token.lock:
            Token.alive += 1
        return super().__new__(cls)

    def __del__(self):
        with Token.lock:
            Token.alive -= 1


class Shared:
    """The objects that all threads use."""

    def __init__(self, kernels, path):
        self.kernels = kernels
        self.list = tvm_ffi.List(range(50))
        self.dict = tvm_ffi.Dict({f"key {i}": i for i in range(20)})
        self.inner_list = tvm_ffi.List([LONG])
        self.inner_dict = tvm_ffi.Dict({LONG: LONG})
        self.outer = tvm_ffi.Array([LONG, self.inner_list, {1: self.inner_dict}])
        self.array = tvm_ffi.Array([1, LONG, [2, 3], 2.5, None])
        self.map = tvm_ffi.Map({f"key {i}": [i, LONG] for i in range(50)})
        self.shape = tvm_ffi.Shape((2, 3, 4))
        self.tensor = tvm_ffi.from_dlpack(np.arange(24.0).reshape(2, 3, 4))
        self.error = core.Error("ValueError", "shared", '  File "f.c", line 1, in F\n')
        self.callback = tvm_ffi.convert_func(lambda *x: x[0] if x else None)
        self.object = testing.create_object(
            "testing.TestObjectDerived", v_i64=1, v_str=LONG, v_map={}, v_array=[]
        )
        self.holder = testing.create_object(
            "testing.TestObjectDerived", v_i64=1, v_str=LONG, v_map={}, v_array=[]
        )
        self.library = tvm_ffi.load_module(path, keep_module_alive=False)
        self.imported = tvm_ffi.load_module(path, keep_module_alive=False)
        self.described = Described(path)
        self.restart_iterators()

    def restart_iterators(self):
        self.iterators = [iter(x) for x in (self.list, self.array, self.map, self.dict)]
        self.iterators += [
            iter(self.map.items()),
            iter(self.dict.items()),
            iter(self.dict.values()),
        ]

    def values(self, draw):
        """Return a value of any kind except containers that could come to contain themselves."""
        kinds = [
            lambda: draw.randrange(-(2**80), 2**80),
            lambda: draw.randrange(100),
            draw.random,
            lambda: "short",
            lambda: LONG * draw.randrange(1, 4),
            lambda: b"bytes" * 9,
            lambda: None,
            Token,
            lambda: [Token(), [LONG, {"a": 1}]],
            lambda: np.zeros(3),
            lambda: tvm_ffi.dtype("int8"),
            lambda: tvm_ffi.device("cuda", draw.randrange(8)),
            lambda: tvm_ffi.List([1, LONG]),
            lambda: self.array,
            lambda: self.inner_list,
            lambda: self.inner_dict,
            lambda: self.tensor,
            lambda: self.callback,
        ]
        return draw.choice(kinds)()


def _index(draw):
    return draw.randrange(-60, 60)


def _slice(draw):
    return slice(draw.randrange(60), draw.randrange(60), draw.choice([None, None, 1, 2, -1]))


def _key(draw):
    return draw.choice([f"key {draw.randrange(60)}", draw.randrange(30), 2.5, True, None])


def _set_item(s, draw):
    s.list[_index(draw)] = s.values(draw)


def _set_slice(s, draw):
    where = slice(draw.randrange(60), draw.randrange(60))
    s.list[where] = [s.values(draw) for _ in range(draw.randrange(4))]


def _extend(s, draw):
    if len(s.list) < MAX_ELEMENTS:
        s.list.extend(draw.choice([[1, LONG], s.list, s.array]))


def _insert(s, draw):
    s.list.insert(_index(draw), s.values(draw))
    if len(s.list) > MAX_ELEMENTS:
        del s.list[MAX_ELEMENTS // 2 :]


def _update(s, draw):
    s.dict.update({_key(draw): s.values(draw) for _ in range(3)})
    if len(s.dict) > MAX_ELEMENTS:
        s.dict.clear()


# Operations by class and method name; `test_every_operation_is_stressed` checks the tables.
READS_OF_SEQUENCES = {
    "__add__": lambda x, s, draw: operator.add(x, [1]),
    "__bool__": lambda x, s, draw: bool(x),
    "__contains__": lambda x, s, draw: LONG in x,
    "__deepcopy__": lambda x, s, draw: copy.deepcopy(x),
    "__eq__": lambda x, s, draw: x == [1, 2],
    "__getitem__": lambda x, s, draw: x[draw.choice([_index, _slice])(draw)],
    "__iter__": lambda x, s, draw: list(x),
    "__len__": lambda x, s, draw: len(x),
    "__ne__": lambda x, s, draw: x != [1, 2],
    "__radd__": lambda x, s, draw: operator.add([1], x),
    "__reduce__": lambda x, s, draw: x.__reduce__(),
    "__repr__": lambda x, s, draw: repr(x),
    "__reversed__": lambda x, s, draw: list(reversed(x)),
    "count": lambda x, s, draw: x.count(LONG),
    "index": lambda x, s, draw: x.index(draw.randrange(50)),
}
READS_OF_MAPPINGS = {
    "__bool__": lambda x, s, draw: bool(x),
    "__contains__": lambda x, s, draw: _key(draw) in x,
    "__deepcopy__": lambda x, s, draw: copy.deepcopy(x),
    "__eq__": lambda x, s, draw: x == s.map,
    "__getitem__": lambda x, s, draw: x[_key(draw)],
    "__iter__": lambda x, s, draw: list(x),
    "__len__": lambda x, s, draw: len(x),
    "__ne__": lambda x, s, draw: x != s.map,
    "__reduce__": lambda x, s, draw: x.__reduce__(),
    "__repr__": lambda x, s, draw: repr(x),
    "_repr_html_": lambda x, s, draw: x._repr_html_(),
    "get": lambda x, s, draw: x.get(_key(draw), 1),
    "items": lambda x, s, draw: dict(zip(range(9), x.items())),
    "keys": lambda x, s, draw: len(x.keys()) + len(set(map(str, x.keys()))),
    "values": lambda x, s, draw: list(x.values()),
}
OPERATIONS = {
    tvm_ffi.List: {
        **READS_OF_SEQUENCES,
        "__delitem__": lambda x, s, draw: operator.delitem(x, draw.choice([_index, _slice])(draw)),
        "__iadd__": lambda x, s, draw: _extend(s, draw),
        "__setitem__": lambda x, s, draw: draw.choice([_set_item, _set_slice])(s, draw),
        "append": lambda x, s, draw: x.append(s.values(draw)),
        "clear": lambda x, s, draw: draw.randrange(50) or x.clear(),
        "extend": lambda x, s, draw: _extend(s, draw),
        "insert": lambda x, s, draw: _insert(s, draw),
        "pop": lambda x, s, draw: x.pop(draw.choice([-1, 0, 5])),
        "remove": lambda x, s, draw: x.remove(draw.randrange(50)),
        "reverse": lambda x, s, draw: x.reverse(),
    },
    tvm_ffi.Array: {**READS_OF_SEQUENCES, "__hash__": lambda x, s, draw: hash(x)},
    tvm_ffi.Dict: {
        **READS_OF_MAPPINGS,
        "__delitem__": lambda x, s, draw: operator.delitem(x, _key(draw)),
        "__setitem__": lambda x, s, draw: operator.setitem(x, _key(draw), s.values(draw)),
        "clear": lambda x, s, draw: draw.randrange(20) or x.clear(),
        "pop": lambda x, s, draw: x.pop(_key(draw), None),
        "popitem": lambda x, s, draw: x.popitem(),
        "setdefault": lambda x, s, draw: x.setdefault(_key(draw), s.values(draw)),
        "update": lambda x, s, draw: _update(s, draw),
    },
    tvm_ffi.Map: {**READS_OF_MAPPINGS, "__hash__": lambda x, s, draw: hash(x)},
}
ATTRIBUTES = {
    tvm_ffi.List: "list",
    tvm_ffi.Array: "array",
    tvm_ffi.Dict: "dict",
    tvm_ffi.Map: "map",
}


def _next(s, draw):
    position = draw.randrange(len(s.iterators))
    next(s.iterators[position])
    operator.length_hint(s.iterators[position])


def _raise(s, draw):
    with pytest.raises(ValueError, match="shared"):
        s.kernels.raise_object(s.error)


def _fail(s, draw):
    token = Token()

    def fail(_):
        raise LookupError(token)

    with pytest.raises(LookupError) as caught:
        s.kernels.call(fail, 1)
    assert caught.value.args == (token,)


def _register(s, draw):
    name = f"test.stress.{draw.randrange(4)}"
    tvm_ffi.register_global_func(name, lambda: name, override=True)
    function = tvm_ffi.get_global_func(name, allow_missing=True)
    assert function is None or function() == name
    registry.list_global_func_names()
    if draw.randrange(2):
        tvm_ffi.remove_global_func(name)


def _change_object(s, draw):
    s.object.v_str = LONG * draw.randrange(1, 5)
    s.object.v_i64 = draw.randrange(100)
    s.object.v_array = [Token() for _ in range(draw.randrange(4))]
    s.object.v_map = {LONG: Token()}


def _read_object(s, draw):
    assert s.object.v_str.startswith(LONG)
    assert s.object.v_i64 in range(100)
    assert all(type(x) is Token for x in s.object.v_array)
    assert len(s.object.v_map) <= 1


def _change_inner(s, draw):
    value = draw.choice([1, LONG * draw.randrange(1, 4), [LONG, [LONG]], {LONG: LONG}])
    where = slice(draw.randrange(9), draw.randrange(9))
    if len(s.inner_list) > 50:
        s.inner_list.clear()
    draw.choice(
        [
            lambda: s.inner_list.append(value),
            lambda: s.inner_list.insert(0, value),
            lambda: s.inner_list.pop(0),
            lambda: operator.setitem(s.inner_list, where, [value] * 3),
            lambda: operator.setitem(s.inner_list, 0, value),
            lambda: operator.setitem(s.inner_dict, LONG * draw.randrange(1, 30), value),
            s.inner_dict.popitem,
            s.inner_dict.clear,
            lambda: setattr(s.holder, "v_map", {LONG: s.inner_list, LONG * 2: s.inner_dict}),
            lambda: setattr(s.holder, "v_array", s.inner_list),
        ]
    )()


def _walk(s, draw):
    """Traverse containers while other threads change the inner values."""
    root = draw.choice([s.outer, s.holder, tvm_ffi.Map({1: s.outer, 2: s.inner_list})])
    draw.choice(
        [
            lambda: repr(root),
            lambda: copy.deepcopy(root),
            lambda: _call("ffi.RecursiveHash", root),
            lambda: _call("ffi.RecursiveEq", s.outer, copy.deepcopy(s.outer)),
            lambda: _call("ffi.StructuralHash", s.outer, False, False),
            lambda: _call("ffi.StructuralEqual", s.outer, copy.deepcopy(s.outer), False, False),
            lambda: _call("ffi.ToJSONGraphString", root, None),
            lambda: _call("ffi.json.Stringify", tvm_ffi.Array([s.inner_list]), None),
            lambda: _call("ffi.ContainerFindFirstNonCPUDevice", root),
        ]
    )()


def _call(name, *arguments):
    return tvm_ffi.get_global_func(name)(*arguments)


def _see_new_type(s, draw):
    number = draw.randrange(100)
    cls = type("Fresh", (), {"__tvm_ffi_int__": lambda self: number})
    assert s.kernels.echo(cls()) == number


def _export(s, draw):
    assert s.tensor.numpy()[1, 2, 3] == 23
    assert np.from_dlpack(s.tensor).shape == s.tensor.shape == (2, 3, 4)
    assert tvm_ffi.from_dlpack(s.tensor).dtype == s.tensor.dtype
    assert s.tensor.device.type == "cpu"


OTHERS = {
    "echo": lambda s, draw: s.kernels.echo(s.values(draw)),
    "callback": lambda s, draw: s.kernels.call(s.callback, s.values(draw)),
    "shared-containers": lambda s, draw: s.kernels.count(s.list, s.dict, s.array, s.map),
    "function": lambda s, draw: (s.callback.__name__, s.callback.__doc__, repr(s.callback)),
    "release-gil": lambda s, draw: setattr(s.callback, "release_gil", bool(draw.randrange(2))),
    "next": _next,
    "raise": _raise,
    "fail": _fail,
    "error": lambda s, draw: (s.error.message, s.error.backtrace, s.error.py_error()),
    "update-backtrace": lambda s, draw: s.error.update_backtrace(LONG * draw.randrange(1, 9)),
    "register": _register,
    "change-inner": _change_inner,
    "walk": _walk,
    "change-object": _change_object,
    "read-object": _read_object,
    "new-type": _see_new_type,
    "tensor": _export,
    "module": lambda s, draw: (s.library.echo(1), s.library["count"](1), s.library.imports),
    "import": lambda s, draw: s.library.import_module(s.imported),
    "clear-imports": lambda s, draw: s.library.clear_imports(),
    "look-up": lambda s, draw: s.library.get_function("echo", query_imports=True),
    "dtype": lambda s, draw: tvm_ffi.dtype(f"int{draw.choice([8, 16])}x{draw.randrange(1, 99)}"),
    "device": lambda s, draw: str(tvm_ffi.device("cuda", draw.randrange(99))),
    "shape": lambda s, draw: (s.shape[1], list(s.shape), s.kernels.echo(s.shape)),
    "pickle": lambda s, draw: pickle.loads(pickle.dumps(s.array)),
    "json": lambda s, draw: tvm_ffi.serialization.to_json_graph_str(s.map),
}


def operations():
    """Return the name of each operation, and its function of shared objects and a generator."""
    for cls, methods in OPERATIONS.items():
        for name, do in methods.items():
            yield (
                f"{cls.__name__}.{name}",
                lambda s, draw, do=do, at=ATTRIBUTES[cls]: do(getattr(s, at), s, draw),
            )
    yield from OTHERS.items()
    for name, do in FUNCTION_OPERATIONS.items():
        yield name, lambda s, draw, do=do: do(s.described, draw)


@pytest.mark.parametrize("cls", OPERATIONS)
def test_every_operation_is_stressed(cls):
    of_all_objects = set(dir(tvm_ffi.Object)) - {"__eq__", "__ne__", "__repr__", "__reduce__"}
    present = {name for name in dir(cls) if callable(getattr(cls, name))} - of_all_objects
    made_once = {"__init_from_row__", "__class_getitem__", "__subclasshook__", "__pyx_vtable__"}
    assert set(OPERATIONS[cls]) - {"__hash__"} == present - made_once - {"__class__"}


@pytest.fixture
def _threads_switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(interval)


def run_random_operations(shared, counts, end, i):
    """Run random operations until the time is over."""
    todo = list(operations())
    draw = random.Random(f"{SEED} {i}")
    while time.monotonic() < end:
        _, do = draw.choice(todo)
        try:
            do(shared, draw)
        except (IndexError, KeyError, StopIteration, ValueError):
            pass  # the element does not exist, or another thread removed it
        except RuntimeError as error:
            if "changed during iteration" not in str(error):
                raise
        counts[i] += 1
        if counts[i] % 64 == 0:
            shared.restart_iterators()


def check_consistency(s):
    """Check the containers that the threads changed, and that immutable ones are unchanged."""
    elements = list(s.list)
    assert len(elements) == len(s.list)
    assert s.kernels.echo(s.list) == elements
    pairs = list(s.dict.items())
    assert len(pairs) == len(s.dict)
    assert len({(type(key), key) for key, _ in pairs}) == len(pairs)
    assert all(key in s.dict for key, _ in pairs)
    assert list(s.array)[:2] == [1, LONG]
    assert [s.map[f"key {i}"][0] for i in range(50)] == list(range(50))
    assert s.tensor.numpy().sum() == 276
    assert s.error.message == "shared"
    s.described.check()


@pytest.mark.usefixtures("_threads_switch_often")
def test_all_operations_run_concurrently(kernels, kernel_library):
    shared = Shared(kernels, kernel_library)
    counts = [0] * NUM_THREADS
    end = time.monotonic() + SECONDS
    try:
        run_together(partial(run_random_operations, shared, counts, end), NUM_THREADS)
    except BaseException as failure:
        raise AssertionError(f"TVM_FFI_STRESS_SEED={SEED}") from failure
    finally:
        print(f"seed {SEED}: {sum(counts)} operations in {SECONDS} s")
    assert min(counts) > 0
    check_consistency(shared)
    del shared
    gc.collect()
    assert Token.alive == 0

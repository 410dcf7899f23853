# SPDX-License-Identifier: Apache-2.0
"""Module paths in pickles are public ones: files of pickles outlive private module names."""

from __future__ import annotations

import pickle
import pickletools

import numpy as np
import pytest
from elsewhere import make_step, twice

import tvm_ffi
from tvm_ffi import (
    Array,
    Dict,
    Function,
    List,
    Map,
    Object,
    Shape,
    core,
    dispatches,
    observe,
    structural,
)
from tvm_ffi.module import CustomModule

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


class Renamed(Function):
    """A subclass of Function, pickled by its public name."""


class Greeter(CustomModule, kind="test.pickle_names"):
    """A module with a function and a state that is pickled."""

    def __init__(self, greeting):
        self.greeting = greeting

    def find_function(self, name):
        return self.greet if name == "greet" else None

    def greet(self, name):
        return f"{self.greeting}, {name}"

    def save_to_bytes(self):
        return self.greeting.encode()

    @classmethod
    def load_from_bytes(cls, data):
        return cls(data.decode())


def renamed():
    function = Renamed()
    function.__move_handle_from__(tvm_ffi.convert_func(twice))
    return function


def error_of_native_code():
    with pytest.raises(ValueError, match="expected an object") as caught:
        tvm_ffi.serialization.from_json_graph_str("1")
    return caught.value


def strided():
    return tvm_ffi.from_dlpack(np.arange(6).reshape(2, 3).T)


# Functions that create a value of each kind; their parameter is the module of compiled kernels.
VALUES = {
    "global function": lambda _: tvm_ffi.get_global_func("ffi.json.Stringify"),
    "function of a module": lambda kernels: kernels.count,
    "callable": lambda _: tvm_ffi.convert_func(twice),
    "function of a subclass": lambda _: renamed(),
    "module of a file": lambda kernels: kernels,
    "system library": lambda _: tvm_ffi.system_lib("test_pickle_names_"),
    "module of a kind in Python": lambda _: Greeter("Hello"),
    "function of such a module": lambda _: Greeter("Hello")["greet"],
    "tensor": lambda _: tvm_ffi.from_dlpack(np.arange(6)),
    "strided tensor": lambda _: strided(),
    "dtype": lambda _: tvm_ffi.dtype("float8_e4m3fn"),
    "DataType": lambda _: core.DataType("bfloat16"),
    "device": lambda _: tvm_ffi.device("cuda", 3),
    "device type": lambda _: tvm_ffi.DLDeviceType.kDLCUDA,
    "shape": lambda _: Shape((2, 0)),
    "String": lambda _: core.String("text"),
    "Bytes": lambda _: core.Bytes(b"bytes"),
    "error": lambda _: core.Error("ValueError", "message", ""),
    "opaque": lambda _: tvm_ffi.convert({1, 2}),
    "object": lambda _: make_step(2, ["deep", {"key": 7}]),
    "empty object": lambda _: Object(),
    "array": lambda _: Array([1, tvm_ffi.device("cpu")]),
    "list": lambda _: List([1, "a"]),
    "map": lambda _: Map({"a": tvm_ffi.dtype("int4")}),
    "dict": lambda _: Dict({"a": Shape((1,))}),
    "classes of core": lambda _: [
        shown for shown in (getattr(core, name) for name in core.__all__) if isinstance(shown, type)
    ],
    "public classes": lambda _: [
        shown
        for module in (tvm_ffi, dispatches, observe, structural)
        for shown in (getattr(module, name) for name in module.__all__)
        if isinstance(shown, type)
    ],
}


def globals_of(text):
    """Return the globals that a pickle names, as (module, name)."""
    memo, pushed, found = {}, [], []
    for opcode, argument, _ in pickletools.genops(text):
        if opcode.name == "GLOBAL":
            found.append(tuple(argument.split(" ", 1)))
        elif opcode.name == "STACK_GLOBAL":
            found.append(tuple(pushed[-2:]))
        if "UNICODE" in opcode.name:
            pushed.append(argument)
        elif opcode.name in ("GET", "BINGET", "LONG_BINGET"):
            pushed.append(memo[int(argument)])
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = pushed[-1]
        elif opcode.name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[int(argument)] = pushed[-1]
        else:
            pushed.append(None)
    return found


def test_globals_of_a_pickle_are_found():
    """`globals_of` handles all pickle protocols, and names that a pickle takes from its memo."""
    for protocol in PROTOCOLS:
        names = globals_of(pickle.dumps([pickle.PickleError, pickle.PicklingError], protocol))
        assert [name for _, name in names] == ["PickleError", "PicklingError"]
        assert {module.lstrip("_") for module, _ in names} == {"pickle"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", VALUES)
def test_pickles_name_public_paths_only(kind, protocol, kernels):
    names = globals_of(pickle.dumps(VALUES[kind](kernels), protocol))
    private = [
        f"{module}.{name}"
        for module, name in names
        if module.split(".")[0] == "tvm_ffi"
        and any(part.startswith("_") for part in (*module.split("."), *name.split(".")))
    ]
    assert private == []


def test_the_error_object_of_an_exception_is_pickled_under_a_public_path():
    names = globals_of(pickle.dumps(error_of_native_code()))
    assert ("tvm_ffi.core", "Error") in names


@pytest.mark.parametrize(
    ("shown", "module"),
    [
        (tvm_ffi.Tensor, "tvm_ffi.core"),
        (tvm_ffi.Function, "tvm_ffi.core"),
        (tvm_ffi.Object, "tvm_ffi.core"),
        (tvm_ffi.Device, "tvm_ffi.core"),
        (tvm_ffi.ObjectConvertible, "tvm_ffi.core"),
        (core.Error, "tvm_ffi.core"),
        (core.DLTensorTestWrapper, "tvm_ffi.core"),
        (tvm_ffi.from_dlpack, "tvm_ffi.core"),
        (tvm_ffi.convert_func, "tvm_ffi.core"),
        (tvm_ffi.dtype, "tvm_ffi"),
        (tvm_ffi.Shape, "tvm_ffi"),
        (tvm_ffi.Array, "tvm_ffi.container"),
        (tvm_ffi.module.Module, "tvm_ffi.module"),
        (tvm_ffi.module.CustomModule, "tvm_ffi.module"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_public_objects_have_a_public_module(shown, module):
    assert shown.__module__ == module
    assert repr(shown).find("._") == -1


def test_loading_a_pickle_imports_no_further_modules(run_python):
    text = pickle.dumps([tvm_ffi.device("cpu"), tvm_ffi.from_dlpack(np.arange(3)), Shape((1,))], 4)
    program = (
        f"import pickle, sys, tvm_ffi; before = set(sys.modules); pickle.loads({text!r}); "
        "print(sorted(name for name in set(sys.modules) - before if name.startswith('tvm_ffi')))"
    )
    assert run_python(program).stdout.strip() == "[]"

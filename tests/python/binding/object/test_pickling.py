# SPDX-License-Identifier: Apache-2.0
"""Pickling of functions, modules, objects and small values; errors for unsupported values.

Tensors are tested in test_tensor_pickling.py.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import json
import pickle
import shutil

import numpy as np
import pytest
from elsewhere import Step, make_step, twice

import tvm_ffi
from tvm_ffi import Array, Dict, Function, List, Map, Module, Object, Shape, core, load_module
from tvm_ffi._binding.call import set_module_origin
from tvm_ffi._binding.object import NativeReference
from tvm_ffi.module import find_again

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


@pytest.fixture(params=PROTOCOLS, ids=lambda protocol: f"protocol{protocol}")
def copy_by_pickle(request):
    """Return a function that pickles and unpickles a value."""
    return lambda value: pickle.loads(pickle.dumps(value, request.param))


# ---- Functions -----------------------------------------------------------------------------------


def test_a_global_function_is_pickled_by_name(copy_by_pickle):
    made = copy_by_pickle(tvm_ffi.get_global_func("ffi.json.Stringify"))
    assert isinstance(made, Function)
    assert made([1, 2], None) == "[1,2]"
    assert made.__name__ == "ffi.json.Stringify"


def test_a_registered_python_function_is_pickled_by_name(copy_by_pickle):
    name = "test.pickling.registered"
    try:
        registered = tvm_ffi.register_global_func(name, lambda x: x + 1)
        for function in (registered, tvm_ffi.get_global_func(name)):
            assert copy_by_pickle(function) == registered
    finally:
        tvm_ffi.remove_global_func(name)


def test_a_function_renamed_by_init_ffi_api_is_pickled_by_its_full_name(copy_by_pickle):
    function = tvm_ffi._ffi_api.ArraySize
    assert function.__name__ == "ArraySize"
    assert copy_by_pickle(function) == function


def test_unpickling_names_the_missing_global_function():
    name = "test.pickling.missing"
    text = pickle.dumps(tvm_ffi.register_global_func(name, lambda: 1))
    tvm_ffi.remove_global_func(name)
    with pytest.raises(ValueError, match=r"Cannot find global function test\.pickling\.missing"):
        pickle.loads(text)


def test_a_replaced_global_function_cannot_be_pickled(kernels):
    name = "test.pickling.replaced"
    try:
        tvm_ffi.register_global_func(name, kernels["count"])
        before = tvm_ffi.get_global_func(name)
        tvm_ffi.register_global_func(name, lambda: 2, override=True)
        with pytest.raises(
            TypeError,
            match="`test.pickling.replaced` now belongs to another function",
        ):
            pickle.dumps(before)
    finally:
        tvm_ffi.remove_global_func(name)
    with pytest.raises(TypeError, match="another function or is not registered any more"):
        pickle.dumps(before)


def test_a_module_function_is_pickled_by_file_and_name(copy_by_pickle, kernels):
    for function in (kernels.count, kernels["count"], kernels.get_function("count", True)):
        made = copy_by_pickle(function)
        assert made(1, 2, 3) == 3
        assert made.__name__ == "count"
        assert copy_by_pickle(made)(1) == 1


def test_functions_are_equal_to_copies_that_are_the_same_native_object(copy_by_pickle, kernels):
    """Documented in docs/concepts/objects.md; `copy.copy` returns the function itself."""
    size = tvm_ffi.get_global_func("ffi.ArraySize")
    assert copy_by_pickle(size) == size
    assert hash(copy_by_pickle(size)) == hash(size)
    for function in (kernels.count, tvm_ffi.convert_func(twice)):
        assert copy_by_pickle(function) != function
        assert copy.copy(function) == copy.deepcopy(function) == function
    assert kernels.count is kernels["count"]
    assert kernels.get_function("count") != kernels.count


def test_a_converted_callable_is_pickled_as_the_callable(copy_by_pickle, echo):
    for function in (tvm_ffi.convert_func(twice), echo(twice)):
        made = copy_by_pickle(function)
        assert isinstance(made, Function)
        assert made(21) == 42
        assert made.__name__ == "twice"


def test_pickling_an_unpicklable_callable_raises_its_error():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(tvm_ffi.convert_func(lambda: 1))


def test_function_from_an_address_is_a_type_error(kernel_library):
    symbol = ctypes.CDLL(str(kernel_library)).__getattr__("__tvm_ffi_count")
    function = Function.__from_extern_c__(ctypes.cast(symbol, ctypes.c_void_p).value)
    with pytest.raises(TypeError, match="only global functions, functions of a module and Python"):
        pickle.dumps(function)


def test_functions_received_from_native_code_can_be_pickled(copy_by_pickle, kernels, echo):
    """Each function that Python receives gets a new wrapper; the first wrapper may be gone."""
    assert copy_by_pickle(echo(kernels.count))(1, 2) == 2
    held = Array([kernels["count"], tvm_ffi.get_global_func("ffi.json.Stringify")])
    gc.collect()
    assert copy_by_pickle(held[0])(1, 2) == 2
    assert copy_by_pickle(held[1])([1], None) == "[1]"


def test_recorded_origins_do_not_keep_functions_and_modules_alive(kernel_library, tmp_path):
    path = tmp_path / "short_lived.so"
    shutil.copy(kernel_library, path)
    module = load_module(path, keep_module_alive=False)
    references = [NativeReference(module), NativeReference(module["count"])]
    assert references[0]() == module
    del module
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_function_whose_module_is_gone_is_a_type_error():
    """The origin of the function is a module that the function does not keep alive."""
    function = tvm_ffi.convert_func(len)
    holder = Array([1])
    set_module_origin(function, holder, "f", False)
    del holder
    assert function.__name__ == "f"
    with pytest.raises(TypeError, match="cannot pickle function `f`: its module was destroyed"):
        pickle.dumps(function)


def test_empty_function_is_a_value_error():
    with pytest.raises(ValueError, match="Function is empty"):
        pickle.dumps(Function())


class Doubling(Function):
    def __call__(self, *args):
        return 2 * super().__call__(*args)


def test_subclass_of_function_keeps_class_and_attributes(copy_by_pickle, kernels):
    function = Doubling()
    function.__move_handle_from__(tvm_ffi.convert_func(twice))
    function.note = "kept"
    made = copy_by_pickle(function)
    assert type(made) is Doubling
    assert made(10) == 40
    assert made.note == "kept"


# ---- Modules -------------------------------------------------------------------------------------


def test_a_module_is_pickled_by_its_path(copy_by_pickle, kernel_library):
    module = load_module(kernel_library, keep_module_alive=False)
    made = copy_by_pickle(module)
    assert isinstance(made, Module)
    assert made.count(1, 2) == 2


def test_unpickling_returns_the_loaded_module(copy_by_pickle, kernels):
    made = copy_by_pickle(kernels)
    assert made == kernels
    assert copy_by_pickle(made) == kernels
    assert made.same_as(kernels)


def test_modules_received_from_native_code_can_be_pickled(copy_by_pickle, kernels, echo):
    assert copy_by_pickle(echo(kernels)) == kernels
    assert copy_by_pickle(Array([kernels]))[0] == kernels


def test_a_relative_path_is_pickled_as_an_absolute_one(kernel_library, tmp_path, monkeypatch):
    shutil.copy(kernel_library, tmp_path / "moved.so")
    monkeypatch.chdir(tmp_path)
    text = pickle.dumps(load_module("./moved.so", keep_module_alive=False))
    gc.collect()
    monkeypatch.chdir("/")
    assert pickle.loads(text).count(1) == 1


def test_missing_file_is_a_runtime_error_that_names_it(kernel_library, tmp_path):
    path = tmp_path / "present.so"
    shutil.copy(kernel_library, path)
    text = pickle.dumps(load_module(path, keep_module_alive=False)["count"])
    with pytest.raises(RuntimeError, match=r"missing\.so"):
        pickle.loads(text.replace(b"present.so", b"missing.so"))


def test_imported_modules_are_pickled_with_their_module(copy_by_pickle, kernel_library, tmp_path):
    other = tmp_path / "imported.so"
    shutil.copy(kernel_library, other)
    module = load_module(kernel_library, keep_module_alive=False)
    module.import_module(load_module(other, keep_module_alive=False))
    made = copy_by_pickle(module)
    assert made != module
    assert len(made.imports) == 1
    assert made.imports[0].kind == "library"
    assert copy_by_pickle(made.imports[0]).count(1) == 1


def test_module_changed_since_it_was_loaded_is_not_mistaken_for_its_file(kernel_library, tmp_path):
    path = tmp_path / "changed.so"
    shutil.copy(kernel_library, path)
    module = load_module(path, keep_module_alive=False)
    text = pickle.dumps(module)
    module.import_module(load_module(kernel_library, keep_module_alive=False))
    made = pickle.loads(text)
    assert made != module
    assert len(made.imports) == 0


def test_a_system_library_is_pickled_by_its_prefix(copy_by_pickle):
    module = tvm_ffi.system_lib("test_pickling_")
    assert copy_by_pickle(module) == module


def test_a_module_without_a_known_path_is_a_type_error(kernel_library, tmp_path):
    """The function that loads this module does not record the module's path."""
    path = tmp_path / "nowhere.so"
    shutil.copy(kernel_library, path)
    module = tvm_ffi.get_global_func("ffi.ModuleLoadFromFile")(str(path))
    for value in (module, module.count):
        with pytest.raises(TypeError, match="kind 'library' that was not loaded by load_module"):
            pickle.dumps(value)


def test_empty_module_is_a_value_error():
    with pytest.raises(ValueError, match="Module is empty"):
        pickle.dumps(Module.__new__(Module))


# ---- Small values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        tvm_ffi.dtype("float32x4"),
        tvm_ffi.dtype("float8_e4m3fn"),
        core.DataType("bfloat16"),
        tvm_ffi.device("cuda", 3),
        Shape((2, 0, 2**62)),
        Shape(()),
    ],
    ids=repr,
)
def test_small_values_are_pickled(copy_by_pickle, value):
    made = copy_by_pickle(value)
    assert made == value
    assert type(made) is type(value)


def test_errors_are_pickled_by_their_three_strings(copy_by_pickle):
    made = copy_by_pickle(core.Error("ValueError", "message", '  File "f.c", line 1, in F\n'))
    assert type(made) is core.Error
    assert (made.kind, made.message) == ("ValueError", "message")
    assert made.backtrace == '  File "f.c", line 1, in F\n'


def test_opaque_objects_are_pickled_as_their_value(copy_by_pickle):
    made = copy_by_pickle(tvm_ffi.convert({1, 2}))
    assert type(made) is core.OpaquePyObject
    assert made.pyobject() == {1, 2}


# ---- Registered objects --------------------------------------------------------------------------


def test_objects_are_pickled_as_a_json_graph(copy_by_pickle):
    step = make_step(2, ["deep", {"key": 7}])
    made = copy_by_pickle(step)
    assert type(made) is Step
    assert made.kind == 2
    assert made.key[0] == "deep"
    assert made.key[1]["key"] == 7
    assert not made.same_as(step)


def test_state_of_an_object():
    state = make_step(1, "k").__getstate__()
    assert list(state) == ["handle"]
    graph = json.loads(state["handle"])
    assert graph["nodes"][graph["root_index"]]["type"] == "ffi.reflection.AccessStep"
    made = Step.__new__(Step)
    made.__setstate__(state)
    assert (made.kind, made.key) == (1, "k")
    made.__setstate__({"handle": None})
    assert made.__chandle__() == 0


def test_attributes_of_an_object_are_pickled(copy_by_pickle):
    step = make_step(1, "k")
    step.note = ["kept"]
    assert copy_by_pickle(step).note == ["kept"]


def test_copies_of_an_object_are_distinct_objects():
    step = make_step(1, [1, 2])
    for use in (copy.copy, copy.deepcopy):
        made = use(step)
        assert type(made) is Step
        assert not made.same_as(step)
        assert list(made.key) == [1, 2]


def test_an_empty_object_stays_empty(copy_by_pickle):
    made = copy_by_pickle(Object())
    assert type(made) is Object
    assert made.__chandle__() == 0


def test_object_with_a_function_inside_is_a_type_error():
    with pytest.raises(TypeError, match=r"Type `ffi\.Function` does not support ToJSONGraph"):
        pickle.dumps(make_step(1, twice))


def test_a_state_that_is_not_an_object_is_an_error():
    with pytest.raises(
        TypeError, match="a constructor function must return a native object, got int"
    ):
        Object().__setstate__({"handle": '{"root_index":0,"nodes":[{"type":"int","data":1}]}'})
    with pytest.raises(ValueError, match="Expecting"):
        Object().__setstate__({"handle": "not json"})


# ---- All together --------------------------------------------------------------------------------


def test_nested_values_of_all_kinds_are_pickled(copy_by_pickle, kernels):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    value = Map(
        {
            "tensors": List([tvm_ffi.from_dlpack(array), tvm_ffi.from_dlpack(array.T)]),
            "functions": Array([kernels.count, tvm_ffi.convert_func(twice)]),
            "module": kernels,
            "object": make_step(3, "k"),
            "small": Dict({"shape": Shape((1, 2)), "dtype": tvm_ffi.dtype("int4")}),
        }
    )
    for made in (
        copy_by_pickle(value),
        copy_by_pickle([value])[0],
        copy_by_pickle({"a": (value,)})["a"][0],
    ):
        first, second = made["tensors"]
        assert first.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
        assert second.numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
        count, converted = made["functions"]
        assert (count(1, 2), converted(4)) == (2, 8)
        assert made["module"] == kernels
        assert made["object"].kind == 3
        assert made["small"]["shape"] == Shape((1, 2))
        assert made["small"]["dtype"] == "int4"


def test_a_shared_object_stays_shared(copy_by_pickle):
    tensor = tvm_ffi.from_dlpack(np.arange(3))
    first, second = copy_by_pickle([tensor, tensor])
    assert first is second


def test_ten_thousand_values_are_pickled(copy_by_pickle):
    value = Array([tvm_ffi.Shape((i,)) for i in range(5000)] + [f"text {i}" for i in range(5000)])
    made = copy_by_pickle(value)
    assert len(made) == 10_000
    assert made[4999] == (4999,)
    assert made[9999] == "text 4999"


def test_instances_without_state_have_a_repr():
    """Regression: `repr` raised AttributeError, in debuggers and during unpickling."""
    signature = tvm_ffi.Signature.parse("f(x: float32[n, n + 1], y: int, z: Array[int]) -> int")
    x, y, z = signature.parameters
    for whole in (signature, x, x.type.shape[1], y.type, z.type, *signature.results):
        cls = type(whole)
        assert repr(cls.__new__(cls)).startswith(("<", cls.__name__))
        assert "without state" not in repr(whole)


@pytest.mark.parametrize("imports", [None, []])
def test_unpickling_a_module_requires_a_path_of_type_str(imports):
    with pytest.raises(TypeError, match="pickled module: expected its path as a str, got int"):
        find_again(tvm_ffi.load_module, 5, imports)

# SPDX-License-Identifier: Apache-2.0
"""`tvm_ffi.testing`: the types and functions that the package provides for tests."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import testing
from tvm_ffi.core import _lookup_type_attr, _object_type_key_to_index
from tvm_ffi.testing import testing as classes

NUMBER = {"type": "int"}


def tensor(*shape):
    return tvm_ffi.from_dlpack(np.zeros(shape, "float32"))


# ---- Loading -------------------------------------------------------------------------------------


def test_the_testing_library_is_loaded_by_its_import(run_python):
    done = run_python(
        "import sys, tvm_ffi\n"
        "assert 'tvm_ffi.testing' not in sys.modules and 'tvm_ffi.dataclasses' not in sys.modules\n"
        "assert tvm_ffi.get_global_func('testing.echo', allow_missing=True) is None\n"
        "import tvm_ffi.testing\n"
        "assert 'pytest' not in sys.modules\n"
        "assert tvm_ffi.get_global_func('testing.echo')(5) == 5\n"
        "assert tvm_ffi.dataclasses.c_class\n"
    )
    assert done.returncode == 0, done.stderr


def test_every_testing_function_is_a_public_name():
    names = tvm_ffi.registry.list_global_func_names()
    registered = {name[len("testing.") :] for name in names if name.startswith("testing.")}
    assert len(registered) == 59
    assert registered <= set(testing.__all__)


@pytest.mark.parametrize("minor", [10, 12, 13])
def test_markers(minor):
    mark = getattr(classes, f"requires_py3{minor}").mark
    assert (mark.name, mark.args) == ("skipif", (sys.version_info < (3, minor),))
    assert mark.kwargs == {"reason": f"requires Python 3.{minor}+"}


# ---- Calls ---------------------------------------------------------------------------------------


def test_packed_functions():
    assert testing.echo("x") == "x"
    assert testing.echo(1, 2) == 1
    assert testing.nop(1, "two", None) is None
    assert testing.schema_packed(1, 2) is None
    assert list(testing.apply(lambda *args: args, 1, "b")) == [1, "b"]
    with pytest.raises(ZeroDivisionError):
        testing.apply(lambda: 1 / 0)


def test_packed_functions_check_their_arguments():
    with pytest.raises(TypeError, match="testing.echo: expected a value"):
        testing.echo()
    with pytest.raises(TypeError, match="testing.apply: expected a function"):
        testing.apply()
    with pytest.raises(TypeError, match="Cannot convert from type `int` to `Function`"):
        testing.apply(3)
    with pytest.raises(TypeError, match="testing.apply: expected a function, got None"):
        testing.apply(None)


def test_add_one():
    assert testing.add_one(3) == 4
    with pytest.raises(TypeError, match=r"Mismatched type .* `testing\.add_one\(0: int\) -> int`"):
        testing.add_one("x")


@pytest.mark.undebugged("the debug context holds a reference to each argument")
def test_object_use_count():
    array = tvm_ffi.convert([1])
    assert testing.object_use_count(array) == 1
    holder = tvm_ffi.convert([array, array])
    assert testing.object_use_count(array) == 3
    del holder
    assert testing.object_use_count(array) == 1


@pytest.mark.breaks_rules
def test_raise_error():
    with pytest.raises(ValueError, match="^hi$"):
        testing.test_raise_error("ValueError", "hi")
    with pytest.raises(RuntimeError, match="^hi$"):
        testing.test_raise_error("NoSuchKind", "hi")


@pytest.fixture
def python_handles_interrupts():
    """Handle SIGINT as usual; a shell lets background programs ignore SIGINT."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("python_handles_interrupts")
def test_signals_interrupt_the_wait():
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        testing.run_check_signal(20)
    timer.join()
    assert time.monotonic() - begin < 10
    assert testing.run_check_signal(0) is None


def test_c_symbols():
    function = tvm_ffi.Function
    for add_one in (
        function.__from_extern_c__(testing.get_add_one_c_symbol()),
        function.__from_mlir_packed_safe_call__(testing.get_mlir_add_one_c_symbol()),
    ):
        assert add_one(41) == 42
        with pytest.raises(TypeError, match="Cannot convert from type `float` to `int`"):
            add_one(1.5)
        with pytest.raises(TypeError, match="Expected 1 but got 2 arguments"):
            add_one(1, 2)


# ---- Schemas -------------------------------------------------------------------------------------


def schema_of(name):
    metadata = tvm_ffi.registry.get_global_func_metadata(f"testing.{name}")
    return json.loads(metadata["type_schema"])


STRING, OBJECT, ANY = {"type": "ffi.String"}, {"type": "ffi.Object"}, {"type": "Any"}


def generic(name, *args):
    return {"type": name, "args": list(args)}


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("int", NUMBER, 3),
        ("float", {"type": "float"}, 1.5),
        ("bool", {"type": "bool"}, True),
        ("device", {"type": "Device"}, tvm_ffi.device("cpu", 0)),
        ("dtype", {"type": "DataType"}, tvm_ffi.dtype("int8")),
        ("string", STRING, "text"),
        ("bytes", {"type": "ffi.Bytes"}, b"text"),
        ("any", ANY, "any"),
        ("object", OBJECT, None),
        ("opt_int", generic("Optional", NUMBER), None),
        ("opt_str", generic("Optional", STRING), "text"),
        ("opt_obj", generic("Optional", OBJECT), None),
        ("variant_int_str", generic("Variant", NUMBER, STRING), "text"),
    ],
)
def test_identities(name, schema, value):
    assert getattr(testing, f"schema_id_{name}")(value) == value
    assert schema_of(f"schema_id_{name}") == {
        "type": "ffi.Function",
        "named_args": {"return": [schema], "params": [schema]},
    }


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("arr", {"type": "ffi.Array"}, [1, "a"]),
        ("arr_int", generic("ffi.Array", NUMBER), [1, 2]),
        ("arr_str", generic("ffi.Array", STRING), ["a"]),
        ("arr_obj", generic("ffi.Array", OBJECT), [None]),
        ("list_int", generic("ffi.List", NUMBER), [1]),
        ("list_str", generic("ffi.List", STRING), ["a"]),
        ("list_obj", generic("ffi.List", OBJECT), [None]),
    ],
)
def test_identities_of_sequences(name, schema, value):
    assert list(getattr(testing, f"schema_id_{name}")(value)) == value
    assert schema_of(f"schema_id_{name}")["named_args"] == {"return": [schema], "params": [schema]}


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("map", {"type": "ffi.Map"}, {1: "a"}),
        ("map_str_int", generic("ffi.Map", STRING, NUMBER), {"a": 1}),
        ("map_str_str", generic("ffi.Map", STRING, STRING), {"a": "b"}),
        ("map_str_obj", generic("ffi.Map", STRING, OBJECT), {"a": None}),
        ("dict_str_int", generic("ffi.Dict", STRING, NUMBER), {"a": 1}),
        ("dict_str_str", generic("ffi.Dict", STRING, STRING), {"a": "b"}),
    ],
)
def test_identities_of_mappings(name, schema, value):
    assert dict(getattr(testing, f"schema_id_{name}")(value)) == value
    assert schema_of(f"schema_id_{name}")["named_args"] == {"return": [schema], "params": [schema]}


def test_identities_of_functions_and_tensors():
    function = tvm_ffi.convert_func(lambda: 5)
    assert testing.schema_id_func(function)() == 5
    typed = {"return": [{"type": "None"}], "params": [NUMBER, {"type": "float"}]}
    typed["params"].append({"type": "ffi.Function"})
    schema = {"type": "ffi.Function", "named_args": typed}
    assert testing.schema_id_func_typed(lambda *_: None)(1, 2.0, function) is None
    assert schema_of("schema_id_func_typed")["named_args"]["params"] == [schema]
    assert testing.schema_id_tensor(tensor(2)).shape == (2,)
    with pytest.raises(RuntimeError, match=r"DLTensor\* cannot be held in Any"):
        testing.schema_id_dltensor(tensor(2))


def test_other_schemas():
    assert testing.schema_no_args() == 1
    assert testing.schema_no_args_no_return() is None
    assert testing.schema_no_return(1) is None
    assert testing.schema_tensor_view_input(tensor(2)) is None
    assert list(testing.schema_variant_mix([1, 2])) == [1, 2]
    with pytest.raises(
        TypeError, match=r"Expected `Union\[int, str, Array\[int\]\]` but got `float`"
    ):
        testing.schema_variant_mix(1.5)
    assert schema_of("schema_no_return")["named_args"] == {
        "return": [{"type": "None"}],
        "params": [NUMBER],
    }
    assert schema_of("schema_packed") == {"type": "ffi.Function"}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (([1, None, 5], {"a": [1]}, "x"), {"a": [1], "x": [1, 5]}),
        (([1, None, 5], {"a": [1]}, "a"), {"a": [1, 5]}),
        (([1], {"a": [1]}, None), {"a": [1]}),
        (([None], {}, "b"), {"b": []}),
    ],
)
def test_nested_generics(args, expected):
    result = testing.schema_arr_map_opt(*args)
    assert {name: list(numbers) for name, numbers in result.items()} == expected


def test_other_metadata_are_stored_with_the_schema():
    metadata = tvm_ffi.registry.get_global_func_metadata("testing.schema_id_int")
    del metadata["type_schema"]
    assert metadata == {"bool_attr": True, "int_attr": 1, "str_attr": "hello"}


def test_a_class_with_fields_of_all_kinds():
    obj = classes._SchemaAllTypes.make_with(3, 1.5, "abc")
    assert type(obj) is classes._SchemaAllTypes
    assert (obj.v_bool, obj.v_int, obj.v_float, obj.v_string) == (True, 3, 1.5, "abc")
    assert (obj.v_bytes, obj.v_opt_int, obj.v_variant) == (b"", None, "v")
    assert (obj.v_device, obj.v_dtype) == (tvm_ffi.device("cpu", 0), "float32")
    assert obj.add_int(4) == 7
    assert list(obj.append_int([1, 2], 9)) == [1, 2, 9]
    assert [obj.maybe_concat(*pair) for pair in [("a", "b"), (None, "b"), (None, None)]] == [
        "ab",
        "b",
        None,
    ]
    merged = obj.merge_map({"a": [1], "b": [2]}, {"b": [3], "c": [4]})
    assert {name: list(numbers) for name, numbers in merged.items()} == {
        "a": [1],
        "b": [2, 3],
        "c": [4],
    }
    field = classes._SchemaAllTypes.__tvm_ffi_type_info__.fields[0]
    assert (field.name, field.doc, field.metadata["str_attr"]) == ("v_bool", "bool field", "hello")
    with pytest.raises(TypeError, match="cannot be constructed directly"):
        classes._SchemaAllTypes()


# ---- Tensors in containers -----------------------------------------------------------------------


def test_containers_with_tensors():
    first, second = tensor(3), tensor(4)
    assert [entry.shape for entry in testing.make_array_with_tensor(first)] == [(3,)]
    mixed = testing.make_array_with_mixed(first, 7)
    assert (mixed[0].shape, mixed[1], mixed[2]) == ((3,), 7, "hello")
    nested = testing.make_nested_array_with_tensor(first)
    assert (nested[0][0].shape, nested[0][1], nested[1].shape) == ((3,), 42, (3,))
    assert len(testing.make_empty_array_with_tensor_input(first)) == 0
    numbers = testing.make_list_with_tensor(first, 4)
    assert (type(numbers), numbers[0].shape, numbers[1]) == (tvm_ffi.List, (3,), 4)
    dictionary = testing.make_dict_with_tensor(first)
    assert (type(dictionary), dictionary["value"]) == (tvm_ffi.Dict, 42)
    assert testing.make_map_with_tensor(first)["name"] == "test"
    nested = testing.make_nested_map_with_tensor(first, second)
    assert [entry.shape for entry in nested["array"]] == [(3,), (4,)]
    assert (nested["map"]["t"].shape, nested["scalar"]) == ((3,), 99)


def test_optional_tensor_views():
    assert testing.optional_tensor_view_has_value(tensor(2)) is True
    assert testing.optional_tensor_view_has_value(None) is False
    with pytest.raises(TypeError, match=r"Expected `Optional\[Tensor\]` but got `int`"):
        testing.optional_tensor_view_has_value(1)


# ---- Classes -------------------------------------------------------------------------------------


def test_pairs():
    pair = testing.TestIntPair(1, 2)
    assert (pair.a, pair.b, pair.sum(), testing.TestIntPairSum(pair)) == (1, 2, 3, 3)
    assert testing.TestIntPair.sum.__doc__ == "Method to compute sum of a and b"
    with pytest.raises(TypeError, match=r"Expected `testing.TestIntPair` but got `None`"):
        testing.TestIntPairSum(None)


def test_base_and_derived():
    assert repr(testing.TestObjectBase()) == (
        'testing.TestObjectBase(v_i64=10, v_f64=10, v_str="hello")'
    )
    derived = testing.TestObjectDerived({1: 2}, [3], v_i64=5)
    assert derived.add_i64(2) == 7
    assert repr(derived) == (
        'testing.TestObjectDerived(v_i64=5, v_f64=10, v_str="hello", v_map={1: 2}, v_array=(3,))'
    )


def test_nullable_and_non_nullable_references():
    holder = testing.TestObjectPtrHolder(testing.TestObjectBase())
    assert holder.optional_value is None
    holder.optional_value = testing.TestObjectDerived({}, [])
    assert type(holder.optional_value) is testing.TestObjectDerived
    holder.optional_value = None
    assert holder.optional_value is None
    with pytest.raises(TypeError, match="Cannot convert from type `None`"):
        holder.value = None
    with pytest.raises(TypeError, match="field 'value'"):
        testing.TestObjectPtrHolder(3)


def test_comparison_by_fields_and_hooks():
    equal = tvm_ffi.get_global_func("ffi.RecursiveEq")
    less = tvm_ffi.get_global_func("ffi.RecursiveLt")
    hash_of = tvm_ffi.get_global_func("ffi.RecursiveHash")
    compare, hashed = testing.TestCompare, testing.TestHash
    assert equal(compare(1, "a", 2), compare(1, "a", 3))
    assert not equal(compare(1, "a", 2), compare(1, "b", 2))
    assert not equal(hashed(1, "a", 2), hashed(1, "a", 3))
    assert hash_of(hashed(1, "a", 2)) == hash_of(hashed(1, "a", 3))
    custom = testing.TestCustomCompare
    assert equal(custom(1, "a"), custom(1, "b"))
    assert less(custom(1, "b"), custom(2, "a"))
    assert not less(custom(1, "a"), custom(1, "b"))
    assert hash_of(custom(1, "a")) == hash_of(custom(1, "b")) != hash_of(custom(2, "a"))
    assert hash_of(testing.TestCustomHash(1, "a")) == hash_of(testing.TestCustomHash(1, "b"))
    without_hash = testing.TestEqWithoutHash
    assert equal(without_hash(1, "a"), without_hash(1, "b"))
    with pytest.raises(ValueError, match=r"'testing.TestEqWithoutHash' defines __ffi_eq__"):
        hash_of(without_hash(1, "a"))


def test_enums():
    alpha = testing.enum_variant_get("Alpha")
    assert repr(alpha) == "testing.TestEnumVariant.Alpha"
    with pytest.raises(ValueError, match="has no instance with index Gamma"):
        testing.enum_variant_get("Gamma")
    states = {
        key: repr(_lookup_type_attr(_object_type_key_to_index(f"testing.{key}"), "__ffi_enum__"))
        for key in ("TestEnumVariant", "TestCxxIntEnum", "TestCxxStrEnum")
    }
    assert "20: testing.TestCxxIntEnum.high" in states["TestCxxIntEnum"]
    assert "1: testing.TestCxxStrEnum.*" in states["TestCxxStrEnum"]
    assert '{"code": {testing.TestEnumVariant.Alpha: 10, ' in states["TestEnumVariant"]


def test_objects_are_made_by_type_key():
    made = testing.create_object("testing.TestIntPair", a=3, b=5)
    assert type(made) is testing.TestIntPair
    assert made.sum() == 8
    assert testing.create_object("testing.TestObjectBase", v_i64=3).v_str == "hello"
    with pytest.raises(TypeError, match="Required field `b` not set in type"):
        testing.create_object("testing.TestIntPair", a=3)
    with pytest.raises(TypeError, match="does not have field `zz`"):
        testing.create_object("testing.TestObjectBase", zz=3)


def test_objects_without_a_class():
    assert repr(testing.make_unregistered_object()) == (
        "testing.TestUnregisteredObject(v1=41, v2=42)"
    )


def test_graphs_for_structural_visits():
    regions = "testing.TestVisitRegions(simple=1, pattern=2, ordinary=3)"
    assert repr(testing.make_visit_region_graph(False)) == regions
    hooked = f"testing.TestVisitHook(child={regions})"
    assert repr(testing.make_visit_region_graph(True)) == hooked


@pytest.mark.parametrize(
    ("key", "offsets", "size"),
    [
        ("TestCxxClassBase", [24, 32], 40),
        ("TestCxxClassDerived", [40, 48], 56),
        ("TestCxxClassDerivedDerived", [56, 72], 80),
        ("TestCxxClassHiddenField", [24, 40], 48),
        ("TestCxxClassPolymorphic", [24], 40),
    ],
)
def test_layouts(key, offsets, size):
    from tvm_ffi._types.type_info import type_info_of

    info = type_info_of(_object_type_key_to_index(f"testing.{key}"))
    assert ([field.offset for field in info.fields], info.total_size) == (offsets, size)


# ---- The lock ------------------------------------------------------------------------------------

HOLD = """
import sys, tvm_ffi.testing as t
def hold():
    print("held", flush=True)
    sys.stdin.read()
t.run_with_gpu_lock(hold)
"""


def test_the_gpu_lock_excludes_other_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("TVM_FFI_TEST_LOCK_DIR", str(tmp_path / "locks"))
    assert testing.run_with_gpu_lock(lambda a, b=0: a + b, 1, b=2) == 3
    assert [path.name for path in (tmp_path / "locks").iterdir()] == ["gpu.lock"]
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        entered = threading.Event()
        waiting = threading.Thread(target=testing.run_with_gpu_lock, args=(entered.set,))
        waiting.start()
        assert not entered.wait(0.3)
        other.stdin.close()
        waiting.join(30)
        assert entered.is_set()


def test_the_gpu_lock_is_released_after_an_exception(tmp_path, monkeypatch):
    monkeypatch.setenv("TVM_FFI_TEST_LOCK_DIR", str(tmp_path))
    with pytest.raises(TypeError, match="not callable"):
        testing.run_with_gpu_lock(3)
    assert testing.run_with_gpu_lock(lambda: "entered") == "entered"


def test_the_symbols_of_the_testing_library_are_local():
    """The library is loaded with RTLD_LOCAL, so the process cannot find its symbols by name."""
    assert not hasattr(ctypes.CDLL(None), "AddOneSafeCall")

# SPDX-License-Identifier: Apache-2.0
"""Use the incumbent's package ``tvm_ffi.testing`` and its library ``libtvm_ffi_testing``.

Both come from the incumbent's wheel, unpacked in the environment's folder ``beside``.  The program
makes an object of each class and calls each function ``testing.*``, also with values that the
function refuses.
"""

import copy
import ctypes
import importlib.util
import pickle
import sys
from pathlib import Path

import numpy as np

import tvm_ffi

PACKAGE = Path(sys.prefix) / "beside" / "tvm_ffi"
# The incumbent's own extension module already depends on this library.
if tvm_ffi.get_global_func("testing.echo", allow_missing=True) is None:
    ctypes.CDLL(str(PACKAGE / "lib" / "libtvm_ffi_testing.so"))
init = PACKAGE / "testing" / "__init__.py"
spec = importlib.util.spec_from_file_location("tvm_ffi.testing", init)
testing = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(testing)
assert testing.testing.__file__ == str(PACKAGE / "testing" / "testing.py")


def raises(kind, call, *args, **kwargs):
    try:
        result = call(*args, **kwargs)
    except Exception as error:
        assert type(error) is kind, (call, args, error)
        return str(error)
    else:
        raise AssertionError(f"{call}{args} returned {result}")


def other(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "!"
    return value + 1 if isinstance(value, (int, float)) else value


def plain(value):
    """Return Python values with the content of an argument or result."""
    if isinstance(value, tvm_ffi.Array):
        return tuple(map(plain, value))
    if isinstance(value, tvm_ffi.List):
        return list(map(plain, value))
    if isinstance(value, (tvm_ffi.Map, tvm_ffi.Dict)):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, tvm_ffi.Tensor):
        return np.from_dlpack(value).tolist()
    return value(1, 2.0, value) if isinstance(value, tvm_ffi.Function) else value


def text(value):
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:g}" if isinstance(value, float) else repr(plain(value))


base = testing.TestObjectBase(v_i64=3)
base_defaults = {"v_f64": 10.0, "v_str": "hello"}
derived = {"v_i64": 1, "v_i32": 2, "v_f64": 3.0}
# Class, arguments, the other fields or other values of fields, frozen fields.
CLASSES = [
    ("TestCompare", {"key": 1, "name": "n", "ignored_field": 2}, {}, "key name ignored_field"),
    ("TestHash", {"key": 1, "name": "n", "hash_ignored": 2}, {}, "key name hash_ignored"),
    ("TestCustomCompare", {"key": 1, "label": "l"}, {}, "key label"),
    ("TestCustomHash", {"key": 1, "label": "l"}, {}, "key label"),
    ("TestEqWithoutHash", {"key": 1, "label": "l"}, {}, "key label"),
    ("TestIntPair", {"a": 3, "b": 4}, {}, "a b"),
    ("TestObjectBase", {}, {"v_i64": 10, **base_defaults}, "v_f64"),
    ("TestObjectDerived", {"v_map": {1: 2}, "v_array": (3, 4), "v_i64": 5}, base_defaults, "v_f64"),
    ("TestObjectPtrHolder", {"value": base}, {"optional_value": None}, ""),
    ("_TestCxxAutoInit", {"a": 1, "c": 3}, {"b": 42, "d": 99}, ""),
    ("_TestCxxAutoInitAllInitOff", {}, {"x": 7, "y": 9, "z": 1234}, ""),
    ("_TestCxxAutoInitKwOnlyDefaults", {"p_required": 1, "k_required": 2},
     {"p_default": 11, "k_default": 22, "hidden": 33}, ""),
    ("_TestCxxAutoInitParent", {"parent_required": 1}, {"parent_default": 5}, ""),
    ("_TestCxxAutoInitChild", {"parent_required": 1, "child_required": 2, "child_kw_only": 3},
     {"parent_default": 5}, ""),
    ("_TestCxxAutoInitSimple", {"x": 1, "y": 2}, {}, ""),
    ("_TestCxxInitSubset", {"required_field": 1}, {"optional_field": -1, "note": "default"}, ""),
    ("_TestCxxKwOnly", {"x": 1, "y": 2, "z": 3}, {"w": 100}, ""),
    ("_TestCxxClassBase", {"v_i64": 1, "v_i32": 2}, {"v_i64": 2, "v_i32": 4}, ""),
    ("_TestCxxClassDerived", derived, {"v_f32": 8.0}, ""),
    ("_TestCxxClassDerivedDerived", {**derived, "v_bool": True},
     {"v_f32": 8.0, "v_str": "default"}, ""),
]  # fmt: skip
for name, given, more, frozen in CLASSES:
    kind = getattr(testing, name)
    # The constructors of classes with only frozen fields have no names for their parameters.
    unnamed = set(given) == set(frozen.split())
    arguments, options = (given.values(), {}) if unnamed else ((), given)
    made, expected = kind(*arguments, **options), {**given, **more}
    fields = [field.name for field in tvm_ffi.dataclasses.fields(made)]
    assert set(fields) == set(expected), (name, fields)
    shown = [
        n for n in fields if not (name.startswith("_TestCxxClass") and n in ("v_i64", "v_i32"))
    ]
    listed = ", ".join(f"{n}={text(expected[n])}" for n in shown)
    representation = f"testing.{name.lstrip('_')}" + (f"({listed})" if shown else "")
    by_content = name.startswith("_TestCxxClassDerived")
    assert (made == kind(*arguments, **options)) is by_content, name
    # Writes to one object leave its copies unchanged.
    for each in (made, copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert (type(each), repr(each)) == (kind, representation)
        for n in fields:
            assert text(getattr(each, n)) == text(expected[n]), (name, n, each)
            if n in frozen.split():
                raises(AttributeError, setattr, each, n, expected[n])
            else:
                setattr(each, n, other(expected[n]))
                assert text(getattr(each, n)) == text(other(expected[n])), (name, n, each)
    raises(TypeError, kind, *arguments, **options, unknown=1)

lower, higher = testing._TestCxxClassDerived(1, 2, 3.0), testing._TestCxxClassDerived(1, 2, 4.0)
assert lower < higher
assert not lower >= higher
assert lower != higher
assert hash(lower) == hash(copy.copy(lower))
assert lower <= copy.copy(lower)
assert testing.create_object("testing.TestIntPair", a=1, b=2).sum() == 3
raises(TypeError, testing.create_object, "testing.TestIntPair", a=1)
raises(TypeError, testing.TestIntPair, "1", 2)
raises(TypeError, setattr, base, "v_i64", "1")
assert base.add_i64(4) == 7
assert testing.TestObjectDerived({}, []).add_i64(4) == 14
held = testing.TestObjectPtrHolder(base, base)
assert held.value.same_as(base)
assert held.optional_value.same_as(base)
raises(TypeError, testing.TestObjectPtrHolder, testing.TestIntPair(1, 2))

single = testing.TestNonCopyable(5)
assert single.value == 5
assert repr(single) == "testing.TestNonCopyable(value=5)"
raises(TypeError, copy.copy, single)
raises(RuntimeError, copy.deepcopy, single)
raises(TypeError, pickle.dumps, single)
unconstructed = testing.create_object("testing.TestCxxNoAutoInit", x=1, y=2)
assert type(unconstructed) is testing._TestCxxNoAutoInit
assert unconstructed.y == 2
raises(TypeError, testing._TestCxxNoAutoInit, 1, 2)
# The library cannot create objects of these two; the incumbent fails in calls of the second.
raises(RuntimeError, testing.create_object, "testing.TestFrozenCxx")
info = testing._SchemaAllTypes.__tvm_ffi_type_info__
assert len(info.fields) == 15
methods = ["add_int", "append_int", "maybe_concat", "merge_map", "make_with"]
assert [method.name for method in info.methods] == methods

compare, less, digest = (
    tvm_ffi.get_global_func(f"ffi.Recursive{name}") for name in ("Eq", "Lt", "Hash")
)
# The three objects of each class are made such that the first two are equal.
a, b, c = (testing.TestCompare(*v) for v in ((1, "n", 2), (1, "n", 3), (2, "n", 2)))
assert compare(a, b)
assert not less(a, b)
assert not compare(a, c)
assert less(a, c)
a, b, c = (testing.TestCustomCompare(*v) for v in ((1, "l"), (1, "m"), (2, "l")))
assert compare(a, b)
assert not less(a, b)
assert not compare(a, c)
assert less(a, c)
a, b, c = (testing.TestHash(*v) for v in ((1, "n", 2), (1, "n", 3), (2, "n", 2)))
assert digest(a) == digest(b) != digest(c)
a, b, c = (testing.TestCustomHash(*v) for v in ((1, "l"), (1, "m"), (2, "l")))
assert digest(a) == digest(b) != digest(c)
assert compare(testing.TestEqWithoutHash(1, "l"), testing.TestEqWithoutHash(1, "m"))
raises(ValueError, digest, testing.TestEqWithoutHash(1, "l"))

for kind, entries, values in [
    (testing._TestCxxIntEnum, {"low": "low", "high": "high"}, [10, 20]),
    (testing._TestCxxStrEnum, {"add": "+", "mul": "*"}, ["+", "*"]),
]:
    variants = [getattr(kind, attribute) for attribute in entries]
    assert list(kind) == list(kind.all_entries()) == variants
    assert len(kind) == 2
    for variant, name, value in zip(variants, entries.values(), values):
        assert (variant.name, variant.value, str(variant)) == (name, value, str(value)), variant
        assert [kind(value).same_as(variant), kind.get(name).same_as(variant)] == [True, True]
        assert (variant, repr(variant)) == (value, f"{kind.__name__}.{name}")
        assert copy.deepcopy(variant) == pickle.loads(pickle.dumps(variant)) == variant, variant
    assert variants[0] != variants[1]
    raises(ValueError, kind, "none")
holder = testing._TestCxxEnumHolder(testing._TestCxxIntEnum.low, "*")
holder.priority = testing._TestCxxIntEnum.high
assert repr(holder) == (
    "testing.TestCxxEnumHolder(priority=testing.TestCxxIntEnum.high, "
    "opcode=testing.TestCxxStrEnum.*)"
)
raises(TypeError, testing._TestCxxEnumHolder, 1, "*")


class Variant(tvm_ffi.dataclasses.Enum, type_key="testing.TestEnumVariant"):
    alpha = tvm_ffi.dataclasses.auto()


pair, add = testing.TestIntPair(3, 4), tvm_ffi.convert(lambda first, second, _: first + second)
numbers = tvm_ffi.from_dlpack(np.arange(3, dtype="int32"))
long = "a string that is too long for the small representation"
# Values that `schema_id_NAME` returns unchanged, and values that it refuses with TypeError.
RETURNED = {
    "any": [1, None, 2.5, (1, "s")], "arr": [(1, "s")], "arr_int": [(1, 2), ()],
    "arr_obj": [(pair,)], "arr_str": [("s", long)], "bool": [True, False], "bytes": [b"s", b"\0"],
    "device": [tvm_ffi.device("cuda", 1)], "dict_str_int": [{"a": 1}], "dict_str_str": [{"a": "s"}],
    "dtype": [tvm_ffi.dtype("float16x4")], "float": [2.5], "func": [add], "func_typed": [add],
    "int": [3, -(2**63)], "list_int": [[1, 2]], "list_obj": [[pair]], "list_str": [["s"]],
    "map": [{"a": 1, 2: "s"}], "map_str_int": [{"a": 1}], "map_str_obj": [{"a": pair}],
    "map_str_str": [{"a": long}], "object": [pair], "opt_int": [None, 1], "opt_obj": [None, pair],
    "opt_str": [None, "s"], "string": ["", "s", long], "tensor": [numbers],
    "variant_int_str": [1, "s"],
}  # fmt: skip
REFUSED = {
    "arr": [1], "arr_int": [(1, "s")], "arr_obj": [(1,)], "arr_str": [(1,)], "bool": ["s"],
    "bytes": ["s"], "device": ["tree"], "dict_str_int": [{"a": "s"}], "float": ["s"], "func": [3],
    "int": [2.5, "s", 2**63], "list_int": [["s"]], "map": [3], "map_str_int": [{1: 1}],
    "object": [1, "s"], "string": [1], "tensor": [1], "variant_int_str": [(1,)],
}  # fmt: skip
CALLS = [
    ("TestIntPairSum", (pair,), 7), ("add_one", (41,), 42), ("apply", (add, 1, 2, 3), 3),
    ("echo", (long,), long), ("echo", (pair,), pair),
    ("enum_variant_get", ("alpha",), Variant.alpha),
    ("make_array_with_mixed", (numbers, 5), ([0, 1, 2], 5, "hello")),
    ("make_array_with_tensor", (numbers,), ([0, 1, 2],)),
    ("make_dict_with_tensor", (numbers,), {"tensor": [0, 1, 2], "value": 42}),
    ("make_empty_array_with_tensor_input", (numbers,), ()),
    ("make_list_with_tensor", (numbers, 3), [[0, 1, 2], 3]),
    ("make_map_with_tensor", (numbers,), {"tensor": [0, 1, 2], "value": 42, "name": "test"}),
    ("make_nested_array_with_tensor", (numbers,), (([0, 1, 2], 42), [0, 1, 2])),
    ("make_nested_map_with_tensor", (numbers, numbers),
     {"array": ([0, 1, 2], [0, 1, 2]), "map": {"t": [0, 1, 2]}, "scalar": 99}),
    ("nop", (1, "s"), None), ("object_use_count", (pair,), 1), ("run_check_signal", (0,), None),
    ("optional_tensor_view_has_value", (None,), False),
    ("optional_tensor_view_has_value", (np.arange(3),), True),
    ("schema_arr_map_opt", ((1, None), {"a": (1, 2)}, "s"), {"a": (1, 2), "s": (1,)}),
    ("schema_no_args", (), 1), ("schema_no_args_no_return", (), None),
    ("schema_no_return", (1,), None), ("schema_packed", (1, "s"), None),
    ("schema_tensor_view_input", (numbers,), None), ("schema_variant_mix", (1,), 1),
    ("schema_variant_mix", ("s",), "s"), ("schema_variant_mix", ((1, 2),), (1, 2)),
    *((f"schema_id_{name}", (value,), value) for name in RETURNED for value in RETURNED[name]),
]  # fmt: skip
for name, arguments, expected in CALLS:
    result = plain(tvm_ffi.get_global_func(f"testing.{name}")(*arguments))
    assert repr(result) == repr(plain(expected)), (name, arguments, result)
for name, values in REFUSED.items():
    for value in values:
        raises(TypeError, tvm_ffi.get_global_func(f"testing.schema_id_{name}"), value)

graph = tvm_ffi.get_global_func("testing.make_visit_region_graph")
regions = "testing.TestVisitRegions(simple=1, pattern=2, ordinary=3)"
assert repr(graph(False)) == regions
assert repr(graph(True)) == f"testing.TestVisitHook(child={regions})"
unregistered = "testing.TestUnregisteredObject(v1=41, v2=42)"
assert repr(testing.make_unregistered_object()) == unregistered
raises(RuntimeError, testing.schema_id_dltensor, numbers)
raises(ValueError, testing.enum_variant_get, "gamma")
raises(TypeError, testing.schema_no_args, 1)
for kind, name in [(ValueError, "ValueError"), (RuntimeError, "UnknownKind")]:
    assert raises(kind, testing.test_raise_error, name, "a message") == "a message"
for symbol, wrap in [
    (testing.get_add_one_c_symbol(), tvm_ffi.Function.__from_extern_c__),
    (testing.get_mlir_add_one_c_symbol(), tvm_ffi.Function.__from_mlir_packed_safe_call__),
]:
    assert wrap(symbol)(1) == 2, wrap
assert testing.run_with_gpu_lock(lambda first, second: first + second, 1, second=5) == 6

called = {name for name, _, _ in CALLS} | {
    "get_add_one_c_symbol", "get_mlir_add_one_c_symbol", "make_unregistered_object",
    "make_visit_region_graph", "schema_id_dltensor", "test_raise_error",
}  # fmt: skip
registered = tvm_ffi.registry.list_global_func_names()
assert called == {name[8:] for name in registered if name.startswith("testing.")}, called
print("done")

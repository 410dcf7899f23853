# SPDX-License-Identifier: Apache-2.0
"""Import the incumbent's Python package `tvm_ffi.testing` on the installed runtime, and use it.

The incumbent's wheel is unpacked in the folder ``beside`` of the environment.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

import tvm_ffi

WHEEL = Path(sys.prefix) / "beside" / "tvm_ffi"


def import_testing():
    """Return the incumbent's module `tvm_ffi.testing`; load its library if it is not loaded."""
    if "testing.add_one" not in tvm_ffi.registry.list_global_func_names():
        tvm_ffi.load_module(str(WHEEL / "lib" / "libtvm_ffi_testing.so"))
    folder = WHEEL / "testing"
    place = folder / "__init__.py"
    found = importlib.util.spec_from_file_location(
        "tvm_ffi.testing", place, submodule_search_locations=[str(folder)]
    )
    module = sys.modules[found.name] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def raised(expected, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except expected as error:
        return str(error)
    raise AssertionError(f"{function} raised no {expected}")


testing = import_testing()
assert Path(testing.__file__).is_relative_to(WHEEL)

# Functions
assert testing.add_one(41) == 42
assert testing.echo("text") == "text"
assert testing.apply(lambda a, b: a * b, 6, 7) == 42
assert "oops" in raised(ValueError, testing.test_raise_error, "ValueError", "oops")
assert testing.schema_no_args() == 1
assert testing.schema_no_args_no_return() is None
assert list(testing.schema_id_arr_int([1, 2])) == [1, 2]
assert dict(testing.schema_id_map_str_int({"a": 1})) == {"a": 1}
assert dict(testing.schema_id_dict_str_int({"a": 1})) == {"a": 1}
assert testing.schema_id_opt_str(None) is None
assert testing.schema_id_variant_int_str("a") == "a"
assert str(testing.schema_id_dtype("float32")) == "float32"
assert str(testing.schema_id_device(tvm_ffi.device("cpu", 0))) == "cpu:0"
assert testing.schema_id_bytes(b"a\0b") == b"a\0b"
assert testing.schema_id_func(lambda: 5)() == 5
raised(TypeError, testing.schema_id_arr_int, ["a"])
tensor = tvm_ffi.from_dlpack(np.arange(3, dtype="float32"))
assert testing.optional_tensor_view_has_value(tensor)
assert not testing.optional_tensor_view_has_value(None)
assert np.from_dlpack(testing.make_array_with_tensor(tensor)[0])[2] == 2
assert np.from_dlpack(testing.make_dict_with_tensor(tensor)["tensor"])[2] == 2

# Classes
pair = testing.TestIntPair(1, 2)
assert (pair.a, pair.b, pair.sum()) == (1, 2, 3)
assert testing.TestIntPairSum(pair) == 3
made = testing.create_object("testing.TestIntPair", a=3, b=4)
assert type(made) is testing.TestIntPair
assert made.sum() == 7
base = testing.TestObjectBase(v_i64=5)
assert (base.v_i64, base.add_i64(3), base.v_str) == (5, 8, "hello")
derived = testing.TestObjectDerived({"k": 1}, [1, 2], v_i64=9)
assert (derived.v_map["k"], list(derived.v_array), derived.v_i64) == (1, [1, 2], 9)
assert testing.TestObjectPtrHolder(base).value.same_as(base)
assert testing.TestObjectPtrHolder(base).optional_value is None
assert testing.TestNonCopyable(4).value == 4
assert testing._TestCxxClassBase(1, 2).v_i64 == 2
many = testing._TestCxxClassDerived(1, 2, 3.5, 4.5)
assert (many.v_i64, many.v_i32, many.v_f64, many.v_f32) == (1, 2, 3.5, 4.5)
assert many == testing._TestCxxClassDerived(1, 2, 3.5, 4.5)
assert hash(many) == hash(testing._TestCxxClassDerived(1, 2, 3.5, 4.5))
assert many < testing._TestCxxClassDerived(1, 2, 3.5, 5.5)
assert testing._TestCxxInitSubset(6).required_field == 6
assert testing._TestCxxKwOnly(x=1, y=2, z=3).z == 3
raised(TypeError, testing._TestCxxKwOnly, 1, 2, 3)
assert testing._TestCxxAutoInit(1, c=3).c == 3
child = testing._TestCxxAutoInitChild(1, 2, child_kw_only=4)
assert (child.parent_required, child.child_required, child.child_kw_only) == (1, 2, 4)
raised(TypeError, testing._TestCxxNoAutoInit)

# Enumerations without members in C++
Priority, Operator = testing._TestCxxIntEnum, testing._TestCxxStrEnum
assert (Priority.low.value, Priority(20).name, len(Priority)) == (10, "high", 2)
assert (Operator.add.value, Operator("*")) == ("+", Operator.mul)
for holder in (
    testing._TestCxxEnumHolder(Priority.high, Operator.mul),
    testing._TestCxxEnumHolder(20, "*"),
    testing._TestCxxEnumHolder(opcode="*", priority=20),
):
    assert (holder.priority, holder.opcode) == (Priority.high, Operator.mul), holder
    holder.priority, holder.opcode = 10, "+"
    assert (holder.priority, holder.opcode) == (Priority.low, Operator.add), holder
    raised(TypeError, setattr, holder, "priority", 11)
    assert holder.priority == Priority.low
assert "TestCxxIntEnum" in raised(TypeError, testing._TestCxxEnumHolder, 11, "+")
assert testing.enum_variant_get("Alpha")._str_index == "Alpha"

# A class that does not derive from Object; with the incumbent its objects destroy memory
if issubclass(testing._SchemaAllTypes, tvm_ffi.Object):
    every = testing._SchemaAllTypes.make_with(7, 2.5, "text")
    assert isinstance(every, testing._SchemaAllTypes)
    assert (every.v_int, every.v_float, every.v_string) == (7, 2.5, "text")
    assert every.add_int(3) == 10
    every.v_map_str_arr_int = {"a": [1]}
    assert list(every.v_map_str_arr_int["a"]) == [1]

print("done")

# SPDX-License-Identifier: Apache-2.0
"""Table of statement rows: operations on values and objects, with their set-up and check.

The sources refer to the implementation as `tvm_ffi` and to the kernel library as `kernels`; in the
floor's set-up, the extension module `floor` replaces both.
"""

from __future__ import annotations

from dataclasses import dataclass

_ARRAY = "array = tvm_ffi.Array(list(range(1000)))"
_FLOOR_ARRAY = "array = floor.Array(list(range(1000)))"
_MAP = "map_ = tvm_ffi.Map({f'key {i}': i for i in range(1000)})"
_FLOOR_MAP = "map_ = floor.Map({f'key {i}': i for i in range(1000)})"
_NUMPY = "import numpy; matrix = numpy.arange(32, dtype=numpy.float32).reshape(4, 8)"
_DISPATCH = (
    "d = tvm_ffi.dispatch('f(x: int, y: int, z: int)'); "
    "[d.add(kernels['noop'], name=str(i), when=f'x % 2 == 0 and y > {i}') for i in range(11)]; "
    "d.add(kernels['noop'], name='11')"
)
_PREPARED_TORCH = """\
import torch
x, y, z, other = (torch.zeros(4, 8) for _ in range(4))
call = kernels["checked_arrays"].prepare(x, y, z)"""
_PICKLE = """\
import numpy; from pickle import dumps, loads
content = numpy.arange(1 << 18, dtype=numpy.float32)"""
_RECORD = """\
register_record = kernels["register_record"]()
@tvm_ffi.register_object("benchmark.Record")
class Record(tvm_ffi.Object):
    pass
record = Record(7)"""
_POINT = """\
from tvm_ffi.dataclasses import py_class
@py_class("benchmark.Point", eq=True, unsafe_hash=True)
class Point(tvm_ffi.Object):
    x: int
point = Point(7); other = Point(7)"""
_FLOOR_RECORD = "floor.register_record(); Record = floor.Record; record = Record(7)"
# The floor for a type defined in Python is the hand-written C type.
_FLOOR_POINTS = """\
floor.register_record(); Point = floor.Record
point = Point(7); other = Point(7)"""


@dataclass(frozen=True)
class StatementRow:
    """One line of the statement benchmark."""

    name: str
    """Stable key."""
    label: str
    """Label in reports and charts."""
    statement: str
    """The timed statement."""
    setup: str
    """Source text that defines the statement's names."""
    check: str
    """An expression that is true if the statement has the expected effect."""
    floor_setup: str | None = None
    """The set-up for the floor; None if the row has no floor."""
    among_arrays: bool = False
    """True if the measuring process has NumPy and torch loaded."""


STATEMENT_ROWS: tuple[StatementRow, ...] = (
    StatementRow("array_index", "array[i]", "array[7]", _ARRAY, "array[7] == 7", _FLOOR_ARRAY),
    StatementRow(
        "array_len", "len(array)", "len(array)", _ARRAY, "len(array) == 1000", _FLOOR_ARRAY
    ),
    StatementRow(
        "array_iterate",
        "Array of 1000 ints, iterate",
        "for _ in array: pass",
        _ARRAY,
        "list(array) == list(range(1000))",
        _FLOOR_ARRAY,
    ),
    StatementRow(
        "array_new",
        "Array([1, 2, 3])",
        "Array(items)",
        "Array = tvm_ffi.Array; items = [1, 2, 3]",
        "list(Array(items)) == items",
        "Array = floor.Array; items = [1, 2, 3]",
    ),
    StatementRow("map_index", "map[str]", "map_['key 7']", _MAP, "map_['key 7'] == 7", _FLOOR_MAP),
    StatementRow(
        "map_iterate",
        "Map of 1000, iterate",
        "for _ in map_: pass",
        _MAP,
        "list(map_) == [f'key {i}' for i in range(1000)]",
    ),
    StatementRow(
        "map_new",
        "Map of two",
        "Map(items)",
        "Map = tvm_ffi.Map; items = {'a': 1, 'b': 2}",
        "Map(items)['b'] == 2",
        "Map = floor.Map; items = {'a': 1, 'b': 2}",
    ),
    StatementRow(
        "shape_new",
        "Shape((1, 2, 3))",
        "Shape(extents)",
        "Shape = tvm_ffi.Shape; extents = (1, 2, 3)",
        "Shape(extents) == (1, 2, 3)",
    ),
    StatementRow(
        "noop_list",
        "no-op([1, 2, 3])",
        "noop(items)",
        "noop = kernels['noop']; items = [1, 2, 3]",
        "noop(items) is None",
        "noop = floor.noop_list; items = [1, 2, 3]",
    ),
    StatementRow(
        "noop_dict",
        "no-op(dict of two)",
        "noop(items)",
        "noop = kernels['noop']; items = {'a': 1, 'b': 2}",
        "noop(items) is None",
        "noop = floor.noop_dict; items = {'a': 1, 'b': 2}",
    ),
    StatementRow(
        "dispatch_ints",
        "dispatch(int, int, int), 12 candidates",
        "d(1, 2, 3)",
        _DISPATCH,
        "d(1, 2, 3) is None and d.explain(1, 2, 3).chosen == '11'",
    ),
    StatementRow(
        "prepared_noop",
        "prepared no-op()",
        "call()",
        "call = kernels['noop'].prepare()",
        "call() is None",
        "call = floor.noop",
    ),
    StatementRow(
        "prepared_batch",
        "100 prepared no-ops, one run",
        "sequence()",
        "sequence = tvm_ffi.Sequence([kernels['noop'].prepare()] * 100)",
        "sequence() == [None] * 100",
    ),
    StatementRow(
        "prepared_torch",
        "prepared checked(3 x torch tensor)",
        "call()",
        _PREPARED_TORCH,
        "call() is None",
        among_arrays=True,
    ),
    StatementRow(
        "prepared_torch_changed",
        "prepared checked, one tensor changed",
        "call(x=other)",
        _PREPARED_TORCH,
        "call(x=other) is None",
        among_arrays=True,
    ),
    StatementRow(
        "prepared_torch_set",
        "one tensor of a prepared call set",
        "call.x = other",
        _PREPARED_TORCH,
        "call.x is x",
        among_arrays=True,
    ),
    StatementRow(
        "from_numpy",
        "from_dlpack(NumPy array)",
        "from_dlpack(matrix)",
        f"{_NUMPY}; from_dlpack = tvm_ffi.from_dlpack",
        "type(from_dlpack(matrix)).__name__ == 'Tensor'",
        f"{_NUMPY}; from_dlpack = floor.Tensor",
        among_arrays=True,
    ),
    StatementRow(
        "to_numpy",
        "numpy.from_dlpack(Tensor)",
        "from_dlpack(tensor)",
        f"{_NUMPY}; tensor = tvm_ffi.from_dlpack(matrix); from_dlpack = numpy.from_dlpack",
        "(from_dlpack(tensor) == matrix).all()",
        f"{_NUMPY}; tensor = floor.Tensor(matrix); from_dlpack = numpy.from_dlpack",
        among_arrays=True,
    ),
    StatementRow("field_read", "object.field", "record.x", _RECORD, "record.x == 7", _FLOOR_RECORD),
    StatementRow(
        "method_call",
        "object.method()",
        "record.get()",
        _RECORD,
        "record.get() == 7",
        _FLOOR_RECORD,
    ),
    StatementRow(
        "object_new", "construct an object", "Record(7)", _RECORD, "Record(7).x == 7", _FLOOR_RECORD
    ),
    StatementRow(
        "py_class_new",
        "construct, type defined in Python",
        "Point(7)",
        _POINT,
        "Point(7).x == 7",
        _FLOOR_POINTS,
    ),
    StatementRow(
        "py_class_field",
        "field, type defined in Python",
        "point.x",
        _POINT,
        "point.x == 7",
        _FLOOR_POINTS,
    ),
    StatementRow(
        "py_class_eq",
        "==, type defined in Python",
        "point == other",
        _POINT,
        "point == other and point != Point(8)",
        _FLOOR_POINTS,
    ),
    StatementRow(
        "py_class_hash",
        "hash, type defined in Python",
        "hash(point)",
        _POINT,
        "hash(point) == hash(other) != hash(Point(8))",
        _FLOOR_POINTS,
    ),
    StatementRow(
        "pickle_tensor",
        "pickle a 1 MB Tensor, and back",
        "loads(dumps(tensor, 5))",
        f"{_PICKLE}; tensor = tvm_ffi.from_dlpack(content)",
        "(numpy.from_dlpack(loads(dumps(tensor, 5))) == content).all()",
        # The floor pickles the NumPy array, which has the same bytes.
        f"{_PICKLE}; tensor = content",
        among_arrays=True,
    ),
)

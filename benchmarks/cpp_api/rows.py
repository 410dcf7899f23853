# SPDX-License-Identifier: Apache-2.0
"""Table of C++ API rows, with their labels.

The names are the same in ``api.cc`` and ``floor.cc``, in the JSON output and in ``targets.py``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CppRow:
    """One line of the C++ benchmark."""

    name: str
    """Stable key."""
    label: str
    """Label in reports and charts."""


# ORDER cpp-rows
CPP_ROWS: tuple[CppRow, ...] = (
    CppRow("cpp_call_0", "C++ call()"),
    CppRow("cpp_call_3", "C++ call(int, float, bool)"),
    CppRow("cpp_call_8", "C++ call(8 scalars)"),
    CppRow("cpp_call_tensors", "C++ call(3 x TensorView)"),
    CppRow("cpp_call_string", "C++ call(String)"),
    CppRow("cpp_call_array", "C++ call(Array of 100 int)"),
    CppRow("cpp_call_symbol", "C++ call of a symbol (3 x int)"),
    CppRow("cpp_throw_cpp", "C++ throw, through C++ entry"),
    CppRow("cpp_throw_c", "C++ throw, through C entry"),
    CppRow("cpp_array_iterate", "Array<int>, iterate"),
    CppRow("cpp_array_index", "Array<int>, index"),
    CppRow("cpp_array_iterate_refs", "Array<Shape>, iterate"),
    CppRow("cpp_list_iterate", "List<int>, iterate"),
    CppRow("cpp_map_iterate_small", "Map of 3, iterate"),
    CppRow("cpp_map_iterate_dense", "Map of 1000, iterate"),
    CppRow("cpp_map_hit_small", "Map of 3, find int"),
    CppRow("cpp_map_hit_int", "Map of 1000, find int"),
    CppRow("cpp_map_miss_int", "Map of 1000, miss int"),
    CppRow("cpp_map_hit_str", "Map of 1000, find String"),
    CppRow("cpp_map_miss_str", "Map of 1000, miss String"),
    CppRow("cpp_array_append", "Array, append 1000"),
    CppRow("cpp_list_append", "List, append 1000"),
    CppRow("cpp_map_set_4", "Map, insert 4"),
    CppRow("cpp_map_set_100", "Map, insert 100"),
    CppRow("cpp_map_set_10000", "Map, insert 10,000"),
    CppRow("cpp_dict_set_100", "Dict, insert 100"),
    CppRow("cpp_shape_make", "Shape, make"),
    CppRow("cpp_string_make_short", "String of 5 bytes, make"),
    CppRow("cpp_string_make_long", "String of 40 bytes, make"),
    CppRow("cpp_string_copy_short", "String of 5 bytes, copy"),
    CppRow("cpp_string_copy_long", "String of 41 bytes, copy"),
    CppRow("cpp_string_compare_short", "String of 5 bytes, =="),
    CppRow("cpp_string_compare", "String of 41 bytes, =="),
    CppRow("cpp_any_copy_int", "Any with int, copy"),
    CppRow("cpp_any_copy_object", "Any with object, copy"),
    CppRow("cpp_any_cast_int", "Any, cast to int"),
    CppRow("cpp_any_cast_ref", "Any, cast to Shape"),
    CppRow("cpp_ref_copy", "ObjectRef, copy"),
    CppRow("cpp_ref_as", "ObjectRef, as<T>"),
    CppRow("cpp_object_make", "make_object and release"),
)

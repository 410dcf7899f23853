# SPDX-License-Identifier: Apache-2.0
"""The table of exchanges: each row is a chain of function calls in two libraries.

Both libraries are built from ``exchange/*.cc`` and export the same steps.  A step receives the
result of the previous step, followed by its own arguments.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Case = tuple[Any, ...]


@dataclass(frozen=True)
class Step:
    """A call of an exported function."""

    side: int
    """Index of the library: 0 for the left one, 1 for the right one."""
    function: str
    args: tuple[Any, ...]
    """Further arguments after the value; ``...`` is replaced by the arguments of the case."""
    moves: bool = False
    """True if the value is passed as an rvalue reference."""
    raises: bool = False
    """True if the call must fail; its error is the next value."""


@dataclass(frozen=True)
class Row:
    """A row: a chain of steps that is run for each case."""

    name: str
    steps: tuple[Step, ...]
    cases: tuple[Case, ...] = ((),)


def left(function: str, *args: Any, **flags: bool) -> Step:
    """Return a step of the left library."""
    return Step(0, function, args, **flags)


def right(function: str, *args: Any, **flags: bool) -> Step:
    """Return a step of the right library."""
    return Step(1, function, args, **flags)


def row(name: str, *steps: Step, cases: tuple[Case, ...] = ((),)) -> Row:
    """Return a row."""
    return Row(name, steps, cases)


SIZES = (0, 1, 3, 4, 5, 16, 100, 1000, 10_000)
MAPS = tuple((keys, size) for keys in ("int", "text", "mixed") for size in SIZES)
MAPS_UP_TO_1000 = tuple(case for case in MAPS if case[1] <= 1000)
SEQUENCES = tuple((size,) for size in SIZES)
TEXTS = tuple(
    (kind, length)
    for kind in ("string", "adopted string", "bytes", "adopted bytes")
    for length in (0, 1, 6, 7, 8, 9, 15, 16, 17, 1000, 100_000)
)
LENGTHS = tuple((length,) for length in (0, 1, 7, 8, 1000))
BIG_INTS = tuple((bits, sign) for bits in (0, 61, 62, 63, 64, 127, 128, 1000) for sign in (0, 1))

MAP_ROWS = (
    row("map", left("make_map", 0, ...), right("check_map", 0, ...), cases=MAPS),
    row("map memory", left("make_map", 0, ...), right("check_map_image", 0, ...), cases=MAPS),
    row(
        "map changed in a copy",
        left("make_map", 0, ...),
        right("change_copy_of_map", 1, ...),
        left("check_map_image", 1, ...),
        left("change_copy_of_map", 2, ...),
        right("check_map", 2, ...),
        cases=MAPS_UP_TO_1000,
    ),
    row(
        "map changed in place",
        left("make_map", 0, ...),
        right("change_own_map", 1, ..., moves=True),
        left("change_own_map", 2, ..., moves=True),
        right("change_own_map", 3, ..., moves=True),
        left("check_map", 3, ...),
        right("check_map_image", 3, ...),
        cases=MAPS,
    ),
    row(
        "map copied",
        left("make_map", 0, ...),
        right("copy_map"),
        left("check_map", 0, ...),
        left("change_own_map", 1, ..., moves=True),
        right("check_map", 1, ...),
        cases=MAPS_UP_TO_1000,
    ),
    row(
        "map emptied and filled again",
        left("make_map", 0, ...),
        right("refill_map", moves=True),
        left("check_refilled_map"),
        cases=MAPS_UP_TO_1000,
    ),
    row(
        "map from a range",
        left("make_map_from_range", ...),
        right("check_map_from_range", ...),
        cases=SEQUENCES,
    ),
    row("map with typed entries", left("make_typed_map"), right("check_typed_map")),
    row(
        "dict changed by both",
        left("make_dict", 0, ...),
        right("change_dict", 1, ...),
        left("change_dict", 2, ...),
        right("change_dict", 3, ...),
        left("check_remembered_dict", 3, ...),
        cases=MAPS,
    ),
    row(
        "dict memory",
        left("make_dict", 0, ...),
        right("check_dict_image", 0, ...),
        right("change_dict", 1, ...),
        left("check_dict_image", 1, ...),
        left("check_remembered_dict", 1, ...),
        cases=MAPS_UP_TO_1000,
    ),
    row(
        "dict released elsewhere",
        left("make_dict", 0, ...),
        left("check_remembered_dict", 0, ...),
        right("change_dict", 1, ...),
        right("check_dict", 1, ...),
        cases=MAPS_UP_TO_1000,
    ),
    row(
        "dict cleared",
        left("make_dict", 0, ...),
        left("check_remembered_dict", 0, ...),
        right("clear_dict"),
        left("check_cleared_dict"),
        cases=MAPS_UP_TO_1000,
    ),
)

SEQUENCE_ROWS = (
    row(
        "array",
        left("make_array", 0, ...),
        right("check_array", 0, ...),
        right("check_array_memory"),
        cases=SEQUENCES,
    ),
    row(
        "array changed in a copy",
        left("make_array", 0, ...),
        right("change_copy_of_array", 1, ...),
        left("check_array", 1, ...),
        left("change_copy_of_array", 2, ...),
        right("check_array", 2, ...),
        cases=SEQUENCES,
    ),
    row(
        "array changed in place",
        left("make_array", 0, ...),
        right("change_own_array", 1, ..., moves=True),
        left("change_own_array", 2, ..., moves=True),
        right("check_array", 2, ...),
        left("check_array_memory"),
        cases=SEQUENCES,
    ),
    row("array growth", left("make_capacities", 100), right("check_capacities", 100)),
    row("array shared when types fit", left("make_strings"), right("check_strings")),
    row(
        "array in array",
        left("make_nested", ...),
        right("check_nested", ...),
        cases=((0,), (1,), (1000,)),
    ),
    row(
        "list changed by both",
        left("make_list", 0, ...),
        right("change_list", 1, ...),
        left("change_list", 2, ...),
        right("change_list", 3, ...),
        left("check_remembered_list", 3, ...),
        cases=SEQUENCES,
    ),
    row(
        "list released elsewhere",
        left("make_list", 0, ...),
        left("check_remembered_list", 0, ...),
        right("change_list", 1, ...),
        right("check_list", 1, ...),
        cases=SEQUENCES,
    ),
    row(
        "empty list grown elsewhere",
        left("make_empty_list"),
        right("reserve_and_clear"),
        left("change_list", 0, ...),
        right("check_list", 0, ...),
        cases=SEQUENCES,
    ),
    row(
        "list taken as an array",
        left("make_int_list"),
        right("take_as_array"),
        left("check_int_array"),
    ),
    row("tuple", left("make_tuple"), right("change_tuple", moves=True), left("check_tuple")),
    row("standard containers", left("make_table"), right("check_table")),
)

TEXT_ROWS = (
    row("text", left("make_text", ...), right("check_text", ...), cases=TEXTS),
    *(
        row(
            f"{kind} as a {parameter} parameter",
            left("make_text", kind, ...),
            right(f"check_{parameter}", ...),
            cases=LENGTHS,
        )
        for kind, parameter in (
            ("string", "string"),
            ("adopted string", "string"),
            ("string", "std_string"),
            ("bytes", "bytes"),
            ("adopted bytes", "bytes"),
        )
    ),
    row(
        "std::string as a result",
        left("make_std_string", ...),
        right("check_text", "adopted string", ...),
        cases=LENGTHS,
    ),
)

ABI = json.loads(
    (Path(__file__).resolve().parents[1] / "abi" / "abi.json").read_text(encoding="utf-8")
)
# Inputs of the published hashes of objects: constructor and content.
HASHED_OBJECTS = {
    "heap str 'a' (short content on heap)": ("string", b"a"),
    "heap str '' (empty on heap)": ("string", b""),
    "heap str 'abcdefg' on heap": ("string", b"abcdefg"),
    "heap str 'abcdefgh'": ("string", b"abcdefgh"),
    "heap str 'hello world'": ("string", b"hello world"),
    "heap str 'The quick brown fox jumps over the lazy dog'": (
        "string",
        b"The quick brown fox jumps over the lazy dog",
    ),
    "heap str utf8 bytes c3 a9 x5 (10 bytes)": ("string", b"\xc3\xa9" * 5),
    "heap bytes 'a' on heap": ("bytes", b"a"),
    "heap bytes 'hello world'": ("bytes", b"hello world"),
    "heap bytes 00..0f": ("bytes", bytes(range(16))),
    "bigint 2^63": ("integer", (2**63).to_bytes(16, "little")),
    "bigint -(2^63)-1": ("integer", (-(2**63) - 1).to_bytes(16, "little", signed=True)),
    "bigint 2^100": ("integer", (2**100).to_bytes(16, "little")),
}


def hashed_value(vector: dict[str, Any]) -> Step:
    """Return the step that creates the value of a published hash."""
    if vector["type_index"] < 64:
        payload = int(vector["payload"], 16)
        return left("make_from_cell", vector["type_index"], vector["padding"], payload)
    kind, content = HASHED_OBJECTS[vector["input"]]
    return left("make_from_content", kind, content.hex())


HASH_ROWS = (
    *(
        row(
            f"hash of {vector['input']}",
            hashed_value(vector),
            left("check_hash", int(vector["any_hash"], 16)),
            right("check_hash", int(vector["any_hash"], 16)),
        )
        for vector in ABI["hash_vectors"]
    ),
    *(
        row(
            f"hash of the bytes {text!r}",
            left("check_stable_hash", text, value),
            right("check_stable_hash", text, value),
        )
        for text, value in ABI["stable_hash_bytes_vectors"].items()
    ),
)

VALUE_ROWS = (
    row(
        "plain values",
        left("make_plain", ...),
        right("check_plain", ...),
        cases=tuple((which,) for which in range(7)),
    ),
    row("parameters of a function", left("make_describer"), right("check_describer")),
    row(
        "optional",
        left("make_optional_text", ...),
        right("check_optional_text", ...),
        cases=((True,), (False,)),
    ),
    row(
        "variant",
        left("make_choice", ...),
        right("check_choice", ...),
        cases=((0,), (1,), (2,)),
    ),
    row("big integer", left("make_big_int", ...), right("check_big_int", ...), cases=BIG_INTS),
    row("big integers as keys", left("make_big_int_keys"), right("check_big_int_keys")),
    row("expected result", left("make_halve"), right("check_halve")),
)

NDIMS = ((0,), (1,), (5,), (20,))
TENSOR_ROWS = (
    row("shape", left("make_shape", ...), right("check_shape", ...), cases=NDIMS),
    row("shape from an array", left("make_extents", ...), right("check_shape", ...), cases=NDIMS),
    row(
        "tensor",
        left("make_tensor"),
        right("check_tensor"),
        left("check_live_buffers", 1),
        right("check_tensor_view"),
        left("check_live_buffers", 0),
    ),
    row(
        "view alone keeps the memory",
        left("make_tensor"),
        right("make_view"),
        left("check_view"),
        left("check_live_buffers", 1),
        right("forget"),
        left("check_live_buffers", 0),
    ),
    row("tensor without dimensions", left("make_scalar"), right("check_scalar")),
    row("tensor without elements", left("make_empty_tensor"), right("check_empty_tensor")),
    row(
        "tensor parameters",
        left("make_tensor_taker", ...),
        right("pass_tensor", ...),
        cases=(("view",), ("tensor",), ("pointer",), ("optional view",), ("optional tensor",)),
    ),
    row(
        "DLPack",
        left("export_versioned"),
        right("refuse_import"),
        right("import_versioned"),
        left("check_tensor"),
        left("check_live_buffers", 1),
        right("export_again"),
        left("release_export"),
        left("check_live_buffers", 0),
    ),
    row(
        "legacy DLPack",
        left("export_legacy"),
        right("import_legacy"),
        left("check_tensor"),
        right("forget"),
        left("check_live_buffers", 0),
    ),
    row(
        "allocated by the environment",
        left("set_allocator", True),
        right("allocate_tensor"),
        left("check_allocated"),
        right("forget"),
        left("set_allocator", False),
        left("check_live_buffers", 0),
    ),
)

ERROR_ROWS = (
    row("error object", left("make_error"), right("check_error"), left("check_error")),
    row(
        "backtrace updated",
        left("make_error"),
        right("grow_backtrace"),
        left("check_grown_backtrace"),
    ),
    row(
        "error thrown to C",
        left("throw_to_c", ..., raises=True),
        right("check_thrown", ...),
        cases=((7,),),
    ),
    row("std::exception to C", left("throw_std", raises=True), right("check_thrown_std")),
    row(
        "failed check",
        left("fail_check", ..., raises=True),
        right("check_failed_check", ...),
        cases=((7,),),
    ),
    row("exception through C++", left("make_thrower"), right("catch_thrower")),
    row("exception of a callback", left("make_wrapper"), right("check_wrapper")),
    row("exception through many frames", left("make_descent"), right("run_descent")),
)

FUNCTION_ROWS = (
    row(
        "function",
        left("make_adder", ...),
        right("check_adder"),
        left("check_adder"),
        cases=(("typed",), ("packed",), ("views",), ("C",)),
    ),
    row("mismatched arguments", left("make_adder", "typed"), right("check_mismatch")),
    row(
        "function with state",
        left("make_counter"),
        right("check_counter"),
        left("check_live_counters", 1),
        right("forget"),
        left("check_live_counters", 0),
    ),
    row("functions call each other", left("make_countdown"), right("run_countdown")),
    row("callback", left("make_map_elements"), right("check_map_elements")),
    row("kinds of arguments", left("make_type_index_of"), right("check_type_indices")),
    row("rvalue reference", left("make_appender"), right("check_appender")),
    row(
        "global function",
        left("register_global"),
        right("use_global"),
        left("check_global_is_gone"),
    ),
)

OBJECT_ROWS = (
    row("type indices", left("check_indices"), right("check_indices"), left("check_indices")),
    row("same index", left("index_of_leaf"), right("check_index_of_leaf")),
    row(
        "hierarchy",
        left("make_tree"),
        right("check_tree"),
        left("check_live_nodes", 3),
        right("prune_tree"),
        left("check_live_nodes", 2),
        left("check_pruned_tree"),
        right("check_live_nodes", 0),
        left("check_live_nodes", 0),
    ),
    row("parameter of a class", left("make_takes_leaf"), right("check_takes_leaf")),
    row(
        "weak reference",
        left("make_node"),
        right("watch"),
        left("check_live_nodes", 1),
        left("forget"),
        left("check_live_nodes", 0),
        right("check_watched"),
    ),
    row("class of an unnamed namespace", left("make_private"), right("check_private")),
    row("references from many threads", left("make_holder"), right("hold_from_threads")),
    row("fields", left("make_record"), right("check_record"), left("check_record")),
    row(
        "virtual functions",
        left("make_animal"),
        right("hear_animal"),
        left("check_live_nodes", 0),
    ),
    row(
        "keys with hooks",
        left("make_digit_map", ...),
        right("check_digit_map", ...),
        left("check_digit_map", ...),
        cases=((False,), (True,)),
    ),
)

REFLECTION_ROWS = (
    row(
        "fields and methods",
        left("register_and_make_pair"),
        right("use_pair"),
        left("check_used_pair"),
    ),
    row(
        "objects created by reflection",
        left("register_and_make_pair"),
        right("create_pairs"),
        left("check_created_pairs"),
    ),
    row("type table", left("register_and_make_pair"), right("check_pair_table")),
    row("overloads", left("register_overloads"), right("use_overloads")),
    row("enum", left("register_enum"), right("use_enum")),
    row("access path", left("make_path"), right("check_path")),
)

MODULE_ROWS = (
    row(
        "module",
        left("make_module", ...),
        right("call_module", ...),
        right("use_module", ...),
        left("check_live_modules", 1),
        right("forget"),
        left("check_live_modules", 0),
        cases=(("short",), ("a name of more than seven bytes",)),
    ),
    row(
        "function of a module",
        left("make_module", "name"),
        right("take_counter"),
        left("check_module_counter"),
        left("check_live_modules", 0),
    ),
    row(
        "imported module",
        left("make_module", "name"),
        right("import_module"),
        left("check_imports"),
        left("check_live_modules", 1),
        right("check_live_modules", 1),
        right("clear_imports"),
        right("check_live_modules", 0),
        left("forget"),
        left("check_live_modules", 0),
    ),
)

JSON_ROWS = (
    row("JSON text", left("parse_document"), right("check_document"), left("check_document")),
    row(
        "indented JSON text",
        left("parse_document"),
        right("write_indented"),
        left("check_indented"),
    ),
    row("malformed JSON text", left("check_parse_errors"), right("check_parse_errors")),
    row("JSON graph", left("make_graph"), right("check_graph")),
)

DATACLASS_ROWS = (
    *(
        row(
            f"recursive hash of {vector['input']}",
            left("make_content", vector["input"]),
            left("check_recursive_hash", vector["input"], int(vector["recursive_hash"], 16)),
            right("check_recursive_hash", vector["input"], int(vector["recursive_hash"], 16)),
        )
        for vector in ABI["structural_hash_vectors"]
    ),
    row("nested values", left("make_nested_value"), right("check_nested_value")),
    row(
        "deep copy",
        left("make_nested_value"),
        right("copy_deeply"),
        left("check_nested_value"),
    ),
    row("order of values", left("make_ordered"), right("check_ordered")),
    row("content of an object", left("make_point"), right("check_point"), left("check_point")),
)

VISIT_ROWS = (
    row("visit", left("make_visited_tree"), right("walk_tree"), left("walk_tree")),
    row(
        "mutation",
        left("make_visited_tree"),
        right("map_tree"),
        left("check_mapped_tree"),
    ),
    row(
        "failed visit",
        left("make_splits"),
        right("fail_in_splits", raises=True),
        left("check_failed_visit"),
    ),
    row("visitor", left("make_visitor"), right("visit_own_tree"), left("check_visitor")),
    row("mutator", left("make_mutator"), right("mutate_own_tree")),
)

ROWS = (
    *MAP_ROWS,
    *SEQUENCE_ROWS,
    *TEXT_ROWS,
    *HASH_ROWS,
    *VALUE_ROWS,
    *TENSOR_ROWS,
    *ERROR_ROWS,
    *FUNCTION_ROWS,
    *OBJECT_ROWS,
    *REFLECTION_ROWS,
    *MODULE_ROWS,
    *JSON_ROWS,
    *DATACLASS_ROWS,
    *VISIT_ROWS,
)

# Control rows, which must fail: they prove that the checks notice the same violation in other rows.
CONTROL_ROWS = (
    row("failed check", left("fail_on_purpose")),
    row("leak", right("leak_on_purpose")),
    row("crash", left("crash_on_purpose")),
    row("no such step", left("no_such_step")),
    row("row after the others", left("make_plain", 1), right("check_plain", 1)),
)

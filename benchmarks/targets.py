# SPDX-License-Identifier: Apache-2.0
"""What the project promises about its speed: the one table of targets.

A target names a row, what ours is compared with, and the largest ratio (or value) allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from call.rows import BUILTIN_FUNCTION, CALL_ROWS, EMPTY_FUNCTION
from cpp_api.rows import CPP_ROWS
from load_time import find_names, load_names
from python_api.rows import STATEMENT_ROWS
from results import FLOOR, OURS, PEER, Row

ABSOLUTE = "absolute"


@dataclass(frozen=True)
class Target:
    """One promise: ours must not exceed `limit`."""

    row: str
    reference: str
    """`PEER`, `FLOOR`: that implementation in the same row; `EMPTY_FUNCTION`: ours in that row;
    `ABSOLUTE`: the limit is a value in the unit of the row."""
    limit: float


FLOOR_LIMIT = 1.25  # every call row whose floor does the same job
STATEMENT_FLOOR_LIMIT = 1.5  # every row about values that has a floor
WITHOUT_FLOOR = (EMPTY_FUNCTION, BUILTIN_FUNCTION)
# A general walk, which knows hooks, cycles and nested objects; the floor knows that it is one int.
BY_GENERAL_WALK = ("py_class_eq", "py_class_hash")

# Nearly all of it is the system's loader.  Ours reads the file before, to see what it needs.
LOAD_LIMIT = 1.35
FIND_LIMIT = 1.15

# The C++ API is never slower than the peer's; two programs that do the same differ by this much.
CPP_LIMIT = 1.05
# Rows of a few clock cycles: one cycle more or less depends on where the loop happens to lie.
CPP_CYCLE_LIMIT = 1.5
CPP_CYCLE_ROWS = (
    "cpp_array_iterate",
    "cpp_array_index",
    "cpp_list_iterate",
    "cpp_string_copy_short",
    "cpp_string_compare_short",
    "cpp_any_copy_int",
    "cpp_any_cast_int",
    "cpp_ref_as",
)

TARGETS: tuple[Target, ...] = (
    Target("noop", PEER, 0.70),
    Target("noop_ints", PEER, 0.50),
    Target("noop_mixed", PEER, 0.40),
    Target("echo_long_str", PEER, 0.30),
    Target("noop_numpy", PEER, 0.20),
    Target("noop_torch", PEER, 0.60),
    Target("noop_gil_kept", EMPTY_FUNCTION, 1.0),
    Target("callback", PEER, 0.60),
    Target("raise_error", PEER, 0.15),
    Target("array_index", PEER, 0.08),
    Target("array_len", PEER, 0.15),
    Target("array_iterate", PEER, 0.10),
    Target("array_new", PEER, 0.35),
    Target("map_index", PEER, 0.30),
    Target("map_iterate", PEER, 0.15),
    Target("map_new", PEER, 0.35),
    Target("shape_new", PEER, 0.10),
    Target("noop_list", PEER, 0.50),
    Target("noop_dict", PEER, 0.50),
    Target("from_numpy", PEER, 0.40),
    Target("to_numpy", PEER, 0.80),
    Target("field_read", PEER, 0.40),
    Target("method_call", PEER, 0.40),
    Target("object_new", PEER, 0.50),
    Target("py_class_new", PEER, 0.10),
    Target("py_class_field", PEER, 0.50),
    Target("py_class_eq", PEER, 1.00),
    Target("py_class_hash", PEER, 1.00),
    Target("pickle_tensor", PEER, 0.80),
    Target("import", ABSOLUTE, 30.0),
    *(Target(name, PEER, LOAD_LIMIT) for name in load_names()),
    *(Target(name, PEER, FIND_LIMIT) for name in find_names()),
    Target("cpp_call_3", ABSOLUTE, 10.0),
    Target("build_c", ABSOLUTE, 300.0),
    Target("build_cpu_cpp", PEER, 0.40),
    Target("build_cpu_next", PEER, 0.25),
    Target("found_c", ABSOLUTE, 5.0),
    Target("found_cpp", ABSOLUTE, 5.0),
    Target("wrapper_call", FLOOR, 1.1),
    Target("launch_call", FLOOR, 1.1),
    Target("launch_module_call", FLOOR, 1.1),
    Target("wrapper_compile", ABSOLUTE, 300.0),
    Target("wrapper_llvm_call", FLOOR, 1.1),
    Target("wrapper_llvm_compile", ABSOLUTE, 300.0),
    Target("torch_eager", FLOOR, 1.02),
    Target("torch_compiled", FLOOR, 0.50),
    Target("numba_body", FLOOR, 1.05),
    Target("numba_call", FLOOR, FLOOR_LIMIT),
    *(Target(row.name, FLOOR, FLOOR_LIMIT) for row in CALL_ROWS if row.name not in WITHOUT_FLOOR),
    *(
        Target(row.name, FLOOR, STATEMENT_FLOOR_LIMIT)
        for row in STATEMENT_ROWS
        if row.floor_setup is not None and row.name not in BY_GENERAL_WALK
    ),
    *(
        Target(row.name, PEER, CPP_CYCLE_LIMIT if row.name in CPP_CYCLE_ROWS else CPP_LIMIT)
        for row in CPP_ROWS
    ),
)


@dataclass(frozen=True)
class Verdict:
    """A target and what was measured; `value` is None when something is missing."""

    target: Target
    value: float | None

    @property
    def is_met(self) -> bool | None:
        """Whether the promise holds; None if it could not be judged."""
        return None if self.value is None else self.value <= self.target.limit


def judge(rows: Sequence[Row], targets: Sequence[Target] = TARGETS) -> list[Verdict]:
    """Compare the rows with the targets that concern them."""
    by_name = {row.name: row for row in rows}
    return [
        Verdict(target, _measured_value(target, by_name))
        for target in targets
        if target.row in by_name
    ]


def _measured_value(target: Target, rows: Mapping[str, Row]) -> float | None:
    row = rows[target.row]
    if target.reference in (PEER, FLOOR):
        return row.ratio(OURS, target.reference)
    samples = row.samples(OURS)
    if samples is None or target.reference == ABSOLUTE:
        return None if samples is None else samples.minimum
    base = rows[target.reference].samples(OURS) if target.reference in rows else None
    return None if base is None else samples.minimum / base.minimum

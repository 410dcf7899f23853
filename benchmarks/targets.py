# SPDX-License-Identifier: Apache-2.0
"""Speed targets: the limit for each benchmark row.

A target names a row, the reference of the comparison, and the largest allowed ratio (or value).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from call.rows import BUILTIN_FUNCTION, CALL_ROWS, EMPTY_FUNCTION
from cpp_api.rows import CPP_ROWS
from load_time import find_names, load_names
from observe_time import DEBUG_ROWS
from python_api.rows import STATEMENT_ROWS
from results import FLOOR, INCUMBENT, OURS, Row

ABSOLUTE = "absolute"


@dataclass(frozen=True)
class Target:
    """The limit of one row."""

    row: str
    reference: str
    """`INCUMBENT`, `FLOOR`: that implementation in the same row.  The name of a row: our value in
    that row.  `ABSOLUTE`: `limit` is a value in the unit of the row."""
    limit: float  # our largest value that meets the target


FLOOR_LIMIT = 1.25  # limit of call rows whose floor does the same work
STATEMENT_FLOOR_LIMIT = 1.5  # limit of statement rows that have a floor
# Rows of calls that check a signature, the same calls without checks, and the limit of the ratio.
CHECKED = (
    ("checked_ints", "noop_ints", 1.05),
    ("checked_numpy", "noop_numpy", 1.12),
    ("checked_torch", "noop_torch", 1.06),
)
# Call rows whose floor does less work, or that are references themselves.
WITHOUT_FLOOR = (EMPTY_FUNCTION, BUILTIN_FUNCTION, *(row for row, _, _ in CHECKED))
# Statement rows without the general limit: ours walks an object generically, with hooks, cycles and
# nested objects, and the floor compares one int; a prepared call has a stricter limit.
WITH_OWN_LIMIT = ("py_class_eq", "py_class_hash", "prepared_noop")

# The loader takes nearly all of this time.  Ours also reads the file's headers before loading it
# (the load-time check).
LOAD_LIMIT = 1.35
FIND_LIMIT = 1.15

# Our C++ API is not slower than the incumbent's; 5% is the noise between two equal programs.
CPP_LIMIT = 1.05
# Rows of a few clock cycles; the alignment of their loop makes a difference of one cycle.
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
    Target("noop", INCUMBENT, 0.70),
    Target("noop_ints", INCUMBENT, 0.50),
    Target("noop_mixed", INCUMBENT, 0.40),
    Target("echo_long_str", INCUMBENT, 0.30),
    Target("noop_numpy", INCUMBENT, 0.20),
    Target("noop_torch", INCUMBENT, 0.60),
    Target("noop_gil_kept", EMPTY_FUNCTION, 1.0),
    *(Target(*checked) for checked in CHECKED),
    Target("callback", INCUMBENT, 0.60),
    Target("raise_error", INCUMBENT, 0.15),
    Target("array_index", INCUMBENT, 0.08),
    Target("array_len", INCUMBENT, 0.15),
    Target("array_iterate", INCUMBENT, 0.10),
    Target("array_new", INCUMBENT, 0.35),
    Target("map_index", INCUMBENT, 0.30),
    Target("map_iterate", INCUMBENT, 0.15),
    Target("map_new", INCUMBENT, 0.35),
    Target("shape_new", INCUMBENT, 0.10),
    Target("noop_list", INCUMBENT, 0.50),
    Target("noop_dict", INCUMBENT, 0.50),
    Target("dispatch_ints", "checked_ints", 1.17),
    Target("prepared_noop", FLOOR, 1.1),
    Target("prepared_batch", ABSOLUTE, 1500.0),
    Target("prepared_torch", "checked_torch", 0.35),
    Target("prepared_torch_changed", "checked_torch", 0.60),
    Target("prepared_torch_set", "checked_torch", 1.0),
    Target("from_numpy", INCUMBENT, 0.40),
    Target("to_numpy", INCUMBENT, 0.80),
    Target("field_read", INCUMBENT, 0.40),
    Target("method_call", INCUMBENT, 0.40),
    Target("object_new", INCUMBENT, 0.50),
    Target("py_class_new", INCUMBENT, 0.10),
    Target("py_class_field", INCUMBENT, 0.50),
    Target("py_class_eq", INCUMBENT, 1.00),
    Target("py_class_hash", INCUMBENT, 1.00),
    Target("pickle_tensor", INCUMBENT, 0.80),
    Target("import", ABSOLUTE, 30.0),
    *(Target(name, INCUMBENT, LOAD_LIMIT) for name in load_names()),
    *(Target(name, INCUMBENT, FIND_LIMIT) for name in find_names()),
    Target("cpp_call_3", ABSOLUTE, 10.0),
    Target("build_c", ABSOLUTE, 300.0),
    Target("build_cpu_cpp", INCUMBENT, 0.40),
    Target("build_cpu_next", INCUMBENT, 0.25),
    Target("found_c", ABSOLUTE, 5.0),
    Target("found_cpp", ABSOLUTE, 5.0),
    Target("wrapper_call", FLOOR, 1.1),
    Target("launch_call", FLOOR, 1.1),
    Target("launch_module_call", "launch_call", 1.15),
    Target("prepared_launch", ABSOLUTE, 60.0),
    Target("observe_removed", FLOOR, 1.05),
    Target("observe_record", ABSOLUTE, 150.0),
    *(Target(name, FLOOR, 3.0) for name in DEBUG_ROWS),
    Target("wrapper_compile", ABSOLUTE, 300.0),
    Target("wrapper_llvm_call", FLOOR, 1.1),
    Target("wrapper_llvm_compile", ABSOLUTE, 300.0),
    Target("torch_eager", FLOOR, 1.02),
    Target("torch_compiled", FLOOR, 0.50),
    Target("torch_operator", FLOOR, 1.2),
    Target("torch_operator_derived", FLOOR, 1.2),
    # torch's stable C interface adds to these calls; see docs/guides/pytorch.md.
    Target("torch_operator_traced", FLOOR, 1.35),
    Target("torch_operator_write", FLOOR, 1.45),
    Target("torch_operator_gradient", FLOOR, 1.95),
    Target("numba_body", FLOOR, 1.05),
    Target("numba_call", FLOOR, FLOOR_LIMIT),
    *(Target(row.name, FLOOR, FLOOR_LIMIT) for row in CALL_ROWS if row.name not in WITHOUT_FLOOR),
    *(
        Target(row.name, FLOOR, STATEMENT_FLOOR_LIMIT)
        for row in STATEMENT_ROWS
        if row.floor_setup is not None and row.name not in WITH_OWN_LIMIT
    ),
    *(
        Target(row.name, INCUMBENT, CPP_CYCLE_LIMIT if row.name in CPP_CYCLE_ROWS else CPP_LIMIT)
        for row in CPP_ROWS
    ),
)


@dataclass(frozen=True)
class Verdict:
    """A target and the measured value; `value` is None if a measurement is missing."""

    target: Target
    value: float | None

    @property
    def is_met(self) -> bool | None:
        """True if the target is met; None if a measurement is missing."""
        return None if self.value is None else self.value <= self.target.limit


def judge(rows: Sequence[Row], targets: Sequence[Target] = TARGETS) -> list[Verdict]:
    """Compare rows with their targets; targets of absent rows are omitted."""
    by_name = {row.name: row for row in rows}
    return [
        Verdict(target, _measured_value(target, by_name))
        for target in targets
        if target.row in by_name
    ]


def _measured_value(target: Target, rows: Mapping[str, Row]) -> float | None:
    row = rows[target.row]
    if target.reference in (INCUMBENT, FLOOR):
        return row.ratio(OURS, target.reference)
    samples = row.samples(OURS)
    if samples is None or target.reference == ABSOLUTE:
        return None if samples is None else samples.minimum
    base = rows[target.reference].samples(OURS) if target.reference in rows else None
    return None if base is None else samples.minimum / base.minimum

# SPDX-License-Identifier: Apache-2.0
"""Table of call rows: the kernel and the kinds of argument values of each row.

Read by the parent, to list the rows, and by the workers, to make the calls.  The names are the keys
of the JSON output and of ``targets.py``; keep them when a label changes.
"""

from __future__ import annotations

from dataclasses import dataclass

EMPTY_FUNCTION = "empty_function"
BUILTIN_FUNCTION = "noop_builtin"  # row of the floor's no-op, called as a built-in function


@dataclass(frozen=True)
class CallRow:
    """One line of the call benchmark."""

    name: str
    """Stable key."""
    label: str
    """Label in reports and charts."""
    kernel: str | None
    """Function of ``kernels.c``; None for the empty Python function."""
    values: tuple[str, ...] = ()
    """Kind of each argument: a key of ``subjects.VALUES``, or a kind that the subject creates."""
    names: tuple[str, ...] = ()
    """Names of the last arguments, which are passed as keyword arguments."""
    floor: str | None = None
    """Name of the floor's function; None if it is the name of the row."""
    keeps_gil: bool = False
    """True if the call keeps the GIL; otherwise the default policy applies."""
    among_arrays: bool = False
    """True if the measuring process has NumPy and torch loaded."""


CALL_ROWS: tuple[CallRow, ...] = (
    CallRow(EMPTY_FUNCTION, "empty Python function", None),
    CallRow("noop", "no-op()", "noop"),
    CallRow("noop_gil_kept", "no-op(), GIL kept", "noop", floor="noop", keeps_gil=True),
    CallRow(BUILTIN_FUNCTION, "no-op(), floor built in", "noop"),
    CallRow("noop_ints", "no-op(int, int, int)", "noop", ("int", "int", "int")),
    CallRow("noop_mixed", "no-op(int, float, str)", "noop", ("int", "float", "short_str")),
    CallRow("noop_long_str", "no-op(long str)", "noop", ("long_str",), floor="noop_str"),
    CallRow("noop_among_arrays", "no-op(), torch loaded", "noop", floor="noop", among_arrays=True),
    CallRow("noop_tensors", "no-op(3 x Tensor)", "noop", ("tensor",) * 3, among_arrays=True),
    CallRow("noop_numpy", "no-op(3 x NumPy array)", "noop", ("numpy",) * 3, among_arrays=True),
    CallRow("noop_torch", "no-op(3 x torch tensor)", "noop", ("torch",) * 3, among_arrays=True),
    CallRow("named", "named(int, int, z=int)", "named", ("int",) * 3, ("z",)),
    CallRow(
        "named_all", "named(x=int, y=int, z=int)", "named", ("int",) * 3, ("x", "y", "z"), "named"
    ),
    CallRow("named_default", "named(x=int), 2 defaults", "named", ("int",), ("x",), "named"),
    CallRow(
        "named_torch",
        "named(torch, torch, z=torch)",
        "named",
        ("torch",) * 3,
        ("z",),
        among_arrays=True,
    ),
    CallRow(
        "checked_ints", "checked(int, int, int)", "checked_ints", ("int",) * 3, (), "noop_ints"
    ),
    CallRow(
        "checked_numpy",
        "checked(3 x NumPy array)",
        "checked_arrays",
        ("numpy",) * 3,
        floor="noop_numpy",
        among_arrays=True,
    ),
    CallRow(
        "checked_torch",
        "checked(3 x torch tensor)",
        "checked_arrays",
        ("torch",) * 3,
        floor="noop_torch",
        among_arrays=True,
    ),
    CallRow("echo_int", "echo(int)", "echo", ("int",)),
    CallRow("echo_short_str", "echo(short str)", "echo", ("short_str",), floor="echo_str"),
    CallRow("echo_long_str", "echo(long str)", "echo", ("long_str",), floor="echo_str"),
    CallRow("echo_tensor", "echo(Tensor)", "echo", ("tensor",), among_arrays=True),
    CallRow("echo_torch", "echo(torch tensor)", "echo", ("torch",), among_arrays=True),
    CallRow("callback", "callback, Function", "apply", ("function", "int"), (), "apply_function"),
    CallRow(
        "callback_new", "callback, callable", "apply", ("callable", "int"), (), "apply_callable"
    ),
    CallRow("raise_error", "raise ValueError", "raise_error"),
)

# SPDX-License-Identifier: Apache-2.0
"""Flame view: the calls of a trace, merged by their stacks of functions, on the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import IO, NamedTuple

__all__ = ["Call", "Frame", "merge_stacks", "print_flame"]

_BAR_WIDTH = 20


class Call(NamedTuple):
    """One call of a trace; times are of `time.perf_counter_ns`."""

    thread: int  # the number of the thread, from 1 in the order of the first calls
    name: str
    begin_ns: int
    end_ns: int  # 0: the call had not ended
    arguments: str  # shapes and values of the arguments
    stream: int  # the stream of the first tensor that is not on the CPU, or 0
    status: int  # 0: success


class Frame:
    """All calls of one function from one stack of callers."""

    def __init__(self) -> None:
        self.calls = 0
        self.total_ns = 0
        self.callees: dict[str, Frame] = {}


def merge_stacks(calls: Iterable[Call]) -> Frame:
    """Return the root of the tree of stacks; the root has the totals of all threads.

    The calls of a thread must be in the order in which they began.
    """
    now = time.perf_counter_ns()
    root = Frame()
    thread = None
    stack: list[tuple[int, Frame]] = []  # the end of each call in progress, and its frame
    for call in calls:
        end = call.end_ns or now
        if call.thread != thread:
            thread, stack = call.thread, []
        while stack and stack[-1][0] <= call.begin_ns:
            stack.pop()
        parent = stack[-1][1] if stack else root
        frame = parent.callees.setdefault(call.name, Frame())
        frame.calls += 1
        frame.total_ns += end - call.begin_ns
        if not stack:
            root.calls += 1
            root.total_ns += end - call.begin_ns
        stack.append((end, frame))
    return root


def print_flame(calls: Iterable[Call], file: IO[str] | None = None) -> None:
    """Print the tree of stacks; see `Trace.print_flame`."""
    try:
        from rich.console import Console
        from rich.text import Text
        from rich.tree import Tree
    except ImportError as error:
        raise ImportError(
            "Trace.print_flame: expected the package rich; install it with `pip install rich`"
        ) from error
    root = merge_stacks(calls)

    def add(tree: Tree, frame: Frame) -> None:
        for name, callee in sorted(frame.callees.items(), key=lambda item: -item[1].total_ns):
            share = callee.total_ns / max(root.total_ns, 1)
            line = Text("█" * round(share * _BAR_WIDTH), style="red")
            line.append(
                f" {share:6.1%} {callee.total_ns / 1e6:.3f} ms, {callee.calls} calls  ", style="dim"
            )
            line.append(name, style="bold")
            add(tree.add(line), callee)

    tree = Tree(f"all threads: {root.total_ns / 1e6:.3f} ms, {root.calls} calls")
    add(tree, root)
    Console(file=file).print(tree)

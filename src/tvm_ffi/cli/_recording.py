# SPDX-License-Identifier: Apache-2.0
"""Show, compare or minimise recordings of calls, or export calls as a script or a program.

Exit status of `compare`: 1 if a call differs.
"""

from __future__ import annotations

import argparse
import json
import shlex
from typing import Any

from ..observe import RecordedCall, Recording, call_program, call_script, compare, minimise
from ..observe._minimise import command_test, replay_test
from ..observe._recorded_values import RecordedTensor, describe
from ._output import print_line

__all__ = ["add_arguments", "run"]

_FORMAT = 1  # version of the JSON form


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command ``recording`` to its parser."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = commands.add_parser("show", help="list the calls")
    show.add_argument("file", metavar="FILE")
    show.add_argument("--from", dest="first", type=int, default=1, metavar="N", help="first call")
    show.add_argument("--to", dest="last", type=int, metavar="M", help="last call")
    show.add_argument("--json", action="store_true", help="print JSON")
    comparison = commands.add_parser("compare", help="print the first call that differs")
    comparison.add_argument("file", metavar="FILE")
    comparison.add_argument("other", metavar="OTHER")
    comparison.add_argument(
        "--tolerance", type=float, default=0.0, metavar="X", help="accept differences of X"
    )
    smaller = commands.add_parser(
        "minimise", help="write the calls, with the smallest shapes, that a failure needs"
    )
    smaller.add_argument("file", metavar="FILE")
    smaller.add_argument("-o", "--output", metavar="SMALLER", required=True)
    smaller.add_argument("--library", metavar="LIBRARY", help="as for replay")
    smaller.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help="as for replay",
    )
    smaller.add_argument("--tolerance", type=float, default=0.0, metavar="X", help="as for replay")
    smaller.add_argument(
        "--test",
        metavar="COMMAND",
        help="a command that fails for the file, its last argument (default: a replay)",
    )
    export = commands.add_parser("export", help="print calls as a Python script or C program")
    export.add_argument("file", metavar="FILE")
    export.add_argument("number", type=int, metavar="N", help="the number of the call")
    export.add_argument("--to", dest="last", type=int, metavar="M", help="with --c: the last call")
    export.add_argument("--c", action="store_true", help="print a C program")


def run(options: argparse.Namespace) -> int:
    """Run an action; return the exit status."""
    recording = Recording(options.file)
    return _ACTIONS[options.action](recording, options)


def _show(recording: Recording, options: argparse.Namespace) -> int:
    calls = [
        call
        for call in recording.calls
        if call.number >= options.first and (options.last is None or call.number <= options.last)
    ]
    if options.json:
        document = {
            "format": _FORMAT,
            "process": recording.process,
            "contents": recording.contents,
            "last": recording.last,
            "dropped": recording.num_dropped,
            "calls": [_json_form(call) for call in calls],
        }
        print(json.dumps(document, indent=1))
        return 0
    try:
        _print_table(calls)
    except ImportError:
        for call in calls:
            print_line("  ".join(_row(call)))
    if recording.num_dropped:
        print_line(f"{recording.num_dropped} calls were dropped, because the disk was full")
    return 0


def _print_table(calls: list[RecordedCall]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for title in ("call", "thread", "function", "arguments", "result"):
        table.add_column(title, overflow="fold")
    for call in calls:
        table.add_row(*map(Text, _row(call)))
    Console().print(table)


def _row(call: RecordedCall) -> tuple[str, str, str, str, str]:
    arguments = ", ".join(map(describe, call.arguments))
    result = "did not end" if call.status is None else describe(call.result)
    if call.status and call.result is None:  # a pending Python exception
        result = "failed"
    texts = call.name, arguments, result
    name, arguments, result = ("".join(c if c.isprintable() else " " for c in t) for t in texts)
    return str(call.number), str(call.thread), name, arguments, result


def _json_form(value: Any) -> Any:
    """Return a recorded value as values of JSON."""
    if isinstance(value, RecordedCall):
        fields = value._asdict()
        fields["contents"] = [
            {"argument": key[0], "tensor": key[1], "content": content}
            for key, content in value.contents.items()
        ]
        return {key: _json_form(field) for key, field in fields.items()}
    if isinstance(value, RecordedTensor):
        fields = {**value._asdict(), "device": str(value.device)}
        return {key: _json_form(field) for key, field in fields.items()}
    if hasattr(value, "_asdict"):
        return {key: _json_form(field) for key, field in value._asdict().items()}
    if isinstance(value, (tuple, list)):
        return [_json_form(element) for element in value]
    if isinstance(value, dict):
        return {key: _json_form(element) for key, element in value.items()}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return str(value).encode("utf-8", "replace").decode("utf-8")
    return value if isinstance(value, (int, float, bool, type(None))) else str(value)


def _compare(recording: Recording, options: argparse.Namespace) -> int:
    difference = compare(recording, Recording(options.other), options.tolerance)
    if difference is None:
        print_line("no difference")
        return 0
    call = difference.first or difference.second
    assert call is not None
    print_line(f"call {call.number} of {call.name}: {difference.text}")
    return 1


def _export(recording: Recording, options: argparse.Namespace) -> int:
    last = options.number if options.last is None else options.last
    calls = [call for call in recording.calls if options.number <= call.number <= last]
    if options.last is not None and not options.c:
        raise ValueError("recording export: expected --c with --to; a script makes one call")
    if calls:
        print(call_program(calls) if options.c else call_script(calls[0]), end="")
        return 0
    raise ValueError(f"{options.file}: there is no call with the number {options.number}")


def _minimise(recording: Recording, options: argparse.Namespace) -> int:
    test = replay_test(
        library=options.library, modules=options.modules, tolerance=options.tolerance
    )
    if options.test is not None:
        test = command_test(shlex.split(options.test))
    calls = minimise(recording, options.output, test, modules=options.modules)
    print_line(f"{len(calls)} of {len(recording.calls)} calls in {options.output}")
    return 0


_ACTIONS = {"compare": _compare, "export": _export, "minimise": _minimise, "show": _show}

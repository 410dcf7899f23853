# SPDX-License-Identifier: Apache-2.0
"""Replay the calls of a recording in this process, and compare the results.

Exit status: 1 if a result differs from the recorded one, or no call was replayed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections import Counter

from ..observe import Recording, replay
from ._output import print_line

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command ``replay`` to its parser."""
    parser.add_argument("file", metavar="FILE", help="a recording")
    parser.add_argument(
        "--library", metavar="LIBRARY", help="call the functions of this library instead"
    )
    parser.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help="import this module first, also from the current folder; may be repeated",
    )
    parser.add_argument("--from", dest="first", type=int, default=1, metavar="N", help="first call")
    parser.add_argument("--to", dest="last", type=int, metavar="M", help="last call")
    parser.add_argument(
        "--tolerance", type=float, default=0.0, metavar="X", help="accept differences of X"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Replay the calls; return the exit status."""
    recording = Recording(options.file)
    if options.modules:
        sys.path.insert(0, "")  # as `python -m` does
    for module in options.modules:
        importlib.import_module(module)
    report = replay(
        recording,
        library=options.library,
        first=options.first,
        last=options.last,
        tolerance=options.tolerance,
    )
    differences = [(item.first, item.text) for item in report.differences if item.first]
    if options.json:
        document = {
            "replayed": report.num_replayed,
            "differences": [
                {"call": call.number, "function": call.name, "text": text}
                for call, text in differences
            ],
            "skipped": [
                {"call": item.call.number, "function": item.call.name, "reason": item.reason}
                for item in report.skipped
            ],
            "failed": [{"call": call.number, "function": call.name} for call in report.failed],
            "changed_libraries": report.changed_libraries,
        }
        print(json.dumps(document, indent=1))
    else:
        for path in report.changed_libraries:
            print_line(f"{path} has changed since the recording")
        skipped = Counter((item.call.name, item.reason) for item in report.skipped)
        for (name, reason), count in skipped.items():
            print_line(f"skipped {count} of {name}: {reason}")
        for call, text in differences:
            print_line(f"call {call.number} of {call.name}: {text}")
        print_line(
            f"{report.num_replayed} replayed, {len(differences)} different, "
            f"{len(report.skipped)} skipped"
        )
    return 1 if differences or report.num_replayed == 0 else 0

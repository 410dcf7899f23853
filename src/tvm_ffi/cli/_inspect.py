# SPDX-License-Identifier: Apache-2.0
"""Show what a shared library exports, needs and contains, without running it.

Exit status:
  0  the installed runtime can load the library; with --diff, the libraries do not differ
  1  the installed runtime cannot load the library; with --diff, the libraries differ
  2  a file is not a readable shared library, or the arguments are invalid
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import inspection


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command ``inspect`` to its parser."""
    parser.add_argument("library", type=Path, nargs="+", metavar="LIBRARY", help="file to read")
    parser.add_argument(
        "--diff", action="store_true", help="compare two libraries, the earlier one first"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--beside",
        type=Path,
        action="append",
        default=[],
        metavar="LIBRARY",
        help="a library whose symbols count as provided; may be repeated",
    )
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> int:
    """Print a report about a library or a comparison of two libraries; return the exit status."""
    expected = 2 if options.diff else 1
    if len(options.library) != expected:
        wanted = "two libraries to compare" if options.diff else "one library"
        options.parser.error(f"expected {wanted}, got {len(options.library)}")
    reports = [inspection.inspect_library(path, beside=options.beside) for path in options.library]
    if options.diff:
        difference = inspection.compare_libraries(*reports)
        if options.json:
            _print_json(difference.to_json())
        else:
            _text().print_difference(difference, *reports)
        return 1 if difference else 0
    if options.json:
        _print_json(reports[0].to_json())
    else:
        _text().print_report(reports[0])
    return 0 if reports[0].is_served else 1


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, indent=2))


def _text() -> ModuleType:
    """Import and return the module that prints text; only this output format needs rich."""
    try:
        from . import _inspect_text
    except ImportError as error:
        remedy = '`pip install "pytvmffi[inspect]"`, or use the option --json'
        raise ImportError(
            f"printing a report needs the Python package rich; install it with {remedy}"
        ) from error
    return _inspect_text

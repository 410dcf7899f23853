# SPDX-License-Identifier: Apache-2.0
"""Diagnose this environment: libraries, requirements, GPUs, caches, compilers.

Nothing is loaded, imported or changed.  Exit status:
  0  no problem was found
  1  a problem was found; with --serve, also if something would compile
  2  the arguments are invalid
"""

from __future__ import annotations

import argparse
import json

from .._doctor import Finding, examine
from ._output import print_line

__all__ = ["add_arguments", "run"]

_FORMAT = 1  # version of the JSON form
_MARKS = {"ok": "ok", "note": "note", "problem": "PROBLEM", "compile": "COMPILES"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command ``doctor`` to its parser."""
    parser.add_argument("--serve", action="store_true", help="list what would compile")
    parser.add_argument(
        "--gpu",
        action="append",
        metavar="ARCH",
        help="architecture of a GPU to serve, such as sm_90; may be repeated (default: those here)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the findings; return the exit status."""
    findings = list(examine(options.gpu, is_serving=options.serve))
    count = sum(finding.level in ("problem", "compile") for finding in findings)
    if options.json:
        rows = [finding._asdict() for finding in findings]
        print(json.dumps({"format": _FORMAT, "is_ok": count == 0, "findings": rows}, indent=1))
    else:
        _print(findings)
        print_line("")
        print_line({0: "no problem", 1: "1 problem"}.get(count, f"{count} problems"))
    return 1 if count else 0


def _print(findings: list[Finding]) -> None:
    area = ""
    for finding in findings:
        if finding.area != area:
            area = finding.area
            print_line(area)
        print_line(f"  {_MARKS[finding.level]:<9}{finding.subject}: {finding.message}")
        if finding.remedy:
            print_line(f"           {finding.remedy}")

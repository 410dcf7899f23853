# SPDX-License-Identifier: Apache-2.0
"""Sphinx directive ``command-line``: the arguments of a program, read from its argument parser.

    .. command-line:: tvm_ffi.config:__main__

The argument is the program's main function.  The directive calls the function and stops it when it
calls ``parse_args``, so that the documented parser is the parser that users run.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

from c_reference import parse_rst
from docutils import nodes
from header_prose import rst_of, sentence
from sphinx.util.docutils import SphinxDirective

_WIDTH = 88  # of the usage message, in columns


class _ParserIsReadyError(Exception):
    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


def parser_of(function: str) -> argparse.ArgumentParser:
    """Return the argument parser of a main function ``module:name``."""

    def stop(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        raise _ParserIsReadyError(parser)

    module, _, name = function.partition(":")
    main = getattr(importlib.import_module(module), name)
    with mock.patch.object(argparse.ArgumentParser, "parse_args", stop):
        try:
            main()
        except _ParserIsReadyError as ready:
            return ready.parser
    raise ValueError(f"{function} does not parse a command line")


class CommandLine(SphinxDirective):
    """Directive ``command-line``, see the module."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the usage message and the arguments of the program and its subcommands."""
        self.env.note_reread()  # parsers change without a change of the page's files
        return parse_rst(self, _described(parser_of(self.arguments[0])), "")


def _described(parser: argparse.ArgumentParser) -> list[str]:
    formatter = parser.formatter_class
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=_WIDTH)
    usage = parser.format_usage().removeprefix("usage: ").splitlines()
    parser.formatter_class = formatter
    lines = [".. code-block:: text", "", *(f"   {line}" for line in usage), ""]
    lines += _description(parser)
    lines += [f".. program:: {parser.prog}", ""]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                lines += [f".. rubric:: {command.prog}", "", *_described(command)]
        elif action.dest != "help":
            lines += [f".. option:: {', '.join(_spellings(action))}", "", f"   {_help(action)}", ""]
    return lines


def _description(parser: argparse.ArgumentParser) -> list[str]:
    """Return the description; indented lines are preformatted."""
    lines: list[str] = []
    for paragraph in (parser.description or "").strip().split("\n\n"):
        rows = paragraph.splitlines()
        plain = [row for row in rows if not row.startswith(" ")]
        lines += [rst_of("\n".join(plain)), ""] if plain else []
        preformatted = rows[len(plain) :]
        lines += [".. code-block:: text", "", *preformatted, ""] if preformatted else []
    return lines


def _spellings(action: argparse.Action) -> Iterator[str]:
    """Yield the spellings of an argument, with the name of its value."""
    name = action.dest.upper() if action.option_strings else action.dest
    value = action.metavar or (name if action.nargs != 0 else "")
    if action.choices and not action.metavar:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    for option in action.option_strings or [""]:
        yield f"{option} {value}".strip()


def _help(action: argparse.Action) -> str:
    return rst_of(sentence(action.help or "")) + "."


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}

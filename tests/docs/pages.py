# SPDX-License-Identifier: Apache-2.0
"""Parser of the fenced blocks in a Markdown page.

The blocks of a page are executed in order, in one folder:

    ```python                          run; with prompts, as a doctest
    ```sh                              run by a shell
    ```c, cpp                          compiled
    ```{code-block} LANGUAGE           written to the file in the caption
    :caption: FILE
    ```text                            after an executed block: its output; ... matches any text

A comment before a block skips it: ``<!-- needs: torch -->`` if a Python module or a program is
missing, ``<!-- not run: REASON -->`` always.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>needs|not run): (?P<about>[^>]+) -->\n\n?)?"
    r"^(?P<fence>```+)(?P<head>[^`\n]*)\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_OPTION = re.compile(r"^:(\w+): *(.*)\n", re.MULTILINE)
_CODE_BLOCK = "{code-block}"


@dataclass(frozen=True)
class Block:
    """A fenced code block of a page."""

    language: str
    text: str
    line: int  # number of the first line of the block's text, from 1
    file: str | None = None  # file to which the block's text is written
    needs: str | None = None  # module or program that the block needs, or it is skipped
    not_run: str | None = None  # reason for which the block is always skipped


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, without directives other than code blocks."""
    text = page.read_text(encoding="utf-8")
    found = (_block(text, match) for match in _BLOCK.finditer(text))
    return [block for block in found if not block.language.startswith("{")]


def _block(page: str, match: re.Match[str]) -> Block:
    head, body, start = match["head"].strip(), match["body"], match.start("body")
    options: dict[str, str] = {}
    if head.startswith(_CODE_BLOCK):
        head = head.removeprefix(_CODE_BLOCK).strip()
        while option := _OPTION.match(body):
            options[option[1]] = option[2]
            body, start = body[option.end() :], start + option.end()
        if options:  # an empty line ends the options of a block
            body, start = body.removeprefix("\n"), start + body.startswith("\n")
    return Block(
        language=head,
        text=body,
        line=page.count("\n", 0, start) + 1,
        file=options.get("caption"),
        needs=match["about"] if match["mark"] == "needs" else None,
        not_run=match["about"] if match["mark"] == "not run" else None,
    )

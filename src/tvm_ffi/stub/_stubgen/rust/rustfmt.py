# SPDX-License-Identifier: Apache-2.0
"""Formatting of generated Rust: by ``rustfmt`` if it is installed, else indentation only."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..blocks import CodeBlock

__all__ = ["check_tokens", "format_blocks", "indented"]

_SEPARATOR = "// tvm-ffi-stubgen: next block"
_COMMENT = re.compile(r"^\s*//.*")
_TOKEN = re.compile(r'\w+|"(?:[^"\\]|\\.)*"|[^\s\w]')


def indented(lines: Iterable[str]) -> list[str]:
    """Return lines indented by the brackets that open at a line end and close at a line start."""
    result, depth = [], 0
    for line in lines:
        depth -= line.startswith(("}", ")"))
        result.append(" " * 4 * depth + line if line else "")
        depth += line.endswith(("{", "("))
    return result


def format_blocks(blocks: Sequence[CodeBlock], folder: Path) -> None:
    """Format filled blocks with ``rustfmt``, using its configuration for files in `folder`.

    The blocks do not change if ``rustfmt`` is not installed or rejects them.
    """
    program = shutil.which("rustfmt")
    if program is None or not blocks:
        return
    source = f"\n{_SEPARATOR}\n".join("\n".join(block.body) for block in blocks)
    done = subprocess.run(
        [program, "--edition=2021"],
        input=source,
        capture_output=True,
        encoding="utf-8",  # text mode replaces "\r\n", which rustfmt may write, by "\n"
        cwd=next(parent for parent in (folder, *folder.parents) if parent.is_dir()),
        check=False,
    )
    texts = done.stdout.split(_SEPARATOR)
    if done.returncode == 0 and len(texts) == len(blocks):
        for block, text in zip(blocks, texts):
            block.fill(text.strip("\n").split("\n") if text.strip() else [])


def check_tokens(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the tokens of Rust items, without comments, ``use`` declarations and line breaks."""
    kept = [
        line for line in lines if not _COMMENT.match(line) and not line.lstrip().startswith("use ")
    ]
    tokens = _TOKEN.findall("\n".join(kept))
    # Omit commas before closing brackets, because they depend on where rustfmt breaks lines.
    return tuple(
        token
        for token, following in zip(tokens, [*tokens[1:], ""])
        if not (token == "," and following in {")", "}", "]"})
    )

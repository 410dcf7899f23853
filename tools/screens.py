# SPDX-License-Identifier: Apache-2.0
"""Generator of the console and notebook screenshots (SVG) in docs/guides.

    python tools/screens.py           write docs/guides/screens/*.svg
    python tools/screens.py --check   exit status 1 if the files are out of date

The screenshots show real output of the installed package, so the script needs NumPy and a C
compiler.  The notebook is HTML embedded in SVG, which browsers render.
"""

from __future__ import annotations

import io
import os
import pydoc
import rlcompleter
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import tvm_ffi
from tvm_ffi import _new_package, libinfo
from tvm_ffi.observe._flame import Call, print_flame

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "guides" / "screens"
SOURCE = Path(_new_package.__file__).parent / "template" / "softmax.c"

CHAR_WIDTH, LINE_HEIGHT, MARGIN = 8, 19, 14
NOTEBOOK_WIDTH, CELL_GAP, CELL_LINE, TABLE_ROW = 640, 14, 22, 27

TERMINAL_STYLE = """\
rect { fill: #1e2430 }
text { font: 13.3px ui-monospace, Menlo, Consolas, monospace; fill: #d8dee9; white-space: pre }
.typed { fill: #88c0d0 }"""
NOTEBOOK_STYLE = """\
div, pre, td { font: 13px sans-serif; color: #222; margin: 0 }
pre { font-family: ui-monospace, Menlo, Consolas, monospace }
.page { background: #fff; padding: 14px; height: 100% }
.cell { background: #f5f5f5; border: 1px solid #ddd; padding: 2px 6px }
.mark { color: #3a6ea5; font-family: ui-monospace, monospace; font-size: 11px }
table { border-collapse: collapse; margin: 2px 6px }
caption { text-align: left; color: #666; font: 12px sans-serif; white-space: nowrap }
td { border: 1px solid #ddd; padding: 3px 10px; text-align: right }"""


# ---- Drawing of SVG files ------------------------------------------------------------------------


def terminal(lines: Sequence[str]) -> str:
    """Return an SVG of a console; lines that begin with ``>>> `` have the colour of input."""
    width = 2 * MARGIN + CHAR_WIDTH * max(map(len, lines))
    rows = []
    for number, line in enumerate(lines, 1):
        mark = ' class="typed"' if line.startswith(">>> ") else ""
        length = f' textLength="{CHAR_WIDTH * len(line)}"' if line else ""
        position = f'x="{MARGIN}" y="{MARGIN + number * LINE_HEIGHT - 5}"'
        rows.append(f"<text{mark} {position}{length}>{escape(line, quote=False)}</text>")
    background = '<rect width="100%" height="100%" rx="6"/>'
    height = 2 * MARGIN + LINE_HEIGHT * len(lines)
    return _svg(width, height, TERMINAL_STYLE, [background, *rows])


def notebook(cells: Sequence[tuple[str, str]]) -> str:
    """Return an SVG of a notebook, given the code and the result (HTML) of each cell."""
    page, height = [], 2 * MARGIN
    for number, (code, result) in enumerate(cells, 1):
        page.append(f'<div class="mark">[{number}]</div><pre class="cell">{escape(code)}</pre>')
        page.append(f"<div>{result}</div>")
        height += CELL_LINE * (2 + code.count("\n")) + CELL_GAP
        height += TABLE_ROW * (1 + result.count("<tr>")) if "<tr>" in result else CELL_LINE
    body = "\n".join(page)
    html = f'<div xmlns="http://www.w3.org/1999/xhtml" class="page">\n{body}\n</div>'
    size = f'width="{NOTEBOOK_WIDTH}" height="{height}"'
    return _svg(
        NOTEBOOK_WIDTH, height, NOTEBOOK_STYLE, [f"<foreignObject {size}>{html}</foreignObject>"]
    )


def _svg(width: int, height: int, style: str, body: Sequence[str]) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, f"<style>\n{style}\n</style>", *body, "</svg>\n"])


# ---- Contents of the screenshots -----------------------------------------------------------------


def help_screen(module: tvm_ffi.Module) -> str:
    """Return the SVG of a console with the output of ``help`` for a function."""
    text = pydoc.plain(pydoc.render_doc(module.softmax, "Help on %s:"))
    return terminal([">>> help(module.softmax)", *map(str.rstrip, text.strip().splitlines())])


def completion_screen(module: tvm_ffi.Module) -> str:
    """Return the SVG of a console with a tab completion."""
    completer = rlcompleter.Completer({"module": module})
    matches = [completer.complete("module.s", number) for number in range(10)]
    line = "  ".join(filter(None, matches))
    return terminal([">>> module.s[TAB]", line, ">>> module.softmax", repr(module.softmax)])


def notebook_screen() -> str:
    """Return the SVG of a notebook that displays a tensor and containers."""
    codes = [
        'tvm_ffi.from_dlpack(np.array([[0, 1], [2, 3]], "float32"))',
        'tvm_ffi.Map({"rows": 2, "names": ["a", "b"]})',
        "tvm_ffi.Array(range(1_000_000))",
    ]
    names = {"np": np, "tvm_ffi": tvm_ffi}
    return notebook([(code, _html_of(eval(code, names))) for code in codes])


def flame_screen() -> str:
    """Return the SVG of a console with the flame view of calls that took given times."""
    calls, now = [], 0
    for milliseconds in (0.2, 0.2, 2.9, 0.3):  # of my.pad in each call of my.softmax
        pad_end = now + 50_000 + round(milliseconds * 1e6)
        calls.append(Call(1, "my.softmax", now, pad_end + 450_000, "float32[63]", 0, 0))
        calls.append(Call(1, "my.pad", now + 50_000, pad_end, "float32[63]", 0, 0))
        calls.append(Call(1, "my.exp", pad_end, pad_end + 350_000, "float32[64]", 0, 0))
        now = pad_end + 500_000
    text = io.StringIO()
    print_flame(calls, text)
    return terminal([">>> trace.print_flame()", *map(str.rstrip, text.getvalue().splitlines())])


def _html_of(value: Any) -> str:
    make = getattr(value, "_repr_html_", None)
    html = None if make is None else make()
    return f"<pre>{escape(repr(value))}</pre>" if html is None else str(html)


def screens() -> dict[Path, str]:
    """Return the SVG text of each screenshot, by path."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "softmax.so"
        include = [f"-I{path}" for path in libinfo.include_paths()]
        command = [*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-shared", "-fPIC"]
        subprocess.run([*command, str(SOURCE), *include, "-o", str(library), "-lm"], check=True)
        module = tvm_ffi.load_module(library)
        return {
            FOLDER / "help.svg": help_screen(module),
            FOLDER / "completion.svg": completion_screen(module),
            FOLDER / "notebook.svg": notebook_screen(),
            FOLDER / "flame.svg": flame_screen(),
        }


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    wanted = screens()
    if arguments == ["--check"]:
        return int(
            any(not path.is_file() or path.read_text("utf-8") != wanted[path] for path in wanted)
        )
    FOLDER.mkdir(exist_ok=True)
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0
"""Command ``tvm-ffi cache``: output and exit status."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tvm_ffi import cpp
from tvm_ffi.cli import main

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")

TEXT = "int one;"


def test_list_of_an_empty_cache(capsys, cache):
    assert main(["cache", "list"]) == 0
    assert capsys.readouterr().out == f"0 in {cache}, 0 B\n"


def test_list_and_explain_print_artifacts_and_reasons(capsys):
    path = cpp.build_inline("first", c_sources=TEXT)
    cpp.build_inline("second", c_sources=TEXT)
    assert main(["cache", "list", "first"]) == 0
    line, last = capsys.readouterr().out.splitlines()
    assert line.endswith(path)
    assert last.startswith("1 in ")
    assert main(["cache", "list", "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == ["second", "first"]
    cpp.build_inline("first", c_sources=TEXT, extra_cflags=["-DX"])
    assert main(["cache", "explain", "first"]) == 0
    assert capsys.readouterr().out == "command for c_0.o: +-DX\n"


def test_explaining_an_unknown_name_fails(capsys):
    assert main(["cache", "explain", "nothing"]) == 1
    assert "contains no build named 'nothing'" in capsys.readouterr().err


def test_control_characters_in_the_cache_are_escaped(capsys, cache):
    path = Path(cpp.build_inline("first", c_sources=TEXT))
    evil = "first\x1b[31m"
    manifest = json.loads(path.with_name("manifest.json").read_text())
    manifest.update(name=evil, reasons=["\x1b]0;title\x07", "\ud800"])
    path.with_name("manifest.json").write_text(json.dumps(manifest))
    path.parent.rename(cache / f"{evil}_{'0' * 16}")
    assert main(["cache", "list"]) == 0
    assert f"first\\x1b[31m_{'0' * 16}/first.so\n1 in " in capsys.readouterr().out
    assert main(["cache", "explain", evil]) == 0
    assert capsys.readouterr().out == "\\x1b]0;title\\x07\n\\ud800\n"
    assert main(["cache", "list", "--root", "/no\x1b[31m"]) == 0
    assert capsys.readouterr().out == "0 in /no\\x1b[31m, 0 B\n"
    assert main(["cache", "explain", "\x1b"]) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_prune_removes_artifacts_by_age_size_and_name(capsys):
    path = Path(cpp.build_inline("first", c_sources=TEXT))
    assert main(["cache", "prune", "--unused-days", "0", "--dry-run"]) == 0
    assert "1 would be removed" in capsys.readouterr().out
    assert main(["cache", "prune", "--max-size", "1G"]) == 0
    assert capsys.readouterr().out == "0 removed, 0 B\n"
    assert path.exists()
    assert main(["cache", "prune", "second", "--unused-days", "0"]) == 0
    assert path.exists()
    assert main(["cache", "prune", "--max-size", "0"]) == 0
    assert not path.exists()


def test_an_invalid_size_is_an_error(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["cache", "prune", "--max-size", "big"])
    assert "expected a size such as 500M or 2G, got 'big'" in capsys.readouterr().err


@pytest.mark.parametrize("days", ["-1", "nan", "-inf", "many"])
def test_an_invalid_number_of_days_is_an_error(capsys, cache, days):
    """A negative number removed all builds, and NaN none."""
    path = Path(cpp.build_inline("first", c_sources=TEXT))
    with pytest.raises(SystemExit, match="2"):
        main(["cache", "prune", f"--unused-days={days}"])
    assert (
        f"--unused-days: expected a number of at least 0, got '{days}'" in capsys.readouterr().err
    )
    with pytest.raises(SystemExit, match="2"):
        main(["cache", "prune", "--max-size", "9" * 400])
    assert path.exists()


@pytest.mark.parametrize("number", [-1, -0.5, float("nan"), float("-inf")])
@pytest.mark.parametrize("name", ["unused_days", "max_bytes"])
def test_prune_refuses_negative_numbers(cache, name, number):
    path = Path(cpp.build_inline("first", c_sources=TEXT))
    with pytest.raises(
        ValueError, match=f"^{name}: expected a number of at least 0, got {number}$"
    ):
        cpp.cache.prune(**{name: number})
    assert path.exists()


def test_prune_without_options_prints_what_they_would_remove(capsys, cache):
    """Regression: the output was "0 removed", without a word on the options."""
    path = Path(cpp.build_inline("first", c_sources=TEXT))
    assert main(["cache", "prune"]) == 0
    assert path.exists()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "0 removed, 0 B",
        "no build was chosen; choose some by --unused-days N or --max-size SIZE:",
    ]
    assert lines[2] == "  --unused-days 30  would remove 0 builds, 0 B"
    assert lines[3].startswith("  --unused-days 0   would remove 1 build, ")


def test_without_an_action_the_help_and_the_size_are_printed(capsys, cache):
    cpp.build_inline("first", c_sources=TEXT)
    assert main(["cache"]) == 0
    help_text, _, last = capsys.readouterr().out.rpartition("\n\n")
    assert all(action in help_text for action in ("list", "explain", "prune"))
    assert last.startswith("1 build, ")
    assert last.endswith(f" in {cache}\n")

# SPDX-License-Identifier: Apache-2.0
"""Callers and callees in C, C++ and Rust on this runtime, on the reference, and without one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import pairs


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    return pairs.run(folder, pairs.own_runtimes(folder))


def test_each_caller_calls_each_callee_on_each_runtime(found):
    assert len(found) >= 9
    assert {key: text for key, text in found.items() if text != pairs.RIGHT} == {}


def test_mistakes_of_a_callee_are_found(tmp_path):
    """The callers tell a wrong result and an accepted argument from a right call."""
    callers, _ = pairs.build_all(tmp_path, None)
    source = (pairs.ROOT / "docs" / "guides" / "right_kernel.c").read_text(encoding="utf-8")
    changes = [
        ("[i * step_x] + 1", "[i * step_x] + 2", "the first call is wrong"),
        ("count != 2", "count == 1) return 0; if (count != 2", "one argument was accepted"),
    ]
    for old, new, text in changes:
        kernel = tmp_path / "kernel.c"
        kernel.write_text(source.replace(old, new), encoding="utf-8")
        library = pairs.compile_(
            "cc", kernel, tmp_path / "kernel.so", *pairs.OWN, "-shared", "-fPIC"
        )
        runtime = pairs.find_runtime()
        assert {pairs.call(caller, library, runtime) for caller in callers.values()} == {text}

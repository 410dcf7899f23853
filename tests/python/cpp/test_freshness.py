# SPDX-License-Identifier: Apache-2.0
"""Depfiles: the rules in which compilers list the files that they have read."""

from __future__ import annotations

import pytest

from tvm_ffi.cpp._freshness import parse_depfile


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.o: a.c b.h\n", ["a.c", "b.h"]),
        ("a.o: a.c \\\n  b.h \\\n c.h\n", ["a.c", "b.h", "c.h"]),
        ("a.o :  \\\n    a.c \\\n", ["a.c"]),  # the format that nvcc writes
        ("my\\ dir/a.o: my\\ dir/a.c\n", ["my dir/a.c"]),
        ("a.o: pri$$ce.h ha\\#sh.h\n", ["pri$ce.h", "ha#sh.h"]),
        ("a.o: C:/x.h föö.h it's.h\n", ["C:/x.h", "föö.h", "it's.h"]),
        ("a.o:\n", []),
        ("", []),
    ],
)
def test_parse_depfile_returns_the_prerequisites(text, expected):
    assert parse_depfile(text) == expected

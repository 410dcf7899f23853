# SPDX-License-Identifier: Apache-2.0
"""Fuzz target of `tvm-ffi inspect`: arbitrary bytes give a report, or `LibraryFileError`."""

from __future__ import annotations

import json

import coverage_guided

with coverage_guided.instrumented(__name__):
    from tvm_ffi._library.elf import Image
    from tvm_ffi.cli._module_tree import module_lines
    from tvm_ffi.inspection import LibraryFileError, compare_libraries
    from tvm_ffi.inspection._read import _report

# Largest size of a report, in bytes per byte of the library.
_MOST_OUTPUT = 300


def check(data: bytes) -> None:
    """Inspect a library whose bytes are in memory."""
    if not data:
        return
    try:
        report = _report(Image("library.so", data), {"TVMFFIGetVersion"})
    except LibraryFileError as error:
        assert str(error).startswith("library.so: byte ")  # noqa: PT017
        return
    assert report.size_bytes == len(data)
    assert report.is_served == (not report.problems)
    assert len(json.dumps(report.to_json(), indent=2)) < _MOST_OUTPUT * len(data)
    assert sum(map(len, module_lines(report.modules))) < _MOST_OUTPUT * len(data)
    assert not compare_libraries(report, report)


if __name__ == "__main__":
    coverage_guided.run(check)

# SPDX-License-Identifier: Apache-2.0
"""Licence lines of source files, and the limit of the length of files."""

from __future__ import annotations

SOURCE_SUFFIXES = {
    ".c", ".cc", ".h", ".map", ".pxd", ".pxi", ".py", ".pyi", ".pyx",  # types of source files
    ".rs",
    ".cmake", ".in", ".sh", ".toml",  # build files
}  # fmt: skip
SOURCE_NAMES = {"CMakeLists.txt", "Makefile", "run"}

SPDX = "SPDX-License-Identifier: Apache-2.0"
SPDX_WITHIN = 3  # lines; an interpreter line or a Cython directive may come first

MAX_LINES = 700
LONG_ON_PURPOSE = {"include/tvm/ffi/c_api.h"}  # this header is the whole C ABI


def is_source(path):
    return path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES


def test_sources_name_their_licence(repository, files):
    missing = []
    for path in filter(is_source, files):
        text = (repository / path).read_text(encoding="utf-8")
        if text and SPDX not in "".join(text.splitlines(keepends=True)[:SPDX_WITHIN]):
            missing.append(path.as_posix())
    assert missing == []


def test_sources_are_short_enough_to_read(repository, files):
    lengths = {
        path.as_posix(): len((repository / path).read_text(encoding="utf-8").splitlines())
        for path in filter(is_source, files)
        if path.parts[0] in ("include", "runtime", "src", "tests")
    }
    assert lengths, "no sources found"
    long = {path for path, lines in lengths.items() if lines > MAX_LINES}
    assert long - LONG_ON_PURPOSE == set()


# Files that test the package as a whole, and long tests that use all of the package.
NOT_MIRRORED = {"package", "stress"}


def test_python_tests_are_in_folders_that_mirror_the_package(files):
    sources = {
        tuple(part.lstrip("_") for part in path.parent.parts[2:])
        for path in files
        if path.parts[:2] == ("src", "tvm_ffi")
    }
    tests = {
        path.parent.parts[2:]
        for path in files
        if path.parts[:2] == ("tests", "python") and path.name.startswith("test_")
    }
    assert {folder for folder in tests - sources if folder[0] not in NOT_MIRRORED} == set()

# SPDX-License-Identifier: Apache-2.0
"""File names and paths in comments, docstrings and pages exist in the repository.

A checked word has the suffix of a source file, or begins with a top-level folder.  It may leave out
leading folders: ``call/function.pxi`` is a file of ``src/tvm_ffi/_binding``.
"""

from __future__ import annotations

import ast
import re

import pytest

# Words that are not paths of this repository: files of users and other projects, and examples in
# comments.
OTHER_FILES = {
    *("_api.py", "codegen.c", "operators.cc", "scale.h", "python/my_package/kernels.pyi"),  # users'
    *("a.h", "c.h", "b/c.h", "src/a/b.rs", "sub/answer.h"),  # results that a comment explains
    *("elf.h", "linux/posix_acl_xattr.h", "cpp_coverage.py"),  # paths outside this repository
    *("_detail.h", "_details.h"),  # suffixes of file names, not paths
}

SOURCES = ("c", "cc", "cmake", "h", "pxd", "pxi", "py", "pyx", "rs")
SUFFIXES = (*SOURCES, "cu", "map", "md", "pyi", "sh", "toml")  # SOURCES also without a folder
WORD = re.compile(r"(?<![\w./<@$~}*%-])(?:\.{1,2}/)*(\w[\w.+-]*(?:/[\w.+-]+)*)(?![\w/<@*{%(])")
PLACEHOLDER = re.compile(r"\b(?:test_)?(?:FILE|FOLDER|NAME)(?:_test)?\b")
URL = re.compile(r"\b\w+://\S+")
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)  # files in the code of users
SLASH_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|(//[^\n]*|/\*.*?\*/)', re.DOTALL)
HASH_COMMENT = re.compile(r"(?:^|\s)(#(?!include)[^\n]*)")
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def prose_of(path, text):
    """Return a file's comments and docstrings, or the text of a page; else an empty string."""
    if path.suffix == ".md":
        return FENCE.sub("", text)
    if path.suffix == ".py":
        nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED))
        return "\n".join(
            [*HASH_COMMENT.findall(text), *filter(None, map(ast.get_docstring, nodes))]
        )
    if path.suffix in {".pyx", ".pxd", ".pxi", ".pyi"}:
        return "\n".join([*HASH_COMMENT.findall(text), *DOCSTRING.findall(text)])
    if path.suffix in {".c", ".cc", ".cu", ".h", ".rs"}:
        return "\n".join(SLASH_COMMENT.findall(text))
    if path.suffix in {".cmake", ".sh", ".toml"} or path.name in {"CMakeLists.txt", "Makefile"}:
        return "\n".join(HASH_COMMENT.findall(text))
    return ""


def paths_in(prose, top_folders):
    """Return the words of a text that look like files or paths of the repository."""
    words = {word.rstrip(".") for word in WORD.findall(URL.sub("", prose))}
    return {
        word
        for word in words
        if not PLACEHOLDER.search(word)
        and (
            ("." in word and word.rpartition(".")[2] in (SUFFIXES if "/" in word else SOURCES))
            or ("/" in word and word.split("/")[0] in top_folders)
        )
    }


@pytest.fixture(scope="module")
def known(files):
    """Return all paths of files and folders, with and without suffix and parent folders."""
    paths = {*files, *(path.with_suffix("") for path in files)}
    paths |= {parent for path in files for parent in path.parents}
    return {"/".join(path.parts[i:]) for path in paths for i in range(len(path.parts))}


def test_named_files_exist(repository, files, known):
    top_folders = {path.parts[0] for path in files if len(path.parts) > 1}
    stale = {}
    for path in files:
        if path.suffix.removeprefix(".") in SUFFIXES or path.name in {"CMakeLists.txt", "Makefile"}:
            prose = prose_of(path, (repository / path).read_text(encoding="utf-8"))
            unknown = paths_in(prose, top_folders) - known - OTHER_FILES
            if unknown:
                stale[path.as_posix()] = sorted(unknown)
    assert stale == {}


# ---- Tables of docs/design/architecture.md -------------------------------------------------------


def table_rows(page, header):
    """Yield the first two cells of each row, in tables whose header begins with these cells."""
    for table in re.findall(rf"^\| {header} .*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE):
        for row in table.splitlines():
            yield tuple(cell.strip() for cell in row.split("|")[1:3])


def test_tables_of_the_architecture_name_existing_files(repository, known):
    page = (repository / "docs/design/architecture.md").read_text(encoding="utf-8")
    named, folder = [], ""
    for first, names in table_rows(page, r"folder \| files"):
        folder = first.strip("`") or folder
        named += [f"runtime/{folder}/{name}" for name in re.findall(r"`(\w+)`", names)]
    for packages, _ in table_rows(page, "package"):
        named += [f"src/tvm_ffi/{name}" for name in re.findall(r"`(\w+)`", packages)]
    assert len(named) > 100
    assert [name for name in named if name not in known] == []


# ---- The search ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prose", "expected"),
    [
        ("see `docs/a.md#part`, src/b and x/y.", {"docs/a.md", "src/b"}),
        ("[page](../guides/c.md); https://x.org/src/d.py", {"guides/c.md"}),
        (
            "and/or, src/*.c, <tvm/ffi/e.h>, $HOME/f.py, tests/NAME_test.cc, tests/g.cc",
            {"tests/g.cc"},
        ),
        ("`plan.py` and json.load", {"plan.py"}),
    ],
)
def test_words_that_are_checked(prose, expected):
    assert paths_in(prose, {"docs", "src", "tests"}) == expected

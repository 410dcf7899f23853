# SPDX-License-Identifier: Apache-2.0
"""Precompiled headers: when they are built and used, and that they change no result."""

from __future__ import annotations

import errno
import logging
import os
import shlex
import shutil
import time
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import cpp
from tvm_ffi.cpp import _cache_store, _precompiled
from tvm_ffi.cpp import cache as build_cache
from tvm_ffi.cpp._cache_store import Manifest
from tvm_ffi.cpp._precompiled import PrecompiledHeaders
from tvm_ffi.cpp._recipe import PRECOMPILED_NAME

pytestmark = pytest.mark.slow

VARIABLE = "TVM_FFI_CPP_EXTENSION_PRECOMPILE"
USE = "-include .precompiled_headers.hpp"
USING = f"*{USE.replace(' ', '?')}*"  # USE as a shell pattern

needs_cxx = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler is installed")


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, logger="tvm_ffi.cpp")
    return caplog


@pytest.fixture
def from_first_build(monkeypatch):
    """Precompile the headers already for the first build, not for the second."""
    monkeypatch.setenv(VARIABLE, "1")


def build(number: int, text: str = "", **options: object) -> Path:
    """Build a text and return its library's path; `number` makes the text different."""
    text = f"{text}\nint64_t number() {{ return {number}; }}"
    return Path(cpp.build_inline("kernel", cpp_sources=text, functions="number", **options))


def header_files() -> list[Path]:
    return [artifact.path for artifact in build_cache.find(PRECOMPILED_NAME)]


def compiled_with(log) -> list[bool]:
    """Return a bool per compilation since the last call: True if it used precompiled headers."""
    lines = [record.getMessage().partition("\n")[0] for record in log.records]
    log.clear()
    return [USE in line for line in lines if " -c main.cpp " in line]


# ---- Building and use ----------------------------------------------------------------------------


@needs_cxx
@pytest.mark.parametrize("compiler", ["c++", "clang++"])
def test_the_second_build_precompiles_headers_and_later_builds_use_them(compiler, monkeypatch, log):
    if shutil.which(compiler) is None:
        pytest.skip(f"the compiler {compiler} is not installed")
    monkeypatch.setenv("CXX", compiler)
    build(1)
    assert header_files() == []
    build(2)
    headers = header_files()
    assert [path.name for path in headers] == ["headers.hpp.gch"]
    build(3)
    assert compiled_with(log) == [False, True, True]
    assert header_files() == headers
    module = cpp.load_inline(
        "kernel", cpp_sources="int answer() { return 42; }", functions="answer"
    )
    assert module.answer() == 42
    assert compiled_with(log) == [True]


@needs_cxx
def test_each_set_of_options_has_its_headers(from_first_build, log):
    build(1)
    build(1, extra_cflags=["-O1"])
    build(2, extra_cflags=["-O1"])
    assert compiled_with(log) == [True, True, True]
    assert len(header_files()) == 2


@needs_cxx
def test_a_variable_disables_precompiled_headers(monkeypatch, log):
    monkeypatch.setenv(VARIABLE, "0")
    build(1)
    build(2)
    assert compiled_with(log) == [False, False]
    assert header_files() == []


@needs_cxx
@pytest.mark.parametrize("option", ["-include", "-imacros"])
def test_options_that_include_other_files_first_disable_precompiled_headers(
    option, from_first_build, log, tmp_path
):
    (tmp_path / "first.h").write_text("#define TEN 10\n")
    build(1, "static_assert(TEN == 10);", extra_cflags=[option, str(tmp_path / "first.h")])
    assert not any(compiled_with(log))
    assert header_files() == []


def test_unknown_compilers_and_device_code_use_no_precompiled_headers(
    from_first_build, fake_compilers, monkeypatch
):
    nvcc = fake_compilers.add("nvcc")
    monkeypatch.setenv("CXX", str(fake_compilers.add("c++")))
    monkeypatch.setenv("CUDA_HOME", str(nvcc.parents[1]))
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", "9.0")
    cpp.build_inline("kernel", cpp_sources="// C++")
    cpp.build_inline("kernel", cuda_sources="// CUDA")
    cpp.build_inline("kernel", cpp_sources="// C++", cuda_sources="// CUDA")
    assert [command[0] for command in fake_compilers.commands()].count("nvcc") == 2
    assert not any("headers.hpp" in word for line in fake_compilers.commands() for word in line)


@needs_cxx
def test_the_least_recently_used_headers_are_pruned(from_first_build, monkeypatch):
    build(1)
    first = header_files()
    os.utime(first[0].with_name("manifest.json"), (1, 1))
    monkeypatch.setattr(_precompiled, "_MAX_BYTES", first[0].stat().st_size * 3 // 2)
    build(1, extra_cflags=["-O1"])
    assert len(header_files()) == 1
    assert header_files() != first


# ---- Unchanged results ---------------------------------------------------------------------------

TEXT = """
#include <map>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/error.h>
#define string text
static int string = __COUNTER__ * 0;
template <typename T> T twice(T x) { return x + x; }
int64_t sum(tvm::ffi::Array<int64_t> values) {
  std::map<int64_t, int64_t> seen;
  for (int64_t value : values) seen[value] = twice(value);
  return seen.size() + string;
}
"""


@needs_cxx
def test_the_library_and_its_dependencies_are_the_same(tmp_path, monkeypatch, log):
    """The dependencies must contain the headers: otherwise a change of a header would be missed."""
    products = []
    for wish in ("0", "1"):
        monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / wish))
        monkeypatch.setenv(VARIABLE, wish)
        products.append(build(1, TEXT))
    assert compiled_with(log) == [False, True]
    plain, quick = (Manifest.read(path.parent) for path in products)
    assert plain.content == quick.content
    assert plain.dependencies == quick.dependencies
    assert any(path.endswith("/tvm/ffi/any.h") for path in quick.dependencies.installed)
    assert sorted(path.name for path in products[1].parent.iterdir()) == [
        "kernel.cpp", "kernel.so", "main.cpp", "manifest.json",
    ]  # fmt: skip


@needs_cxx
def test_compile_errors_are_the_same(monkeypatch, log):
    messages = []
    for wish in ("0", "1"):
        monkeypatch.setenv(VARIABLE, wish)
        with pytest.raises(RuntimeError) as caught:
            build(1, "int wrong = ;")
        messages.append(str(caught.value))
    assert compiled_with(log) == [False, True, False]
    assert messages[0] == messages[1]
    build(1)  # the precompiled headers are still usable
    assert compiled_with(log) == [True]


@needs_cxx
def test_a_new_header_that_shadows_a_precompiled_one_is_used(from_first_build, tmp_path, log):
    folder = tmp_path / "include"
    folder.mkdir()
    text = "#ifndef SEEN\n#define SEEN 0\n#endif\nint64_t seen() { return SEEN; }"

    def seen() -> int:
        module = cpp.load_inline(
            "seen", cpp_sources=text, functions="seen", extra_include_paths=[str(folder)]
        )
        return module.seen()

    assert seen() == 0
    for value in (1, 2):
        header = f"#pragma once\n#define SEEN {value}\n#include_next <string>\n"
        (folder / "string").write_text(header)
        assert seen() == value
    assert all(compiled_with(log))


@needs_cxx
def test_a_user_header_may_be_named_headers_hpp(from_first_build, tmp_path, log):
    """Regression: the text included ``headers.hpp`` of the build folder, not the user's file."""
    (tmp_path / "headers.hpp").write_text("#define TEN 10\n")
    text = '#include "headers.hpp"\nstatic_assert(TEN == 10);'
    build(1, text, extra_include_paths=[str(tmp_path)])
    assert all(compiled_with(log))


# ---- Failures ------------------------------------------------------------------------------------


@pytest.fixture
def wrapped_cxx(tmp_path, monkeypatch):
    """Return a function that makes $CXX a script that calls the C++ compiler.

    The script runs a shell command instead of the compiler if its arguments match a pattern; the
    default command fails.  The text of the script, which is part of cache keys, does not change.
    """

    def wrap(pattern: str, command: str = "exit 1") -> None:
        compiler = shlex.quote(shutil.which("c++"))
        script = tmp_path / "wrapped-cxx"
        script.write_text(f'#!/bin/sh\n. "$0.before"\nexec {compiler} "$@"\n', encoding="utf-8")
        before = tmp_path / "wrapped-cxx.before"
        before.write_text(f'case "$*" in {pattern}) {command};; esac\n', encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setenv("CXX", str(script))

    return wrap


@needs_cxx
@pytest.mark.parametrize("position", ["begin", "end"])
def test_damaged_headers_are_removed_and_built_again(position, from_first_build, log):
    """The output of a compiler that has read damaged headers is discarded."""
    build(1)
    (headers,) = header_files()
    content = headers.read_bytes()
    damaged = {"begin": bytes(2000) + content[2000:], "end": content[:-1] + b"?"}
    headers.write_bytes(damaged[position])
    log.clear()
    library = build(2)
    assert any(
        record.getMessage()
        == f"{headers} was removed: its content differs from the digest in its manifest"
        for record in log.records
    )
    assert compiled_with(log) == [True, False]
    assert header_files() == []
    assert tvm_ffi.load_module(str(library)).number() == 2
    build(3)
    assert compiled_with(log) == [True]
    assert header_files() == [headers]
    assert Manifest.read(headers.parent).is_whole(headers.parent)


@needs_cxx
def test_truncated_headers_are_not_read(from_first_build, log):
    build(1)
    (headers,) = header_files()
    os.truncate(headers, headers.stat().st_size - 1)
    log.clear()
    build(2)
    assert any("was built again" in record.getMessage() for record in log.records)
    assert compiled_with(log) == [True]
    assert Manifest.read(headers.parent).is_whole(headers.parent)


def damage_headers() -> None:
    (headers,) = header_files()
    headers.write_bytes(headers.read_bytes()[:-1] + b"?")


@needs_cxx
def test_a_compiler_that_hangs_on_damaged_headers_is_stopped(from_first_build, wrapped_cxx):
    """Regression: with blocks of zeros in the file, GCC and Clang may loop forever."""
    wrapped_cxx("nothing")
    build(1)
    damage_headers()
    wrapped_cxx(USING, "exec sleep 60")
    start = time.monotonic()
    build(2)
    assert time.monotonic() - start < 50
    assert header_files() == []


@needs_cxx
def test_the_depfile_of_a_compilation_with_damaged_headers_is_ignored(
    from_first_build, wrapped_cxx
):
    """Regression: Clang listed a folder, a path from the damaged file, and the build failed."""
    wrapped_cxx("nothing")
    build(1)
    damage_headers()
    wrapped_cxx(USING, "echo 'cpp_0.o: /' > cpp_0.o.d; touch cpp_0.o; exit 0")
    build(2)
    assert header_files() == []


@needs_cxx
def test_headers_that_cannot_be_read_are_kept(from_first_build, log, monkeypatch):
    build(1)
    (headers,) = header_files()
    content_digest = _cache_store.content_digest

    def fail(path: Path) -> str:
        if path == headers:
            raise OSError(errno.EMFILE, "Too many open files", str(path))
        return content_digest(path)

    for module in (_cache_store, _precompiled):
        monkeypatch.setattr(module, "content_digest", fail)
    log.clear()
    build(2)
    assert compiled_with(log) == [True, False]
    assert header_files() == [headers]


@needs_cxx
def test_headers_that_are_pruned_before_use_cause_no_warning(from_first_build, log, monkeypatch):
    build(1)
    (headers,) = header_files()
    use_in = PrecompiledHeaders.use_in

    def prune_first(*arguments: object) -> object:
        shutil.rmtree(headers.parent)
        return use_in(*arguments)

    monkeypatch.setattr(PrecompiledHeaders, "use_in", prune_first)
    library = build(2)
    assert tvm_ffi.load_module(str(library)).number() == 2
    assert not any(record.levelno >= logging.WARNING for record in log.records)


@needs_cxx
def test_headers_that_others_may_write_to_are_an_error(from_first_build):
    build(1)
    header_files()[0].chmod(0o666)
    with pytest.raises(PermissionError, match="all users may write to it"):
        build(2)


@needs_cxx
@pytest.mark.parametrize("pattern", [USING, "*c++-header*"], ids=["use", "make"])
def test_precompiled_headers_are_disabled_for_a_day_after_a_failure(
    pattern, wrapped_cxx, from_first_build, log, monkeypatch
):
    wrapped_cxx(pattern)
    build(1)
    attempts = len(compiled_with(log))
    build(2)
    assert compiled_with(log) == [False]
    tomorrow = time.time() + 90000
    monkeypatch.setattr("tvm_ffi.cpp._cache_store.time.time", lambda: tomorrow)
    build(3)
    assert len(compiled_with(log)) == attempts

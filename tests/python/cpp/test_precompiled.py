# SPDX-License-Identifier: Apache-2.0
"""Headers are read once for each compiler and its options, and nothing else is different then."""

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

VARIABLE = "TVM_FFI_CPP_EXTENSION_PRECOMPILE"
USE = "-include .precompiled_headers.hpp"
USING = f"*{USE.replace(' ', '?')}*"  # as a pattern of the shell

needs_cxx = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, logger="tvm_ffi.cpp")
    return caplog


@pytest.fixture
def at_once(monkeypatch):
    """Let the first text have them."""
    monkeypatch.setenv(VARIABLE, "1")


def build(number: int, text: str = "", **options: object) -> Path:
    """Return the library of a text that was not built before."""
    text = f"{text}\nint64_t number() {{ return {number}; }}"
    return Path(cpp.build_inline("kernel", cpp_sources=text, functions="number", **options))


def made() -> list[Path]:
    return [artifact.path for artifact in build_cache.find(PRECOMPILED_NAME)]


def compiled_with(log) -> list[bool]:
    """Return, for each compilation of C++ text since the last call, whether it had the headers."""
    lines = [record.getMessage().partition("\n")[0] for record in log.records]
    log.clear()
    return [USE in line for line in lines if " -c main.cpp " in line]


# ---- When they are made, and used ----------------------------------------------------------------


@needs_cxx
@pytest.mark.parametrize("compiler", ["c++", "clang++"])
def test_the_second_text_has_them_made_and_later_ones_use_them(compiler, monkeypatch, log):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    monkeypatch.setenv("CXX", compiler)
    build(1)
    assert made() == []
    build(2)
    headers = made()
    assert [path.name for path in headers] == ["headers.hpp.gch"]
    build(3)
    assert compiled_with(log) == [False, True, True]
    assert made() == headers
    module = cpp.load_inline(
        "kernel", cpp_sources="int answer() { return 42; }", functions="answer"
    )
    assert module.answer() == 42
    assert compiled_with(log) == [True]


@needs_cxx
def test_other_options_have_others(at_once, log):
    build(1)
    build(1, extra_cflags=["-O1"])
    build(2, extra_cflags=["-O1"])
    assert compiled_with(log) == [True, True, True]
    assert len(made()) == 2


@needs_cxx
def test_a_variable_turns_them_off(monkeypatch, log):
    monkeypatch.setenv(VARIABLE, "0")
    build(1)
    build(2)
    assert compiled_with(log) == [False, False]
    assert made() == []


@needs_cxx
@pytest.mark.parametrize("option", ["-include", "-imacros"])
def test_options_that_read_something_in_front_do_without(option, at_once, log, tmp_path):
    (tmp_path / "first.h").write_text("#define TEN 10\n")
    build(1, "static_assert(TEN == 10);", extra_cflags=[option, str(tmp_path / "first.h")])
    assert not any(compiled_with(log))
    assert made() == []


def test_compilers_that_are_not_known_and_device_code_do_without(at_once, stand_ins, monkeypatch):
    nvcc = stand_ins.add("nvcc")
    monkeypatch.setenv("CXX", str(stand_ins.add("c++")))
    monkeypatch.setenv("CUDA_HOME", str(nvcc.parents[1]))
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", "9.0")
    cpp.build_inline("kernel", cpp_sources="// C++")
    cpp.build_inline("kernel", cuda_sources="// CUDA")
    cpp.build_inline("kernel", cpp_sources="// C++", cuda_sources="// CUDA")
    assert [command[0] for command in stand_ins.commands()].count("nvcc") == 2
    assert not any("headers.hpp" in word for line in stand_ins.commands() for word in line)


@needs_cxx
def test_those_that_were_not_used_for_the_longest_time_go(at_once, monkeypatch):
    build(1)
    first = made()
    os.utime(first[0].with_name("manifest.json"), (1, 1))
    monkeypatch.setattr(_precompiled, "_MAX_BYTES", first[0].stat().st_size * 3 // 2)
    build(1, extra_cflags=["-O1"])
    assert len(made()) == 1
    assert made() != first


# ---- Nothing else is different -------------------------------------------------------------------

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
def test_the_library_is_the_same_and_known_by_the_same_files(tmp_path, monkeypatch, log):
    """What it was made from has to contain the headers, or a change of them would not be seen."""
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
def test_errors_are_those_of_a_compilation_without_them(monkeypatch, log):
    said = []
    for wish in ("0", "1"):
        monkeypatch.setenv(VARIABLE, wish)
        with pytest.raises(RuntimeError) as caught:
            build(1, "int wrong = ;")
        said.append(str(caught.value))
    assert compiled_with(log) == [False, True, False]
    assert said[0] == said[1]
    build(1)  # they are as good as before
    assert compiled_with(log) == [True]


@needs_cxx
def test_a_header_that_appears_in_front_of_one_of_them_is_seen(at_once, tmp_path, log):
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
def test_a_header_of_the_users_may_have_the_name_of_theirs(at_once, tmp_path, log):
    """The text found ``headers.hpp`` of the build folder before the user's."""
    (tmp_path / "headers.hpp").write_text("#define TEN 10\n")
    text = '#include "headers.hpp"\nstatic_assert(TEN == 10);'
    build(1, text, extra_include_paths=[str(tmp_path)])
    assert all(compiled_with(log))


# ---- What goes wrong -----------------------------------------------------------------------------


@pytest.fixture
def wrapped_cxx(tmp_path, monkeypatch):
    """Return a function that has a shell command run, when arguments match a pattern.

    It stands for the C++ compiler, and fails if none is given.
    """

    def wrap(pattern: str, command: str = "exit 1") -> None:
        compiler = shlex.quote(shutil.which("c++"))
        script = tmp_path / "wrapped-cxx"
        script.write_text(
            f'#!/bin/sh\ncase "$*" in {pattern}) {command};; esac\nexec {compiler} "$@"\n',
            encoding="utf-8",
        )
        script.chmod(0o755)
        monkeypatch.setenv("CXX", str(script))

    return wrap


@needs_cxx
@pytest.mark.parametrize("place", ["begin", "end"])
def test_damaged_ones_are_made_again(place, at_once, log):
    """A compiler that reads them meanwhile may fail, or make anything: that is thrown away."""
    build(1)
    (headers,) = made()
    content = headers.read_bytes()
    damaged = {"begin": bytes(2000) + content[2000:], "end": content[:-1] + b"?"}
    headers.write_bytes(damaged[place])
    log.clear()
    library = build(2)
    assert any(
        record.getMessage()
        == f"{headers} was removed: its content differs from the digest in its manifest"
        for record in log.records
    )
    assert compiled_with(log) == [True, False]
    assert made() == []
    assert tvm_ffi.load_module(str(library)).number() == 2
    build(3)
    assert compiled_with(log) == [True]
    assert made() == [headers]
    assert Manifest.read(headers.parent).is_whole(headers.parent)


@needs_cxx
def test_shortened_ones_are_not_read(at_once, log):
    build(1)
    (headers,) = made()
    os.truncate(headers, headers.stat().st_size - 1)
    log.clear()
    build(2)
    assert any("was built again" in record.getMessage() for record in log.records)
    assert compiled_with(log) == [True]
    assert Manifest.read(headers.parent).is_whole(headers.parent)


def damaged() -> None:
    (headers,) = made()
    headers.write_bytes(headers.read_bytes()[:-1] + b"?")


@needs_cxx
def test_a_compiler_that_damaged_ones_keep_busy_is_stopped(at_once, wrapped_cxx):
    """Over blocks of zeros, GCC and Clang may go round in circles: no build came to an end."""
    wrapped_cxx("nothing")
    build(1)
    damaged()
    wrapped_cxx(USING, "exec sleep 60")
    start = time.monotonic()
    build(2)
    assert time.monotonic() - start < 50
    assert made() == []


@needs_cxx
def test_headers_that_damaged_ones_name_are_not_looked_at(at_once, wrapped_cxx):
    """Clang lists the names in them; that of a folder was an OSError for each later build."""
    wrapped_cxx("nothing")
    build(1)
    damaged()
    wrapped_cxx(USING, "echo 'cpp_0.o: /' > cpp_0.o.d; touch cpp_0.o; exit 0")
    build(2)
    assert made() == []


@needs_cxx
def test_those_that_cannot_be_read_now_are_kept(at_once, log, monkeypatch):
    build(1)
    (headers,) = made()
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
    assert made() == [headers]


@needs_cxx
def test_those_that_are_pruned_before_they_are_read_are_not_called_damaged(
    at_once, log, monkeypatch
):
    build(1)
    (headers,) = made()
    use_in = PrecompiledHeaders.use_in

    def prune_first(*arguments: object) -> object:
        shutil.rmtree(headers.parent)
        return use_in(*arguments)

    monkeypatch.setattr(PrecompiledHeaders, "use_in", prune_first)
    library = build(2)
    assert tvm_ffi.load_module(str(library)).number() == 2
    assert not any(record.levelno >= logging.WARNING for record in log.records)


@needs_cxx
def test_the_cache_must_be_safe(at_once):
    build(1)
    made()[0].chmod(0o666)
    with pytest.raises(PermissionError, match="all users may write to it"):
        build(2)


@needs_cxx
@pytest.mark.parametrize("pattern", [USING, "*c++-header*"], ids=["use", "make"])
def test_a_compiler_that_cannot_is_not_asked_again_for_a_day(
    pattern, wrapped_cxx, at_once, log, monkeypatch
):
    wrapped_cxx(pattern)
    build(1)
    tried = len(compiled_with(log))
    build(2)
    assert compiled_with(log) == [False]
    tomorrow = time.time() + 90000
    monkeypatch.setattr("tvm_ffi.cpp._cache_store.time.time", lambda: tomorrow)
    build(3)
    assert len(compiled_with(log)) == tried

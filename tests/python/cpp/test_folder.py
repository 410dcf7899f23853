# SPDX-License-Identifier: Apache-2.0
"""Builds with `build_directory`: file names, ninja, lock and log."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from tvm_ffi import cpp
from tvm_ffi.cpp._ninja import find_ninja, ninja_text
from tvm_ffi.cpp._recipe import Step
from tvm_ffi.utils import FileLock

pytestmark = pytest.mark.skipif(find_ninja() is None, reason="no ninja")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")

TEXT = "int one(void) { return 1; }"


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "it's a föld$er: one"


def test_generated_files_have_the_names_of_the_contract(
    fake_compilers, monkeypatch, folder, cache, tmp_path
):
    nvcc = fake_compilers.add("nvcc")
    monkeypatch.setenv("CUDA_HOME", str(nvcc.parents[1]))
    monkeypatch.setenv("CXX", str(fake_compilers.add("c++")))
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", "9.0a")
    path = cpp.build_inline(
        "kernel", cpp_sources="// one", cuda_sources="// two", build_directory=str(folder)
    )
    assert path == str(folder / "kernel.so")
    names = {"main.cpp", "cuda.cu", "build.ninja", "lock", "cpp_0.o", "cuda_0.o", "kernel.so"}
    assert names <= {file.name for file in folder.iterdir()}
    text = (folder / "main.cpp").read_text()
    assert text == (
        "#include <tvm/ffi/container/tensor.h>\n"
        "#include <tvm/ffi/dtype.h>\n"
        "#include <tvm/ffi/error.h>\n"
        "#include <tvm/ffi/extra/c_env_api.h>\n"
        "#include <tvm/ffi/function.h>\n"
        '#line 1 "kernel.cpp"\n'
        "// one\n"
    )
    assert not any(entry.suffix == ".so" for entry in cache.rglob("*"))


@needs_cc
def test_ninja_runs_only_the_outdated_commands(wrapped_cc, folder):
    log = wrapped_cc()

    def build(text: str = TEXT, **options: object) -> int:
        log.write_text("")
        cpp.build_inline("kernel", c_sources=text, build_directory=str(folder), **options)
        return len(log.read_text().splitlines())

    assert build() == 2
    assert build() == 0
    assert build(extra_ldflags=["-lm"]) == 1
    assert build(extra_ldflags=["-lm"], text="int two;") == 2


@needs_cc
def test_a_build_waits_for_the_lock_of_the_folder(wrapped_cc, folder, tmp_path):
    started = tmp_path / "started"
    wrapped_cc(f'touch "{started}"')
    folder.mkdir()
    lock = FileLock(folder / "lock")
    lock.acquire()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            cpp.build_inline("kernel", c_sources=TEXT, build_directory=str(folder))
            os.write(write, b"built")
        finally:
            os._exit(0)
    time.sleep(0.2)
    assert not started.exists()
    lock.release()
    assert os.read(read, 5) == b"built"
    os.waitpid(child, 0)


@needs_cc
def test_an_error_in_the_only_source_names_the_compiler(folder):
    with pytest.raises(RuntimeError, match=r"^[^ ]+ exited with status 1\nstdout:\n") as caught:
        cpp.build_inline("kernel", c_sources="int one = ;", build_directory=str(folder))
    assert "FAILED" in str(caught.value)
    assert "kernel.c:1:11: error:" in str(caught.value)
    assert "ninja" not in str(caught.value)


@needs_cc
def test_an_error_in_one_of_several_sources_contains_the_output_of_ninja(folder, tmp_path):
    for name, text in (("good.c", "int one;"), ("bad.c", "int one = ;")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    sources = [str(tmp_path / "good.c"), str(tmp_path / "bad.c")]
    with pytest.raises(RuntimeError, match=r"^ninja exited with status 1\nstdout:\n") as caught:
        cpp.build("kernel", sources=sources, build_directory=str(folder))
    assert "bad.c:1:11: error:" in str(caught.value)


@needs_cc
def test_a_verbose_build_shows_its_commands(capsys, folder, cache):
    cpp.build_inline("kernel", c_sources=TEXT, build_directory=str(folder), verbose=True)
    out, err = capsys.readouterr()
    assert ("-o c_0.o" in err, out) == (True, "")
    first = cpp.build_inline("kernel", c_sources=TEXT, verbose=True)
    assert "-fPIC" in capsys.readouterr().err
    cpp.build_inline("kernel", c_sources=TEXT, verbose=True)
    assert f"kernel is in the cache: {first}" in capsys.readouterr().err
    cpp.build_inline("kernel", c_sources=TEXT)
    assert capsys.readouterr() == ("", "")


@needs_cc
@pytest.mark.parametrize(("value", "stream"), [("1", 1), ("stderr", 1), ("stdout", 0), ("", None)])
def test_a_variable_selects_the_stream_of_the_log(monkeypatch, capsys, folder, value, stream):
    monkeypatch.setenv("TVM_FFI_CPP_EXTENSION_LOG_BUILD", value)
    cpp.build_inline("kernel", c_sources=TEXT, build_directory=str(folder))
    outputs = capsys.readouterr()
    assert ["-o c_0.o" in output for output in outputs] == [stream == 0, stream == 1]


def test_an_invalid_number_of_jobs_names_the_variable(tmp_path, monkeypatch):
    """The error message of ninja would not name MAX_JOBS."""
    (tmp_path / "build.ninja").write_text("rule r\n  command = true\nbuild x: r\n")
    cpp.extension.build_ninja(str(tmp_path))
    for jobs in ("1", " 2 ", "0"):
        monkeypatch.setenv("MAX_JOBS", jobs)
        cpp.extension.build_ninja(str(tmp_path))
    for jobs in ("many", "-1", "\u0662"):
        monkeypatch.setenv("MAX_JOBS", jobs)
        with pytest.raises(
            ValueError, match=r"\$MAX_JOBS must be a number of parallel jobs, got '"
        ):
            cpp.extension.build_ninja(str(tmp_path))


def test_missing_ninja_is_named(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "ninja", None)
    monkeypatch.setattr(shutil, "which", lambda name, **_: None)
    with pytest.raises(
        RuntimeError, match=r'ninja is not found; install it with `pip install "pytvmffi\[cpp\]"`'
    ):
        cpp.extension.build_ninja(".")


def test_ninja_text_escapes_commands_and_paths():
    steps = [
        Step(("cc", "-DX=$HOME", "-c", "a b:c.c", "-o", "c_0.o"), ("a b:c.c",), "c_0.o", "c_0.o.d"),
        Step(("cc", "c_0.o", "-o", "ü.so"), ("c_0.o",), "ü.so", level=1),
    ]
    assert ninja_text(steps) == (
        "ninja_required_version = 1.5\n\n"
        "rule step_0\n"
        "  command = cc '-DX=$$HOME' -c 'a b:c.c' -o c_0.o\n"
        "  depfile = c_0.o.d\n"
        "build c_0.o: step_0 a$ b$:c.c\n\n"
        "rule step_1\n"
        "  command = cc c_0.o -o 'ü.so'\n"
        "build ü.so: step_1 c_0.o\n\n"
        "default ü.so\n"
    )


def test_a_line_break_in_a_flag_is_an_error():
    with pytest.raises(ValueError, match="line breaks"):
        ninja_text([Step(("cc", "-DX=a\nb"), (), "x")])

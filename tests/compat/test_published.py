# SPDX-License-Identifier: Apache-2.0
"""Unmodified published libraries and packages on this runtime.

Wheels are unpacked without their requirements: ``tvm_ffi`` is this project's package.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_ffi.inspection import inspect_library

from .libraries import compiler
from .rows import right, row
from .symbols import dynamic_symbols, symbols_asked_for

CLIENTS = Path(__file__).resolve().parent / "clients"

# Wheels to unpack, oldest release first, and their libraries.
TILELANG = ("tilelang==0.1.15", "z3-solver==4.15.4.0")
LIBRARIES = [
    (("xgrammar==0.1.34",), "xgrammar/libxgrammar_bindings.so"),
    (("xgrammar==0.2.7",), "xgrammar/libxgrammar_bindings.so"),
    (("xgrammar==0.2.8",), "xgrammar/libxgrammar_bindings.so"),
    (("jax-tvm-ffi==0.1.0",), "jax_tvm_ffi/jax_tvm_ffi.so"),
    (("jax-tvm-ffi==0.1.3",), "jax_tvm_ffi/jax_tvm_ffi.so"),
    (("apache-tvm-ffi-orcjit==0.1.0",), "tvm_ffi_orcjit/lib/libtvm_ffi_orcjit.so"),
    (("apache-tvm-ffi-orcjit==0.1.3",), "tvm_ffi_orcjit/lib/libtvm_ffi_orcjit.so"),
    (TILELANG, "tilelang/lib/libtvm_runtime.so"),
    (TILELANG, "tilelang/lib/libtvm_compiler.so"),
    (TILELANG, "tilelang/lib/libtilelang.so"),
]
ORCJIT = LIBRARIES[6]


def library_id(value):
    return f"{value[0][0]}-{Path(value[1]).name}"


@pytest.mark.parametrize("published", LIBRARIES, ids=library_id)
def test_published_library_imports_only_known_symbols(client, ours, published):
    """Each imported symbol is in the contract's list, and is exported or known to be missing."""
    requirements, path = published
    needed = symbols_asked_for(client(*requirements) / path)
    served = dynamic_symbols(ours.library, "--defined-only")
    assert needed
    assert sorted(needed - served) == []


def run_python(*arguments, search_path=(), folder=None):
    """Run this interpreter, which has this project's package, and return its output."""
    inherited = os.environ.get("PYTHONPATH")
    folders = [*map(str, search_path), *filter(None, [inherited])]
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


LOAD = """
import ctypes, os, sys, tvm_ffi
ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)
print("loaded")
"""


@pytest.mark.parametrize("published", LIBRARIES, ids=library_id)
def test_published_library_loads(client, published):
    """All symbols are bound eagerly, and all registrations succeed."""
    requirements, path = published
    assert run_python("-c", LOAD, client(*requirements) / path) == "loaded\n"


# Evidence of the ABI level: the last form of Stringify (0.1.12), and ReprPrint, added in 0.1.11.
ERAS = {"libtvm_compiler.so": ("0.1.11", "0.1.12"), "libtvm_runtime.so": (None, "0.1.12")}


@pytest.mark.parametrize("published", LIBRARIES, ids=library_id)
def test_inspect_reports_a_published_library(client, published):
    requirements, path = published
    report = inspect_library(client(*requirements) / path)
    assert report.problems == ()
    assert {symbol.name for symbol in report.symbols} == symbols_asked_for(Path(report.path))
    if Path(path).name in ERAS:
        assert (report.era.at_least, report.era.at_most) == ERAS[Path(path).name]


LOAD_TWICE = """
import sys, tvm_ffi
for path in sys.argv[1:]:
    tvm_ffi.load_module(path)
print("loaded")
"""


def test_two_releases_of_xgrammar_in_one_process(client):
    """The second release registers its types again: this warns and keeps the first registration."""
    first, second = (
        client(f"xgrammar=={release}") / "xgrammar/libxgrammar_bindings.so"
        for release in ("0.2.7", "0.2.8")
    )
    done = subprocess.run(
        [sys.executable, "-c", LOAD_TWICE, first, second],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "loaded\n")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"warning: {second} registers the type `xgrammar.")
    assert f"already registered by {first};" in done.stderr


# ---- xgrammar -----------------------------------------------------------------------------------

# The number of parameters of the matcher's constructor.
XGRAMMAR = {"xgrammar==0.1.34": 4, "xgrammar==0.2.7": 5, "xgrammar==0.2.8": 5}


@pytest.mark.parametrize("release", XGRAMMAR)
def test_xgrammar_masks_tokens(client, use_client, release):
    library = client(release) / "xgrammar/libxgrammar_bindings.so"
    steps = row("use", right("use_xgrammar", XGRAMMAR[release]))
    assert use_client("use_xgrammar.cc", library, steps) is None


@pytest.mark.parametrize("release", XGRAMMAR)
def test_xgrammar_masks_tokens_from_python(client, pydantic, tmp_path, release):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    search_path = [client(release), pydantic]
    printed = run_python(CLIENTS / "use_xgrammar.py", search_path=search_path, folder=tmp_path)
    assert printed == "done\n"


# ---- ORC-JIT ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def object_file(ours, tmp_path_factory):
    """Return an object file with one exported function."""
    target = tmp_path_factory.mktemp("orcjit") / "kernel.o"
    includes = [f"-I{folder}" for folder in ours.include_folders]
    source = CLIENTS / "kernel.cc"
    subprocess.run([*compiler(), "-O2", "-fPIC", *includes, "-c", source, "-o", target], check=True)
    return target


def test_orcjit_links_an_object_file(client, use_client, object_file):
    requirements, path = ORCJIT
    steps = row("use", right("use_orcjit", str(object_file)))
    assert use_client("use_orcjit.cc", client(*requirements) / path, steps) is None


def test_orcjit_links_an_object_file_from_python(client, object_file):
    program = [CLIENTS / "use_orcjit.py", object_file]
    printed = run_python(*program, search_path=[client(*ORCJIT[0])])
    assert printed == "used orcjit\n"

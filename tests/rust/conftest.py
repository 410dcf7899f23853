# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run cargo and build Rust packages; all builds share one target folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from tvm_ffi import libinfo

REPOSITORY = Path(__file__).resolve().parents[2]
CRATE = REPOSITORY / "rust"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "build" / "rust")
LIBRARIES = TARGET / os.environ.get("CARGO_BUILD_TARGET", "") / "debug"

MANIFEST = """\
[package]
name = "{name}"
version = "0.1.0"
edition = "2021"

[lib]
crate-type = ["cdylib"]

[dependencies]
pytvmffi = {{ path = "{crate}" }}
"""


@pytest.fixture(scope="session")
def cargo() -> Callable[..., str]:
    """Return a function that runs cargo in a folder and returns its output."""
    program = shutil.which("cargo")
    if program is None:
        pytest.skip("cargo is not installed")

    def run(*arguments: str, cwd: Path, status: int = 0) -> str:
        done = subprocess.run(
            [program, *arguments, "--offline", "--color=never"],
            cwd=cwd,
            env={
                **os.environ,
                "CARGO_TARGET_DIR": str(TARGET),
                "RUST_BACKTRACE": "0",
                "TVM_FFI_LIBDIR": str(Path(libinfo.find_libtvm_ffi()).parent),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == status, (
            f"cargo {arguments} gave {done.returncode}:\n{done.stdout}"
        )
        return done.stdout

    return run


@pytest.fixture(scope="session")
def write_package(tmp_path_factory) -> Callable[[str, str], Path]:
    """Return a function that writes a package with one source file that uses the crate."""

    def write(name: str, source: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        (folder / "src").mkdir()
        (folder / "src" / "lib.rs").write_text(source, encoding="utf-8")
        manifest = MANIFEST.format(name=name, crate=CRATE)
        (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def build_library(cargo, write_package, tmp_path_factory) -> Callable[[str, str], Path]:
    """Return a function that builds a library from source text."""

    def build(name: str, source: str) -> Path:
        cargo("build", cwd=write_package(name, source))
        # Copies the library, because another test may build a library with the same name.
        return Path(shutil.copy(LIBRARIES / f"lib{name}.so", tmp_path_factory.mktemp("so")))

    return build

# SPDX-License-Identifier: Apache-2.0
"""The Rust program and the build script on the page of the guide, and the crate in the package."""

from __future__ import annotations

import re
from pathlib import Path

from tvm_ffi import libinfo

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "rust.md"

MAIN = """
fn main() -> Result<()> {
    let log = Function::from_fn(|name: String, value: f64| println!("{name}: {value}"))?;
    log.register("my.logger", false)?;
    total(vec![1.5, 2.5])?;
    Ok(())
}
"""
KERNELS = """
fn sum(values: Vec<f64>) -> f64 {
    values.into_iter().sum()
}
pytvmffi::export!(sum, "sum(values: Array[float]) -> float");
"""


def test_the_program_of_the_guide_runs(cargo, write_package, build_library):
    text = GUIDE.read_text(encoding="utf-8")
    calls, build = re.findall(r"^```rust\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    package = write_package("program", calls + MAIN)
    (package / "src" / "lib.rs").rename(package / "src" / "main.rs")
    manifest = package / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace('[lib]\ncrate-type = ["cdylib"]\n', ""))
    (package / "build.rs").write_text(build, encoding="utf-8")
    build_library("sum", KERNELS).rename(package / "libkernels.so")
    assert cargo("run", "--quiet", cwd=package) == "total: 4\n"


def test_packages_outside_the_repository_depend_on_the_crate_of_the_python_package(
    cargo, write_package
):
    """The guide shows these commands."""
    crate = libinfo.find_rust_path()
    command = 'cargo add --quiet --path "$(tvm-ffi-config --rust)"'
    assert command in GUIDE.read_text(encoding="utf-8")
    package = write_package("outside", KERNELS)
    manifest = package / "Cargo.toml"
    manifest.write_text(manifest.read_text().partition("[dependencies]")[0], encoding="utf-8")
    cargo("add", "--path", crate, cwd=package)
    written = re.search(
        r'^pytvmffi = \{ version = "0.1.15", path = "(.*)" \}$', manifest.read_text(), re.M
    )
    assert (package / written[1]).resolve() == Path(crate).resolve()
    cargo("check", cwd=package)

# SPDX-License-Identifier: Apache-2.0
"""The C++ examples: the commands of their READMEs print the shown output."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

NAMES = (
    "custom_module",
    "inline_module",
    "inspect",
    "kernel_library",
    "quickstart_cpp",
    "tensor_allocators",
)

# Packages that an example imports besides tvm_ffi.
PACKAGES = {"inline_module": ("numpy",), "inspect": ("rich",)}
HAS_TORCH = importlib.util.find_spec("torch") is not None
TORCH_LINE = "PyTorch  made a torch.Tensor of [2, 3]\n"
NO_TORCH_LINE = "PyTorch  not installed, skipped\n"

needs_cxx = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler is installed")


@needs_cxx
@pytest.mark.parametrize("name", NAMES)
def test_commands_of_the_readme(example, run, readme_blocks, name):
    for package in PACKAGES.get(name, ()):
        pytest.importorskip(package)
    (commands,) = readme_blocks(name, "sh")
    (shown,) = readme_blocks(name, "")
    if not HAS_TORCH:
        shown = shown.replace(TORCH_LINE, NO_TORCH_LINE)
    output = run("sh", "-euc", commands, cwd=example(name), timeout_s=300)
    if name == "inline_module":  # the last line of the output depends on the machine
        *output_lines, last_line = output.splitlines()
        assert output_lines == shown.splitlines()[:-1]
        assert last_line.startswith(("CUDA fill wrote [7.0, 7.0, 7.0]", "CUDA no "))
    else:
        assert output == shown


@needs_cxx
def test_the_quickstart_reports_a_missing_library(example, run):
    """The error names the library; without an argument, the program prints its usage."""
    folder = example("quickstart_cpp")
    flags = run("tvm-ffi-config", "--cxxflags", "--ldflags", "--libs", cwd=folder).split()
    libdir = run("tvm-ffi-config", "--libdir", cwd=folder).strip()
    run("c++", "main.cc", *flags, f"-Wl,-rpath,{libdir}", "-o", "main", cwd=folder, timeout_s=120)
    output = run("./main", "./missing.so", cwd=folder)
    assert output.startswith("caught   FileNotFoundError: Failed to load")
    assert "missing.so" in output
    assert "usage: " in run("./main", cwd=folder, status=2)

# SPDX-License-Identifier: Apache-2.0
"""The packaging example: its wheel is installed in an empty environment."""

from __future__ import annotations

import importlib.util
import re
import shutil
import zipfile

import pytest
from installed_wheel import write_installed_wheel

NAME = "python_packaging"

# This program runs in a fresh environment with the two wheels, without NumPy.
USE = """
import pair_extension, sys, tvm_ffi
pair = pair_extension.IntPair(3, 4)
print(pair, pair.sum(), pair_extension.mirror(pair))
folders = {module.__file__.startswith(sys.prefix) for module in (pair_extension, tvm_ffi)}
print(folders, "numpy" in sys.modules)
"""
USED = "IntPair(3, 4, name='pair') 7 IntPair(4, 3, name='pair')\n{True} False\n"

pytestmark = [
    pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler is installed"),
    pytest.mark.skipif(
        importlib.util.find_spec("scikit_build_core") is None, reason="no scikit-build-core"
    ),
]


def test_the_wheel_works_in_a_fresh_environment(example, run, readme_blocks, tmp_path):
    folder = example(NAME)
    (commands,) = readme_blocks(NAME, "sh")
    (shown,) = readme_blocks(NAME, "")
    output = run("sh", "-euc", commands, cwd=folder, timeout_s=300)
    assert output.endswith(shown)  # after the output of pip

    (wheel,) = (folder / "build" / "dist").glob("*.whl")
    assert re.fullmatch(r"pair_extension-0\.1\.0-py3-none-linux_\w+\.whl", wheel.name)
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if name.startswith("pair_extension/")} == {
        f"pair_extension/{name}" for name in ("__init__.py", "_library.py", "pair.py")
    } | {"pair_extension/pair_extension.so"}

    write_installed_wheel(wheel.parent)
    environment = tmp_path / "environment"
    run("python", "-m", "venv", "--without-pip", environment, cwd=tmp_path)
    python = environment / "bin" / "python"
    # pip installs the dependency from the other wheel in the same folder.
    options = ["--no-index", "--find-links", wheel.parent, "--disable-pip-version-check"]
    command = ["python", "-m", "pip", "--python", python, "install", *options, "pair-extension"]
    output = run(*command, cwd=tmp_path, PYTHONPATH="")
    assert re.search(r"Successfully installed pair-extension-0\.1\.0 pytvmffi-", output)
    assert run(python, "-c", USE, cwd=tmp_path, PYTHONPATH="") == USED

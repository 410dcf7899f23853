# SPDX-License-Identifier: Apache-2.0
"""Environment of FlashInfer's compiler on machines without a GPU, for the programs that use it.

Importing this module imports FlashInfer, after setting the environment variables that it reads; it
requires a CUDA compiler, but no GPU and no driver.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import tvm_ffi


def libraries_of_the_toolkit() -> list[str]:
    """Return a folder with nvcc's libraries as `lib64`, the only name that FlashInfer searches."""
    options = ["--dryrun", "-x", "cu", "/dev/null"]
    printed = subprocess.run(["nvcc", *options], capture_output=True, text=True, check=True).stderr
    found = re.search(r"^#\$ TOP=(.*)$", printed, re.MULTILINE)
    assert found is not None, printed
    top = Path(found[1])
    return [str(folder) for folder in (top / "lib64", top / "lib") if folder.is_dir()]


def stand_in_for_the_driver() -> str:
    """Return a folder with an empty libcuda, and load this library: modules are linked with it."""
    folder = Path(tempfile.mkdtemp())
    library = folder / "libcuda.so"
    options = ["-shared", "-x", "c", "/dev/null", "-Wl,-soname,libcuda.so.1", "-o", library]
    subprocess.run(["cc", *options], check=True)
    ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    return str(folder)


def has_driver() -> bool:
    """Return True if this machine has a CUDA driver."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def built(specification: Any) -> Any:
    """Return a FlashInfer module that was compiled with the headers of the installed runtime."""
    headers = f"-isystem {tvm_ffi.libinfo.find_include_path()} "
    lines = [entry["command"] for entry in specification.get_compile_commands()]
    assert [headers in line for line in lines] == [True, True], lines
    return specification.build_and_load()


HAS_DRIVER = has_driver()
_folders = libraries_of_the_toolkit() + ([] if HAS_DRIVER else [stand_in_for_the_driver()])
os.environ["LIBRARY_PATH"] = os.pathsep.join(_folders)
os.environ["FLASHINFER_WORKSPACE_BASE"] = str(Path.cwd())
os.environ.setdefault("FLASHINFER_CUDA_ARCH_LIST", "9.0a")

import flashinfer  # noqa: E402
from flashinfer.jit.page import gen_page_module  # noqa: E402
from flashinfer.jit.quantization import gen_quantization_module  # noqa: E402

__all__ = ["HAS_DRIVER", "built", "flashinfer", "gen_page_module", "gen_quantization_module"]

# SPDX-License-Identifier: Apache-2.0
"""Build two modules of FlashInfer with its own JIT compiler, for a GPU, and call them on the host.

The compiler of CUDA is needed, a GPU and its driver are not.
"""

import ctypes
import os
import re
import subprocess
import tempfile
from pathlib import Path


def libraries_of_the_toolkit():
    """Return where nvcc's own libraries are; FlashInfer looks in `lib64` beside it alone."""
    options = ["--dryrun", "-x", "cu", "/dev/null"]
    printed = subprocess.run(["nvcc", *options], capture_output=True, text=True, check=True).stderr
    top = Path(re.search(r"^#\$ TOP=(.*)$", printed, re.MULTILINE)[1])
    return [str(folder) for folder in (top / "lib64", top / "lib") if folder.is_dir()]


def stand_in_for_the_driver():
    """Return a folder with an empty libcuda, and load that: modules are linked with it."""
    folder = Path(tempfile.mkdtemp())
    library = folder / "libcuda.so"
    options = ["-shared", "-x", "c", "/dev/null", "-Wl,-soname,libcuda.so.1", "-o", library]
    subprocess.run(["cc", *options], check=True)
    ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    return str(folder)


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


folders = libraries_of_the_toolkit() + ([] if has_driver() else [stand_in_for_the_driver()])
os.environ["LIBRARY_PATH"] = os.pathsep.join(folders)
os.environ["FLASHINFER_WORKSPACE_BASE"] = str(Path.cwd())
os.environ.setdefault("FLASHINFER_CUDA_ARCH_LIST", "9.0a")

import flashinfer  # noqa: E402
import torch  # noqa: E402
from flashinfer.jit.page import gen_page_module  # noqa: E402
from flashinfer.jit.quantization import gen_quantization_module  # noqa: E402

import tvm_ffi  # noqa: E402


def check_refusal(expected, function, *arguments):
    """Expect that the host code of a module says what is wrong with the arguments."""
    try:
        function(*arguments)
    except Exception as error:
        assert re.search(expected, str(error)), error
    else:
        raise AssertionError(f"{function} took what it cannot use")


headers = f"-isystem {tvm_ffi.libinfo.find_include_path()} "
for generate in (gen_quantization_module, gen_page_module):
    specification = generate()
    lines = [entry["command"] for entry in specification.get_compile_commands()]
    assert [headers in line for line in lines] == [True, True], lines

bits = torch.ones(8, dtype=torch.bool)
check_refusal("x must be a CUDA tensor", flashinfer.packbits, bits)
packbits = gen_quantization_module().build_and_load().packbits
check_refusal(r"packbits\(.*got 1 argument", packbits, bits)

rows = torch.zeros(2, 1, 64, dtype=torch.float16)
cache = torch.zeros(1, 2, 16, 1, 64, dtype=torch.float16)
index = torch.zeros(2, dtype=torch.int32)
append = flashinfer.append_paged_kv_cache
check_refusal("must be a CUDA tensor", append, rows, rows, index, index, cache, index, index, index)
print("done")

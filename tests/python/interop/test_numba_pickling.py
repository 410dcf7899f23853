# SPDX-License-Identifier: Apache-2.0
"""Pickles of Numba kernels, which another process reads."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys

import pytest

import tvm_ffi

pytest.importorskip("numba", reason="Numba is not installed")

from tvm_ffi.interop.numba import kernel

MODULE = '''
from tvm_ffi.interop.numba import kernel


@kernel("doubled(x: int) -> int")
def doubled(x):
    return 2 * x


class Holder:
    @kernel("tripled(x: int) -> int")
    def tripled(x):
        return 3 * x


def in_python(x):
    """Return the reciprocal."""
    return 1 / x


of_function = kernel("reciprocal(x: float) -> float", error_model="numpy")(in_python)
'''
READER = """
import pickle, sys
kernels = pickle.load(sys.stdin.buffer)
module = sys.modules["kernels_to_pickle"]
print([kernel(4) for kernel in kernels], kernels[2](0), kernels[2].__doc__.splitlines()[0])
print(kernels[0] is module.doubled, kernels[1] is module.Holder.tripled)
"""


@pytest.fixture(scope="module", name="module")
def module_fixture(tmp_path_factory):
    """Return a module with kernels, and the folder from which another process can import it."""
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels_to_pickle.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("kernels_to_pickle"), folder
    del sys.modules["kernels_to_pickle"]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_kernels_of_a_module_are_pickled_by_name(module, protocol):
    module, _ = module
    for native in (module.doubled, module.Holder.tripled):
        for dumps in (pickle.dumps, pickle._dumps):  # the pickler in C and the pickler in Python
            assert pickle.loads(dumps(native, protocol)) is native


def test_another_process_reads_the_pickle(module):
    module, folder = module
    pickled = pickle.dumps([module.doubled, module.Holder.tripled, module.of_function])
    done = subprocess.run(
        [sys.executable, "-c", READER],
        input=pickled, cwd=folder, capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout.decode().splitlines() == [
        "[8, 12, 0.25] inf Return the reciprocal.",
        "True True",
    ]


def test_kernel_of_another_function_is_compiled_once_per_process(module):
    module, _ = module
    first, second = (pickle.loads(pickle.dumps(module.of_function)) for _ in range(2))
    assert first is second
    assert first is not module.of_function
    assert isinstance(first, tvm_ffi.Function)
    assert first.py_func is module.in_python


def test_kernel_that_another_process_cannot_find_is_rejected(module):
    module, _ = module

    @kernel("local(x: int) -> int")
    def local(x):
        return x

    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(local)
    other = kernel("doubled(x: float) -> float")(module.doubled.py_func)
    with pytest.raises(pickle.PicklingError, match="not the same object as .*doubled"):
        pickle.dumps(other)

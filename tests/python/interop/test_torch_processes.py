# SPDX-License-Identifier: Apache-2.0
"""The torch adapter in processes: import, reload, fork, missing torch, lifetime of functions."""

from __future__ import annotations

import gc
import importlib
import shutil

import pytest

import tvm_ffi

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # raised in torch
X = torch.tensor([1.0, 2.0, 3.0])


def compiled(program):
    torch._dynamo.reset()
    return torch.compile(program, fullgraph=True, backend="aot_eager")


def test_reloading_the_adapter_keeps_the_operators(interop, functions):
    operator = interop.operator_of(functions.doubled)
    assert importlib.reload(interop).operator_of(functions.doubled) is operator
    assert compiled(functions.doubled)(X).tolist() == [2.0, 4.0, 6.0]


def test_error_without_torch_names_the_package_to_install(run_python):
    program = (
        "import sys\nsys.modules['torch'] = None\n"
        "try:\n    import tvm_ffi.interop.torch\n"
        "except ImportError as error:\n    print(error)\n"
        "import tvm_ffi\nprint(tvm_ffi.convert_func(lambda x: x)(5))"
    )
    result = run_python(program)
    assert (result.stdout, result.stderr) == (
        "this adapter needs the package torch: pip install 'torch'\n5\n",
        "",
    )


FORK = """
import os, sys, torch, tvm_ffi
import tvm_ffi.interop.torch as interop
module = tvm_ffi.load_module(sys.argv[2])
x = torch.ones(2)
def program(x):
    return module.doubled(x) + 1
run = torch.compile(program, fullgraph=True, backend="aot_eager")
run(x)
child = os.fork()
pair = torch.compile(lambda x: module.pair(x), fullgraph=True, backend="aot_eager")
sizes = [len(tensor) for tensor in pair(x)]
ok = run(x).tolist() == [3.0, 3.0] and sizes == [3, 4]
if child == 0:
    os._exit(0 if ok else 1)
print(ok, os.waitpid(child, 0)[1])
"""


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_parent_and_child_of_a_fork_call_functions(run_python, torch_library):
    program = FORK.replace("sys.argv[2]", repr(str(torch_library)))
    result = run_python(program)
    assert result.stdout == "True 0\n", result.stderr


def test_program_keeps_its_functions_alive(interop, torch_library):
    module = tvm_ffi.load_module(torch_library, keep_module_alive=False)
    run = torch.compile(interop.operator_of(module.scaled), backend="aot_eager", fullgraph=True)
    y = torch.zeros(3)
    run(X, y)
    del module
    gc.collect()
    run(X, y, 5.0)
    assert y.tolist() == [5.0, 10.0, 15.0]


def test_libraries_with_the_same_file_name_have_different_operators(
    interop, functions, torch_library, tmp_path
):
    copy = tmp_path / torch_library.name
    shutil.copy(torch_library, copy)
    module = tvm_ffi.load_module(copy, keep_module_alive=False)
    first, second = interop.operator_of(functions.added), interop.operator_of(module.added)
    assert first is not second
    assert second.name() == f"{first.name()}_2"

# SPDX-License-Identifier: Apache-2.0
"""Operators of libraries that have equal file names but different content."""

from __future__ import annotations

import os
import pickle
import re
import shlex
import subprocess
import sys

import pytest

import tvm_ffi
from tvm_ffi import libinfo

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),  # raised in torch
]

X = torch.tensor([1.0, 2.0, 3.0])
SOURCE = """
#include <tvm/ffi/extra/c_signature.h>
#define FUNCTION(name, sign) \\
  TVM_FFI_DLL int __tvm_ffi_##name( \\
      void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* out) { \\
    const DLTensor* x = TVMFFITensorGetDLTensorPtr(args[0].v_obj); \\
    const DLTensor* y = TVMFFITensorGetDLTensorPtr(args[1].v_obj); \\
    (void)self; (void)n; (void)out; \\
    for (int64_t i = 0; i < x->shape[0]; ++i) \\
      ((float*)y->data)[i] = sign FACTOR * ((const float*)x->data)[i]; \\
    return 0; \\
  } \\
  TVM_FFI_DLL_EXPORT_SIGNATURE(name, #name "(x: float32[n] compact, y: out float32[n] compact)")
FUNCTION(times, +)
FUNCTION(minus_times, -)
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Return the paths of two libraries: times multiplies by 2 in the first, by 3 in the second."""
    folder = tmp_path_factory.mktemp("identity")
    (folder / "kern.c").write_text(SOURCE, encoding="utf-8")
    paths = []
    for version, factor in (("v1", 2), ("v2", 3)):
        (folder / version).mkdir()
        paths.append(folder / version / "libkern.so")
        command = [*shlex.split(os.environ.get("CC", "cc")), "-shared", "-fPIC", "-std=gnu11"]
        command += [f"-DFACTOR={factor}", str(folder / "kern.c"), "-o", str(paths[-1])]
        command += [f"-I{path}" for path in libinfo.include_paths()]
        subprocess.run(command, check=True)
    return paths


WRITE = """
import sys, torch, tvm_ffi, tvm_ffi.interop.torch as interop
library, file, names, kind = sys.argv[1:]
module = tvm_ffi.load_module(library)
class Program(torch.nn.Module):
    def forward(self, x):
        results = [torch.empty_like(x) for _ in names.split(",")]
        for name, y in zip(names.split(","), results):
            getattr(module, name)(x, y)
        return results
program = torch.export.export(Program(), (torch.ones(3),))
if kind == "package":
    torch._inductor.aoti_compile_and_package(program, package_path=file)
else:
    interop.save(program, file)
"""


def run(program, *arguments):
    """Run a Python program in a new process, and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def saved(libraries, tmp_path_factory):
    """Return the paths of two programs, each saved in a process of its own."""
    folder = tmp_path_factory.mktemp("saved")
    files = [folder / "v1.pt2", folder / "v2.pt2"]
    for library, file in zip(libraries, files):
        run(WRITE, library, file, "times", "program")
    return files


LOAD = """
import sys, torch, tvm_ffi.interop.torch as interop
for file in sys.argv[1:]:
    print(interop.load(file).module()(torch.tensor([1.0, 2.0, 3.0]))[0].tolist())
"""


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_programs_of_two_libraries_in_one_process(saved, order):
    """The program that was loaded second called the library of the first."""
    expected = ["[2.0, 4.0, 6.0]", "[3.0, 6.0, 9.0]"]
    assert run(LOAD, *(saved[i] for i in order)) == [expected[i] for i in order]


def test_a_replacement_must_have_the_saved_content(interop, libraries, saved):
    """`libraries=` was ignored for a program whose operators existed already."""
    assert interop.load(saved[0]).module()(X)[0].tolist() == [2.0, 4.0, 6.0]
    message = r"saved with \(sha256 [0-9a-f]{16}\), got .*/v2/libkern.so \(sha256 [0-9a-f]{16}\)"
    for file in (saved[0], saved[1]):
        other = {"libkern.so": libraries[saved.index(file) ^ 1]}
        with pytest.raises(interop.MissingFunctionError, match=message.replace("v2", "v[12]")):
            interop.load(file, libraries=other)
    same = interop.load(saved[1], libraries={"libkern.so": libraries[1]})
    assert same.module()(X)[0].tolist() == [3.0, 6.0, 9.0]


def test_rebuilt_library_is_another_library(libraries, saved, tmp_path):
    """A program called whatever library was at the saved path."""
    original = libraries[0].rename(tmp_path / "original.so")  # This process may have loaded it.
    libraries[0].write_bytes(libraries[1].read_bytes())
    try:
        with pytest.raises(AssertionError, match=r"MissingFunctionError(.|\n)*export the program"):
            run(LOAD, saved[0])
    finally:
        original.replace(libraries[0])


REPLACED = """
import os, shutil, sys, torch, tvm_ffi, tvm_ffi.interop.torch as interop
library, other, file, action = sys.argv[1:]
times = tvm_ffi.load_module(library).times
shutil.copy(other, library + ".new")
os.replace(library + ".new", library)
class Program(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        times(x, y)
        return y
try:
    if action == "load":
        interop.load(file)
    else:
        program = torch.export.export(Program(), (torch.ones(3),))
        print(program.module()(torch.ones(3)).tolist())
        interop.save(program, file)
except (TypeError, interop.MissingFunctionError) as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc/self/maps")
def test_a_loaded_library_is_not_the_file_that_replaced_it(libraries, tmp_path):
    """Regression: the digest was that of the new file, while calls ran the old library's code."""
    library, file = tmp_path / "libkern.so", tmp_path / "program.pt2"
    library.write_bytes(libraries[0].read_bytes())
    result, *message = run(REPLACED, library, libraries[1], file, "save")
    assert result == "[2.0, 2.0, 2.0]"
    assert "libkern.so, whose file was replaced or removed after" in "".join(message)
    assert not file.exists()
    run(WRITE, library, file, "times", "program")  # with the new file
    new = library.read_bytes()
    library.unlink()
    library.write_bytes(libraries[0].read_bytes())
    (tmp_path / "new.so").write_bytes(new)
    message = run(REPLACED, library, tmp_path / "new.so", file, "load")
    assert "libkern.so, whose file was replaced or removed after" in "".join(message)


REGISTERED = """
import sys, torch, tvm_ffi, tvm_ffi.interop.torch as interop
library, file, action = sys.argv[1:]
module = tvm_ffi.load_module(library)
operator = interop.register(module.times, "test_identity::times", functional=True)
if action == "save":
    class Program(torch.nn.Module):
        def forward(self, x):
            return operator(x)
    interop.save(torch.export.export(Program(), (torch.ones(3),)), file)
else:
    print(interop.load(file).module()(torch.ones(3)).tolist())
"""


def test_registered_operator_of_another_function_is_an_error(libraries, tmp_path):
    file = tmp_path / "registered.pt2"
    run(REGISTERED, libraries[0], file, "save")
    assert run(REGISTERED, libraries[0], file, "load") == ["[2.0, 2.0, 2.0]"]
    message = (
        r"expected function 'times' of .*/v1/libkern.so \(sha256 (.|\n)*"
        r"but this process has .* for function 'times' of .*/v2/libkern.so \(sha256"
    )
    with pytest.raises(AssertionError, match=message):
        run(REGISTERED, libraries[1], file, "load")


PACKAGE = """
import sys, torch, tvm_ffi, tvm_ffi.interop.torch as interop
file, first, second = sys.argv[1:]
for library in (second, first):
    module = tvm_ffi.load_module(library)
    for name in ("minus_times", "times"):
        interop.operator_of(getattr(module, name))
results = torch._inductor.aoti_load_package(file)(torch.tensor([1.0, 2.0, 3.0]))
print([result.tolist()[0] for result in results])
"""


def test_package_calls_its_operators_in_any_order(libraries, tmp_path):
    """The second operator of a name was the one that was created second in the process."""
    file = tmp_path / "v1.pt2"
    run(WRITE, libraries[0], file, "times,minus_times", "package")
    assert run(PACKAGE, file, *libraries) == ["[2.0, -2.0]"]


def test_names_depend_on_content_only(interop, libraries):
    names = [interop.operator_of(tvm_ffi.load_module(path).times).name() for path in libraries]
    program = (
        "import sys, tvm_ffi, tvm_ffi.interop.torch as interop\n"
        "for path in sys.argv[1:]:\n"
        "    print(interop.operator_of(tvm_ffi.load_module(path).times).name())"
    )
    assert run(program, *reversed(libraries)) == names[::-1]
    assert names[0] != names[1]
    assert all(re.fullmatch(r"tvm_ffi::libkern_times_[0-9a-f]{16}", name) for name in names)


# ---- pickles -------------------------------------------------------------------------------------


def test_operators_are_pickled(interop, libraries, tmp_path):
    """`pickle` could not write torch's class for operators."""
    module = tvm_ffi.load_module(libraries[0])
    operator = interop.operator_of(module.times)
    assert pickle.loads(pickle.dumps(operator)) is operator
    registered = interop.register(module.times, "test_identity::pickled", functional=True)
    assert pickle.loads(pickle.dumps(registered)) is registered
    file = tmp_path / "operator.pickle"
    program = (
        "import pickle, sys, torch\n"
        "operator, y = pickle.load(open(sys.argv[1], 'rb')), torch.zeros(2)\n"
        "operator(torch.ones(2), y)\nprint(y.tolist())"
    )
    file.write_bytes(pickle.dumps(operator))
    assert run(program, file) == ["[2.0, 2.0]"]
    file.write_bytes(pickle.dumps(registered))
    with pytest.raises(AssertionError, match="import the module that calls register"):
        run(program, file)


def test_operator_of_a_python_function_is_not_pickled(interop):
    def double(x, y):
        y.numpy()[:] = x.numpy() * 2

    operator = interop.register(
        tvm_ffi.convert_func(double),
        "test_identity::double",
        signature="double(x: float32[n], y: out float32[n])",
        functional=True,
    )
    assert operator(X).tolist() == [2.0, 4.0, 6.0]
    assert pickle.loads(pickle.dumps(operator)) is operator

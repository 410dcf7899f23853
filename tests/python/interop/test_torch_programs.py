# SPDX-License-Identifier: Apache-2.0
"""Exported programs: the file names libraries and functions, and says what is missing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from typing import Annotated

import pytest

import tvm_ffi

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),  # torch's own use
]
X = torch.tensor([1.0, 2.0, 3.0])
Read = Annotated[tvm_ffi.Tensor, "float32[n]"]
Written = Annotated[tvm_ffi.Tensor, "out float32[n]"]


class Program(torch.nn.Module):
    """A program that calls two functions, one of them twice."""

    def __init__(self, module):
        super().__init__()
        self.functions = module

    def forward(self, x):
        y = torch.empty_like(x)
        self.functions.scaled(x, y)
        return self.functions.doubled(self.functions.doubled(y)) + 1


def exported(module, **options):
    return torch.export.export(Program(module), (X,), **options)


@pytest.fixture
def saved(interop, functions, tmp_path):
    """Return the file of a program that another process can load."""
    file = tmp_path / "program.pt2"
    interop.save(exported(functions), file)
    return file


@pytest.mark.parametrize("strict", [False, True])
def test_programs_are_exported(functions, strict):
    length = torch.export.Dim("length")
    program = exported(functions, strict=strict, dynamic_shapes=({0: length},))
    assert program.module()(X).tolist() == [9.0, 17.0, 25.0]
    assert program.module()(torch.ones(5)).tolist() == [9.0] * 5


def test_the_file_names_library_and_functions(saved, torch_library):
    with zipfile.ZipFile(saved) as archive:
        (member,) = [one for one in archive.namelist() if one.endswith("tvm_ffi_functions.json")]
        said = json.loads(archive.read(member))
    assert said["version"] == 1
    assert sorted((one["function"], one["library"]) for one in said["functions"].values()) == [
        ("doubled", str(torch_library)),
        ("scaled", str(torch_library)),
    ]


def test_it_loads_where_the_functions_are_known(interop, saved):
    assert interop.load(saved).module()(X).tolist() == [9.0, 17.0, 25.0]


LOAD = """
import sys, torch, tvm_ffi.interop.torch as interop
program = interop.load(sys.argv[1], libraries=eval(sys.argv[2]))
print(program.module()(torch.tensor([1.0, 2.0, 3.0])).tolist())
"""


def load_elsewhere(file, libraries=None):
    """Load a file in a fresh process, and run the program."""
    return subprocess.run(
        [sys.executable, "-c", LOAD, str(file), repr(libraries)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_another_process_loads_the_library(saved):
    result = load_elsewhere(saved)
    assert (result.stdout, result.stderr) == ("[9.0, 17.0, 25.0]\n", "")


def test_a_library_may_have_moved(interop, torch_library, tmp_path):
    before, after = tmp_path / "before.so", tmp_path / "after.so"
    shutil.copy(torch_library, before)
    module = tvm_ffi.load_module(before, keep_module_alive=False)
    file = tmp_path / "program.pt2"
    interop.save(exported(module), file)
    before.rename(after)
    missing = load_elsewhere(file)
    assert missing.returncode == 1
    assert f"MissingFunctionError: {file} calls functions that are not there:" in missing.stderr
    assert f"function 'scaled' of {before}: " in missing.stderr
    assert "cannot open shared object file" in missing.stderr
    moved = load_elsewhere(file, {"before.so": str(after)})
    assert (moved.stdout, moved.stderr) == ("[9.0, 17.0, 25.0]\n", "")


def change(file, name, **members):
    """Rewrite what the file says about a function."""
    with zipfile.ZipFile(file) as archive:
        content = {one: archive.read(one) for one in archive.namelist()}
    (member,) = [one for one in content if one.endswith("tvm_ffi_functions.json")]
    said = json.loads(content[member])
    for operator, one in list(said["functions"].items()):
        if one["function"] == name:
            said["functions"][f"{operator}_"] = {**said["functions"].pop(operator), **members}
    content[member] = json.dumps(said).encode()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for one, data in content.items():
            archive.writestr(one, data)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"function": "gone"}, "'gone' of .*: Module has no function 'gone'"),
        ({"signature": "doubled(x: float64[n]) -> float64[n]"}, "its signature was `doubled"),
        ({"function": "a.b", "library": ""}, "global function 'a.b': Cannot find global function"),
        ({"is_registered": True}, "somebody made this operator .*: import what does"),
    ],
)
def test_what_is_missing_is_named(interop, saved, members, words):
    change(saved, "doubled", **members)
    with pytest.raises(interop.MissingFunctionError, match=words):
        interop.load(saved)


def test_what_is_damaged_is_said(interop, saved):
    with zipfile.ZipFile(saved) as archive:
        content = {one: archive.read(one) for one in archive.namelist()}
    (member,) = [one for one in content if one.endswith("tvm_ffi_functions.json")]
    for text, words in ((b"[1", "is damaged"), (b'{"version": 9, "functions": {}}', "version 9")):
        with zipfile.ZipFile(saved, "w", zipfile.ZIP_STORED) as archive:
            for one, data in content.items():
                archive.writestr(one, text if one == member else data)
        with pytest.raises(ValueError, match=words):
            interop.load(saved)


def test_functions_of_this_process_alone_do_not_travel(interop, tmp_path):
    def double(x: Read, y: Written) -> None:
        torch.from_dlpack(y).copy_(torch.from_dlpack(x) * 2)

    function = tvm_ffi.convert_func(double)

    class Local(torch.nn.Module):
        def forward(self, x):
            y = torch.empty_like(x)
            function(x, y)
            return y

    program = torch.export.export(Local(), (X,))
    assert program.module()(X).tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(TypeError, match="python_double_.*, whose function only this process has"):
        interop.save(program, tmp_path / "program.pt2")


def test_programs_without_functions_are_saved_and_loaded(interop, tmp_path):
    class Plain(torch.nn.Module):
        def forward(self, x):
            return x + 1

    file, extra = tmp_path / "plain.pt2", {"note.txt": ""}
    interop.save(torch.export.export(Plain(), (X,)), file, extra_files={"note.txt": "kept"})
    assert interop.load(file, extra_files=extra).module()(X).tolist() == [2.0, 3.0, 4.0]
    assert extra["note.txt"] in ("kept", b"kept")
    torch.export.save(torch.export.export(Plain(), (X,)), file)
    assert interop.load(file).module()(X).tolist() == [2.0, 3.0, 4.0]

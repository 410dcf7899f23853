# SPDX-License-Identifier: Apache-2.0
"""Exported torch programs: saved references to functions, loading, and missing functions."""

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
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),  # torch warns itself
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
    """Return the path of a program that was saved."""
    file = tmp_path / "program.pt2"
    interop.save(exported(functions), file)
    return file


@pytest.mark.parametrize("strict", [False, True])
def test_programs_are_exported(functions, strict):
    length = torch.export.Dim("length")
    program = exported(functions, strict=strict, dynamic_shapes=({0: length},))
    assert program.module()(X).tolist() == [9.0, 17.0, 25.0]
    assert program.module()(torch.ones(5)).tolist() == [9.0] * 5


def test_saved_file_names_libraries_and_functions(saved, torch_library):
    with zipfile.ZipFile(saved) as archive:
        (member,) = [name for name in archive.namelist() if name.endswith("tvm_ffi_functions.json")]
        document = json.loads(archive.read(member))
    assert document["version"] == 2
    entries = document["functions"].values()
    assert sorted((entry["function"], entry["library"]) for entry in entries) == [
        ("doubled", str(torch_library)),
        ("scaled", str(torch_library)),
    ]


def test_program_loads_in_the_same_process(interop, saved):
    assert interop.load(saved).module()(X).tolist() == [9.0, 17.0, 25.0]


LOAD = """
import sys, torch, tvm_ffi.interop.torch as interop
program = interop.load(sys.argv[1], libraries=eval(sys.argv[2]))
print(program.module()(torch.tensor([1.0, 2.0, 3.0])).tolist())
"""


def load_in_new_process(file, libraries=None):
    """Load a file in a new process and run the program."""
    return subprocess.run(
        [sys.executable, "-c", LOAD, str(file), repr(libraries)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_new_process_loads_the_library(saved):
    result = load_in_new_process(saved)
    assert (result.stdout, result.stderr) == ("[9.0, 17.0, 25.0]\n", "")


def test_moved_library_is_found_with_the_libraries_parameter(interop, torch_library, tmp_path):
    before, after = tmp_path / "before.so", tmp_path / "after.so"
    shutil.copy(torch_library, before)
    module = tvm_ffi.load_module(before, keep_module_alive=False)
    file = tmp_path / "program.pt2"
    interop.save(exported(module), file)
    before.rename(after)
    missing = load_in_new_process(file)
    assert missing.returncode == 1
    assert f"MissingFunctionError: {file} calls functions that cannot be used:" in missing.stderr
    assert f"function 'scaled' of {before}: " in missing.stderr
    assert "No such file or directory" in missing.stderr
    moved = load_in_new_process(file, {"before.so": str(after)})
    assert (moved.stdout, moved.stderr) == ("[9.0, 17.0, 25.0]\n", "")


def change(file, name, **members):
    """Change a function's entry in the file of a saved program."""
    with zipfile.ZipFile(file) as archive:
        content = {key: archive.read(key) for key in archive.namelist()}
    (member,) = [key for key in content if key.endswith("tvm_ffi_functions.json")]
    document = json.loads(content[member])
    functions = document["functions"]
    for operator, entry in list(functions.items()):
        if entry["function"] == name:
            functions[f"{operator}_"] = {**functions.pop(operator), **members}
    content[member] = json.dumps(document).encode()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for key, data in content.items():
            archive.writestr(key, data)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"function": "gone"}, "'gone' of .*: Module has no function 'gone'"),
        (
            {"signature": "doubled(x: float64[n]) -> float64[n]"},
            "expected the saved signature `doubled",
        ),
        ({"function": "a.b", "library": ""}, "global function 'a.b': Cannot find global function"),
        ({"is_registered": True}, "torch.register has created in this process; import the module"),
    ],
)
def test_missing_function_is_named(interop, saved, members, message):
    change(saved, "doubled", **members)
    with pytest.raises(interop.MissingFunctionError, match=message):
        interop.load(saved)


def replace_member(file, text):
    """Replace the descriptions of functions in a saved program."""
    with zipfile.ZipFile(file) as archive:
        content = {key: archive.read(key) for key in archive.namelist()}
    (member,) = [key for key in content if key.endswith("tvm_ffi_functions.json")]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for key, data in content.items():
            archive.writestr(key, text if key == member else data)
    return content[member]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[1", "is corrupt: Expecting ',' delimiter"),
        (b"[1]", "is corrupt: expected an object with a version"),
        (b"\xff\xfe", "is corrupt: 'utf-8' codec can't decode byte 0xff"),
        (b'{"version": 9, "functions": {}}', "expected version 2, got 9"),
        (b'{"version": 2}', "is corrupt: 'functions': expected an object, got null"),
        (b'{"version": 2, "functions": [1]}', "'functions': expected an object, got an array"),
        (b'{"version": 2, "functions": {"a::b": 5}}', "a::b: expected an object, got a number"),
        (b'{"version": 2, "functions": {"a::b": {}}}', "a::b: expected a value 'library', got no"),
    ],
)
def test_corrupt_members_are_rejected(interop, saved, text, message):
    """Regression: AttributeError and UnicodeDecodeError did not name the file."""
    replace_member(saved, text)
    with pytest.raises(ValueError, match=message) as raised:
        interop.load(saved)
    assert type(raised.value) is ValueError
    assert str(raised.value).startswith(f"{saved}: tvm_ffi_functions.json")


def test_corrupt_values_and_archives_are_rejected(interop, saved):
    document = json.loads(replace_member(saved, b""))
    for description in document["functions"].values():
        description["content"] = False
    replace_member(saved, json.dumps(document).encode())
    with pytest.raises(ValueError, match="'content': expected a string or null, got a bool"):
        interop.load(saved)
    saved.write_bytes(b"no archive")
    with pytest.raises(ValueError, match=f"^{saved}: .* is corrupt: File is not a zip file"):
        interop.load(saved)


def test_a_file_is_compared_once_for_many_entries(interop, saved, monkeypatch):
    """Regression: each entry read the list of mapped files; 20,000 entries took 31 s."""
    from tvm_ffi.interop.torch import _locator

    searched = []
    search = _locator._is_path_mapped
    monkeypatch.setattr(_locator, "_mapped_files", {})
    monkeypatch.setattr(
        _locator, "_is_path_mapped", lambda path: searched.append(path) or search(path)
    )
    document = json.loads(replace_member(saved, b""))
    description = next(iter(document["functions"].values()))
    document["functions"] = {f"tvm_ffi::entry_{i}": description for i in range(100)}
    replace_member(saved, json.dumps(document).encode())
    with pytest.raises(interop.MissingFunctionError, match="function that tvm_ffi::entry_99 st"):
        interop.load(saved)
    assert searched == [description["library"]]


def test_program_with_a_python_function_cannot_be_saved(interop, tmp_path):
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
    with pytest.raises(TypeError, match="python_double_.*, whose function exists only in this"):
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

# SPDX-License-Identifier: Apache-2.0
"""Type stubs: agreement with the compiled modules, and strict typing of examples and stubs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest.importorskip("mypy", reason="mypy is not installed")

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(path.relative_to(EXAMPLES) for path in EXAMPLES.glob("**/*.py"))


def run_module(*command: str, cwd: Path = ROOT, **variables: str) -> tuple[int, str]:
    """Run a Python module; return its exit status and its output."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def _untyped() -> list[str]:
    """Return the modules for which the package's mypy settings ignore missing types."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    overrides = tomllib.loads(text)["tool"]["mypy"]["overrides"]
    ignored = [entry for entry in overrides if "ignore_missing_imports" in entry]
    return [name for entry in ignored for name in entry["module"]]


@pytest.mark.slow
@pytest.mark.skipif(
    sys.version_info < (3, 10), reason="mypy checks with the standard library of a later Python"
)
def test_stubs_match_the_compiled_modules(tmp_path):
    """Layout conflicts between base classes are ignored, because all extension types have them."""
    allowed = HERE / "allowed_differences.txt"
    settings = tmp_path / "mypy.ini"
    others = "".join(f"[mypy-{name}]\nignore_missing_imports = True\n" for name in _untyped())
    settings.write_text(f"[mypy]\n{others}", "utf-8")
    command = ["mypy.stubtest", "tvm_ffi", "--concise", "--ignore-disjoint-bases"]
    command += ["--allowlist", str(allowed), "--mypy-config-file", str(settings)]
    status, output = run_module(*command, cwd=tmp_path)
    assert (status, output) == (0, ""), output


def test_each_allowed_difference_has_a_reason():
    lines = (HERE / "allowed_differences.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.partition("#")[2].strip() == ""] == []


@pytest.mark.parametrize("example", sorted({path.parts[0] for path in PROGRAMS}))
def test_examples_are_strictly_typed(example):
    """Mypy uses the package's settings in pyproject.toml."""
    files = [str(EXAMPLES / path) for path in PROGRAMS if path.parts[0] == example]
    status, output = run_module("mypy", *files, MYPYPATH=str(EXAMPLES / example / "python"))
    assert status == 0, output


def test_type_errors_are_detected(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import tvm_ffi\n\n"
        "size: str = tvm_ffi.from_dlpack(0).size(0)\n"
        "tvm_ffi.get_global_func('f', allow_missing=True)(1)\n"
        "tvm_ffi.get_global_func('f')(1)\n",
        encoding="utf-8",
    )
    status, output = run_module("mypy", str(program))
    assert status == 1
    assert [line.split(": ")[0].rpartition(":")[2] for line in output.splitlines()[:-1]] == [
        "3",
        "4",
    ], output


def test_a_c_class_has_a_dataclass_constructor(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from tvm_ffi.dataclasses import Object, c_class\n\n\n"
        "@c_class('a.Pair', eq=True, order=True)\n"
        "class Pair(Object):\n"
        "    a: int\n"
        "    b: str\n\n\n"
        "assert Pair(1, 'b') < Pair(1, b='c')\n"
        "Pair(1)\n"
        "Pair('a', 'b')\n",
        encoding="utf-8",
    )
    status, output = run_module("mypy", str(program))
    assert status == 1
    assert [line.split(": ")[0].rpartition(":")[2] for line in output.splitlines()[:-1]] == [
        "11",
        "12",
    ], output


# Classes with fields, constructors that differ from the parents' constructors, methods, containers,
# optional values.
GENERATED_CLASSES = {
    "SchemaAllTypes": "tvm_ffi.Object",
    "TestIntPair": "tvm_ffi.Object",
    "TestObjectBase": "tvm_ffi.Object",
    "TestObjectDerived": "TestObjectBase",
    "TestObjectPtrHolder": "tvm_ffi.Object",
    "TestCxxAutoInitParent": "tvm_ffi.Object",
    "TestCxxAutoInitChild": "TestCxxAutoInitParent",
    "TestCxxKwOnly": "tvm_ffi.Object",
}


def test_generated_stubs_are_strictly_typed(tmp_path):
    marker = "# tvm-ffi-stubgen"
    text = (
        f"{marker}(ty-map): ffi.Enum -> tvm_ffi.Object\n"
        f"{marker}(begin): import-section\n{marker}(end)\n"
        "import tvm_ffi\n"
        f"{marker}(begin): global/testing\n{marker}(end)\n"
    )
    for name, base in GENERATED_CLASSES.items():
        text += (
            f'\n\n@tvm_ffi.register_object("testing.{name}")\nclass {name}({base}):\n'
            f"    {marker}(begin): object/testing.{name}\n    {marker}(end)\n"
        )
    (tmp_path / "api.py").write_text(text, encoding="utf-8")
    command = ["tvm_ffi.stub.cli", "--imports", "tvm_ffi.testing", str(tmp_path / "api.py")]
    assert run_module(*command, cwd=tmp_path) == (0, "")
    program = tmp_path / "program.py"
    program.write_text(
        "import api\n\n"
        "api.TestObjectDerived({1: 2}, [3]).add_i64(4)\n"
        "api.TestCxxKwOnly(x=1, y=2, z=3)\n"
        "number: int = api.TestIntPair(1, 2).sum() + api.schema_id_list_int([1])[0]\n"
        "number = api.TestObjectBase().v_str\n"
        "api.TestCxxKwOnly(1, 2, 3)\n"
        "api.schema_id_list_int(['1'])\n",
        encoding="utf-8",
    )
    status, output = run_module("mypy", str(program), MYPYPATH=str(tmp_path))
    assert status == 1
    lines = [":".join(line.split(":")[:2]) for line in output.splitlines() if ": error:" in line]
    assert [line.rpartition("/")[2] for line in lines] == [
        *("program.py:6", "program.py:7", "program.py:8"),
    ], output


def test_generated_stubs_of_odd_classes_are_strictly_typed(tmp_path):
    """Attributes that hide types, overloads, names that are not Python identifiers."""
    source = tmp_path / "odd.py"
    source.write_text(
        "# tvm-ffi-stubgen(begin): import-section\n# tvm-ffi-stubgen(end)\n"
        "import tvm_ffi\n\n\n"
        "class Odd(tvm_ffi.Object):\n"
        "    # tvm-ffi-stubgen(begin): object/t.Odd\n    # tvm-ffi-stubgen(end)\n",
        encoding="utf-8",
    )
    program = tmp_path / "make_odd.py"
    program.write_text(MAKE_ODD, encoding="utf-8")
    assert run_module("make_odd", str(source), PYTHONPATH=str(tmp_path)) == (0, "")
    status, output = run_module("mypy", str(source))
    assert status == 0, output


MAKE_ODD = """
import pathlib, sys
from tvm_ffi.core import TypeSchema
from tvm_ffi.stub.file_utils import FileInfo
from tvm_ffi.stub.python_generator import PythonGenerator
from tvm_ffi.stub.utils import FuncInfo, InitFieldInfo, NamedTypeSchema, ObjectInfo, Options

INT, STR = TypeSchema("int"), TypeSchema("str")

def method(name, *params, member=True):
    schema = TypeSchema("Callable", named_args={"return": (INT,), "params": params})
    return FuncInfo.from_schema(name, schema, is_member=member)

schemas = {
    "dtype": TypeSchema("dtype"), "int": INT, "class": STR, "self": TypeSchema("t.Odd"),
    "Sequence": TypeSchema("Array", (INT,)), "bare": TypeSchema("tuple"), "x-y": STR,
}
fields = [NamedTypeSchema(name, schema) for name, schema in schemas.items()]
info = ObjectInfo(
    fields=fields,
    methods=[
        method("m", INT, INT), method("m", INT, STR), method("s", INT, member=False),
        method("s", STR, member=False), method("if"), method("n"), method("list", INT),
    ],
    type_key="t.Odd", parent_type_key="t.Parent", has_init=True,
    init_fields=[InitFieldInfo(f.name, f, f.name == "x-y", False) for f in fields],
)
generator = PythonGenerator()
file = FileInfo.from_file(pathlib.Path(sys.argv[1]))
imports = generator.new_imports()
generator.begin_file(imports, file, ())
section, block = (code for code in file.code_blocks if code.kind)
generator.generate_object_block(block, generator.default_ty_map(), imports, Options(), info, {})
generator.generate_import_section_block(section, imports, Options(), set())
file.update(verbose=False, dry_run=False)
"""

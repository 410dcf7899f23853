# SPDX-License-Identifier: Apache-2.0
"""``tvm-ffi-stubgen``: options, exit statuses, messages, and complete output files."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tvm_ffi
import tvm_ffi.testing  # (importing the module registers types and functions)
from tvm_ffi import libinfo
from tvm_ffi.stub import cli

BEGIN, END = "# tvm-ffi-stubgen(begin):", "# tvm-ffi-stubgen(end)"
JSON_STUBS = [
    "# fmt: off",
    '_FFI_INIT_FUNC("ffi.json", __name__)',
    "if TYPE_CHECKING:",
    "    def Parse(_0: str, /) -> Any: ...",
    "    def Stringify(_0: Any, _1: int | None, /) -> str: ...",
    "# fmt: on",
]


@pytest.fixture
def stubgen(monkeypatch, capsys):
    """Return a function that runs the tool and returns the exit status and the printed text."""

    def run(*arguments: object) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", ["tvm-ffi-stubgen", *map(str, arguments)])
        try:
            status: object = cli.__main__()
        except SystemExit as error:
            status = error.code
        output = capsys.readouterr()
        return status, output.out + output.err

    return run


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def block(kind: str, margin: str = "") -> list[str]:
    return [f"{margin}{BEGIN} {kind}", f"{margin}{END}"]


# ---- Exit statuses -----------------------------------------------------------------------------


def test_a_whole_file(stubgen, tmp_path):
    path = write(
        tmp_path / "a.py",
        '"""Doc."""',
        *block("import-section"),
        *block("global/ffi.json"),
        "",
        '@tvm_ffi.register_object("testing.TestIntPair")',
        "class Pair(tvm_ffi.Object):",
        *block("object/testing.TestIntPair", "    "),
        "",
        "__all__ = [",
        *block("__all__", "    "),
        "]",
    )
    assert stubgen(tmp_path) == (0, "")
    assert lines_of(path) == [
        '"""Doc."""',
        f"{BEGIN} import-section",
        "# fmt: off",
        "# isort: off",
        "from __future__ import annotations",
        "from tvm_ffi import init_ffi_api as _FFI_INIT_FUNC",
        "from typing import TYPE_CHECKING",
        "if TYPE_CHECKING:",
        "    from typing import Any",
        "# isort: on",
        "# fmt: on",
        END,
        f"{BEGIN} global/ffi.json",
        *JSON_STUBS,
        END,
        "",
        '@tvm_ffi.register_object("testing.TestIntPair")',
        "class Pair(tvm_ffi.Object):",
        f"    {BEGIN} object/testing.TestIntPair",
        "    # fmt: off",
        "    if TYPE_CHECKING:",
        "        @property",
        "        def a(self) -> int:",
        '            """Field `a`"""',
        "        @property",
        "        def b(self) -> int:",
        '            """Field `b`"""',
        "        def __init__(self, a: int, b: int, /) -> None: ...",
        "        def __ffi_init__(self, _0: int, _1: int, /) -> None: ...",
        "        def sum(self, /) -> int:",
        '            """Method to compute sum of a and b"""',
        "    # fmt: on",
        f"    {END}",
        "",
        "__all__ = [",
        f"    {BEGIN} __all__",
        '    "Pair",',
        '    "Parse",',
        '    "Stringify",',
        f"    {END}",
        "]",
    ]
    before = path.stat().st_mtime_ns
    assert stubgen(tmp_path, "--check") == (0, "")
    assert stubgen(tmp_path) == (0, "")
    assert path.stat().st_mtime_ns == before


def test_check_names_stale_files_and_writes_nothing(stubgen, tmp_path):
    stale = write(tmp_path / "a.py", *block("global/ffi.json"))
    write(tmp_path / "b.py", *block("global/no.such.prefix"))
    assert stubgen("--check", tmp_path) == (1, f"[Stale] {stale}\n")
    assert lines_of(stale) == block("global/ffi.json")


def test_control_characters_in_file_names_are_escaped(stubgen, tmp_path):
    write(tmp_path / "a\x1b[2J\n.py", *block("global/ffi.json"))
    assert stubgen("--check", tmp_path) == (1, f"[Stale] {tmp_path}/a\\x1b[2J\\n.py\n")


def test_dry_run_prints_the_difference(stubgen, tmp_path):
    path = write(tmp_path / "a.py", "x = 1", *block("global/ffi.json"))
    status, output = stubgen("--dry-run", "--verbose", path)
    assert status == 0
    assert output.splitlines() == [
        f"[File] {path}",
        "@@ -1,3 +1,9 @@",
        " x = 1",
        f" {BEGIN} global/ffi.json",
        *(f"+{line}" for line in JSON_STUBS),
        f" {END}",
    ]
    assert lines_of(path) == ["x = 1", *block("global/ffi.json")]


GONE = (
    "ValueError: `object/no.such.Type` (line 1): the type is no longer registered; delete the block"
)
INVALID_IMPORT = (
    "ValueError: Invalid import-object format at line 1. "
    "Example: `full.name;type_checking_only;alias`"
)


def test_one_bad_file_does_not_stop_the_others(stubgen, tmp_path):
    bad = [
        write(tmp_path / "a.py", *block("global/ffi.json"), END),
        write(tmp_path / "b.py", *block("object/no.such.Type")),
        write(tmp_path / "c.py", "# tvm-ffi-stubgen(nope): x"),
        write(tmp_path / "d.py", *block("global/ffi.json"), "# tvm-ffi-stubgen(ty-map): A"),
        write(tmp_path / "e.py", "# tvm-ffi-stubgen(import-object): a.b;perhaps"),
    ]
    before = [path.read_bytes() for path in bad]
    good = write(tmp_path / "z.py", *block("global/ffi.json"))
    status, output = stubgen(tmp_path)
    assert status == 2
    reasons = [line.split(": ", 1) for line in output.splitlines()]
    assert [where for where, _ in reasons] == [f'[Failed] File "{path}"' for path in bad]
    assert [reason for _, reason in reasons] == [
        f"ValueError: Unmatched `{END}` found at line 3",
        GONE,
        "ValueError: Unknown directive `nope` at line 1",
        "ValueError: Invalid ty_map format at line 3. Example: `A.B -> C.D`",
        INVALID_IMPORT,
    ]
    assert [path.read_bytes() for path in bad] == before
    assert lines_of(good)[1:-1] == JSON_STUBS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--init-lib", "x", "d"), "must be provided together"),
        (
            ("--check", "--init-lib", "x", "--init-pypkg", "x", "--init-prefix", "x", "d"),
            "--check cannot be combined with --init-",
        ),
        (
            ("--init-lib", "x", "--init-pypkg", "x", "--init-prefix", "x"),
            "needs a PATH",
        ),
        (("--target", "cobol", "d"), "invalid choice: 'cobol'"),
        (("--indent", "many", "d"), "'many' is not a number from 1 to 16"),
        (("--imports", "no_such_module", "d"), "--imports no_such_module: ModuleNotFoundError"),
        (("--dlls", "no_such_library.so", "d"), "--dlls no_such_library.so: OSError"),
        (("no_such_file.py",), 'no_such_file.py": FileNotFoundError'),
    ],
)
def test_errors_have_status_2(stubgen, arguments, message):
    status, output = stubgen(*arguments)
    assert (status, message in output) == (2, True), output


def test_no_arguments_have_status_1(stubgen):
    status, output = stubgen()
    assert (status, output.startswith("usage: tvm-ffi-stubgen")) == (1, True)


def test_the_tool_runs_as_a_module(tmp_path):
    path = write(tmp_path / "a.py", *block("global/testing"))
    command = [sys.executable, "-m", "tvm_ffi.stub.cli", "--imports", "tvm_ffi.testing", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "    def add_one(_0: int, /) -> int: ..." in lines_of(path)


# ---- Directives --------------------------------------------------------------------------------


def test_prefix_adds_blocks_and_removes_vanished_ones(stubgen, tmp_path):
    prefix = "# tvm-ffi-stubgen(prefix): ffi.reflection"
    path = write(
        tmp_path / "a.py",
        "import os",
        prefix,
        "",
        "class AccessStep:",
        *block("object/ffi.reflection.AccessStep", "    "),
        "",
        *block("object/ffi.reflection.Gone"),
        "",
        "x = 1",
    )
    status, output = stubgen(path)
    assert status == 0
    where = f'[Removed] File "{path}": `object/ffi.reflection.Gone` (line 8)'
    assert output == f"{where}: the type is no longer registered\n"
    lines = [line for line in lines_of(path) if "tvm-ffi" in line or not line or line[0] in "icx"]
    assert [line for line in lines if not line.lstrip().startswith(("if", "from"))] == [
        "import os",
        prefix,
        "",
        f"{BEGIN} import-section",
        END,
        "",
        "class AccessStep:",
        f"    {BEGIN} object/ffi.reflection.AccessStep",
        f"    {END}",
        "",
        f"{BEGIN} object/ffi.reflection.AccessPath",
        END,
        "",
        "x = 1",
    ]
    assert stubgen("--check", path) == (0, "")


def test_skip_excludes_a_type(stubgen, tmp_path):
    path = write(
        tmp_path / "a.py",
        "# tvm-ffi-stubgen(prefix): ffi.reflection.",
        "# tvm-ffi-stubgen(skip): ffi.reflection.AccessStep",
    )
    assert stubgen(path) == (0, "")
    objects = [line for line in lines_of(path) if "object/" in line]
    assert objects == [f"{BEGIN} object/ffi.reflection.AccessPath"]


def test_a_prefix_is_declared_once(stubgen, tmp_path):
    directive = "# tvm-ffi-stubgen(prefix): ffi.reflection"
    first = write(tmp_path / "a.py", directive)
    second = write(tmp_path / "b.py", directive)
    third = write(tmp_path / "c.py", directive, "# tvm-ffi-stubgen(prefix): ffi")
    status, output = stubgen(tmp_path)
    assert status == 2
    assert output.splitlines() == [
        f'[Failed] File "{second}": prefix `ffi.reflection` is already declared by {first}',
        f'[Failed] File "{third}": ValueError: more than one `prefix` directive (line 2)',
    ]


def test_directives_are_followed(stubgen, tmp_path):
    path = write(
        tmp_path / "a.py",
        "# tvm-ffi-stubgen(import-object): ffi.Object;False;_Base",
        "# tvm-ffi-stubgen(import-object): ffi.IntEnum;False;_ffi_IntEnum",
        "# tvm-ffi-stubgen(import-object): foo.baz;True",
        "# tvm-ffi-stubgen(ty-map): Any -> mytyping.Any",
        *block("import-section"),
        *block("global/ffi.json"),
    )
    assert stubgen(path) == (0, "")
    assert lines_of(path)[7:15] == [
        "from __future__ import annotations",
        "from tvm_ffi import Object as _Base, init_ffi_api as _FFI_INIT_FUNC",
        "from tvm_ffi.dataclasses import IntEnum as _ffi_IntEnum",
        "from typing import TYPE_CHECKING",
        "if TYPE_CHECKING:",
        "    from foo import baz",
        "    from mytyping import Any",
        "# isort: on",
    ]


# ---- Packages ----------------------------------------------------------------------------------


@pytest.fixture
def stubgen_init(stubgen, monkeypatch):
    """Return `stubgen` without the loading of the library, which is the runtime itself."""
    loaded: list[tuple[str, str]] = []
    monkeypatch.setattr(libinfo, "load_lib_module", lambda *names: loaded.append(names))
    yield stubgen
    assert set(loaded) == {("pytvmffi", "tvm_ffi")}


INIT = ("--init-pypkg", "pytvmffi", "--init-lib", "tvm_ffi", "--init-prefix")


@pytest.fixture
def deep_function():
    """Register a function under a prefix whose parent prefix has no functions."""
    name = "stub_test.deep.echo"
    tvm_ffi.register_global_func(name, lambda value: value)
    yield
    tvm_ffi.remove_global_func(name)


@pytest.mark.usefixtures("deep_function")
def test_a_package_is_written(stubgen_init, tmp_path):
    assert stubgen_init(tmp_path, *INIT, "stub_test") == (0, "")
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.py"))
    folders = ("stub_test", "stub_test/deep")
    assert files == sorted(
        f"{folder}/{name}" for folder in folders for name in ("__init__.py", "_ffi_api.py")
    )
    root = lines_of(tmp_path / "stub_test" / "_ffi_api.py")
    assert root[0] == '"""FFI API bindings for stub_test."""'
    assert 'LIB = _FFI_LOAD_LIB("pytvmffi", "tvm_ffi")' in root
    assert root[-5:] == ["__all__ = [", f"    {BEGIN} __all__", '    "LIB",', f"    {END}", "]"]
    deep = lines_of(tmp_path / "stub_test" / "deep" / "_ffi_api.py")
    assert "    def echo(*args: Any) -> Any: ..." in deep
    assert not any("LIB" in line for line in deep)
    assert stubgen_init(tmp_path, *INIT, "stub_test.") == (0, "")
    assert lines_of(tmp_path / "stub_test" / "_ffi_api.py") == root
    for path in tmp_path.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"))


def test_a_package_has_its_classes(stubgen_init, tmp_path):
    (tmp_path / "made").mkdir()
    assert stubgen_init(tmp_path / "made", *INIT, "testing") == (0, "")
    path = tmp_path / "made" / "testing" / "_ffi_api.py"
    lines = lines_of(path)
    at = lines.index("class TestObjectDerived(TestObjectBase):")
    assert lines[at - 3 : at] == ["", "", '@_FFI_REG_OBJ("testing.TestObjectDerived")']
    assert "class TestCxxIntEnum(_tvm_ffi_dataclasses_IntEnum):" in lines
    assert "from tvm_ffi.testing import" not in path.read_text(encoding="utf-8")


def test_an_existing_file_is_extended(stubgen_init, tmp_path):
    path = write(
        tmp_path / "ffi" / "json" / "_ffi_api.py",
        "#!/usr/bin/env python",
        '"""Mine."""',
        "",
        "import os",
    )
    assert stubgen_init(tmp_path, *INIT, "ffi.json") == (0, "")
    lines = lines_of(path)
    assert lines[:4] == ["#!/usr/bin/env python", '"""Mine."""', "", f"{BEGIN} import-section"]
    assert lines.index("import os") < lines.index(f"{BEGIN} global/ffi.json")
    compile("\n".join(lines), "a.py", "exec")


def test_init_with_dry_run_writes_nothing(stubgen_init, tmp_path):
    status, output = stubgen_init(tmp_path, "--dry-run", "--verbose", *INIT, "ffi.json")
    assert (status, "+LIB = _FFI_LOAD_LIB" in output) == (0, True)
    assert list(tmp_path.iterdir()) == []


def test_init_without_anything_registered(stubgen_init, tmp_path):
    status, output = stubgen_init(tmp_path, *INIT, "nobody")
    assert (status, "is registered under `nobody`" in output) == (1, True)
    assert list(tmp_path.iterdir()) == []


# ---- Any file ----------------------------------------------------------------------------------

KINDS = st.sampled_from(
    [
        *("import-section", "__all__", "export/sub"),
        *("global/ffi.json", "global/testing", "global/no.such@mod.ule"),
        *("object/testing.TestIntPair", "object/testing.TestObjectDerived"),
    ]
)
MARGINS = st.sampled_from(["", "    ", "\t"])
OTHER = st.sampled_from(
    [
        *("", "x = 1", "class A:", "    class B(C):", "def f():", '"""', "# comment", "x\x0cy"),
        *("\u2028", "# tvm-ffi-stubgen(prefix): ffi.reflection", "# tvm-ffi-stubgen(skip): a.b"),
        "# tvm-ffi-stubgen(ty-map): Array -> list",
        "# tvm-ffi-stubgen(import-object): a.b;True;c",
    ]
)
PARTS = st.lists(
    st.one_of(
        st.builds(block, KINDS, MARGINS),
        OTHER.map(lambda line: [line]),
        st.sampled_from([[END], [f"{BEGIN} __all__"], [f"{BEGIN} nope"]]),
    ),
    max_size=8,
)
ENDS = st.sampled_from(["\n", "\r\n"])


@given(parts=PARTS, end=ENDS, has_last_end=st.booleans())
def test_the_second_run_changes_nothing(tmp_path_factory, parts, end, has_last_end):
    """Files that are refused are unchanged, and the text outside of marker blocks never changes."""
    path = tmp_path_factory.mktemp("any") / "a.py"
    lines = [line for part in parts for line in part]
    old = (end.join(lines) + end * has_last_end).encode()
    path.write_bytes(old)

    def run() -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["tvm-ffi-stubgen", str(path)])
            return cli.__main__()

    status = run()
    first = path.read_bytes()
    if status != 0:
        assert (status, first) == (2, old)
        return
    assert [line for line in _outside(old) if line] == [line for line in _outside(first) if line]
    assert (run(), path.read_bytes()) == (0, first)


def _outside(content: bytes) -> list[bytes]:
    """Return the lines outside of marker blocks."""
    inside, found = False, []
    for line in content.split(b"\n"):
        is_begin = line.strip().startswith(BEGIN.encode())
        if not (inside or is_begin):
            found.append(line.strip())
        inside = (inside or is_begin) and line.strip() != END.encode()
    return found


def test_a_written_package_can_be_imported(tmp_path):
    """The test writes and imports the package in fresh interpreters."""
    command = [sys.executable, "-m", "tvm_ffi.stub.cli", str(tmp_path), *INIT, "ffi.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    code = "import ffi.json as j; print(j.Stringify(j.Parse('[1]'), None), j.__all__, j.LIB.kind)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    expected = "[1] ['LIB', 'Parse', 'Stringify'] library\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")

# SPDX-License-Identifier: Apache-2.0
"""Libraries with imports, context symbols and metadata, loaded by the reference."""

from __future__ import annotations

import pytest
from tvm_ffi_conformance.reference.modules import parse_library_bin
from tvm_ffi_conformance.reference.values import Raised

LOADER = """
reference.set_global("ffi.Module.load_from_bytes.test", lambda name: kernels(name.decode()[:-3]))
reference.set_global("global", lambda: "a function of the table")
tree = kernels("tree")
"""
CASES = [
    # Import tree: the library itself is module 0, `right` is its import.
    pytest.param("value = tree.stream()", 0x40, id="function of an import"),
    pytest.param("value = tree.call_imported('big_int')", 2**64 + 5, id="look-up by the library"),
    pytest.param(
        "value = [tree.call_imported('global') for _ in range(2)]",
        ["a function of the table"] * 2,
        id="global function, then cached",
    ),
    pytest.param(
        "value = error_of(tree.call_imported, 'absent')",
        "RuntimeError: Cannot find function absent in the imported modules or global registry.",
        id="missing function",
    ),
    pytest.param("value = tree.has_handle()", False, id="handle is null"),
    pytest.param(
        """
import ctypes
reference.library.TVMFFIEnvModRegisterContextSymbol(b"test_context", 0x1234)
value = kernels("tree").context()
""",
        0x1234,
        id="context symbol",
    ),
    pytest.param(
        """
find = reference.get_global("ffi.ModuleGetFunctionMetadata")
value = [find(tree, "context", False), find(tree, "stream", True)]
""",
        ['{"type_schema": "{}"}', None],
        id="metadata",
    ),
    pytest.param(
        """
call = reference.get_global
implements = call("ffi.ModuleImplementsFunction")
value = [implements(tree, "stream", True), implements(tree, "stream", False)]
call("ffi.ModuleClearImports")(tree)
value += [implements(tree, "stream", True), call("ffi.ModuleGetKind")(tree)]
value += [call("ffi.ModuleGetPropertyMask")(tree)]
""",
        [True, False, False, "library", 3],
        id="imports and properties",
    ),
    pytest.param(
        """
join = reference.get_global("ffi.ModuleImportModule")
value = error_of(join, kernels("right"), tree)
right = kernels("right")
join(tree, right)
value = error_of(join, right, tree)
""",
        "RuntimeError: Cyclic dependency detected during import",
        id="cycle of imports",
    ),
    pytest.param(
        "value = error_of(reference.load, '/nowhere/library')",
        "RuntimeError: Failed to get file format from /nowhere/library",
        id="path without a format",
    ),
    pytest.param(
        "value = error_of(reference.load, '/nowhere/library.so')[:75]",
        "InternalError: Failed to load dynamic shared library /nowhere/library.so /n",
        id="missing library",
    ),
    pytest.param(
        """
library = reference.library
function = kernels("right").stream
library.TVMFFIEnvModRegisterSystemLibSymbol(
    b"__tvm_ffi_my.stream", reference.runtime.modules.symbol(kernels("right").handle, "stream")
)
value = reference.get_global("ffi.SystemLib")("my.").stream()
""",
        0x40,
        id="system library with a prefix",
    ),
]


@pytest.fixture(scope="module")
def results(run_programs):
    programs = [case.values[0] for case in CASES]
    return dict(zip(programs, run_programs([LOADER + program for program in programs])))


@pytest.mark.parametrize(("program", "expected"), CASES)
def test_a_module_behaves_as_specified(results, program, expected):
    assert results[program] == {"value": expected, "violations": []}


def numbers(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


def test_import_tree_is_read():
    content = numbers(3, 0, 1, 1) + numbers(1, 1)
    content += numbers(4) + b"_lib" + numbers(4) + b"cuda" + numbers(3) + b"ptx"

    assert parse_library_bin(content) == ([[1], []], [("_lib", b""), ("cuda", b"ptx")])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(numbers(2, 0, 0, 0, 2**62), id="length beyond the end"),
        pytest.param(numbers(2, 0, 0, 0, 0), id="kind without a name"),
        pytest.param(numbers(2, 0, 1, 1, 5, 4) + b"_lib", id="child out of range"),
    ],
)
def test_a_corrupt_import_tree_is_an_error(content):
    with pytest.raises(Raised, match=r"InternalError: library_bin: "):
        parse_library_bin(content)

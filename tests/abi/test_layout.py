# SPDX-License-Identifier: Apache-2.0
"""Layout and declarations of the C headers equal the contract ``abi.json``, as C11 and as C++17.

``layout_test.c`` asserts the layout with hand-written numbers. These tests print the layout with a
compiler and compare the output with the contract, so an error must occur in both to go unnoticed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
ABI = json.loads((HERE / "abi.json").read_text(encoding="utf-8"))

DLPACK, C_API, C_ENV_API = "dlpack/dlpack.h", "tvm/ffi/c_api.h", "tvm/ffi/extra/c_env_api.h"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")

# Structs that belong to C++ classes, or macros with other names here (layout_test.c checks them).
ENUMS_ELSEWHERE = {"ModulePropertyMask", "ReferenceCount"}
# Flag macros of DLPack; they have no enum type whose size could be measured.
ENUMS_WITHOUT_TYPE = {"DLPackFlagBitMask"}
ENUMS = {name: values for name, values in ABI["enums"].items() if name not in ENUMS_ELSEWHERE}

pytestmark = pytest.mark.skipif(
    struct.calcsize("P") != 8, reason="the contract describes 64-bit platforms"
)


@dataclass(frozen=True)
class Language:
    """A compiler command with the language standard that it is run for."""

    name: str
    variable: str
    default: str
    suffix: str
    standard: str

    def run(self, source: Path, *flags: str) -> subprocess.CompletedProcess[str]:
        """Run the compiler on `source` with the include directory of this project last."""
        command = shlex.split(os.environ.get(self.variable) or self.default)
        if shutil.which(command[0]) is None:
            pytest.skip(f"no {self.name} compiler: {command[0]!r} not found")
        arguments = [f"-std={self.standard}", *WARNINGS, *flags, f"-I{INCLUDE}", str(source)]
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=False, timeout=120
        )


LANGUAGES = [
    Language("C", "CC", "cc", ".c", "c11"),
    Language("C++", "CXX", "c++", ".cc", "c++17"),
]


@pytest.fixture(params=LANGUAGES, ids=lambda language: language.standard)
def language(request: pytest.FixtureRequest) -> Language:
    return request.param


@pytest.fixture
def check(language: Language, tmp_path: Path):
    """Return a function that compiles source text and returns the compiler's result."""

    def compile_text(text: str, *flags: str) -> subprocess.CompletedProcess[str]:
        source = tmp_path / f"check{language.suffix}"
        source.write_text(text, encoding="utf-8")
        return language.run(source, "-fsyntax-only", *flags)

    return compile_text


@pytest.fixture
def output_of(language: Language, tmp_path: Path):
    """Return a function that builds and runs a program and returns its standard output."""

    def build_and_run(text: str) -> str:
        source, program = tmp_path / f"program{language.suffix}", tmp_path / "program"
        source.write_text(text, encoding="utf-8")
        built = language.run(source, "-o", str(program))
        assert built.returncode == 0, built.stderr
        ran = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == 0, f"exit status {ran.returncode}: {ran.stderr}"
        return ran.stdout

    return build_and_run


def include(*headers: str) -> str:
    return "".join(f"#include <{header}>\n" for header in headers)


def assert_compiles(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 0, result.stderr


def printing_program(lines: list[tuple[str, str]]) -> str:
    """Return a program that prints `label value` for each (label, C integer expression)."""
    body = "\n".join(f'  printf("{label} %lld\\n", (long long)({code}));' for label, code in lines)
    headers = include("stdalign.h", "stddef.h", "stdio.h", C_API, C_ENV_API)
    return f"{headers}int main(void) {{\n{body}\n  return 0;\n}}\n"


def parse(output: str) -> dict[str, int]:
    return {label: int(value) for label, value in (line.split() for line in output.splitlines())}


def test_structs_have_the_layout_of_the_contract(output_of):
    lines, expected = [], {}
    for name, layout in ABI["structs"].items():
        lines += [(f"sizeof:{name}", f"sizeof({name})"), (f"alignof:{name}", f"alignof({name})")]
        expected |= {f"sizeof:{name}": layout["size"], f"alignof:{name}": layout["align"]}
        for field, position in layout["fields"].items():
            key = f"{name}.{field}"
            lines.append((f"offsetof:{key}", f"offsetof({name}, {field})"))
            lines.append((f"sizeof:{key}", f"sizeof((({name}*)0)->{field})"))
            expected |= {f"offsetof:{key}": position["offset"], f"sizeof:{key}": position["size"]}
    assert parse(output_of(printing_program(lines))) == expected


def test_enums_have_the_values_of_the_contract(output_of):
    lines, expected = [], {}
    for name, values in ENUMS.items():
        if name not in ENUMS_WITHOUT_TYPE:
            lines.append((f"sizeof:{name}", f"sizeof({name})"))
            expected[f"sizeof:{name}"] = 4
        lines += [(enumerator, enumerator) for enumerator in values]
        expected |= values
    assert parse(output_of(printing_program(lines))) == expected


def test_version_macros_equal_the_contract(output_of):
    macros = [f"TVM_FFI_VERSION_{part}" for part in ("MAJOR", "MINOR", "PATCH")]
    macros += [f"DLPACK_{part}_VERSION" for part in ("MAJOR", "MINOR")]
    expected = [*ABI["abi"]["reported_version"], *ABI["abi"]["dlpack_version"]]
    printed = parse(output_of(printing_program([(macro, macro) for macro in macros])))
    assert printed == dict(zip(macros, expected, strict=True))


def prototype(declarator: str, entry: dict) -> str:
    """Return `R declarator(T0, T1, ...)` for an entry of abi.json."""
    parameters = ", ".join(parameter["type"] for parameter in entry["params"]) or "void"
    return f"{entry['returns']} {declarator}({parameters})"


def redeclarations(lines: list[str]) -> str:
    """Return `lines` with C linkage, so that C++ also reports conflicting declarations."""
    head, tail = '#ifdef __cplusplus\nextern "C" {\n#endif', "#ifdef __cplusplus\n}\n#endif"
    return "\n".join([head, *lines, tail])


@pytest.mark.parametrize("header", [C_API, C_ENV_API])
def test_functions_have_the_prototypes_of_the_contract(check, header):
    """Each program redeclares the function after `sizeof(&name)`, which requires a declaration."""
    functions = {
        name: entry
        for name, entry in ABI["functions"].items()
        if f"tvm/ffi/{entry['header']}" == header
    }
    assert functions
    declared = [f'static_assert(sizeof(&{name}) != 0, "{name}");' for name in functions]
    again = [f"{prototype(name, entry)};" for name, entry in functions.items()]
    text = [include("assert.h", header), *declared, redeclarations(again)]
    assert_compiles(check("\n".join(text)))


def test_a_conflicting_prototype_is_a_compile_error(check):
    wrong = redeclarations(["int TVMFFIFunctionCall(TVMFFIObjectHandle, TVMFFIAny*, int64_t);"])
    result = check(include(C_API) + wrong)
    assert result.returncode != 0
    assert "TVMFFIFunctionCall" in result.stderr


@pytest.mark.parametrize("header", [C_API, C_ENV_API])
def test_the_header_declares_only_functions_of_the_contract(header):
    text = (INCLUDE / header).read_text(encoding="utf-8")
    declared = re.findall(r"^TVM_FFI_DLL\s[^;(]*?\b(TVMFFI\w+)\(", text, flags=re.MULTILINE)
    functions = ABI["functions"].items()
    expected = [name for name, entry in functions if f"tvm/ffi/{entry['header']}" == header]
    assert sorted(declared) == sorted(expected)


def test_function_types_equal_the_contract(check):
    """C allows to repeat a typedef only with the same type."""
    names = [name for name in ABI["function_types"] if name.startswith(("TVMFFI", "DLPack"))]
    assert len(names) == 9
    used = [f'static_assert(sizeof({name}) == 8, "{name}");' for name in names]
    again = [f"typedef {prototype(f'(*{name})', ABI['function_types'][name])};" for name in names]
    # Types of function pointers without a typedef: the test assigns a function of exactly this
    # type.
    members = [
        f"void check_{owner}_{field}({owner}* owner);\n"
        f"void check_{owner}_{field}({owner}* owner) {{\n"
        f"  {prototype('(*pointer)', ABI['function_types'][name])} = owner->{field};\n"
        f"  (void)pointer;\n}}"
        for name, owner, field in [
            ("ObjectDeleter", "TVMFFIObject", "deleter"),
            ("UpdateBacktrace", "TVMFFIErrorCell", "update_backtrace"),
        ]
    ]
    text = [include("assert.h", C_API, C_ENV_API), *used, redeclarations(again + members)]
    assert_compiles(check("\n".join(text)))


def test_the_layout_test_asserts_every_fact_of_the_contract():
    """The hand-written assertions in layout_test.c cover the whole contract."""
    text = (HERE / "layout_test.c").read_text(encoding="utf-8")
    text = re.sub(r"BYTES\((\d+), \d+\)", r"\1", text)
    pinned = set(re.findall(r"^CHECK_\w+\(.*\);$", text, re.M))
    expected = set()
    for name, layout in ABI["structs"].items():
        expected.add(f"CHECK_STRUCT({name}, {layout['size']}, {layout['align']});")
        for field, position in layout["fields"].items():
            expected.add(f"CHECK_FIELD({name}, {field}, {position['offset']}, {position['size']});")
    for values in ENUMS.values():
        expected |= {f"CHECK_VALUE({name}, {value});" for name, value in values.items()}
    assert expected - pinned == set()


def test_the_layout_test_compiles(language):
    assert_compiles(language.run(HERE / f"layout_test{language.suffix}", "-fsyntax-only"))


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((DLPACK,), id="dlpack"),
        pytest.param((C_API,), id="c_api"),
        pytest.param((C_ENV_API,), id="c_env_api"),
        pytest.param((C_API, C_ENV_API), id="c_api-first"),
        pytest.param((C_ENV_API, C_API), id="c_env_api-first"),
        pytest.param((DLPACK, C_ENV_API, C_API), id="dlpack-first"),
        pytest.param((C_API, DLPACK, C_API, C_ENV_API, C_ENV_API, DLPACK), id="repeated"),
    ],
)
def test_headers_compile_alone_and_in_any_order(check, headers):
    assert_compiles(check(include(*headers) + "int unused;\n"))


# A third-party copy of DLPack: the names and the include guard of the standard, but different
# struct tags (or none), no fixed enum type and no comments.
THIRD_PARTY_DLPACK = """
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#define THIRD_PARTY_DLPACK 1
#define DLPACK_MAJOR_VERSION @MAJOR@
#define DLPACK_MINOR_VERSION @MINOR@
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct { uint32_t major; uint32_t minor; } DLPackVersion;
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLTrn = 18 } DLDeviceType;
typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void* data; DLDevice device; int32_t ndim; DLDataType dtype;
  int64_t* shape; int64_t* strides; uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
  DLTensor dl_tensor; void* manager_ctx; void (*deleter)(struct DLManagedTensor*);
} DLManagedTensor;
typedef struct DLManagedTensorVersioned {
  DLPackVersion version; void* manager_ctx; void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags; DLTensor dl_tensor;
} DLManagedTensorVersioned;
typedef int (*DLPackManagedTensorAllocator)(DLTensor*, DLManagedTensorVersioned**, void*,
                                            void (*)(void*, const char*, const char*));
#ifdef __cplusplus
}
#endif
#endif
"""


def write_third_party_dlpack(root: Path, major: int, minor: int) -> Path:
    """Write the third-party header as `root`/dlpack/dlpack.h and return the include directory."""
    path = root / "third_party" / "dlpack" / "dlpack.h"
    path.parent.mkdir(parents=True)
    text = THIRD_PARTY_DLPACK.replace("@MAJOR@", str(major)).replace("@MINOR@", str(minor))
    path.write_text(text, encoding="utf-8")
    return path.parents[1]


USES_THIRD_PARTY = (
    "#ifndef THIRD_PARTY_DLPACK\n#error third-party copy is not in use\n#endif\nint unused;\n"
)


@pytest.mark.parametrize("minor", [2, 3, 9])
def test_third_party_dlpack_is_included_first(check, tmp_path, minor):
    third_party = write_third_party_dlpack(tmp_path, 1, minor) / "dlpack" / "dlpack.h"
    own = (INCLUDE / DLPACK).as_posix()
    text = (
        f'#include "{third_party}"\n#include "{own}"\n'
        + include(C_API, C_ENV_API)
        + USES_THIRD_PARTY
    )
    assert_compiles(check(text))


def test_third_party_dlpack_is_found_on_the_include_path(check, tmp_path):
    third_party = write_third_party_dlpack(tmp_path, 1, 3)
    assert_compiles(check(include(C_ENV_API, C_API, DLPACK) + USES_THIRD_PARTY, f"-I{third_party}"))


def test_third_party_dlpack_is_included_last(check, tmp_path):
    third_party = write_third_party_dlpack(tmp_path, 1, 3) / "dlpack" / "dlpack.h"
    text = include(C_API, C_ENV_API) + f'#include "{third_party}"\n'
    text += (
        "#ifdef THIRD_PARTY_DLPACK\n#error the first copy is the one in use\n#endif\nint unused;\n"
    )
    assert_compiles(check(text))


@pytest.mark.parametrize(
    ("major", "minor", "header", "message"),
    [
        pytest.param(0, 8, C_API, "c_api.h needs DLPack 1.x", id="older-major"),
        pytest.param(2, 0, C_API, "c_api.h needs DLPack 1.x", id="newer-major"),
        pytest.param(1, 1, C_ENV_API, "c_env_api.h needs DLPack 1.2 or later", id="older-minor"),
    ],
)
def test_an_unsuitable_dlpack_is_named_in_the_error(check, tmp_path, major, minor, header, message):
    third_party = write_third_party_dlpack(tmp_path, major, minor)
    result = check(include(header) + "int unused;\n", f"-I{third_party}")
    assert result.returncode != 0
    assert message in result.stderr


ACCESSOR_PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

static int failures = 0;
static void expect(int holds, const char* message) {
  if (!holds) {
    fprintf(stderr, "%s\n", message);
    ++failures;
  }
}

int main(void) {
  struct { TVMFFIObject header; int64_t cell[16]; } object;
  TVMFFIObjectHandle handle = &object;
  char* cell = (char*)&object + 24;
  TVMFFIAny small;
  TVMFFIByteArray content;
  DLDevice device;

  memset(&object, 0, sizeof(object));
  memset(&small, 0, sizeof(small));
  object.header.type_index = kTVMFFIShape;
  small.type_index = kTVMFFISmallStr;
  small.small_str_len = 3;
  memcpy(small.v_bytes, "abc", 3);
  content = TVMFFISmallBytesGetContentByteArray(&small);
  device = TVMFFIDLDeviceFromIntPair(2, 3);

  expect(TVMFFIObjectGetTypeIndex(handle) == 69, "type index of a handle");
  expect(content.data == (char*)&small + 8 && content.size == 3, "content of a small string");
  expect((char*)TVMFFIBytesGetByteArrayPtr(handle) == cell, "cell of Str and Bytes");
  expect((char*)TVMFFIErrorGetCellPtr(handle) == cell, "cell of Error");
  expect((char*)TVMFFIFunctionGetCellPtr(handle) == cell, "cell of Function");
  expect((char*)TVMFFIOpaqueObjectGetCellPtr(handle) == cell, "cell of OpaquePyObject");
  expect((char*)TVMFFIShapeGetCellPtr(handle) == cell, "cell of Shape");
  expect((char*)TVMFFITensorGetDLTensorPtr(handle) == cell, "DLTensor of Tensor");
  expect(device.device_type == kDLCUDA && device.device_id == 3, "device of two integers");
  return failures;
}
"""


def test_accessors_return_the_address_after_the_header(output_of):
    output_of(ACCESSOR_PROGRAM)


def test_unused_accessors_emit_no_symbol(language, tmp_path):
    """A kernel that only includes the headers exports no runtime symbols, even at -O0."""
    if shutil.which("nm") is None:
        pytest.skip("no symbol lister: 'nm' not found")
    source, built = tmp_path / f"kernel{language.suffix}", tmp_path / "kernel.o"
    source.write_text(include(C_API, C_ENV_API) + "int kernel;\n", encoding="utf-8")
    assert_compiles(language.run(source, "-O0", "-c", "-o", str(built)))
    listed = subprocess.run(["nm", built], capture_output=True, text=True, check=True, timeout=60)
    assert "TVMFFI" not in listed.stdout

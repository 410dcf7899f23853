# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone, twice, and without strict warnings.

The table is the directory tree: new headers are tested automatically.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
HEADERS = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h"))
# Headers for C sources, which say so in their text.
C_HEADERS = [
    name
    for name in HEADERS
    if 'extern "C"' in (INCLUDE / name).read_text(encoding="utf-8")
    and "__cplusplus" in (INCLUDE / name).read_text(encoding="utf-8")
]
PROGRAMS = sorted(
    path
    for path in ROOT.glob("tests/cpp/*_test.cc")
    if path.name != "cuda_driver_layout_test.cc"  # needs the toolkit
)

# Warning flags of the build, see tests/CMakeLists.txt.
DOCTEST = ("-DDOCTEST_CONFIG_SUPER_FAST_ASSERTS", "-DDOCTEST_CONFIG_USE_STD_HEADERS")
FILES = ('-DLOADING_LIBRARY="a library"',)
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")


# Names that a file including only this header uses besides those that the header is named for.
SHOWN = {
    # The standard library of older GCCs adds an object to each file that includes <iostream>.
    "tvm/ffi/any.h": "#if !defined(_GLIBCXX_RELEASE) || _GLIBCXX_RELEASE >= 13\n"
    'void Show(const tvm::ffi::Any& a) { std::cout << a.cast<int>() << "\\n"; }\n#endif',
    "tvm/ffi/object.h": "bool Same(const tvm::ffi::Any& a, const tvm::ffi::Any& b);",
    "tvm/ffi/dtype.h": "tvm::ffi::Function Get(tvm::ffi::Expected<tvm::ffi::Function> f) {"
    " return f.value(); }",
    "tvm/ffi/container/array.h": "tvm::ffi::Optional<tvm::ffi::Array<int>> value;"
    " static_assert(!tvm::ffi::is_optional_type_v<int>);",
    "tvm/ffi/container/list.h": "tvm::ffi::Array<int> value;",
    "tvm/ffi/container/dict.h": "tvm::ffi::Optional<int> value;",
    "tvm/ffi/container/tensor.h": "int Twice(int x) { return 2 * x; }\n"
    "TVM_FFI_DLL_EXPORT_TYPED_FUNC(twice, Twice)",
    "tvm/ffi/extra/serialization.h": "auto key = tvm::ffi::type_attr::kDataToJson;"
    ' tvm::ffi::Function Get() { return tvm::ffi::reflection::GetMethod("a", "b"); }',
    "tvm/ffi/extra/stl.h": "tvm::ffi::List<int> value;",
    "tvm/ffi/reflection/registry.h": "tvm::ffi::Variant<int, tvm::ffi::String> value = 1;",
}


def rejected(diagnoses):
    """Return the compiler messages of each source with an error or a warning."""
    return {name: said.text for name, said in diagnoses.items() if said.text or not said.accepted}


def include_twice(name):
    return f"#include <{name}>\n#include <{name}>\n"


def test_the_tree_contains_the_headers_that_every_kernel_includes():
    assert {"tvm/ffi/function.h", "tvm/ffi/container/tensor.h", "dlpack/dlpack.h"} <= set(HEADERS)
    assert {"tvm/ffi/c_api.h", "tvm/ffi/extra/c_env_api.h", "dlpack/dlpack.h"} <= set(C_HEADERS)


def test_headers_compile_alone(baseline_compiler):
    sources = {name: include_twice(name) for name in HEADERS}
    assert rejected(baseline_compiler.diagnose_all(sources, *WARNINGS)) == {}


def test_headers_declare_the_names_that_sources_use(baseline_compiler):
    sources = {name: f"#include <{name}>\n{use}\n" for name, use in SHOWN.items()}
    assert rejected(baseline_compiler.diagnose_all(sources, *WARNINGS)) == {}


def test_headers_compile_together(compiler):
    """The includes of a header are equal in each language standard, but their contents differ."""
    sources = {"all": "".join(f"#include <{name}>\n" for name in HEADERS)}
    assert rejected(compiler.diagnose_all(sources, *WARNINGS)) == {}


def test_headers_need_no_particular_standard_library(baseline_compiler):
    """Regression: the headers used names that only libstdc++ declares in the included headers."""
    libcxx = ("-stdlib=libc++",)
    if baseline_compiler.program != "clang++":
        pytest.skip("GCC has one standard library")
    if not baseline_compiler.diagnose("#include <__config>\n", *libcxx).accepted:
        pytest.skip("libc++ is not installed")
    sources = {"all": "".join(f"#include <{name}>\n" for name in HEADERS)}
    sources["error_test.cc"] = f'#include "{ROOT / "tests/cpp/error_test.cc"}"\n'  # prints values
    options = (*libcxx, *WARNINGS, *DOCTEST, "-Wno-unused-parameter")
    assert rejected(baseline_compiler.diagnose_all(sources, *options)) == {}


def test_c_headers_compile_alone(c_compiler):
    sources = {name: include_twice(name) for name in C_HEADERS}
    assert rejected(c_compiler.diagnose_all(sources, *WARNINGS)) == {}


def test_templates_and_macros_cause_no_warnings_when_used(other_compiler):
    """A template causes warnings when it is instantiated, a macro when it is expanded.

    C++20 changes the meaning of some code: rewritten comparisons, lambdas in unevaluated operands.
    """
    sources = {path.name: f'#include "{path}"\n' for path in PROGRAMS}
    options = (*WARNINGS, *DOCTEST, *FILES, "-Wno-unused-parameter")
    assert rejected(other_compiler.diagnose_all(sources, *options)) == {}

# SPDX-License-Identifier: Apache-2.0
"""Late builds of frameworks: they are announced whenever the framework is imported."""

from __future__ import annotations

import textwrap

import pytest

NUMBA = """
    import sys
    import tvm_ffi
    assert "numba" not in sys.modules
    {before}
    import numba

    @numba.njit
    def double(x):
        return 2 * x

    {after}
    with tvm_ffi.builds.policy("allow"):
        assert double(1) == 2
    assert double(1) == 2
    try:
        double(1.5)
    except tvm_ffi.builds.LateBuildError as error:
        print(error)
"""
ERROR = "tvm_ffi.builds.policy('error')"


@pytest.mark.parametrize(
    ("before", "after", "variable"),
    [("", "", "error"), (ERROR, "", ""), ("", ERROR, "")],
    ids=["by the variable", "before the import", "after the import"],
)
def test_numba_is_observed(run_python, before, after, variable):
    pytest.importorskip("numba")
    code = textwrap.dedent(NUMBA.format(before=before, after=after))
    done = run_python(code, TVM_FFI_BUILDS=variable)
    assert done.returncode == 0, done.stderr
    first, second, *_ = done.stdout.splitlines()
    assert first.startswith("Numba 'double(float64)' with key ")
    assert "because: the function is not declared with cache=True" in first
    assert second == "called at <string>:17 in <module>"


NUMBA_CACHE = """
    import sys
    sys.path.insert(0, sys.argv[2])
    import cached_function, tvm_ffi
    with tvm_ffi.builds.policy("error"):
        print(cached_function.double(1))
"""


def test_code_in_the_cache_of_numba_is_no_late_build(run_python, tmp_path):
    pytest.importorskip("numba")
    (tmp_path / "cached_function.py").write_text(
        "import numba\n\n@numba.njit(cache=True)\ndef double(x):\n    return 2 * x\n"
    )
    fill = "import sys; sys.path.insert(0, sys.argv[2]); import cached_function as c; c.double(1)"
    code = textwrap.dedent(NUMBA_CACHE).replace("sys.argv[2]", repr(str(tmp_path)))
    done = run_python(code)
    assert "because: Numba's cache has no code for (int64)" in done.stderr
    assert run_python(fill.replace("sys.argv[2]", repr(str(tmp_path)))).returncode == 0
    done = run_python(code)
    assert done.stdout == "2\n", done.stderr


TORCH = """
    import torch, tvm_ffi

    @torch.compile(backend="eager")
    def double(x):
        return 2 * x

    seen = []
    tvm_ffi.builds.on_build(seen.append)
    with tvm_ffi.builds.policy("error"):
        try:
            double(torch.ones(3))
        except RuntimeError as error:
            print(error)
        else:
            raise SystemExit("was compiled")
    double(torch.ones(3))
    with tvm_ffi.builds.policy("error"):
        assert double(torch.ones(3)).tolist() == [2, 2, 2]
    assert [build.kind for build in seen] == ["torch.compile"] * 2, seen
"""


def test_torch_compile_is_observed(run_python):
    """The error of torch contains the message of the policy."""
    pytest.importorskip("torch")
    done = run_python(textwrap.dedent(TORCH))
    assert done.returncode == 0, done.stderr
    assert "torch.compile 'graph " in done.stdout
    assert 'the policy of this process is "error"' in done.stdout
    assert "called at <string>:12 in <module>" in done.stdout


TRITON = """
    import tvm_ffi
    tvm_ffi.builds.policy("error")
    from triton import knobs

    def call(**details):
        return knobs.runtime.jit_cache_hook(
            key="key", repr="add[...]", fn=None, compile={}, is_manual_warmup=False, **details
        )

    assert call(already_compiled=True) == "previous"
    try:
        call(already_compiled=False)
    except tvm_ffi.builds.LateBuildError as error:
        print(error.build.kind, error.build.name)
"""


def test_the_hook_of_triton_is_set_and_calls_the_previous_one(run_python, tmp_path):
    """A package stands for Triton, with the hook that Triton calls before it compiles."""
    package = tmp_path / "triton"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "knobs.py").write_text(
        "class runtime:\n    jit_cache_hook = staticmethod(lambda **details: 'previous')\n"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{textwrap.dedent(TRITON)}"
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Triton add[...]\n"


def write_module(folder, name, text):
    """Write a module, whose packages have no content; `name` is its dotted name."""
    *packages, module = name.split(".")
    for package in packages:
        folder = folder / package
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    (folder / f"{module}.py").write_text(textwrap.dedent(text))


# A kernel of TileLang, and a module of CuTe DSL, with the methods that compile.
TILELANG = """
    class JITKernel:
        target = "cuda"

        def __init__(self, func, from_database=False):
            if not from_database:
                self.adapter = self._compile_and_create_adapter(func, out_idx=[1])

        def _compile_and_create_adapter(self, func, out_idx):
            print("compiled")

    class PrimFunc:
        def __init__(self, name):
            self.attrs = {"global_symbol": name}

        def __str__(self):
            return f"def {self.attrs['global_symbol']}"

    def compile(name, **options):
        return JITKernel(PrimFunc(name), **options)
"""
CUTE_DSL = """
    class BaseDSL:
        def compile_and_cache(self, module):
            return self._compile_or_jit_module(module, "pipeline", module, [], gen_jit_engine=True)

        def _compile_or_jit_module(
            self, module, pipeline, function_name, shared_libs, gen_jit_engine
        ):
            print("compiled")

    class CuTeDSL(BaseDSL):
        def _compile_or_jit_module(self, *arguments, **named):
            return super()._compile_or_jit_module(*arguments, **named)

    def compile(name, from_database=False):
        return None if from_database else CuTeDSL().compile_and_cache(name)
"""
STAND_IN = """
    import tvm_ffi
    {before}
    from {module} import compile
    {after}
    seen = []
    tvm_ffi.builds.on_build(seen.append)
    compile("scale", from_database=True)
    for name in ("scale", "scale", "shift"):
        try:
            compile(name)
        except tvm_ffi.builds.LateBuildError as error:
            assert "the policy of this process is" in str(error)
    assert [(build.kind, build.name) for build in seen] == [
        ({kind!r}, "scale"), ({kind!r}, "scale"), ({kind!r}, "shift")]
    assert seen[0].key == seen[1].key != seen[2].key
    tvm_ffi.builds.policy("allow")
    compile("scale")
"""


@pytest.mark.parametrize(("before", "after"), [(ERROR, ""), ("", ERROR)])
@pytest.mark.parametrize(
    ("kind", "module", "text"),
    [
        ("TileLang", "tilelang.jit.kernel", TILELANG),
        ("CuTe DSL", "cutlass.base_dsl.dsl", CUTE_DSL),
    ],
    ids=["tilelang", "cutlass"],
)
def test_the_compilation_methods_of_kernel_languages_are_observed(
    run_python, tmp_path, kind, module, text, before, after
):
    """A module stands for the framework; its cache hits are not announced."""
    write_module(tmp_path, module, text)
    code = textwrap.dedent(STAND_IN).format(before=before, after=after, module=module, kind=kind)
    done = run_python(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}")
    assert (done.returncode, done.stdout) == (0, "compiled\n"), done.stderr


def test_a_framework_with_another_interface_is_imported_with_a_warning(run_python, tmp_path):
    write_module(tmp_path, "cutlass.base_dsl.dsl", "class BaseDSL:\n    pass\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import tvm_ffi; tvm_ffi.builds.policy('error'); import cutlass.base_dsl.dsl"
    )
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert "late builds of cutlass.base_dsl.dsl are not observed" in done.stderr

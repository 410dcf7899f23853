# SPDX-License-Identifier: Apache-2.0
"""The C examples: copied to another folder and built by the commands of their READMEs.

`ctest` runs the same C programs with an instrumented library, see CMakeLists.txt in this folder.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sysconfig
from pathlib import Path

import pytest

from tvm_ffi import libinfo

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
NAMES = ("abi_overview", "export_library", "quickstart", "stable_c_abi")
CUDA_NAMES = ("cubin_launcher", "cuda_kernel")  # test_cuda_examples.py
# test_cpp_examples.py
CPP_NAMES = (
    "custom_module",
    "inline_module",
    "inspect",
    "kernel_library",
    "quickstart_cpp",
    "tensor_allocators",
)
SYSTEM_NAMES = ("mojo_kernel",)  # tests/systems
OTHER_NAMES = (
    "aot_program",
    "driver_module",
    "graph_compiler",
    "mlir_kernel",
    "python_packaging",
    "rust_kernel",
    "toy_compiler",
)  # test_NAME.py
C_SOURCES = sorted(path.relative_to(EXAMPLES) for path in EXAMPLES.glob("*/**/*.c"))

HAS_TORCH = importlib.util.find_spec("torch") is not None
# A sitecustomize module in PYTHONPATH that makes `import torch` fail.
HIDE_TORCH = "import sys\n\nsys.modules['torch'] = None\n"
NO_TORCH_LINE = "PyTorch  not installed, skipped\n"

CC = shlex.split(os.environ.get("CC") or "cc")
SEARCH = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])

needs_cc = pytest.mark.skipif(
    shutil.which(CC[0]) is None, reason=f"the C compiler {CC[0]} is not installed"
)
needs_cmake = pytest.mark.skipif(shutil.which("cmake", path=SEARCH) is None, reason="no cmake")

# ---- Expected output, written by hand ------------------------------------------------------------


def expected(name: str) -> str:
    """Return the expected output of a C program; ctest compares with the same file."""
    return (HERE / "expected" / f"{name}.txt").read_text(encoding="utf-8")


def expected_of_load_py(torch: bool) -> str:
    return (
        "NumPy    strides (-8,) bytes: x = [9. 7. 5. 3. 1.], y = [10.  8.  6.  4.  2.]\n"
        + (
            "PyTorch  stride 3: x = [1.0, 4.0, 7.0, 10.0], y = [2.0, 5.0, 8.0, 11.0]\n"
            if torch
            else NO_TORCH_LINE
        )
        + "TypeError  add_one_cpu(x, y): argument 1 `y`: expected a Tensor or DLTensor*, got None\n"
        "TypeError  add_one_cpu(x, y): argument 1 `y`: expected dtype float32, got float64\n"
        "ValueError add_one_cpu(x, y): argument 1 `y`: expected ndim 1, got ndim 2\n"
        "ValueError add_one_cpu(x, y): argument 1 `y`: "
        "expected the length of `x`, 3, got length 4\n"
    )


def expected_of_run_py(torch: bool) -> str:
    return (
        "NumPy    add_one([1.0, 2.0, 3.0, 4.0]) wrote into buffer[2:6] of "
        "[0.0, 0.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0]: correct\n"
        + (
            "PyTorch  add_one in place turned [1.0, 2.0, 3.0, 4.0] into "
            "[2.0, 3.0, 4.0, 5.0]: correct\n"
            if torch
            else NO_TORCH_LINE
        )
        + "float64  raised TypeError: "
        "add_one(x, y): `x` must be float32, got dtype code 2 of 64 bits\n"
    )


# ---- Fixtures; conftest.py defines others --------------------------------------------------------


@pytest.fixture
def without_torch(tmp_path):
    """Return environment variables that make `import torch` fail."""
    folder = tmp_path / "without_torch"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDE_TORCH, encoding="utf-8")
    inherited = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), inherited]))}


# ---- The READMEs ---------------------------------------------------------------------------------

# The end of the output of each command block; builds may print text before this output.
README_OUTPUTS = {
    "abi_overview": [expected("abi_overview")] * 2,
    "export_library": [expected("export_library")],
    "quickstart": [expected_of_run_py(HAS_TORCH) + expected("quickstart")],
    "stable_c_abi": [expected("load") + expected_of_load_py(HAS_TORCH), expected("load")],
}


def test_every_example_is_tested():
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert folders == {*NAMES, *CUDA_NAMES, *CPP_NAMES, *SYSTEM_NAMES, *OTHER_NAMES}
    assert set(NAMES) == set(README_OUTPUTS)


@needs_cc
@pytest.mark.parametrize(
    ("name", "index"),
    [(name, index) for name, outputs in README_OUTPUTS.items() for index in range(len(outputs))],
)
def test_commands_of_the_readme(example, run, readme_blocks, name, index):
    """Each command block runs alone in a fresh copy of the example."""
    block = readme_blocks(name, "sh")[index]
    if "cmake" in block and shutil.which("cmake", path=SEARCH) is None:
        pytest.skip("CMake is not installed")
    output = run("sh", "-euc", block, cwd=example(name))
    if "cmake" in block:
        assert output.endswith("\n" + README_OUTPUTS[name][index])
    else:
        assert output == README_OUTPUTS[name][index]


@pytest.mark.parametrize("name", NAMES)
def test_all_commands_of_the_readme_are_tested(readme_blocks, name):
    assert len(readme_blocks(name, "sh")) == len(README_OUTPUTS[name])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("export_library", [expected("export_library")]),
        ("quickstart", [expected_of_run_py(torch=True) + expected("quickstart")]),
        ("stable_c_abi", [expected("load"), expected_of_load_py(torch=True)]),
    ],
)
def test_the_readme_shows_the_output(readme_blocks, name, shown):
    assert readme_blocks(name, "") == shown


def test_the_readme_lists_the_regions_of_the_code():
    """Each region of code is quoted in the README and occurs once in the code."""
    readme = (EXAMPLES / "abi_overview" / "README.md").read_text(encoding="utf-8")
    table = "\n".join(line for line in readme.splitlines() if line.startswith("|"))
    named = sorted(re.findall(r"`([\w.]+)`", table))
    code = (EXAMPLES / "abi_overview" / "example_code.c").read_text(encoding="utf-8")
    for mark in ("begin", "end"):
        assert sorted(re.findall(rf"^/\* \[([\w.]+)\.{mark}\] \*/$", code, re.MULTILINE)) == named


# ---- Python without PyTorch ----------------------------------------------------------------------


@needs_cc
@pytest.mark.parametrize(
    ("name", "source", "library", "program", "output"),
    [
        (
            "quickstart",
            "kernel.c",
            "add_one.so",
            ["run.py", "build/add_one.so"],
            expected_of_run_py(torch=False),
        ),
        (
            "stable_c_abi",
            "src/add_one_cpu.c",
            "add_one_cpu.so",
            ["load.py"],
            expected_of_load_py(torch=False),
        ),
    ],
    ids=["quickstart", "stable_c_abi"],
)
def test_python_without_pytorch(
    example, run, without_torch, name, source, library, program, output
):
    folder = example(name)
    build_library(run, folder, source, library)
    assert run("python", *program, cwd=folder, **without_torch) == output


def build_library(run, folder: Path, source: str, library: str) -> None:
    """Compile a kernel to a library without linking other libraries."""
    (folder / "build").mkdir()
    flags = [f"-I{path}" for path in libinfo.include_paths()]
    command = ["cc", "-std=c11", "-shared", "-fPIC", source, *flags, "-o", f"build/{library}"]
    assert run(*command, cwd=folder) == ""


# ---- CMake ---------------------------------------------------------------------------------------


def configure(run, folder: Path, *options: str, status: int = 0) -> str:
    """Run CMake; it can find the package only by the variable tvm_ffi_ROOT."""
    root = run("tvm-ffi-config", "--cmakedir", cwd=folder).strip()
    settings = [f"-Dtvm_ffi_ROOT={root}", "-DTVM_FFI_CONFIG=OFF", *options]
    return run("cmake", "-S", ".", "-B", "build", *settings, cwd=folder, status=status)


@needs_cc
@needs_cmake
@pytest.mark.parametrize(
    ("options", "built"),
    [
        ([], {"add_one_cpu.so", "load"}),
        (["-DEXAMPLE_NAME=kernel"], {"add_one_cpu.so"}),
        (["-DEXAMPLE_NAME=load"], {"load"}),
    ],
    ids=["both", "kernel", "load"],
)
def test_cmake_builds_the_selected_targets(example, run, options, built):
    folder = example("stable_c_abi")
    configure(run, folder, *options)
    run("cmake", "--build", "build", cwd=folder)
    found = {name for name in ("add_one_cpu.so", "load") if (folder / "build" / name).is_file()}
    assert found == built
    if built == {"add_one_cpu.so", "load"}:
        assert run("build/load", cwd=folder) == expected("load")


@needs_cc
@needs_cmake
def test_cmake_refuses_unknown_target_names(example, run):
    output = configure(run, example("stable_c_abi"), "-DEXAMPLE_NAME=both", status=1)
    assert 'EXAMPLE_NAME must be kernel, load or empty, got "both"' in " ".join(output.split())


# ---- Compilers -----------------------------------------------------------------------------------


@needs_cc
@pytest.mark.parametrize("source", C_SOURCES, ids=str)
def test_strict_c11_without_warnings(run, tmp_path, source):
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    flags += [f"-I{path}" for path in libinfo.include_paths()]
    assert run("cc", *flags, "-c", EXAMPLES / source, "-o", "object.o", cwd=tmp_path) == ""


@pytest.fixture
def sanitized(run, tmp_path):
    """Return a function that compiles a source with sanitizers and the installed library."""
    sanitizers = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    (tmp_path / "probe.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    try:
        run("cc", *sanitizers, "probe.c", "-o", "probe", cwd=tmp_path)
        run("./probe", cwd=tmp_path)
    except AssertionError as error:
        pytest.skip(f"the compiler has no sanitizers: {error}")
    flags = run("tvm-ffi-config", "--cflags", "--ldflags", "--libs", cwd=tmp_path).split()
    flags.append(f"-Wl,-rpath,{Path(libinfo.find_libtvm_ffi()).parent}")

    def compile_one(source: str, target: str, *options: str) -> Path:
        path = EXAMPLES / source
        run("cc", "-std=c11", *sanitizers, *options, path, *flags, "-o", target, cwd=tmp_path)
        return tmp_path / target

    return compile_one


@needs_cc
@pytest.mark.parametrize(
    ("program", "kernel", "output"),
    [
        ("abi_overview/example_code.c", None, expected("abi_overview")),
        ("quickstart/main.c", "quickstart/kernel.c", expected("quickstart")),
        ("stable_c_abi/src/load.c", "stable_c_abi/src/add_one_cpu.c", expected("load")),
    ],
    ids=["abi_overview", "quickstart", "stable_c_abi"],
)
def test_sanitizers_report_no_errors(sanitized, run, tmp_path, program, kernel, output):
    """The sanitizers instrument only the example, not the installed library."""
    command = [sanitized(program, "program")]
    if kernel is not None:
        command.append(sanitized(kernel, "kernel.so", "-shared", "-fPIC"))
    options = {
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
        "LSAN_OPTIONS": "use_stacks=0",  # pointers in dead stack frames would hide leaks
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    assert run(*command, cwd=tmp_path, **options) == output

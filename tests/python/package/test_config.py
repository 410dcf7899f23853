# SPDX-License-Identifier: Apache-2.0
"""``tvm-ffi-config``: options, order of the output, and compilation with its flags."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tvm_ffi import libinfo

# Options, in the order of the output.
OPTIONS = (
    "--includedir",
    "--dlpack-includedir",
    "--cmakedir",
    "--libdir",
    "--libfiles",
    "--sourcedir",
    "--rust",
    "--cython-lib-path",
    "--cxxflags",
    "--cflags",
    "--libs",
    "--ldflags",
    "--staticlibs",
    "--minimallibs",
)
SCRIPT = [str(Path(sysconfig.get_path("scripts")) / "tvm-ffi-config")]
MODULE = [sys.executable, "-m", "tvm_ffi.config"]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def config_lines(*options: str) -> list[str]:
    done = run(*MODULE, *options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_output_lines_are_in_a_fixed_order():
    in_order = config_lines(*OPTIONS)
    assert len(in_order) == len(OPTIONS)
    assert config_lines(*reversed(OPTIONS)) == in_order
    assert [config_lines(option) for option in OPTIONS] == [[answer] for answer in in_order]


@pytest.mark.parametrize("options", [OPTIONS, ("--libs", "--cflags"), ()], ids=len)
def test_script_and_module_print_the_same(options):
    script, module = run(*SCRIPT, *options), run(*MODULE, *options)
    assert (script.returncode, script.stdout) == (0, module.stdout)


def test_folders_contain_the_expected_files():
    include, dlpack, cmake, folder, library, source, crate, extension = map(
        Path, config_lines(*OPTIONS[:8])
    )
    assert (include / "tvm" / "ffi" / "c_api.h").is_file()
    assert (dlpack / "dlpack" / "dlpack.h").is_file()
    assert (cmake / "tvm_ffi-config.cmake").is_file()
    assert library.is_file()
    assert library.parent == folder
    assert (source / "CMakeLists.txt").is_file()
    assert (crate / "Cargo.toml").is_file()
    assert (crate / "src" / "lib.rs").is_file()
    assert extension.is_file()


def test_flags_have_the_documented_form():
    include, dlpack = config_lines("--includedir", "--dlpack-includedir")
    assert config_lines("--cxxflags", "--cflags", "--libs", "--ldflags") == [
        f"-I{include} -I{dlpack} -std=c++17",
        f"-I{include} -I{dlpack}",
        "-ltvm_ffi",
        f"-L{config_lines('--libdir')[0]}",
    ]


@pytest.mark.parametrize(
    ("variable", "default", "language", "flags"),
    [("CC", "cc", "c", "--cflags"), ("CXX", "c++", "c++", "--cxxflags")],
)
def test_a_program_compiles_with_the_flags(tmp_path, variable, default, language, flags):
    compiler = os.environ.get(variable) or default
    if shutil.which(compiler.split()[0]) is None:
        pytest.skip(f"no {language} compiler: {compiler!r} not found")
    source, program = tmp_path / "main.txt", tmp_path / "main"
    source.write_text(
        "#include <tvm/ffi/c_api.h>\n"
        "int main(void) { TVMFFIVersion v; TVMFFIGetVersion(&v); return (int)v.major; }\n",
        encoding="utf-8",
    )
    compile_flags, libs, ldflags = (
        line.split() for line in config_lines(flags, "--libs", "--ldflags")
    )
    run_path = f"-Wl,-rpath,{config_lines('--libdir')[0]}"
    command = [*compiler.split(), "-x", language, str(source), *compile_flags, *ldflags, *libs]
    compiled = run(*command, run_path, "-o", str(program))
    assert compiled.returncode == 0, compiled.stderr
    assert run(str(program)).returncode == 0


def test_the_runtime_as_an_archive():
    """The flags link libtvm_ffi_static.a; tests/examples/test_aot_program.py uses the flags."""
    whole, minimal = config_lines("--staticlibs", "--minimallibs")
    assert (
        minimal == f"{config_lines('--libdir')[0]}/libtvm_ffi_static.a -lstdc++ -lm -lpthread -ldl"
    )
    assert whole == f"-Wl,-u,tvm_ffi_dynamic_loading {minimal}"


@pytest.fixture
def package_without_archive(tmp_path):
    """Return a folder with a copy of the package as published wheels contain it: no archive."""
    package = Path(libinfo.__file__).parent
    ignored = shutil.ignore_patterns("libtvm_ffi_static.a", "__pycache__")
    shutil.copytree(package, tmp_path / "site" / package.name, ignore=ignored)
    return tmp_path / "site"


@pytest.mark.unsanitized("the process has an empty environment, without the sanitizer's library")
def test_a_package_without_the_archive_needs_cmake_to_compile_it(package_without_archive, tmp_path):
    """The error is one line that names the remedy; nothing is left in the build cache."""
    empty = tmp_path / "bin"
    empty.mkdir()
    (empty / "c++").symlink_to(shutil.which(os.environ.get("CXX", "c++").split()[0]) or "c++")
    cache = tmp_path / "cache"
    code = (
        f"import sys; sys.path.insert(0, {str(package_without_archive)!r})\n"
        "from tvm_ffi.config import __main__\n"
        f"sys.executable = {str(empty / 'python')!r}\n"
        "sys.argv = ['tvm-ffi-config', '--staticlibs']\n"
        "__main__()"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PATH": str(empty), "TVM_FFI_CACHE_DIR": str(cache), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        "tvm-ffi-config: error: libtvm_ffi_static.a must be compiled, but cmake is not found; "
        "install it with `pip install cmake`"
    )
    assert not list(cache.glob("tvm_ffi_static_*"))


def test_no_option_prints_help():
    done = run(*MODULE)
    assert done.returncode == 0
    assert all(option in done.stdout for option in OPTIONS)


def test_an_unknown_option_is_a_usage_error():
    done = run(*MODULE, "--nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--nonsense" in done.stderr


def test_a_missing_file_is_a_one_line_error(tmp_path):
    """Outside its package, the command prints an error without a traceback; its status is 1."""
    package = tmp_path / "src" / "tvm_ffi"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in ("libinfo.py", "config.py", "_internal/__init__.py", "_internal/terminal.py"):
        (package / name).parent.mkdir(exist_ok=True)
        shutil.copy(Path(libinfo.__file__).parent / name, package / name)
    code = (
        f"import sys; sys.path.insert(0, {str(package.parent)!r})\n"
        "from tvm_ffi.config import __main__\n"
        "sys.argv = ['tvm-ffi-config', '--libs', '--includedir']\n"
        "__main__()"
    )
    # The interpreter is isolated and without site-packages, so that it does not find the installed
    # package.
    done = run(sys.executable, "-I", "-S", "-c", code)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("tvm-ffi-config: error: Cannot find include/tvm/ffi/c_api.h; ")
    assert str(package) in done.stderr


def test_array_libraries_are_not_loaded():
    code = (
        "import sys; from tvm_ffi.config import __main__; __main__()\n"
        "print(sorted({'numpy', 'torch'} & set(sys.modules)))"
    )
    done = run(sys.executable, "-c", code, "--libs")
    assert done.stdout.splitlines() == ["-ltvm_ffi", "[]"]

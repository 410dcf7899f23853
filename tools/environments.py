# SPDX-License-Identifier: Apache-2.0
"""Test environments besides .venv: free-threaded Python, sanitizers, third-party packages.

The targets of the Makefile call this script: test-nogil, test-nogil-tsan, test-python-asan,
test-aarch64, test-windows, test-flashinfer, test-clients, test-systems, test-frameworks,
test-device and fuzz.
Each environment is a folder in the build folder and is kept.  The time of its stamp file is that of
its creation: a step is repeated only if one of the files that it reads is newer.

The script uses only the standard library, because some environments are made before .venv exists.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from emulated import aarch64, windows
from environment_steps import (
    BUILD_PACKAGE,
    PIP,
    ROOT,
    WHEELS_ONLY,
    build_folder,
    junit_option,
    make,
    new_folder,
    run,
    source_files,
)

FLASHINFER = ("flashinfer-python==0.7.2", "nvidia-curand==10.4.0.35")

# Tests that start compilers, CMake and pip, and call the same native code as other tests: a quarter
# of the time of all tests under ASan.
NOT_SANITIZED = (
    "tests/python/cpp/test_exports.py",
    "tests/python/cpp/test_portability.py",
    "tests/python/cpp/test_precompiled.py",
    "tests/python/new_package",
    "tests/python/package",
    "tests/python/stub",
)

IS_FREE_THREADED = "import sys; sys.exit(sys._is_gil_enabled())"
IS_FREE_THREADED_TSAN = (
    "import sys, sysconfig; sys.exit(sys._is_gil_enabled() "
    "or '-fsanitize=thread' not in sysconfig.get_config_var('CFLAGS'))"
)


def main() -> None:
    """Make the environment that the command line names, and run its tests."""
    arguments = _parse_arguments()
    os.chdir(ROOT)
    COMMANDS[arguments.environment](arguments)


def _parse_arguments() -> argparse.Namespace:
    usage = "%(prog)s ENVIRONMENT [options] [-- pytest arguments or fuzz targets]"
    parser = argparse.ArgumentParser(usage=usage, description=(__doc__ or "").splitlines()[0])
    parser.add_argument("environment", choices=sorted(COMMANDS))
    parser.add_argument("--build", type=Path, default=Path("build"), help="build folder")
    parser.add_argument("--jobs", default="1", help="number of tests that run at once")
    parser.add_argument("--python", default="python3", help="interpreter of the environment")
    parser.add_argument("--python-tsan", default="", help="free-threaded interpreter under TSan")
    parser.add_argument("--stress-seconds", default="30", help="duration of the stress test")
    parser.add_argument("--fuzz-seconds", default="60", help="duration of each fuzz target")
    parser.add_argument("--incumbent", default="", help="wheel of the incumbent to compare with")
    parser.add_argument("--tests", default="tests/python", help="test files and folders")
    options = sys.argv[1:]
    end = options.index("--") if "--" in options else len(options)
    parsed = parser.parse_args(options[:end])
    parsed.rest = options[end + 1 :]
    parsed.build = parsed.build.resolve()
    return parsed


# ---- Environments and their tests ----------------------------------------------------------------


def nogil(arguments: argparse.Namespace) -> None:
    """Run the Python tests on a free-threaded Python, then the stress test for a longer time."""
    folder = arguments.build / "nogil"
    python = _make_nogil(folder, arguments.python)
    _install_package(python, folder)
    _pytest(python, arguments, "nogil", *arguments.tests.split())
    stress = ("-s", "tests/python/stress/test_thread_stress.py")
    run(python, "-m", "pytest", *stress, TVM_FFI_STRESS_SECONDS=arguments.stress_seconds)


def nogil_tsan(arguments: argparse.Namespace) -> None:
    """Run the tests with threads on a free-threaded Python under ThreadSanitizer.

    Python, the binding and the runtime are compiled for ThreadSanitizer, NumPy is not.  The
    ordinary free-threaded Python runs pip, which takes a tenth of the time.
    """
    builder = _make_nogil(arguments.build / "nogil", arguments.python)
    _require_python(
        arguments.python_tsan,
        IS_FREE_THREADED_TSAN,
        "PYTHON_NOGIL_TSAN: expected a free-threaded Python that was configured"
        f" --with-thread-sanitizer, got '{arguments.python_tsan}'",
        TSAN_OPTIONS="report_bugs=0",
    )
    folder = arguments.build / "nogil-tsan"
    site = folder / "site"

    def install() -> None:
        shutil.rmtree(site, ignore_errors=True)
        run(builder, *PIP, "install", *WHEELS_ONLY, "--target", site, "--group", "light")
        options = ("--target", str(site), *_debug_build("thread"))
        run(builder, *PIP, "install", *BUILD_PACKAGE, *build_folder(folder), *options, ".")

    make(folder / ".installed", [*source_files(), _stamp_of(builder)], install)
    reports = new_folder(folder / "reports")
    suppressions = ROOT / "tests/python/stress/tsan_suppressions.txt"
    run(
        arguments.python_tsan, "-m", "pytest", "-s", "-p", "no:cacheprovider",
        *junit_option(arguments, "nogil-tsan"), *arguments.tests.split(), *arguments.rest,
        reports=reports,
        TVM_FFI_TESTS_SANITIZED="1",
        TVM_FFI_STRESS_SECONDS=arguments.stress_seconds,
        TSAN_OPTIONS=f"exitcode=0:suppressions={suppressions}:log_path={reports}/tsan",
        PYTHONPATH=str(site),
    )  # fmt: skip


def python_asan(arguments: argparse.Namespace) -> None:
    """Run the Python tests with the package compiled for ASan and UBSan.

    Both sanitizers are preloaded into Python and into every process that a test starts, including
    compilers.  Python uses malloc, because its own allocator hides accesses to freed memory.
    """
    folder = arguments.build / "python-asan"
    python = _make_virtualenv(folder, arguments.python)
    # Compile without optimization, which takes a quarter of the time.
    _install_package(python, folder, *_debug_build("address,undefined"))
    reports = new_folder(folder / "reports")
    asan = "verify_asan_link_order=0:detect_leaks=0:allocator_may_return_null=1"
    ubsan = "halt_on_error=1:print_stacktrace=1"
    # UBSan is first, although ASan asks to be: otherwise UBSan does not write its reports to files.
    preloaded = ":".join(_compiler_file(name) for name in ("libubsan.so", "libasan.so"))
    _pytest(
        python,
        arguments,
        "python-asan",
        *(f"--ignore={path}" for path in NOT_SANITIZED),
        *arguments.tests.split(),
        reports=reports,
        TVM_FFI_TESTS_SANITIZED="1",
        PYTHONMALLOC="malloc",
        LD_PRELOAD=preloaded,
        ASAN_OPTIONS=f"{asan}:log_path={reports}/asan",
        UBSAN_OPTIONS=f"{ubsan}:log_path={reports}/ubsan",
    )


def flashinfer(arguments: argparse.Namespace) -> None:
    """Compile FlashInfer's sources with the headers of this package.

    FlashInfer is unpacked without its dependencies: compiling its sources needs no GPU, and only
    one of the dependencies, a library of CUDA headers.
    """
    folder = arguments.build / "flashinfer"
    install = (*PIP, "install", "--quiet", "--no-deps", "--target", folder, *FLASHINFER)
    make(folder / ".unpacked", [], lambda: run(sys.executable, *install))
    test = ("tests/compat/test_flashinfer_sources.py", *arguments.rest)
    run(sys.executable, "-m", "pytest", *test, TVM_FFI_FLASHINFER=str(folder))


def published(arguments: argparse.Namespace) -> None:
    """Run third-party packages with a wheel of this package, each in a separate environment."""
    folder = arguments.build / "published"
    wheels = folder / "wheel"

    def build_wheel() -> None:
        shutil.rmtree(wheels, ignore_errors=True)
        options = ("--quiet", *BUILD_PACKAGE, "--wheel-dir", wheels)
        run(sys.executable, *PIP, "wheel", *options, ".")

    make(folder / ".wheel", source_files(), build_wheel)
    test = (*arguments.tests.split(), *arguments.rest)
    run(sys.executable, "-m", "pytest", *test, TVM_FFI_PUBLISHED=str(folder))


def device(arguments: argparse.Namespace) -> None:
    """Run the device tests with the packages that the interpreter has, without a package index.

    The results are written to the folder that the variable ``OUT`` names, else to the build folder.
    """
    folder = arguments.build / "device"
    site = folder / "site"
    python = shutil.which(arguments.python) or arguments.python
    offline = ("install", "--quiet", "--no-index", "--no-deps", "--target")

    def install(target: Path, *what: str) -> None:
        shutil.rmtree(target, ignore_errors=True)
        run(python, *PIP, *offline, target, *what)

    package = ("--no-build-isolation", *build_folder(folder), ".")
    make(folder / ".installed", source_files(), lambda: install(site, *package))
    incumbent = folder / "incumbent"
    if arguments.incumbent:
        install(incumbent, arguments.incumbent)
    results = Path(os.environ.get("OUT") or arguments.build).resolve()
    path = os.environ.get("PATH", os.defpath)
    # Warnings are not errors, because the versions of the frameworks are those of the machine.
    options = ("-v", "-rfE", "-W", "default", "-o", "faulthandler_timeout=150")
    run(
        python, "-m", "pytest", *options, "-p", "no:cacheprovider",
        "--junit-xml", results / "results-device.xml",
        "tests/device", "tests/examples/test_cuda_examples.py", *arguments.rest,
        PATH=os.pathsep.join([str(site / "bin"), path, "/usr/local/cuda/bin"]),
        PYTHONPATH=str(site),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        TVM_FFI_CACHE_DIR=str(folder / "cache"),
        TVM_FFI_DEVICE_RESULTS=str(results),
        TVM_FFI_DEVICE_INCUMBENT=str(incumbent) if arguments.incumbent else "",
    )  # fmt: skip


def fuzz(arguments: argparse.Namespace) -> None:
    """Build the fuzz targets with Clang and run them; keep the corpus for the next run."""
    folder = arguments.build / "fuzz"
    run(
        "cmake", "-S", ".", "-B", folder, "-G", "Ninja",
        "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DTVM_FFI_BUILD_FUZZERS=ON",
        "-DTVM_FFI_SANITIZERS=address,undefined,fuzzer-no-link",
    )  # fmt: skip
    run("cmake", "--build", folder, "--target", "fuzzers")
    options = ("--seconds", arguments.fuzz_seconds, "--jobs", arguments.jobs)
    run(sys.executable, "tests/fuzz/run.py", "--build", folder, *options, *arguments.rest)


COMMANDS = {
    "nogil": nogil,
    "nogil-tsan": nogil_tsan,
    "python-asan": python_asan,
    "aarch64": aarch64,
    "windows": windows,
    "flashinfer": flashinfer,
    "published": published,
    "device": device,
    "fuzz": fuzz,
}

# ---- Steps that environments share ---------------------------------------------------------------


def _make_nogil(folder: Path, python: str) -> Path:
    _require_python(
        python,
        IS_FREE_THREADED,
        f"PYTHON_NOGIL: expected a free-threaded Python, 3.13 or later, got '{python}'",
    )
    return _make_virtualenv(folder, python)


def _make_virtualenv(folder: Path, python: str) -> Path:
    """Make a virtual environment with the requirements of most tests; return its interpreter."""
    venv = folder / "venv"
    interpreter = venv / "bin" / "python"

    def install() -> None:
        run(python, "-m", "venv", "--clear", venv)
        # pip 25.1 is the first release that reads [dependency-groups].
        run(interpreter, *PIP, "install", "--quiet", "pip>=25.1")
        run(interpreter, *PIP, "install", *WHEELS_ONLY, "--group", "light")

    make(_stamp_of(interpreter), [ROOT / "pyproject.toml"], install)
    return interpreter


def _stamp_of(interpreter: Path) -> Path:
    return interpreter.parents[2] / ".environment"


def _install_package(python: Path, folder: Path, *options: str) -> None:
    install = (*PIP, "install", *BUILD_PACKAGE, *build_folder(folder), *options, ".")
    sources = [*source_files(), _stamp_of(python)]
    make(folder / ".installed", sources, lambda: run(python, *install))


def _debug_build(sanitizers: str) -> tuple[str, ...]:
    return (
        "--config-settings=cmake.build-type=Debug",
        f"--config-settings=cmake.define.TVM_FFI_SANITIZERS={sanitizers}",
    )


def _pytest(
    python: Path, arguments: argparse.Namespace, name: str, *tests: str,
    reports: Path | None = None, **variables: str,
) -> None:  # fmt: skip
    # --dist loadfile: tests of one file share libraries that they compile, so one worker runs them.
    options = ("--numprocesses", arguments.jobs, "--dist", "loadfile", "--no-loadscope-reorder")
    results = junit_option(arguments, name)
    command = (python, "-m", "pytest", *options, *results, *tests, *arguments.rest)
    run(*command, reports=reports, **variables)


def _compiler_file(name: str) -> str:
    compiler = shlex.split(os.environ.get("CC") or "cc")
    command = [*compiler, f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _require_python(python: str, test: str, message: str, **variables: str) -> None:
    """End the script with a message unless `python` runs the code `test` with exit status 0."""
    try:
        done = subprocess.run(
            [python, "-c", test], env={**os.environ, **variables}, capture_output=True, check=False
        )
    except OSError:
        sys.exit(message)
    if done.returncode != 0:
        sys.exit(message)


if __name__ == "__main__":
    main()

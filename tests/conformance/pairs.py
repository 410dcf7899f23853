# SPDX-License-Identifier: Apache-2.0
"""All pairs of caller, callee and runtime: who calls a function of whom, on which runtime.

Usage: ``python tests/conformance/pairs.py PAGE.md [NAME=libtvm_ffi.so ...] [headers=INCLUDES]``

Each caller of the folder `pairs` loads the library of each callee through the runtime, calls its
function `add` with right arguments, with one argument, which must be a TypeError, and again. The
runtimes are this one, the reference, and those of the command line; `headers` is the folder of the
headers of another implementation, which gives one more caller and one more callee in C++.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "conformance" / "src"))

from tvm_ffi_conformance.callers.library import build as build_reference  # noqa: E402
from tvm_ffi_conformance.libraries.run import find_runtime  # noqa: E402

NO_RUNTIME = "no runtime"
OWN = [f"-I{ROOT / 'include'}"]
FOREIGN = "C++, foreign headers"
RIGHT = "right"
LIMIT = 60.0  # seconds for a program
HEAD = """\
# Callers, callees and runtimes

A caller (row) loads the library of a callee (column) on a runtime, calls its function with right
arguments, with a wrong number of arguments, and again. *right*: each call had the right result or
error. The C program of *no runtime* finds the symbol itself, and takes the error itself.
`tests/conformance/pairs.py` writes this page. The foreign headers are those of apache-tvm-ffi
0.1.15.post2.

A caller or callee *lacks* a function that the runtime of an earlier level does not have; the kit
names the level that a library needs.
"""


def compile_(compiler: str, source: Path, output: Path, *flags: str) -> Path:
    """Compile a program, or a library with ``-shared``; return its path."""
    standard = "-std=c++17" if source.suffix == ".cc" else "-std=c11"
    command = [compiler, standard, "-D_GNU_SOURCE", "-O1", "-w", str(source), *flags]
    subprocess.run([*command, "-o", str(output)], check=True, timeout=300)
    return output


def build_all(folder: Path, headers: str | None) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the programs of the callers and the libraries of the callees by language."""
    pairs, runtime = HERE / "pairs", Path(find_runtime() or "")
    link = [f"-L{runtime.parent}", "-ltvm_ffi"]
    library = ["-shared", "-fPIC"]
    kernel, kernel_cpp = ROOT / "docs" / "guides" / "right_kernel.c", HERE / "emitters/headers.cc"
    callers = {
        "C": compile_("cc", pairs / "caller.c", folder / "c", *OWN, *link),
        "C++": compile_("c++", pairs / "caller.cc", folder / "cpp", *OWN, *link),
    }
    callees = {
        "C": compile_("cc", kernel, folder / "c.so", *OWN, *library),
        "C++": compile_("c++", kernel_cpp, folder / "cpp.so", *OWN, *library),
    }
    if shutil.which("cargo"):
        command = ["cargo", "build", "--release", "--offline", "--target-dir", str(folder / "rust")]
        environment = {**os.environ, "TVM_FFI_LIBDIR": str(runtime.parent)}
        subprocess.run(
            command, cwd=pairs / "rust", env=environment, check=True, stderr=subprocess.DEVNULL
        )
        callers["Rust"] = folder / "rust" / "release" / "pairs"
        callees["Rust"] = folder / "rust" / "release" / "libpairs.so"
    if headers:
        flags = [f"-I{headers}", *OWN]
        callers[FOREIGN] = compile_(
            "c++", pairs / "caller.cc", folder / "foreign", *flags, *link,
            "-Wl,--unresolved-symbols=ignore-all",
        )  # fmt: skip
        callees[FOREIGN] = compile_("c++", kernel_cpp, folder / "foreign.so", *flags, *library)
    return callers, callees


def call(caller: Path, callee: Path, runtime: str) -> str:
    """Return `RIGHT`, or what the caller found."""
    source = str(ROOT / "conformance" / "src")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(Path(runtime).parent), "PYTHONPATH": source}
    try:
        done = subprocess.run(
            [str(caller), str(callee)], env=environment, capture_output=True, text=True,
            timeout=LIMIT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode < 0:
        return f"dies of {signal.Signals(-done.returncode).name}"
    printed = done.stdout.strip() or done.stderr.strip() or f"status {done.returncode}"
    missing = re.search(r"undefined symbol: (\w+)", printed)
    return f"lacks `{missing[1]}`" if missing else printed.splitlines()[-1]


def run(
    folder: Path, runtimes: dict[str, str], headers: str | None = None
) -> dict[tuple[str, str, str], str]:
    """Return what each caller found, by runtime, caller and callee."""
    callers, callees = build_all(folder, headers)
    program = compile_(
        "cc", HERE / "pairs" / "caller.c", folder / "none", *OWN, "-DNO_RUNTIME", "-rdynamic"
    )
    found = {(NO_RUNTIME, "C", "C"): call(program, callees["C"], "/")}
    for name, runtime in runtimes.items():
        for caller, path in callers.items():
            for callee, library in callees.items():
                found[name, caller, callee] = call(path, library, runtime)
    return found


def page(found: dict[tuple[str, str, str], str]) -> str:
    """Return the page."""
    parts = [HEAD]
    for name in dict.fromkeys(runtime for runtime, _, _ in found):
        own = {key[1:]: text for key, text in found.items() if key[0] == name}
        callees = list(dict.fromkeys(callee for _, callee in own))
        parts.append(f"\n## {name}\n\n| caller | " + " | ".join(callees) + " |\n")
        parts.append("|---|" + "---|" * len(callees) + "\n")
        for caller in dict.fromkeys(caller for caller, _ in own):
            cells = " | ".join(own[caller, callee] for callee in callees)
            parts.append(f"| {caller} | {cells} |\n")
    return "".join(parts)


def own_runtimes(folder: Path) -> dict[str, str]:
    """Return this runtime and the reference."""
    target = folder / "reference"
    target.mkdir()
    return {"pytvmffi": find_runtime() or "", "reference": str(build_reference(target))}


def main(arguments: list[str]) -> int:
    """Write the page."""
    output, *given = arguments
    others = dict(each.split("=", 1) for each in given)
    headers = others.pop("headers", None)
    with tempfile.TemporaryDirectory() as folder:
        runtimes = {**own_runtimes(Path(folder)), **others}
        Path(output).write_text(page(run(Path(folder), runtimes, headers)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

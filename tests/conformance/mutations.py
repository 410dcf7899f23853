# SPDX-License-Identifier: Apache-2.0
"""Seeded faults: the kit runs on faulty copies of the runtime, of kernels and of the reference.

Usage: ``python tests/conformance/mutations.py [PART ...] [--table PAGE.md]``, parts: ``runtime``,
``kernels``, ``reference``. The exit status is 1 if the kit misses a fault without a reason in
``missed_faults.txt``, or catches a smaller share of the others than `AT_LEAST`. ``--outcome FILE``
keeps the outcome; a later call with the file writes the page from it, or, with ``--cases``, runs
these cases on the faults that are not caught yet.

All faults of a part are in one build. A fault is an edit of one expression or statement that takes
effect while ``$TVM_FFI_FAULT`` is its number. The expression also writes to the file
``$TVM_FFI_FAULT_REACHED``, so that a first run tells which cases reach a fault; only these run
again with the fault, until one fails. A fault of the reference that no case catches meets the tests
of the reference, which load kernels and read the reports of broken rules.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mutation_edits import C_HEADER, C_SOURCE, MOST_FAULTS, NUMBER, REACHED, c_edits

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOST_AFTER_LOADING = 400  # cases for a fault that the library reaches while it loads
AT_LEAST = {"runtime": 0.95, "kernels": 0.95, "reference": 0.95}
TESTS_LIMIT = 600.0  # seconds for the tests of the reference, which take 15
SLOWDOWN = 6.0  # with a fault they take at most this multiple of their time

RUNTIME_FILES = [
    *(f"runtime/core/{name}.cc" for name in (
        "bigint", "dtype", "error", "function", "function_table", "handle_once", "object_api",
        "stream", "string", "tensor", "tensor_allocator", "type_table")),
    "runtime/extra/globals/*.cc", "runtime/extra/json/number.cc", "runtime/extra/json/parse.cc",
    "runtime/extra/json/write.cc", "runtime/extra/json/graph_*.cc", "runtime/extra/content/*.cc",
    "runtime/extra/structural/structural_equal.cc", "runtime/extra/structural/structural_hash.cc",
    "include/tvm/ffi/container/*_base.h", "include/tvm/ffi/container/map_table_detail.h",
]  # fmt: skip
REFERENCE_FILES = [
    "values", "objects", "types", "strings", "errors", "functions", "tensors", "dtypes",
    "environment", "sequences", "hashing", "maps", "modules", "builtins", "reflection",
]  # fmt: skip
KERNELS = {
    "docs/guides/right_kernel.c": ["add(x: float32[n], y: out float32[n])"],
    "tests/conformance/programs/scale.c": [
        "scale(x: float64[n, m], factor: float, y: out float64[n, m]) -> int",
        "pick(x: int32[n], position: int, last: bool) -> int",
        "size(text: str, extra: bytes) -> int",
    ],
}
FAULTS_OF_PART = {"runtime": 230, "kernels": 80, "reference": 110}
# A fault there changes speed, memory use or concurrency, not the behaviour that a document states.
_LEFT_OUT = re.compile(
    r"^\.|reserve|capacity|lock\(|[lL]ock |assert|TVM_FFI_|cache|[nN]ested|[sS]tack|memory_order|"
    r"throw|Raise"
)


@dataclass
class Fault:
    """One seeded fault.

    Attributes
    ----------
    id : str
        Identifier, which depends on the file, the kind and the text of the line only.
    number : int
        Value of `NUMBER` that turns the fault on.
    """

    part: str
    path: str
    line: int
    kind: str
    text: str
    id: str = ""
    number: int = 0
    caught: str = ""
    cases: list[str] = field(default_factory=list)


def identify(faults: list[Fault]) -> list[Fault]:
    """Set the identifiers of faults."""
    seen: dict[str, int] = {}
    for fault in faults:
        key = f"{fault.path}|{fault.kind}|{fault.text}"
        seen[key] = seen.get(key, 0) + 1
        fault.id = hashlib.sha256(f"{key}|{seen[key]}".encode()).hexdigest()[:8]
    return faults


def choose(faults: list[Fault], count: int) -> list[Fault]:
    """Return `count` faults, chosen by their identifiers, with numbers from 1 on."""
    chosen = sorted(faults, key=lambda fault: fault.id)[:count]
    for number, fault in enumerate(chosen, 1):
        fault.number = number
    return chosen


# --- Faults in C and C++


def c_faults(part: str, paths: Iterable[Path]) -> tuple[list[Fault], dict[str, str]]:
    """Return the possible faults in C and C++ files, and the edited line of each by identifier."""
    faults, edits = [], []
    for path in paths:
        lines = path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines):
            code = line.split("//")[0].rstrip()
            if not code.strip() or code.lstrip()[0] in "#*/" or code.endswith("\\"):
                continue
            if _LEFT_OUT.search(code.strip()) or re.search(
                r"\b(constexpr|template|operator)\b", code
            ):
                continue
            for kind, new in c_edits(code, lines[number - 1] if number else ""):
                name = str(path.relative_to(ROOT))
                faults.append(Fault(part, name, number + 1, kind, code.strip()))
                edits.append(new)
    identify(faults)
    return faults, {fault.id: new for fault, new in zip(faults, edits)}


def write_edited(faults: Iterable[Fault], edits: dict[str, str], folder: Path) -> None:
    """Write the files with their faults into a copy of the tree; one fault a line."""
    by_file: dict[str, list[Fault]] = {}
    for fault in faults:
        by_file.setdefault(fault.path, []).append(fault)
    for path, own in by_file.items():
        lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
        for fault in own:
            lines[fault.line - 1] = edits[fault.id].replace("@", str(fault.number))
        target = folder / path
        text = "\n".join(lines)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.unlink(missing_ok=True)
            target.write_text(text, encoding="utf-8")


def one_a_line(faults: Iterable[Fault]) -> list[Fault]:
    """Return the first fault of each line, by identifier."""
    found: dict[tuple[str, int], Fault] = {}
    for fault in sorted(faults, key=lambda each: each.id):
        found.setdefault((fault.path, fault.line), fault)
    return list(found.values())


def build_runtime(folder: Path, count: int) -> tuple[Path, list[Fault]]:
    """Build the runtime with `count` faults in a copy of the tree; return library and faults."""
    for name in ("CMakeLists.txt", "cmake", "include", "runtime"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, dirs_exist_ok=True)
        else:
            shutil.copy2(source, folder / name)
    (folder / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    (folder / "fault.h").write_text(C_HEADER, encoding="utf-8")
    (folder / "runtime" / "core" / "fault.cc").write_text(C_SOURCE, encoding="utf-8")
    paths = sorted({path for each in RUNTIME_FILES for path in ROOT.glob(each)})
    possible, edits = c_faults("runtime", paths)
    # Some edits do not compile; the compiler names their lines.
    chosen = choose(one_a_line(possible), count * 5 // 4)
    build = folder / "build"
    configure = ["cmake", "-S", str(folder), "-B", str(build), "-G", "Ninja",
                 "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS=-O1 -w -include {folder}/fault.h",
                 "-DTVM_FFI_BUILD_TESTING_LIBRARY=OFF"]  # fmt: skip
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    for _ in range(8):
        write_edited(chosen, edits, folder)
        done = subprocess.run(
            ["cmake", "--build", str(build), "--target", "tvm_ffi_shared", "--", "-k", "0"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            kept = sorted(chosen, key=lambda each: each.id)[:count]
            return build / "lib" / "libtvm_ffi.so", kept
        names = {
            (os.path.relpath(build / path, folder), int(line))
            for path, line in re.findall(r"([\w./-]+\.(?:cc|h)):(\d+)", done.stdout)
        }
        left = [each for each in chosen if (each.path, each.line) not in names]
        if len(left) == len(chosen):
            raise RuntimeError(f"the runtime with faults does not build:\n{done.stdout[-4000:]}")
        for fault in set_of(chosen, left):  # the original line again
            edits[fault.id] = original(fault)
        write_edited(chosen, edits, folder)
        chosen = left
    raise RuntimeError("the runtime with faults does not build after 8 attempts")


def set_of(all_faults: list[Fault], left: list[Fault]) -> list[Fault]:
    """Return the faults that are not left."""
    ids = {fault.id for fault in left}
    return [fault for fault in all_faults if fault.id not in ids]


def original(fault: Fault) -> str:
    """Return the line of a fault without it."""
    return (ROOT / fault.path).read_text(encoding="utf-8").split("\n")[fault.line - 1]


# --- Faults in Python

PYTHON_MODULE = f"""\
import mmap, os
_number = int(os.environ.get("{NUMBER}", "0"))
_path = os.environ.get("{REACHED}")
_reached = None
if _path:
    with open(_path, "r+b") as _file:
        _reached = mmap.mmap(_file.fileno(), {MOST_FAULTS})
def fault(number):
    if _reached is not None:
        _reached[number] = 1
    return _number == number
"""
_OPPOSITE = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip


def text_of(node: ast.AST) -> str:
    """Return the source text of a node on one line."""
    return " ".join(ast.unparse(node).split())[:100]


class PythonFaults(ast.NodeTransformer):
    """Puts the faults with the numbers of `numbers` into a module; lists all if it is None."""

    def __init__(self, path: str, numbers: dict[str, int] | None = None) -> None:
        self.path, self.numbers = path, numbers
        self.found: list[Fault] = []
        self._seen: dict[str, int] = {}
        self._in_function = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._in_function += 1
        node.body = [self.visit(each) for each in node.body]  # no defaults, no annotations
        self._in_function -= 1
        return node

    def _switch(self, node: ast.AST, kind: str, other: ast.AST, text: str) -> ast.AST:
        """Return `node`, or a choice between `other` and `node` if this fault is seeded.

        `text` is the text of the node without faults.
        """
        if not self._in_function:
            return node
        fault = Fault("reference", self.path, node.lineno, kind, text)
        key = f"{self.path}|{kind}|{text}"
        self._seen[key] = self._seen.get(key, 0) + 1
        fault.id = hashlib.sha256(f"{key}|{self._seen[key]}".encode()).hexdigest()[:8]
        self.found.append(fault)
        number = (self.numbers or {}).get(fault.id)
        if number is None:
            return node
        test = ast.Call(ast.Name("_fault", ast.Load()), [ast.Constant(number)], [])
        if isinstance(node, ast.stmt):
            return ast.If(test, [other], [node])
        return ast.IfExp(test, other, node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        text = text_of(node)
        self.generic_visit(node)
        operator = _OPPOSITE.get(type(node.ops[0]))
        if operator is None or len(node.ops) > 1:
            return node
        other = ast.Compare(node.left, [operator()], node.comparators)
        return self._switch(node, "other comparison", other, text)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        text = text_of(node)
        self.generic_visit(node)
        operator = _OPPOSITE.get(type(node.op))
        if operator is None:
            return node
        other = ast.BinOp(node.left, operator(), node.right)
        return self._switch(node, "other sign", other, text)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        text = text_of(node)
        self.generic_visit(node)
        operator = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return self._switch(node, "and for or", ast.BoolOp(operator, node.values), text)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if not isinstance(node.value, ast.Call):
            return node
        text = text_of(node)
        self.generic_visit(node)
        return self._switch(node, "statement left out", ast.Pass(), text)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


def build_reference(
    folder: Path, count: int, names: Iterable[str] = REFERENCE_FILES
) -> tuple[Path, list[Fault]]:
    """Write a copy of the package with `count` faults; return its library and the faults."""
    source = folder / "src"
    shutil.copytree(ROOT / "conformance" / "src", source, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
    chapters = source / "tvm_ffi_conformance" / "reference"
    (chapters / "_fault.py").write_text(PYTHON_MODULE, encoding="utf-8")
    possible, trees = [], {}
    for name in names:
        text = (chapters / f"{name}.py").read_text(encoding="utf-8")
        listing = PythonFaults(f"reference/{name}.py")
        listing.visit(ast.parse(text))
        possible += listing.found
        trees[name] = text
    possible = [fault for fault in possible if not re.search(r"\breport\(|heap\.", fault.text)]
    chosen = choose(possible, count)
    numbers = {fault.id: fault.number for fault in chosen}
    for name, text in trees.items():
        tree = PythonFaults(f"reference/{name}.py", numbers).visit(ast.parse(text))
        position = (
            next(i for i, each in enumerate(tree.body) if isinstance(each, ast.ImportFrom)) + 1
        )
        tree.body.insert(position, ast.parse("from ._fault import fault as _fault").body[0])
        code = ast.unparse(ast.fix_missing_locations(tree))
        (chapters / f"{name}.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "tvm_ffi_conformance", "reference", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=python_path(source))
    return folder / "libtvm_ffi.so", chosen


def jobs() -> int:
    """Return the number of processes that run at once."""
    return max(1, min(4, os.cpu_count() or 1))


def python_path(source: Path) -> dict[str, str]:
    """Return an environment in which Python imports the package from `source`."""
    return {**os.environ, "PYTHONPATH": str(source)}


# --- Runs of the kit


def run_on_runtime(library: Path, faults: list[Fault], source: Path, pattern: str) -> None:
    """Run the cases on a runtime with faults; set `caught` of each fault."""
    content = json.dumps({fault.number: fault.text for fault in faults})
    done = subprocess.run(
        [sys.executable, __file__, "--worker", str(library), pattern, str(jobs())],
        input=content, stdout=subprocess.PIPE, text=True, check=True, env=python_path(source),
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    for fault in faults:
        fault.caught, fault.cases = found[str(fault.number)]


def worker(library: str, pattern: str, processes: int) -> None:
    """Catch the faults that are on standard input, texts by number; print the cases."""
    from tvm_ffi_conformance.runtimes.case import load_cases
    from tvm_ffi_conformance.runtimes.execution import execute

    texts = {int(number): text for number, text in json.load(sys.stdin).items()}
    numbers = list(texts)
    cases = {key: each for key, each in load_cases().items() if re.search(pattern, key)}
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(MOST_FAULTS))
        file.flush()
        os.environ[REACHED] = file.name
        memory = mmap.mmap(file.fileno(), MOST_FAULTS)
        reached: dict[int, list[str]] = {number: [] for number in numbers}

        def note(identifier: str) -> None:
            for number in numbers:
                if memory[number]:
                    reached[number].append(identifier)
            memory[:] = bytes(MOST_FAULTS)

        run = execute(library, list(cases.values()), jobs=1, progress=note)
        if run.load_error:
            raise SystemExit(f"{library}: {run.load_error}")
        del os.environ[REACHED]
    passed = [key for key, each in run.results.items() if each["verdict"] == "pass"]
    passed.sort(key=lambda each: hashlib.sha256(each.encode()).digest())
    # The first case saw what the library reaches while it loads: such a fault concerns all cases.
    first = next(iter(cases))
    with ProcessPoolExecutor(processes) as pool:
        tasks = {}
        for number in numbers:
            own = [each for each in reached[number] if each in passed]
            spread = sorted(own, key=lambda each: hashlib.sha256(each.encode()).digest())
            if first in spread:
                others = [each for each in passed if each not in own]
                spread += by_words(others, texts[number])[:MOST_AFTER_LOADING]
            tasks[number] = pool.submit(catch, library, number, spread)
        print(json.dumps({number: task.result() for number, task in tasks.items()}))


def by_words(identifiers: list[str], text: str) -> list[str]:
    """Return the cases whose identifiers have words of the line of a fault, then the others."""
    words = re.findall(r"[A-Za-z]\w{5,}", text)
    return sorted(identifiers, key=lambda each: -sum(word in each for word in words))


def run_reference_tests(faults: list[Fault], source: Path) -> None:
    """Run the tests of the reference with each fault that no case catches; set `caught`."""
    missed = [fault for fault in faults if not fault.caught]
    start = time.monotonic()
    if missed and (test := failing_test(0, source, TESTS_LIMIT)):
        raise RuntimeError(f"tests of the reference: {test} fails without fault")
    limit = SLOWDOWN * (time.monotonic() - start)
    with ThreadPoolExecutor(jobs()) as pool:
        numbers = [fault.number for fault in missed]
        for fault, test in zip(missed, pool.map(lambda n: failing_test(n, source, limit), numbers)):
            fault.caught = test


def failing_test(number: int, source: Path, limit: float) -> str:
    """Return the first test of the reference that fails, or does not end in `limit` seconds."""
    files = [str(path) for path in sorted(HERE.glob("test_reference_*.py"))]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-o",
               f"pythonpath={source}", *files]  # fmt: skip
    environment = {**python_path(source), NUMBER: str(number)}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True,
            timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "no end"
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return "" if done.returncode == 0 else found[1] if found else "an error of pytest"


def catch(library: str, number: int, identifiers: list[str]) -> tuple[str, list[str]]:
    """Return the first case that fails with a fault, and some cases that reach it."""
    from tvm_ffi_conformance.runtimes.case import load_cases
    from tvm_ffi_conformance.runtimes.execution import execute

    cases = load_cases()
    os.environ[NUMBER] = str(number)
    run = execute(
        library, [cases[each] for each in identifiers], limit=3.0, jobs=1, until_failure=True
    ) if identifiers else None  # fmt: skip
    del os.environ[NUMBER]
    if run is None:
        return "", []
    if run.load_error:
        return "load", []
    failed = [
        key for key, each in run.results.items() if each["verdict"] not in ("pass", "not run")
    ]
    return (failed[0] if failed else ""), identifiers[:3]


def run_on_kernels(folder: Path, count: int, runtime: str) -> list[Fault]:
    """Compile kernels with faults, run the library checks with each; return the faults."""
    paths = [ROOT / path for path in KERNELS]
    possible, edits = c_faults("kernels", paths)
    chosen = choose(one_a_line(possible), count)
    (folder / "fault.h").write_text(C_HEADER, encoding="utf-8")
    (folder / "fault.c").write_text(C_SOURCE, encoding="utf-8")
    for path in KERNELS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
    write_edited(chosen, edits, folder)
    libraries = {}
    for path in KERNELS:
        libraries[path] = folder / (Path(path).stem + ".so")
        command = ["cc", "-shared", "-fPIC", "-w", "-include", str(folder / "fault.h"),
                   f"-I{ROOT / 'include'}", "-o", str(libraries[path]), str(folder / path),
                   str(folder / "fault.c")]  # fmt: skip
        subprocess.run(command, check=True)
    with ProcessPoolExecutor(jobs()) as pool:
        tasks = [
            pool.submit(catch_kernel, str(libraries[fault.path]), fault.number,
                        KERNELS[fault.path], runtime)
            for fault in chosen
        ]  # fmt: skip
        for fault, task in zip(chosen, tasks):
            fault.caught = task.result()
    return chosen


def catch_kernel(library: str, number: int, signatures: list[str], runtime: str) -> str:
    """Return the first check of a library that fails with a fault."""
    from tvm_ffi_conformance.libraries.run import run_library

    os.environ[NUMBER] = str(number)
    results = run_library(
        library, runtime=runtime, signatures=signatures, limit=3.0, until_failure=True
    )
    failures = [entry for entry in results.failures if entry.verdict != "not run"]
    return failures[0].id if failures else ""


# --- Report

PAGE_HEAD = """\
# Faults that the conformance kit finds

`tests/conformance/mutations.py` makes faulty copies of the runtime (C++), of kernels (C) and of the
reference (Python): a condition is negated, a comparison or a sum is off by one, a result is another
one, a statement is left out. The lines are chosen by their hash. A fault is caught if a case of the
kit fails that passes without the fault, or, for the reference, one of its tests. Faults in lines
that reserve memory, lock, cache or raise are not made. A fault is *equivalent* if no document
states the behaviour that it changes; such faults are not counted in the share.

| part | faults | equivalent | caught | share |
|---|--:|--:|--:|--:|
"""


def read_reasons() -> dict[str, str]:
    """Return the reason for each missed fault by its identifier."""
    lines = (HERE / "missed_faults.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line[:1] not in ("", "#"))


def report(faults: list[Fault], table: Path | None) -> int:
    """Print the totals and the missed faults, write the page; return the exit status."""
    reasons = read_reasons()
    rows, status = [], 0
    for part in dict.fromkeys(fault.part for fault in faults):
        own = [fault for fault in faults if fault.part == part]
        equivalent = [
            f for f in own if not f.caught and reasons.get(f.id, "").startswith("equivalent")
        ]
        caught, counted = sum(bool(f.caught) for f in own), len(own) - len(equivalent)
        rows.append(
            f"| {part} | {len(own)} | {len(equivalent)} | {caught} | {caught / counted:.1%} |\n"
        )
        status |= caught < AT_LEAST[part] * counted
    missed = [fault for fault in faults if not fault.caught]
    known = {fault.id for fault in missed}
    if len(rows) == len(FAULTS_OF_PART):
        for identifier in reasons:
            if identifier not in known:
                print(f"missed_faults.txt: {identifier} is no missed fault; remove the line")
    lines = []
    for fault in missed:
        reason = reasons.get(fault.id)
        if reason is None:
            status = 1
            print(f"missed without a reason: {fault.id} {fault.path}:{fault.line} {fault.kind}: "
                  f"{fault.text}  {fault.cases}")  # fmt: skip
        text = fault.text.replace("|", "\\|")
        lines.append(
            f"| `{fault.id}` | {Path(fault.path).name} | `{text}` | {fault.kind} | {reason} |\n"
        )
    page = (
        PAGE_HEAD + "".join(rows)
        + "\n## Missed faults\n\n| id | file | line | fault | reason |\n|---|---|---|---|---|\n"
        + "".join(lines)
    )  # fmt: skip
    print("".join(rows))
    if table:
        table.write_text(page, encoding="utf-8")
    return int(status)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="runtime, kernels, reference")
    parser.add_argument("--table", type=Path, help="write the page")
    parser.add_argument("--count", type=int, help="number of faults of each part")
    parser.add_argument("--cases", default="", metavar="REGEX", help="cases of runtimes that run")
    parser.add_argument("--runtime", help="libtvm_ffi.so for kernels; by default the installed one")
    parser.add_argument("--folder", type=Path, help="folder of the builds, which is kept")
    parser.add_argument("--outcome", type=Path, help="file that keeps the outcome, or has it")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "conformance" / "src"))
    earlier: list[Fault] = []
    if options.outcome and options.outcome.exists():
        content = json.loads(options.outcome.read_text(encoding="utf-8"))
        earlier = [Fault(**each) for each in content]
        if not options.cases:
            return report(earlier, options.table)
    faults: list[Fault] = []
    with tempfile.TemporaryDirectory() as temporary:
        top = (options.folder or Path(temporary)).resolve()
        for part in FAULTS_OF_PART:
            if part in (options.parts or FAULTS_OF_PART):
                faults += run_part(part, top / part, options, earlier)
            else:
                faults += [fault for fault in earlier if fault.part == part]
    if options.outcome:
        content = json.dumps([asdict(fault) for fault in faults], indent=1)
        options.outcome.write_text(content, encoding="utf-8")
    return report(faults, options.table)


def run_part(
    part: str, folder: Path, options: argparse.Namespace, earlier: list[Fault]
) -> list[Fault]:
    """Return the faults of a part after a run with those that no earlier run caught."""
    folder.mkdir(parents=True, exist_ok=True)
    count = options.count or FAULTS_OF_PART[part]
    if part == "kernels":
        from tvm_ffi_conformance.libraries.run import find_runtime

        return run_on_kernels(folder, count, options.runtime or find_runtime() or "")
    build = build_runtime if part == "runtime" else build_reference
    library, own = build(folder, count)
    caught = {fault.id: fault.caught for fault in earlier}
    for fault in own:
        fault.caught = caught.get(fault.id, "")
    missed = [fault for fault in own if not fault.caught]
    source = folder / "src" if part == "reference" else ROOT / "conformance" / "src"
    run_on_runtime(library, missed, source, options.cases)
    if part == "reference":
        run_reference_tests(missed, source)
    return own


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        raise SystemExit(main())

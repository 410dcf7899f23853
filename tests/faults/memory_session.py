# SPDX-License-Identifier: Apache-2.0
"""A session in which each memory request fails once; run with failing_memory.so preloaded.

    memory_session.py [--every N] native|python KERNELS [STEP[:REQUEST]]...

Each step first runs without a failure.  Then it runs with its first memory request failing, with
its second, and so on until none fails; between the failures it must succeed.  A failed request may
be absorbed, or must raise a MemoryError.  The output has a line for each step, and one for each
failure with another outcome.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import gc
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, NamedTuple, TypeVar

import numpy as np

import tvm_ffi
from tvm_ffi import _ffi_api, codegen, core, inspection, libinfo, serialization, testing
from tvm_ffi._binding.object import live_object_count, purge_object_metadata
from tvm_ffi.module import CustomModule

Result = TypeVar("Result")

KINDS = ["native", "python"]
# Smaller leaks per failure are not reported, because tables and caches grow, and the records of
# failures in this program use Python memory.
MAX_LEAKED_BYTES = {"native": 8, "python": 256}
# Bytes count as leaked if they leak in each of this many rounds; tables and bins fill only once.
# Leaked objects are reported after one round.
MAX_ROUNDS = 4

# Messages of the dynamic loader and of Python without memory; some of these lack the reason.
KNOWN_MESSAGES = (
    "annot allocate memory",
    "can't allocate lock",
    "can't allocate read lock",
    "error return without exception set",  # CPython's parser
    "returned NULL without setting an exception",  # CPython 3.11
    "os.PathLike object, not PosixPath",  # os.fspath, which looks up a method and hides any error
    "cannot create shared object descriptor",
    "cannot open shared object file",
)
# Steps that fill tables which are cleared occasionally, or that store earlier signatures of
# functions. The byte counts of these steps are not checked, but their objects are.
UNEVEN_STEPS = {"load", "side_file", "describe", "registry", "modules"}
# CPython 3.11 leaks an argument if it cannot allocate the cell that shares the argument with a
# closure. The number of leaked objects by step:
KNOWN_LEAKS = {"modules": 3}

LONG = "a text that lies on the heap, as it fits nowhere else"
ARRAY = np.arange(24.0).reshape(2, 3, 4)
SIDE_FILE = f"echo(value: Any) -> Any\n  doc '{LONG}'\ncount(*values: Any) -> int\n"
PTX = b".version 8.0\n.target sm_80\n.visible .entry fill(.param .u64 x, .param .u32 k) { ret; }\n"
WRAPPERS = (
    codegen.make_wrapper("length(text: str) -> int", arguments=["text"]),
    codegen.make_wrapper(
        "doubled(x: T*[n], a: float = 1.0) -> (once: T[n], twice: T[2*n]) "
        "where T in (float32, float64)",
        "doubled_{T}",
        arguments=["x", "a", "workspace(8*n)", "once", "twice"],
    ),
)
WRAPPED_FUNCTIONS = """
int64_t length(const char* text) {
  int64_t size = 0;
  while (text[size] != 0) ++size;
  return size;
}
void doubled_float32(const float* x, double a, void* room, float* once, float* twice) {
  once[0] = twice[0] = *(float*)room = x[0] * (float)a;
}
void doubled_float64(const double* x, double a, void* room, double* once, double* twice) {
  once[0] = twice[0] = *(double*)room = x[0] * a;
}
"""


def compile_wrappers(folder: Path) -> tvm_ffi.Module:
    """Return functions called through generated wrappers."""
    source, library = folder / "wrappers.c", folder / "wrappers.so"
    source.write_text(codegen.c.source_of(WRAPPERS) + WRAPPED_FUNCTIONS, encoding="utf-8")
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-O1", "-shared", "-fPIC"]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    environment = {name: text for name, text in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run([*command, str(source), "-o", str(library)], check=True, env=environment)
    return tvm_ffi.load_module(library)


def caught(cls: type[Exception], function: Callable[..., Any], *arguments: Any) -> Exception:
    """Return the exception that a call raises."""
    try:
        function(*arguments)
    except cls as error:
        return error
    raise AssertionError(f"the call raised no {cls.__name__}")


class Greeter(CustomModule, kind="test.faults"):
    """A module class written in Python."""

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Find `greet`."""
        return (lambda who: f"{LONG} {who}") if name == "greet" else None


class Session:
    """The steps of the session; each can run any number of times, and checks its results."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.path = library
        self.folder = folder
        self.kernels = tvm_ffi.load_module(library)
        self.count = 0
        self.list = tvm_ffi.List(range(20))
        self.dict = tvm_ffi.Dict({f"key {i}": i for i in range(20)})
        self.map = tvm_ffi.Map({"a": [1, LONG], "b": {"c": 2.5}})
        self.stringify = tvm_ffi.get_global_func("ffi.json.Stringify")
        self.parse = tvm_ffi.get_global_func("ffi.json.Parse")
        self.tensor = tvm_ffi.from_dlpack(ARRAY)
        self.graph = serialization.to_json_graph_str(self.map)
        self.wrapped = compile_wrappers(folder)
        copy = shutil.copyfile(library, folder / "described.so")
        self.described = tvm_ffi.load_module(copy)
        self.plan = codegen.launch_module(
            codegen.make_launch_plan(
                "fill(x: T*[n] on cuda | None, k: int = 3) where T in (int8, float32) "
                f"doc '{LONG}'",
                PTX,
                arguments=["x", "int32 k"],
                grid="k",
            )
        )
        self.object = testing.create_object(
            "testing.TestObjectDerived", v_i64=1, v_str=LONG, v_map={}, v_array=[]
        )

    def load(self) -> None:
        """Load a library that this process has not loaded before."""
        module = tvm_ffi.load_module(str(self.copy), keep_module_alive=False)
        assert module["echo"](1) == 1

    def prepare_load(self) -> None:
        """Create a library file that this process has not loaded before."""
        self.count += 1
        self.copy = self.folder / f"copy{self.count}.so"
        shutil.copyfile(self.path, self.copy)

    def call(self) -> None:
        """Pass values of every type."""
        values: list[Any] = [1, 2.5, True, None, 2**80, "short", LONG, b"short", LONG.encode()]
        assert self.kernels.count(*values, ARRAY, [1, LONG], {"a": 1}, object()) == 13
        for value in values:
            assert self.kernels.echo(value) == value

    def tensors(self) -> None:
        """Borrow, keep, export and import arrays."""
        kept = self.kernels.echo(ARRAY)
        assert kept.shape == (2, 3, 4)
        assert self.tensor.numpy()[1, 2, 3] == 23
        assert tvm_ffi.from_dlpack(kept).dtype == "float64"
        assert np.from_dlpack(self.tensor).shape == (2, 3, 4)

    def convert(self) -> None:
        """Convert nested values in both directions."""
        value = {"a": [1, LONG, (2.5, None)], LONG: {"b": ARRAY}}
        made = tvm_ffi.convert(value)
        assert list(made) == ["a", LONG]
        assert made[LONG]["b"].shape == (2, 3, 4)
        assert tvm_ffi.Shape((1, 2, 3))[2] == 3
        assert str(tvm_ffi.dtype("int8x4")) == "int8x4"
        assert tvm_ffi.device("cuda", 1).index == 1

    def containers(self) -> None:
        """Read and change lists, dicts and maps."""
        values = self.list
        values.append(LONG)
        values.insert(0, [LONG])
        values[1:3] = [LONG, 2.5]
        values.extend([3, 4])
        assert values.pop() == 4
        assert [x for x in values if x == LONG]
        values.reverse()
        values[:] = range(20)
        self.dict[LONG] = [LONG]
        assert self.dict.pop(LONG)[0] == LONG
        assert dict(self.dict.items())["key 1"] == 1
        assert list(self.map.keys()) == ["a", "b"]
        assert repr(self.map)

    def errors(self) -> None:
        """Catch errors of native functions, and create errors."""
        assert str(caught(ValueError, self.kernels["raise"], "ValueError", LONG)) == LONG
        assert core.Error("ValueError", LONG, '  File "f.c", line 1, in F\n').message == LONG
        assert caught(TypeError, self.kernels.last([1, LONG], object), 1)

    def callbacks(self) -> None:
        """Call Python callbacks, and raise errors in them."""
        assert self.kernels.call(lambda x: [x, LONG], 1)[1] == LONG
        original = LookupError(LONG)

        def fail() -> None:
            raise original

        assert caught(LookupError, self.kernels.call, fail) is original
        error = self.kernels.catch(fail)
        if error.kind == "MemoryError" or error.message.endswith("__str__ failed>"):
            raise MemoryError  # no memory for the error's text
        assert error.message == LONG

    def json(self) -> None:
        """Write and read JSON, as text and as graphs."""
        assert self.parse(self.stringify(self.map, None))["a"][1] == LONG
        assert serialization.to_json_graph_str(self.map) == self.graph
        assert serialization.from_json_graph_str(self.graph)["a"][1] == LONG

    def objects(self) -> None:
        """Create, read, change, copy, print, hash and compare objects of native types."""
        made = testing.create_object("testing.TestObjectBase", v_str=LONG)
        assert made.v_str == LONG
        self.object.v_str = LONG * 2
        self.object.v_array = [1, LONG]
        assert _ffi_api.DeepCopy(self.object).v_array[1] == LONG
        assert repr(self.object)  # omitted if there is no memory for it
        hashed = _ffi_api.RecursiveHash(self.map)
        assert hashed == _ffi_api.RecursiveHash(_ffi_api.DeepCopy(self.map))
        assert _ffi_api.StructuralEqual(self.map, _ffi_api.DeepCopy(self.map), False, False)

    def registry(self) -> None:
        """Register a function, and use a class for the first time."""
        tvm_ffi.register_global_func("test.faults", lambda x: x, override=True)
        assert tvm_ffi.get_global_func("test.faults")(LONG) == LONG
        tvm_ffi.remove_global_func("test.faults")
        cls = type("Fresh", (), {"__tvm_ffi_int__": lambda self: 7})
        assert self.kernels.echo(cls()) == 7

    def modules(self) -> None:
        """Import modules, and look up functions through them."""
        module = Greeter()
        assert module.greet("you").endswith("you")
        module.import_module(self.kernels)
        assert module.get_function("echo", query_imports=True)(LONG) == LONG
        assert len(module.imports) == 1
        assert self.kernels["count"](1, 2) == 2

    def side_file(self) -> None:
        """Load a library that a text file beside it describes."""
        module = tvm_ffi.load_module(str(self.copy), keep_module_alive=False)
        assert module.echo(value=LONG) == LONG
        assert module.get_function_doc("echo") == LONG

    def prepare_side_file(self) -> None:
        """Create the library and the text file."""
        self.prepare_load()
        self.copy.with_suffix(".signatures").write_text(SIDE_FILE, encoding="utf-8")

    def describe(self) -> None:
        """Set the signature of a function; call it by keywords and with wrong arguments."""
        self.described.describe({"echo": f"echo(value: float32[n, m] | None = None) doc '{LONG}'"})
        echo = self.described.echo
        assert echo() is None
        assert echo(value=None) is None
        assert caught(TypeError, echo, None, None)
        signature = self.described.get_function_signature("echo")
        assert caught(ValueError, signature.check, ARRAY)

    def launch_plans(self) -> None:
        """Create, save, load and call kernels on a GPU, up to the missing driver."""
        load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.cuda_driver")
        module = load(self.plan.save_to_bytes())
        assert module.get_function_doc("fill") == LONG
        fill = module["fill"]
        assert caught(TypeError, fill, LONG)
        assert caught(ValueError, fill, ARRAY)
        assert "driver is not available" in str(caught(RuntimeError, fill, None, 3))

    def wrappers(self) -> None:
        """Call generated wrappers: conversions, allocated results and bad input."""
        assert self.wrapped.length(LONG) == len(LONG)
        once, twice = self.wrapped.doubled(ARRAY.reshape(24), a=3)
        assert (once.shape, twice.shape) == ((24,), (48,))
        assert caught(TypeError, self.wrapped.doubled, LONG)
        assert caught(ValueError, self.wrapped.doubled, ARRAY)

    def inspect(self) -> None:
        """Inspect a library."""
        report = inspection.inspect_library(self.path)
        assert any(function.name == "echo" for function in report.functions)

    STEPS = (
        *("load", "call", "tensors", "convert", "containers", "errors", "callbacks"),
        *("json", "objects", "registry", "modules", "side_file", "describe"),
        *("launch_plans", "wrappers", "inspect"),
    )


class Outcome(NamedTuple):
    """Outcome of a step in which one request failed, or no request was left to fail."""

    has_failed: bool
    error: BaseException | None

    @property
    def problem(self) -> str | None:
        """Description of an unexpected outcome."""
        if self.error is None or (self.has_failed and isinstance(self.error, MemoryError)):
            return None
        if any(message in str(self.error) for message in KNOWN_MESSAGES):
            return None
        return f"{type(self.error).__name__}: {self.error}"


class Memory:
    """The preloaded allocator."""

    def __init__(self, kind: str) -> None:
        self.kind_name = kind
        self.kind = KINDS.index(kind)
        self.library = ctypes.CDLL(None)
        self.library.faults_heap_bytes.restype = ctypes.c_size_t
        if kind == "python" and self.library.faults_watch_python() != 0:
            raise RuntimeError("the preloaded library cannot replace Python's allocators")

    def in_use(self) -> int:
        """Return the bytes in use on the heap or by Python, less the records of dead objects."""
        gc.collect()
        purge_object_metadata()
        if self.kind == 0:
            return int(self.library.faults_heap_bytes())
        return 64 * sys.getallocatedblocks()

    def run(self, work: Callable[[], None], request: int, shows: bool) -> Outcome:
        """Run a step with one memory request failing."""
        error = None
        library, kind = self.library, self.kind
        try:
            library.faults_arm(kind, ctypes.c_long(request), shows)
            work()
        except BaseException as caught:
            # The exception is kept without its traceback: if too many exceptions wait for the
            # collector, the interpreter raises an immortal MemoryError, which would keep all
            # objects of its traceback alive.
            error = caught.with_traceback(None)
        while True:
            try:
                has_failed = bool(library.faults_disarm())
                break
            except MemoryError:  # the call to get the number of bytes allocates memory
                has_failed = True
        return Outcome(has_failed, error)


def report(*parts: object) -> None:
    """Print a line and flush it, because the process may crash."""
    print(*parts, flush=True)


class Step:
    """A step whose memory requests fail one by one."""

    def __init__(self, session: Session, memory: Memory, name: str) -> None:
        self.name = name
        self.memory = memory
        self.work = getattr(session, name)
        self.prepare = getattr(session, f"prepare_{name}", lambda: None)

    def do(self) -> None:
        """Run the step without a failure."""
        self.prepare()
        self.work()

    def fail(self, request: int, shows: bool = False) -> Outcome:
        """Run the step with one request failing, then without a failure."""
        self.prepare()
        outcome = self.memory.run(self.work, request, shows)
        if outcome.problem is not None:
            report(f"PROBLEM {self.memory.kind_name} {self.name}:{request} {outcome.problem}")
        outcome = outcome._replace(error=None if outcome.error is None else MemoryError())
        if outcome.has_failed:
            self.do()
        return outcome

    def fail_everywhere(self, every: int) -> tuple[int, int]:
        """Return how many requests failed, and how many of these failures had no effect."""
        failures = absorbed = request = 0
        while True:
            outcome = self.fail(request)
            if not outcome.has_failed:
                return failures, absorbed
            failures += 1
            absorbed += outcome.error is None
            request += every

    def check(self, every: int) -> None:
        """Print the outcome of all failures, and the leaks."""
        report(f"step {self.memory.kind_name} {self.name}")
        self.do()
        self.fail_everywhere(every)  # fills the caches that failures use
        # The growth of one run is the median over the runs, because tables may shrink in one run.
        left = [self.growth(lambda: [self.do() for _ in range(8)])[-1] for _ in range(3)]
        usual = max(0.0, statistics.median(left) / 8)
        for _ in range(MAX_ROUNDS):
            (failures, absorbed), objects, used = self.growth(lambda: self.fail_everywhere(every))
            used -= int(2 * usual * failures)  # two runs: one with a failure and one without
            loses_objects = objects > KNOWN_LEAKS.get(self.name, 0)
            most = MAX_LEAKED_BYTES[self.memory.kind_name] * failures + 4096
            loses_bytes = used > most and self.name not in UNEVEN_STEPS
            if loses_objects or not loses_bytes:
                break
        report(f"done {self.memory.kind_name} {self.name} {failures} {absorbed} {objects} {used}")
        if loses_objects or loses_bytes:
            report(
                f"PROBLEM {self.memory.kind_name} {self.name} leaks {objects} objects, {used} bytes"
            )

    def growth(self, work: Callable[[], Result]) -> tuple[Result, int, int]:
        """Return the result of the work, and the growth in wrappers and bytes that it caused."""
        gc.collect()
        objects, used = live_object_count(), self.memory.in_use()
        result = work()
        gc.collect()
        return result, live_object_count() - objects, self.memory.in_use() - used


def main() -> None:
    """Run the session for the steps that the program's arguments select."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("kernels", type=Path)
    parser.add_argument("--every", type=int, default=1, help="fail each n-th request only")
    parser.add_argument("step", nargs="*", default=Session.STEPS, help="STEP, or STEP:REQUEST")
    options = parser.parse_args()
    faulthandler.enable()
    folder = Path(tempfile.mkdtemp())
    try:
        session, memory = Session(options.kernels, folder), Memory(options.kind)
        for text in options.step:
            name, _, request = text.partition(":")
            step = Step(session, memory, name)
            if request:
                step.do()
                report(step.fail(int(request), shows=True))
            else:
                step.check(options.every)
    finally:
        shutil.rmtree(folder)
    report("end")
    os._exit(0)  # skip the shutdown of the interpreter, which is not tested


if __name__ == "__main__":
    main()

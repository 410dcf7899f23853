# SPDX-License-Identifier: Apache-2.0
"""A session in which each system call fails once; run with failing_calls.so preloaded.

    system_session.py [--every N] [--fault NAME] KERNELS [STEP[:CALL]]...

Each step runs with its first call of some kinds failing, with its second, and so on until none
fails.  A failure may be absorbed, or raises an exception that contains the system's message.
Afterwards the same step must succeed, and no open descriptor, child process or file may remain.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import faulthandler
import gc
import os
import shutil
import tempfile
from pathlib import Path
from typing import Callable, NamedTuple

import tvm_ffi
from tvm_ffi import cpp, inspection

OPEN, CREATE, READ, WRITE, MAP, CHANGE, DESCRIBE, DESCRIPTOR = (1 << i for i in range(8))


class Fault(NamedTuple):
    """A fault: the kinds of system calls that fail, and the errno of the failure."""

    kinds: int
    errno: int


FAULTS = {
    "full": Fault(CREATE | WRITE | CHANGE, errno.ENOSPC),
    "no-descriptors": Fault(OPEN | CREATE | DESCRIPTOR, errno.EMFILE),
    "interrupted": Fault(OPEN | CREATE | READ | WRITE | DESCRIPTOR, errno.EINTR),
    "read-only": Fault(CREATE | CHANGE, errno.EROFS),
    "denied": Fault(OPEN | CREATE | CHANGE | DESCRIBE, errno.EACCES),
    "broken": Fault(READ | WRITE | DESCRIBE, errno.EIO),
    "no-memory": Fault(MAP, errno.ENOMEM),
}
SLOW_BYTES = 1000  # bytes that a slow device transfers at a time
SOURCE = """
#include <tvm/ffi/c_api.h>
TVM_FFI_DLL_EXPORT int __tvm_ffi_f(void* self, const TVMFFIAny* args, int32_t num_args,
                                   TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = 7;
  return 0;
}
"""


class Session:
    """The steps."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.library = library
        self.folder = folder
        self.source = folder / "source.c"
        self.source.write_text(SOURCE, encoding="utf-8")
        self.cache = folder / "cache"
        os.environ["TVM_FFI_CACHE_DIR"] = str(self.cache)
        self.object = folder / "object.o"
        self.copy = folder / "copy.so"

    def prepare_load(self) -> None:
        """Create a library file that this process has not loaded before."""
        self.copy.unlink(missing_ok=True)
        shutil.copyfile(self.library, self.copy)

    def load(self) -> None:
        """Load a library."""
        assert tvm_ffi.load_module(self.copy, keep_module_alive=False)["echo"](1) == 1

    def inspect(self) -> None:
        """Inspect a library."""
        report = inspection.inspect_library(self.library)
        assert any(function.name == "echo" for function in report.functions)

    def prepare_build(self) -> None:
        """Remove the cached build of the library."""
        shutil.rmtree(self.cache, ignore_errors=True)

    def build(self) -> None:
        """Compile and link a library, and store it in the build cache."""
        self.check_product(cpp.build("faults", sources=str(self.source)))

    def find(self) -> None:
        """Find the library's build in the cache."""
        self.check_product(cpp.build("faults", sources=str(self.source)))

    def check_product(self, path: str) -> None:
        """Find a library and the files that belong to it."""
        assert b"__tvm_ffi_f" in Path(path).read_bytes()

    def prepare_export(self) -> None:
        """Remove the exported library."""
        (self.folder / "exported.so").unlink(missing_ok=True)

    def export(self) -> None:
        """Write a library that contains code."""
        objects = self.folder / "object.o"
        if not objects.exists():
            command = f"cc -c -fPIC -I{tvm_ffi.libinfo.find_include_path()}"
            command += f" -I{tvm_ffi.libinfo.find_dlpack_include_path()} {self.source} -o {objects}"
            assert os.system(command) == 0
        path = tvm_ffi.export_library(self.folder / "exported.so", objects=objects)
        self.check_product(str(path))

    STEPS = ("load", "inspect", "build", "find", "export")


class System:
    """Functions of the preloaded library failing_calls.so."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None)
        self.library.faults_allow.restype = ctypes.c_char_p

    def run(
        self, work: Callable[[], None], fault: Fault, call: int
    ) -> tuple[str, BaseException | None]:
        """Run a step with one call failing; return the name of the failed call."""
        error = None
        self.library.faults_refuse(fault.kinds, ctypes.c_long(call), fault.errno)
        try:
            work()
        except Exception as caught:
            error = caught
        return self.library.faults_allow().decode("utf-8", "replace"), error


def explains(error: BaseException, fault: Fault, refused: str) -> bool:
    """Return True if a message contains the system's message for the errno."""
    if refused.startswith("fstat") and isinstance(error, OSError):
        return True  # CPython's mmap ignores the failed size query, and reports a later error
    if isinstance(error, OSError) and error.errno == fault.errno:
        return True
    return os.strerror(fault.errno) in str(error)


def left_behind() -> list[str]:
    """Return open descriptors and child processes that the process should not have."""
    left = [f"descriptor {path.name}" for path in Path("/proc/self/fd").iterdir()]
    try:
        os.waitpid(-1, os.WNOHANG)
        left.append("a child")
    except ChildProcessError:
        pass
    return left


class Step:
    """A step whose system calls fail one by one."""

    def __init__(self, session: Session, system: System, name: str) -> None:
        self.name = name
        self.system = system
        self.work = getattr(session, name)
        self.prepare = getattr(session, f"prepare_{name}", lambda: None)
        self.folder = session.folder

    def do(self) -> None:
        """Run the step without a failure."""
        self.prepare()
        self.work()

    def files(self) -> set[str]:
        """Return the existing files, except a working folder whose removal failed."""
        paths = (path.relative_to(self.folder) for path in self.folder.rglob("*"))
        return {str(path) for path in paths if not any(part[0] == "." for part in path.parts)}

    def refuse(self, name: str, call: int) -> tuple[str, bool]:
        """Run the step with one call failing, then without a failure.

        Returns the name of the call, and True if the failure was absorbed.
        """
        fault = FAULTS[name]
        self.prepare()
        refused, error = self.system.run(self.work, fault, call)
        problem = None
        if error is not None:
            if not refused:
                problem = f"without a refusal: {error!r}"
            elif not explains(error, fault, refused):
                problem = repr(error)
            error.__traceback__ = None
        is_dealt_with = error is None
        del error
        gc.collect()
        if refused:
            try:
                self.do()
            except Exception as error:
                problem = f"the next time: {error!r}"
        self.report(name, call, refused, problem)
        return refused, is_dealt_with

    def report(self, name: str, call: int, refused: str, problem: str | None) -> None:
        """Print a problem with its step."""
        if problem is not None:
            print(f"PROBLEM {name} {self.name}:{call} {refused} {problem}", flush=True)

    def check(self, name: str, every: int) -> None:
        """Print the outcome of all failures."""
        self.do()
        expected_files, expected = self.files(), left_behind()
        failures = absorbed = call = 0
        while True:
            refused, is_dealt_with = self.refuse(name, call)
            if not refused:
                break
            failures += 1
            absorbed += is_dealt_with
            call += every
        print(f"done {name} {self.name} {failures} {absorbed}", flush=True)
        self.report(name, 0, "", differences(self.files(), expected_files))
        self.report(name, 0, "", differences(set(left_behind()), set(expected)))

    def check_slowly(self) -> None:
        """Run the step with calls that transfer few bytes at a time."""
        self.prepare()
        self.system.library.faults_move_pieces(ctypes.c_long(SLOW_BYTES))
        try:
            self.work()
        finally:
            self.system.library.faults_move_pieces(ctypes.c_long(0))
        print(f"done slow {self.name} 1 1", flush=True)


def differences(now: set[str], expected: set[str]) -> str | None:
    """Report files that did not exist before the step."""
    return f"left behind: {sorted(now - expected)}" if now - expected else None


def main() -> None:
    """Run the session for the steps that the program's arguments select."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", type=Path)
    parser.add_argument("--every", type=int, default=1, help="refuse each n-th call only")
    parser.add_argument("--fault", choices=FAULTS, action="append")
    parser.add_argument("step", nargs="*", default=Session.STEPS, help="STEP, or STEP:CALL")
    options = parser.parse_args()
    faulthandler.enable()
    folder = Path(tempfile.mkdtemp())
    try:
        session, system = Session(options.kernels, folder), System()
        for text in options.step:
            name, _, call = text.partition(":")
            step = Step(session, system, name)
            for fault in options.fault or FAULTS:
                if call:
                    print(step.refuse(fault, int(call)))
                else:
                    step.check(fault, options.every)
            step.check_slowly()
    finally:
        shutil.rmtree(folder)
    print("end", flush=True)


if __name__ == "__main__":
    main()

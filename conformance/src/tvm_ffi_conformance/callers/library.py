# SPDX-License-Identifier: Apache-2.0
"""A file ``libtvm_ffi.so`` that runs the reference in the process that loads it.

The library is the trampoline of the reference and a constructor. The constructor uses the Python of
the process, or starts one in a process without Python, and calls `start.start`.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path

from .. import abi
from ..reference.trampoline import build as build_trampoline

_START = """
#include <dlfcn.h>
#include <wchar.h>

static int (*run)(const char*);
static int (*ensure)(void);
static void (*release)(int);

static void in_python(const char* program) {
  int state = ensure();
  if (run(program) != 0) exit(125);
  release(state);
}

/* Runs before the code of the program, so that it ends after the destructors of the program. */
static void at_exit(void) { in_python("tvm_ffi_conformance_start.finish()"); }

__attribute__((constructor)) static void start(void) {
  int is_python = dlsym(RTLD_DEFAULT, "Py_IsInitialized") != 0;
  void* python = dlopen(is_python ? 0 : %(libpython)s, RTLD_NOW | RTLD_GLOBAL);
  if (!python) {
    fputs("tvm_ffi_conformance: the reference needs the shared library of Python: ", stderr);
    fprintf(stderr, "%%s\\n", dlerror());
    exit(125);
  }
  run = (int (*)(const char*))dlsym(python, "PyRun_SimpleString");
  ensure = (int (*)(void))dlsym(python, "PyGILState_Ensure");
  release = (void (*)(int))dlsym(python, "PyGILState_Release");
  int (*is_initialized)(void) = (int (*)(void))dlsym(python, "Py_IsInitialized");
  if (is_initialized()) {
    in_python(%(program)s);
    return;
  }
  void (*set_home)(const wchar_t*) = (void (*)(const wchar_t*))dlsym(python, "Py_SetPythonHome");
  if (set_home) set_home(L%(home)s);
  ((void (*)(int))dlsym(python, "Py_InitializeEx"))(0);
  ((void* (*)(void))dlsym(python, "PyEval_SaveThread"))();
  in_python(%(program)s);
  atexit(at_exit);
}
"""
_PROGRAM = """\
import sys
if {source!r} not in sys.path:
    sys.path.insert(0, {source!r})
import tvm_ffi_conformance.callers.start as tvm_ffi_conformance_start
tvm_ffi_conformance_start.start({path!r})
"""


def find_libpython() -> str:
    """Return the shared library of this Python, which a program without Python loads."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    name = sysconfig.get_config_var("INSTSONAME") or ""
    path = Path(sysconfig.get_config_var("LIBDIR") or "") / name
    if name.startswith("libpython") and ".so" in name and path.exists():
        return str(path)
    return f"libpython{version}.so.1.0"  # the loader of the program searches it


def build(folder: Path) -> Path:
    """Write ``libtvm_ffi.so`` into a folder, where it must remain; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = str(folder.resolve() / abi.SONAME)
    source = str(Path(__file__).resolve().parents[2])
    text = _START % {
        "libpython": json.dumps(find_libpython()),
        "home": json.dumps(sys.base_prefix),
        "program": json.dumps(_PROGRAM.format(source=source, path=path)),
    }
    return build_trampoline(folder, text)

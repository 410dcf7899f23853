# SPDX-License-Identifier: Apache-2.0
"""Conversion between Python tracebacks and the backtrace text of native errors.

A line of the text is ``  File "NAME", line 7, in FUNCTION``, as Python prints it, with the most
recent call first.  For a line of native code, this module creates a frame object that never runs
and only names the line in a traceback.
"""

from cpython.ref cimport PyObject, Py_XDECREF

from tvm_ffi._binding.cpython cimport (
    PyCodeObject, PyCode_NewEmpty, PyException_GetTraceback, PyFrameObject, PyFrame_GetCode,
    PyThreadState, PyThreadState_Get, PyTracebackObject,
)

cdef extern from "frameobject.h":
    PyFrameObject* PyFrame_New(
        PyThreadState* state, PyCodeObject* code, PyObject* global_names, PyObject* local_names
    ) noexcept
    int PyTraceBack_Here(PyFrameObject* frame) noexcept
    bint PyTraceBack_Check(object value)


# ---- Python traceback to backtrace text ------------------------------------------------------

cdef object traceback_of(object exception):
    cdef PyObject* traceback = PyException_GetTraceback(<PyObject*>exception)
    if traceback == NULL:
        return None
    value = <object>traceback
    Py_XDECREF(traceback)
    return value


cdef object _code_of(object entry):
    """Return the code object of a traceback entry, read through the C API.

    The attributes ``tb_frame`` and ``f_code`` would call audit hooks.  These may raise, and need
    another frame while a RecursionError is being reported.
    """
    cdef PyObject* code = <PyObject*>PyFrame_GetCode((<PyTracebackObject*>entry).tb_frame)
    value = <object>code
    Py_XDECREF(code)
    return value


cdef object without_binding_frames(object traceback):
    while traceback is not None and _code_of(traceback).co_filename.startswith(
        "tvm_ffi/_binding/"
    ):
        traceback = traceback.tb_next
    return traceback


cdef str backtrace_of(object traceback):
    cdef list lines = []
    cdef object entry = traceback
    while entry is not None:
        code = _code_of(entry)
        lines.append(f'  File "{code.co_filename}", line {entry.tb_lineno}, in {code.co_name}\n')
        entry = entry.tb_next
    lines.reverse()
    return "".join(lines)


# ---- backtrace text to frames ----------------------------------------------------------------

# Globals of all frames that represent lines of native code.
cdef dict _frame_globals = {"__builtins__": {}}

# Cache of code objects by backtrace text, so that raising the same error again creates no code
# objects.  It is cleared when it is full; a backtrace text has a few hundred bytes.
cdef dict _codes_by_backtrace = {}
cdef int _MAX_CACHED_BACKTRACES = 1024


cdef object _new_code(bytes filename, bytes function, int line):
    """Return a code object without instructions, which names a source line in a traceback."""
    cdef PyObject* code = <PyObject*>PyCode_NewEmpty(filename, function, line)
    result = <object>code
    Py_XDECREF(code)
    return result


cdef tuple _codes_of(bytes backtrace):
    """Return a code object per well-formed backtrace line, in the order of the text."""
    cdef list codes = []
    cdef bytes line, filename, number, function
    for line in backtrace.splitlines():
        head, found, rest = line.strip().rpartition(b'", line ')
        number, separator, function = rest.partition(b", in ")
        if not (found and separator and head.startswith(b'File "') and number.isdigit()):
            continue
        filename = head[len(b'File "'):]
        codes.append(_new_code(filename, function, min(int(number), 0x7FFFFFFF)))
    return tuple(codes)


cdef tuple _cached_codes_of(bytes backtrace):
    cdef tuple codes = _codes_by_backtrace.get(backtrace)
    if codes is None:
        codes = _codes_of(backtrace)
        if len(_codes_by_backtrace) >= _MAX_CACHED_BACKTRACES:
            _codes_by_backtrace.clear()
        _codes_by_backtrace[backtrace] = codes
    return codes


cdef list frames_of_backtrace(bytes backtrace):
    return _frames_of(_cached_codes_of(backtrace))


cdef list _frames_of(tuple codes):
    """Return one frame per code object.

    The caller ensures that no exception is set, because PyFrame_New looks up names.
    """
    cdef list frames = []
    cdef PyFrameObject* frame
    for code in codes:
        frame = PyFrame_New(
            PyThreadState_Get(), <PyCodeObject*><PyObject*>code, <PyObject*>_frame_globals, NULL)
        if frame == NULL:
            raise MemoryError()
        frames.append(<object><PyObject*>frame)
        Py_XDECREF(<PyObject*>frame)
    return frames


cdef void add_frame(PyObject* frame) noexcept:
    PyTraceBack_Here(<PyFrameObject*>frame)


# ---- functions for Python code that builds tracebacks ----------------------------------------

def backtrace_text(traceback) -> str:
    """Return a Python traceback as native backtrace text, most recent call first."""
    if traceback is not None and not PyTraceBack_Check(traceback):
        raise TypeError(
            f"backtrace_text: expected a traceback or None, got {type(traceback).__name__}")
    return backtrace_of(traceback)


def frame_of_line(str filename, int line, str function):
    """Return a frame that names a line of native code in a traceback."""
    code = _new_code(
        filename.encode("utf-8", "backslashreplace"),
        function.encode("utf-8", "backslashreplace"), line)
    return _frames_of((code,))[0]


def frames_of_text(str backtrace) -> list:
    """Return a frame for each line of a native backtrace, in the order of the text."""
    return frames_of_backtrace(backtrace.encode("utf-8", "backslashreplace"))

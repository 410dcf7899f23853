# SPDX-License-Identifier: Apache-2.0
"""Call sequences: prepared calls that run in order, with one crossing into native code."""

from cpython.list cimport PyList_New, PyList_SET_ITEM
cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport (
    PyEval_RestoreThread, PyEval_SaveThread, PyThreadState, PyTuple_GET_ITEM, PyTuple_GET_SIZE,
    Py_TYPE,
)
from tvm_ffi._binding.interpreter cimport load_flag
from tvm_ffi._binding.object cimport add_note, check


@cython.binding(False)
cdef class Sequence:
    """Prepared calls that run in order: ``sequence()`` returns the list of their results.

    The GIL is released once for all calls, or for each group of consecutive calls whose functions
    release it.  The first failure ends the run.

    Parameters
    ----------
    calls : iterable of PreparedCall
        The calls; one may occur several times.

    Raises
    ------
    Exception
        If a call fails.  The exception is the exception of the call, with a note that names the
        index and the call.
    """

    cdef readonly tuple calls  # the prepared calls in order

    def __cinit__(self, calls):
        self.calls = _as_calls(calls)

    def __call__(self):
        """Run the calls and return the list of their results."""
        return _run_calls(self.calls)

    def __len__(self):
        return len(self.calls)

    def __getitem__(self, index):
        return self.calls[index]

    def __repr__(self):
        return f"<sequence of {len(self.calls)} prepared calls>"


def run(calls):
    """Run prepared calls in order and return the list of their results.

    Parameters
    ----------
    calls : iterable of PreparedCall, or Sequence
        The calls; see `Sequence`.
    """
    if isinstance(calls, Sequence):
        return _run_calls((<Sequence>calls).calls)
    return _run_calls(_as_calls(calls))


cdef tuple _as_calls(object calls):
    """Return a tuple of prepared calls.  Fails: TypeError for other objects."""
    cdef tuple result = tuple(calls)
    cdef Py_ssize_t i
    for i in range(len(result)):
        if Py_TYPE(PyTuple_GET_ITEM(<PyObject*>result, i)) != <PyTypeObject*>PreparedCall:
            raise TypeError(
                f"run: expected a PreparedCall at index {i}, got {type(result[i]).__name__}; "
                "create prepared calls with `Function.prepare`")
    return result


cdef list _run_calls(tuple calls):
    cdef Py_ssize_t count = len(calls)
    cdef abi.TVMFFIAny* results = <abi.TVMFFIAny*>PyMem_Malloc(
        <size_t>count * (sizeof(abi.TVMFFIAny) + sizeof(void*)) + 1)
    cdef abi.TVMFFIObjectHandle* handles = <abi.TVMFFIObjectHandle*>(results + count)
    cdef Py_ssize_t num_collected = 0
    cdef Py_ssize_t num_done = 0      # number of calls that have run
    cdef Py_ssize_t num_unpacked = 0  # number of results that were consumed
    cdef PyObject* value
    cdef list unpacked
    if results == NULL:
        raise MemoryError()
    try:
        try:
            _collect(calls, handles, &num_collected)
            while num_done < count:
                check(_run_group(calls, handles, results, &num_done))
        except BaseException as error:
            failed = num_collected if num_collected < count else num_done
            add_note(error, f"in call {failed} of {count}: {calls[failed]!r}")
            raise
        unpacked = PyList_New(count)
        while num_unpacked < count:
            num_unpacked += 1
            value = _unpack_result(
                &results[num_unpacked - 1],
                &(<PreparedCall>PyTuple_GET_ITEM(<PyObject*>calls, num_unpacked - 1)).state)
            if value == NULL:
                check(-2)
            PyList_SET_ITEM(unpacked, num_unpacked - 1, <object>value)
        return unpacked
    finally:
        while num_done > num_unpacked:
            num_done -= 1
            _release(&results[num_done])
        PyMem_Free(results)


cdef int _collect(
    tuple calls, abi.TVMFFIObjectHandle* handles, Py_ssize_t* index
) except -1:
    """Write the handles of the calls, and read the current streams of their frameworks."""
    cdef PreparedCall call
    while index[0] < len(calls):
        call = <PreparedCall>PyTuple_GET_ITEM(<PyObject*>calls, index[0])
        _require(call)
        if call.state.stream_device_type != 0:
            _renew_stream(call)
            call.cell.stream = call.state.stream
        handles[index[0]] = call.handle
        index[0] += 1
    return 0


cdef int _run_group(
    tuple calls, abi.TVMFFIObjectHandle* handles, abi.TVMFFIAny* results, Py_ssize_t* num_done
) noexcept:
    """Run the next calls that all release the GIL, or one that keeps it; return the last code."""
    cdef Py_ssize_t begin = num_done[0]
    cdef Py_ssize_t end = begin
    cdef PyThreadState* thread
    cdef int32_t failed = 0
    cdef int code
    while end < PyTuple_GET_SIZE(<PyObject*>calls) and _releases_gil(calls, end):
        end += 1
    if end == begin:
        code = _run_with_gil(
            <PreparedCall>PyTuple_GET_ITEM(<PyObject*>calls, begin), &results[begin])
        num_done[0] += code == 0
        return code
    thread = PyEval_SaveThread()
    code = abi.TVMFFIPreparedRun(
        &handles[begin], <int32_t>(end - begin), &results[begin], &failed)
    PyEval_RestoreThread(thread)
    num_done[0] = end if code == 0 else begin + failed
    return code


cdef inline bint _releases_gil(tuple calls, Py_ssize_t index) noexcept:
    return load_flag(
        &(<PreparedCall>PyTuple_GET_ITEM(<PyObject*>calls, index))._function.releases_gil)


cdef int _run_with_gil(PreparedCall call, abi.TVMFFIAny* result) noexcept:
    cdef int code
    if not enter_call(call.cell):
        _cold_refuse_busy()
        return -2
    code = _check_and_invoke(call, call.cell.args, NULL, result, &call.state)
    leave_call(call.cell)
    return code

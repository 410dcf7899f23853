# SPDX-License-Identifier: Apache-2.0
"""Which argument of a call an exception is about."""

from cpython.ref cimport PyObject, Py_INCREF
from libc.stdint cimport int32_t, uintptr_t

from tvm_ffi._binding.cpython cimport (
    PyErr_Fetch, PyErr_NormalizeException, PyErr_Occurred, PyErr_Restore, PyExc_TypeError,
    PyException_GetContext, PyException_SetContext, PyException_SetTraceback, PyTuple_GET_ITEM,
    PyTuple_GET_SIZE,
)
from tvm_ffi._binding.object cimport CObject, add_note, check, traceback_of, without_binding_frames

# Exceptions whose text is all there is to them: these can be made anew with more in it.
cdef tuple _PLAIN_ERRORS = (TypeError, ValueError, OverflowError, BufferError, RuntimeError)


cdef int explain_argument(
    CObject function, object declared_name, int32_t position, int32_t num_args, PyObject* names
) noexcept:
    try:
        check(-2)  # turns the exception that is set into one we can catch
    except BaseException as error:
        traceback = without_binding_frames(traceback_of(error))
        try:
            explained = _with_argument(
                error, _display_name(function), position, num_args, names, declared_name)
        except BaseException:  # so may what describes the function
            explained = error
        # Not by assignment: frozen dataclasses refuse it.
        PyException_SetTraceback(explained, traceback)
        _restore(explained)
    return -1


cdef void _restore(object error) noexcept:
    """Set an exception with the context that it has, whatever is being handled here."""
    cdef object cls = type(error)
    cdef object traceback = traceback_of(error)
    Py_INCREF(cls)
    Py_INCREF(error)
    if traceback is not None:
        Py_INCREF(traceback)
    PyErr_Restore(
        <PyObject*>cls, <PyObject*>error, NULL if traceback is None else <PyObject*>traceback)


cdef str _display_name(CObject function):
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else f"<function at {<uintptr_t>function.chandle:#x}>"


cdef object _with_argument(
    object error, str function_name, int32_t position, int32_t num_args, PyObject* names,
    object declared_name,
):
    cdef int32_t first_named = num_args
    which = f"#{position}" if declared_name is None else f"'{declared_name}'"
    if names != NULL:
        first_named -= <int32_t>PyTuple_GET_SIZE(names)
    if position >= first_named:
        which = f"'{<object>PyTuple_GET_ITEM(names, position - first_named)}'"
    where = f"argument {which} when calling `{function_name}`"
    return error_about(error, f"Cannot pass {where}", f"While passing {where}")


cdef int name_parameter(object signature, object name) noexcept:
    try:
        check(-2)
    except BaseException as error:
        explained = error
        try:
            where = f"{signature.name}() argument '{name}'"
            explained = error_about(error, where, f"While converting {where}")
        except BaseException:
            pass
        _restore(explained)
    return -1


def error_about(error, str where not None, str note not None):
    """Return the exception with where it comes from in front of its text.

    One that more than its text belongs to stays what it is, and gets a note.
    """
    try:
        return _error_about(error, where, note)
    except BaseException:  # what describes the error may fail itself
        return error


cdef object _error_about(object error, str where, str note):
    for cls in _PLAIN_ERRORS:
        if type(error) is cls:
            explained = cls(f"{where}: {error}")
            explained.__cause__ = error.__cause__
            explained.__suppress_context__ = error.__suppress_context__
            PyException_SetContext(
                <PyObject*>explained, PyException_GetContext(<PyObject*>error))
            vars(explained).update(vars(error))  # notes among them
            return explained
    add_note(error, note)
    return error


# ---- what native code calls a Python object ------------------------------------------------


cdef void name_opaque_argument(PyObject* const* values, int32_t num_args) noexcept:
    """Name the class in the exception that is set, where it speaks of a Python object as such."""
    cdef PyObject* cls = NULL
    cdef PyObject* exception = NULL
    cdef PyObject* traceback = NULL
    if PyErr_Occurred() != PyExc_TypeError:
        return
    PyErr_Fetch(&cls, &exception, &traceback)
    PyErr_NormalizeException(&cls, &exception, &traceback)
    try:
        arguments = [<object>values[i] for i in range(num_args)]
        _name_opaque(<object>exception, arguments)
    except BaseException:  # what describes the error may fail itself
        pass
    PyErr_Restore(cls, exception, traceback)


cdef int _name_opaque(object error, list arguments) except -1:
    if len(error.args) != 1 or "ffi.OpaquePyObject" not in str(error.args[0]):
        return 0
    from tvm_ffi._binding.object.type_names import with_argument_class

    error.args = (with_argument_class(error.args[0], arguments),)
    return 0

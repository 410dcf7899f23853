# SPDX-License-Identifier: Apache-2.0
"""Error context: adding the function and the argument of a call to the message of an exception."""

from cpython.ref cimport PyObject, Py_INCREF
from libc.stdint cimport int32_t, uintptr_t

from tvm_ffi._binding.cpython cimport (
    PyErr_Fetch, PyErr_NormalizeException, PyErr_Occurred, PyErr_Restore, PyExc_TypeError,
    PyException_GetContext, PyException_SetContext, PyException_SetTraceback, PyTuple_GET_ITEM,
    PyTuple_GET_SIZE,
)
from tvm_ffi._binding.object cimport CObject, add_note, check, traceback_of, without_binding_frames

# Exception classes whose instances contain only a message.  To add context to such an exception, a
# new exception with a longer message replaces it; exceptions of other classes get a note.
cdef tuple _PLAIN_ERRORS = (TypeError, ValueError, OverflowError, BufferError, RuntimeError)


# Separates positional arguments of a constructor from pairs of name and value;
# global_functions.pxi sets it.
cdef CObject _kwargs_marker


cdef int explain_argument(
    CObject function, object declared_name, PyObject* const* values, int32_t position,
    int32_t num_args, PyObject* names,
) noexcept:
    try:
        check(-2)  # raises the Python exception that is already set
    except BaseException as error:
        traceback = without_binding_frames(traceback_of(error))
        try:
            if declared_name is None:
                declared_name = _name_before(values, position)
            explained = _add_argument_context(
                error, _display_name(function), position, num_args, names, declared_name)
        except BaseException:  # reading `function.__name__` may raise another exception
            explained = error
        # Exceptions that are frozen dataclasses refuse `explained.__traceback__ = traceback`.
        PyException_SetTraceback(explained, traceback)
        _restore(explained)
    return -1


cdef void _restore(object error) noexcept:
    """Set an exception without changing its `__context__`; a `raise` statement would change it."""
    cdef object cls = type(error)
    cdef object traceback = traceback_of(error)
    Py_INCREF(cls)
    Py_INCREF(error)
    if traceback is not None:
        Py_INCREF(traceback)
    PyErr_Restore(
        <PyObject*>cls, <PyObject*>error, NULL if traceback is None else <PyObject*>traceback)


cdef object _name_before(PyObject* const* values, int32_t position):
    """Return the name that a constructor got before the argument; None without pairs of both."""
    cdef int32_t i
    for i in range(position):
        value = <object>values[i]
        if isinstance(value, CObject) and (<CObject>value).chandle == _kwargs_marker.chandle:
            return <object>values[position - 1] if (position - i) % 2 == 0 else None
    return None


cdef str _display_name(CObject function):
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else f"<function at {<uintptr_t>function.chandle:#x}>"


cdef object _add_argument_context(
    object error, str function_name, int32_t position, int32_t num_args, PyObject* names,
    object declared_name,
):
    cdef int32_t first_named = num_args
    argument = f"#{position}" if declared_name is None else f"'{declared_name}'"
    if names != NULL:
        first_named -= <int32_t>PyTuple_GET_SIZE(names)
    if position >= first_named:
        argument = f"'{<object>PyTuple_GET_ITEM(names, position - first_named)}'"
    where = f"argument {argument} when calling `{function_name}`"
    return add_error_context(error, f"Cannot pass {where}", f"While passing {where}")


cdef int explain_conversion(object signature, object name) noexcept:
    return explain_place("{}() argument '{}'", signature, "name", name)


cdef int explain_place(str template, object owner, str attribute, object name) noexcept:
    try:
        check(-2)
    except BaseException as error:
        explained, traceback = error, without_binding_frames(traceback_of(error))
        try:
            where = template.format(getattr(owner, attribute, type(owner).__name__), name)
            explained = add_error_context(error, where, f"While converting {where}")
        except BaseException:
            pass
        PyException_SetTraceback(explained, traceback)
        _restore(explained)
    return -1


cdef object keyword_error(CObject function, object keyword):
    return TypeError(
        f"{_display_name(function)}() got an unexpected keyword argument '{keyword}': the function "
        "has no signature, so its parameters have no names; pass the argument by position, or "
        "declare a signature, for example with `Module.describe`")


def add_error_context(error, str where not None, str note not None):
    """Return an exception of the class of `error`, with `where` as prefix of the message.

    For a class whose instances have more data than the message, add `note` to `error` with
    ``add_note`` and return `error`.  A UnicodeEncodeError gets `note` at the end of its message.
    """
    try:
        return _error_about(error, where, note)
    except BaseException:  # `__str__` or `add_note` of the error may raise another exception
        return error


cdef object _error_about(object error, str where, str note):
    for cls in _PLAIN_ERRORS:
        if type(error) is cls:
            explained = cls(f"{where}: {error}")
            explained.__cause__ = error.__cause__
            explained.__suppress_context__ = error.__suppress_context__
            PyException_SetContext(
                <PyObject*>explained, PyException_GetContext(<PyObject*>error))
            vars(explained).update(vars(error))  # also copies the notes in `__notes__`
            return explained
    if type(error) is UnicodeEncodeError:  # a str with a lone surrogate
        addition = f" ({note[:1].lower()}{note[1:]})"
        if addition not in error.reason:  # one object may be raised repeatedly
            error.reason += addition
    else:
        add_note(error, note)
    return error


# ---- class names of opaque arguments -------------------------------------------------------


cdef void name_opaque_argument(PyObject* const* values, int32_t num_args) noexcept:

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
    except BaseException:  # reading the message or the name of a class may raise another exception
        pass
    PyErr_Restore(cls, exception, traceback)


cdef int _name_opaque(object error, list arguments) except -1:
    if len(error.args) != 1 or "ffi.OpaquePyObject" not in str(error.args[0]):
        return 0
    from tvm_ffi._binding.object.type_names import with_argument_class

    error.args = (with_argument_class(error.args[0], arguments),)
    return 0

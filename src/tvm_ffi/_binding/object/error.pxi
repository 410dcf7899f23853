# SPDX-License-Identifier: Apache-2.0
"""Errors across the boundary: native errors become Python exceptions and back, here alone.

A Python exception that enters native code travels inside the native error (`_ErrorObject` below)
and is handed out again, the very same object, when the error comes back to Python.  Each language
adds its frames: native lines stand in the Python traceback, Python lines in the native backtrace.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport (
    PyErr_CheckSignals, PyErr_Clear, PyErr_ExceptionMatches, PyErr_Fetch, PyErr_NormalizeException,
    PyErr_Occurred, PyErr_SetObject, PyErr_SetString, PyExc_Exception, PyExc_MemoryError,
    PyExc_RuntimeError, PyException_SetCause, PyException_SetTraceback, PyObject_GetAttr,
    PyObject_GetItem, PyObject_SetAttr, PyObject_Str, PyUnicode_AsEncodedString, Py_TYPE,
    is_subtype, mro_of, set_traceback,
)
from tvm_ffi._binding.interpreter cimport advance

cdef extern from *:
    """
    #define tvm_ffi_exchange(slot, value) __atomic_exchange_n(slot, value, __ATOMIC_ACQ_REL)
    """
    PyObject* exchange_pointer "tvm_ffi_exchange"(PyObject** slot, PyObject* value) noexcept


# The two live tables of kinds; `register_error` adds to both.
ERROR_NAME_TO_TYPE = {}
ERROR_TYPE_TO_NAME = {}
for _kind in (
    RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError, AssertionError,
    MemoryError,
):
    ERROR_NAME_TO_TYPE[_kind.__name__] = _kind
    ERROR_TYPE_TO_NAME[_kind] = _kind.__name__

# How messages begin that name types.
cdef tuple _ABOUT_TYPES = (
    "Mismatched ", "No matching ", "Cannot convert from type ", "Cannot treat type ",
)

# Means: the host language has an exception pending, leave it as it is.
cdef bytes _ALREADY_SET_KIND = b"EnvErrorAlreadySet"
cdef int _ALREADY_SET_CODE = -2

cdef str _ERROR_ATTRIBUTE = "__tvm_ffi_error__"
cdef dict _name_to_type = ERROR_NAME_TO_TYPE
cdef dict _type_to_name = ERROR_TYPE_TO_NAME


cdef struct _ErrorObject:
    # A native error made from a Python exception.
    abi.TVMFFIObject header
    abi.TVMFFIErrorCell cell
    PyObject* exception           # owned; NULL once it has been handed back to Python
    int64_t num_carriers          # wrappers that have it; too many if the collector has cleared one
    size_t python_backtrace_size  # leading bytes of the backtrace that exception.__traceback__ has
    char* backtrace               # owned; the cell's view points here
    # kind and message follow


cdef void _delete_error(void* self, int flags) noexcept nogil:
    cdef _ErrorObject* error = <_ErrorObject*>self
    if flags & abi.kTVMFFIObjectDeleterFlagBitMaskStrong:
        abi.TVMFFIObjectDecRef(error.cell.cause_chain)
        abi.TVMFFIObjectDecRef(error.cell.extra_context)
        free(error.backtrace)
        if error.exception != NULL:
            release_python_object(error.exception)
    if flags & abi.kTVMFFIObjectDeleterFlagBitMaskWeak:
        free(error)


cdef void _update_backtrace(
    abi.TVMFFIObjectHandle self, const abi.TVMFFIByteArray* text, int32_t mode
) noexcept nogil:
    cdef _ErrorObject* error = <_ErrorObject*>self
    cdef size_t kept = 0
    if mode == abi.kTVMFFIBacktraceUpdateModeAppend:
        kept = error.cell.backtrace.size
    cdef char* grown = <char*>malloc(kept + text.size + 1)
    if grown == NULL:
        return  # out of memory: the old backtrace stays
    memcpy(grown, error.cell.backtrace.data, kept)
    memcpy(grown + kept, text.data, text.size)
    grown[kept + text.size] = 0
    if kept == 0:
        error.python_backtrace_size = 0
    free(error.backtrace)
    error.backtrace = grown
    error.cell.backtrace.data = grown
    error.cell.backtrace.size = kept + text.size


cdef char* _store(abi.TVMFFIByteArray* view, char* target, bytes text) noexcept:
    """Copy the text, NUL included, point the view at the copy and return what follows it."""
    memcpy(target, <const char*>text, len(text) + 1)
    view.data = target
    view.size = len(text)
    return target + len(text) + 1


# An exception is described by code of its own class, and of its class's class, which may fail in
# any way.  That must not hide the error itself.  `except` is not used, as Cython's cannot catch
# what has no traceback, and there is none when memory is short.

cdef object _or_none(PyObject* owned):
    """The object; None in place of NULL, whose exception is forgotten."""
    if owned == NULL:
        PyErr_Clear()
        return None
    value = <object>owned
    Py_XDECREF(owned)
    return value


cdef bytes _kind_of(object exception):
    """The kind of the nearest registered class among the exception's bases."""
    cdef object cls, name
    for cls in <object>mro_of(Py_TYPE(<PyObject*>exception)):
        name = _or_none(PyObject_GetItem(<PyObject*>_type_to_name, <PyObject*>cls))
        if isinstance(name, str):
            return PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace")
    return b"RuntimeError"


cdef bytes _message_of(object exception):
    cdef object text = _or_none(PyObject_Str(<PyObject*>exception))
    if text is None:
        return b"<" + Py_TYPE(<PyObject*>exception).tp_name + b" whose __str__ failed>"
    return PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace")


cdef Error _origin_of(object exception):
    """The native error that the exception came from, or None."""
    cdef object origin = _or_none(
        PyObject_GetAttr(<PyObject*>exception, <PyObject*>_ERROR_ATTRIBUTE))
    return origin if isinstance(origin, Error) else None


cdef abi.TVMFFIObjectHandle new_native_error(object exception) except NULL:
    # Not by assignment: frozen dataclasses refuse it.
    cdef object traceback = without_binding_frames(traceback_of(exception))
    PyException_SetTraceback(exception, traceback)
    cdef bytes kind = _kind_of(exception)
    cdef bytes message = _message_of(exception)
    cdef bytes python_backtrace = backtrace_of(traceback).encode("utf-8", "backslashreplace")
    cdef const abi.TVMFFIByteArray* native = abi.TVMFFIBacktrace(NULL, 0, NULL, 0)
    cdef bytes backtrace = python_backtrace + native.data[: native.size]
    cdef Error origin = _origin_of(exception)
    cdef abi.TVMFFIErrorCell* origin_cell = NULL
    cdef size_t text_size = len(kind) + len(message) + 2
    cdef _ErrorObject* error = <_ErrorObject*>malloc(sizeof(_ErrorObject) + text_size)
    cdef char* backtrace_copy = <char*>malloc(len(backtrace) + 1)
    if error == NULL or backtrace_copy == NULL:
        free(error)
        free(backtrace_copy)
        raise MemoryError()
    error.header.combined_ref_count = abi.TVM_FFI_REF_COUNT_INITIAL
    error.header.type_index = abi.kTVMFFIError
    error.header.__padding = 0
    error.header.deleter = _delete_error
    _store(&error.cell.message, _store(&error.cell.kind, <char*>(error + 1), kind), message)
    error.backtrace = backtrace_copy
    _store(&error.cell.backtrace, backtrace_copy, backtrace)
    error.cell.update_backtrace = _update_backtrace
    error.cell.cause_chain = NULL
    error.cell.extra_context = NULL
    error.num_carriers = 0
    # An error that visited native code before keeps what native code attached to it.
    if origin is not None and origin.chandle != NULL:
        origin_cell = abi.TVMFFIErrorGetCellPtr(origin.chandle)
        error.cell.cause_chain = _share(origin_cell.cause_chain)
        error.cell.extra_context = _share(origin_cell.extra_context)
    own_python_object(exception)
    error.exception = <PyObject*>exception
    error.python_backtrace_size = len(python_backtrace)
    return error


cdef abi.TVMFFIObjectHandle _share(abi.TVMFFIObjectHandle handle) noexcept:
    if handle != NULL:
        abi.TVMFFIObjectIncRef(handle)
    return handle


# Seen as a C function that returns NULL with an exception set: `try` needs memory itself.
ctypedef abi.TVMFFIObjectHandle (*_MakeError)(PyObject* exception) noexcept
cdef _MakeError _unpack_error = <_MakeError>new_native_error


cdef abi.TVMFFIObjectHandle _error_of_what_is_set() noexcept:
    """The native error for the exception that is set; NULL with what came instead."""
    cdef abi.TVMFFIObjectHandle error = NULL
    cdef PyObject* cls = NULL
    cdef PyObject* exception = NULL
    cdef PyObject* traceback = NULL
    PyErr_Fetch(&cls, &exception, &traceback)
    PyErr_NormalizeException(&cls, &exception, &traceback)
    if exception != NULL:
        if traceback != NULL and set_traceback(exception, traceback) != 0:
            PyErr_Clear()
        # Describing it would, and what a handler raises there may be forgotten.
        if PyErr_CheckSignals() == 0:
            error = _unpack_error(exception)
    Py_XDECREF(traceback)
    Py_XDECREF(exception)
    Py_XDECREF(cls)
    return error


cdef int raise_to_native() noexcept:
    cdef abi.TVMFFIObjectHandle error = _error_of_what_is_set()
    if error == NULL and PyErr_Occurred() != NULL and not PyErr_ExceptionMatches(PyExc_MemoryError):
        error = _error_of_what_is_set()  # what the handler of a signal has raised meanwhile
    if error != NULL:
        abi.TVMFFIErrorSetRaised(error)
        abi.TVMFFIObjectDecRef(error)
    else:
        PyErr_Clear()
        abi.TVMFFIErrorSetRaisedFromCStr(b"MemoryError", b"out of memory while raising an error")
    return -1


# ---- native to Python ----------------------------------------------------------------------

cdef object _new_exception(abi.TVMFFIErrorCell* cell):
    """An exception of the class that is registered for the error's kind."""
    cdef str kind = cell.kind.data[: cell.kind.size].decode("utf-8", "replace")
    cdef str message = cell.message.data[: cell.message.size].decode("utf-8", "replace")
    cls = _name_to_type.get(kind)
    if cls is None:
        return RuntimeError(message)
    if cls is TypeError:
        message = _in_python_words(message)
    try:
        exception = cls(message)
    except MemoryError:
        raise
    except Exception:  # a registered class that cannot be made from a message alone
        return RuntimeError(f"{kind}: {message}")
    return exception if isinstance(exception, BaseException) else RuntimeError(message)


cdef str _in_python_words(str message):
    """The message with the types called as in Python, where it is one of those about types."""
    if not message.startswith(_ABOUT_TYPES):
        return message
    try:
        from tvm_ffi._binding.object.type_names import in_python_words

        return in_python_words(message)
    except Exception:  # an error that cannot be translated is still the error
        return message


cdef bint is_of_exception(abi.TVMFFIObjectHandle handle) noexcept:
    return handle != NULL and (<abi.TVMFFIObject*>handle).deleter == _delete_error


cdef PyObject* exception_in(abi.TVMFFIObjectHandle handle) noexcept:
    return (<_ErrorObject*>handle).exception


cdef void _take_exception(PyObject* wrapper) noexcept:
    """Let a wrapper carry the exception of the native error that it has just got."""
    cdef Error error = <Error>wrapper
    cdef PyObject* exception = NULL
    if is_of_exception(error.chandle):
        # Atomic: two threads may have been given the same native error.
        exception = exchange_pointer(&(<_ErrorObject*>error.chandle).exception, NULL)
    if exception != NULL:
        advance(&(<_ErrorObject*>error.chandle).num_carriers, 1)
        error.carried = <object>exception
        Py_XDECREF(exception)


cdef object _put_down(Error error):
    """The exception that a wrapper has carried so far; None: it carried none."""
    cdef object carried = error.carried
    if carried is not None:
        error.carried = None
        if is_of_exception(error.chandle):
            advance(&(<_ErrorObject*>error.chandle).num_carriers, -1)
    return carried


cdef PyObject* _give_exception(abi.TVMFFIObjectHandle handle, object exception) noexcept:
    """Let a native error carry the exception.  Returns, owned, what is to be let go of, or NULL."""
    Py_INCREF(exception)
    if not is_of_exception(handle):  # others have no place for it
        return <PyObject*>exception
    return exchange_pointer(&(<_ErrorObject*>handle).exception, <PyObject*>exception)


cdef PyObject* _return_exception(PyObject* wrapper) noexcept:
    """Give the exception back to the native error that the wrapper is about to lose."""
    cdef Error error = <Error>wrapper
    cdef object carried = _put_down(error)
    return NULL if carried is None else _give_exception(error.chandle, carried)


cdef Error wrap_error(abi.TVMFFIObjectHandle owned):
    cdef Error error
    try:
        error = Error.__new__(Error)
    except BaseException:
        abi.TVMFFIObjectDecRef(owned)
        raise
    error.chandle = owned
    _take_exception(<PyObject*>error)
    return error


cdef abi.TVMFFIObjectHandle native_error_of(Error error) except NULL:
    cdef object carried = error.carried
    if carried is not None:
        Py_XDECREF(_give_exception(handle_of(error), carried))
    return handle_of(error)  # what has died may have run any code


cdef object _take_cause(abi.TVMFFIObjectHandle handle):
    """The exception that native code has made another error of, which names it as its cause."""
    while handle != NULL and (<abi.TVMFFIObject*>handle).type_index == abi.kTVMFFIError:
        if is_of_exception(handle):
            # From here on exceptions refer to each other, which the garbage collector sees.
            return _or_none(exchange_pointer(&(<_ErrorObject*>handle).exception, NULL))
        handle = abi.TVMFFIErrorGetCellPtr(handle).cause_chain
    return None


cdef bint _is_interruption(object exception) noexcept:
    """Whether nobody who handles errors should handle it: ctrl-C, or the end of the program."""
    return exception is not None and not is_subtype(
        Py_TYPE(<PyObject*>exception), <PyTypeObject*>PyExc_Exception)


cdef bytes _native_backtrace(abi.TVMFFIObjectHandle handle, bint is_original):
    """The part of the backtrace text that the exception's own traceback does not have."""
    return _backtrace_from(
        handle, (<_ErrorObject*>handle).python_backtrace_size if is_original else 0)


cdef bytes _backtrace_from(abi.TVMFFIObjectHandle handle, size_t start):
    """The backtrace, which `update_backtrace` of another thread may be about to free."""
    cdef const abi.TVMFFIByteArray* text = &abi.TVMFFIErrorGetCellPtr(handle).backtrace
    cdef Guard guard
    begin_guard(&guard, object_locks(), handle)
    try:
        start = min(start, text.size)
        return PyBytes_FromStringAndSize(text.data + start, <Py_ssize_t>(text.size - start))
    finally:
        end_guard(&guard)


cdef int _set_exception(abi.TVMFFIObjectHandle handle) except -2:
    """Set the Python exception for an owned native error."""
    cdef _ErrorObject* native = <_ErrorObject*>handle
    cdef bint is_original = is_of_exception(handle) and native.exception != NULL
    cdef Error error = wrap_error(handle)  # owns the handle from here on
    # The exception will refer to the error, so the error need not refer to the exception.
    cdef object exception = _put_down(error)
    cdef object cause = None
    cdef bytes backtrace = _native_backtrace(handle, is_original)
    cdef list frames
    if exception is None:
        cause = _take_cause(abi.TVMFFIErrorGetCellPtr(handle).cause_chain)
        if _is_interruption(cause):
            exception, cause, backtrace = cause, None, b""
        else:
            exception = _new_exception(abi.TVMFFIErrorGetCellPtr(handle))
    if cause is not None:
        Py_INCREF(cause)
        PyException_SetCause(<PyObject*>exception, <PyObject*>cause)
    # The handle is not used any more: from here on others know the error, and may empty it.
    if PyObject_SetAttr(
        <PyObject*>exception, <PyObject*>_ERROR_ATTRIBUTE, <PyObject*>error
    ) != 0:
        PyErr_Clear()  # a class with slots, or one that refuses: the link is a convenience
    frames = frames_of_backtrace(backtrace)
    set_exception(exception)
    for frame in frames:  # each goes in front of the traceback
        add_frame(<PyObject*>frame)
    return 0


# Seen as a C function that returns with an exception set, whether it is the one or another.
cdef int (*_set_from_native)(abi.TVMFFIObjectHandle handle) noexcept
_set_from_native = <int (*)(abi.TVMFFIObjectHandle) noexcept>_set_exception


cdef bint _is_already_set(abi.TVMFFIObjectHandle handle) noexcept:
    cdef abi.TVMFFIErrorCell* cell = abi.TVMFFIErrorGetCellPtr(handle)
    cdef size_t size = <size_t>len(_ALREADY_SET_KIND)
    return (
        cell.kind.size == size
        and memcmp(cell.kind.data, <const char*>_ALREADY_SET_KIND, size) == 0
    )


cdef void set_exception(object exception) noexcept:
    cdef object cls = type(exception)
    PyErr_SetObject(<PyObject*>cls, <PyObject*>exception)  # keeps the traceback, sets __context__


cdef void add_note(object exception, str note) noexcept:
    try:
        exception.add_note(note)
    except BaseException:
        pass


cdef int raise_from_native(int code) noexcept:
    cdef abi.TVMFFIObjectHandle handle = NULL
    abi.TVMFFIErrorMoveFromRaised(&handle)
    if handle == NULL or code == _ALREADY_SET_CODE or _is_already_set(handle):
        abi.TVMFFIObjectDecRef(handle)
        if PyErr_Occurred() == NULL:
            PyErr_SetString(
                PyExc_RuntimeError,
                b"native function returned nonzero but set no error (neither a native one nor a "
                b"Python exception)",
            )
        return -1
    _set_from_native(handle)
    return -1


cdef int check(int code) except -1:
    if code != 0:
        return raise_from_native(code)
    return 0


@cython.binding(False)
cdef class Error(CObject):
    """A native error as a value.

    Parameters
    ----------
    kind : str
        Name of the error class, such as ``"ValueError"``.
    message : str
        What went wrong.
    backtrace : str
        One line per frame, most recent call first: two spaces and ``File "f", line N, in func``.

    Notes
    -----
    This is not an exception and cannot be raised; `py_error` makes one.
    """

    def __init__(self, kind: str, message: str, backtrace: str):
        cdef bytes kind_text = kind.encode("utf-8", "backslashreplace")
        cdef bytes message_text = message.encode("utf-8", "backslashreplace")
        cdef bytes backtrace_text = backtrace.encode("utf-8", "backslashreplace")
        cdef abi.TVMFFIByteArray kind_view, message_view, backtrace_view
        cdef abi.TVMFFIObjectHandle handle = NULL
        kind_view.data, kind_view.size = kind_text, len(kind_text)
        message_view.data, message_view.size = message_text, len(message_text)
        backtrace_view.data, backtrace_view.size = backtrace_text, len(backtrace_text)
        if abi.TVMFFIErrorCreateWithCauseAndExtraContext(
            &kind_view, &message_view, &backtrace_view, NULL, NULL, &handle
        ) != 0:
            raise MemoryError()
        hold(self, handle)

    def __dealloc__(self):
        # Who else has the native error finds the exception there when no wrapper carries it.
        cdef object carried = _put_down(self)
        if (
            carried is not None and is_of_exception(self.chandle)
            and advance(&(<_ErrorObject*>self.chandle).num_carriers, 0) == 0
            and not has_one_owner(<abi.TVMFFIObject*>self.chandle)
        ):
            Py_XDECREF(_give_exception(self.chandle, carried))

    @property
    def kind(self) -> str:
        """Name of the error class."""
        return _decode(&abi.TVMFFIErrorGetCellPtr(handle_of(self)).kind)

    @property
    def message(self) -> str:
        """What went wrong."""
        return _decode(&abi.TVMFFIErrorGetCellPtr(handle_of(self)).message)

    @property
    def backtrace(self) -> str:
        """Text of the stack, most recent call first."""
        return _backtrace_from(handle_of(self), 0).decode("utf-8", "replace")

    @property
    def extra_context(self):
        """Object that native code attached to the error, or None."""
        return _wrap_shared(abi.TVMFFIErrorGetCellPtr(handle_of(self)).extra_context)

    def update_backtrace(self, backtrace: str) -> None:
        """Replace the backtrace text."""
        cdef bytes text = backtrace.encode("utf-8", "backslashreplace")
        cdef abi.TVMFFIByteArray view
        cdef Guard guard
        view.data, view.size = text, len(text)
        handle_of(self)
        begin_guard(&guard, object_locks(), self.chandle)
        abi.TVMFFIErrorGetCellPtr(self.chandle).update_backtrace(
            self.chandle, &view, abi.kTVMFFIBacktraceUpdateModeReplace)
        end_guard(&guard)

    def py_error(self) -> BaseException:
        """Return the Python exception behind the error, else one of the class for its kind."""
        if self.carried is not None:
            return self.carried
        abi.TVMFFIObjectIncRef(handle_of(self))
        try:
            _set_exception(self.chandle)
            check(_ALREADY_SET_CODE)
        except BaseException as exception:
            return exception

    def __reduce__(self):
        return Error, (self.kind, self.message, self.backtrace)

    def __repr__(self):
        if self.chandle == NULL:
            return "Error(chandle=None)"
        return f"ffi.Error({self.kind!r}, {self.message!r})"


cdef str _decode(const abi.TVMFFIByteArray* text):
    return text.data[: text.size].decode("utf-8", "replace")


cdef object _wrap_shared(abi.TVMFFIObjectHandle handle):
    return None if handle == NULL else wrap_object(_share(handle))


def error_from_exception(error: BaseException) -> Error:
    """Return a native error that carries the exception."""
    return wrap_error(new_native_error(error))


cdef bint _is_text_alone(abi.TVMFFIObject* error) noexcept:
    cdef abi.TVMFFIErrorCell* cell = abi.TVMFFIErrorGetCellPtr(error)
    return cell.cause_chain == NULL and cell.extra_context == NULL


read_objects_of(Error, abi.kTVMFFIError, abi.kTVMFFIError)
keep_belongings_of(Error, _return_exception, _take_exception)
register_class(abi.kTVMFFIError, Error)
add_harmless_type(abi.kTVMFFIError, _is_text_alone)

# SPDX-License-Identifier: Apache-2.0
"""Conversion of errors: native errors to Python exceptions and back.

A Python exception that enters native code is stored in the native error (`_ErrorObject` below).
When the error returns to Python, the same exception object is raised.  Each language adds its
frames: native frames appear in the Python traceback, Python frames in the native backtrace.
"""

import builtins

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


# The exception classes of error kinds, among them all built-in subclasses of Exception; and the
# kinds of exception classes; `register_error` adds to both tables.  Only a few built-in classes
# have a kind of their own, because programs in other languages compare kinds; see `_kind_of`.
ERROR_NAME_TO_TYPE = {
    kind: cls for kind, cls in vars(builtins).items()
    if isinstance(cls, type) and issubclass(cls, Exception) and cls is not Exception}
ERROR_TYPE_TO_NAME = {
    cls: cls.__name__ for cls in (
        RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError, AssertionError,
        MemoryError, OverflowError)}

# Prefixes of error messages that contain native type names; see `_with_python_type_names`.
cdef tuple _ABOUT_TYPES = (
    "Mismatched ", "No matching ", "Cannot convert from type ", "Cannot treat type ",
    "Number out of range ", "Cannot convert to ",
)

# A native function that has set a Python exception sets a native error of this kind, or returns
# this code.
cdef bytes _ALREADY_SET_KIND = b"EnvErrorAlreadySet"
cdef int _ALREADY_SET_CODE = -2

cdef str _ERROR_ATTRIBUTE = "__tvm_ffi_error__"
# C variables that refer to the two tables above, for fast access.
cdef dict _name_to_type = ERROR_NAME_TO_TYPE
cdef dict _type_to_name = ERROR_TYPE_TO_NAME


cdef struct _ErrorObject:
    # A native error made from a Python exception.  The texts of kind and message follow the struct.
    abi.TVMFFIObject header
    abi.TVMFFIErrorCell cell
    PyObject* exception           # owned; NULL while a wrapper owns it or after it was raised
    # Number of wrappers that own `exception`, or owned it when the garbage collector cleared them.
    int64_t num_carriers
    size_t python_backtrace_size  # number of bytes at the start of `backtrace` for Python frames
    char* backtrace               # owned; cell.backtrace refers to it


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
        return  # no memory is available: keep the old backtrace
    memcpy(grown, error.cell.backtrace.data, kept)
    memcpy(grown + kept, text.data, text.size)
    grown[kept + text.size] = 0
    if kept == 0:
        error.python_backtrace_size = 0
    free(error.backtrace)
    error.backtrace = grown
    error.cell.backtrace.data = grown
    error.cell.backtrace.size = kept + text.size


cdef char* _copy_text(abi.TVMFFIByteArray* view, char* target, bytes text) noexcept:
    """Copy a text and a NUL to `target`, set the view, and return the address after the copy."""
    memcpy(target, <const char*>text, len(text) + 1)
    view.data = target
    view.size = len(text)
    return target + len(text) + 1


# Converting an exception calls methods of its class and metaclass, which may raise.  The functions
# below ignore such failures, so that they do not hide the original exception.  They do not use
# `except`, because Cython then creates a traceback, which fails if memory is short.

cdef object _take_or_none(PyObject* owned):
    """Return the object; if NULL, clear the Python exception and return None.  Consumes `owned`."""
    if owned == NULL:
        PyErr_Clear()
        return None
    value = <object>owned
    Py_XDECREF(owned)
    return value


cdef bytes _kind_of(object exception):
    """Return the kind of the nearest registered base class of an exception."""
    cdef object cls, name
    for cls in <object>mro_of(Py_TYPE(<PyObject*>exception)):
        name = _take_or_none(PyObject_GetItem(<PyObject*>_type_to_name, <PyObject*>cls))
        if isinstance(name, str):
            return PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace")
    return b"RuntimeError"


cdef bytes _message_of(object exception):
    cdef object text = _take_or_none(PyObject_Str(<PyObject*>exception))
    if text is None:
        return b"<" + Py_TYPE(<PyObject*>exception).tp_name + b" whose __str__ failed>"
    return PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace")


cdef Error _origin_of(object exception):
    """Return the native error from which an exception was made, or None."""
    cdef object origin = _take_or_none(
        PyObject_GetAttr(<PyObject*>exception, <PyObject*>_ERROR_ATTRIBUTE))
    return origin if isinstance(origin, Error) else None


cdef abi.TVMFFIObjectHandle new_native_error(object exception) except NULL:
    cdef object traceback = without_binding_frames(traceback_of(exception))
    # Use the C function: frozen dataclasses refuse assignment to `__traceback__`.
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
    _copy_text(&error.cell.message, _copy_text(&error.cell.kind, <char*>(error + 1), kind), message)
    error.backtrace = backtrace_copy
    _copy_text(&error.cell.backtrace, backtrace_copy, backtrace)
    error.cell.update_backtrace = _update_backtrace
    error.cell.cause_chain = NULL
    error.cell.extra_context = NULL
    error.num_carriers = 0
    # Copy the cause and the extra context from the earlier native error of which the exception was
    # made.
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


# `new_native_error` without Cython's error check: the caller compares the result with NULL, because
# a `try` statement would allocate memory.
ctypedef abi.TVMFFIObjectHandle (*_MakeError)(PyObject* exception) noexcept
cdef _MakeError _new_error_noexcept = <_MakeError>new_native_error


cdef abi.TVMFFIObjectHandle _error_of_current_exception() noexcept:
    """Return a new native error for the exception that is set.

    On failure, return NULL; another Python exception may then be set.
    """
    cdef abi.TVMFFIObjectHandle error = NULL
    cdef PyObject* cls = NULL
    cdef PyObject* exception = NULL
    cdef PyObject* traceback = NULL
    PyErr_Fetch(&cls, &exception, &traceback)
    # Run signal handlers now: their exceptions would be ignored during the conversion.  The
    # exception of a handler replaces the current one.
    while PyErr_CheckSignals() != 0:
        Py_XDECREF(traceback)
        Py_XDECREF(exception)
        Py_XDECREF(cls)
        PyErr_Fetch(&cls, &exception, &traceback)
    PyErr_NormalizeException(&cls, &exception, &traceback)
    if exception != NULL:
        if traceback != NULL and set_traceback(exception, traceback) != 0:
            PyErr_Clear()
        error = _new_error_noexcept(exception)
    Py_XDECREF(traceback)
    Py_XDECREF(exception)
    Py_XDECREF(cls)
    return error


cdef int raise_to_native() noexcept:
    cdef abi.TVMFFIObjectHandle error = NULL
    cdef int attempt
    # A signal handler may raise an exception during the conversion, several times in a row.
    for attempt in range(8):
        error = _error_of_current_exception()
        if error != NULL or PyErr_Occurred() == NULL or PyErr_ExceptionMatches(PyExc_MemoryError):
            break
    if error != NULL:
        abi.TVMFFIErrorSetRaised(error)
        abi.TVMFFIObjectDecRef(error)
    else:
        PyErr_Clear()
        abi.TVMFFIErrorSetRaisedFromCStr(b"MemoryError", b"out of memory while raising an error")
    return -1


# ---- native errors to Python exceptions ----------------------------------------------------

cdef object _new_exception(abi.TVMFFIErrorCell* cell):
    """Return an exception of the class that is registered for the error's kind."""
    cdef str kind = cell.kind.data[: cell.kind.size].decode("utf-8", "replace")
    cdef str message = cell.message.data[: cell.message.size].decode("utf-8", "replace")
    cls = _name_to_type.get(kind)
    if cls is None:
        return RuntimeError(message)
    if cls is TypeError or cls is OverflowError:
        message = _with_python_type_names(message)
    try:
        exception = cls(message)
    except MemoryError:
        raise
    except Exception:  # the class needs more arguments than a message
        return RuntimeError(f"{kind}: {message}")
    return exception if isinstance(exception, BaseException) else RuntimeError(message)


cdef str _with_python_type_names(str message):
    """Return the message, with Python type names if it has a prefix of `_ABOUT_TYPES`."""
    if not message.startswith(_ABOUT_TYPES):
        return message
    try:
        from tvm_ffi._binding.object.type_names import with_python_type_names

        return with_python_type_names(message)
    except Exception:  # keep the native names rather than lose the error
        return message


cdef bint is_python_error(abi.TVMFFIObjectHandle handle) noexcept:
    return handle != NULL and (<abi.TVMFFIObject*>handle).deleter == _delete_error


cdef PyObject* exception_in(abi.TVMFFIObjectHandle handle) noexcept:
    return (<_ErrorObject*>handle).exception


cdef void _attach_exception(PyObject* wrapper) noexcept:
    """Move the exception of the wrapper's native error into the wrapper."""
    cdef Error error = <Error>wrapper
    cdef PyObject* exception = NULL
    if is_python_error(error.chandle):
        # Atomic: two threads may wrap the same native error.
        exception = exchange_pointer(&(<_ErrorObject*>error.chandle).exception, NULL)
    if exception != NULL:
        advance(&(<_ErrorObject*>error.chandle).num_carriers, 1)
        error.exception = <object>exception
        Py_XDECREF(exception)


cdef object _detach_exception(Error error):
    """Take the exception out of a wrapper and return it; return None if the wrapper has none."""
    cdef object exception = error.exception
    if exception is not None:
        error.exception = None
        if is_python_error(error.chandle):
            advance(&(<_ErrorObject*>error.chandle).num_carriers, -1)
    return exception


cdef PyObject* _store_exception(abi.TVMFFIObjectHandle handle, object exception) noexcept:
    """Store the exception in a native error.

    Returns a reference that the caller must release, or NULL: to the exception that the error held
    before, or to `exception` itself if the error was not made from a Python exception.
    """
    Py_INCREF(exception)
    if not is_python_error(handle):  # errors of native code have no `exception` field
        return <PyObject*>exception
    return exchange_pointer(&(<_ErrorObject*>handle).exception, <PyObject*>exception)


cdef PyObject* _restore_exception(PyObject* wrapper) noexcept:
    """Move the wrapper's exception back into the native error before the handle changes."""
    cdef Error error = <Error>wrapper
    cdef object exception = _detach_exception(error)
    return NULL if exception is None else _store_exception(error.chandle, exception)


cdef Error wrap_error(abi.TVMFFIObjectHandle owned):
    cdef PyObject* live = live_wrapper(&_wrappers, owned)
    cdef Error error
    if is_wrapper_of(live, <PyTypeObject*>Error):
        error = <Error>reuse_wrapper(live, owned)
        if error.exception is None:
            _attach_exception(<PyObject*>error)
        return error
    try:
        error = Error.__new__(Error)
    except BaseException:
        abi.TVMFFIObjectDecRef(owned)
        raise
    error.chandle = owned
    represent_object(&_wrappers, error)
    _attach_exception(<PyObject*>error)
    return error


cdef abi.TVMFFIObjectHandle native_error_of(Error error) except NULL:
    cdef object exception = error.exception
    if exception is not None:
        Py_XDECREF(_store_exception(handle_of(error), exception))
    return handle_of(error)  # read the handle again: releasing an exception may run any code


cdef object _take_cause(abi.TVMFFIObjectHandle handle):
    """Remove and return the exception of the first error in a cause chain that has one, or None."""
    while handle != NULL and (<abi.TVMFFIObject*>handle).type_index == abi.kTVMFFIError:
        if is_python_error(handle):
            # The caller makes the exception a `__cause__`, which the garbage collector can see.
            return _take_or_none(exchange_pointer(&(<_ErrorObject*>handle).exception, NULL))
        handle = abi.TVMFFIErrorGetCellPtr(handle).cause_chain
    return None


cdef bint _is_interruption(object exception) noexcept:
    """Return True for an exception that does not derive from Exception, such as SystemExit."""
    return exception is not None and not is_subtype(
        Py_TYPE(<PyObject*>exception), <PyTypeObject*>PyExc_Exception)


cdef bytes _native_backtrace(abi.TVMFFIObjectHandle handle, bint is_original):
    """Return the part of the backtrace text that is not in the exception's traceback."""
    return _backtrace_from(
        handle, (<_ErrorObject*>handle).python_backtrace_size if is_original else 0)


cdef bytes _backtrace_from(abi.TVMFFIObjectHandle handle, size_t start):
    """Return the backtrace text from offset `start`.  Locks the error during the copy."""
    cdef const abi.TVMFFIByteArray* text = &abi.TVMFFIErrorGetCellPtr(handle).backtrace
    cdef Guard guard
    begin_guard(&guard, object_locks(), handle)
    try:
        start = min(start, text.size)
        return PyBytes_FromStringAndSize(text.data + start, <Py_ssize_t>(text.size - start))
    finally:
        end_guard(&guard)


cdef int _set_exception(abi.TVMFFIObjectHandle handle) except -2:
    """Set the Python exception for a native error.  Consumes the handle."""
    cdef _ErrorObject* native = <_ErrorObject*>handle
    cdef bint is_original = is_python_error(handle) and native.exception != NULL
    cdef Error error = wrap_error(handle)  # `error` owns the handle from here on
    # Detach the exception from `error`: it will refer to `error`, which would be a cycle.
    cdef object exception = _detach_exception(error)
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
    # Do not use `handle` below: any code can get `error` from the exception and empty `error`.
    if PyObject_SetAttr(
        <PyObject*>exception, <PyObject*>_ERROR_ATTRIBUTE, <PyObject*>error
    ) != 0:
        PyErr_Clear()  # a class with __slots__ may refuse the attribute
    frames = frames_of_backtrace(backtrace)
    set_exception(exception)
    for frame in frames:  # the most recent call is first, and `add_frame` prepends
        add_frame(<PyObject*>frame)
    return 0


# `_set_exception` without Cython's error check.  If it fails, another Python exception is set, and
# the caller reports that one.
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
        if note not in getattr(exception, "__notes__", ()):  # one object may be raised repeatedly
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
    """A native error as a Python value, which is not an exception.

    Parameters
    ----------
    kind : str
        Name of the error class, such as ``"ValueError"``.
    message : str
        Error message.
    backtrace : str
        One line per frame, most recent call first: two spaces and ``File "f", line N, in func``.

    Notes
    -----
    An Error is not an exception and cannot be raised; `py_error` returns an exception.
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
        replace_handle(self, handle)

    def __dealloc__(self):
        # If the native error has other owners, it outlives this wrapper.  Then move the exception
        # back into the native error, unless another wrapper owns the exception.
        cdef object exception
        leave_table(&_wrappers, self)  # first, because releasing an exception may run any code
        exception = _detach_exception(self)
        if (
            exception is not None and is_python_error(self.chandle)
            and advance(&(<_ErrorObject*>self.chandle).num_carriers, 0) == 0
            and not has_one_owner(<abi.TVMFFIObject*>self.chandle)
        ):
            Py_XDECREF(_store_exception(self.chandle, exception))

    @property
    def kind(self) -> str:
        """Name of the error class, such as ``ValueError``."""
        return _decode(&abi.TVMFFIErrorGetCellPtr(handle_of(self)).kind)

    @property
    def message(self) -> str:
        """Error message."""
        return _decode(&abi.TVMFFIErrorGetCellPtr(handle_of(self)).message)

    @property
    def backtrace(self) -> str:
        """Backtrace text, most recent call first."""
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
        """Return the original exception, or a new one of the class registered for the kind."""
        if self.exception is not None:
            return self.exception
        abi.TVMFFIObjectIncRef(handle_of(self))
        try:
            _set_exception(self.chandle)
            check(_ALREADY_SET_CODE)
        except BaseException as exception:
            return exception

    def __reduce__(self):
        if self.chandle == NULL:
            return CObject.__reduce__(self)
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
    """Return a new Error, which owns a reference to the exception."""
    return wrap_error(new_native_error(error))


cdef bint _has_no_references(abi.TVMFFIObject* error) noexcept:
    cdef abi.TVMFFIErrorCell* cell = abi.TVMFFIErrorGetCellPtr(error)
    return cell.cause_chain == NULL and cell.extra_context == NULL


declare_readable_types(Error, abi.kTVMFFIError, abi.kTVMFFIError)
declare_handle_state(Error, _restore_exception, _attach_exception)
register_class(abi.kTVMFFIError, Error)
add_nonblocking_type(abi.kTVMFFIError, _has_no_references)

# SPDX-License-Identifier: Apache-2.0
"""Wrappers of native objects: their classes, changes of their handles, and their creation."""

from abc import ABCMeta

cimport cython
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject, Py_XDECREF
from cpython.type cimport PyType_IsSubtype
from cpython.weakref cimport PyWeakref_NewRef
from libc.stdint cimport int32_t, int64_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport PySequence_Fast_ITEMS, Py_TYPE
from tvm_ffi._binding.interpreter cimport add_to_count

cdef extern from *:
    """
    #define tvm_ffi_link(owner) (owner)->link
    #define tvm_ffi_clear_link(owner) (owner)->link = NULL
    #define tvm_ffi_mro(cls) (cls)->tp_mro
    """
    PyObject* link_of "tvm_ffi_link"(LinkedObject owner) noexcept
    void clear_link "tvm_ffi_clear_link"(LinkedObject owner) noexcept
    PyObject* mro_of "tvm_ffi_mro"(PyTypeObject* cls) noexcept

# Number of live CObject instances, including subclasses.
cdef Py_ssize_t _num_live_objects = 0

# The locks from which `begin_guard` selects.  The list never changes, so its items do not move.
cdef list _locks = [object() for _ in range(NUM_LOCKS)]

# Values of `set_print_options`, in a dict because threads may read a dict while another writes it.
cdef dict _print_options = {
    # Number of elements that `repr` shows in full; number at each end if there are more.
    "limits": (1000, 3),
    "layout": (6, 75),    # digits of each tensor element; characters per line
}


@cython.freelist(32)
@cython.binding(False)
cdef class CObject:
    """Wrapper of a native object: owns one reference to it.

    Notes
    -----
    Two wrappers are equal if they hold the same object.  Safe to use from any thread; the
    reference count is atomic.
    """

    def __cinit__(self):
        add_to_count(&_num_live_objects, 1)

    def __dealloc__(self):
        add_to_count(&_num_live_objects, -1)
        leave_table(&_wrappers, self)
        if self.chandle != NULL:
            release_object(self.chandle)

    def __chandle__(self) -> int:
        """Return the address of the native object, or 0 if the wrapper is empty."""
        return <uintptr_t>self.chandle

    def __ctypes_handle__(self):
        """Return the address of the native object as a ``ctypes.c_void_p``."""
        import ctypes

        return ctypes.c_void_p(<uintptr_t>self.chandle)

    def __move_handle_from__(self, CObject other not None):
        """Move the reference of `other` into this wrapper; `other` is empty afterwards.

        Raises
        ------
        TypeError
            If the class of this wrapper is registered for a type that the object does not have.
        """
        _check_registered_type(self, other)
        if other is not self:
            move_reference(self, other)

    def __init_handle_by_constructor__(self, fconstructor, *args):
        """Move the object that ``fconstructor(*args)`` returns into this wrapper."""
        result = fconstructor(*args)
        if not isinstance(result, CObject):
            raise TypeError(
                f"a constructor function must return a native object, got {type(result).__name__}")
        self.__move_handle_from__(result)

    def same_as(self, other) -> bool:
        """Return True if `other` holds the same native object."""
        return isinstance(other, CObject) and (<CObject>other).chandle == self.chandle

    def is_(self, other) -> bool:
        """Return True if `other` holds the same native object."""
        return self.same_as(other)

    @property
    def id_(self) -> int:
        """Address of the native object, or 0 if the wrapper is empty."""
        return <uintptr_t>self.chandle

    def __eq__(self, other):
        if not isinstance(other, CObject):
            return NotImplemented
        return (<CObject>other).chandle == self.chandle

    def __ne__(self, other):
        # Call __eq__ of the object's class, so that a subclass only has to override __eq__.
        equal = type(self).__eq__(self, other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return hash(<uintptr_t>self.chandle)

    def __repr__(self):
        if self.chandle == NULL:
            return f"{type(self).__name__}(chandle=None)"
        try:
            return str(hooks.object_text(self, *_print_options["limits"]))
        except Exception:  # a failing printer must not make `repr` fail
            return f"{type(self).__name__}({<uintptr_t>self.chandle:#x})"

    def __reduce__(self):
        return empty_object, (type(self),), self.__getstate__()

    def __getstate__(self):
        """Return ``{"handle": text}``; the text is the object as JSON, None for an empty wrapper.

        If the instance has attributes in a ``__dict__``, the key ``"__dict__"`` contains them.
        """
        state = {"handle": None if self.chandle == NULL else str(hooks.graph_text(self, None))}
        attributes = getattr(self, "__dict__", None)
        if attributes:
            state["__dict__"] = attributes
        return state

    def __setstate__(self, state):
        """Create the object that `state` describes, and move it into this wrapper."""
        text = state["handle"]
        if text is None:
            self.__move_handle_from__(CObject.__new__(CObject))
        else:
            self.__init_handle_by_constructor__(hooks.object_of_graph, text)
        if "__dict__" in state:
            vars(self).update(state["__dict__"])


cdef int _check_registered_type(CObject wrapper, CObject other) except -1:
    """Raise TypeError if the wrapper's class is registered for another type than the object's."""
    if other.chandle == NULL:
        return 0
    cdef int32_t index = (<abi.TVMFFIObject*>other.chandle).type_index
    cdef object cls = _class_by_index[index] if index < len(_class_by_index) else None
    if cls is None:
        cls = _value_classes.get(index)
    # Use the C function: a metaclass can override `issubclass`.
    if cls is not None and PyType_IsSubtype(type(wrapper), <type>cls):
        return 0
    cdef int32_t expected = _registered_index(type(wrapper))
    if expected >= 0 and not is_derived(index, expected):
        raise _type_mismatch_error(type(wrapper), expected, expected, index)
    return 0


cdef object _type_mismatch_error(object cls, int32_t expected, int32_t other, int32_t index):
    cdef str keys = f"`{type_key_of(expected)}`"
    if other != expected:
        keys += f" or `{type_key_of(other)}`"
    return TypeError(
        f"{cls.__name__}: expected an object of type {keys}, got type `{type_key_of(index)}`")


cdef int32_t _registered_index(cls) except -2:
    """Return the type index that a class, or its nearest base, is registered for; -1 if none is.

    The index is not read from ``__tvm_ffi_type_info__``, because the first access to that attribute
    of a class of this package registers the class again.
    """
    cdef int32_t index
    for base in <tuple><object>mro_of(<PyTypeObject*>cls):
        # Search from the lowest index: types that inherit the class have higher indices.
        for index in range(<int32_t>len(_class_by_index)):
            if _class_by_index[index] is base:
                return index
    return -1


@cython.no_gc_clear  # types/reference_link.pxi sets tp_clear
@cython.binding(False)
cdef class LinkedObject(CObject):
    """Base that `_ObjectMeta` adds to classes with fields that may hold Python values."""


cdef PyObject* _detach_link(PyObject* wrapper) noexcept:
    cdef PyObject* link = link_of(<LinkedObject>wrapper)
    clear_link(<LinkedObject>wrapper)
    return link


# Use CObject's tp_new, so that `Object.__new__(cls)` works; it leaves the link NULL.
(<PyTypeObject*>LinkedObject).tp_new = (<PyTypeObject*>CObject).tp_new


# A field may hold a Python value if its annotation contains one of these names.  A false match only
# gives the class the base LinkedObject without need.
cdef tuple _HOLDING_TYPE_NAMES = ("Any", "Callable", "Function", "Object", "object")


cdef bint _may_hold_python_values(dict namespace) except -1:
    """Return True if annotations in a class body name types that may hold Python values.

    Python 3.14 evaluates annotations lazily.  There, the result is True for any annotation.
    """
    annotations = namespace.get("__annotations__")
    if annotations is None:
        return "__annotate_func__" in namespace or "__annotate__" in namespace
    for name, annotation in annotations.items():
        text = annotation if isinstance(annotation, str) else repr(annotation)
        if not (name.startswith("__") or "ClassVar" in text):
            if any(word in text for word in _HOLDING_TYPE_NAMES):
                return True
    return False


def _has_plain_layout(base) -> bool:
    return not issubclass(base, CObject) or base.__basicsize__ == CObject.__basicsize__


class _ObjectMeta(ABCMeta):
    """Metaclass of Object: adds empty ``__slots__``, so that unknown attributes are refused.

    A class with fields that may hold Python values gets the base LinkedObject, which reports the
    values to the garbage collector.
    """

    def __new__(mcls, name, bases, namespace, **kwargs):
        namespace.setdefault("__slots__", ())
        if _may_hold_python_values(namespace) and all(map(_has_plain_layout, bases)):
            bases = (*bases, LinkedObject)
        return super().__new__(mcls, name, bases, namespace, **kwargs)


class Object(CObject, metaclass=_ObjectMeta):
    """Base of the classes of native object types.

    Notes
    -----
    Setting an attribute that is not a field of the native type raises AttributeError, which reveals
    misspelt field names.  A class with ``__slots__ = ("__dict__",)`` accepts any attribute.
    """

    def _move(self):
        """Return an argument that passes this object to a function by move."""
        return ObjectRValueRef(self)


cdef class ObjectRValueRef:
    """An argument passed by move: the callee may take the object, which empties the wrapper.

    Parameters
    ----------
    obj : Object
        The object to pass.
    """

    def __cinit__(self, CObject obj not None):
        # Never changes, because a call in progress may still move the object.
        self.obj = _movable(obj)


@cython.binding(False)
cdef class OpaquePyObject(CObject):
    """A Python object that native code stores and passes without converting it."""

    def pyobject(self):
        """Return the wrapped Python object."""
        cdef void* value = abi.TVMFFIOpaqueObjectGetCellPtr(handle_of(self)).handle
        return <object>value

    def __reduce__(self):
        return opaque_object, (self.pyobject(),)


# ---- changes of a wrapper's handle, see docs/design/wrappers.md ----------------------------------

cdef class HandleOwner:
    """Owner of one reference to a native object, released when this object dies."""

    def __dealloc__(self):
        if self.handle != NULL:
            release_object(self.handle)


# Objects that calls may still use although their wrapper was emptied, by the wrapper's address.
# Each value is a list: a weak reference to the wrapper, whose callback removes the dict entry, then
# the HandleOwners of the objects.
cdef dict _kept = {}


cdef inline bint _is_function(abi.TVMFFIObjectHandle handle) noexcept:
    return (<abi.TVMFFIObject*>handle).type_index == abi.kTVMFFIFunction


cdef bint _is_in_use(CObject wrapper) noexcept:
    """Return True if a call may have borrowed the handle.

    Always True for functions: a call of a function does not add its wrapper to a borrowing list.
    """
    return wrapper.chandle != NULL and (
        _is_function(wrapper.chandle) or is_borrowed_from(<PyObject*>wrapper))


cdef void _drop_kept(CObject wrapper) noexcept:
    """Release a wrapper's objects in `_kept`, unless one is a function or a call borrows them."""
    cdef object address = <uintptr_t><PyObject*>wrapper
    cdef list entry = _kept.get(address)
    if entry is None or is_borrowed_from(<PyObject*>wrapper):
        return
    for owner in entry[1:]:
        if _is_function((<HandleOwner>owner).handle):
            return
    _kept.pop(address, None)


cdef void keep_for_borrowers(CObject wrapper) noexcept:
    cdef abi.TVMFFIObjectHandle kept = NULL
    if len(_kept) != 0:
        _drop_kept(wrapper)
    # Repeat if code that ran in `_keep`, such as a garbage collection, has changed the handle.
    while wrapper.chandle != kept and _is_in_use(wrapper):
        kept = wrapper.chandle
        _keep(wrapper, kept)


cdef void _keep(CObject wrapper, abi.TVMFFIObjectHandle handle) noexcept:
    """Keep an object alive until the wrapper is destroyed.  If memory is short, leak the object."""
    cdef HandleOwner owner
    cdef object address
    cdef list entry
    abi.TVMFFIObjectIncRef(handle)
    try:
        address = <uintptr_t><PyObject*>wrapper
        owner = HandleOwner.__new__(HandleOwner)
        entry = _kept.get(address)
        if entry is None:
            entry = [PyWeakref_NewRef(wrapper, lambda _: _kept.pop(address, None))]
            entry = _kept.setdefault(address, entry)  # a garbage collection may have added an entry
        if len(entry) > 1 and (<HandleOwner>entry[-1]).handle == handle:
            # The last HandleOwner in the list already owns the object.
            abi.TVMFFIObjectDecRef(handle)
            return
        entry.append(owner)
        owner.handle = handle
    except MemoryError:
        pass


cdef int _raise_type_mismatch(
    PyTypeObject* cls, const CompiledClass* mismatch, int32_t index
) except -1:
    raise _type_mismatch_error(<object>cls, mismatch.type_index, mismatch.other_type_index, index)


cdef inline bint _is_registered_for(PyTypeObject* cls, int32_t index) noexcept:
    """Return True if a class with the layout of CObject is registered for exactly this type.

    In this common case `register_class` has checked already that the class can read the type.
    """
    return (
        cls.tp_basicsize == (<PyTypeObject*>CObject).tp_basicsize
        and index < len(_class_by_index)
        and _class_by_index[index] is <object>cls)


cdef inline void _represent_unless_known(CObject wrapper) noexcept:
    if live_wrapper(&_wrappers, wrapper.chandle) == NULL:
        represent_object(&_wrappers, wrapper)


cdef int replace_handle(CObject wrapper, abi.TVMFFIObjectHandle owned) except -1:
    cdef PyTypeObject* cls
    cdef const CompiledClass* base
    cdef const CompiledClass* mismatch
    cdef abi.TVMFFIObjectHandle previous
    cdef PyObject* detached = NULL
    cdef int32_t index
    keep_for_borrowers(wrapper)  # may run any code, so read the class and handle afterwards
    cls = Py_TYPE(<PyObject*>wrapper)
    if owned != NULL and _is_registered_for(cls, (<abi.TVMFFIObject*>owned).type_index):
        previous, wrapper.chandle = wrapper.chandle, owned
        _represent_unless_known(wrapper)
        if previous != NULL:
            release_object(previous)
        return 0
    base = compiled_base(cls)
    if owned != NULL:
        index = (<abi.TVMFFIObject*>owned).type_index
        mismatch = mismatched_base(cls, base, index)
        if mismatch != NULL:
            try:
                return _raise_type_mismatch(cls, mismatch, index)
            finally:
                release_object(owned)
    if base != NULL and base.detach != NULL:
        detached = base.detach(<PyObject*>wrapper)
    previous, wrapper.chandle = wrapper.chandle, owned
    if owned != NULL:
        _represent_unless_known(wrapper)
    if base != NULL and base.attach != NULL and owned != NULL:
        base.attach(<PyObject*>wrapper)
    if previous != NULL:
        release_object(previous)
    Py_XDECREF(detached)
    return 0


cdef inline PyObject* _detach_state(CObject wrapper) noexcept:
    cdef const CompiledClass* base = compiled_base(Py_TYPE(<PyObject*>wrapper))
    return NULL if base == NULL or base.detach == NULL else base.detach(<PyObject*>wrapper)


cdef int move_reference(CObject wrapper, CObject source) except -1:
    cdef PyTypeObject* cls
    cdef abi.TVMFFIObjectHandle taken
    cdef const CompiledClass* mismatch
    cdef PyObject* detached
    cdef int32_t index
    if source.sharing == Sharing.UNSHARED:
        keep_for_borrowers(source)  # may change the handle of `source`
    if source.chandle != NULL:
        cls = Py_TYPE(<PyObject*>wrapper)
        index = (<abi.TVMFFIObject*>source.chandle).type_index
        mismatch = mismatched_base(cls, compiled_base(cls), index)
        if mismatch != NULL:
            return _raise_type_mismatch(cls, mismatch, index)
    if source.sharing != Sharing.UNSHARED:
        taken = source.chandle
        if taken != NULL:
            abi.TVMFFIObjectIncRef(taken)
        return replace_handle(wrapper, taken)
    detached = _detach_state(source)
    taken, source.chandle = source.chandle, NULL
    try:
        return replace_handle(wrapper, taken)
    finally:
        Py_XDECREF(detached)


cdef void empty_garbage(CObject wrapper) noexcept:
    cdef abi.TVMFFIObjectHandle handle
    cdef PyObject* detached = _detach_state(wrapper)
    handle, wrapper.chandle = wrapper.chandle, NULL
    if handle != NULL:
        release_object(handle)
    Py_XDECREF(detached)


def empty_object(cls) -> CObject:
    """Return an empty wrapper of a class; unpickling then moves the object into it."""
    return cls.__new__(cls)


cdef abi.TVMFFIObjectHandle handle_of(CObject obj) except NULL:
    if obj is None:  # Cython accepts None for parameters of an extension type
        raise TypeError("expected a native object (CObject), got None")
    if obj.chandle == NULL:
        raise ValueError(
            f"{type(obj).__name__} is empty: its native object was never set, or was moved to "
            "another owner")
    return obj.chandle


cdef int new_opaque(object value, abi.TVMFFIObjectHandle* out) except -1:
    own_python_object(value)
    if abi.TVMFFIObjectCreateOpaque(
        <void*>value, abi.kTVMFFIOpaquePyObject, release_python_object, out
    ) != 0:
        release_python_object(<void*>value)
        raise MemoryError()
    return 0


def print_limits() -> tuple:
    """Return the values ``(threshold, edge_items)`` of `set_print_options`.

    ``repr`` shows up to `threshold` elements in full, otherwise `edge_items` elements at each end.
    """
    return _print_options["limits"]


def text_layout() -> tuple:
    """Return the number of digits of printed tensor elements and the characters per line."""
    return _print_options["layout"]


def set_print_options(
    int64_t threshold, int64_t edge_items, int precision, int line_width
) -> None:
    """Set the values that `print_limits` and `text_layout` return, for all threads."""
    _print_options["limits"] = (threshold, edge_items)
    _print_options["layout"] = (precision, line_width)


def object_repr(CObject obj not None) -> str:
    """Return the native ``repr`` of an object, even if its class overrides ``__repr__``."""
    return CObject.__repr__(obj)


def live_object_count() -> int:
    """Return the number of live wrappers of native objects in this process."""
    return _num_live_objects


def opaque_object(pyobject) -> OpaquePyObject:
    """Return a native object that owns a reference to any Python value."""
    cdef abi.TVMFFIObjectHandle handle = NULL
    new_opaque(pyobject, &handle)
    return wrap_object(handle)


cdef PyObject** object_locks() noexcept:
    return PySequence_Fast_ITEMS(_locks)


cdef str type_key_of(int index):
    cdef const abi.TVMFFITypeInfo* info = abi.TVMFFIGetTypeInfo(index)
    return info.type_key.data[: info.type_key.size].decode("utf-8")


cdef object _unpack_value(object cls, abi.TVMFFIObjectHandle owned):
    cdef CObject obj = Object.__new__(Object)
    abi.TVMFFIObjectIncRef(owned)  # on failure, the caller releases `owned`
    obj.chandle = owned
    value = cls.__from_tvm_ffi_object__(cls, obj)
    abi.TVMFFIObjectDecRef(owned)
    return value


cdef tuple _NO_ARGS = ()


cdef inline object _wrap(abi.TVMFFIObjectHandle owned, bint may_reuse):
    cdef int32_t index = (<abi.TVMFFIObject*>owned).type_index
    cdef object cls = _class_by_index[index] if index < len(_class_by_index) else None
    cdef bint makes_value = False
    cdef PyObject* live
    cdef CObject obj
    try:
        if cls is None:
            cls = None if index in _value_classes else _class_of(index)
            if cls is None:
                makes_value, cls = True, _value_classes[index]
        live = live_wrapper(&_wrappers, owned)
        if may_reuse and is_wrapper_of(live, <PyTypeObject*>cls):
            return reuse_wrapper(live, owned)
        if makes_value:
            return _unpack_value(cls, owned)
        obj = <CObject?>(<PyTypeObject*>cls).tp_new(<type>cls, <PyObject*>_NO_ARGS, NULL)
    except BaseException:
        abi.TVMFFIObjectDecRef(owned)
        raise
    # A third-party `__new__` may return an existing wrapper or an instance of another class.  For
    # these, `replace_handle` checks the object's type.
    if obj.chandle != NULL or Py_TYPE(<PyObject*>obj) != <PyTypeObject*>cls:
        replace_handle(obj, owned)
    else:
        obj.chandle = owned
        if live == NULL or may_reuse:
            represent_object(&_wrappers, obj)
    return obj


cdef object wrap_object(abi.TVMFFIObjectHandle owned):
    return _wrap(owned, True)


cdef object wrap_again(abi.TVMFFIObjectHandle owned):
    return _wrap(owned, False)


declare_handle_state(LinkedObject, _detach_link, NULL)
declare_readable_types(OpaquePyObject, abi.kTVMFFIOpaquePyObject, abi.kTVMFFIOpaquePyObject)
register_class(abi.kTVMFFIObject, Object)
register_class(abi.kTVMFFIOpaquePyObject, OpaquePyObject)

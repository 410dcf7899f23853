# SPDX-License-Identifier: Apache-2.0
"""Handles of native objects as Python objects, and which class stands for which type."""

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
    #define tvm_ffi_forget_link(owner) (owner)->link = NULL
    #define tvm_ffi_mro(cls) (cls)->tp_mro
    """
    PyObject* link_of "tvm_ffi_link"(LinkedObject owner) noexcept
    void forget_link "tvm_ffi_forget_link"(LinkedObject owner) noexcept
    PyObject* mro_of "tvm_ffi_mro"(PyTypeObject* cls) noexcept

# Handle owners that are alive, whatever their class.
cdef Py_ssize_t _num_live_objects = 0

# The class of each type index; None where it is not decided yet.  Read without a lock; changed, as
# are the two tables below, in a critical section, which the GIL is where it exists.  Not one of the
# list: each change of an item would enter it again, and end it so.
cdef object _class_lock = object()
cdef list _class_by_index = []
# Indices whose class is that of an ancestor.
cdef set _inheriting = set()
# Classes of indices whose objects become Python values: `cls.__from_tvm_ffi_object__` makes them.
cdef dict _value_classes = {}
# Names of modules that register the class of an index when they are loaded, which is when the first
# object arrives; those that have been are taken out.
cdef dict _late_modules = {}

# See object.pxd; never changed, so that its items stay where they are.
cdef list _locks = [object() for _ in range(NUM_LOCKS)]

# In a dict, which threads may read while another one writes.
cdef dict _print_options = {
    "limits": (1000, 3),  # elements at most; those at each end of what has more
    "layout": (6, 75),    # digits of the elements of tensors; characters of a line
}


@cython.freelist(32)
@cython.binding(False)
cdef class CObject:
    """Owner of one reference to a native object.

    Notes
    -----
    Two wrappers are equal when they hold the same object.  Safe to use from any thread; the
    reference count is atomic.
    """

    def __cinit__(self):
        add_to_count(&_num_live_objects, 1)

    def __dealloc__(self):
        add_to_count(&_num_live_objects, -1)
        if self.chandle != NULL:
            release_object(self.chandle)

    def __chandle__(self) -> int:
        """Return the address of the native object; 0 when there is none."""
        return <uintptr_t>self.chandle

    def __ctypes_handle__(self):
        """Return the address of the native object as a ``ctypes.c_void_p``."""
        import ctypes

        return ctypes.c_void_p(<uintptr_t>self.chandle)

    def __move_handle_from__(self, CObject other not None):
        """Take the reference of `other`, which is empty afterwards.

        Raises
        ------
        TypeError
            If the class of this wrapper stands for a native type that the object is none of.
        """
        _check_stands_for(self, other)
        if other is not self:
            move_reference(self, other)

    def __init_handle_by_constructor__(self, fconstructor, *args):
        """Make this wrapper hold the object that ``fconstructor(*args)`` returns."""
        result = fconstructor(*args)
        if not isinstance(result, CObject):
            raise TypeError(f"constructor must return an object, got {type(result).__name__}")
        self.__move_handle_from__(result)

    def same_as(self, other) -> bool:
        """Whether `other` holds the same native object."""
        return isinstance(other, CObject) and (<CObject>other).chandle == self.chandle

    def is_(self, other) -> bool:
        """Whether `other` holds the same native object."""
        return self.same_as(other)

    @property
    def id_(self) -> int:
        """Address of the native object; 0 when there is none."""
        return <uintptr_t>self.chandle

    def __eq__(self, other):
        if not isinstance(other, CObject):
            return NotImplemented
        return (<CObject>other).chandle == self.chandle

    def __ne__(self, other):
        # By way of the method, so that a class with its own __eq__ needs no second one.
        equal = type(self).__eq__(self, other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return hash(<uintptr_t>self.chandle)

    def __repr__(self):
        if self.chandle == NULL:
            return f"{type(self).__name__}(chandle=None)"
        try:
            return str(hooks.object_text(self, *_print_options["limits"]))
        except Exception:  # a broken printer of one class must not hide the rest
            return f"{type(self).__name__}({<uintptr_t>self.chandle:#x})"

    def __reduce__(self):
        return empty_object, (type(self),), self.__getstate__()

    def __getstate__(self):
        """Return ``{"handle": text}`` with the object as JSON; None as text when it is empty.

        A class whose instances have a ``__dict__`` adds it under that name.
        """
        state = {"handle": None if self.chandle == NULL else str(hooks.graph_text(self, None))}
        attributes = getattr(self, "__dict__", None)
        if attributes:
            state["__dict__"] = attributes
        return state

    def __setstate__(self, state):
        """Make this wrapper hold the object that `state` describes."""
        text = state["handle"]
        if text is None:
            self.__move_handle_from__(CObject.__new__(CObject))
        else:
            self.__init_handle_by_constructor__(hooks.object_of_graph, text)
        if "__dict__" in state:
            vars(self).update(state["__dict__"])


cdef int _check_stands_for(CObject wrapper, CObject other) except -1:
    """Refuse an object whose memory is not what the wrapper's class takes it for."""
    if other.chandle == NULL:
        return 0
    cdef int32_t index = (<abi.TVMFFIObject*>other.chandle).type_index
    cdef object cls = _class_by_index[index] if index < len(_class_by_index) else None
    if cls is None:
        cls = _value_classes.get(index)
    # Not `issubclass`, which asks the metaclass.
    if cls is not None and PyType_IsSubtype(type(wrapper), <type>cls):
        return 0
    cdef int32_t expected = _index_that_stands_for(type(wrapper))
    if expected >= 0 and not is_derived(index, expected):
        raise _misfit_error(type(wrapper), expected, expected, index)
    return 0


cdef object _misfit_error(object cls, int32_t expected, int32_t other, int32_t index):
    cdef str keys = f"`{type_key_of(expected)}`"
    if other != expected:
        keys += f" or `{type_key_of(other)}`"
    return TypeError(
        f"{cls.__name__} stands for objects of type {keys}, got one of type `{type_key_of(index)}`")


cdef int32_t _index_that_stands_for(cls) except -2:
    """Return the type index that a class stands for, or the nearest base that does; -1 for none.

    Its ``__tvm_ffi_type_info__`` is left alone: that of the package's own classes is made when it
    is asked for, and lets them stand for their types again.
    """
    cdef int32_t index
    for base in <tuple><object>mro_of(<PyTypeObject*>cls):
        for index in range(<int32_t>len(_class_by_index)):  # an heir comes behind its ancestor
            if _class_by_index[index] is base:
                return index
    return -1


@cython.no_gc_clear  # see types/reference_link
@cython.binding(False)
cdef class LinkedObject(CObject):
    """Base of classes with fields that may hold Python values; added by their metaclass."""


cdef PyObject* _take_link(PyObject* wrapper) noexcept:
    cdef PyObject* link = link_of(<LinkedObject>wrapper)
    forget_link(<LinkedObject>wrapper)
    return link


# Made like any other, so that `Object.__new__(cls)` stays a way to make one: the link is NULL then.
(<PyTypeObject*>LinkedObject).tp_new = (<PyTypeObject*>CObject).tp_new


# In annotations of such fields; of others, too, which does no harm.
cdef tuple _HOLDING_WORDS = ("Any", "Callable", "Function", "Object", "object")


cdef bint _may_hold_python_values(dict namespace) except -1:
    """Whether annotations in the body of a class name such types.

    From Python 3.14 on they are not there yet: then all annotations count.
    """
    annotations = namespace.get("__annotations__")
    if annotations is None:
        return "__annotate_func__" in namespace or "__annotate__" in namespace
    for name, annotation in annotations.items():
        text = annotation if isinstance(annotation, str) else repr(annotation)
        if not (name.startswith("__") or "ClassVar" in text):
            if any(word in text for word in _HOLDING_WORDS):
                return True
    return False


def _has_plain_layout(base) -> bool:
    return not issubclass(base, CObject) or base.__basicsize__ == CObject.__basicsize__


class _ObjectMeta(ABCMeta):
    """Gives classes without ``__slots__`` empty ones: their instances take no other attributes.

    A class with fields that may hold Python values gets a base that reports them to the collector.
    """

    def __new__(mcls, name, bases, namespace, **kwargs):
        namespace.setdefault("__slots__", ())
        if _may_hold_python_values(namespace) and all(map(_has_plain_layout, bases)):
            bases = (*bases, LinkedObject)
        return super().__new__(mcls, name, bases, namespace, **kwargs)


class Object(CObject, metaclass=_ObjectMeta):
    """Base of the classes that stand for native object types.

    Notes
    -----
    Attributes that are no fields of the native type are refused, so that a misspelt field does not
    go unnoticed; a class with ``__slots__ = ("__dict__",)`` takes them.
    """

    def _move(self):
        """Return a reference that lets the callee take this object away."""
        return ObjectRValueRef(self)


cdef class ObjectRValueRef:
    """An object passed by move: the callee may take it, and the wrapper is empty afterwards.

    Parameters
    ----------
    obj : Object
        The object to pass.
    """

    def __cinit__(self, CObject obj not None):
        self.obj = obj  # for good: a call may be waiting for the callee to take its handle


@cython.binding(False)
cdef class OpaquePyObject(CObject):
    """A Python object that travels through native code untouched."""

    def pyobject(self):
        """Return the wrapped Python object."""
        cdef void* value = abi.TVMFFIOpaqueObjectGetCellPtr(handle_of(self)).handle
        return <object>value

    def __reduce__(self):
        return opaque_object, (self.pyobject(),)


# ---- what wrappers and owners promise, see docs/design/wrappers.md -------------------------------

cdef class HandleOwner:
    """One reference to a native object, for as long as this lives."""

    def __dealloc__(self):
        if self.handle != NULL:
            release_object(self.handle)


# What calls may still use of wrappers that were emptied, by address of the wrapper: a weak
# reference to it, which forgets the entry, and owners.
cdef dict _kept = {}


cdef inline bint _is_function(abi.TVMFFIObjectHandle handle) noexcept:
    return (<abi.TVMFFIObject*>handle).type_index == abi.kTVMFFIFunction


cdef bint _is_in_use(CObject wrapper) noexcept:
    """Whether a call may have borrowed the handle.  Of functions nobody knows: any may be running.
    """
    return wrapper.chandle != NULL and (
        _is_function(wrapper.chandle) or is_borrowed_from(<PyObject*>wrapper))


cdef void _forget_kept(CObject wrapper) noexcept:
    """Drop what was kept for calls that have come back; functions may be running still."""
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
        _forget_kept(wrapper)
    # Again if what ran meanwhile, such as a collection, has filled the wrapper anew.
    while wrapper.chandle != kept and _is_in_use(wrapper):
        kept = wrapper.chandle
        _keep(wrapper, kept)


cdef void _keep(CObject wrapper, abi.TVMFFIObjectHandle handle) noexcept:
    """Keep the object as long as the wrapper lives; for ever when there is no memory for that."""
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
            entry = _kept.setdefault(address, entry)  # a collection may have come here meanwhile
        if len(entry) > 1 and (<HandleOwner>entry[-1]).handle == handle:
            abi.TVMFFIObjectDecRef(handle)  # kept already
            return
        entry.append(owner)
        owner.handle = handle
    except MemoryError:
        pass


cdef int _refuse(PyTypeObject* cls, const Compiled* misfit, int32_t index) except -1:
    raise _misfit_error(<object>cls, misfit.index, misfit.other_index, index)


cdef inline bint _is_made_for(PyTypeObject* cls, int32_t index) noexcept:
    """Whether a class, whose wrappers have a handle alone, has been registered for just this type.

    The commonest case, in which the rest has been asked already.
    """
    return (
        cls.tp_basicsize == (<PyTypeObject*>CObject).tp_basicsize
        and index < len(_class_by_index)
        and _class_by_index[index] is <object>cls)


cdef int hold(CObject wrapper, abi.TVMFFIObjectHandle owned) except -1:
    cdef PyTypeObject* cls
    cdef const Compiled* base
    cdef const Compiled* misfit
    cdef abi.TVMFFIObjectHandle previous
    cdef PyObject* belongings = NULL
    cdef int32_t index
    keep_for_borrowers(wrapper)  # which may run any code
    cls = Py_TYPE(<PyObject*>wrapper)
    if owned != NULL and _is_made_for(cls, (<abi.TVMFFIObject*>owned).type_index):
        previous, wrapper.chandle = wrapper.chandle, owned
        if previous != NULL:
            release_object(previous)
        return 0
    base = compiled_base(cls)
    if owned != NULL:
        index = (<abi.TVMFFIObject*>owned).type_index
        misfit = misfit_of(cls, base, index)
        if misfit != NULL:
            try:
                return _refuse(cls, misfit, index)
            finally:
                release_object(owned)
    if base != NULL and base.take != NULL:
        belongings = base.take(<PyObject*>wrapper)
    previous, wrapper.chandle = wrapper.chandle, owned
    if base != NULL and base.add != NULL and owned != NULL:
        base.add(<PyObject*>wrapper)
    if previous != NULL:
        release_object(previous)
    Py_XDECREF(belongings)
    return 0


cdef inline PyObject* _take_belongings(CObject wrapper) noexcept:
    cdef const Compiled* base = compiled_base(Py_TYPE(<PyObject*>wrapper))
    return NULL if base == NULL or base.take == NULL else base.take(<PyObject*>wrapper)


cdef int move_reference(CObject wrapper, CObject source) except -1:
    cdef PyTypeObject* cls
    cdef abi.TVMFFIObjectHandle taken
    cdef const Compiled* misfit
    cdef PyObject* belongings
    cdef int32_t index
    keep_for_borrowers(source)  # which may fill it with something else
    if source.chandle != NULL:
        cls = Py_TYPE(<PyObject*>wrapper)
        index = (<abi.TVMFFIObject*>source.chandle).type_index
        misfit = misfit_of(cls, compiled_base(cls), index)
        if misfit != NULL:
            return _refuse(cls, misfit, index)
    belongings = _take_belongings(source)
    taken, source.chandle = source.chandle, NULL
    try:
        return hold(wrapper, taken)
    finally:
        Py_XDECREF(belongings)


cdef void empty_garbage(CObject wrapper) noexcept:
    cdef abi.TVMFFIObjectHandle handle
    cdef PyObject* belongings = _take_belongings(wrapper)
    handle, wrapper.chandle = wrapper.chandle, NULL
    if handle != NULL:
        release_object(handle)
    Py_XDECREF(belongings)


def empty_object(cls) -> CObject:
    """Return a wrapper that holds nothing; what a pickle says goes into it."""
    return cls.__new__(cls)


cdef abi.TVMFFIObjectHandle handle_of(CObject obj) except NULL:
    if obj is None:  # which is let through where a class is asked for
        raise TypeError("expected an object, got None")
    if obj.chandle == NULL:
        raise ValueError(f"{type(obj).__name__} is empty: it was never set, or has been moved away")
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
    """Return from how many elements on ``repr`` abbreviates, and how many it shows at each end."""
    return _print_options["limits"]


def text_layout() -> tuple:
    """Return how many digits the elements of tensors have, and how long their lines are."""
    return _print_options["layout"]


def set_print_options(
    int64_t threshold, int64_t edge_items, int precision, int line_width
) -> None:
    """Set what `print_limits` and `text_layout` return, for all threads."""
    _print_options["limits"] = (threshold, edge_items)
    _print_options["layout"] = (precision, line_width)


def object_repr(CObject obj not None) -> str:
    """Return the text that the native printer makes of an object, whatever its class says."""
    return CObject.__repr__(obj)


def live_object_count() -> int:
    """Return how many wrappers of native objects are alive in this process."""
    return _num_live_objects


def opaque_object(pyobject) -> OpaquePyObject:
    """Return a native object around any Python value."""
    cdef abi.TVMFFIObjectHandle handle = NULL
    new_opaque(pyobject, &handle)
    return wrap_object(handle)


cdef PyObject** object_locks() noexcept:
    return PySequence_Fast_ITEMS(_locks)


cdef str type_key_of(int index):
    cdef const abi.TVMFFITypeInfo* info = abi.TVMFFIGetTypeInfo(index)
    return info.type_key.data[: info.type_key.size].decode("utf-8")


def register_class(int32_t index, cls):
    """Let `cls` stand for the native type with this index, in place of an earlier class."""
    # Not declared as a type: Cython would refuse classes of other metaclasses, such as ABCMeta.
    makes_values = hasattr(cls, "__from_tvm_ffi_object__")
    if not isinstance(cls, type) or not (issubclass(cls, CObject) or makes_values):
        raise TypeError(f"{cls!r} must derive from CObject to stand for a native type")
    cdef const Compiled* misfit = misfit_of(
        <PyTypeObject*>cls, compiled_base(<PyTypeObject*>cls), index)
    if misfit != NULL:
        raise TypeError(
            f"{cls.__name__} cannot stand for `{type_key_of(index)}`: it derives from the class "
            f"that stands for `{type_key_of(misfit.index)}`, whose objects lie in memory in "
            "another way")
    with cython.critical_section(_class_lock):
        for heir in list(_inheriting):  # the class may be nearer to some than what they have
            _set_class(heir, None)
            _value_classes.pop(heir, None)
        _inheriting.clear()
        _value_classes.pop(index, None)
        if makes_values:
            _value_classes[index] = cls
            cls = None
        _set_class(index, cls)


def forget_class(int32_t index) -> None:
    """Let no class of its own stand for a type any more, which has no objects yet."""
    with cython.critical_section(_class_lock):
        _set_class(index, None)
        _value_classes.pop(index, None)
        _inheriting.discard(index)


def register_late_classes(modules: dict) -> None:
    """Let the classes of types be registered by modules that few programs need.

    Parameters
    ----------
    modules : dict from str to str
        Names of modules, by the keys of the types.
    """
    for key, module in modules.items():
        _late_modules[type_key_to_index(key)] = module


def load_late_class(int32_t index) -> None:
    """Have the class of a type registered that `register_late_classes` has put off."""
    cdef object module = _late_modules.get(index)
    if module is not None:
        from importlib import import_module

        # Not taken out before: another thread that looks meanwhile has to wait for the module.
        import_module(module)
        _late_modules.pop(index, None)


cdef int _set_class(int32_t index, object cls) except -1:
    while len(_class_by_index) <= index:
        _class_by_index.append(None)
    _class_by_index[index] = cls
    return 0


def type_key_to_index(str type_key):
    """Return the index of a registered type key, or None."""
    cdef bytes text = type_key.encode("utf-8")
    cdef abi.TVMFFIByteArray view
    cdef int32_t index = 0
    cdef abi.TVMFFIObjectHandle ignored = NULL
    view.data = text
    view.size = len(text)
    if abi.TVMFFITypeKeyToIndex(&view, &index) == 0:
        return index
    abi.TVMFFIErrorMoveFromRaised(&ignored)
    abi.TVMFFIObjectDecRef(ignored)
    return None


cdef object _class_of(int32_t index):
    """The registered class, or that of the nearest ancestor that has one; remembered.

    None when that is one whose objects become Python values.
    """
    cdef const abi.TVMFFITypeInfo* info = abi.TVMFFIGetTypeInfo(index)
    cdef int32_t depth, ancestor
    cdef object cls
    if _late_modules:
        for depth in range(info.type_depth):
            load_late_class(info.type_ancestors[depth].type_index)
        load_late_class(index)
    with cython.critical_section(_class_lock):
        cls = _class_by_index[index] if index < len(_class_by_index) else None
        if cls is not None:
            return cls
        for depth in range(info.type_depth - 1, -1, -1):
            ancestor = info.type_ancestors[depth].type_index
            if ancestor in _value_classes:
                _value_classes[index] = _value_classes[ancestor]
                _inheriting.add(index)
                return None
            cls = _class_by_index[ancestor] if ancestor < len(_class_by_index) else None
            if cls is not None:
                _set_class(index, cls)
                _inheriting.add(index)
                return cls
    return Object


cdef object _unpack_value(object cls, abi.TVMFFIObjectHandle owned):
    cdef CObject obj = Object.__new__(Object)
    abi.TVMFFIObjectIncRef(owned)  # the caller still has its own to give up when this fails
    obj.chandle = owned
    value = cls.__from_tvm_ffi_object__(cls, obj)
    abi.TVMFFIObjectDecRef(owned)
    return value


cdef tuple _NO_ARGS = ()


cdef object wrap_object(abi.TVMFFIObjectHandle owned):
    cdef int32_t index = (<abi.TVMFFIObject*>owned).type_index
    cdef object cls = _class_by_index[index] if index < len(_class_by_index) else None
    cdef CObject obj
    try:
        if cls is None:
            cls = None if index in _value_classes else _class_of(index)
            if cls is None:
                return _unpack_value(_value_classes[index], owned)
        obj = <CObject?>(<PyTypeObject*>cls).tp_new(<type>cls, <PyObject*>_NO_ARGS, NULL)
    except BaseException:
        abi.TVMFFIObjectDecRef(owned)
        raise
    # A class may have its own __new__, which gives what it likes.
    if obj.chandle != NULL or Py_TYPE(<PyObject*>obj) != <PyTypeObject*>cls:
        hold(obj, owned)
    else:
        obj.chandle = owned
    return obj


keep_belongings_of(LinkedObject, _take_link, NULL)
read_objects_of(OpaquePyObject, abi.kTVMFFIOpaquePyObject, abi.kTVMFFIOpaquePyObject)
register_class(abi.kTVMFFIObject, Object)
register_class(abi.kTVMFFIOpaquePyObject, OpaquePyObject)

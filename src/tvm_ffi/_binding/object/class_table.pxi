# SPDX-License-Identifier: Apache-2.0
"""The registered Python classes, by type index."""

cimport cython
from cpython.object cimport PyTypeObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi

# Wrapper classes by type index; None before the first lookup.  Threads read this list without a
# lock.  They write the list and the next two tables in a critical section of `_class_lock`.  The
# list itself cannot be the lock: each change of an item enters the list's critical section, and
# CPython suspends an outer critical section of the same object.
cdef object _class_lock = object()
cdef list _class_by_index = []
# Type indices without a registered class, which use the class of an ancestor.
cdef set _inheriting = set()
# Classes that convert objects to Python values (`cls.__from_tvm_ffi_object__`), by type index.
cdef dict _value_classes = {}
# Python module names by type index.  The import of the module registers the class of the type;
# `load_late_class` imports it when the first object of the type arrives in Python.
cdef dict _late_modules = {}


def register_class(int32_t index, cls):
    """Register the Python class of a native type, replacing an earlier class."""
    # `cls` is not declared as `type`, because Cython then rejects classes with a metaclass.
    makes_values = hasattr(cls, "__from_tvm_ffi_object__")
    if not isinstance(cls, type) or not (issubclass(cls, CObject) or makes_values):
        raise TypeError(f"cannot register {cls!r}: expected a class that derives from CObject")
    cdef const CompiledClass* mismatch = mismatched_base(
        <PyTypeObject*>cls, compiled_base(<PyTypeObject*>cls), index)
    if mismatch != NULL:
        raise TypeError(
            f"{cls.__name__} cannot be registered for `{type_key_of(index)}`: it derives from the "
            f"class of `{type_key_of(mismatch.type_index)}`, whose objects have another memory "
            "layout")
    with cython.critical_section(_class_lock):
        # Forget inherited classes: the new class may belong to a nearer ancestor of their types.
        for inheriting in list(_inheriting):
            _set_class(inheriting, None)
            _value_classes.pop(inheriting, None)
        _inheriting.clear()
        _value_classes.pop(index, None)
        if makes_values:
            _value_classes[index] = cls
            cls = None
        _set_class(index, cls)


def remove_class(int32_t index) -> None:
    """Unregister the Python class of a type.  The type must not have instances yet."""
    with cython.critical_section(_class_lock):
        _set_class(index, None)
        _value_classes.pop(index, None)
        _inheriting.discard(index)


def register_late_classes(modules: dict) -> None:
    """Set the modules that are imported when the first object of a type arrives in Python.

    The import of such a module registers the class of the type.

    Parameters
    ----------
    modules : dict from str to str
        Names of Python modules by type key.
    """
    for key, module in modules.items():
        _late_modules[type_key_to_index(key)] = module


def load_late_class(int32_t index) -> None:
    """Import the module that `register_late_classes` has set for a type; do nothing without one."""
    cdef object module = _late_modules.get(index)
    if module is not None:
        from importlib import import_module

        # Remove the entry last: another thread that finds it waits for the import.
        import_module(module)
        _late_modules.pop(index, None)


cdef int _set_class(int32_t index, object cls) except -1:
    while len(_class_by_index) <= index:
        _class_by_index.append(None)
    _class_by_index[index] = cls
    return 0


def type_key_to_index(str type_key):
    """Return the type index of a type key, or None if the key is not registered."""
    cdef bytes text = utf8_of(type_key, "type key")
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
    """Return the class of a type, or of its nearest ancestor with a class, and cache the class.

    Returns None if that class is in `_value_classes`, so it converts objects to Python values.
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

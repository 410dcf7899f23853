# SPDX-License-Identifier: Apache-2.0
"""What native types have registered: fields as descriptors, methods as functions, attributes.

A field lies at a fixed distance from the object's header.  Reading one through an object of another
type would read foreign memory, so every access checks the type: one comparison for objects of the
class itself.
"""

cimport cython
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert.table cimport (
    CallState, Packer, begin_call, make_object, packer_of, release_temporaries,
)
from tvm_ffi._binding.object.error cimport check, set_exception
from tvm_ffi._binding.call.function cimport (
    Function, Vectorcall, call_into, move_handle, new_method,
)
from tvm_ffi._binding.convert.loan cimport loan_pool
from tvm_ffi._binding.object.object cimport CObject, handle_of, type_key_of
from tvm_ffi._binding.vectorcall cimport (
    PyVectorcall_Call, PyVectorcall_NARGS, enable_vectorcall,
)

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject* value) noexcept
    object PyMethod_New(object function, object self)
    Py_ssize_t PyTuple_GET_SIZE(PyObject* value) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject* value, Py_ssize_t i) noexcept
    PyObject* PyObject_Vectorcall(
        PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) noexcept
    PyObject* PyObject_CallObject(PyObject* callable, PyObject* args) noexcept
    PyObject* Py_None


cdef str _text(const abi.TVMFFIByteArray* text):
    return text.data[: text.size].decode("utf-8") if text.size != 0 else ""


cdef object _owned_copy(const abi.TVMFFIAny* value):
    """A stored value as a Python object."""
    cdef abi.TVMFFIAny owned
    check(abi.TVMFFIAnyViewToOwnedAny(value, &owned))
    return make_object(&owned, NULL)


# ---- fields --------------------------------------------------------------------------------

cdef class _Field:
    """Where a field lies, and in objects of which type."""

    cdef readonly str name
    cdef int32_t owner_index
    cdef int32_t owner_depth
    cdef int64_t offset
    cdef int64_t size
    cdef int32_t static_type_index

    cdef void* address_in(self, object obj) except NULL:
        """The field's address; TypeError for an object of another type, ValueError if empty."""
        cdef abi.TVMFFIObject* header
        if not isinstance(obj, CObject):
            raise TypeError(
                f"field `{self.name}` belongs to `{type_key_of(self.owner_index)}`, "
                f"got {type(obj).__name__}")
        header = <abi.TVMFFIObject*>handle_of(<CObject>obj)
        if header.type_index != self.owner_index:
            self._check_descendant(header.type_index)
        return <char*>header + self.offset

    cdef int _check_descendant(self, int32_t index) except -1:
        cdef const abi.TVMFFITypeInfo* info = abi.TVMFFIGetTypeInfo(index)
        if info.type_depth > self.owner_depth and (
            info.type_ancestors[self.owner_depth].type_index == self.owner_index
        ):
            return 0
        raise TypeError(
            f"field `{self.name}` belongs to `{type_key_of(self.owner_index)}`, "
            f"got an object of type `{type_key_of(index)}`")


cdef class FieldGetter(_Field):
    """Reads one field: ``getter(obj)``."""

    cdef abi.TVMFFIFieldGetter getter

    def __call__(self, obj):
        return _value_at(self, self.address_in(obj))


cdef inline object _value_at(FieldGetter getter, void* address):
    cdef abi.TVMFFIAny value
    # What the memory of these holds is known without asking.
    if getter.size == 8:
        if getter.static_type_index == abi.kTVMFFIInt:
            return (<int64_t*>address)[0]
        if getter.static_type_index == abi.kTVMFFIFloat:
            return (<double*>address)[0]
    value.type_index = abi.kTVMFFINone
    value.zero_padding = 0
    value.v_int64 = 0
    check(getter.getter(address, &value))
    return make_object(&value, NULL)


cdef class FieldSetter(_Field):
    """Writes one field, also a read-only one: ``setter(obj, value)``."""

    cdef void* setter
    cdef bint is_function

    cdef int write(self, object obj, object value) except -1:
        cdef void* address = self.address_in(obj)
        cdef const Packer* packer = packer_of(<PyObject*>value)
        cdef abi.TVMFFIObject* temporaries[2]
        cdef abi.TVMFFIAny view
        cdef CallState state
        cdef int code
        if packer == NULL:
            check(-2)
        begin_call(&state, temporaries)
        if packer.pack(<PyObject*>value, &view, &state, packer) != 0:
            release_temporaries(&state, loan_pool())
            check(-2)
        try:
            if self.is_function:
                return self._call_setter(address, &view)
            code = (<abi.TVMFFIFieldSetter>self.setter)(address, &view)
            return check(code)
        finally:
            release_temporaries(&state, loan_pool())

    cdef int _call_setter(self, void* address, const abi.TVMFFIAny* value) except -1:
        cdef abi.TVMFFIAny args[2]
        cdef abi.TVMFFIAny result
        args[0].type_index = abi.kTVMFFIOpaquePtr
        args[0].zero_padding = 0
        args[0].v_ptr = address
        args[1] = value[0]
        result.type_index = abi.kTVMFFINone
        result.zero_padding = 0
        result.v_int64 = 0
        check(abi.TVMFFIFunctionCall(self.setter, args, 2, &result))
        make_object(&result, NULL)
        return 0

    def __call__(self, obj, value):
        self.write(obj, value)


cdef class FFIProperty:
    """A field of native objects as an attribute.

    Parameters
    ----------
    fget : callable
        ``fget(obj)`` reads the field.
    fset : callable or None
        ``fset(obj, value)`` writes it.
    frozen : bool
        Whether assignment is refused; `set` writes all the same.
    """

    cdef readonly object fget
    cdef readonly object fset
    cdef readonly object fdel
    cdef readonly bint frozen
    cdef public object __doc__
    cdef str name
    # Class and type of the object that was read last, whose successors need no other check.
    cdef object recent_class
    cdef int32_t recent_index

    def __init__(self, fget, fset, bint frozen, fdel=None, doc=None):
        self.fget = fget
        self.fset = fset
        self.fdel = fdel
        self.frozen = frozen
        self.__doc__ = doc
        self.name = getattr(fget, "name", None)
        self.recent_class = None

    def __set_name__(self, owner, str name):
        self.name = name

    def __get__(self, obj, owner):
        cdef abi.TVMFFIObject* header
        cdef FieldGetter getter
        if Py_TYPE(<PyObject*>obj) == <PyTypeObject*><PyObject*>self.recent_class:
            header = <abi.TVMFFIObject*>(<CObject>obj).chandle
            if header != NULL and header.type_index == self.recent_index:
                getter = <FieldGetter>self.fget
                return _value_at(getter, <char*>header + getter.offset)
        return self if obj is None else self._get_from(obj)

    cdef object _get_from(self, object obj):
        cdef FieldGetter getter
        cdef void* address
        if type(self.fget) is not FieldGetter:
            return self.fget(obj)
        getter = <FieldGetter>self.fget
        address = getter.address_in(obj)
        with cython.critical_section(self):
            self.recent_class = type(obj)
        self.recent_index = (<abi.TVMFFIObject*>(<CObject>obj).chandle).type_index
        return _value_at(getter, address)

    def __set__(self, obj, value):
        if self.frozen or self.fset is None:
            raise AttributeError(self._refusal(obj, "setter"))
        self.set(obj, value)

    def __delete__(self, obj):
        if self.fdel is None:
            raise AttributeError(self._refusal(obj, "deleter"))
        self.fdel(obj)

    def set(self, obj, value):
        """Write the field of `obj`, whether it is read-only or not."""
        if type(self.fset) is FieldSetter:
            (<FieldSetter>self.fset).write(obj, value)
        elif self.fset is None:
            raise AttributeError(self._refusal(obj, "setter"))
        else:
            self.fset(obj, value)

    cdef str _refusal(self, object obj, str missing):
        return f"property {self.name!r} of {type(obj).__name__!r} object has no {missing}"


cdef int _locate(
    _Field field, const abi.TVMFFITypeInfo* owner, const abi.TVMFFIFieldInfo* info
) except -1:
    field.name = _text(&info.name)
    field.owner_index = owner.type_index
    field.owner_depth = owner.type_depth
    field.offset = info.offset
    field.size = info.size
    field.static_type_index = info.field_static_type_index
    return 0


# ---- constructors --------------------------------------------------------------------------

cdef class Constructor:
    """``__init__`` of a class that stands for a native type: makes the object natively.

    Parameters
    ----------
    construct : Function
        The type's constructor.
    cls : type
        The class.
    info : TypeInfo
        The type.
    mark, missing : Object
        What precedes named arguments, and what stands for a value that is not given.
    """

    cdef Vectorcall vectorcall
    cdef object construct, cls, info, mark, missing
    cdef dict __dict__

    def __cinit__(self, construct, cls, info, mark, missing):
        self.vectorcall = _construct
        self.construct, self.cls, self.info = construct, cls, info
        self.mark, self.missing = mark, missing

    def __call__(self, *args, **kwargs):
        # Seen by `callable`; calls take the pointer above.
        return PyVectorcall_Call(self, args, <PyObject*>kwargs)

    def __get__(self, obj, owner):
        return self if obj is None else PyMethod_New(self, obj)


cdef PyObject* _construct(
    PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames
) noexcept:
    """The vectorcall entry of Constructor; no traceback entry of its own, as in Function."""
    cdef Constructor constructor = <Constructor>callable
    cdef Py_ssize_t num_args = PyVectorcall_NARGS(nargsf)
    cdef PyObject* made
    if num_args == 0 or Py_TYPE(args[0]) != <PyTypeObject*><PyObject*>constructor.cls:
        if _check_receiver(constructor, args[0] if num_args != 0 else Py_None) != 0:
            return NULL
    if kwnames == NULL or PyTuple_GET_SIZE(kwnames) == 0:
        if type(constructor.construct) is Function:
            return call_into(
                <Function>constructor.construct, args + 1, num_args - 1, <CObject>args[0])
        made = PyObject_Vectorcall(
            <PyObject*>constructor.construct, args + 1, <size_t>num_args - 1, NULL)
    else:
        made = _construct_with_names(constructor, args, num_args, kwnames)
    if made == NULL:
        return NULL
    return move_handle(made, args[0])


cdef int _check_receiver(Constructor constructor, PyObject* receiver) noexcept:
    try:
        info = getattr(type(<object>receiver), "__tvm_ffi_type_info__", None)
        if info is constructor.info and isinstance(<object>receiver, CObject):
            return 0
        other = type(<object>receiver).__name__ if info is None else info.type_key
        raise TypeError(
            f"`{constructor.info.type_key}` constructs objects of its own type, not of `{other}`")
    except BaseException as error:
        set_exception(error)
        return -1


cdef PyObject* _construct_with_names(
    Constructor constructor, PyObject* const* args, Py_ssize_t num_args, PyObject* kwnames
) noexcept:
    """The values by position, then the mark, then names and values in turn."""
    cdef list row = []
    cdef Py_ssize_t i
    cdef tuple all_args
    for i in range(1, num_args):
        row.append(<object>args[i])
    row.append(constructor.mark)
    for i in range(PyTuple_GET_SIZE(kwnames)):
        if args[num_args + i] != <PyObject*>constructor.missing:
            row.append(<object>PyTuple_GET_ITEM(kwnames, i))
            row.append(<object>args[num_args + i])
    all_args = tuple(row)
    return PyObject_CallObject(<PyObject*>constructor.construct, <PyObject*>all_args)


def _install():
    cdef Constructor probe = Constructor.__new__(Constructor, None, None, None, None, None)
    cdef Py_ssize_t offset = <Py_ssize_t>(<char*>&probe.vectorcall - <char*><PyObject*>probe)
    enable_vectorcall(<PyTypeObject*>Constructor, offset, True)


_install()


# ---- tables of a type ----------------------------------------------------------------------

cdef dict _field_facts(const abi.TVMFFITypeInfo* owner, const abi.TVMFFIFieldInfo* info):
    cdef FieldGetter getter = FieldGetter.__new__(FieldGetter)
    cdef FieldSetter setter = None
    cdef int64_t flags = info.flags
    _locate(getter, owner, info)
    getter.getter = info.getter
    if info.setter != NULL:
        setter = FieldSetter.__new__(FieldSetter)
        _locate(setter, owner, info)
        setter.setter = info.setter
        setter.is_function = (flags & abi.kTVMFFIFieldFlagBitSetterIsFunctionObj) != 0
    has_default = (flags & abi.kTVMFFIFieldFlagBitMaskHasDefault) != 0
    return {
        "name": _text(&info.name),
        "doc": _text(&info.doc) or None,
        "metadata": _text(&info.metadata),
        "size": info.size,
        "alignment": info.alignment,
        "offset": info.offset,
        "field_static_type_index": info.field_static_type_index,
        "frozen": (flags & abi.kTVMFFIFieldFlagBitMaskWritable) == 0,
        "getter": getter,
        "setter": setter,
        "c_init": (flags & abi.kTVMFFIFieldFlagBitMaskInitOff) == 0,
        "c_kw_only": (flags & abi.kTVMFFIFieldFlagBitMaskKwOnly) != 0,
        "c_has_default": has_default,
        "has_factory": (flags & abi.kTVMFFIFieldFlagBitMaskDefaultFromFactory) != 0,
        "default": _owned_copy(&info.default_value_or_factory) if has_default else None,
        "c_repr": (flags & abi.kTVMFFIFieldFlagBitMaskReprOff) == 0,
        "c_compare": (flags & abi.kTVMFFIFieldFlagBitMaskCompareOff) == 0,
        "c_hash": (flags & abi.kTVMFFIFieldFlagBitMaskHashOff) == 0,
    }


cdef dict _method_facts(const abi.TVMFFIMethodInfo* info):
    cdef bint is_static = (info.flags & abi.kTVMFFIFieldFlagBitMaskIsStaticMethod) != 0
    return {
        "name": _text(&info.name),
        "doc": _text(&info.doc) or None,
        "metadata": _text(&info.metadata),
        "is_static": is_static,
        "func": new_method(info.method.v_obj, is_static),
    }


def type_index_of(CObject obj not None) -> int:
    """Return the type index of an object: its own, whatever class stands for it."""
    return (<abi.TVMFFIObject*>handle_of(obj)).type_index


def type_facts(int32_t index) -> dict:
    """Return what is registered about a type: plain values, to be put into dataclasses.

    `metadata` members are JSON texts, which may be empty.
    """
    cdef const abi.TVMFFITypeInfo* info = abi.TVMFFIGetTypeInfo(index)
    cdef int32_t i
    return {
        "type_index": index,
        "type_key": _text(&info.type_key),
        "type_ancestors": [info.type_ancestors[i].type_index for i in range(info.type_depth)],
        "doc": _text(&info.metadata.doc) or None if info.metadata != NULL else None,
        "total_size": info.metadata.total_size if info.metadata != NULL else 0,
        "fields": [_field_facts(info, &info.fields[i]) for i in range(info.num_fields)],
        "methods": [_method_facts(&info.methods[i]) for i in range(info.num_methods)],
    }


# ---- attributes ----------------------------------------------------------------------------

def lookup_type_attr(int32_t type_index, str attr_key, bint ancestor=False):
    """Return the value of a type's attribute, or None.

    Parameters
    ----------
    type_index : int
        Type index.
    attr_key : str
        Name of the attribute.
    ancestor : bool
        Whether to ask the nearest ancestor that has the attribute when the type has not.
    """
    cdef bytes text = attr_key.encode("utf-8")
    cdef abi.TVMFFIByteArray view
    cdef const abi.TVMFFITypeAttrColumn* column
    cdef const abi.TVMFFITypeInfo* info
    cdef int32_t depth, slot
    view.data, view.size = text, len(text)
    column = abi.TVMFFIGetTypeAttrColumn(&view)
    if column == NULL:
        return None
    info = abi.TVMFFIGetTypeInfo(type_index)
    for depth in range(info.type_depth, -1, -1):
        slot = type_index if depth == info.type_depth else info.type_ancestors[depth].type_index
        slot -= column.begin_index
        if 0 <= slot < column.size and column.data[slot].type_index != abi.kTVMFFINone:
            return _owned_copy(&column.data[slot])
        if not ancestor:
            break
    return None


def register_type_attr(int32_t type_index, str attr_key, value) -> None:
    """Set an attribute of a type; RuntimeError when it is set already."""
    cdef bytes text = attr_key.encode("utf-8")
    cdef abi.TVMFFIByteArray view
    cdef const Packer* packer = packer_of(<PyObject*>value)
    cdef abi.TVMFFIObject* temporaries[2]
    cdef abi.TVMFFIAny packed
    cdef CallState state
    if packer == NULL:
        check(-2)
    view.data, view.size = text, len(text)
    begin_call(&state, temporaries)
    try:
        if packer.pack(<PyObject*>value, &packed, &state, packer) != 0:
            check(-2)
        check(abi.TVMFFITypeRegisterAttr(type_index, &view, &packed))
    finally:
        release_temporaries(&state, loan_pool())

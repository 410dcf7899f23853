# SPDX-License-Identifier: Apache-2.0
"""Reflected fields: getters, setters and the property descriptor.

A field is at a fixed offset from the object's header.  Access through an object of another type
would read unrelated memory, so every access checks the type.  A property caches the class and type
index of the object that it read last; if both match the next object, no other check is needed.
"""

cimport cython
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject, Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, Packer, begin_conversion, get_packer, release_temporaries, unpack_object,
    view_free_list,
)
from tvm_ffi._binding.cpython cimport Py_TYPE
from tvm_ffi._binding.object cimport (
    Borrowing, CObject, Guard, PairGuard, begin_borrowing, begin_guard, begin_pair_guard, check,
    end_borrowing, end_guard, end_pair_guard, handle_of, is_python_error, object_locks,
    set_exception, type_key_of,
)

from tvm_ffi._binding.call cimport explain_place

from tvm_ffi._binding.call import add_error_context

cdef extern from *:
    """
    /* Class and type index of the object that a property read last.  Threads read them without a
     * lock, and only compare the address of the class. */
    #define tvm_ffi_recent_class(property_) \
      ((PyTypeObject*)__atomic_load_n(&(property_)->recent_class, __ATOMIC_RELAXED))
    #define tvm_ffi_recent_index(property_) \
      __atomic_load_n(&(property_)->recent_index, __ATOMIC_RELAXED)
    #define tvm_ffi_swap_recent(property_, cls, index) \
      (__atomic_store_n(&(property_)->recent_index, index, __ATOMIC_RELAXED), \
       __atomic_exchange_n(&(property_)->recent_class, cls, __ATOMIC_ACQ_REL))
    """
    PyTypeObject* recent_class "tvm_ffi_recent_class"(FFIProperty property_) noexcept
    int32_t recent_index "tvm_ffi_recent_index"(FFIProperty property_) noexcept
    # Set the recent class and its type index.  Consumes the reference `cls`; returns the reference
    # to the previous class.
    PyObject* swap_recent "tvm_ffi_swap_recent"(
        FFIProperty property_, PyObject* cls, int32_t index) noexcept

cdef PyObject** _locks = object_locks()

cdef class _Field:
    """Location of a field: the type that declares the field, and its offset in objects."""

    cdef abi.TVMFFIObject* header_of(self, object obj) except NULL:
        cdef abi.TVMFFIObject* header
        if not isinstance(obj, CObject):
            raise TypeError(
                f"field `{self.name}`: expected an object of type "
                f"`{type_key_of(self.owner_index)}`, got an instance of the class "
                f"{type(obj).__name__}")
        header = <abi.TVMFFIObject*>handle_of(<CObject>obj)
        if header.type_index != self.owner_index:
            self._check_owner(header.type_index)
        return header

    cdef int _check_owner(self, int32_t index) except -1:
        cdef const abi.TVMFFITypeInfo* info
        if index == self.owner_index:
            return 0
        info = abi.TVMFFIGetTypeInfo(index)
        if info.type_depth > self.owner_depth and (
            info.type_ancestors[self.owner_depth].type_index == self.owner_index
        ):
            return 0
        raise TypeError(
            f"field `{self.name}`: expected an object of type `{type_key_of(self.owner_index)}`, "
            f"got an object of type `{type_key_of(index)}`")


cdef class FieldGetter(_Field):
    """Callable that reads one field: ``getter(obj)``."""

    def __call__(self, obj):
        return _value_in(self, self.header_of(obj))


cdef inline object _value_in(FieldGetter getter, abi.TVMFFIObject* header):
    cdef void* address = <char*>header + getter.offset
    cdef abi.TVMFFIAny value
    cdef Guard guard
    cdef int code
    # Fast path: int64_t and double are read without calling the getter.  A negative number is read
    # by the getter, because the field may be a uint64_t with a value that no Int represents.
    if getter.size == 8:
        if getter.static_type_index == abi.kTVMFFIInt and (<int64_t*>address)[0] >= 0:
            return (<int64_t*>address)[0]
        if getter.static_type_index == abi.kTVMFFIFloat:
            return (<double*>address)[0]
    value.type_index = abi.kTVMFFINone
    value.zero_padding = 0
    value.v_int64 = 0
    begin_guard(&guard, _locks, header)
    code = getter.getter(address, &value)
    end_guard(&guard)
    check(code)
    return unpack_object(&value, NULL)


cdef class FieldSetter(_Field):
    """Callable that writes one field, even a read-only one: ``setter(obj, value)``."""

    cdef int write(self, object obj, object value) except -1:
        cdef abi.TVMFFIObject* temporaries[2]
        cdef abi.TVMFFIAny view
        cdef PyObject* wrappers[2]
        cdef Borrowing borrowing
        cdef Borrowing** borrowings
        cdef CallState state
        cdef const Packer* packer
        cdef int code
        self.header_of(obj)  # before the conversion, check that `obj` has the field
        packer = get_packer(<PyObject*>value)
        if packer == NULL:
            self._refuse(obj)
        wrappers[0], wrappers[1] = <PyObject*>obj, <PyObject*>value
        begin_conversion(&state, temporaries, 1)
        borrowings = begin_borrowing(&borrowing, wrappers, 2)
        try:
            if packer.pack(<PyObject*>value, &view, &state, packer) != 0:
                self._refuse(obj)
            code = self._store(self.header_of(obj), &view)
            return 0 if code == 0 else self._fail(obj, code)
        finally:
            end_borrowing(borrowings, &borrowing)
            release_temporaries(&state, view_free_list())

    cdef int _refuse(self, object obj) except -1:
        explain_place("{}.{}", type(obj), "__name__", self.name)
        return check(-2)

    cdef int _fail(self, object obj, int code) except -1:
        """Raise the error of the setter; a native error gets the names of the class and field."""
        cdef abi.TVMFFIObjectHandle error = NULL
        cdef bint is_native
        if code == -1:
            abi.TVMFFIErrorMoveFromRaised(&error)
        is_native = error != NULL and not is_python_error(error)
        if error != NULL:
            abi.TVMFFIErrorSetRaised(error)
            abi.TVMFFIObjectDecRef(error)
        try:
            return check(code)
        except Exception as exception:
            if is_native:
                where = f"{type(obj).__name__}.{self.name}"
                explained = add_error_context(exception, where, f"While setting {where}")
                set_exception(explained.with_traceback(exception.__traceback__))
                return -1
            raise

    cdef int _store(self, abi.TVMFFIObject* header, const abi.TVMFFIAny* view) noexcept:
        cdef void* address = <char*>header + self.offset
        cdef const void* read = header
        cdef PairGuard guard
        cdef int code
        # The setter may convert a List or Dict to an Array or Map, so lock the List or Dict as well
        # as the object.
        if view.type_index == abi.kTVMFFIList or view.type_index == abi.kTVMFFIDict:
            read = view.v_obj
        begin_pair_guard(&guard, _locks, header, read)
        if self.is_function:
            code = self._call_setter(address, view)
        else:
            code = (<abi.TVMFFIFieldSetter>self.setter)(address, view)
        end_pair_guard(&guard)
        return code

    cdef int _call_setter(self, void* address, const abi.TVMFFIAny* value) noexcept:
        cdef abi.TVMFFIAny args[2]
        cdef abi.TVMFFIAny result
        cdef int code
        args[0].type_index = abi.kTVMFFIOpaquePtr
        args[0].zero_padding = 0
        args[0].v_ptr = address
        args[1] = value[0]
        result.type_index = abi.kTVMFFINone
        result.zero_padding = 0
        result.v_int64 = 0
        code = abi.TVMFFIFunctionCall(self.setter, args, 2, &result)
        if code == 0 and result.type_index >= abi.kTVMFFIStaticObjectBegin:
            abi.TVMFFIObjectDecRef(result.v_obj)
        return code

    def __call__(self, obj, value):
        self.write(obj, value)


@cython.binding(False)
cdef class FFIProperty:
    """Property that reads and writes a field of a native object.

    Parameters
    ----------
    fget : callable
        ``fget(obj)`` reads the field.
    fset : callable or None
        ``fset(obj, value)`` writes the field; None if there is no setter.
    frozen : bool
        If true, assignment raises AttributeError; the method `set` still writes the field.
    """

    cdef readonly object fget
    cdef readonly object fset
    cdef readonly object fdel
    cdef readonly bint frozen
    cdef public object __doc__
    cdef str name
    # Exact class and type index of the object that the property read last.  An object with the same
    # class and type index is read without further checks.
    cdef object recent_class
    cdef int32_t recent_index

    def __init__(self, fget, fset, bint frozen, fdel=None, doc=None):
        # Keep the previous values alive until all attributes are set, because releasing the values
        # may run any code.  Clear `recent_class` before the other attributes, to disable the fast
        # path.
        _earlier = (self.recent_class, self.fget, self.fset, self.fdel, self.__doc__)
        self.recent_class = None
        self.fget = fget
        self.fset = fset
        self.fdel = fdel
        self.frozen = frozen
        self.__doc__ = doc
        self.name = getattr(fget, "name", None)

    def __set_name__(self, owner, str name):
        self.name = name

    def __get__(self, obj, owner):
        cdef abi.TVMFFIObject* header
        cdef FieldGetter getter
        if Py_TYPE(<PyObject*>obj) == recent_class(self):
            header = <abi.TVMFFIObject*>(<CObject>obj).chandle
            if header != NULL and header.type_index == recent_index(self):
                getter = <FieldGetter>self.fget
                return _value_in(getter, header)
        return self if obj is None else self._get_from(obj)

    cdef object _get_from(self, object obj):
        cdef FieldGetter getter
        cdef abi.TVMFFIObject* header
        if type(self.fget) is not FieldGetter:
            return self.fget(obj)
        getter = <FieldGetter>self.fget
        header = getter.header_of(obj)
        cls = type(obj)
        Py_INCREF(cls)
        # Read the header again, because releasing the previous class may run any code.
        Py_DECREF(<object>swap_recent(self, <PyObject*>cls, header.type_index))
        return _value_in(getter, getter.header_of(obj))

    def __set__(self, obj, value):
        if self.frozen or self.fset is None:
            raise AttributeError(self._access_error(obj, "setter"))
        self.set(obj, value)

    def __delete__(self, obj):
        if self.fdel is None:
            raise AttributeError(self._access_error(obj, "deleter"))
        self.fdel(obj)

    def set(self, obj, value):
        """Write the field of `obj`, even if the property is frozen."""
        if type(self.fset) is FieldSetter:
            (<FieldSetter>self.fset).write(obj, value)
        elif self.fset is None:
            raise AttributeError(self._access_error(obj, "setter"))
        else:
            self.fset(obj, value)

    cdef str _access_error(self, object obj, str missing):
        return f"property {self.name!r} of {type(obj).__name__!r} object has no {missing}"

# SPDX-License-Identifier: Apache-2.0
"""Constructors (``__init__``) of classes that are registered for native types."""

from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject, Py_DECREF, Py_INCREF

from tvm_ffi._binding.cpython cimport (
    PyMethod_New, PyObject_CallObject, PyObject_Vectorcall, PyTuple_GET_ITEM, PyTuple_GET_SIZE,
    Py_None, Py_TYPE,
)
from tvm_ffi._binding.call cimport Function, Vectorcall, call_into, move_handle
from tvm_ffi._binding.object cimport CObject, LinkedObject, set_exception
from tvm_ffi._binding.vectorcall cimport PyVectorcall_Call, PyVectorcall_NARGS, enable_vectorcall


cdef class Constructor:
    """Callable ``__init__`` of a registered class, which creates the native object.

    Parameters
    ----------
    construct : Function
        The native constructor of the type.
    cls : type
        The class that is registered for the native type.
    info : TypeInfo
        Description of the native type.
    kwargs_marker : Object
        Native argument that separates positional arguments from pairs of name and value.
    missing : Object
        Default value of keyword arguments; a keyword argument with this value is not passed.
    post_construct : callable, optional
        ``post_construct(self)`` is called after the object is created.
    keeps_constructed : bool
        If true, do nothing for an object of a derived type whose native object exists already.
    reference_fields : tuple of FieldGetter, optional
        Getters of the fields that may hold Python values.
    keywords : str
        How the native constructor receives keyword arguments: ``marker``, as names and values after
        `kwargs_marker`; ``signature``, by position, as the signature of `construct` declares;
        ``none``, not at all, because its parameters have no names.
    """

    cdef Vectorcall vectorcall
    cdef object construct, cls, info, kwargs_marker, missing, post_construct
    cdef tuple reference_fields
    cdef bint keeps_constructed, has_signature, has_no_names
    cdef dict __dict__

    def __cinit__(
        self, construct, cls, info, kwargs_marker, missing, post_construct=None,
        bint keeps_constructed=False, reference_fields=None, str keywords="marker",
    ):
        if cls is not None and not (isinstance(cls, type) and issubclass(cls, CObject)):
            raise TypeError(
                f"Constructor: expected a class that derives from CObject, got {cls!r}")
        self.vectorcall = _construct
        self.construct, self.cls, self.info = construct, cls, info
        self.kwargs_marker, self.missing = kwargs_marker, missing
        self.post_construct, self.keeps_constructed = post_construct, keeps_constructed
        self.reference_fields = reference_fields
        self.has_signature, self.has_no_names = keywords == "signature", keywords == "none"

    def __call__(self, *args, **kwargs):
        # The method exists so that `callable` returns True; calls use the vectorcall pointer
        # instead.
        return PyVectorcall_Call(self, args, <PyObject*>kwargs)

    def __get__(self, obj, owner):
        return self if obj is None else PyMethod_New(self, obj)

    def __getattr__(self, name):
        # Python calls this only for attributes that neither the instance nor the class has.
        if name != "__signature__" or not self.has_signature:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        from inspect import Parameter  # slow to import, rarely needed

        native = self.construct.__signature__
        receiver = Parameter("self", Parameter.POSITIONAL_ONLY)
        return native.replace(parameters=[receiver, *native.parameters.values()])


cdef PyObject* _construct(
    PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames
) noexcept:
    """Vectorcall function of Constructor.  As in Function, errors get no traceback entry."""
    cdef Constructor constructor = <Constructor>callable
    cdef Py_ssize_t num_args = PyVectorcall_NARGS(nargsf)
    cdef int code
    if num_args == 0 or Py_TYPE(args[0]) != <PyTypeObject*><PyObject*>constructor.cls:
        code = _check_receiver(constructor, args[0] if num_args != 0 else Py_None)
        if code > 0 and (num_args > 1 or (kwnames != NULL and PyTuple_GET_SIZE(kwnames) != 0)):
            code = _initialize_fields(constructor, args, num_args, kwnames)
        if code != 0:
            return NULL if code < 0 else _none()
    if constructor.post_construct is not None or constructor.reference_fields is not None:
        return _construct_and_finish(constructor, args, num_args, kwnames)
    return _construct_object(constructor, args, num_args, kwnames)


cdef inline PyObject* _construct_object(
    Constructor constructor, PyObject* const* args, Py_ssize_t num_args, PyObject* kwnames
) noexcept:
    cdef PyObject* constructed
    if (
        (kwnames == NULL or PyTuple_GET_SIZE(kwnames) == 0)
        and not constructor.has_signature
        and type(constructor.construct) is Function
    ):
        return call_into(
            <Function>constructor.construct, args + 1, num_args - 1, <CObject>args[0])
    constructed = _new_object(constructor, args, num_args, kwnames)
    if constructed == NULL:
        return NULL
    return move_handle(constructed, args[0])


cdef PyObject* _new_object(
    Constructor constructor, PyObject* const* args, Py_ssize_t num_args, PyObject* kwnames
) noexcept:
    """Call the native constructor and return a new reference to its result."""
    if constructor.has_signature or kwnames == NULL or PyTuple_GET_SIZE(kwnames) == 0:
        return PyObject_Vectorcall(
            <PyObject*>constructor.construct, args + 1, <size_t>num_args - 1, kwnames)
    if constructor.has_no_names:
        set_exception(TypeError(
            f"{constructor.cls.__name__}() got an unexpected keyword argument "
            f"'{<object>PyTuple_GET_ITEM(kwnames, 0)}': the parameters of the native constructor "
            "have no names; pass the argument by position, or name the parameters with "
            "`refl::arg` in C++"))
        return NULL
    return _construct_with_names(constructor, args, num_args, kwnames)


cdef int _initialize_fields(
    Constructor constructor, PyObject* const* args, Py_ssize_t num_args, PyObject* kwnames
) noexcept:
    """Initialize the fields that the class adds to an existing object of a derived type.

    The native constructor creates another object from the arguments, whose fields are copied.
    Returns 1.  Fails: -1 with an exception set.
    """
    cdef PyObject* created = _new_object(constructor, args, num_args, kwnames)
    if created == NULL:
        return -1
    try:
        source, target = <object>created, <object>args[0]
        Py_DECREF(source)
        for field in constructor.info.all_fields():
            if field.c_init or field.c_has_default:
                field.setter(target, field.getter(source))
        relink(target)
        if constructor.post_construct is not None:
            constructor.post_construct(target)
    except BaseException as error:
        set_exception(error)
        return -1
    return 1


cdef PyObject* _construct_and_finish(
    Constructor constructor, PyObject* const* args, Py_ssize_t num_args, PyObject* kwnames
) noexcept:
    cdef PyObject* none = _construct_object(constructor, args, num_args, kwnames)
    if none == NULL:
        return NULL
    try:
        if constructor.reference_fields is not None and isinstance(<object>args[0], LinkedObject):
            link_python_values(<LinkedObject>args[0], constructor.reference_fields)
        if constructor.post_construct is not None:
            constructor.post_construct(<object>args[0])
    except BaseException as error:
        Py_DECREF(<object>none)
        set_exception(error)
        return NULL
    return none


cdef inline PyObject* _none() noexcept:
    Py_INCREF(None)
    return Py_None


cdef int _check_receiver(Constructor constructor, PyObject* receiver) noexcept:
    """Return 0 to create the object, or 1 to keep the existing object.

    Fails: -1 with an exception set.
    """
    try:
        info = getattr(type(<object>receiver), "__tvm_ffi_type_info__", None)
        if info is constructor.info and isinstance(<object>receiver, CObject):
            return 0
        if constructor.keeps_constructed and _is_constructed(constructor, <object>receiver):
            return 1
        other = type(<object>receiver).__name__ if info is None else info.type_key
        raise TypeError(
            f"the constructor of `{constructor.info.type_key}` cannot initialize an object of type "
            f"`{other}`")
    except BaseException as error:
        set_exception(error)
        return -1


cdef bint _is_constructed(Constructor constructor, receiver) except -1:
    if not isinstance(receiver, CObject) or (<CObject>receiver).chandle == NULL:
        return False
    return isinstance(receiver, constructor.cls)


cdef PyObject* _construct_with_names(
    Constructor constructor, PyObject* const* args, Py_ssize_t num_args, PyObject* kwnames
) noexcept:
    """Call the native constructor: positional values, the marker KWARGS, then names and values."""
    cdef list arguments = []
    cdef Py_ssize_t i
    cdef tuple all_args
    for i in range(1, num_args):
        arguments.append(<object>args[i])
    arguments.append(constructor.kwargs_marker)
    for i in range(PyTuple_GET_SIZE(kwnames)):
        if args[num_args + i] != <PyObject*>constructor.missing:
            arguments.append(<object>PyTuple_GET_ITEM(kwnames, i))
            arguments.append(<object>args[num_args + i])
    all_args = tuple(arguments)
    return PyObject_CallObject(<PyObject*>constructor.construct, <PyObject*>all_args)


def _install():
    cdef Constructor probe = Constructor.__new__(Constructor, None, None, None, None, None)
    cdef Py_ssize_t offset = <Py_ssize_t>(<char*>&probe.vectorcall - <char*><PyObject*>probe)
    enable_vectorcall(<PyTypeObject*>Constructor, offset, True)


_install()

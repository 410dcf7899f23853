# SPDX-License-Identifier: Apache-2.0
"""Argument binding (definition of `bind` in argument_binder.pxd), and calls with a signature.

This file defines `ArgumentBinder`, `bind` and the other functions of call/argument_binder.pxd, and
those of call/signature_call.pxd.

Each signature has one `ArgumentBinder`.  To bind a keyword argument, the binder compares the
address of its interned name with the names of the first parameters, then looks it up in a dict.
`signature._binding_errors` writes the error messages.

The first call of a function looks up its signature.  Later calls of a function without a signature
have no extra cost; a function with a signature whose arguments are all positional costs one
comparison per parameter with a conversion.
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport (
    PyBool_Type, PyDict_Check, PyDict_GetItem, PyErr_Clear, PyErr_NoMemory, PyErr_Occurred,
    PyFloat_FromDouble, PyFloat_Type, PyList_Check, PyLong_AsDouble, PyLong_AsLong, PyLong_Check,
    PyOS_FSPath, PyObject_CallOneArg, PyObject_HasAttrString, PySequence_Fast_ITEMS, PyTuple_Check,
    PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyUnicode_Compare, PyUnicode_Type, Py_TYPE,
)
from tvm_ffi._binding.interpreter cimport (
    is_finalizing, load_count, load_flag, store_count, store_flag,
)
from tvm_ffi._binding.object cimport (
    CObject, check, handle_of, hooks, release_object, releases_gil_by_default, set_exception,
)
from tvm_ffi._binding.vectorcall cimport PyVectorcall_NARGS

from tvm_ffi._binding.values import PyNativeObject

cdef enum:
    TO_FLOAT, TO_TEXT, TO_CONTAINER, FROM_TEXT  # values of `Conversion.kind`

cdef enum:
    MAX_COMPARED = 16  # maximum number of parameter names to compare before a dict lookup

# Marks a required parameter in `ArgumentBinder.defaults`.
NO_DEFAULT = object()
cdef PyObject* _no_default = <PyObject*>NO_DEFAULT

# Directions of parameters: the function reads the argument, writes it, does both, or has not
# declared it.
DIRECTIONS = ("in", "out", "inout", "unknown")


cdef class ArgumentBinder:
    """Binds the arguments of one function to its parameters; see `signature_lookup.new_binder`.

    Parameters
    ----------
    signature : Signature
        The signature of the function.
    names, defaults, converters : tuple
        One element per parameter, in order, without the variadic parameter.  Names are interned.
        A default is `NO_DEFAULT` for a required parameter.  A converter is None (no conversion),
        ``float``, ``str``, a result of `container_converter`, or the class of dtypes or devices,
        which converts text.
    directions : bytes
        One index in `DIRECTIONS` per element of `names`.
    num_positional_only, num_positional : int
        The number of parameters that accept only positional arguments, and of parameters that
        accept positional arguments.
    is_variadic : bool
        True if the function accepts any number of further positional arguments.
    checks : CObject, optional
        Native function that checks packed arguments against the signature.
    """

    def __cinit__(
        self, signature, tuple names not None, tuple defaults not None, tuple converters not None,
        bytes directions not None, int num_positional_only, int num_positional, bint is_variadic,
        CObject checks=None,
    ):
        # Argument binding indexes arrays without checks and relies on these invariants.
        if not len(names) == len(defaults) == len(converters) == len(directions):
            raise ValueError(
                "ArgumentBinder: expected as many defaults, converters and directions as names "
                f"({len(names)}), got {len(defaults)}, {len(converters)} and {len(directions)}")
        if not 0 <= num_positional_only <= num_positional <= len(names):
            raise ValueError(
                "ArgumentBinder: expected 0 <= num_positional_only <= num_positional <= "
                f"{len(names)}, got {num_positional_only} and {num_positional}")
        for name in names:
            if type(name) is not str:
                raise TypeError(f"ArgumentBinder: expected a str as parameter name, got {name!r}")
        self.signature = signature
        self.names, self.defaults, self.converters = names, defaults, converters
        self.directions = directions
        self.indices = {
            name: index for index, name in enumerate(names) if index >= num_positional_only}
        self.num_params = len(names)
        self.num_positional_only, self.num_positional = num_positional_only, num_positional
        self.is_variadic = is_variadic
        if checks is not None:
            self.checks = handle_of(checks)
            abi.TVMFFIObjectIncRef(self.checks)
        takes_all_by_position = not is_variadic and num_positional == self.num_params
        self.exact_count = self.num_params if takes_all_by_position else -1
        self.conversions = <Conversion*>calloc(len(names) + 1, sizeof(Conversion))
        if self.conversions == NULL:
            raise MemoryError()
        for index, converter in enumerate(converters):
            if converter is not None:
                self._add_conversion(index, converter)

    def __dealloc__(self):
        free(self.conversions)
        if self.checks != NULL:
            release_object(self.checks)
        if self.preparation_checks != NULL:
            release_object(self.preparation_checks)

    cdef int _add_conversion(self, int index, object converter) except -1:
        cdef Conversion* conversion = &self.conversions[self.num_conversions]
        conversion.index = index
        conversion.kind = TO_CONTAINER
        if converter is float:
            conversion.kind, conversion.accepted_class = TO_FLOAT, &PyFloat_Type
        elif converter is str:
            conversion.kind, conversion.accepted_class = TO_TEXT, &PyUnicode_Type
        elif isinstance(converter, type):
            conversion.kind = FROM_TEXT
            conversion.accepted_class = <PyTypeObject*>converter
        self.num_conversions += 1
        return 0


def container_converter(schema):
    """Return a callable that converts a list, tuple or dict to the container of a type schema."""
    return hooks.container_converter(schema)


# ---- binding -------------------------------------------------------------------------------

cdef bint needs_no_conversion(ArgumentBinder binder, PyObject* const* values) noexcept:
    cdef const Conversion* conversion
    cdef int i
    for i in range(binder.num_conversions):
        conversion = &binder.conversions[i]
        if Py_TYPE(values[conversion.index]) != conversion.accepted_class:
            return False
    return True


cdef Py_ssize_t count_bound(ArgumentBinder binder, Py_ssize_t num_args) noexcept:
    if binder.is_variadic and num_args > binder.num_positional:
        return binder.num_params + num_args - binder.num_positional
    return binder.num_params


cdef inline int _index_of_name(ArgumentBinder binder, PyObject* name) noexcept:
    """Return the index of the parameter with the name of a keyword; -1 if there is none."""
    cdef PyObject* names = <PyObject*>binder.names
    cdef PyObject* index
    cdef int i
    for i in range(binder.num_positional_only, min(binder.num_params, MAX_COMPARED)):
        if PyTuple_GET_ITEM(names, i) == name:
            return i
    if Py_TYPE(name) == &PyUnicode_Type:
        index = PyDict_GetItem(<PyObject*>binder.indices, name)
        return -1 if index == NULL else <int>PyLong_AsLong(index)
    # For a keyword of a subclass of str, which may override `__hash__`, do not use the dict.
    for i in range(binder.num_positional_only, binder.num_params):
        if PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0:
            return i
    return -1


cdef int bind(
    ArgumentBinder binder, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames,
    PyObject** bound
) noexcept:
    cdef PyObject* defaults = <PyObject*>binder.defaults
    cdef Py_ssize_t num_names = 0 if kwnames == NULL else PyTuple_GET_SIZE(kwnames)
    # Arguments of the variadic parameter follow the positional parameters in `bound`.
    cdef Py_ssize_t num_extra = count_bound(binder, num_args) - binder.num_params
    cdef Py_ssize_t i
    cdef Py_ssize_t index
    if num_args > binder.num_positional + num_extra:
        return _raise_binding_error(binder, num_args, kwnames)
    for i in range(num_args):
        bound[i] = values[i]
    for i in range(num_args, binder.num_params + num_extra):
        bound[i] = NULL
    for i in range(num_names):
        index = _index_of_name(binder, PyTuple_GET_ITEM(kwnames, i))
        if index >= binder.num_positional:
            index += num_extra
        if index < 0 or bound[index] != NULL:
            return _raise_binding_error(binder, num_args, kwnames)
        bound[index] = values[num_args + i]
    for i in range(num_args, binder.num_params + num_extra):
        if bound[i] == NULL:
            bound[i] = PyTuple_GET_ITEM(defaults, i - num_extra)
            if bound[i] == _no_default:
                return _raise_binding_error(binder, num_args, kwnames)
    return 0


cdef int _raise_binding_error(
    ArgumentBinder binder, Py_ssize_t num_args, PyObject* kwnames
) noexcept:
    """Set the TypeError of a call whose arguments cannot be bound.  Returns -1."""
    try:
        from tvm_ffi.signature._binding_errors import binding_problem  # rarely needed

        # Compare the text of keywords, as `_index_of_name` does: a subclass of str may override
        # `__eq__` and `__hash__`.
        keywords = () if kwnames == NULL else tuple(map(str.__str__, <tuple><object>kwnames))
        problem = binding_problem(binder.signature, num_args, keywords)
        raise TypeError(f"{binder.signature.name}() {problem}")
    except BaseException as error:
        set_exception(error)
    return -1


# ---- conversion ----------------------------------------------------------------------------

cdef Py_ssize_t convert_bound(ArgumentBinder binder, PyObject** bound, PyObject** owned) noexcept:
    cdef const Conversion* conversion
    cdef Py_ssize_t num_owned = 0
    cdef PyObject* converted
    cdef int i
    # Arguments of variadic functions are not converted, because further arguments may shift
    # keyword-only parameters: `conversion.index` is then not the index in `bound`.
    for i in range(0 if binder.is_variadic else binder.num_conversions):
        conversion = &binder.conversions[i]
        if Py_TYPE(bound[conversion.index]) == conversion.accepted_class:
            continue
        converted = _convert_argument(binder, conversion, bound[conversion.index])
        if converted == NULL and PyErr_Occurred() != NULL:
            explain_conversion(binder.signature, binder.names[conversion.index])
            while num_owned > 0:
                num_owned -= 1
                Py_DECREF(<object>owned[num_owned])
            return -1
        if converted != NULL:
            bound[conversion.index] = owned[num_owned] = converted
            num_owned += 1
    return num_owned


cdef PyObject* _convert_argument(
    ArgumentBinder binder, const Conversion* conversion, PyObject* value
) noexcept:
    """Convert an argument to the declared type of its parameter and return a new reference.

    Returns NULL without an exception if the value needs no conversion.
    Fails: NULL with an exception set.
    """
    cdef double number
    if conversion.kind == TO_FLOAT:
        if not PyLong_Check(value) or Py_TYPE(value) == &PyBool_Type:
            return NULL  # no class derived from int; a bool, which only some parameters accept
        number = PyLong_AsDouble(value)
        return NULL if number == -1 and PyErr_Occurred() != NULL else PyFloat_FromDouble(number)
    if conversion.kind == FROM_TEXT and Py_TYPE(value) != &PyUnicode_Type:
        return NULL
    if conversion.kind == FROM_TEXT:
        return PyObject_CallOneArg(PyTuple_GET_ITEM(<PyObject*>binder.converters, conversion.index),
                                   value)
    if conversion.kind == TO_TEXT:
        return PyOS_FSPath(value) if PyObject_HasAttrString(value, b"__fspath__") else NULL
    if isinstance(<object>value, PyNativeObject):  # such as `Shape`, which derives from tuple
        return NULL
    if PyList_Check(value) or PyTuple_Check(value) or PyDict_Check(value):
        return PyObject_CallOneArg(PyTuple_GET_ITEM(<PyObject*>binder.converters, conversion.index),
                                   value)
    return NULL


cdef void make_floats(ArgumentBinder binder, abi.TVMFFIAny* args, int32_t num_args) noexcept:
    cdef const Conversion* conversion
    cdef abi.TVMFFIAny* arg
    cdef int i
    if binder is None:
        return
    for i in range(binder.num_conversions):
        conversion = &binder.conversions[i]
        if conversion.kind == TO_FLOAT and conversion.index < num_args:
            arg = &args[conversion.index]
            if arg.type_index == abi.kTVMFFIInt or arg.type_index == abi.kTVMFFIBool:
                arg.type_index = abi.kTVMFFIFloat
                arg.v_float64 = <double>arg.v_int64


cdef Py_ssize_t _parameter_index(
    ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args
) noexcept:
    """Return the index of the parameter that gets the argument at `index` of `num_args`.

    Returns -1 if the parameter is variadic or `binder` is None.
    """
    if binder is None:
        return -1
    if index < binder.num_positional:
        return index
    index -= num_args - binder.num_params
    return index if index >= binder.num_positional else -1


cdef object name_of_argument(ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args):
    cdef Py_ssize_t parameter = _parameter_index(binder, index, num_args)
    return None if parameter < 0 else binder.names[parameter]


cdef object direction_of_argument(ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args):
    cdef Py_ssize_t parameter = _parameter_index(binder, index, num_args)
    return "unknown" if parameter < 0 else DIRECTIONS[binder.directions[parameter]]


# ---- calls ---------------------------------------------------------------------------------

# The signature version, see load_signature_version.
cdef Py_ssize_t _signature_version = 0


def declared_signature(Function function not None):
    """Return the declared signature of a function; None if there is no declared signature."""
    binder = hooks.signature_lookup(function, origin_of(function))
    return None if binder is None else binder.signature


cdef PyObject* _call_unresolved(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    """Vectorcall entry of functions whose signature was not looked up: look it up, then call.

    During interpreter shutdown, a finalizer may call a function after the Python modules that look
    up signatures were cleared.  The function is then called by position.
    """
    cdef Function function = <Function>callable
    if resolve_signature(function) != 0:
        if kwnames != NULL or not is_finalizing():
            return NULL
        PyErr_Clear()
        return call_by_position(callable, values, nargsf, NULL)
    return load_entry(function)(callable, values, nargsf, kwnames)


cdef int resolve_signature(Function function) noexcept:
    """Look up the signature and store its argument binder.  Fails: -1 with an exception set.

    Threads: several threads may look up the same signature concurrently.  The function is marked as
    resolved after the binder is stored, so that no thread calls it without the binder.  If the
    signature is replaced during the lookup, the lookup starts again.
    """
    cdef Py_ssize_t version
    try:
        while True:
            version = load_signature_version()
            binder = None
            if callable_of(function.chandle) == NULL:  # a callback needs no binder
                binder = hooks.signature_lookup(function, origin_of(function))
            is_non_blocking = binder is not None and binder.signature.non_blocking
            if _store_binder(function, binder, is_non_blocking, version):
                return 0
    except BaseException as error:  # for example MemoryError; the next call repeats the lookup
        set_exception(error)
    return -1


cdef bint _store_binder(
    Function function, ArgumentBinder binder, bint is_non_blocking, Py_ssize_t version
) except -1:
    """Store the binder and return True; return False if the signature version changed.

    If another thread has stored its binder first, that binder stays, because calls may use it.
    """
    # The previous binder; releasing it may run Python code, so this happens after the critical
    # section.
    cdef object _earlier = None
    with cython.critical_section(_wrapper_lock):
        if _signature_version != version:
            return False
        if not function.is_resolved:
            if is_non_blocking and not function.release_gil_assigned:
                store_flag(&function.releases_gil, False)
            _earlier = _publish(function, binder)
    return True


cdef object _publish(Function function, ArgumentBinder binder):
    """Store the binder, or None, and the vectorcall entry that uses it; return the previous binder.

    Threads: needs `_wrapper_lock`.
    """
    Py_INCREF(binder)
    cdef PyObject* earlier = swap_binder(function, <PyObject*>binder)
    cdef object owned = <object>earlier
    Py_DECREF(owned)
    if binder is None:
        store_entry(function, <Vectorcall>call_by_position)
    elif binder.checks == NULL or function.is_unchecked:
        store_entry(function, <Vectorcall>_call_with_binder)
    else:
        store_entry(function, <Vectorcall>_call_with_checks)
    store_flag(&function.is_resolved, True)
    return owned


cdef PyObject* _call_with_binder(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    """Vectorcall entry of functions with a signature that need no checks."""
    cdef Py_ssize_t num_args = PyVectorcall_NARGS(nargsf)
    cdef ArgumentBinder binder = <ArgumentBinder>load_binder(<Function>callable)
    if kwnames == NULL and num_args == binder.exact_count and needs_no_conversion(binder, values):
        return call_by_position(callable, values, nargsf, NULL)
    return _bind_and_call(<Function>callable, binder, values, num_args, kwnames, NULL)


cdef PyObject* _call_with_checks(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    """Vectorcall entry of functions with a signature that the called code does not check."""
    cdef Py_ssize_t num_args = PyVectorcall_NARGS(nargsf)
    cdef ArgumentBinder binder = <ArgumentBinder>load_binder(<Function>callable)
    cdef abi.TVMFFIObjectHandle checks = binder.checks
    if kwnames == NULL and num_args == binder.exact_count and needs_no_conversion(binder, values):
        return call_checked(<Function>callable, values, num_args, checks)
    return _bind_and_call(<Function>callable, binder, values, num_args, kwnames, checks)


cdef inline PyObject* _bind_and_call(
    Function function, ArgumentBinder binder, PyObject* const* values, Py_ssize_t num_args,
    PyObject* kwnames, abi.TVMFFIObjectHandle checks,
) noexcept:
    cdef PyObject* bound[MAX_STACK_ARGS]
    cdef Py_ssize_t num_bound = count_bound(binder, num_args)
    if num_bound > MAX_STACK_ARGS:
        return _call_bound_on_heap(function, values, num_args, kwnames, binder, checks)
    if bind(binder, values, num_args, kwnames, bound) != 0:
        return NULL
    return _call_bound(function, binder, bound, num_bound, checks)


cdef inline PyObject* _call_bound(
    Function function, ArgumentBinder binder, PyObject** bound, Py_ssize_t num_bound,
    abi.TVMFFIObjectHandle checks,
) noexcept:
    """Convert the bound arguments to the declared types, then call the function."""
    cdef PyObject* owned[MAX_STACK_ARGS]
    cdef Py_ssize_t num_owned = 0
    cdef PyObject* py_result
    if binder.num_conversions != 0:
        num_owned = convert_bound(binder, bound, owned)
        if num_owned < 0:
            return NULL
    py_result = call_checked(function, bound, num_bound, checks)
    while num_owned > 0:
        num_owned -= 1
        Py_DECREF(<object>owned[num_owned])
    return py_result


cdef PyObject* _call_bound_on_heap(
    Function function, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames,
    ArgumentBinder binder, abi.TVMFFIObjectHandle checks,
) noexcept:
    """Same as `_bind_and_call`, but for more than MAX_STACK_ARGS bound arguments."""
    cdef Py_ssize_t num_bound = count_bound(binder, num_args)
    cdef PyObject** bound = <PyObject**>PyMem_Malloc(2 * <size_t>num_bound * sizeof(void*))
    cdef PyObject** owned = bound + num_bound
    cdef Py_ssize_t num_owned = -1
    cdef PyObject* py_result = NULL
    if bound == NULL:
        return PyErr_NoMemory()
    if bind(binder, values, num_args, kwnames, bound) == 0:
        num_owned = convert_bound(binder, bound, owned)
    if num_owned >= 0:
        py_result = call_checked(function, bound, num_bound, checks)
    while num_owned > 0:
        num_owned -= 1
        Py_DECREF(<object>owned[num_owned])
    PyMem_Free(bound)
    return py_result


def arguments_in_order(Function function not None, tuple args not None, dict kwargs not None):
    """Return the arguments of a call in the order of the parameters, converted and with defaults.

    Raises
    ------
    TypeError
        If an argument is missing, unknown or passed twice, or if the function has no signature and
        there are keyword arguments.
    """
    cdef ArgumentBinder binder
    if not load_flag(&function.is_resolved) and resolve_signature(function) != 0:
        check(-2)
    binder = <ArgumentBinder>load_binder(function)
    if binder is None:
        if kwargs:
            raise keyword_error(function, next(iter(kwargs)))
        return args
    return _bind_to_tuple(binder, args, kwargs)


cdef tuple _bind_to_tuple(ArgumentBinder binder, tuple args, dict kwargs):
    cdef tuple values = args + tuple(kwargs.values())
    cdef tuple names = tuple(kwargs)
    cdef Py_ssize_t num_bound = count_bound(binder, len(args))
    cdef PyObject** bound = <PyObject**>PyMem_Malloc(2 * <size_t>num_bound * sizeof(void*) + 1)
    cdef PyObject** owned = bound + num_bound
    cdef Py_ssize_t num_owned = -1
    if bound == NULL:
        raise MemoryError()
    try:
        if bind(binder, PySequence_Fast_ITEMS(values), len(args), <PyObject*>names, bound) == 0:
            num_owned = convert_bound(binder, bound, owned)
        if num_owned < 0:
            check(-2)
        return tuple([<object>bound[i] for i in range(num_bound)])
    finally:
        while num_owned > 0:
            num_owned -= 1
            Py_DECREF(<object>owned[num_owned])
        PyMem_Free(bound)


cdef int set_origin(Function function, object origin) except -1:
    function.origin = origin
    if function.entry == <Vectorcall>call_by_position or type(function) is Method:
        function.entry = _call_unresolved
    return 0


def set_member_origin(Function function not None, origin) -> None:
    """Set the origin of a method or constructor whose metadata contain a signature."""
    set_origin(function, origin)


cdef Py_ssize_t load_signature_version() noexcept:
    return load_count(&_signature_version)


cdef void advance_signature_version() noexcept:
    store_count(&_signature_version, _signature_version + 1)


cdef int unresolve(Function function) except -1:
    # Keep `function.binder`, because a call on another thread may be about to read it.
    with cython.critical_section(_wrapper_lock):
        if not function.release_gil_assigned:
            store_flag(&function.releases_gil, releases_gil_by_default())
        store_entry(function, <Vectorcall>_call_unresolved)
        store_flag(&function.is_resolved, False)
    return 0

# SPDX-License-Identifier: Apache-2.0
"""How the arguments of a call find the parameters of a signature: by position, by name, by default.

A plan is made once per function.  Binding compares addresses of names, which the interpreter has
interned, as far as there are few; what goes wrong is explained by `signature._binding_errors`, which has
all the words.
"""

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF
from libc.stdlib cimport calloc, free

from tvm_ffi._binding.call.argument_error cimport name_parameter
from tvm_ffi._binding.object.error cimport set_exception

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject* value) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject* value) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject* value, Py_ssize_t i) noexcept
    int PyUnicode_Compare(PyObject* one, PyObject* other) noexcept
    PyObject* PyDict_GetItem(PyObject* dictionary, PyObject* key) noexcept
    long PyLong_AsLong(PyObject* value) noexcept
    void PyErr_Clear() noexcept
    double PyLong_AsDouble(PyObject* value) noexcept
    PyObject* PyErr_Occurred() noexcept
    PyObject* PyFloat_FromDouble(double value) noexcept
    PyObject* PyOS_FSPath(PyObject* path) noexcept
    PyObject* PyObject_CallOneArg(PyObject* function, PyObject* arg) noexcept
    bint PyObject_HasAttrString(PyObject* value, const char* name) noexcept
    bint PyList_Check(PyObject* value) noexcept
    bint PyTuple_Check(PyObject* value) noexcept
    bint PyDict_Check(PyObject* value) noexcept
    PyTypeObject PyLong_Type, PyFloat_Type, PyUnicode_Type

cdef enum:
    TO_FLOAT, TO_TEXT, TO_CONTAINER

cdef enum:
    MAX_COMPARED = 16  # names; from there on a hash is found sooner

# Stands among the defaults for those that are missing.
NO_DEFAULT = object()
cdef PyObject* _no_default = <PyObject*>NO_DEFAULT

# Given the schema of a container, returns what converts a list, tuple or dict to it.
cdef object _container_converter = None

DIRECTIONS = ("in", "out", "inout", "unknown")


cdef class CallPlan:
    """How the arguments of one function find their parameters; `call.planning` makes it.

    Parameters
    ----------
    signature : Signature
        What the function takes.
    names, defaults, converters : tuple
        Of its parameters without a variadic one, in order: the interned name, the default as it is
        packed or `NO_DEFAULT`, and None, ``float``, ``str`` or what converts containers.
    directions : bytes
        In the same order, places in `DIRECTIONS`.
    num_positional_only, num_positional : int
        How many of them may be given by position only, and by position.
    """

    def __cinit__(
        self, signature, tuple names not None, tuple defaults not None, tuple converters not None,
        bytes directions not None, int num_positional_only, int num_positional, bint is_variadic,
    ):
        # Calls trust what is checked here.
        if not len(names) == len(defaults) == len(converters) == len(directions):
            raise ValueError("a plan has as many defaults, converters and directions as names")
        if not 0 <= num_positional_only <= num_positional <= len(names):
            raise ValueError(
                f"{num_positional_only} and {num_positional} of {len(names)} parameters cannot be "
                "given by position only, and by position")
        for name in names:
            if type(name) is not str:
                raise TypeError(f"the name of a parameter must be a str, got {name!r}")
        self.signature = signature
        self.names, self.defaults, self.converters = names, defaults, converters
        self.directions = directions
        self.places = {name: place for place, name in enumerate(names)
                       if place >= num_positional_only}
        self.num_params = len(names)
        self.num_positional_only, self.num_positional = num_positional_only, num_positional
        self.is_variadic = is_variadic
        takes_all_by_position = not is_variadic and num_positional == self.num_params
        self.exact_count = self.num_params if takes_all_by_position else -1
        self.conversions = <Conversion*>calloc(len(names) + 1, sizeof(Conversion))
        if self.conversions == NULL:
            raise MemoryError()
        for place, converter in enumerate(converters):
            if converter is not None:
                self._add_conversion(place, converter)

    def __dealloc__(self):
        free(self.conversions)

    cdef int _add_conversion(self, int place, object converter) except -1:
        cdef Conversion* conversion = &self.conversions[self.num_conversions]
        conversion.place = place
        conversion.kind = TO_CONTAINER
        if converter is float:
            conversion.kind, conversion.unchanged = TO_FLOAT, &PyFloat_Type
        elif converter is str:
            conversion.kind, conversion.unchanged = TO_TEXT, &PyUnicode_Type
        self.num_conversions += 1
        return 0


def container_converter(schema):
    """Return what converts a list, tuple or dict to a declared container."""
    return _container_converter(schema)


def set_container_converter(make) -> None:
    """Set what `container_converter` returns: who knows the registered types is built on this."""
    global _container_converter
    _container_converter = make


# ---- binding -------------------------------------------------------------------------------

cdef bint is_as_declared(CallPlan plan, PyObject* const* values) noexcept:
    cdef const Conversion* conversion
    cdef int i
    for i in range(plan.num_conversions):
        conversion = &plan.conversions[i]
        if Py_TYPE(values[conversion.place]) != conversion.unchanged:
            return False
    return True


cdef Py_ssize_t count_bound(CallPlan plan, Py_ssize_t num_args) noexcept:
    if plan.is_variadic and num_args > plan.num_positional:
        return plan.num_params + num_args - plan.num_positional
    return plan.num_params


cdef inline int _place_of(CallPlan plan, PyObject* name) noexcept:
    """The parameter of a name; -1: there is none."""
    cdef PyObject* names = <PyObject*>plan.names
    cdef PyObject* place
    cdef int i
    for i in range(plan.num_positional_only, min(plan.num_params, MAX_COMPARED)):
        if PyTuple_GET_ITEM(names, i) == name:
            return i
    if Py_TYPE(name) == &PyUnicode_Type:
        place = PyDict_GetItem(<PyObject*>plan.places, name)
        return -1 if place == NULL else <int>PyLong_AsLong(place)
    # A subclass may have a hash of its own.
    for i in range(plan.num_positional_only, plan.num_params):
        if PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0:
            return i
    return -1


cdef int bind(
    CallPlan plan, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames,
    PyObject** bound
) noexcept:
    cdef PyObject* defaults = <PyObject*>plan.defaults
    cdef Py_ssize_t num_names = 0 if kwnames == NULL else PyTuple_GET_SIZE(kwnames)
    # What a variadic parameter takes stands between those by position and those by name.
    cdef Py_ssize_t num_extra = count_bound(plan, num_args) - plan.num_params
    cdef Py_ssize_t i
    cdef Py_ssize_t place
    if num_args > plan.num_positional + num_extra:
        return _explain(plan, num_args, kwnames)
    for i in range(num_args):
        bound[i] = values[i]
    for i in range(num_args, plan.num_params + num_extra):
        bound[i] = NULL
    for i in range(num_names):
        place = _place_of(plan, PyTuple_GET_ITEM(kwnames, i))
        if place >= plan.num_positional:
            place += num_extra
        if place < 0 or bound[place] != NULL:
            return _explain(plan, num_args, kwnames)
        bound[place] = values[num_args + i]
    for i in range(num_args, plan.num_params + num_extra):
        if bound[i] == NULL:
            bound[i] = PyTuple_GET_ITEM(defaults, i - num_extra)
            if bound[i] == _no_default:
                return _explain(plan, num_args, kwnames)
    return 0


cdef int _explain(CallPlan plan, Py_ssize_t num_args, PyObject* kwnames) noexcept:
    try:
        from tvm_ffi.signature._binding_errors import binding_problem  # few calls are wrong

        keywords = () if kwnames == NULL else <tuple><object>kwnames
        problem = binding_problem(plan.signature, num_args, keywords)
        raise TypeError(f"{plan.signature.name}() {problem}")
    except BaseException as error:
        set_exception(error)
    return -1


# ---- conversion ----------------------------------------------------------------------------

cdef Py_ssize_t convert_bound(CallPlan plan, PyObject** bound, PyObject** owned) noexcept:
    cdef const Conversion* conversion
    cdef Py_ssize_t num_owned = 0
    cdef PyObject* made
    cdef int i
    # A variadic function's parameters by name stand elsewhere; their values are packed as they are.
    for i in range(0 if plan.is_variadic else plan.num_conversions):
        conversion = &plan.conversions[i]
        if Py_TYPE(bound[conversion.place]) == conversion.unchanged:
            continue
        made = _converted(plan, conversion, bound[conversion.place])
        if made == NULL and PyErr_Occurred() != NULL:
            name_parameter(plan.signature, plan.names[conversion.place])
            while num_owned > 0:
                num_owned -= 1
                Py_DECREF(<object>owned[num_owned])
            return -1
        if made != NULL:
            bound[conversion.place] = owned[num_owned] = made
            num_owned += 1
    return num_owned


cdef PyObject* _converted(
    CallPlan plan, const Conversion* conversion, PyObject* value
) noexcept:
    """What is packed instead of the value; NULL: the value, or an exception is set."""
    cdef double number
    if conversion.kind == TO_FLOAT:
        if Py_TYPE(value) != &PyLong_Type:
            return NULL
        number = PyLong_AsDouble(value)
        return NULL if number == -1 and PyErr_Occurred() != NULL else PyFloat_FromDouble(number)
    if conversion.kind == TO_TEXT:
        return PyOS_FSPath(value) if PyObject_HasAttrString(value, b"__fspath__") else NULL
    if PyList_Check(value) or PyTuple_Check(value) or PyDict_Check(value):
        return PyObject_CallOneArg(PyTuple_GET_ITEM(<PyObject*>plan.converters, conversion.place),
                                   value)
    return NULL


cdef Py_ssize_t _parameter_of(CallPlan plan, Py_ssize_t place, Py_ssize_t num_args) noexcept:
    """The parameter that an argument goes to; -1: a variadic one, or there is no plan."""
    if plan is None:
        return -1
    if place < plan.num_positional:
        return place
    place -= num_args - plan.num_params
    return place if place >= plan.num_positional else -1


cdef object name_of_argument(CallPlan plan, Py_ssize_t place, Py_ssize_t num_args):
    cdef Py_ssize_t parameter = _parameter_of(plan, place, num_args)
    return None if parameter < 0 else plan.names[parameter]


cdef object direction_of_argument(CallPlan plan, Py_ssize_t place, Py_ssize_t num_args):
    cdef Py_ssize_t parameter = _parameter_of(plan, place, num_args)
    return "unknown" if parameter < 0 else DIRECTIONS[plan.directions[parameter]]

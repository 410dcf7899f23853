# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject


# An argument that may have to be converted before it is packed.
ctypedef struct Conversion:
    int index                # of the parameter
    PyTypeObject* unchanged  # values of exactly this class are right as they are; NULL: none
    int kind


cdef class ArgumentBinder:
    cdef readonly object signature
    cdef tuple names       # of the parameters, interned, without a variadic one
    cdef dict indices       # of those that may be given by name
    cdef tuple defaults    # in the same order; NO_DEFAULT where there is none
    cdef tuple converters  # in the same order; None, or what converts a value
    cdef bytes directions  # in the same order
    cdef int num_params    # without a variadic one
    cdef int exact_count   # the same; -1 where position alone does not give all of them
    cdef int num_positional
    cdef int num_positional_only
    cdef int num_conversions
    cdef Conversion* conversions
    cdef bint is_variadic

    cdef int _add_conversion(self, int index, object converter) except -1


# Whether all arguments, given by position, can be packed as they are.
cdef bint is_as_declared(ArgumentBinder binder, PyObject* const* values) noexcept
# How many arguments native code gets; as many places must be in `bound`.
cdef Py_ssize_t count_bound(ArgumentBinder binder, Py_ssize_t num_args) noexcept
# Puts arguments and defaults in the order of the parameters, borrowed.  0, or -1 with a TypeError.
cdef int bind(
    ArgumentBinder binder, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames,
    PyObject** bound) noexcept
# Converts where that is declared; what is made goes to `owned`, which has as many places.  The
# number of those, or -1 with an exception set and nothing owned.
cdef Py_ssize_t convert_bound(ArgumentBinder binder, PyObject** bound, PyObject** owned) noexcept
# The name of the parameter that an argument goes to; None for those of a variadic one, and without
# a binder.
cdef object name_of_argument(ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args)
# The direction of that parameter; "unknown" for those.
cdef object direction_of_argument(ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args)

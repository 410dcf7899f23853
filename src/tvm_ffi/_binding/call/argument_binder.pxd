# SPDX-License-Identifier: Apache-2.0
# Argument binding by position, keyword and default (definition in call/signature_call.pxi).
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi


# The conversion of one argument to the declared type of its parameter, before it is packed.
ctypedef struct Conversion:
    int index                     # index of the parameter
    PyTypeObject* accepted_class  # class whose instances need no conversion; NULL if there is none
    int kind                      # target of the conversion: TO_FLOAT, TO_TEXT or TO_CONTAINER


cdef class ArgumentBinder:
    cdef readonly object signature  # the `Signature` of the function
    # One element per parameter, in order, without the variadic parameter:
    cdef tuple names       # parameter names, interned
    cdef tuple defaults    # default values; NO_DEFAULT: the argument is required
    cdef tuple converters  # None (no conversion), float, str or a container converter
    # Direction of each argument (read, written or both): an index in DIRECTIONS.
    cdef bytes directions
    cdef dict indices      # name -> index of the parameters that accept keyword arguments
    cdef int num_params    # number of parameters without the variadic one
    cdef int exact_count   # num_params if all parameters accept positional arguments, else -1
    cdef int num_positional       # number of parameters that accept positional arguments
    cdef int num_positional_only  # number of parameters that accept only positional arguments
    cdef int num_conversions      # number of parameters with a converter
    cdef Conversion* conversions  # owned array of num_conversions elements
    cdef bint is_variadic         # True if the last parameter is variadic
    # Native function that checks packed arguments against the signature (see runtime/extra/checks);
    # owned.  NULL if the called function checks its arguments itself.
    cdef abi.TVMFFIObjectHandle checks
    # The native function that checks the arguments of prepared calls if `checks` is NULL; owned.
    # NULL before the first prepared call, or if the signature has no checks.
    cdef abi.TVMFFIObjectHandle preparation_checks
    cdef bint has_preparation_checks  # True after the first prepared call

    cdef int _add_conversion(self, int index, object converter) except -1


# Return True if no argument must be converted to the declared type of its parameter.  `values` has
# `exact_count` elements.
cdef bint needs_no_conversion(ArgumentBinder binder, PyObject* const* values) noexcept
# Return the number of arguments of the native call for a Python call with `num_args` positional
# arguments.  The arrays `bound` and `owned` of the functions below have this size.
cdef Py_ssize_t count_bound(ArgumentBinder binder, Py_ssize_t num_args) noexcept
# Write arguments and defaults to the array `bound`, in the order of the parameters.  The elements
# are borrowed from `values` and from the binder.  `values` has `num_args` positional arguments,
# followed by one value per name in the tuple `kwnames`, which may be NULL.  Fails: -1 with
# TypeError set.
cdef int bind(
    ArgumentBinder binder, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames,
    PyObject** bound) noexcept
# Replace each element of `bound` that does not have the declared type with its converted value.
# The converted values are also written to the start of the array `owned`.  Returns the number of
# converted values; the caller owns one reference to each.  Fails: -1 with an exception set; the
# caller then owns no references.
cdef Py_ssize_t convert_bound(ArgumentBinder binder, PyObject** bound, PyObject** owned) noexcept
# Convert the packed integers and bools of float parameters, because the code of a function reads a
# float argument as a double.  Python ints are converted before they are packed; these are values of
# other classes, such as NumPy's.
cdef void make_floats(ArgumentBinder binder, abi.TVMFFIAny* args, int32_t num_args) noexcept
# Return the name of the parameter that gets the argument at `index` in a call with `num_args`
# arguments; None if the parameter is variadic or `binder` is None.
cdef object name_of_argument(ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args)
# Return the direction (an element of DIRECTIONS) of the parameter that gets the argument at `index`
# in a call with `num_args` arguments; "unknown" if the parameter is variadic or `binder` is None.
cdef object direction_of_argument(ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args)

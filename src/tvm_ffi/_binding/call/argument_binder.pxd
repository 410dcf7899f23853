# SPDX-License-Identifier: Apache-2.0
# Argument binding: matching positional and keyword arguments to the parameters of a signature.
#
# "Array" means an array of `count_bound` elements.
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject


# The conversion of an argument before it is packed.
ctypedef struct Conversion:
    int index                     # index of the parameter
    PyTypeObject* accepted_class  # values of exactly this class stay as they are; NULL: none
    int kind                      # TO_FLOAT, TO_TEXT or TO_CONTAINER


cdef class ArgumentBinder:
    cdef readonly object signature  # the `Signature`
    # One element per parameter, in order, without the variadic parameter:
    cdef tuple names       # interned names
    cdef tuple defaults    # default values; NO_DEFAULT: the argument is required
    cdef tuple converters  # None, float, str or a container converter
    cdef bytes directions  # indices in DIRECTIONS
    cdef dict indices      # name -> index of the parameters that accept keyword arguments
    cdef int num_params    # number of parameters without the variadic one
    cdef int exact_count   # num_params; -1 for variadic or keyword-only parameters
    cdef int num_positional       # number of parameters that accept positional arguments
    cdef int num_positional_only  # number of parameters that accept only positional arguments
    cdef int num_conversions
    cdef Conversion* conversions  # owned array of num_conversions elements
    cdef bint is_variadic

    cdef int _add_conversion(self, int index, object converter) except -1


# Return True if no argument must be converted.  `values` has `exact_count` elements.
cdef bint needs_no_conversion(ArgumentBinder binder, PyObject* const* values) noexcept
# Return the number of arguments of the native call: the size of the arrays below.
cdef Py_ssize_t count_bound(ArgumentBinder binder, Py_ssize_t num_args) noexcept
# Write arguments and defaults to the array `bound`, in the order of the parameters.  They are
# borrowed from `values` and from the binder.  `values` has `num_args` positional arguments, then
# one value per name of `kwnames`.  Fails: -1 with TypeError set.
cdef int bind(
    ArgumentBinder binder, PyObject* const* values, Py_ssize_t num_args, PyObject* kwnames,
    PyObject** bound) noexcept
# Replace the elements of `bound` that the signature requires to be converted.  The new values are
# also written to the array `owned`: returns their number; the caller owns one reference to each.
# Fails: -1 with an exception set; nothing is owned.
cdef Py_ssize_t convert_bound(ArgumentBinder binder, PyObject** bound, PyObject** owned) noexcept
# Return the name of the parameter of an argument; None for arguments of a variadic parameter, or
# if `binder` is None.
cdef object name_of_argument(ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args)
# Return the direction of the parameter of an argument; "unknown" where `name_of_argument` returns
# None.
cdef object direction_of_argument(ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args)

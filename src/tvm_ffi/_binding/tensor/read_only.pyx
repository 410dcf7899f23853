# SPDX-License-Identifier: Apache-2.0
"""Arrays whose caller knows that a function only reads them."""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert.loan cimport Loan, as_loan, loan_pool
from tvm_ffi._binding.convert.table cimport (
    CallState, Packer, ReadOnlyBecause, add_exact_packer, packer_of,
)
from tvm_ffi._binding.object.error cimport set_exception


cdef class ReadOnlyArgument:
    """What `readonly` returns: an array, to be passed to a function."""

    cdef object array

    def __repr__(self):
        return f"readonly({self.array!r})"


def readonly(array):
    """Pass an array to a function that only reads it.

    Parameters
    ----------
    array : object
        Anything that is passed as a tensor; it may be read-only.

    Returns
    -------
    object
        To be passed in place of the array.

    Raises
    ------
    TypeError
        If it is no array.

    Notes
    -----
    A NumPy array that must not be written reaches a native function only like this, or where the
    function's signature says that it reads the parameter: nobody can stop native code from writing
    into what it gets, and memory that is mapped read-only ends the process then.

    Examples
    --------
    >>> import numpy, tvm_ffi
    >>> constant = numpy.broadcast_to(numpy.float32(1), (4, 4))
    >>> argument = tvm_ffi.readonly(constant)
    """
    cdef ReadOnlyArgument argument
    cls = type(array)
    if not (hasattr(cls, "__dlpack__") or hasattr(cls, "__dlpack_c_exchange_api__")):
        raise TypeError(f"readonly takes an array or tensor, got {type(array).__name__}")
    argument = ReadOnlyArgument.__new__(ReadOnlyArgument)
    argument.array = array
    return argument


cdef int _pack(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    cdef PyObject* array = <PyObject*>(<ReadOnlyArgument>value).array
    cdef const Packer* inner = packer_of(array)
    cdef int32_t num_temporaries = state.num_temporaries
    cdef Loan* loan
    if inner == NULL or inner.pack(array, out, state, inner) != 0:
        return -1
    if out.type_index != abi.kTVMFFITensor and out.type_index != abi.kTVMFFIDLTensorPtr:
        set_exception(TypeError(
            f"readonly takes what is passed as a tensor, not {type(<object>array).__name__}"))
        return -1
    if out.type_index == abi.kTVMFFITensor and state.num_temporaries != num_temporaries:
        loan = as_loan(loan_pool(), out.v_obj)
        if loan != NULL:  # who gets what was made for this call is told
            loan.is_read_only = True
    state.read_only = ReadOnlyBecause.CALLER_SAYS_SO
    return 0


add_exact_packer(ReadOnlyArgument, _pack, NULL)

# SPDX-License-Identifier: Apache-2.0
"""Arrays whose caller knows that a function only reads them."""

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, Loan, PackFunction, Remark, add_exact_packer, as_loan, is_back, loan_pool,
)
from tvm_ffi._binding.values cimport StandIn, pack_stand_in


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


cdef object _array_of(object argument):
    return (<ReadOnlyArgument>argument).array


cdef int _mark(object array, abi.TVMFFIAny* packed, CallState* state) except -1:
    cdef Loan* loan
    if packed.type_index == abi.kTVMFFIDLTensorPtr:
        state.remark = Remark.IS_LENT_FOR_READING
        return 0
    if packed.type_index != abi.kTVMFFITensor:
        raise TypeError(
            f"readonly takes what is passed as a tensor, not {type(array).__name__}")
    loan = as_loan(loan_pool(), packed.v_obj)
    # Who gets what was made for this call is told; others have a loan that somebody has kept.
    if loan != NULL and is_back(&loan.header):
        loan.is_read_only = True
    state.remark = Remark.CALLER_SAYS_SO
    return 0


cdef StandIn _stand_in = StandIn(inner_of=_array_of, method=NULL, remark_on=_mark)
add_exact_packer(ReadOnlyArgument, <PackFunction>pack_stand_in, &_stand_in)

# SPDX-License-Identifier: Apache-2.0
"""Arrays whose caller knows that a function only reads them."""

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, ArgumentView, CallState, PackFunction, add_exact_packer, as_argument_view,
    has_one_reference, view_free_list,
)
from tvm_ffi._binding.values cimport ValueProtocol, pack_value_protocol


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
    cdef ArgumentView* arg_view
    if packed.type_index == abi.kTVMFFIDLTensorPtr:
        state.restriction = ArgumentRestriction.BORROWED_READ_ONLY
        return 0
    if packed.type_index != abi.kTVMFFITensor:
        raise TypeError(
            f"readonly takes what is passed as a tensor, not {type(array).__name__}")
    arg_view = as_argument_view(view_free_list(), packed.v_obj)
    # Who gets what was made for this call is told; others have a loan that somebody has kept.
    if arg_view != NULL and has_one_reference(&arg_view.header):
        arg_view.is_read_only = True
    state.restriction = ArgumentRestriction.DECLARED_READ_ONLY
    return 0


cdef ValueProtocol _value_protocol = ValueProtocol(
    inner_of=_array_of, method=NULL, add_restriction=_mark)
add_exact_packer(ReadOnlyArgument, <PackFunction>pack_value_protocol, &_value_protocol)

# SPDX-License-Identifier: Apache-2.0
"""`readonly`: array arguments for which the caller declares that the function only reads them."""

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, CallState, PackFunction, add_exact_packer,
)
from tvm_ffi._binding.values cimport ValueProtocol, pack_value_protocol


cdef class ReadOnlyArgument:
    """Result of `readonly`: an array argument for a function that only reads it."""

    cdef object array

    def __repr__(self):
        return f"readonly({self.array!r})"


def readonly(array):
    """Mark an array argument for a function that only reads it.

    Parameters
    ----------
    array : object
        Any object that is passed as a tensor.  Its memory may be read-only.

    Returns
    -------
    object
        The argument to pass instead of the array.

    Raises
    ------
    TypeError
        If `array` is not an array.

    Notes
    -----
    A read-only NumPy array is passed to a native function only through `readonly`, or if the
    function's signature declares the parameter as read-only.  Python cannot prevent native code
    from writing to an argument, and a write to memory that is mapped read-only ends the process.

    Examples
    --------
    >>> import numpy, tvm_ffi
    >>> constant = numpy.broadcast_to(numpy.float32(1), (4, 4))
    >>> argument = tvm_ffi.readonly(constant)
    """
    cdef ReadOnlyArgument argument
    cls = type(array)
    if not (
        hasattr(cls, "__dlpack__") or hasattr(cls, "__dlpack_c_exchange_api__") or is_buffer(array)
    ):
        from tvm_ffi._binding.object.type_names import array_remedy

        raise TypeError(
            f"readonly: expected an array or tensor, got {type(array).__name__}"
            f"{array_remedy(array)}")
    argument = ReadOnlyArgument.__new__(ReadOnlyArgument)
    argument.array = array
    return argument


cdef object _inner_array(object argument):
    return (<ReadOnlyArgument>argument).array


cdef int _restrict_to_reading(object array, abi.TVMFFIAny* packed, CallState* state) except -1:
    """Mark a packed argument as read-only.  Fails: TypeError if `packed` is not a tensor."""
    if packed.type_index == abi.kTVMFFIDLTensorPtr:
        state.restriction = ArgumentRestriction.BORROWED_READ_ONLY
        return 0
    if packed.type_index != abi.kTVMFFITensor:
        raise TypeError(
            "readonly: expected an object that is passed as a tensor, "
            f"got {type(array).__name__}")
    _make_read_only(packed, state)
    state.restriction = ArgumentRestriction.DECLARED_READ_ONLY
    return 0


cdef ValueProtocol _value_protocol = ValueProtocol(
    inner_of=_inner_array, method=NULL, add_restriction=_restrict_to_reading)
add_exact_packer(ReadOnlyArgument, <PackFunction>pack_value_protocol, &_value_protocol)

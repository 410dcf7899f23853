# SPDX-License-Identifier: Apache-2.0
"""Read-only arguments: checks that a function does not write memory that must not be written.

Python callables may get any read-only tensor, because they see that it is read-only; functions of
the runtime never write tensors.  For other functions, the signature declares the direction of each
parameter: "in" (read), "out" or "inout" (written).  Without a signature, it is "unknown".
"""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    TEMPORARIES_PER_ARGUMENT, ArgumentRestriction, CallState, Packer, begin_call, get_packer,
    release_temporaries, view_free_list,
)
from tvm_ffi._binding.object cimport check, set_exception

# The last part of the error message, which says how to fix the call, by direction of the parameter.
_REMEDIES = {
    "in": "",
    "out": "pass a writable array",
    "inout": "pass a writable copy",
    "unknown": (
        "it is unknown whether the function writes into it: pass `tvm_ffi.readonly(array)` if it "
        "only reads, or a writable copy"
    ),
}


cdef int refuse_read_only(
    ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args, ArgumentRestriction restriction
) noexcept:
    try:
        return _check_writable(direction_of_argument(binder, index, num_args), restriction)
    except BaseException as error:
        set_exception(error)
        return -1


cdef int _check_writable(str direction, ArgumentRestriction restriction) except -1:
    if direction == "in":
        return 0
    if restriction == ArgumentRestriction.BORROWED or restriction == ArgumentRestriction.MOVED:
        return 0
    if direction == "unknown" and restriction != ArgumentRestriction.READ_ONLY_ARRAY:
        return 0
    written = "" if direction == "unknown" else ", and the function writes into it"
    raise BufferError(f"the array is read-only{written}; {_REMEDIES[direction]}")


def check_memory(value, str direction not None) -> None:
    """Raise BufferError if a native function must not get the memory of an argument.

    A function that writes into an argument must not get read-only memory.

    Parameters
    ----------
    value : object
        The argument, such as an array.
    direction : str
        The direction that the signature declares for the parameter, see `DIRECTIONS`.
    """
    cdef const Packer* packer = get_packer(<PyObject*>value)
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT]
    cdef abi.TVMFFIAny view
    cdef CallState state
    cdef int code
    if packer == NULL:
        check(-2)
    begin_call(&state, temporaries, 1)
    code = packer.pack(<PyObject*>value, &view, &state, packer)
    release_temporaries(&state, view_free_list())
    check(code)
    if state.restriction != ArgumentRestriction.NONE:
        _check_writable(direction, state.restriction)

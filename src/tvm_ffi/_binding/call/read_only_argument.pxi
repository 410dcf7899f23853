# SPDX-License-Identifier: Apache-2.0
"""Which functions may get memory that must not be written.

Python callables get it with its mark, and the runtime's own functions write into no tensor.  Others
say in their signature what they do with a parameter, or nobody knows.
"""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    TEMPORARIES_PER_ARGUMENT, ArgumentRestriction, CallState, Packer, begin_call, packer_of,
    release_temporaries, view_free_list,
)
from tvm_ffi._binding.object cimport check, set_exception

_REMEDIES = {
    "in": "",
    "out": "pass a writable array",
    "inout": "pass a writable copy",
    "unknown": (
        "nothing says whether the function writes into it: pass `tvm_ffi.readonly(array)` if it "
        "only reads, or a writable copy"
    ),
}


cdef int refuse_read_only(
    ArgumentBinder binder, Py_ssize_t index, Py_ssize_t num_args, ArgumentRestriction restriction
) noexcept:
    try:
        return _refuse(direction_of_argument(binder, index, num_args), restriction)
    except BaseException as error:
        set_exception(error)
        return -1


cdef int _refuse(str direction, ArgumentRestriction restriction) except -1:
    if direction == "in":
        return 0
    if restriction == ArgumentRestriction.BORROWED or restriction == ArgumentRestriction.MOVED:
        return 0
    if direction == "unknown" and restriction != ArgumentRestriction.READ_ONLY_ARRAY:
        return 0
    written = "" if direction == "unknown" else ", and the function writes into it"
    raise BufferError(f"the array is read-only{written}; {_REMEDIES[direction]}")


def check_memory(value, str direction not None) -> None:
    """Raise BufferError unless a native function may get the memory of an argument.

    Parameters
    ----------
    value : object
        The argument, as a call would get it.
    direction : str
        What the function's signature says of the parameter.
    """
    cdef const Packer* packer = packer_of(<PyObject*>value)
    cdef abi.TVMFFIObject* temporaries[TEMPORARIES_PER_ARGUMENT]
    cdef abi.TVMFFIAny view
    cdef CallState state
    cdef int code
    if packer == NULL:
        check(-2)
    begin_call(&state, temporaries)
    code = packer.pack(<PyObject*>value, &view, &state, packer)
    release_temporaries(&state, view_free_list())
    check(code)
    if state.restriction != ArgumentRestriction.NONE:
        _refuse(direction, state.restriction)

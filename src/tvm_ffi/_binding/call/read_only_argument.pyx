# SPDX-License-Identifier: Apache-2.0
"""Which functions may get memory that must not be written.

Python callables get it with its mark, and the runtime's own functions write into no tensor.  Others
say in their signature what they do with a parameter, or nobody knows.
"""

from tvm_ffi._binding.call.call_plan cimport CallPlan, direction_of_argument
from tvm_ffi._binding.convert.table cimport ReadOnlyBecause

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
    CallPlan plan, Py_ssize_t place, Py_ssize_t num_args, ReadOnlyBecause because
) except -1:
    direction = direction_of_argument(plan, place, num_args)
    if direction == "in" or (
        direction == "unknown" and because != ReadOnlyBecause.ARRAY_IS_READ_ONLY
    ):
        return 0
    written = "" if direction == "unknown" else ", and the function writes into it"
    raise BufferError(f"the array is read-only{written}; {_REMEDIES[direction]}")

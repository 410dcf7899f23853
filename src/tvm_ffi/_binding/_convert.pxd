# SPDX-License-Identifier: Apache-2.0
# The two tables of conversion: what a Python type becomes, and what a native type becomes.
#
# A packer is chosen once per exact Python type, the first time a value of the type is seen; from
# then on passing such a value costs one probe and one indirect call.  Modules of this package add
# their own rows; nothing here knows a single value type.
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport _abi


# What one call collects while its arguments are packed.
ctypedef struct CallState:
    _abi.TVMFFIObject** temporaries  # released when the call is over; room for 2 per argument
    int32_t num_temporaries
    int32_t stream_device_type       # device that decides the stream; 0: none yet
    int32_t stream_device_id
    void* stream
    const _abi.DLPackExchangeAPI* exchange_api  # of the framework that gets tensor results


# Writes the borrowed form of `value` to `out`, all 16 bytes.  Returns 0, or -1 with a Python
# exception set (declared noexcept, so that the caller decides what to do about it).
ctypedef int (*PackFunction)(
    PyObject* value, _abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept

ctypedef struct Packer:
    PyTypeObject* type
    PackFunction pack
    void* context  # what the function needs to know about the type; lives for ever


# Chooses the packer of a type: returns True and fills `packer` when the rule applies.
ctypedef bint (*PackRule)(type cls, object value, Packer* packer) except -1

# The Python object of an owned any, which is taken over.
ctypedef object (*MakeFunction)(_abi.TVMFFIAny* owned, CallState* state)


# ---- Python to native
cdef const Packer* find_packer(PyTypeObject* cls) noexcept
cdef const Packer* choose_packer(PyObject* value) noexcept  # NULL with an exception set
cdef int add_exact_packer(type cls, PackFunction pack, void* context) except -1
cdef int add_rule(int precedence, PackRule rule) except -1

# Packs any value; the hot path in _function has the commonest types inlined in front of this.
cdef int pack_view(PyObject* value, _abi.TVMFFIAny* out, CallState* state) noexcept
# Packs an owned any; 0, or -1 with an exception set.
cdef int pack_owned(PyObject* value, _abi.TVMFFIAny* out) noexcept
cdef int keep_temporary(CallState* state, _abi.TVMFFIObjectHandle owned) noexcept

# ---- native to Python
cdef int add_maker(int32_t type_index, MakeFunction make) except -1
cdef object make_object(_abi.TVMFFIAny* owned, CallState* state)

# ---- end of a call
# Temporaries that are recycled rather than freed announce their deleter here.
ctypedef void (*RecycleFunction)(_abi.TVMFFIObject* temporary) noexcept
cdef int add_recycler(void (*deleter)(void*, int) noexcept, RecycleFunction recycle) except -1
cdef void release_temporaries(CallState* state) noexcept

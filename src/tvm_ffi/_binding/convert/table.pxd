# SPDX-License-Identifier: Apache-2.0
# The two tables of conversion: what a Python type becomes, and what a native type becomes.
#
# A packer is chosen once per exact Python type, the first time a value of the type is seen; from
# then on passing such a value costs one probe and one indirect call.  Modules of this package add
# their own rows; nothing here knows a single value type.
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uint64_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.interpreter cimport load_flag  # no-cython-lint: for the C code


ctypedef struct CallState
ctypedef struct Packer

cdef enum:
    NO_CALL = -1  # in place of a device: values are converted for no call, so nothing decides


# What a call has to see to, other than passing the value.
cdef enum ArgumentRestriction:
    NONE
    # The memory must not be written.
    READ_ONLY_ARRAY     # its owner has said so: only what is known to read it may get it
    IMMUTABLE_CLASS     # all arrays of the class are: there is no other way to pass them
    DECLARED_READ_ONLY  # `readonly`: the caller knows that the function reads it only
    # The memory is lent to a callback, and must not be kept.
    BORROWED
    BORROWED_READ_ONLY  # and `readonly` as well
    # The callee may take the object of `moved` away.
    MOVED

cdef enum:
    TEMPORARIES_PER_ARGUMENT = 2


# What one call collects while its arguments are packed.
ctypedef struct CallState:
    abi.TVMFFIObject** temporaries  # released when the call is over
    Py_ssize_t num_temporaries
    Py_ssize_t max_temporaries
    int32_t stream_device_type       # device that decides the stream; 0: none yet; see NO_CALL
    int32_t stream_device_id
    void* stream
    const abi.DLPackExchangeAPI* exchange_api  # of the framework that gets tensor results
    const Packer* recent_packer      # of an earlier argument; most calls pass one kind of array
    ArgumentRestriction restriction  # of the last argument with one; its reader clears it
    bint is_for_keeping              # the values outlive the call: none may be lent for it
    PyObject* moved                  # the wrapper, borrowed; where `remark` says so


# Writes the borrowed form of `value` to `out`, all 16 bytes.  Returns 0, or -1 with a Python
# exception set (declared noexcept, so that the caller decides what to do about it).
#
# What `out` borrows belongs to `value`, which the caller keeps alive, or to `state`: an object of
# any other Python value is passed as a temporary, with a reference of its own (`pack_inner`).
# Python code may take the class from the value, and the packer then serves another class: what a
# function needs of `packer` it copies before it runs any.
ctypedef int (*PackFunction)(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept

ctypedef struct Packer:
    PyTypeObject* type
    PackFunction pack
    void* context       # what the function needs to know about the type
    bint owns_context   # whether it is freed with the packer
    Packer* next_retired


# Chooses the packer of a type: returns True and fills `packer` when the rule applies.
ctypedef bint (*PackRule)(type cls, object value, Packer* packer) except -1

# The Python object of an owned any, which is taken over.
ctypedef object (*UnpackFunction)(abi.TVMFFIAny* owned, CallState* state)


# Open addressing over the address of the type; see convert/table.pxi for who fills it.
ctypedef struct PackerTable:
    size_t num_slots  # a power of two, never 0
    int shift         # 64 - log2(num_slots)
    Packer* slots[1]  # num_slots of them


# What a thread reads here, another one may be writing: tables and packers are complete before their
# address is stored, and looked at only after it was loaded.
cdef extern from *:
    PackerTable* load_table "tvm_ffi_load"(PackerTable** address) noexcept
    void store_table "tvm_ffi_store"(PackerTable** address, PackerTable* table) noexcept
    Packer* load_packer "tvm_ffi_load"(Packer** address) noexcept
    void store_packer "tvm_ffi_store"(Packer** address, Packer* packer) noexcept
    PyTypeObject* load_type "tvm_ffi_load"(PyTypeObject** address) noexcept
    void store_type "tvm_ffi_store"(PyTypeObject** address, PyTypeObject* type) noexcept


# ---- Python to native
cdef PackerTable** packer_table() noexcept  # where the current table is found; see find_packer
cdef const Packer* choose_packer(PyObject* value) noexcept  # NULL with an exception set
cdef int add_exact_packer(type cls, PackFunction pack, void* context) except -1
# Each precedence has one rule: RuntimeError for a second one.  Rules use no names of their modules,
# only C variables: finalizers may pass values of new classes when modules have been emptied.
cdef int add_rule(Precedence precedence, PackRule rule) except -1
# The packer of a value's type, chosen now if it has not been; NULL with an exception set.
cdef const Packer* packer_of(PyObject* value) noexcept
# Packs an owned any, in which nothing is borrowed; 0, or -1 with an exception set.
cdef int pack_owned(PyObject* value, abi.TVMFFIAny* out) noexcept
# The same, but that of a tensor which is lent for a call it gives the description
# (kTVMFFIDLTensorPtr), which the caller has to see to.
cdef int pack_owned_or_borrowed(PyObject* value, abi.TVMFFIAny* out) noexcept
# Refuses to keep a tensor that is lent for a call: -1 with a BufferError set.
cdef int refuse_to_keep() noexcept
# Packs what is passed in place of another value, which does not keep it alive for the call.
cdef int pack_inner(PyObject* inner, abi.TVMFFIAny* out, CallState* state) noexcept
# -1 with an exception set; releases the object that there is no room for.
cdef int refuse_temporary(abi.TVMFFIObjectHandle owned) noexcept
# Makes what a packer has written owned.  The same answers.
cdef int own_packed(abi.TVMFFIAny* view) noexcept


cdef inline size_t home_slot(PackerTable* table, PyTypeObject* cls) noexcept:
    # Fibonacci hashing: addresses of types differ in a few middle bits only.
    return (<uint64_t><uintptr_t>cls * 0x9E3779B97F4A7C15ULL) >> table.shift


cdef inline const Packer* find_packer(PackerTable** address, PyTypeObject* cls) noexcept:
    """The packer chosen for the type; NULL when none of its values has been seen."""
    cdef PackerTable* table = load_table(address)
    cdef size_t i = home_slot(table, cls)
    cdef Packer* packer = load_packer(&table.slots[i])
    while packer != NULL:
        if load_type(&packer.type) == cls:
            return packer
        i = (i + 1) & (table.num_slots - 1)
        packer = load_packer(&table.slots[i])
    return NULL


cdef inline int pack_object(
    abi.TVMFFIAny* out, int32_t type_index, abi.TVMFFIObjectHandle borrowed
) noexcept:
    out.type_index = type_index
    out.zero_padding = 0
    out.v_obj = <abi.TVMFFIObject*>borrowed
    return 0


cdef inline int pack_temporary(
    CallState* state, abi.TVMFFIAny* out, int32_t type_index, abi.TVMFFIObjectHandle owned
) noexcept:
    """Pass an object that was made for this call; it is released when the call is over.

    -1 with an exception set when there is no room for it.
    """
    if state.num_temporaries >= state.max_temporaries:
        return refuse_temporary(owned)
    state.temporaries[state.num_temporaries] = <abi.TVMFFIObject*>owned
    state.num_temporaries += 1
    return pack_object(out, type_index, owned)


cdef inline void begin_call_of(
    CallState* state, abi.TVMFFIObject** temporaries, Py_ssize_t num_args
) noexcept:
    """`temporaries` has room for `TEMPORARIES_PER_ARGUMENT` of each."""
    state.temporaries = temporaries
    state.num_temporaries = 0
    state.max_temporaries = TEMPORARIES_PER_ARGUMENT * num_args
    state.stream_device_type = 0
    state.exchange_api = NULL
    state.recent_packer = NULL
    state.restriction = ArgumentRestriction.NONE
    state.is_for_keeping = False


cdef inline void begin_call(CallState* state, abi.TVMFFIObject** temporaries) noexcept:
    """The same for one argument."""
    begin_call_of(state, temporaries, 1)


cdef inline void begin_conversion_of(
    CallState* state, abi.TVMFFIObject** temporaries, Py_ssize_t num_values
) noexcept:
    """The same for values that are kept: they are made ready for the thread's current stream."""
    begin_call_of(state, temporaries, num_values)
    state.stream_device_type = NO_CALL
    state.is_for_keeping = True


cdef inline void begin_conversion(CallState* state, abi.TVMFFIObject** temporaries) noexcept:
    """The same for one value."""
    begin_conversion_of(state, temporaries, 1)


cdef inline void release_temporaries(CallState* state, ArgumentViewFreeList* free_list) noexcept:
    cdef abi.TVMFFIObject* temporary
    cdef Py_ssize_t i
    for i in range(state.num_temporaries):
        temporary = state.temporaries[i]
        if temporary.deleter == free_list.deleter:
            return_view(free_list, <ArgumentView*>temporary)
        else:
            abi.TVMFFIObjectDecRef(temporary)


# The same while an exception is set: what dies may run Python code, which must not see it.
cdef void release_after_failure(CallState* state, ArgumentViewFreeList* free_list) noexcept


# ---- native to Python
cdef int add_unpacker(int32_t type_index, UnpackFunction make) except -1
cdef object unpack_object(abi.TVMFFIAny* owned, CallState* state)
# The same, seen as a C function that returns NULL with an exception set.
ctypedef PyObject* (*UnpackResult)(abi.TVMFFIAny* owned, CallState* state) noexcept

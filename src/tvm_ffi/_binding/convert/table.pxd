# SPDX-License-Identifier: Apache-2.0
# Conversion tables: packers by Python type, and unpackers by native type index.
#
# A packer is chosen once per exact Python type, when the first value of the type is passed.  Later
# values of the type cost one hash table probe and one indirect call.  The other modules of the
# binding add packers, rules and unpackers; this module contains none for a specific type.
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uint64_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.interpreter cimport load_flag  # no-cython-lint: for the C code


ctypedef struct CallState
ctypedef struct Packer

cdef enum:
    # Value of `CallState.stream_device_type` in conversions that are not part of a call.  Packers
    # then use the current stream of the thread, and no argument selects the stream.
    NO_CALL = -1


# A condition on how the callee may use an argument.  The packer sets it, the call checks it.
cdef enum ArgumentRestriction:
    NONE
    # The callee must not write the memory.
    READ_ONLY_ARRAY     # the array is read-only: only functions that are known not to write get it
    IMMUTABLE_CLASS     # all arrays of the class are immutable: unknown functions get it, too
    DECLARED_READ_ONLY  # `readonly(x)`: the caller declares that the function does not write it
    # A callback borrows the memory until it returns: the callee must not keep it.
    BORROWED
    BORROWED_READ_ONLY  # BORROWED, and passed as `readonly(x)`
    # ObjectRValueRef: the callee may take the reference of `CallState.moved`.
    MOVED

cdef enum:
    TEMPORARIES_PER_ARGUMENT = 2


# State of one call while its arguments are packed and its result is unpacked.
ctypedef struct CallState:
    abi.TVMFFIObject** temporaries   # array on the stack of the call; its objects are owned
    Py_ssize_t num_temporaries       # 0 to max_temporaries
    Py_ssize_t max_temporaries
    int32_t stream_device_type       # DLDeviceType of `stream`; 0: no stream yet; or NO_CALL
    int32_t stream_device_id
    void* stream                     # current stream of the first device tensor's framework
    const abi.DLPackExchangeAPI* exchange_api  # creates tensor results; NULL: `Tensor` results
    const Packer* recent_packer      # of an earlier argument, which often has the same type
    ArgumentRestriction restriction  # of the last packed argument; the call resets it to NONE
    bint outlives_call               # the values outlive the call: borrowed tensors are refused
    PyObject* moved                  # ObjectRValueRef's object, borrowed; valid for MOVED only


# Write a borrowed native value for `value` to all 16 bytes of `out`.  Returns 0.
# Fails: -1 with a Python exception set; noexcept, so Cython adds no traceback entry.
#
# `out` borrows from `value`, which the caller keeps alive until the call returns, or from an owned
# temporary of `state`.  An object of any other Python value becomes a temporary (`pack_inner`).
# A pack function must copy the fields of `packer` before it runs Python code: that code may change
# the class of `value`, destroy the old class, and so let the packer be reused for another class.
ctypedef int (*PackFunction)(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept

ctypedef struct Packer:
    PyTypeObject* type    # borrowed until the type is destroyed; NULL in retired packers
    PackFunction pack
    void* context         # data of the pack function about the type, or NULL
    bint owns_context     # `context` is allocated with malloc and freed with the packer
    Packer* next_retired  # the next packer whose type was destroyed; for reuse


# Fill `packer` and return True if the rule applies to the class.  `value` is an example, borrowed.
ctypedef bint (*PackRule)(type cls, object value, Packer* packer) except -1

# Return a new reference to the Python object of a native value.  Consumes `owned`.
ctypedef object (*UnpackFunction)(abi.TVMFFIAny* owned, CallState* state)


# Hash table with open addressing; the key is the address of the type.  See convert/table.pxi.
ctypedef struct PackerTable:
    size_t num_slots  # a power of two, never 0
    int shift         # 64 - log2(num_slots)
    Packer* slots[1]  # num_slots pointers: a packer, the tombstone, or NULL


# Atomic access with acquire and release order, because threads read the table without a lock while
# another thread changes it.  Tables and packers are complete before their address is stored.
cdef extern from *:
    PackerTable* load_table "tvm_ffi_load"(PackerTable** address) noexcept
    void store_table "tvm_ffi_store"(PackerTable** address, PackerTable* table) noexcept
    Packer* load_packer "tvm_ffi_load"(Packer** address) noexcept
    void store_packer "tvm_ffi_store"(Packer** address, Packer* packer) noexcept
    PyTypeObject* load_type "tvm_ffi_load"(PyTypeObject** address) noexcept
    void store_type "tvm_ffi_store"(PyTypeObject** address, PyTypeObject* type) noexcept


# ---- Python to native
# Return the address of the variable that contains the current table, for find_packer.
cdef PackerTable** packer_table() noexcept
# Choose and store the packer of the type of `value`, with the rules.
# Fails: NULL with an exception set.
cdef const Packer* choose_packer(PyObject* value) noexcept
# Store the packer of a type; `context` is borrowed forever.  Fails: MemoryError.
cdef int add_exact_packer(type cls, PackFunction pack, void* context) except -1
# Store the rule of a precedence.  Rules read C variables only, no module globals: finalizers may
# pass values of new classes after the module dictionaries were cleared.
# Fails: RuntimeError if the precedence has a rule, ValueError if it does not exist.
cdef int add_rule(Precedence precedence, PackRule rule) except -1
# Return the stored packer of the type of `value`, or choose it now.
# Fails: NULL with an exception set.
cdef const Packer* get_packer(PyObject* value) noexcept
# Write an owned value to `out`.  Fails: -1 with an exception set.
cdef int pack_owned(PyObject* value, abi.TVMFFIAny* out) noexcept
# Same as `pack_owned`, but a tensor that a callback borrows becomes a borrowed kTVMFFIDLTensorPtr,
# which the caller must handle.  Fails: -1 with an exception set.
cdef int pack_owned_or_borrowed(PyObject* value, abi.TVMFFIAny* out) noexcept
# Set the BufferError for a borrowed tensor that would outlive the call.  Returns -1.
cdef int refuse_to_keep() noexcept
# Pack a value that is passed instead of the argument, such as the result of a value protocol, and
# that the argument does not keep alive.  Fails: -1 with an exception set.
cdef int pack_inner(PyObject* inner, abi.TVMFFIAny* out, CallState* state) noexcept
# Set the SystemError for a full array of temporaries.  Consumes `owned`.  Returns -1.
cdef int refuse_temporary(abi.TVMFFIObjectHandle owned) noexcept
# Turn the borrowed value that a packer wrote into an owned value.
# Fails: -1 with an exception set; the value stays borrowed.
cdef int make_owned(abi.TVMFFIAny* view) noexcept


cdef inline size_t home_slot(PackerTable* table, PyTypeObject* cls) noexcept:
    # Fibonacci hashing: the addresses of types differ mainly in their middle bits.
    return (<uint64_t><uintptr_t>cls * 0x9E3779B97F4A7C15ULL) >> table.shift


cdef inline const Packer* find_packer(PackerTable** address, PyTypeObject* cls) noexcept:
    """Return the packer of the type, borrowed; NULL if no packer was chosen yet.

    Threads: needs no lock.
    """
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
    """Write a borrowed object to `out`.  Returns 0."""
    out.type_index = type_index
    out.zero_padding = 0
    out.v_obj = <abi.TVMFFIObject*>borrowed
    return 0


cdef inline int pack_temporary(
    CallState* state, abi.TVMFFIAny* out, int32_t type_index, abi.TVMFFIObjectHandle owned
) noexcept:
    """Pass an object that was created for this call.  Consumes `owned`; `out` borrows it.

    Fails: -1 with an exception set if the array of temporaries is full.
    """
    if state.num_temporaries >= state.max_temporaries:
        return refuse_temporary(owned)
    state.temporaries[state.num_temporaries] = <abi.TVMFFIObject*>owned
    state.num_temporaries += 1
    return pack_object(out, type_index, owned)


cdef inline void begin_call(
    CallState* state, abi.TVMFFIObject** temporaries, Py_ssize_t num_args
) noexcept:
    """Initialize the state of a call.

    `temporaries` has `TEMPORARIES_PER_ARGUMENT * num_args` elements; NULL if nothing is packed.
    """
    state.temporaries = temporaries
    state.num_temporaries = 0
    state.max_temporaries = TEMPORARIES_PER_ARGUMENT * num_args
    state.stream_device_type = 0
    state.exchange_api = NULL
    state.recent_packer = NULL
    state.restriction = ArgumentRestriction.NONE
    state.outlives_call = False


cdef inline void begin_conversion(
    CallState* state, abi.TVMFFIObject** temporaries, Py_ssize_t num_values
) noexcept:
    """Same as `begin_call`, but for values that are stored instead of passed, see NO_CALL."""
    begin_call(state, temporaries, num_values)
    state.stream_device_type = NO_CALL
    state.outlives_call = True


cdef inline void release_temporaries(CallState* state, ArgumentViewFreeList* free_list) noexcept:
    """Release the temporaries after the call.  May run Python code."""
    cdef abi.TVMFFIObject* temporary
    cdef Py_ssize_t i
    for i in range(state.num_temporaries):
        temporary = state.temporaries[i]
        if temporary.deleter == free_list.deleter:
            return_view(free_list, <ArgumentView*>temporary)
        else:
            abi.TVMFFIObjectDecRef(temporary)


# Same as `release_temporaries`, but preserves the exception that is set: destructors may run Python
# code, which must start without an exception.
cdef void release_after_failure(CallState* state, ArgumentViewFreeList* free_list) noexcept


# ---- native to Python
# Store the unpacker of a static type index below 128.
cdef int add_unpacker(int32_t type_index, UnpackFunction unpack) except -1
# Return a new reference to the Python object of a native value.  Consumes `owned`; `state` selects
# the framework of tensors, NULL: `Tensor`.  Fails: raises ValueError for an unknown type index.
cdef object unpack_object(abi.TVMFFIAny* owned, CallState* state)
# The C type of `unpack_object`, for callers in C: NULL with an exception set if it fails.
ctypedef PyObject* (*UnpackResult)(abi.TVMFFIAny* owned, CallState* state) noexcept

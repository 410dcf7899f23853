# SPDX-License-Identifier: Apache-2.0
# Conversion tables: packers by Python type, and unpackers by native type index.
#
# A packer converts values of a Python type to native values (TVMFFIAny); an unpacker converts
# native values of a type index to Python values.
#
# When the first value of an exact Python type is passed, a rule chooses the packer of the type.
# For later values of the type, finding the packer costs one hash table probe.  The other modules of
# the binding add the packers, rules and unpackers; this module has none for a specific type.
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uint64_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.interpreter cimport load_flag  # no-cython-lint: the C code below uses it


ctypedef struct CallState
ctypedef struct Packer

cdef enum:
    # Value of `CallState.stream_device_type` for a conversion without a call, for example of a
    # value that is stored in a container.  Packers then use the thread's current stream.
    NO_CALL = -1


# Argument restriction: a condition on how the callee may use an argument.  The packer of the
# argument sets the restriction; the code that calls the function checks it.
cdef enum ArgumentRestriction:
    NONE
    # The callee must not write the memory of the argument:
    READ_ONLY_ARRAY     # the array is read-only: refused unless the callee is known not to write it
    # The class has only read-only arrays: refused if the callee is known to write it.
    IMMUTABLE_CLASS
    DECLARED_READ_ONLY  # `readonly(x)`: the caller declares that the function does not write it
    # A callback has borrowed the memory from its caller, so the callee must not keep it:
    BORROWED
    BORROWED_READ_ONLY  # both restrictions: BORROWED, and passed as `readonly(x)`
    # ObjectRValueRef: the callee may take the reference of the wrapper `CallState.moved`.
    MOVED

cdef enum:
    TEMPORARIES_PER_ARGUMENT = 2  # maximum number of temporaries per packed argument


# State of one call: data that packing the arguments collects for the call and for its result.
ctypedef struct CallState:
    abi.TVMFFIObject** temporaries   # array on the stack of the call; the call owns its objects
    Py_ssize_t num_temporaries       # number of objects in `temporaries`, 0 to max_temporaries
    Py_ssize_t max_temporaries       # number of elements of the array `temporaries`
    int32_t stream_device_type       # DLDeviceType of `stream`; 0 without a stream; or NO_CALL
    int32_t stream_device_id         # device id of `stream`
    void* stream                     # framework's current stream for the first tensor on a device
    # Exchange API that creates result tensors; NULL: results are `Tensor`.
    const abi.DLPackExchangeAPI* exchange_api
    const Packer* recent_packer      # packer of an earlier argument, whose type is often repeated
    ArgumentRestriction restriction  # restriction of the last argument; callers reset it to NONE
    bint outlives_call               # the packed values outlive the call: refuse borrowed tensors
    PyObject* moved                  # wrapper in an ObjectRValueRef, borrowed; unset unless MOVED


# Pack function: writes a borrowed native value for `value` to all 16 bytes of `out`.  Returns 0.
# Fails: -1 with a Python exception set; noexcept, so Cython adds no traceback entry.
#
# `out` borrows from `value`, which the caller keeps alive until the call returns, or from a
# temporary that `state` owns.  An object that `value` does not keep alive, such as the result of a
# method, must become a temporary (`pack_inner`).
# A pack function must copy the fields of `packer` before it runs Python code.  That code may change
# the class of `value` and destroy the old class; the packer may then be reused for another class.
ctypedef int (*PackFunction)(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept

ctypedef struct Packer:
    PyTypeObject* type    # Python type of the values, borrowed; NULL after the type was destroyed
    PackFunction pack     # function that packs the values of the type
    void* context         # argument of the pack function with data about the type, or NULL
    bint owns_context     # `context` is allocated with malloc and freed with the packer
    Packer* next_retired  # next packer whose type was destroyed; NULL at the end of the list


# Conversion rule: if it applies to the class, fill `packer` and return True.  `value` is an
# instance of the class, borrowed.
ctypedef bint (*PackRule)(type cls, object value, Packer* packer) except -1

# Unpack function: returns a new reference to the Python value of a native value.  Consumes `owned`.
ctypedef object (*UnpackFunction)(abi.TVMFFIAny* owned, CallState* state)


# Table of packers: a hash table with open addressing, whose keys are the addresses of the types.
ctypedef struct PackerTable:
    size_t num_slots  # a power of two, never 0
    int shift         # 64 - log2(num_slots)
    Packer* slots[1]  # array of num_slots pointers to a packer or the tombstone; NULL if empty


# Atomic loads and stores with acquire and release order, because threads read the packer table
# without a lock while another thread changes it.  The fields of a table or packer are complete
# before its address is stored.
cdef extern from *:
    PackerTable* load_table "tvm_ffi_load"(PackerTable** address) noexcept
    void store_table "tvm_ffi_store"(PackerTable** address, PackerTable* table) noexcept
    Packer* load_packer "tvm_ffi_load"(Packer** address) noexcept
    void store_packer "tvm_ffi_store"(Packer** address, Packer* packer) noexcept
    PyTypeObject* load_type "tvm_ffi_load"(PyTypeObject** address) noexcept
    void store_type "tvm_ffi_store"(PyTypeObject** address, PyTypeObject* type) noexcept


# ---- packing: Python to native
# Return the address of the variable that contains the current packer table, for `find_packer`.
cdef PackerTable** packer_table() noexcept
# Choose the packer of the type of `value` with the rules, store it in the table and return it.
# Fails: NULL with an exception set.
cdef const Packer* choose_packer(PyObject* value) noexcept
# Store a packer for a type without a rule.  `context` must stay valid as long as the process runs.
# Fails: MemoryError.
cdef int add_exact_packer(type cls, PackFunction pack, void* context) except -1
# Store the rule of a precedence.  Rules must not read module globals, only C variables, because a
# finalizer may pass a value of a new class after the interpreter has cleared the module globals.
# Fails: RuntimeError if the precedence has a rule, ValueError if it does not exist.
cdef int add_rule(Precedence precedence, PackRule rule) except -1
# Return the packer of the type of `value`; choose it if the table does not contain it yet.
# Fails: NULL with an exception set.
cdef const Packer* get_packer(PyObject* value) noexcept
# Pack `value` and write an owned native value to `out`.  Fails: -1 with an exception set.
cdef int pack_owned(PyObject* value, abi.TVMFFIAny* out) noexcept
# Same as `pack_owned`, but a tensor that a callback borrows becomes a borrowed kTVMFFIDLTensorPtr,
# which the caller must handle.  Fails: -1 with an exception set.
cdef int pack_owned_or_borrowed(PyObject* value, abi.TVMFFIAny* out) noexcept
# Set BufferError, because a borrowed tensor would outlive its call.  Returns -1.
cdef int refuse_to_keep() noexcept
# Pack a value that is passed instead of the argument, such as the result of a value protocol.  The
# argument need not keep `inner` alive.  Fails: -1 with an exception set.
cdef int pack_inner(PyObject* inner, abi.TVMFFIAny* out, CallState* state) noexcept
# Set SystemError, because the array of temporaries is full.  Consumes `owned`.  Returns -1.
cdef int refuse_temporary(abi.TVMFFIObjectHandle owned) noexcept
# Convert the borrowed value that a packer wrote to an owned value, in place.
# Fails: -1 with an exception set; the value is then still borrowed.
cdef int make_owned(abi.TVMFFIAny* view) noexcept


cdef inline size_t home_slot(PackerTable* table, PyTypeObject* cls) noexcept:
    # Fibonacci hashing, because the addresses of types differ mainly in their middle bits.
    return (<uint64_t><uintptr_t>cls * 0x9E3779B97F4A7C15ULL) >> table.shift


cdef inline const Packer* find_packer(PackerTable** address, PyTypeObject* cls) noexcept:
    """Return the packer of the type, borrowed; NULL if the table does not contain it yet.

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
    """Pack an object that was created for this call: `state` owns it, and `out` borrows it.

    Consumes `owned`.  Fails: -1 with an exception set if the array of temporaries is full.
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
    """Same as `begin_call`, but for values that are stored instead of passed to a function."""
    begin_call(state, temporaries, num_values)
    state.stream_device_type = NO_CALL
    state.outlives_call = True


cdef inline void release_temporary(
    abi.TVMFFIObject* temporary, ArgumentViewFreeList* free_list
) noexcept:
    """Release one temporary.  May run Python code."""
    if temporary.deleter == free_list.deleter:
        return_view(free_list, <ArgumentView*>temporary)
    else:
        abi.TVMFFIObjectDecRef(temporary)


cdef inline void release_temporaries(CallState* state, ArgumentViewFreeList* free_list) noexcept:
    """Release the temporaries after the call.  May run Python code."""
    cdef Py_ssize_t i
    for i in range(state.num_temporaries):
        release_temporary(state.temporaries[i], free_list)


# Same as `release_temporaries`, but save and restore the exception that is set, because destructors
# may run Python code, which must start without an exception.
cdef void release_after_failure(CallState* state, ArgumentViewFreeList* free_list) noexcept


# ---- unpacking: native to Python
# Store the unpacker of a type index, which must be below 128 (a built-in type).
cdef int add_unpacker(int32_t type_index, UnpackFunction unpack) except -1
# Return a new reference to the Python value of a native value.  Consumes `owned`.  Tensors are
# created with the exchange API of `state`; if `state` is NULL, as `Tensor`.
# Fails: raises ValueError for an unknown type index.
cdef object unpack_object(abi.TVMFFIAny* owned, CallState* state)
# Type of `unpack_object` as a C function that returns NULL with an exception set if it fails.
ctypedef PyObject* (*UnpackResult)(abi.TVMFFIAny* owned, CallState* state) noexcept

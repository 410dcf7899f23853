# SPDX-License-Identifier: Apache-2.0
# Function objects: fields, vectorcall entries and calls with packed arguments.
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState
from tvm_ffi._binding.object cimport CObject

ctypedef PyObject* (*Vectorcall)(
    PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) noexcept


# Threads: calls read these fields without a lock; writers hold `_wrapper_lock`.
cdef class Function(CObject):
    # The vectorcall pointer that the interpreter reads in free-threaded Python.  It reads the
    # pointer without synchronization, so the pointer is constant: `_call_through_entry`, which
    # calls `entry`.  With the GIL, the interpreter reads `entry` directly.
    cdef Vectorcall vectorcall
    # The C function that executes calls: _call_unresolved if the function has an origin and its
    # signature was not looked up yet; _call_with_binder or _call_with_checks if the function has a
    # signature; otherwise call_by_position.
    cdef Vectorcall entry
    cdef bint releases_gil          # True if calls release the GIL
    # True if Python code assigned `release_gil`, which the binding then keeps.
    cdef bint release_gil_assigned
    cdef bint is_resolved           # True after the signature was looked up
    cdef bint is_unchecked          # True if calls skip the checks of the signature
    # The argument binder of the signature; None if there is none.  `origin` keeps replaced binders
    # alive, because calls on other threads may still use the binders.
    cdef ArgumentBinder binder
    # Where the function was found: the name of a global function, a `ModuleOrigin`, or None.
    cdef object origin
    cdef dict __dict__


cdef class Method(Function):
    # Class of the first receiver (object whose method is called) that `_call_method` packed as only
    # a handle; None before such a call.  Later calls with a receiver of this class have a fast
    # path.
    cdef object receiver_class

cdef extern from *:
    """
    #define tvm_ffi_load_entry(function) __atomic_load_n(&(function)->entry, __ATOMIC_ACQUIRE)
    #define tvm_ffi_store_entry(function, entry_) \
      __atomic_store_n(&(function)->entry, entry_, __ATOMIC_RELEASE)
    #define tvm_ffi_load_binder(function) \
      ((PyObject*)__atomic_load_n(&(function)->binder, __ATOMIC_ACQUIRE))
    #define tvm_ffi_swap_binder(function, value) \
      ((PyObject*)__atomic_exchange_n( \
          &(function)->binder, (__typeof__((function)->binder))(value), __ATOMIC_ACQ_REL))
    #define tvm_ffi_receiver_class(method) \
      ((PyTypeObject*)__atomic_load_n(&(method)->receiver_class, __ATOMIC_RELAXED))
    #define tvm_ffi_set_receiver_class(method, cls) \
      tvm_ffi_replace_none(&(method)->receiver_class, (PyObject*)(cls))
    static inline int tvm_ffi_replace_none(PyObject** slot, PyObject* value) {
      PyObject* none = Py_None;
      int is_first = __atomic_compare_exchange_n(
          slot, &none, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
      if (is_first) Py_DECREF(Py_None);
      return is_first;
    }
    """
    # Atomic access to the fields `entry`, `binder` and `receiver_class`.
    Vectorcall load_entry "tvm_ffi_load_entry"(Function function) noexcept
    void store_entry "tvm_ffi_store_entry"(Function function, Vectorcall entry) noexcept
    PyObject* load_binder "tvm_ffi_load_binder"(Function function) noexcept  # borrowed
    # Store the binder and return the previous one, owned by the caller.  Consumes `binder`.
    PyObject* swap_binder "tvm_ffi_swap_binder"(Function function, PyObject* binder) noexcept
    PyTypeObject* receiver_class "tvm_ffi_receiver_class"(Method method) noexcept
    # Store `cls` if the field is None.  Return True, and consume `cls`, if it was stored.
    bint set_receiver_class "tvm_ffi_set_receiver_class"(Method method, PyTypeObject* cls) noexcept

# Vectorcall entry for positional arguments in the order of the parameters.
# Returns a new reference.  Fails: NULL with an exception set.
cdef PyObject* call_by_position(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames) noexcept
# Same as `call_by_position`, but `checks` (NULL: no checks) checks the packed arguments before the
# function is called.  `num_args` positional arguments.
cdef PyObject* call_checked(
    Function function, PyObject* const* values, Py_ssize_t num_args,
    abi.TVMFFIObjectHandle checks) noexcept
# Check that the function may get the argument at `index`, which has the restriction
# `state.restriction` (such as read-only memory), and reset the restriction to NONE.
# Fails: -1 with an exception set.
cdef int check_restriction(
    Function function, abi.TVMFFIObjectHandle handle, int32_t index, int32_t num_args,
    CallState* state, bint is_constructor) noexcept
# Call the native function `handle`, which `function` wraps or which has its settings, with packed
# arguments.  All are borrowed.  During the call, the stream and the tensor allocator of `state` are
# current.  Returns a new reference to the Python result.
# Fails: NULL with an exception set.
cdef PyObject* call_packed(
    Function function, abi.TVMFFIObjectHandle handle, abi.TVMFFIAny* args, int32_t num_args,
    CallState* state) noexcept
# Return the address of the field `releases_gil`, for C++ code that calls functions.
cdef const bint* releases_gil_of(Function function) noexcept
# Return the origin of the function (see `Function.origin`), or None if the origin is unknown.
cdef object origin_of(Function function)
# Same as `origin_of`, but store and return `origin` if the function has no origin yet.
cdef object set_default_origin(Function function, object origin)
# Return a new wrapper of a native function, which gets its own origin.  Consumes `owned`.
cdef object wrap_function(abi.TVMFFIObjectHandle owned)
# Return a new wrapper for a method of a native type: a Method, or a Function if the method is
# static.
# `function` is borrowed; the wrapper takes its own reference.
cdef Function new_method(abi.TVMFFIObjectHandle function, bint is_static)


# Call a native constructor and store the returned object in the wrapper `target`.
# Returns a new reference to None.  Fails: NULL with an exception set.
cdef PyObject* call_into(
    Function function, PyObject* const* values, Py_ssize_t num_args, CObject target) noexcept

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
    # The pointer of the vectorcall protocol in free-threaded Python.  The interpreter reads it
    # without synchronization, so it never changes and calls `entry`.  With the GIL, the interpreter
    # reads `entry` itself.
    cdef Vectorcall vectorcall
    # The current entry: call_by_position, _call_with_binder, or _call_unresolved before the lookup
    # of the signature.
    cdef Vectorcall entry
    cdef bint releases_gil          # calls release the GIL
    cdef bint release_gil_assigned  # the program assigned `release_gil`
    cdef bint is_resolved           # the signature was looked up
    # None: no signature.  The origin keeps replaced binders alive for calls that still use them.
    cdef ArgumentBinder binder
    # Where the function was found: the name of a global function, a `ModuleOrigin`, or None.
    cdef object origin
    cdef dict __dict__


cdef class Method(Function):
    # The first class of a receiver whose objects are packed as their handle; None: none yet.
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
    # Atomic access to the fields of these names.
    Vectorcall load_entry "tvm_ffi_load_entry"(Function function) noexcept
    void store_entry "tvm_ffi_store_entry"(Function function, Vectorcall entry) noexcept
    PyObject* load_binder "tvm_ffi_load_binder"(Function function) noexcept  # borrowed
    # Store the binder and return the previous one.  Consumes `binder`; returns an owned reference.
    PyObject* swap_binder "tvm_ffi_swap_binder"(Function function, PyObject* binder) noexcept
    PyTypeObject* receiver_class "tvm_ffi_receiver_class"(Method method) noexcept
    # Store the class if the field is None.  Consumes `cls` and returns True if it was stored.
    bint set_receiver_class "tvm_ffi_set_receiver_class"(Method method, PyTypeObject* cls) noexcept

# Vectorcall entry for positional arguments in the order of the parameters.
# Returns a new reference.  Fails: NULL with an exception set.
cdef PyObject* call_by_position(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames) noexcept
# Check that the function may get an argument with `state.restriction`, and reset the restriction.
# Fails: -1 with an exception set.
cdef int check_restriction(
    Function function, abi.TVMFFIObjectHandle handle, int32_t index, int32_t num_args,
    CallState* state, bint is_constructor) noexcept
# Call a function with packed arguments, which are borrowed, with the stream and allocator of
# `state`.  Returns a new reference.  Fails: NULL with an exception set.
cdef PyObject* call_packed(
    Function function, abi.TVMFFIAny* args, int32_t num_args, CallState* state) noexcept
# Return the origin of the function, which all wrappers of a native function share, or None.
cdef object origin_of(Function function)
# Same as `origin_of`, but stores `origin` if the function has none.
cdef object set_default_origin(Function function, object origin)
# Return a new reference to the Python object of a function.  Consumes `owned`.
cdef object wrap_function(abi.TVMFFIObjectHandle owned)
# Return a new wrapper for a method of a native type: a Method, or a Function if it is static.
# `function` is borrowed; the wrapper takes its own reference.
cdef Function new_method(abi.TVMFFIObjectHandle function, bint is_static)


# Call a constructor and store the returned object in `target`.
# Returns a new reference to None.  Fails: NULL with an exception set.
cdef PyObject* call_into(
    Function function, PyObject* const* values, Py_ssize_t num_args, CObject target) noexcept

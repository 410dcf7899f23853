# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState
from tvm_ffi._binding.object cimport CObject

ctypedef PyObject* (*Vectorcall)(
    PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) noexcept


# Calls read these fields without a lock; threads that write to a shared wrapper hold
# `_wrapper_lock`.
cdef class Function(CObject):
    # What the interpreter calls, at a fixed offset: where there is a GIL, `way` itself.  It reads
    # without care for other threads, so without a GIL this one never changes.
    cdef Vectorcall vectorcall
    cdef Vectorcall entry    # how this function is called as far as is known
    cdef bint releases_gil
    cdef bint chose_gil    # whether somebody has set `release_gil`
    cdef bint is_resolved  # whether it was asked for its signature
    # How arguments find the parameters; None where there is no signature.  Its `ModuleOrigin` keeps
    # each binder that it ever had; one that is found elsewhere stays.
    cdef ArgumentBinder binder
    # Where the function was found: name of a global function, `origin.ModuleOrigin`, or None.
    cdef object origin
    cdef dict __dict__


cdef class Method(Function):
    # Class whose objects are passed as their handle and nothing else; None until one was seen.
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
    # See the fields of these names.
    Vectorcall load_entry "tvm_ffi_load_entry"(Function function) noexcept
    void store_entry "tvm_ffi_store_entry"(Function function, Vectorcall entry) noexcept
    PyObject* load_binder "tvm_ffi_load_binder"(Function function) noexcept  # borrowed
    # Both owned.
    PyObject* swap_binder "tvm_ffi_swap_binder"(Function function, PyObject* binder) noexcept
    PyTypeObject* receiver_class "tvm_ffi_receiver_class"(Method method) noexcept
    # Whether it is the first class that is put in place of None; then it is owned.
    bint set_receiver_class "tvm_ffi_set_receiver_class"(Method method, PyTypeObject* cls) noexcept

# The vectorcall entry of functions without a signature.
cdef PyObject* call_by_position(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames) noexcept
# After a remark on an argument: -1 with an exception set if the function must not get it.
cdef int check_restriction(
    Function function, abi.TVMFFIObjectHandle handle, int32_t index, int32_t num_args,
    CallState* state, bint is_constructor) noexcept
# The call of a function with packed arguments, in the environment that `state` has; its result, or
# NULL with an exception set.  Releases none of the arguments.
cdef PyObject* call_packed(
    Function function, abi.TVMFFIAny* args, int32_t num_args, CallState* state) noexcept
# Where this wrapper or another one of the function was found, or None.
cdef object origin_of(Function function)
# The same; notes this one if none is known.
cdef object settled_origin(Function function, object origin)
# The Python object of an owned function, which is taken over.
cdef object wrap_function(abi.TVMFFIObjectHandle owned)
# A method of a native type; a static one does not bind.
cdef Function new_method(abi.TVMFFIObjectHandle function, bint is_static)


# Calls `function`; `target` takes the object that it returns.  None, or NULL with an exception set.
cdef PyObject* call_into(
    Function function, PyObject* const* values, Py_ssize_t num_args, CObject target) noexcept

# SPDX-License-Identifier: Apache-2.0
"""Bound calls: functions with their arguments packed beforehand, for loops over the same buffers.

A bound call owns its packed arguments.  Among them, argument views of strings and tensors own
references to the Python objects whose memory they use.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject, PyTypeObject, inquiry, traverseproc, visitproc
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, CallState, Packer, begin_call, get_packer, make_owned, refuse_to_keep,
    release_temporaries, view_free_list,
)
from tvm_ffi._binding.cpython cimport PySequence_Fast_ITEMS
from tvm_ffi._binding.object cimport check, handle_of, release_object, set_exception
from tvm_ffi._binding.tensor cimport refresh_stream
from tvm_ffi._binding.vectorcall cimport PyVectorcall_Call, PyVectorcall_NARGS, enable_vectorcall


cdef class BoundCall:
    """A function with arguments that were packed beforehand; `Function.bind` creates it."""

    cdef Vectorcall vectorcall
    cdef readonly Function function
    cdef tuple values          # the Python arguments, in the order of the parameters
    cdef abi.TVMFFIAny* args   # the packed arguments; owned
    cdef int32_t num_args      # number of packed arguments
    # The stream and the exchange API that packing the arguments has selected.
    cdef CallState state
    # Index of the argument that selected the stream; unused if there is no stream.
    cdef int32_t stream_index

    def __cinit__(self):
        self.vectorcall = _call
        begin_call(&self.state, NULL, 1)

    cdef int _bind(self, Function function, tuple args, dict kwargs) except -1:
        cdef ArgumentBinder binder
        cdef abi.TVMFFIAny result
        cdef int32_t i
        handle_of(function)  # raises ValueError if the function is empty
        self.function = function
        self.values = arguments_in_order(function, args, kwargs)
        self.args = <abi.TVMFFIAny*>PyMem_Calloc(len(self.values) + 1, sizeof(abi.TVMFFIAny))
        if self.args == NULL:
            raise MemoryError()
        for i in range(len(self.values)):
            if self._pack(i) != 0:
                explain_argument(
                    function,
                    name_of_argument(<ArgumentBinder>load_binder(function), i, len(self.values)),
                    PySequence_Fast_ITEMS(self.values), i, len(self.values), NULL)
                check(-2)
            self.num_args += 1
        binder = <ArgumentBinder>load_binder(function)
        if binder is not None and binder.checks != NULL and not function.is_unchecked:
            result.type_index, result.zero_padding, result.v_int64 = abi.kTVMFFINone, 0, 0
            check(abi.TVMFFIFunctionGetCellPtr(binder.checks).safe_call(
                binder.checks, self.args, self.num_args, &result))
        return 0

    cdef int _pack(self, int32_t index) noexcept:
        """Pack an argument as an owned value.  Fails: -1 with an exception set."""
        cdef PyObject* value = <PyObject*>self.values[index]
        cdef const Packer* packer = get_packer(value)
        cdef abi.TVMFFIObject* temporaries[2]
        cdef abi.TVMFFIAny view
        cdef int code
        if packer == NULL:
            return -1
        self.state.temporaries, self.state.num_temporaries = temporaries, 0
        if self.state.stream_device_type == 0:
            self.stream_index = index
        code = packer.pack(value, &view, &self.state, packer)
        if code == 0 and self.state.restriction != ArgumentRestriction.NONE:
            code = check_restriction(
                self.function, self.function.chandle, index, <int32_t>len(self.values), &self.state,
                False)
        if code == 0 and view.type_index == abi.kTVMFFIDLTensorPtr:
            code = refuse_to_keep()
        if code == 0:
            code = make_owned(&view)
        if code == 0:
            self.args[index] = view
        release_temporaries(&self.state, view_free_list())
        self.state.temporaries, self.state.num_temporaries = NULL, 0
        return code

    cdef void _release_args(self) noexcept:
        cdef abi.TVMFFIAny* last
        while self.num_args > 0:
            self.num_args -= 1
            last = &self.args[self.num_args]
            if last.type_index >= abi.kTVMFFIStaticObjectBegin:
                release_object(last.v_obj)

    def __dealloc__(self):
        self._release_args()
        PyMem_Free(self.args)

    def __call__(self, *args, **kwargs):
        return PyVectorcall_Call(self, args, <PyObject*>kwargs if kwargs else NULL)

    def __repr__(self):
        return f"<call of {self.function!r} with {self.num_args} bound arguments>"


def bound_call(Function function not None, tuple args not None, dict kwargs not None):
    """Return a new bound call; implements `Function.bind`."""
    cdef BoundCall bound = BoundCall.__new__(BoundCall)
    bound._bind(function, args, kwargs)
    return bound


cdef PyObject* _call(
    PyObject* callable, PyObject* const* values, size_t nargsf, PyObject* kwnames
) noexcept:
    cdef BoundCall bound = <BoundCall>callable
    cdef CallState state
    if PyVectorcall_NARGS(nargsf) != 0 or kwnames != NULL:
        set_exception(TypeError(
            "a bound call takes no arguments: `Function.bind` has packed all of them"))
        return NULL
    if bound.function is None:
        set_exception(ValueError("BoundCall is empty; create bound calls with `Function.bind`"))
        return NULL
    state = bound.state
    if state.stream_device_type != 0 and _cold_renew_stream(bound, &state) != 0:
        return NULL
    return call_packed(bound.function, bound.args, bound.num_args, &state)


cdef int _renew_stream(BoundCall bound, CallState* state) except -1:
    """Write the framework's current stream, which may have changed since `bind`, to `state`."""
    if state.exchange_api == NULL:
        return refresh_stream(bound.values[bound.stream_index], state)
    if state.exchange_api.current_work_stream != NULL:
        state.exchange_api.current_work_stream(
            <abi.DLDeviceType>state.stream_device_type, state.stream_device_id, &state.stream)
    return 0


# `_renew_stream` as a C function that returns -1 with an exception set.  The pointer also prevents
# the C compiler from inlining the function, because most bound calls have no stream.
cdef int (*_cold_renew_stream)(BoundCall bound, CallState* state) noexcept
_cold_renew_stream = <int (*)(BoundCall, CallState*) noexcept>_renew_stream


def _install_bound_calls():
    """Enable the vectorcall protocol for BoundCall, with the offset of its field `vectorcall`."""
    cdef BoundCall probe = BoundCall.__new__(BoundCall)
    enable_vectorcall(
        <PyTypeObject*>BoundCall, <char*>&probe.vectorcall - <char*><PyObject*>probe, False)


# ---- garbage collection, see call/gc_traverse.pxi ------------------------------------------------

cdef traverseproc _traverse_fields = NULL
cdef _Clear _clear_fields = NULL


cdef int _traverse(PyObject* self, visitproc visit, void* arg) noexcept:
    cdef int stop = _traverse_fields(self, visit, arg)
    cdef int32_t i
    for i in range((<BoundCall>self).num_args):
        if stop != 0:
            break
        if (<BoundCall>self).args[i].type_index >= abi.kTVMFFIStaticObjectBegin:
            stop = visit_as_only_owner((<BoundCall>self).args[i].v_obj, visit, arg)
    return stop


cdef int _clear(PyObject* self) noexcept:
    # Clear `function` before the arguments: a BoundCall without a function cannot be called.
    cdef int code = _clear_fields(self)
    (<BoundCall>self)._release_args()
    return code


_traverse_fields = (<PyTypeObject*>BoundCall).tp_traverse
_clear_fields = <_Clear>(<PyTypeObject*>BoundCall).tp_clear
(<PyTypeObject*>BoundCall).tp_traverse = <traverseproc>_traverse
(<PyTypeObject*>BoundCall).tp_clear = <inquiry>_clear
_install_bound_calls()

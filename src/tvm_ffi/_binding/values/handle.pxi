# SPDX-License-Identifier: Apache-2.0
"""Objects as arguments: handles of native objects, errors, and opaque Python values.

The rule with the lowest precedence wraps any other Python value in an opaque object.  Native code
can pass an opaque object to other functions, but cannot read the Python value.
"""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, CallState, PackFunction, Packer, Precedence, add_rule, add_unpacker,
    pack_object, pack_temporary,
)
from tvm_ffi._binding.object cimport (
    CObject, Error, ObjectRValueRef, handle_of, keep_for_borrowers, native_error_of,
    new_native_error, new_opaque, wrap_error,
)


cdef int pack_handle(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef abi.TVMFFIObject* handle = <abi.TVMFFIObject*>handle_of(<CObject>value)
    return pack_object(out, handle.type_index, handle)


cdef int _pack_error(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return pack_object(out, abi.kTVMFFIError, native_error_of(<Error>value))


cdef int _pack_object_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object result = (<object>value).__tvm_ffi_object__()
    if not isinstance(result, CObject):
        raise TypeError(
            f"{type(<object>value).__name__}.__tvm_ffi_object__() must return an FFI object, "
            f"got {type(result).__name__}")
    cdef abi.TVMFFIObject* handle = <abi.TVMFFIObject*>handle_of(<CObject>result)
    # The call owns a reference to the object, because the wrapper may be destroyed before the call
    # returns.
    abi.TVMFFIObjectIncRef(handle)
    return pack_temporary(state, out, handle.type_index, handle)


cdef int _pack_rvalue_ref(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack the address of a wrapper's handle; the callee can take the wrapper's reference."""
    cdef CObject obj = (<ObjectRValueRef>value).obj
    handle_of(obj)
    keep_for_borrowers(obj)  # the callee may empty the wrapper without calling the binding
    state.restriction = ArgumentRestriction.MOVED
    state.moved = <PyObject*>obj  # later arguments of the call may borrow from the wrapper
    out.type_index = abi.kTVMFFIObjectRValueRef
    out.zero_padding = 0
    out.v_ptr = &obj.chandle
    return 0


cdef int _pack_exception(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return pack_temporary(state, out, abi.kTVMFFIError, new_native_error(<object>value))


cdef int pack_opaque(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef abi.TVMFFIObjectHandle opaque = NULL
    new_opaque(<object>value, &opaque)
    return pack_temporary(state, out, abi.kTVMFFIOpaquePyObject, opaque)


cdef bint _object_rule(type cls, object value, Packer* packer) except -1:
    if issubclass(cls, Error):
        packer.pack = <PackFunction>_pack_error
    elif issubclass(cls, CObject):
        packer.pack = <PackFunction>pack_handle
    elif issubclass(cls, ObjectRValueRef):
        packer.pack = <PackFunction>_pack_rvalue_ref
    elif hasattr(cls, "__tvm_ffi_object__"):
        packer.pack = <PackFunction>_pack_object_protocol
    else:
        return False
    return True


cdef bint _exception_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, Exception):
        return False
    packer.pack = <PackFunction>_pack_exception
    return True


cdef bint _opaque_rule(type cls, object value, Packer* packer) except -1:
    packer.pack = <PackFunction>pack_opaque
    return True


# ---- native to Python ----------------------------------------------------------------------

cdef object _unpack_opaque(abi.TVMFFIAny* owned, CallState* state):
    cdef void* value = abi.TVMFFIOpaqueObjectGetCellPtr(owned.v_obj).handle
    cdef object result = <object>value
    abi.TVMFFIObjectDecRef(owned.v_obj)
    return result


cdef object _unpack_error(abi.TVMFFIAny* owned, CallState* state):
    return wrap_error(owned.v_obj)


cdef object _refuse_borrowed(abi.TVMFFIAny* owned, CallState* state):
    """Raise ValueError, because a native function has returned a borrowed value."""
    names = {
        abi.kTVMFFIRawStr: "RawStr",
        abi.kTVMFFIByteArrayPtr: "ByteArrayPtr",
        abi.kTVMFFIObjectRValueRef: "ObjectRValueRef",
    }
    raise ValueError(f"Return value cannot be {names[owned.type_index]}")


add_rule(Precedence.OBJECT, _object_rule)
add_rule(Precedence.EXCEPTION, _exception_rule)
add_rule(Precedence.OPAQUE, _opaque_rule)
add_unpacker(abi.kTVMFFIOpaquePyObject, _unpack_opaque)
add_unpacker(abi.kTVMFFIError, _unpack_error)
add_unpacker(abi.kTVMFFIRawStr, _refuse_borrowed)
add_unpacker(abi.kTVMFFIByteArrayPtr, _refuse_borrowed)
add_unpacker(abi.kTVMFFIObjectRValueRef, _refuse_borrowed)

# SPDX-License-Identifier: Apache-2.0
"""How functions come to Python: from a callable, and from the table of global functions."""

cimport cython

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport CObject, check, handle_of, hooks, wrap_object
from tvm_ffi._binding.tensor cimport exchange_api_of
from tvm_ffi._binding.values cimport plain_str


def convert_func(pyfunc, tensor_cls=None) -> Function:
    """Return a native function that calls a Python callable.

    Parameters
    ----------
    pyfunc : callable
        Called with the GIL held, on whatever thread the caller is on.
    tensor_cls : type, optional
        Class with a DLPack exchange table, such as ``torch.Tensor``: tensors arrive as its objects
        instead of `Tensor`, those in containers, too.  A tensor that is lent for the call only
        stays what it is.

    Raises
    ------
    TypeError
        If `pyfunc` is not callable, or `tensor_cls` has no exchange table.
    """
    cdef abi.TVMFFIObjectHandle handle = NULL
    cdef const abi.DLPackExchangeAPI* exchange_api = NULL
    if tensor_cls is not None:
        exchange_api = exchange_api_of(<type>tensor_cls) if isinstance(tensor_cls, type) else NULL
        if exchange_api == NULL:
            raise TypeError(f"tensor_cls {tensor_cls!r} must expose __dlpack_c_exchange_api__")
    elif isinstance(pyfunc, Function):
        return pyfunc
    if not callable(pyfunc):
        raise TypeError(f"expected a callable, got {type(pyfunc).__name__}")
    new_callback(pyfunc, tensor_cls, exchange_api, &handle)
    return wrap_object(handle)


def find_global_func(name):
    """Return the function registered under this name, or None."""
    cdef str own_name = plain_str(name, "name of a function")
    cdef bytes text = own_name.encode("utf-8")
    cdef abi.TVMFFIByteArray view
    cdef abi.TVMFFIObjectHandle handle = NULL
    view.data, view.size = text, len(text)
    check(abi.TVMFFIFunctionGetGlobal(&view, &handle))
    if handle == NULL:
        return None
    cdef Function function = wrap_function(handle)
    if own_name.startswith(("ffi.", "pytvmffi.")):  # the runtime's own tell no signatures
        function.origin = own_name
    else:
        set_origin(function, own_name)
    return function


def unseen_function(str name not None) -> CObject:
    """Return a global function of the runtime for code that calls its handle.

    Not as a `Function`: the garbage collector shows those to everybody, who could empty it.
    """
    cdef CObject unseen = CObject.__new__(CObject)
    unseen.chandle = handle_of(find_global_func(name))
    abi.TVMFFIObjectIncRef(unseen.chandle)
    return unseen


def named_function(str name not None) -> Function:
    """Return the global function that a pickle names."""
    function = find_global_func(name)
    if function is None:
        raise ValueError(
            f"Cannot find global function {name}: a pickle names it, and this process has not "
            "registered it; import what registers it first")
    return function


def set_global_func(
    name, Function function not None, bint override, str metadata="", str doc=""
) -> None:
    """Register the function; RuntimeError if the name is taken and `override` is false."""
    cdef str own_name = plain_str(name, "name of a function")
    cdef bytes text = own_name.encode("utf-8")
    cdef bytes metadata_text = metadata.encode("utf-8")
    cdef bytes doc_text = doc.encode("utf-8")  # before anything is registered: it may fail
    cdef abi.TVMFFIByteArray view
    view.data, view.size = text, len(text)
    check(abi.TVMFFIFunctionSetGlobal(&view, handle_of(function), override))
    if metadata or doc:
        _describe_global(&view, function, metadata_text, doc_text)
    settled_origin(function, own_name)


cdef int _describe_global(
    const abi.TVMFFIByteArray* name, Function function, bytes metadata, bytes doc
) except -1:
    """Register a function once more, with texts.

    The first time finds out whether the name is taken, without a line on stderr.
    """
    cdef abi.TVMFFIMethodInfo info
    info.name = name[0]
    info.metadata.data, info.metadata.size = metadata, len(metadata)
    info.doc.data, info.doc.size = doc, len(doc)
    info.flags = abi.kTVMFFIFieldFlagBitMaskIsStaticMethod
    info.method.type_index, info.method.zero_padding = abi.kTVMFFIFunction, 0
    info.method.v_obj = <abi.TVMFFIObject*>handle_of(function)
    return check(abi.TVMFFIFunctionSetGlobalFromMethodInfo(&info, True))


def plain_function(Function function not None) -> Function:
    """Return the function without what a subclass adds; ValueError for an empty one."""
    cdef Function plain = Function.__new__(Function)
    plain.chandle = handle_of(function)
    abi.TVMFFIObjectIncRef(plain.chandle)
    _call_likewise(plain, function)
    return plain


cdef int _call_likewise(Function made, Function function) except -1:
    """Let a wrapper that nobody has seen be called as another one."""
    set_origin(made, origin_of(function))
    with cython.critical_section(_wrapper_lock):
        made.releases_gil, made.chose_gil = function.releases_gil, function.chose_gil
    return 0


def function_of_class(cls, Function function not None, dict attributes) -> Function:
    """Return the function as an instance of a subclass, with these attributes."""
    cdef Function made = <Function?>cls.__new__(cls)
    made.__move_handle_from__(plain_function(function))
    _call_likewise(made, function)
    vars(made).update(attributes)
    return made


hooks.object_text = find_global_func("pytvmffi.ReprPrintAbbreviated")
hooks.graph_text = find_global_func("ffi.ToJSONGraphString")
hooks.object_of_graph = find_global_func("ffi.FromJSONGraphString")

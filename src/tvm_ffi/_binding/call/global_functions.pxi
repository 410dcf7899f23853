# SPDX-License-Identifier: Apache-2.0
"""Global functions and functions from Python callables: lookup, registration and copies."""

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
        Called with the GIL held, on the thread of the caller.
    tensor_cls : type, optional
        Class with a DLPack exchange API, such as ``torch.Tensor``: the callable gets tensors,
        including elements of containers, as instances of this class instead of `Tensor`.  Tensors
        that are borrowed for the call stay `Tensor`.

    Raises
    ------
    TypeError
        If `pyfunc` is not callable, or `tensor_cls` has no exchange API.
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
    cdef str function_name = plain_str(name, "name of a function")
    cdef bytes text = function_name.encode("utf-8")
    cdef abi.TVMFFIByteArray view
    cdef abi.TVMFFIObjectHandle handle = NULL
    view.data, view.size = text, len(text)
    check(abi.TVMFFIFunctionGetGlobal(&view, &handle))
    if handle == NULL:
        return None
    cdef Function function = wrap_function(handle)
    # The runtime's functions have no signatures.
    if function_name.startswith(("ffi.", "pytvmffi.")):
        function.origin = function_name
    else:
        set_origin(function, function_name)
    return function


def runtime_function(str name not None) -> CObject:
    """Return the owner of a global function's handle, for code that calls the handle directly.

    The owner is not a `Function`: any program can get a `Function` from `gc.get_objects` and move
    its handle away.
    """
    cdef CObject owner = CObject.__new__(CObject)
    owner.chandle = handle_of(find_global_func(name))
    abi.TVMFFIObjectIncRef(owner.chandle)
    return owner


def named_function(str name not None) -> Function:
    """Return the global function of a name in a pickle."""
    function = find_global_func(name)
    if function is None:
        raise ValueError(
            f"Cannot find global function {name}: a pickle refers to it, but this process has not "
            "registered it; import the module that registers it first")
    return function


def set_global_func(
    name, Function function not None, bint override, str metadata="", str doc=""
) -> None:
    """Register the function; RuntimeError if the name is taken and `override` is false."""
    cdef str function_name = plain_str(name, "name of a function")
    cdef bytes text = function_name.encode("utf-8")
    cdef bytes metadata_text = metadata.encode("utf-8")
    cdef bytes doc_text = doc.encode("utf-8")  # before the registration: encoding may fail
    cdef abi.TVMFFIByteArray view
    view.data, view.size = text, len(text)
    check(abi.TVMFFIFunctionSetGlobal(&view, handle_of(function), override))
    if metadata or doc:
        _describe_global(&view, function, metadata_text, doc_text)
    set_default_origin(function, function_name)


cdef int _describe_global(
    const abi.TVMFFIByteArray* name, Function function, bytes metadata, bytes doc
) except -1:
    """Register a function again, with metadata and documentation.

    The first registration fails for a taken name; this function would also print a warning.
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
    """Return a new `Function` for the native function of a subclass instance.

    Raises
    ------
    ValueError
        If the function is empty.
    """
    cdef Function plain = Function.__new__(Function)
    plain.chandle = handle_of(function)
    abi.TVMFFIObjectIncRef(plain.chandle)
    _copy_call_settings(plain, function)
    return plain


cdef int _copy_call_settings(Function copy, Function function) except -1:
    """Copy origin and GIL settings to a new wrapper, which no other thread uses yet."""
    set_origin(copy, origin_of(function))
    with cython.critical_section(_wrapper_lock):
        copy.releases_gil = function.releases_gil
        copy.release_gil_assigned = function.release_gil_assigned
    return 0


def function_of_class(cls, Function function not None, dict attributes) -> Function:
    """Return a new instance of a subclass for the function, with these attributes."""
    cdef Function copy = <Function?>cls.__new__(cls)
    copy.__move_handle_from__(plain_function(function))
    _copy_call_settings(copy, function)
    vars(copy).update(attributes)
    return copy


hooks.object_text = find_global_func("pytvmffi.ReprPrintAbbreviated")
hooks.graph_text = find_global_func("ffi.ToJSONGraphString")
hooks.object_of_graph = find_global_func("ffi.FromJSONGraphString")

# SPDX-License-Identifier: Apache-2.0
"""Global functions (lookup, registration, pickling) and functions from Python callables."""

cimport cython

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport CObject, check, handle_of, hooks, utf8_of, wrap_object
from tvm_ffi._binding.tensor cimport exchange_api_of
from tvm_ffi._binding.values cimport plain_str


def convert_func(pyfunc, tensor_cls=None) -> Function:
    """Return a native function that calls a Python callable.

    Parameters
    ----------
    pyfunc : callable
        The Python callable.  It is called with the GIL held, on the thread of the native caller.
    tensor_cls : type, optional
        Class with a DLPack exchange API, such as ``torch.Tensor``.  The callable gets tensors,
        including elements of containers, as instances of this class instead of `Tensor`.  Tensors
        that the callback only borrows for the call are always `Tensor`.

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
            raise TypeError(
                "convert_func: tensor_cls must expose __dlpack_c_exchange_api__, got "
                f"{tensor_cls!r}")
    elif isinstance(pyfunc, Function):
        return pyfunc
    if not callable(pyfunc):
        raise TypeError(f"convert_func: expected a callable, got {type(pyfunc).__name__}")
    new_callback(pyfunc, tensor_cls, exchange_api, &handle)
    return wrap_object(handle)


def python_callable(Function function not None):
    """Return the Python callable that a function calls; None for a native function."""
    return callable_object(handle_of(function))


def find_global_func(name):
    """Return the global function that is registered under a name; None if there is none."""
    cdef str function_name = plain_str(name, "name of a function")
    cdef bytes text = utf8_of(function_name, "name of a function")
    cdef abi.TVMFFIByteArray view
    cdef abi.TVMFFIObjectHandle handle = NULL
    view.data, view.size = text, len(text)
    check(abi.TVMFFIFunctionGetGlobal(&view, &handle))
    if handle == NULL:
        return None
    cdef Function function = wrap_function(handle)
    # Functions of the runtime have no signature: assign the origin without a lookup at the first
    # call.
    if function_name.startswith(("ffi.", "pytvmffi.")):
        function.origin = function_name
    else:
        set_origin(function, function_name)
    return function


def runtime_function(str name not None) -> CObject:
    """Return an owner of a global function's handle, for code that calls the handle directly.

    The owner is not a `Function`, because any Python code can find a `Function` with
    `gc.get_objects` and move its handle away.
    """
    cdef CObject owner = CObject.__new__(CObject)
    owner.chandle = handle_of(find_global_func(name))
    abi.TVMFFIObjectIncRef(owner.chandle)
    return owner


def named_function(str name not None) -> Function:
    """Return a global function by name; pickles of global functions call this when loaded."""
    function = find_global_func(name)
    if function is None:
        raise ValueError(
            f"Cannot find global function {name}: a pickle refers to it, but this process has not "
            "registered it; import the module that registers it first")
    return function


def set_global_func(
    name, Function function not None, bint override, str metadata="", str doc=""
) -> None:
    """Register a global function, with metadata (JSON text) and documentation.

    Raises RuntimeError if the name is already registered and `override` is false.
    """
    cdef str function_name = plain_str(name, "name of a function")
    cdef bytes text = utf8_of(function_name, "name of a function")
    # These conversions may raise an exception, so they are before the registration.
    cdef bytes metadata_text = utf8_of(metadata, f"metadata of function '{function_name}'")
    cdef bytes doc_text = utf8_of(doc, f"documentation of function '{function_name}'")
    cdef abi.TVMFFIByteArray view
    view.data, view.size = text, len(text)
    check(abi.TVMFFIFunctionSetGlobal(&view, handle_of(function), override))
    if metadata or doc:
        _describe_global(&view, function, metadata_text, doc_text)
    set_default_origin(function, function_name)


cdef int _describe_global(
    const abi.TVMFFIByteArray* name, Function function, bytes metadata, bytes doc
) except -1:
    """Register a function a second time, to add metadata and documentation.

    The first registration is separate because it fails without a warning if the name is already
    registered; `TVMFFIFunctionSetGlobalFromMethodInfo` would also print a warning.
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
    """Return a new `Function` for the native function of an instance of a subclass.

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
    """Copy the origin and `release_gil` to a new wrapper, which no other thread uses yet."""
    set_origin(copy, origin_of(function))
    with cython.critical_section(_wrapper_lock):
        copy.releases_gil = function.releases_gil
        copy.release_gil_assigned = function.release_gil_assigned
    return 0


def unchecked(Function function not None) -> Function:
    """Return a function whose calls skip the argument checks of the signature.

    Parameters
    ----------
    function : Function
        A function with a signature.

    Returns
    -------
    Function
        A new object for the same native function.  Calls still bind keywords and defaults, and
        convert arguments.  Checks in the code of the function itself remain.

    Notes
    -----
    Calls with arguments that the signature refuses may read and write other memory.
    """
    cdef Function copy = plain_function(function)
    copy.is_unchecked = True
    return copy


def function_of_class(cls, Function function not None, dict attributes) -> Function:
    """Return a new instance of the `Function` subclass `cls`, with the dict `attributes`.

    Pickles of such instances call this when loaded.
    """
    cdef Function copy = <Function?>cls.__new__(cls)
    copy.__move_handle_from__(plain_function(function))
    _copy_call_settings(copy, function)
    vars(copy).update(attributes)
    return copy


_kwargs_marker = find_global_func("ffi.GetKwargsObject")()
hooks.object_text = find_global_func("pytvmffi.ReprPrintAbbreviated")
hooks.graph_text = find_global_func("ffi.ToJSONGraphString")
hooks.object_of_graph = find_global_func("ffi.FromJSONGraphString")

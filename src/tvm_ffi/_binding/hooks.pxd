# SPDX-License-Identifier: Apache-2.0
# Hooks: Python functions of higher layers that lower layers of the binding call.
#
# Modules of the binding call modules of lower layers directly.  The few calls to higher layers go
# through a field of `hooks`, the only instance of `Hooks`, which the extension module `object`
# creates.  The module that provides a function assigns the field once, when the module is imported;
# until then the field is None.  The fast path of a function call reads no field.
#
#   field                assigned by, when                         while the field is None
#   object_text          call/global_functions.pxi, import         `repr` of objects fails
#   graph_text           call/global_functions.pxi, import         objects cannot be pickled
#   object_of_graph      call/global_functions.pxi, import         objects cannot be unpickled
#   load_description     _binding/load.py, import                  functions have no `__doc__`
#   signature_lookup     _binding/load.py, import                  functions cannot be called
#   container_converter  core.py, import                           containers cannot be declared
#   fallback_call        interop/torch, its first operator         unsupported arguments are errors

cdef class Hooks:
    # (object, limit, edge items) -> str: `repr` of a native object.
    cdef public object object_text
    # (object, metadata) -> str: JSON graph of an object and all objects it refers to.
    cdef public object graph_text
    # (str) -> object: object that a JSON graph describes.
    cdef public object object_of_graph
    # () -> module: `call.description`, which formats docstrings of functions and pickles functions.
    cdef public object load_description
    # (function, origin) -> ArgumentBinder, or None for a function without a signature.  The origin
    # is the name of a global function, or a `ModuleOrigin`.
    cdef public object signature_lookup
    # (schema) -> callable that converts a list, tuple or dict to the declared container.
    cdef public object container_converter
    # (function, arguments) -> result or NotImplemented: performs a call with an argument that
    # native code cannot receive, such as a tensor without memory.
    cdef public object fallback_call

cdef Hooks hooks

# SPDX-License-Identifier: Apache-2.0
# The table of hooks: Python functions that a higher layer gives to a lower one.
#
# A module of the binding calls the modules below it directly.  The few calls upward go through a
# field of `hooks`, the only object of this class, which the extension module `object` makes.  The
# module that fills a field assigns it once, when it is loaded; a field that is not filled is None.
# Calls from Python to native code read no field after the first call of a function.
#
#   field                filled by                                 None until then means
#   object_text          call/global_functions.pxi, import         `repr` of objects fails
#   graph_text           call/global_functions.pxi, import         objects cannot be pickled
#   object_of_graph      call/global_functions.pxi, import         objects cannot be unpickled
#   load_description     _binding/load.py, import                  functions have no `__doc__`
#   signature_lookup     _binding/load.py, import                  functions cannot be called
#   container_converter  core.py, import                           containers cannot be declared
#   fallback_call        interop/torch, its first operator         unsupported arguments are errors

cdef class Hooks:
    # (object, limit, edge items) -> str: the native printer.
    cdef public object object_text
    # (object, metadata) -> str: the JSON graph of an object and of everything it refers to.
    cdef public object graph_text
    # (str) -> object: the object of such a graph.
    cdef public object object_of_graph
    # () -> module: loads `call.description`, which writes and pickles descriptions of functions.
    cdef public object load_description
    # (function, origin) -> ArgumentBinder or None: reads the signature of a function.
    cdef public object signature_lookup
    # (schema) -> callable: converts a list, tuple or dict to a declared container.
    cdef public object container_converter
    # (function, arguments) -> result or NotImplemented: takes a call with an argument that native
    # code cannot receive, such as a tensor without memory.
    cdef public object fallback_call

cdef Hooks hooks

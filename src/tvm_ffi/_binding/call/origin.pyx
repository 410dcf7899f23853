# SPDX-License-Identifier: Apache-2.0
"""Functions of modules: what the library says about them, and how another process finds them.

Only the name is kept with a function; everything else is asked for when somebody wants to know.
"""

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.call.function cimport Function
from tvm_ffi._binding.object.note cimport (
    NativeReference, drop_target, keep_note, weak_target, wrap_target
)
from tvm_ffi._binding.object.object cimport CObject

from tvm_ffi._binding.call.making import find_global_func


cdef class ModuleOrigin(NativeReference):
    """A function's module, which is not kept alive from here, and its name there.

    It is the note about the function, and the reference to it that goes with the note.
    """

    cdef abi.TVMFFIObject* module  # one weak count is ours
    cdef readonly str name
    cdef readonly bint query_imports

    def __dealloc__(self):
        drop_target(self.module)

    cdef object own_note(self):
        return self

    def doc(self):
        """Return the documentation that the library has, or None."""
        return self._ask("ffi.ModuleGetFunctionDoc")

    def metadata(self):
        """Return the JSON text of what the library says, or None."""
        return self._ask("ffi.ModuleGetFunctionMetadata")

    cdef object _ask(self, str question):
        module = wrap_target(self.module)
        if module is None:
            return None
        return find_global_func(question)(module, self.name, self.query_imports)

    def reduce(self):
        """Return what the function's ``__reduce__`` returns."""
        module = wrap_target(self.module)
        if module is None:
            raise TypeError(f"cannot pickle function `{self.name}`: its module is gone")
        return type(module).get_function, (module, self.name, self.query_imports)


def set_module_origin(
    Function function not None, CObject module not None, str name not None, bint query_imports
) -> None:
    """Note where a function was found; all wrappers of the function know it then."""
    cdef ModuleOrigin origin = ModuleOrigin.__new__(ModuleOrigin)
    origin.refer_to(function)
    origin.module = weak_target(module)
    origin.name = name
    origin.query_imports = query_imports
    function.origin = origin
    keep_note(origin)

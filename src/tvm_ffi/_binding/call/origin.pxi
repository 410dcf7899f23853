# SPDX-License-Identifier: Apache-2.0
"""Functions of modules: what the library says about them, and how another process finds them.

Only the name is kept with a function; everything else is asked for when somebody wants to know.
"""

cimport cython
from cpython.ref cimport PyObject
from cpython.weakref cimport PyWeakref_NewRef

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, begin_call, pack_object, release_temporaries, view_free_list,
)
from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL
from tvm_ffi._binding.object cimport (
    Borrowing, CObject, NativeReference, begin_borrowing, check, drop_target, end_borrowing,
    get_object_metadata, handle_of, store_object_metadata, weak_target, wrap_target,
)
from tvm_ffi._binding.values cimport pack_str, plain_str

from tvm_ffi._binding.object import references_with_metadata

cdef CObject _find_in_module = unseen_function("ffi.ModuleGetFunction")


@cython.binding(False)
cdef class ModuleOrigin(NativeReference):
    """A function's module, which is not kept alive from here, and its name there.

    It is the note about the function, and the reference to it that goes with the note.
    """

    cdef abi.TVMFFIObject* module  # one weak count is ours
    cdef readonly str name
    cdef readonly bint query_imports
    # All of these under `_wrapper_lock`.
    cdef object binder    # of its calls; None until somebody has asked, False where there is none
    cdef list binders     # without the GIL: all that there were, as calls may be reading them; few
    cdef list wrappers  # weak references to those that know the binder; None: nobody does
    cdef Py_ssize_t next_sweep  # dead ones are dropped when there are this many

    def __dealloc__(self):
        drop_target(self.module)

    cdef object get_metadata(self):
        return self

    def doc(self):
        """Return the documentation that the library has, or None."""
        return self._ask("ffi.ModuleGetFunctionDoc")

    def library(self):
        """Return what messages call the module: where it was loaded from, or its kind."""
        module = wrap_target(self.module)
        if module is None:
            return "a module that is gone"
        source = get_object_metadata(module)
        return source.argument if getattr(source, "argument", "") else f"Module[{module.kind}]"

    def add_wrapper(self, Function function not None):
        """Note who calls as the signature says, and is to learn when that is another one."""
        cdef object reference = PyWeakref_NewRef(function, None)
        cdef list fresh = [], many = None
        with cython.critical_section(_wrapper_lock):
            if self.wrappers is None:
                self.wrappers = fresh
            self.wrappers.append(reference)
            if len(self.wrappers) >= self.next_sweep:
                many = self.wrappers
        if many is not None:
            self._sweep(many)

    cdef int _sweep(self, list wrappers) except -1:
        """Drop references to those that have died, unless another thread has changed the list."""
        cdef list seen = wrappers.copy()
        cdef list alive = [reference for reference in seen if reference() is not None]
        with cython.critical_section(_wrapper_lock):
            if self.wrappers is wrappers:
                alive += wrappers[len(seen):]
                self.wrappers = alive
                self.next_sweep = 2 * len(alive) + 8
        return 0

    def known_binder(self):
        """Return the binder, False where there is none; None when nobody has asked."""
        with cython.critical_section(_wrapper_lock):
            return self.binder

    def keep_binder(self, binder, Py_ssize_t before):
        """Remember a binder, or False, unless signatures were given since its text was asked for.

        Returns the one that another thread has found first, or this one.
        """
        with cython.critical_section(_wrapper_lock):
            if num_descriptions() != before:
                return binder
            if self.binder is None:
                self.binder = binder
                if GIL_IS_OPTIONAL:
                    if self.binders is None:
                        self.binders = []
                    self.binders.append(binder)
            return self.binder

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


@cython.binding(False)  # what traces programs can stand in for built-in functions only
def function_of_module(CObject module not None, name, bint query_imports):
    """Return a function of the module, or None; all wrappers of it know where it was found."""
    cdef abi.TVMFFIAny args[3]
    cdef abi.TVMFFIObject* temporaries[2]
    cdef abi.TVMFFIAny found
    cdef CallState state
    cdef Borrowing borrowing
    cdef Borrowing** borrowings
    cdef PyObject* wrapper = <PyObject*>module
    cdef int code
    cdef str text = plain_str(name, "name of a function")
    begin_call(&state, temporaries)
    cdef abi.TVMFFIObject* handle = <abi.TVMFFIObject*>handle_of(module)
    pack_object(&args[0], handle.type_index, handle)  # what is no module the runtime refuses
    if pack_str(<PyObject*>text, &args[1], &state, NULL) != 0:
        check(-2)
    args[2].type_index, args[2].zero_padding = abi.kTVMFFIBool, 0
    args[2].v_int64 = query_imports
    found.type_index, found.zero_padding = abi.kTVMFFINone, 0
    found.v_int64 = 0
    borrowings = begin_borrowing(&borrowing, &wrapper, 1)
    with nogil:  # the module may be foreign code
        code = abi.TVMFFIFunctionCall(_find_in_module.chandle, args, 3, &found)
    end_borrowing(borrowings, &borrowing)
    release_temporaries(&state, view_free_list())
    check(code)
    if found.type_index != abi.kTVMFFIFunction:
        return None
    cdef Function function = wrap_function(found.v_obj)
    cdef object origin = get_object_metadata(function)
    if origin is None:
        set_module_origin(function, module, text, query_imports)
    else:  # a function of another module stays that module's
        set_origin(function, origin)
    return function


cpdef set_module_origin(
    Function function, CObject module, str name, bint query_imports
):
    """Note where a function was found; all wrappers of the function know it then."""
    cdef ModuleOrigin origin = ModuleOrigin.__new__(ModuleOrigin)
    origin.refer_to(function)
    origin.module = weak_target(module)
    origin.name = name
    origin.query_imports = query_imports
    set_origin(function, store_object_metadata(origin).get_metadata())


def forget_binders(name) -> None:
    """Let functions of this name, of whatever module, be asked for their signatures again.

    Also those of modules that import the one whose functions have been described anew.  Called
    when the new description can be read.
    """
    cdef list origins = [
        reference for reference in references_with_metadata()
        if isinstance(reference, ModuleOrigin) and (<ModuleOrigin>reference).name == name]
    cdef list binders = [None] * len(origins), wrappers = [None] * len(origins)
    cdef ModuleOrigin origin
    cdef Py_ssize_t i
    # At one moment: who begins to read later finds nothing old, who began before keeps nothing.
    with cython.critical_section(_wrapper_lock):
        count_description()
        for i in range(len(origins)):
            origin = <ModuleOrigin>origins[i]
            binders[i], wrappers[i] = origin.binder, origin.wrappers
            origin.binder = origin.wrappers = None
    for references in wrappers:
        for reference in references or ():
            function = reference()
            if function is not None:
                unresolve(<Function>function)


def description_count() -> int:
    """Return the number of signature changes so far, which `keep_binder` compares."""
    return num_descriptions()

# SPDX-License-Identifier: Apache-2.0
"""Module functions: lookup, metadata, documentation, and pickling by module and name.

A function that was found in a module stores its origin: a weak reference to the module, and the
name.  Metadata and documentation are read from the module's library when Python code asks for them.
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

cdef CObject _find_in_module = runtime_function("ffi.ModuleGetFunction")


@cython.binding(False)
cdef class ModuleOrigin(NativeReference):
    """Origin of a module function: a weak reference to its module, and its name in the module.

    `store_object_metadata` attaches the origin to the native function, so that all its wrappers
    share the origin.
    """

    cdef abi.TVMFFIObject* module  # owned weak reference to the module
    cdef readonly str name
    # True if the lookup also searched the modules that `module` imports.
    cdef readonly bint query_imports
    # Threads: the following fields need `_wrapper_lock`.
    cdef object binder  # the cached ArgumentBinder; False: no signature; None: not looked up
    cdef list binders   # free-threaded Python: all cached binders so far; calls may be reading them
    cdef list wrappers  # weak references to the `Function`s that use `binder`, or None
    cdef Py_ssize_t next_sweep  # length of `wrappers` at which dead references are removed

    def __dealloc__(self):
        drop_target(self.module)

    cdef object get_metadata(self):
        return self

    def doc(self):
        """Return the documentation of the function that the library contains, or None."""
        return self._query("ffi.ModuleGetFunctionDoc")

    def library(self):
        """Return the name of the module for warnings: its file path; without a file, its kind."""
        module = wrap_target(self.module)
        if module is None:
            return "a destroyed module"
        source = get_object_metadata(module)
        return source.argument if getattr(source, "argument", "") else f"Module[{module.kind}]"

    def add_wrapper(self, Function function not None):
        """Register a `Function` that uses the cached binder, so that `forget_binders` resets it."""
        cdef object reference = PyWeakref_NewRef(function, None)
        cdef list new_list = [], full_list = None
        with cython.critical_section(_wrapper_lock):
            if self.wrappers is None:
                self.wrappers = new_list
            self.wrappers.append(reference)
            if len(self.wrappers) >= self.next_sweep:
                full_list = self.wrappers
        if full_list is not None:
            self._sweep(full_list)

    cdef int _sweep(self, list wrappers) except -1:
        """Remove dead weak references from `wrappers`, unless another thread replaced the list."""
        cdef list seen = wrappers.copy()
        cdef list alive = [reference for reference in seen if reference() is not None]
        with cython.critical_section(_wrapper_lock):
            if self.wrappers is wrappers:
                alive += wrappers[len(seen):]
                self.wrappers = alive
                self.next_sweep = 2 * len(alive) + 8
        return 0

    def cached_binder(self):
        """Return the cached argument binder; False without a signature; None before the lookup."""
        with cython.critical_section(_wrapper_lock):
            return self.binder

    def store_binder(self, binder, Py_ssize_t version):
        """Cache the argument binder of the function, and return the binder to use.

        `binder` is False if the function has no signature.  `version` is the signature version
        before the lookup of `binder`.  If the version has changed since, return `binder` without
        caching it.  Otherwise return the cached binder, which is not `binder` if another thread
        cached its binder first.
        """
        with cython.critical_section(_wrapper_lock):
            if load_signature_version() != version:
                return binder
            if self.binder is None:
                self.binder = binder
                if GIL_IS_OPTIONAL:
                    if self.binders is None:
                        self.binders = []
                    self.binders.append(binder)
            return self.binder

    def metadata(self):
        """Return the metadata that the library contains for the function, as JSON text, or None."""
        return self._query("ffi.ModuleGetFunctionMetadata")

    cdef object _query(self, str function_name):
        module = wrap_target(self.module)
        if module is None:
            return None
        return find_global_func(function_name)(module, self.name, self.query_imports)

    def reduce(self):
        """Return the pickle data of the function, for `Function.__reduce__`."""
        module = wrap_target(self.module)
        if module is None:
            raise TypeError(f"cannot pickle function `{self.name}`: its module was destroyed")
        return type(module).get_function, (module, self.name, self.query_imports)


@cython.binding(False)  # torch.compile can replace built-in functions by other functions
def function_of_module(CObject module not None, name, bint query_imports):
    """Return the function of this name in the module; None if there is none.

    With `query_imports`, modules that the module imports are searched, too.
    """
    cdef abi.TVMFFIAny args[3]
    cdef abi.TVMFFIObject* temporaries[2]
    cdef abi.TVMFFIAny result
    cdef CallState state
    cdef Borrowing borrowing
    cdef Borrowing** borrowings
    cdef PyObject* wrapper = <PyObject*>module
    cdef int code
    cdef str text = plain_str(name, "name of a function")
    begin_call(&state, temporaries, 1)
    cdef abi.TVMFFIObject* handle = <abi.TVMFFIObject*>handle_of(module)
    # If the object is not a module, the runtime raises the error.
    pack_object(&args[0], handle.type_index, handle)
    if pack_str(<PyObject*>text, &args[1], &state, NULL) != 0:
        explain_place("the name of a function", None, "", None)
        check(-2)
    args[2].type_index, args[2].zero_padding = abi.kTVMFFIBool, 0
    args[2].v_int64 = query_imports
    result.type_index, result.zero_padding = abi.kTVMFFINone, 0
    result.v_int64 = 0
    borrowings = begin_borrowing(&borrowing, &wrapper, 1)
    with nogil:  # the module's lookup may be slow third-party code
        code = abi.TVMFFIFunctionCall(_find_in_module.chandle, args, 3, &result)
    end_borrowing(borrowings, &borrowing)
    release_temporaries(&state, view_free_list())
    check(code)
    if result.type_index != abi.kTVMFFIFunction:
        return None
    cdef Function function = wrap_function(result.v_obj)
    cdef object origin = get_object_metadata(function)
    if origin is None:
        set_module_origin(function, module, text, query_imports)
    else:  # an earlier lookup found the function, maybe in an imported module
        set_origin(function, origin)
    return function


cpdef set_module_origin(
    Function function, CObject module, str name, bint query_imports
):
    """Set the origin of a native function; all its wrappers share the origin."""
    cdef ModuleOrigin origin = ModuleOrigin.__new__(ModuleOrigin)
    origin.refer_to(function)
    origin.module = weak_target(module)
    origin.name = name
    origin.query_imports = query_imports
    set_origin(function, store_object_metadata(origin).get_metadata())


def forget_binders(name) -> None:
    """Remove the cached binders of all module functions of this name, after a signature changed.

    Functions of all modules are reset, because other modules may import the function's module.  The
    caller stores the new signature first, because other threads may look it up immediately.
    """
    cdef list origins = [
        reference for reference in references_with_metadata()
        if isinstance(reference, ModuleOrigin) and (<ModuleOrigin>reference).name == name]
    cdef list binders = [None] * len(origins), wrappers = [None] * len(origins)
    cdef ModuleOrigin origin
    cdef Py_ssize_t i
    # One critical section, so that no old binder stays in the cache: a lookup that begins later
    # reads the new signature; a lookup that began earlier finds another version and caches nothing.
    with cython.critical_section(_wrapper_lock):
        advance_signature_version()
        for i in range(len(origins)):
            origin = <ModuleOrigin>origins[i]
            binders[i], wrappers[i] = origin.binder, origin.wrappers
            origin.binder = origin.wrappers = None
    for references in wrappers:
        for reference in references or ():
            function = reference()
            if function is not None:
                unresolve(<Function>function)


def signature_version() -> int:
    """Return the number of times that signatures were replaced; an argument of `store_binder`."""
    return load_signature_version()

# SPDX-License-Identifier: Apache-2.0
# What native code borrows from wrappers while it runs; docs/design/wrappers.md has the rule.
#
# A call passes the handles of wrappers without taking references.  Its caller keeps the wrappers
# alive, but any Python code that runs meanwhile may empty them.  Each thread therefore has a list
# of what it has borrowed, innermost first, and whoever empties a wrapper looks there.
from cpython.ref cimport PyObject

cdef extern from * nogil:
    """
    /* On the stack of who borrows. */
    typedef struct TVMFFIBorrowing {
      struct TVMFFIBorrowing* self;  /* NULL when it has ended; tells a torn list */
      PyObject* const* wrappers;     /* and values of other kinds */
      Py_ssize_t num_wrappers;
      struct TVMFFIBorrowing* outer;
    } TVMFFIBorrowing;

    /* Where the list of this thread begins; NULL until this module has asked for it. */
    static _Thread_local TVMFFIBorrowing** tvm_ffi_list_of_thread
    #ifdef __GLIBC__
        __attribute__((tls_model("initial-exec"), unused))
    #endif
        = NULL;
    """
    ctypedef struct Borrowing "TVMFFIBorrowing":
        Borrowing* self
        PyObject* const* wrappers
        Py_ssize_t num_wrappers
        Borrowing* outer
    Borrowing** list_of_thread "tvm_ffi_list_of_thread"


# Where the list of this thread begins; the address stays the same.
cdef Borrowing** find_list() noexcept
# Whether a thread borrows from this wrapper.  Without the GIL: whether this thread does.
cdef bint is_borrowed_from(PyObject* wrapper) noexcept


cdef inline Borrowing** begin_borrowing(
    Borrowing* borrowing, PyObject* const* wrappers, Py_ssize_t num_wrappers
) noexcept:
    """What the wrappers hold stays alive until `end_borrowing`, whatever Python code does.

    Returns the list, for `end_borrowing`.
    """
    global list_of_thread
    cdef Borrowing** list = list_of_thread
    if list == NULL:
        list = list_of_thread = find_list()
    borrowing.self = borrowing
    borrowing.wrappers = wrappers
    borrowing.num_wrappers = num_wrappers
    borrowing.outer = list[0]
    list[0] = borrowing
    return list


cdef inline void end_borrowing(Borrowing** list, Borrowing* borrowing) noexcept:
    borrowing.self = NULL
    list[0] = borrowing.outer

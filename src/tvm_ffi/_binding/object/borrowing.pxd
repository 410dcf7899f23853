# SPDX-License-Identifier: Apache-2.0
# Borrowing lists: the wrappers whose handles native calls in progress have borrowed.
#
# A call passes the handles of its arguments without taking references to the native objects.  The
# caller keeps the wrappers alive, but Python code that runs during the call may empty a wrapper.
# Each thread therefore has a linked list of the wrappers it borrows from, innermost call first, and
# code that empties a wrapper first searches the lists.  docs/design/wrappers.md states the rule.
from cpython.ref cimport PyObject

cdef extern from * nogil:
    """
    /* Entry of a borrowing list, for one call; the entry is on the stack of the caller. */
    typedef struct TVMFFIBorrowing {
      struct TVMFFIBorrowing* self;  /* address of this entry; NULL after end_borrowing */
      PyObject* const* wrappers;     /* arguments of the call, borrowed; some may not be wrappers */
      Py_ssize_t num_wrappers;       /* number of elements of `wrappers` */
      struct TVMFFIBorrowing* outer; /* entry of the enclosing call, or NULL */
    } TVMFFIBorrowing;

    /* Result of `find_list`, cached per thread and extension module; NULL before the first call. */
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


# Return the borrowing list of this thread: the address of the pointer to its innermost entry.  The
# address is valid until the thread ends.
cdef Borrowing** find_list() noexcept
# Return True if a call in progress on any thread borrows from the wrapper.  On free-threaded Python
# and during interpreter shutdown, only the list of the calling thread is searched.
cdef bint is_borrowed_from(PyObject* wrapper) noexcept


cdef inline Borrowing** begin_borrowing(
    Borrowing* borrowing, PyObject* const* wrappers, Py_ssize_t num_wrappers
) noexcept:
    """Keep the native objects of the wrappers alive until `end_borrowing`.

    The caller owns the entry and references to the wrappers.  Returns the list, which must be
    passed to `end_borrowing`.
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

# SPDX-License-Identifier: Apache-2.0
"""Storage and search of the borrowing lists that `object/borrowing.pxd` describes."""

from cpython.ref cimport PyObject

from tvm_ffi._binding.interpreter cimport GIL_IS_OPTIONAL, is_finalizing

cdef extern from * nogil:
    """
    #include <pthread.h>
    #include <stdlib.h>

    /* The borrowing list of one thread.  Lists are chained and never freed, so the chain can be
     * traversed without a lock; a new thread reuses the list of a thread that has ended. */
    typedef struct TVMFFIThreadList {
      TVMFFIBorrowing* innermost;    /* entry of the innermost call, or NULL */
      int is_in_use;                 /* 1 while a thread uses the list */
      struct TVMFFIThreadList* next; /* next list of the chain, or NULL */
    } TVMFFIThreadList;

    static TVMFFIThreadList* tvm_ffi_first_list = NULL;
    static pthread_key_t tvm_ffi_list_key;
    static pthread_once_t tvm_ffi_list_key_once = PTHREAD_ONCE_INIT;

    static void tvm_ffi_return_list(void* list) {
      ((TVMFFIThreadList*)list)->innermost = NULL;
      __atomic_store_n(&((TVMFFIThreadList*)list)->is_in_use, 0, __ATOMIC_RELEASE);
    }

    static void tvm_ffi_make_list_key(void) {
      if (pthread_key_create(&tvm_ffi_list_key, tvm_ffi_return_list) != 0) abort();
    }

    static TVMFFIThreadList* tvm_ffi_new_list(void) {
      TVMFFIThreadList* list = calloc(1, sizeof(TVMFFIThreadList));
      if (list == NULL) return NULL;
      list->is_in_use = 1;
      list->next = __atomic_load_n(&tvm_ffi_first_list, __ATOMIC_RELAXED);
      while (!__atomic_compare_exchange_n(
          &tvm_ffi_first_list, &list->next, list, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
      }
      return list;
    }

    static TVMFFIThreadList* tvm_ffi_reuse_list(void) {
      TVMFFIThreadList* list = __atomic_load_n(&tvm_ffi_first_list, __ATOMIC_ACQUIRE);
      for (; list != NULL; list = list->next) {
        int expected = 0;
        if (__atomic_compare_exchange_n(
                &list->is_in_use, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
          return list;
        }
      }
      return NULL;
    }

    /* List of a thread whose TVMFFIThreadList cannot be allocated; other threads cannot find it. */
    static _Thread_local TVMFFIBorrowing* tvm_ffi_unlisted = NULL;

    static TVMFFIBorrowing** tvm_ffi_find_list(void) {
      TVMFFIThreadList* list;
      pthread_once(&tvm_ffi_list_key_once, tvm_ffi_make_list_key);
      list = pthread_getspecific(tvm_ffi_list_key);
      if (list != NULL) return &list->innermost;
      list = tvm_ffi_reuse_list();
      if (list == NULL) list = tvm_ffi_new_list();
      if (list == NULL) return &tvm_ffi_unlisted;
      if (pthread_setspecific(tvm_ffi_list_key, list) != 0) {
        tvm_ffi_return_list(list);
        return &tvm_ffi_unlisted;
      }
      return &list->innermost;
    }

    /* Return 1 if a borrowing list contains the wrapper.  Code that switches stacks inside a
     * callback, as greenlets do, can leave an invalid entry in a list.  The search stops there: the
     * `self` field of a valid entry is the entry's address. */
    static int tvm_ffi_borrows(const TVMFFIBorrowing* borrowing, PyObject* wrapper) {
      Py_ssize_t i;
      for (; borrowing != NULL && borrowing->self == borrowing; borrowing = borrowing->outer) {
        for (i = 0; i < borrowing->num_wrappers; ++i) {
          if (borrowing->wrappers[i] == wrapper) return 1;
        }
      }
      return 0;
    }

    /* Return 1 if any thread's list contains the wrapper.  Requires the GIL: threads change their
     * lists only while they hold it. */
    static int tvm_ffi_some_thread_borrows(PyObject* wrapper) {
      TVMFFIThreadList* list = __atomic_load_n(&tvm_ffi_first_list, __ATOMIC_ACQUIRE);
      for (; list != NULL; list = list->next) {
        if (tvm_ffi_borrows(list->innermost, wrapper)) return 1;
      }
      return 0;
    }
    """
    Borrowing** c_find_list "tvm_ffi_find_list"() noexcept
    bint borrows "tvm_ffi_borrows"(const Borrowing* borrowing, PyObject* wrapper) noexcept
    bint some_thread_borrows "tvm_ffi_some_thread_borrows"(PyObject* wrapper) noexcept


cdef Borrowing** find_list() noexcept:
    return c_find_list()


cdef bint is_borrowed_from(PyObject* wrapper) noexcept:
    if borrows(find_list()[0], wrapper):
        return True
    # The lists of other threads are not searched without the GIL, when they change concurrently, or
    # during interpreter shutdown, when threads that Python has ended leave invalid entries.
    return not GIL_IS_OPTIONAL and not is_finalizing() and some_thread_borrows(wrapper)

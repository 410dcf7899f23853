# SPDX-License-Identifier: Apache-2.0
# CPython C API functions that Cython's `cpython` package lacks or declares with other types.
#
# Most parameters are `PyObject*`, which are borrowed references: Cython does not count references
# for them.  A function that is declared `noexcept` may set a Python exception, and its caller must
# check the result.  A lower-case name is a second declaration of a C function with other types.
from cpython.object cimport PyTypeObject
from cpython.pycapsule cimport PyCapsule_Destructor
from cpython.ref cimport PyObject

cdef extern from "Python.h":
    """
    #define tvm_ffi_mro_of(cls) ((cls)->tp_mro)
    """
    # ---- Types and constants
    PyTypeObject PyBool_Type, PyBytes_Type, PyFloat_Type, PyLong_Type, PyUnicode_Type
    PyObject* Py_None
    PyTypeObject* Py_TYPE(PyObject* value) noexcept
    Py_ssize_t Py_REFCNT(PyObject* value) noexcept
    PyObject* mro_of "tvm_ffi_mro_of"(PyTypeObject* cls) noexcept  # tuple of base classes, borrowed
    bint PyType_HasFeature(PyTypeObject* cls, unsigned long feature) noexcept
    bint is_subtype "PyType_IsSubtype"(PyTypeObject* cls, PyTypeObject* base) noexcept

    # ---- Numbers
    object PyNumber_Index(object value)
    Py_ssize_t PyNumber_AsSsize_t(object value, PyObject* error) except? -1
    bint PyIndex_Check(object value)
    bint PyLong_CheckExact(object value)
    bint PyLong_Check(PyObject* value) noexcept
    long PyLong_AsLong(PyObject* value) noexcept
    double PyLong_AsDouble(PyObject* value) noexcept
    PyObject* PyLong_FromLongLong(long long value) noexcept
    long long PyLong_AsLongLongAndOverflow(PyObject* value, int* overflow) noexcept
    long long long_and_overflow "PyLong_AsLongLongAndOverflow"(
        object value, int* overflow) except? -1
    double PyFloat_AsDouble(PyObject* value) noexcept
    double PyFloat_AS_DOUBLE(PyObject* value) noexcept
    PyObject* PyFloat_FromDouble(double value) noexcept
    enum:
        PY_SSIZE_T_MAX

    # ---- Text and bytes
    const char* PyUnicode_AsUTF8AndSize(PyObject* text, Py_ssize_t* size) noexcept
    object PyUnicode_DecodeUTF8(const char* data, Py_ssize_t size, const char* errors)
    bytes PyUnicode_AsEncodedString(object text, const char* encoding, const char* errors)
    int PyUnicode_Compare(PyObject* left, PyObject* right) noexcept
    Py_ssize_t PyBytes_Size(PyObject* value) noexcept
    char* PyBytes_AsString(PyObject* value) noexcept

    # ---- Sequences, dicts and slices
    bint PyList_Check(PyObject* value) noexcept
    bint PyTuple_Check(PyObject* value) noexcept
    bint PyDict_Check(PyObject* value) noexcept
    bint PyList_CheckExact(object value)
    bint PyDict_CheckExact(object value)
    Py_ssize_t PyTuple_GET_SIZE(PyObject* value) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject* value, Py_ssize_t i) noexcept
    tuple PySequence_Tuple(object items)
    PyObject** PySequence_Fast_ITEMS(object sequence) noexcept  # items of a list or tuple
    PyObject* PyDict_GetItem(PyObject* dictionary, PyObject* key) noexcept
    bint next_item "PyDict_Next"(
        PyObject* items, Py_ssize_t* position, PyObject** key, PyObject** value) noexcept
    int PySlice_Unpack(
        object index, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t* step) except -1
    Py_ssize_t PySlice_AdjustIndices(
        Py_ssize_t size, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t step) noexcept

    # ---- Objects and calls
    PyObject* PyObject_Str(PyObject* value) noexcept
    PyObject* PyObject_GetItem(PyObject* table, PyObject* key) noexcept
    PyObject* PyObject_GetAttr(PyObject* value, PyObject* name) noexcept
    int PyObject_SetAttr(PyObject* value, PyObject* name, PyObject* attribute) noexcept
    bint PyObject_HasAttrString(PyObject* value, const char* name) noexcept
    PyObject* PyObject_CallOneArg(PyObject* function, PyObject* arg) noexcept
    PyObject* PyObject_CallObject(PyObject* callable, PyObject* args) noexcept
    PyObject* PyObject_Vectorcall(
        PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) noexcept
    object PyMethod_New(object function, object self)
    PyObject* PyOS_FSPath(PyObject* path) noexcept
    PyObject* new_capsule "PyCapsule_New"(
        void* pointer, const char* name, PyCapsule_Destructor end) noexcept

    # ---- Exceptions
    PyObject* PyExc_BufferError
    PyObject* PyExc_Exception
    PyObject* PyExc_IndexError
    PyObject* PyExc_MemoryError
    PyObject* PyExc_RecursionError
    PyObject* PyExc_RuntimeError
    PyObject* PyExc_TypeError
    PyObject* PyExc_ValueError
    PyObject* PyErr_Occurred() noexcept
    void PyErr_Clear() noexcept
    void PyErr_SetObject(PyObject* type, PyObject* value) noexcept
    void PyErr_SetString(PyObject* type, const char* message) noexcept
    PyObject* PyErr_Format(PyObject* type, const char* format, ...) noexcept
    PyObject* PyErr_NoMemory() noexcept
    bint PyErr_ExceptionMatches(PyObject* cls) noexcept
    int PyErr_CheckSignals() noexcept
    void PyErr_Fetch(PyObject** cls, PyObject** exception, PyObject** traceback) noexcept
    void PyErr_Restore(PyObject* cls, PyObject* exception, PyObject* traceback) noexcept
    void PyErr_NormalizeException(
        PyObject** cls, PyObject** exception, PyObject** traceback) noexcept
    PyObject* PyException_GetTraceback(PyObject* exception) noexcept
    int PyException_SetTraceback(object exception, object traceback) except -1
    int set_traceback "PyException_SetTraceback"(
        PyObject* exception, PyObject* traceback) noexcept
    PyObject* PyException_GetContext(PyObject* exception) noexcept
    void PyException_SetContext(PyObject* exception, PyObject* stolen) noexcept
    void PyException_SetCause(PyObject* exception, PyObject* stolen) noexcept

    # ---- Threads and frames
    ctypedef struct PyThreadState:
        pass
    ctypedef struct PyFrameObject:
        pass
    ctypedef struct PyCodeObject:
        pass
    ctypedef struct PyTracebackObject:
        PyFrameObject* tb_frame
    PyThreadState* PyThreadState_Get() noexcept
    PyThreadState* PyEval_SaveThread() noexcept
    void PyEval_RestoreThread(PyThreadState* state) noexcept
    PyObject* PyEval_GetFrame() noexcept
    int Py_AddPendingCall(int (*run)(void*) noexcept, void* argument) noexcept
    PyCodeObject* PyCode_NewEmpty(
        const char* filename, const char* funcname, int firstlineno) except NULL
    PyCodeObject* PyFrame_GetCode(PyFrameObject* frame) noexcept

# SPDX-License-Identifier: Apache-2.0
"""The class `Tensor`: an n-dimensional array that shares memory with its producer."""

cimport cython
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject, Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cython cimport no_gc
from libc.stdint cimport int64_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, CallState, PackFunction, Packer, Precedence, add_rule, add_unpacker,
    pack_object, refuse_to_keep,
)
from tvm_ffi._binding.values cimport DataType, data_type_of, device_of, dtype_of
from tvm_ffi._binding.object cimport (
    CObject, Guard, HandleOwner, begin_guard, declare_readable_types, end_guard, has_one_owner,
    WrapperTable, is_wrapper_of, live_wrapper, object_locks, replace_handle, represent_object,
    reuse_wrapper,
    share_handle, type_key_of, wrapper_table,
)
from tvm_ffi._binding.vectorcall cimport (
    METH_FASTCALL, METH_KEYWORDS, PyCFunction, PyMethodDef, add_method,
)

import sys

from tvm_ffi._binding.object import print_limits, register_class, text_layout

cdef WrapperTable* _wrappers = wrapper_table()

# Class of the tensors that native functions return to Python; `set_tensor_class` replaces it.
cdef object _tensor_class
cdef int _MAX_COLUMNS = 32  # maximum number of columns of the HTML table for notebooks

dlpack_version = (abi.DLPACK_MAJOR_VERSION, abi.DLPACK_MINOR_VERSION)


@cython.binding(False)
cdef class Tensor(CObject):
    """An n-dimensional array that shares the memory of the library that created it.

    Tensors are created by `from_dlpack` and by native functions.  ``numpy.from_dlpack(tensor)`` and
    ``torch.from_dlpack(tensor)`` return arrays over the same memory.

    Notes
    -----
    A tensor that native code passes to a Python callback as `DLTensor*` is borrowed until the
    callback returns; using it later raises ValueError.  If an array over its memory (``numpy()``,
    ``torch.from_dlpack``) is still alive when the callback returns, the callback fails with
    BufferError.

    Pickling a tensor in CPU memory stores its elements; protocol 5 can store them out of band.
    The unpickled tensor is compact, and read-only if the original was.  ``copy.copy`` and
    ``copy.deepcopy`` copy the elements, as for NumPy arrays.
    """

    @property
    def shape(self) -> tuple:
        """Extent of each dimension."""
        return _shape_or_strides(self, False)

    @property
    def strides(self) -> tuple:
        """Distance between neighbours in each dimension, in elements."""
        return _shape_or_strides(self, True)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return _dltensor_of(self).ndim

    @property
    def dtype(self):
        """Element type, a `tvm_ffi.dtype`."""
        return dtype_of(_dltensor_of(self).dtype)

    @property
    def device(self):
        """Device of the memory, a `tvm_ffi.Device`."""
        return device_of(_dltensor_of(self).device)

    @property
    def byte_offset(self) -> int:
        """Offset of the first element from the data address, in bytes."""
        return _dltensor_of(self).byte_offset

    @property
    def readonly(self) -> bool:
        """True if the memory must not be written."""
        return _is_read_only(self)

    def numel(self) -> int:
        """Return the number of elements."""
        cdef int64_t count = 1
        for extent in self.shape:
            count *= extent
        return count

    def data_ptr(self) -> int:
        """Return the address of the first element, including the byte offset."""
        cdef abi.DLTensor* tensor = _dltensor_of(self)
        return <uintptr_t>tensor.data + tensor.byte_offset

    def __len__(self):
        """Return the extent of the first dimension, as for NumPy arrays."""
        cdef abi.DLTensor* tensor = _dltensor_of(self)
        if tensor.ndim == 0:
            raise TypeError("a tensor without dimensions has no len()")
        return tensor.shape[0]

    def __bool__(self):
        # Return True for every tensor, whatever its length, because code uses `if tensor` to test
        # for None.
        return True

    def item(self):
        """Return the only element as a Python number (CPU tensors only).

        Raises
        ------
        ValueError
            If the tensor does not have exactly one element.
        TypeError
            If the tensor is not in CPU memory, or its element does not convert to a Python number.
        """
        from tvm_ffi._binding.tensor.elements import numbers_of

        cdef Tensor wrapper = _private_wrapper(self)
        if wrapper.numel() != 1:
            raise ValueError(
                f"item(): expected a tensor with one element, got {wrapper.numel()} elements "
                f"(shape={wrapper.shape})")
        return numbers_of(_cpu_content(wrapper), _dtype_triple(wrapper))[0]

    def tolist(self):
        """Return the elements as nested lists of Python numbers (CPU tensors only).

        For a tensor without dimensions, return its only element.

        Raises
        ------
        TypeError
            If the tensor is not in CPU memory, or its elements do not convert to Python numbers
            because they have several lanes or fewer than 8 bits.
        """
        from tvm_ffi._binding.tensor.elements import nested, numbers_of

        cdef Tensor wrapper = _private_wrapper(self)
        return nested(numbers_of(_cpu_content(wrapper), _dtype_triple(wrapper)), wrapper.shape)

    def size(self, Py_ssize_t idx) -> int:
        """Return the extent of dimension `idx`; a negative `idx` counts from the end."""
        cdef abi.DLTensor* tensor = _dltensor_of(self)
        cdef int ndim = tensor.ndim
        if not -ndim <= idx < ndim:
            raise IndexError(
                f"Dimension {idx} out of range for tensor with {ndim} dimensions")
        return tensor.shape[idx + ndim if idx < 0 else idx]

    def is_contiguous(self) -> bool:
        """Return True if the tensor is compact (row-major without gaps)."""
        cdef int64_t step = 1
        shape, strides = self.shape, self.strides
        if 0 in shape:
            return True
        for extent, stride in zip(reversed(shape), reversed(strides)):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True

    def numpy(self):
        """Return a NumPy array over the same memory (CPU tensors only).

        Element types that NumPy does not have, such as bfloat16, require the package ml_dtypes.

        Raises
        ------
        TypeError
            If NumPy has no such element type, because elements share a byte or have several lanes.
        """
        cdef Tensor wrapper = _exported_wrapper(self)
        import numpy

        dtype = _numpy_dtype(data_type_of(_dltensor_of(wrapper).dtype))
        if wrapper.numel() == 0:
            return numpy.empty(wrapper.shape, dtype)
        array = numpy.asarray(_array_interface(wrapper))
        return array.view(dtype) if array.dtype.kind == "V" else array

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(
                    f"cannot convert a tensor of dtype {array.dtype} to a NumPy array of dtype "
                    f"{dtype} without a copy; pass copy=None")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack_device__(self) -> tuple:
        """Return the device as (device type, device id), in DLPack's numbering."""
        cdef abi.DLTensor* tensor = _dltensor_of(self)
        return (<int>tensor.device.device_type, tensor.device.device_id)

    def _to_dlpack(self):
        """Return a legacy ``dltensor`` capsule."""
        return new_legacy_capsule(exported_handle(self))

    def _to_dlpack_versioned(self):
        """Return a ``dltensor_versioned`` capsule."""
        return new_versioned_capsule(exported_handle(self))

    def __reduce_ex__(self, protocol):
        cdef Tensor wrapper = _private_wrapper(self)
        cdef abi.DLDataType dtype = _dltensor_of(wrapper).dtype
        # Copy the memory of a borrowed tensor, because it may be freed before the pickle is
        # written.
        if wrapper.chandle != NULL and is_compact(_dltensor_of(wrapper)):
            content = view_content(wrapper.chandle, _is_read_only(wrapper))
        else:
            content = _copy_of_content(wrapper)
        if protocol >= 5:
            from pickle import PickleBuffer

            content = PickleBuffer(content)
        else:
            content = bytes(content)
        return tensor_of_content, (
            content, wrapper.shape, (dtype.code, dtype.bits, dtype.lanes), wrapper.readonly)

    def __reduce__(self):
        return self.__reduce_ex__(2)

    def __copy__(self):
        return _copied(self, _is_read_only(self))

    def __deepcopy__(self, memo):
        return self.__copy__()

    def _repr_html_(self):
        """Return an HTML table for notebooks if the tensor is a small matrix, otherwise None."""
        cdef Tensor wrapper = _private_wrapper(self)
        if wrapper.ndim != 2 or wrapper.shape[1] > _MAX_COLUMNS or not _shows_values(wrapper):
            return None
        from tvm_ffi._binding.tensor.elements import rows_of
        from tvm_ffi._internal.html import table

        return table(_summary(wrapper), rows_of(
            _copy_of_content(wrapper), _dtype_triple(wrapper), wrapper.shape, text_layout()[0]))

    def __repr__(self):
        if not _has_dltensor(self):
            return f"{type(self).__name__}(chandle=None)"
        summary = _summary(self)
        try:
            values = _values_text(self)
        except Exception:  # Python code may have moved the native object out of the tensor
            values = None
        separator = "" if values is None or values.startswith(chr(10)) else " "
        return f"{summary}{separator}{values or ''}"


def tensor_of_content(content, shape, dtype, bint is_read_only) -> Tensor:
    """Return a new tensor from the content of a pickled tensor.

    Parameters
    ----------
    content : bytes-like
        The elements in row-major order.  The tensor uses this memory and keeps `content` alive.  If
        the memory is unaligned, or read-only although the tensor is not, the tensor uses a copy.
    shape : iterable of int
        Extents.
    dtype : tuple of int
        (type code, bits, lanes).
    is_read_only : bool
        True for a read-only tensor.
    """
    cdef abi.DLDataType cdtype
    cdtype.code, cdtype.bits, cdtype.lanes = dtype
    return wrap_tensor(new_tensor_of_content(content, tuple(shape), cdtype, is_read_only))


# Types of devices whose memory the CPU can access.
_HOST_DEVICES = (abi.kDLCPU, abi.kDLCUDAHost, abi.kDLROCMHost)
# NumPy's kind characters, by DLPack type code.
_ARRAY_KINDS = {
    abi.kDLInt: "i", abi.kDLUInt: "u", abi.kDLFloat: "f", abi.kDLBool: "b",
    abi.kDLComplex: "c",
}
_BYTE_ORDER = "<" if sys.byteorder == "little" else ">"


cdef class _ArrayInterface(HandleOwner):
    """Array interface of a CPU tensor.  The NumPy array keeps this object alive.

    This object owns a reference to the tensor.
    """

    cdef readonly dict __array_interface__


cdef _ArrayInterface _array_interface(Tensor tensor):
    """Return the array interface of a tensor.  `tensor` must be from `_exported_wrapper`.

    Python code cannot empty such a wrapper, so the owner and the address belong to one tensor.
    """
    cdef _ArrayInterface interface = _ArrayInterface.__new__(_ArrayInterface)
    # `tensor.dtype` would return a public class, whose attributes Python code may have changed.
    cdef DataType dtype = data_type_of(_dltensor_of(tensor).dtype)
    if tensor.__dlpack_device__()[0] not in _HOST_DEVICES:
        raise ValueError(f"numpy(): expected a tensor in CPU memory, got one on {tensor.device}")
    kind = _ARRAY_KINDS.get(dtype.type_code, "V")
    share_handle(interface, tensor.chandle)
    interface.__array_interface__ = {
        "version": 3,
        "shape": tensor.shape,
        "strides": tuple([step * dtype.itemsize for step in tensor.strides]),
        "typestr": f"{_BYTE_ORDER}{kind}{dtype.itemsize}",
        "data": (tensor.data_ptr(), tensor.readonly),
    }
    return interface


def _numpy_dtype(dtype):
    """Return the NumPy dtype with the same memory layout.  Fails: TypeError if there is none."""
    import numpy

    name, numpy_dtype = str(dtype), None
    if dtype.lanes != 1 or dtype.bits % 8 != 0:
        raise TypeError(
            f"NumPy has no dtype for elements of dtype {name}: expected elements of one lane and a "
            "whole number of bytes; read the memory at data_ptr() as another type")
    if dtype.type_code in _ARRAY_KINDS:
        numpy_dtype = numpy.dtype(name)
    else:
        import ml_dtypes

        numpy_dtype = numpy.dtype(getattr(ml_dtypes, name, None) or name)
    if 8 * numpy_dtype.itemsize != dtype.bits:
        raise TypeError(
            f"the NumPy dtype {numpy_dtype} does not match the tensor: expected elements of "
            f"{dtype.bits} bits, got {8 * numpy_dtype.itemsize} bits")
    return numpy_dtype


_tensor_class = Tensor
# The tensor classes that `set_tensor_class` has replaced.  They are kept alive, because another
# thread may be about to use one of them.
cdef list _earlier_classes = []


def set_tensor_class(cls):
    """Let native functions return tensors as instances of `cls`, a subclass of Tensor."""
    global _tensor_class
    if not issubclass(cls, Tensor):
        raise TypeError(f"expected a class that derives from Tensor, got {cls.__name__}")
    _earlier_classes.append(_tensor_class)
    _tensor_class = cls


@no_gc  # the fields of the class cannot be part of a reference cycle
cdef class BorrowedTensor(Tensor):
    """A tensor whose memory a Python callback borrows from its native caller; see `Tensor`."""


cdef bint _has_dltensor(Tensor tensor):
    """Return True if the wrapper is not empty: it has a handle or a borrowed `DLTensor`."""
    return tensor.chandle != NULL or (
        isinstance(tensor, BorrowedTensor) and (<BorrowedTensor>tensor).dltensor != NULL)


cdef abi.DLTensor* _dltensor_of(Tensor tensor) except NULL:
    """Return the DLTensor of a wrapper, borrowed until Python code runs.

    Python code may empty the wrapper, that is, move its native object out of it.

    Fails: ValueError for an empty wrapper, TypeError if its object is not a tensor.
    """
    if tensor.chandle != NULL:
        if (<abi.TVMFFIObject*>tensor.chandle).type_index != abi.kTVMFFITensor:
            _check_is_tensor(tensor)
        return abi.TVMFFITensorGetDLTensorPtr(tensor.chandle)
    if not _has_dltensor(tensor):
        raise ValueError(
            "Tensor is empty: it was never set, or was borrowed by a callback that has returned")
    return (<BorrowedTensor>tensor).dltensor


cdef int _check_is_tensor(Tensor tensor) except -1:
    """Raise TypeError if the object of a wrapper is not a tensor.

    The class of a wrapper does not imply the type of its object: wrapper classes have the same
    memory layout, so Python code can assign `Tensor` to the `__class__` of any wrapper.
    """
    cdef const abi.TVMFFITypeInfo* info = abi.TVMFFIGetTypeInfo(
        (<abi.TVMFFIObject*>tensor.chandle).type_index)
    if info.type_depth < 2 or info.type_ancestors[1].type_index != abi.kTVMFFITensor:
        raise TypeError(
            f"{type(tensor).__name__}: expected a tensor, got an object of type "
            f"`{type_key_of(info.type_index)}`")
    return 0


cdef Tensor _private_wrapper(Tensor tensor):
    """Return a second wrapper of a tensor.  Python code cannot reach this wrapper or empty it.

    For a borrowed tensor, return `tensor` itself, because it is emptied when its callback returns,
    before the memory of the tensor is freed.
    """
    cdef Tensor wrapper = Tensor.__new__(Tensor)
    _dltensor_of(tensor)
    if tensor.chandle == NULL:
        return tensor
    abi.TVMFFIObjectIncRef(tensor.chandle)
    wrapper.chandle = tensor.chandle
    return wrapper


cdef Tensor _exported_wrapper(Tensor tensor):
    """Same as `_private_wrapper`, but for a borrowed tensor, wrap its scoped tensor."""
    cdef Tensor wrapper = Tensor.__new__(Tensor)
    wrapper.chandle = exported_handle(tensor)
    abi.TVMFFIObjectIncRef(wrapper.chandle)
    return wrapper


cdef tuple _dtype_triple(Tensor wrapper):
    """Return the dtype of a tensor as (type code, bits, lanes)."""
    cdef abi.DLDataType dtype = _dltensor_of(wrapper).dtype
    return (dtype.code, dtype.bits, dtype.lanes)


cdef object _cpu_content(Tensor wrapper):
    """Return a copy of the elements of a tensor, whose wrapper must be from `_private_wrapper`.

    Fails: TypeError if the tensor is not in CPU memory.
    """
    cdef abi.DLTensor* tensor = _dltensor_of(wrapper)
    if tensor.device.device_type != abi.kDLCPU:
        raise TypeError(
            f"expected a tensor in CPU memory, got one on {device_of(tensor.device)}; copy it to "
            "the CPU first")
    return _copy_of_content(wrapper)


cdef object _values_text(Tensor tensor):
    """Return the elements as text for `repr`; None unless the tensor is small and on the CPU."""
    cdef Tensor wrapper = _private_wrapper(tensor)
    if not _shows_values(wrapper):
        return None
    from tvm_ffi._binding.tensor.elements import text_of

    return text_of(_copy_of_content(wrapper), _dtype_triple(wrapper), wrapper.shape, *text_layout())


cdef bint _shows_values(Tensor wrapper) except -1:
    """Return True if `repr` shows the elements: the tensor is small, numeric and on the CPU."""
    cdef abi.DLTensor* dltensor = _dltensor_of(wrapper)
    if dltensor.device.device_type != abi.kDLCPU or dltensor.data == NULL:
        return False
    if not 0 < wrapper.numel() <= print_limits()[0]:
        return False
    from tvm_ffi._binding.tensor.elements import has_numbers

    return has_numbers(_dtype_triple(wrapper))


cdef str _summary(Tensor tensor):
    """Return dtype, shape and device as text for `repr`."""
    try:
        dtype = tensor.dtype
    except ValueError:  # the type code of the tensor has no name
        dtype = f"<dtype {_dtype_triple(tensor)}>"
    return f"{dtype}[{', '.join(map(str, tensor.shape))}]@{tensor.device}"


cdef object _copy_of_content(Tensor wrapper):
    """Return a copy of the elements of a tensor, whose wrapper must be from `_private_wrapper`.

    Copying a borrowed tensor holds the GIL, because otherwise its callback could return in another
    thread and the memory be freed.
    """
    return copy_content(_dltensor_of(wrapper), wrapper.chandle != NULL)


cdef Tensor _copied(Tensor tensor, bint is_read_only):
    """Return a compact tensor with a copy of the elements."""
    cdef Tensor wrapper = _private_wrapper(tensor)
    return wrap_tensor(new_tensor_of_content(
        _copy_of_content(wrapper), wrapper.shape, _dltensor_of(wrapper).dtype, is_read_only))


cdef tuple _shape_or_strides(Tensor tensor, bint wants_strides):
    """Return the strides of a tensor if `wants_strides` is True, otherwise its shape.

    The tuple is created before the DLTensor is read, because creating a tuple may start a garbage
    collection, which may run Python code that empties the tensor.  Creating ints does not.
    """
    cdef tuple extents = PyTuple_New(_dltensor_of(tensor).ndim)
    cdef abi.DLTensor* dltensor = _dltensor_of(tensor)
    cdef int64_t step = 1
    cdef int dim
    if dltensor.ndim != len(extents):
        raise ValueError(
            "the number of dimensions of a tensor changed while its shape or strides were read")
    for dim in range(dltensor.ndim - 1, -1, -1):
        if not wants_strides:
            step = dltensor.shape[dim]
        elif dltensor.strides != NULL:
            step = dltensor.strides[dim]
        number = <object>step
        Py_INCREF(number)  # PyTuple_SET_ITEM consumes a reference
        PyTuple_SET_ITEM(extents, dim, number)
        if wants_strides:
            step *= max(dltensor.shape[dim], 1)
    return extents


cdef abi.TVMFFIObjectHandle exported_handle(Tensor tensor) except NULL:
    _dltensor_of(tensor)
    return tensor.chandle if tensor.chandle != NULL else _scoped_handle(<BorrowedTensor>tensor)


cdef abi.TVMFFIObjectHandle _scoped_handle(BorrowedTensor tensor) except NULL:
    """Return the handle of the scoped tensor of a borrowed tensor; create it for the first export.

    The handle is borrowed from `tensor`.  When the callback returns, the reference count of the
    scoped tensor shows if exports are still alive.
    """
    cdef HandleOwner owner
    cdef Guard guard
    if tensor.scoped_owner is None:
        owner = HandleOwner.__new__(HandleOwner)
        owner.handle = new_scoped_tensor(tensor.dltensor, tensor.is_read_only)
        # Another thread may create a scoped tensor, too.
        begin_guard(&guard, object_locks(), <void*>tensor)
        if tensor.scoped_owner is None:
            tensor.scoped_owner = owner
        end_guard(&guard)
    return tensor.scoped_owner.handle


cdef bint _is_read_only(Tensor tensor) except -1:
    """Return True if the memory of a tensor must not be written."""
    _dltensor_of(tensor)
    if tensor.chandle == NULL:
        return (<BorrowedTensor>tensor).is_read_only
    return is_read_only_tensor(read_only_deleters(), tensor.chandle)


# ---- __dlpack__ ----------------------------------------------------------------------------

cdef object _dlpack(
    object self, PyObject* const* args, Py_ssize_t num_args, PyObject* names
):
    cdef Tensor tensor = <Tensor>self
    exported_handle(tensor)
    cdef int requests = requests_of_consumer(_dltensor_of(tensor).device, args, num_args, names)
    # Read the handle again, because comparing the arguments may have run Python code.
    if requests == VERSIONED_CAPSULE:
        return new_versioned_capsule(exported_handle(tensor))
    if requests == 0:
        return new_legacy_capsule(exported_handle(tensor))
    return _capsule_of_copy(tensor, (requests & VERSIONED_CAPSULE) != 0)


cdef object _capsule_of_copy(Tensor tensor, bint is_versioned):
    """Return a capsule of a writable copy, which the capsule owns."""
    cdef Tensor copied
    try:
        copied = _copied(tensor, False)
    except TypeError as error:
        raise BufferError(f"__dlpack__(copy=True): cannot export a copy: {error}") from None
    if not is_versioned:
        return new_legacy_capsule(exported_handle(copied))
    capsule = new_versioned_capsule(exported_handle(copied))
    mark_as_copied(capsule)
    return capsule


# Consumers call `__dlpack__` for every tensor, so it must be fast.  It is added to the class as a C
# function, because Cython's argument parsing would cost more than the export.
cdef PyMethodDef _DLPACK_METHOD
_DLPACK_METHOD.ml_name = b"__dlpack__"
_DLPACK_METHOD.ml_meth = <PyCFunction>_dlpack
_DLPACK_METHOD.ml_flags = METH_FASTCALL | METH_KEYWORDS
_DLPACK_METHOD.ml_doc = b"""\
__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)
--

Export as a DLPack capsule over the same memory, or over a copy.

Parameters
----------
stream : optional
    Ignored: this package does not know of pending work on the memory.
max_version : tuple of int, optional
    Highest DLPack version that the consumer reads.  Without it, or with major 0, a legacy
    capsule is returned.
dl_device : tuple of int, optional
    Device that the consumer requires; it must be the device of the tensor.
copy : bool, optional
    True for a copy of the elements; only tensors in CPU memory can be copied.

Raises
------
BufferError
    If the request requires another device, a copy of a tensor that is not in CPU memory, or a
    legacy capsule of a read-only tensor, which cannot be marked.
"""


add_method(<PyTypeObject*>Tensor, &_DLPACK_METHOD)


# ---- unpacking -----------------------------------------------------------------------------

cdef Tensor wrap_tensor(abi.TVMFFIObjectHandle owned):
    cdef PyObject* live = live_wrapper(_wrappers, owned)
    cdef Tensor tensor
    if is_wrapper_of(live, <PyTypeObject*>_tensor_class):
        return <Tensor>reuse_wrapper(live, owned)
    try:
        if _tensor_class is Tensor:
            tensor = Tensor.__new__(Tensor)
        else:
            tensor = <Tensor?>_tensor_class.__new__(_tensor_class)
    except BaseException:
        abi.TVMFFIObjectDecRef(owned)
        raise
    if tensor.chandle != NULL:  # `__new__` of a subclass may return an existing wrapper
        replace_handle(tensor, owned)
    else:
        tensor.chandle = owned
        represent_object(_wrappers, tensor)
    return tensor


cdef BorrowedTensor borrow_tensor(abi.DLTensor* dltensor):
    cdef BorrowedTensor tensor = BorrowedTensor.__new__(BorrowedTensor)
    tensor.dltensor = dltensor
    tensor.is_read_only = abi.TVMFFIHostIsReadOnly(dltensor)
    return tensor


cdef bint end_borrowed_tensor(BorrowedTensor tensor) noexcept:
    tensor.dltensor = NULL
    return tensor.scoped_owner is not None and has_views(tensor)


cdef bint has_views(BorrowedTensor tensor) noexcept:
    if tensor.scoped_owner is None:
        return False
    if not has_one_owner(<abi.TVMFFIObject*>tensor.scoped_owner.handle):
        return True
    tensor.scoped_owner = None
    return False


# ---- packing -------------------------------------------------------------------------------

cdef int _pack_tensor(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef Tensor tensor = <Tensor>value
    cdef abi.DLTensor* dltensor = _dltensor_of(tensor)
    if tensor.chandle != NULL:
        if is_read_only_tensor(read_only_deleters(), tensor.chandle):
            state.restriction = ArgumentRestriction.READ_ONLY_ARRAY
        return pack_object(out, abi.kTVMFFITensor, tensor.chandle)
    if state.outlives_call:
        return refuse_to_keep()
    state.restriction = ArgumentRestriction.BORROWED
    if (<BorrowedTensor>tensor).is_read_only:
        state.restriction = ArgumentRestriction.BORROWED_READ_ONLY
    out.type_index = abi.kTVMFFIDLTensorPtr
    out.zero_padding = 0
    out.v_ptr = dltensor
    return 0


cdef bint _tensor_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, Tensor):
        return False
    packer.pack = <PackFunction>_pack_tensor
    return True


cdef object _refuse_borrowed_result(abi.TVMFFIAny* owned, CallState* state):
    """Raise ValueError: a borrowed tensor cannot be a result, because its owner is unknown."""
    raise ValueError("Return value cannot be DLTensor*: nothing keeps its memory alive")


add_rule(Precedence.TENSOR, _tensor_rule)
add_unpacker(abi.kTVMFFIDLTensorPtr, _refuse_borrowed_result)
declare_readable_types(Tensor, abi.kTVMFFITensor, abi.kTVMFFITensor)
register_class(abi.kTVMFFITensor, Tensor)

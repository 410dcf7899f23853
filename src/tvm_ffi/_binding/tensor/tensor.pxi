# SPDX-License-Identifier: Apache-2.0
"""Tensors: n-dimensional arrays described by DLPack, shared with whoever made them."""

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
    object_locks, replace_handle, share_handle, type_key_of,
)
from tvm_ffi._binding.vectorcall cimport (
    METH_FASTCALL, METH_KEYWORDS, PyCFunction, PyMethodDef, add_method,
)

import sys

from tvm_ffi._binding.object import print_limits, register_class, text_layout

# Class of tensors handed to Python.
cdef object _tensor_class
cdef int _MAX_COLUMNS = 32  # of a table in a notebook

dlpack_version = (abi.DLPACK_MAJOR_VERSION, abi.DLPACK_MINOR_VERSION)


@cython.binding(False)
cdef class Tensor(CObject):
    """An n-dimensional array, shared without a copy with the library that made it.

    Made by `from_dlpack`, or by native functions.  ``numpy.from_dlpack(tensor)`` and
    ``torch.from_dlpack(tensor)`` give arrays over the same memory.

    Notes
    -----
    A tensor that native code lends to a Python callback (`DLTensor*`) has no handle and is valid
    during the callback only; using it later raises ValueError.  Arrays made of it (``numpy()``,
    ``torch.from_dlpack``) have to be gone when the callback returns, or it fails with BufferError.

    A tensor in CPU memory travels in a pickle as its content, which protocol 5 can keep out of the
    pickle; it arrives without gaps between elements, and read-only if it was.  ``copy.copy`` and
    ``copy.deepcopy`` copy the content, as for NumPy arrays.
    """

    @property
    def shape(self) -> tuple:
        """Extent of each dimension."""
        return _extents_of(self, False)

    @property
    def strides(self) -> tuple:
        """Distance between neighbours of each dimension, in elements."""
        return _extents_of(self, True)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return _description(self).ndim

    @property
    def dtype(self):
        """Type of the elements, a `tvm_ffi.dtype`."""
        return dtype_of(_description(self).dtype)

    @property
    def device(self):
        """Where the data is, a `tvm_ffi.Device`."""
        return device_of(_description(self).device)

    @property
    def byte_offset(self) -> int:
        """Bytes from the allocation's address to the first element."""
        return _description(self).byte_offset

    @property
    def readonly(self) -> bool:
        """Whether the owner of the memory forbids writing to it."""
        return _is_read_only(self)

    def numel(self) -> int:
        """Return the number of elements."""
        cdef int64_t count = 1
        for extent in self.shape:
            count *= extent
        return count

    def data_ptr(self) -> int:
        """Return the address of the first element, byte offset included."""
        cdef abi.DLTensor* tensor = _description(self)
        return <uintptr_t>tensor.data + tensor.byte_offset

    def __len__(self):
        """Extent of the first dimension, as for NumPy arrays."""
        cdef abi.DLTensor* tensor = _description(self)
        if tensor.ndim == 0:
            raise TypeError("len() of a tensor without dimensions")
        return tensor.shape[0]

    def __bool__(self):
        # Not by length: whether there is a tensor is what programs ask for.
        return True

    def item(self):
        """Return the only element as a Python number (CPU tensors only).

        Raises
        ------
        ValueError
            If the tensor has another number of elements.
        TypeError
            If the tensor is not in CPU memory, or Python has no such number.
        """
        from tvm_ffi._binding.tensor.elements import numbers_of

        cdef Tensor own = _own(self)
        if own.numel() != 1:
            raise ValueError(
                f"item() needs a tensor of one element, got {own.numel()} (shape={own.shape})")
        return numbers_of(_readable(own), _triple_of(own))[0]

    def tolist(self):
        """Return the elements as nested lists of Python numbers (CPU tensors only).

        A tensor without dimensions gives its number.

        Raises
        ------
        TypeError
            If the tensor is not in CPU memory, or Python has no such numbers: elements of several
            lanes, or less than a byte.
        """
        from tvm_ffi._binding.tensor.elements import nested, numbers_of

        cdef Tensor own = _own(self)
        return nested(numbers_of(_readable(own), _triple_of(own)), own.shape)

    def size(self, Py_ssize_t idx) -> int:
        """Return the extent of dimension `idx`; negative counts from the end."""
        cdef abi.DLTensor* tensor = _description(self)
        cdef int ndim = tensor.ndim
        if not -ndim <= idx < ndim:
            raise IndexError(
                f"Dimension {idx} out of range for tensor with {ndim} dimensions")
        return tensor.shape[idx + ndim if idx < 0 else idx]

    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
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

        Types that NumPy itself lacks, such as bfloat16, need the package ml_dtypes.

        Raises
        ------
        TypeError
            If NumPy has no such elements: several share a byte, or each has several lanes.
        """
        cdef Tensor own = _exported(self)
        import numpy

        dtype = _array_dtype(data_type_of(_description(own).dtype))
        if own.numel() == 0:
            return numpy.empty(own.shape, dtype)
        array = numpy.asarray(_array_interface(own))
        return array.view(dtype) if array.dtype.kind == "V" else array

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"cannot convert {array.dtype} to {dtype} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack_device__(self) -> tuple:
        """Return (device type, device id) as DLPack numbers them."""
        cdef abi.DLTensor* tensor = _description(self)
        return (<int>tensor.device.device_type, tensor.device.device_id)

    def _to_dlpack(self):
        """Return a legacy ``dltensor`` capsule."""
        return new_legacy_capsule(exported_handle(self))

    def _to_dlpack_versioned(self):
        """Return a ``dltensor_versioned`` capsule."""
        return new_versioned_capsule(exported_handle(self))

    def __reduce_ex__(self, protocol):
        cdef Tensor own = _own(self)
        cdef abi.DLDataType dtype = _description(own).dtype
        # Memory that is lent for a call may be gone when the pickle is written.
        if own.chandle != NULL and is_compact(_description(own)):
            content = view_content(own.chandle, _is_read_only(own))
        else:
            content = _copied(own)
        if protocol >= 5:
            from pickle import PickleBuffer

            content = PickleBuffer(content)
        else:
            content = bytes(content)
        return tensor_of_content, (
            content, own.shape, (dtype.code, dtype.bits, dtype.lanes), own.readonly)

    def __reduce__(self):
        return self.__reduce_ex__(2)

    def __copy__(self):
        cdef Tensor own = _own(self)
        return wrap_tensor(new_tensor_of_content(
            _copied(own), own.shape, _description(own).dtype, _is_read_only(own)))

    def __deepcopy__(self, memo):
        return self.__copy__()

    def _repr_html_(self):
        """Show a small matrix as a table in notebooks; None for other tensors."""
        cdef Tensor own = _own(self)
        if own.ndim != 2 or own.shape[1] > _MAX_COLUMNS or not _shows_values(own):
            return None
        from tvm_ffi._binding.tensor.elements import rows_of
        from tvm_ffi._internal.html import table

        return table(_plain_text(own), rows_of(
            _copied(own), _triple_of(own), own.shape, text_layout()[0]))

    def __repr__(self):
        if not _has_description(self):
            return f"{type(self).__name__}(chandle=None)"
        plain = _plain_text(self)
        try:
            values = _values_text(self)
        except Exception:  # the class or another thread has emptied it meanwhile
            values = None
        if values is None:
            return plain
        return f"{plain}{values if values.startswith(chr(10)) else ' ' + values}"


def tensor_of_content(content, shape, dtype, bint is_read_only) -> Tensor:
    """Return the tensor that a pickle describes.

    Parameters
    ----------
    content : bytes-like
        The elements in row-major order; the tensor takes the memory over where it can.
    shape : iterable of int
        Extents.
    dtype : tuple of int
        Type code, bits, lanes.
    is_read_only : bool
        Whether the tensor forbids writing.
    """
    cdef abi.DLDataType cdtype
    cdtype.code, cdtype.bits, cdtype.lanes = dtype
    return wrap_tensor(new_tensor_of_content(content, tuple(shape), cdtype, is_read_only))


# Devices whose memory the CPU can address, and NumPy's letters for our type codes.
_HOST_DEVICES = (abi.kDLCPU, abi.kDLCUDAHost, abi.kDLROCMHost)
_ARRAY_KINDS = {
    abi.kDLInt: "i", abi.kDLUInt: "u", abi.kDLFloat: "f", abi.kDLBool: "b",
    abi.kDLComplex: "c",
}
_BYTE_ORDER = "<" if sys.byteorder == "little" else ">"


cdef class _ArrayInterface(HandleOwner):
    """Shows a CPU tensor to NumPy, which keeps this object and so the memory alive."""

    cdef readonly dict __array_interface__


cdef _ArrayInterface _array_interface(Tensor tensor):
    """What `_exported` gives, so that the memory shown is the memory kept."""
    cdef _ArrayInterface interface = _ArrayInterface.__new__(_ArrayInterface)
    cdef DataType dtype = data_type_of(_description(tensor).dtype)  # not what others may change
    if tensor.__dlpack_device__()[0] not in _HOST_DEVICES:
        raise ValueError(f"tensor is on {tensor.device}: NumPy needs one in CPU memory")
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


def _array_dtype(dtype):
    """The NumPy dtype whose elements lie in memory as those of ours do, or a TypeError."""
    import numpy

    name, found = str(dtype), None
    if dtype.lanes != 1 or dtype.bits % 8 != 0:
        raise TypeError(
            f"NumPy has no elements like {name}: it wants one lane, of whole bytes; read the "
            "memory at data_ptr() as another type")
    if dtype.type_code in _ARRAY_KINDS:
        found = numpy.dtype(name)
    else:
        import ml_dtypes

        found = numpy.dtype(getattr(ml_dtypes, name, None) or name)
    if 8 * found.itemsize != dtype.bits:
        raise TypeError(f"NumPy's {found} has {8 * found.itemsize} bits, not {dtype.bits}")
    return found


_tensor_class = Tensor
# Kept: another thread may be about to use the class that is being replaced.
cdef list _earlier_classes = []


def set_tensor_class(cls):
    """Let native tensors arrive in Python as `cls`, a subclass of Tensor."""
    global _tensor_class
    if not issubclass(cls, Tensor):
        raise TypeError(f"{cls.__name__} must derive from Tensor")
    _earlier_classes.append(_tensor_class)
    _tensor_class = cls


@no_gc  # nothing that it holds refers to Python values
cdef class BorrowedTensor(Tensor):
    """A tensor that native code lends to a Python callback, see `Tensor`."""


cdef bint _has_description(Tensor tensor):
    return tensor.chandle != NULL or (
        isinstance(tensor, BorrowedTensor) and (<BorrowedTensor>tensor).dltensor != NULL)


cdef abi.DLTensor* _description(Tensor tensor) except NULL:
    if tensor.chandle != NULL:
        if (<abi.TVMFFIObject*>tensor.chandle).type_index != abi.kTVMFFITensor:
            _check_is_tensor(tensor)
        return abi.TVMFFITensorGetDLTensorPtr(tensor.chandle)
    if not _has_description(tensor):
        raise ValueError(
            "Tensor is empty: it was never set, or was lent to a callback that has returned")
    return (<BorrowedTensor>tensor).dltensor


cdef int _check_is_tensor(Tensor tensor) except -1:
    """Refuse an object of a type that is none of tensors.

    Wrappers of this class look themselves, since others are laid out like them: an assignment to
    its `__class__` makes a wrapper of anything one of these.
    """
    cdef const abi.TVMFFITypeInfo* info = abi.TVMFFIGetTypeInfo(
        (<abi.TVMFFIObject*>tensor.chandle).type_index)
    if info.type_depth < 2 or info.type_ancestors[1].type_index != abi.kTVMFFITensor:
        raise TypeError(
            f"{type(tensor).__name__} holds no tensor but an object of type "
            f"`{type_key_of(info.type_index)}`")
    return 0


cdef Tensor _own(Tensor tensor):
    """A tensor of the same memory that nobody else sees, so that no Python code can empty it.

    Of one that is lent, itself: its lender waits, and ends it before the memory goes.
    """
    cdef Tensor own = Tensor.__new__(Tensor)
    _description(tensor)
    if tensor.chandle == NULL:
        return tensor
    abi.TVMFFIObjectIncRef(tensor.chandle)
    own.chandle = tensor.chandle
    return own


cdef Tensor _exported(Tensor tensor):
    """The same of one that is lent as well: what its exports share."""
    cdef Tensor own = Tensor.__new__(Tensor)
    own.chandle = exported_handle(tensor)
    abi.TVMFFIObjectIncRef(own.chandle)
    return own


cdef tuple _triple_of(Tensor own):
    cdef abi.DLDataType dtype = _description(own).dtype
    return (dtype.code, dtype.bits, dtype.lanes)


cdef object _readable(Tensor own):
    """The content of what `_own` gives, for reading its values."""
    cdef abi.DLTensor* tensor = _description(own)
    if tensor.device.device_type != abi.kDLCPU:
        raise TypeError(
            f"tensor is on {device_of(tensor.device)}: its values can be read in CPU memory only; "
            "copy it to the CPU first")
    return _copied(own)


cdef object _values_text(Tensor tensor):
    """The values of a small tensor in CPU memory; None where they are not shown."""
    cdef Tensor own = _own(tensor)
    if not _shows_values(own):
        return None
    from tvm_ffi._binding.tensor.elements import text_of

    return text_of(_copied(own), _triple_of(own), own.shape, *text_layout())


cdef bint _shows_values(Tensor own) except -1:
    cdef abi.DLTensor* described = _description(own)
    if described.device.device_type != abi.kDLCPU or described.data == NULL:
        return False
    if not 0 < own.numel() <= print_limits()[0]:
        return False
    from tvm_ffi._binding.tensor.elements import has_numbers

    return has_numbers(_triple_of(own))


cdef str _plain_text(Tensor tensor):
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]@{tensor.device}"


cdef object _copied(Tensor own):
    """The content of what `_own` gives.  Lent memory may go while other threads run."""
    return copy_content(_description(own), own.chandle != NULL)


cdef tuple _extents_of(Tensor tensor, bint wants_strides):
    """Shape or strides.

    The tuple is made first: that may start a collection, which can run any code.  Ints do not.
    """
    cdef tuple row = PyTuple_New(_description(tensor).ndim)
    cdef abi.DLTensor* described = _description(tensor)
    cdef int64_t step = 1
    cdef int dim
    if described.ndim != len(row):
        raise ValueError("the tensor was replaced by another one while it was read")
    for dim in range(described.ndim - 1, -1, -1):
        if not wants_strides:
            step = described.shape[dim]
        elif described.strides != NULL:
            step = described.strides[dim]
        number = <object>step
        Py_INCREF(number)  # the tuple takes one
        PyTuple_SET_ITEM(row, dim, number)
        if wants_strides:
            step *= max(described.shape[dim], 1)
    return row


cdef abi.TVMFFIObjectHandle exported_handle(Tensor tensor) except NULL:
    """The handle, which exports share."""
    _description(tensor)
    return tensor.chandle if tensor.chandle != NULL else _scoped_handle(<BorrowedTensor>tensor)


cdef abi.TVMFFIObjectHandle _scoped_handle(BorrowedTensor tensor) except NULL:
    """What exports of a lent tensor share: its count tells the lender whether they are gone."""
    cdef HandleOwner owner
    cdef Guard guard
    if tensor.scoped is None:
        owner = HandleOwner.__new__(HandleOwner)
        owner.handle = new_scoped_tensor(tensor.dltensor)
        begin_guard(&guard, object_locks(), <void*>tensor)  # another thread may be as far
        if tensor.scoped is None:
            tensor.scoped = owner
        end_guard(&guard)
    return tensor.scoped.handle


cdef bint _is_read_only(Tensor tensor) except -1:
    _description(tensor)
    return tensor.chandle != NULL and forbids_writing(read_only_marks(), tensor.chandle)


# ---- __dlpack__ ----------------------------------------------------------------------------

cdef object _dlpack(
    object self, PyObject* const* args, Py_ssize_t num_args, PyObject* names
):
    cdef Tensor tensor = <Tensor>self
    exported_handle(tensor)
    cdef bint is_versioned = wants_version(_description(tensor).device, args, num_args, names)
    # What was asked for may have run any code, so the handle is taken now.
    if is_versioned:
        return new_versioned_capsule(exported_handle(tensor))
    return new_legacy_capsule(exported_handle(tensor))


# The one method that other libraries call for every array they take: not declared in the class,
# because taking its arguments apart there costs more than the export.
cdef PyMethodDef _DLPACK_METHOD
_DLPACK_METHOD.ml_name = b"__dlpack__"
_DLPACK_METHOD.ml_meth = <PyCFunction>_dlpack
_DLPACK_METHOD.ml_flags = METH_FASTCALL | METH_KEYWORDS
_DLPACK_METHOD.ml_doc = b"""\
__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)
--

Export as a DLPack capsule over the same memory.

Parameters
----------
stream : optional
    Ignored: no work is pending on the tensor's data that this package knows of.
max_version : tuple of int, optional
    Highest DLPack version the consumer reads.  Without it, or with major 0, the capsule
    is of the legacy kind.
dl_device : tuple of int, optional
    Device the consumer wants; must be the tensor's own.
copy : bool, optional
    Whether to copy; True is refused.

Raises
------
BufferError
    If the request cannot be met without a copy, or if a read-only tensor would lose its
    mark in a legacy capsule.
"""


add_method(<PyTypeObject*>Tensor, &_DLPACK_METHOD)


# ---- native to Python ----------------------------------------------------------------------

cdef Tensor wrap_tensor(abi.TVMFFIObjectHandle owned):
    cdef Tensor tensor
    try:
        if _tensor_class is Tensor:
            tensor = Tensor.__new__(Tensor)
        else:
            tensor = <Tensor?>_tensor_class.__new__(_tensor_class)
    except BaseException:
        abi.TVMFFIObjectDecRef(owned)
        raise
    if tensor.chandle != NULL:  # a class may have its own __new__, which gives what it likes
        replace_handle(tensor, owned)
    else:
        tensor.chandle = owned
    return tensor


cdef BorrowedTensor borrow_tensor(abi.DLTensor* dltensor):
    cdef BorrowedTensor tensor = BorrowedTensor.__new__(BorrowedTensor)
    tensor.dltensor = dltensor
    return tensor


cdef bint end_borrowed_tensor(BorrowedTensor tensor) noexcept:
    tensor.dltensor = NULL
    return tensor.scoped is not None and has_views(tensor)


cdef bint has_views(BorrowedTensor tensor) noexcept:
    if tensor.scoped is None:
        return False
    if not has_one_owner(<abi.TVMFFIObject*>tensor.scoped.handle):
        return True
    tensor.scoped = None
    return False


# ---- Python to native ----------------------------------------------------------------------

cdef int _pack_tensor(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef Tensor tensor = <Tensor>value
    cdef abi.DLTensor* description = _description(tensor)
    if tensor.chandle != NULL:
        if forbids_writing(read_only_marks(), tensor.chandle):
            state.restriction = ArgumentRestriction.READ_ONLY_ARRAY
        return pack_object(out, abi.kTVMFFITensor, tensor.chandle)
    if state.outlives_call:
        return refuse_to_keep()
    state.restriction = ArgumentRestriction.BORROWED
    out.type_index = abi.kTVMFFIDLTensorPtr
    out.zero_padding = 0
    out.v_ptr = description
    return 0


cdef bint _tensor_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, Tensor):
        return False
    packer.pack = <PackFunction>_pack_tensor
    return True


cdef object _unpack_view(abi.TVMFFIAny* owned, CallState* state):
    """A borrowed result: nothing says how long it lives, so it cannot be handed out safely."""
    raise ValueError("Return value cannot be DLTensor*: nothing keeps its memory alive")


add_rule(Precedence.TENSOR, _tensor_rule)
add_unpacker(abi.kTVMFFIDLTensorPtr, _unpack_view)
declare_readable_types(Tensor, abi.kTVMFFITensor, abi.kTVMFFITensor)
register_class(abi.kTVMFFITensor, Tensor)

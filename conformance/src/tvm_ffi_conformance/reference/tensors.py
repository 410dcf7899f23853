# SPDX-License-Identifier: Apache-2.0
"""Chapter 6, tensors: tensor objects, and DLPack in both directions and both versions."""

from __future__ import annotations

import ctypes
from math import prod
from typing import NamedTuple

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import POINTER_CALL, at, cell, read_int64s, write_int64s, write_pointer
from .values import Raised, any_at

# abi-overview.rst, "Tensor": TensorObj has no other members besides Object and DLTensor.
_SIZE = abi.HEADER_SIZE + ctypes.sizeof(abi.DLTensor)
# c-abi.md, "6.8 Tensors": devices whose data pointer is an address.
_ADDRESS_DEVICES = {
    abi.kDLCPU, abi.kDLCUDA, abi.kDLCUDAHost, abi.kDLROCM, abi.kDLROCMHost, abi.kDLCUDAManaged,
}  # fmt: skip


class TensorInfo(NamedTuple):
    """The description of a tensor."""

    data: int
    device: tuple[int, int]
    dtype: tuple[int, int, int]
    shape: list[int]
    strides: list[int]
    byte_offset: int


def compact_strides(shape: list[int]) -> list[int]:
    """Return the strides, in elements, of a row-major tensor without gaps."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def read_tensor(tensor: abi.DLTensor) -> TensorInfo:
    """Return the description of a tensor; null strides mean compact."""
    # c-abi.md, "8.2 Tensor extra storage": readers cope with null strides.
    shape = read_int64s(tensor.shape, tensor.ndim)
    strides = read_int64s(tensor.strides, tensor.ndim) if tensor.strides else compact_strides(shape)
    device = (tensor.device.device_type, tensor.device.device_id)
    dtype = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
    return TensorInfo(tensor.data or 0, device, dtype, shape, strides, tensor.byte_offset)


def is_contiguous(tensor: abi.DLTensor) -> bool:
    """Return True if the elements are compact in row-major order."""
    info = read_tensor(tensor)
    if 0 in info.shape:
        return True
    step = 1
    for extent, stride in zip(reversed(info.shape), reversed(info.strides)):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


class Tensors(Chapter):
    """Creates tensor objects and exchanges them through DLPack."""

    def set_up(self) -> None:
        # The tensor that an exported managed tensor refers to, by its address.
        self._owners: dict[int, int] = {}

    def new(self, source: abi.DLTensor, *, copy_shape: bool) -> int:
        """Return a new tensor object like `source`, with strides; its data stays borrowed."""
        self.check_tensor(source, "from")
        info = read_tensor(source)
        extents = len(info.shape)
        record = self.runtime.objects.new(abi.kTVMFFITensor, _SIZE + 16 * extents)
        tensor = cell(abi.DLTensor, record.address)
        ctypes.memmove(ctypes.addressof(tensor), ctypes.addressof(source), ctypes.sizeof(tensor))
        storage = record.address + _SIZE
        if copy_shape and extents:
            write_int64s(storage, info.shape)
            tensor.shape = storage
        # c-abi.md, "6.8 Tensors": null strides are computed and stored inside the new object.
        if extents and (copy_shape or not source.strides):
            write_int64s(storage + 8 * extents, info.strides)
            tensor.strides = storage + 8 * extents
        return record.address

    def check_tensor(self, tensor: abi.DLTensor, argument: str) -> bool:
        """Report a shape that no tensor has."""
        problem = ""
        if tensor.ndim < 0:
            problem = f"ndim is {tensor.ndim}"
        elif tensor.ndim and not tensor.shape:
            problem = f"shape is null, ndim is {tensor.ndim}"
        elif min(read_int64s(tensor.shape, tensor.ndim), default=0) < 0:
            problem = f"shape is {read_int64s(tensor.shape, tensor.ndim)}"
        if problem:
            self.runtime.checks.report("tensor.shape", argument, problem)
            raise Raised("ValueError", f"`{argument}`: {problem}")
        return True

    def tensor_of(self, address: int) -> abi.DLTensor | None:
        """Return the tensor that a value describes; None for another type."""
        # tensor-and-dlpack.txt, "To Non-Owning Tensor": two type indices hold a tensor.
        value = any_at(address)
        if value.type_index == abi.kTVMFFIDLTensorPtr:
            return at(abi.DLTensor, value.v_ptr)
        if value.type_index == abi.kTVMFFITensor:
            return cell(abi.DLTensor, value.v_obj)
        return None

    def from_managed(self, managed: int, *, versioned: bool) -> int:
        """Return a new tensor object that owns the managed tensor at `managed`."""
        struct = abi.DLManagedTensorVersioned if versioned else abi.DLManagedTensor
        source = at(struct, managed)
        address = self.new(source.dl_tensor, copy_shape=False)

        def destroy(_address: int) -> None:
            # tensor-and-dlpack.txt, "DLPack Tensors": the deleter releases ownership.
            if source.deleter:
                POINTER_CALL(source.deleter)(managed)

        self.runtime.objects.records[address].destroy = destroy
        return address

    def _check_request(self, tensor: abi.DLTensor, alignment: int, contiguous: int) -> None:
        """Raise an error if the tensor has not the layout that the caller requires."""
        # c-abi.md, "6.8 Tensors": the address is data + byte_offset for the devices with addresses,
        # else byte_offset alone.
        address = tensor.byte_offset
        if tensor.device.device_type in _ADDRESS_DEVICES:
            address += tensor.data or 0
        if alignment > 0 and address % alignment:
            raise Raised("RuntimeError", f"FromDLPack: Data is not aligned to {alignment} bytes.")
        if contiguous and not is_contiguous(tensor):
            raise Raised("RuntimeError", "FromDLPack: Tensor is not contiguous.")

    def TVMFFITensorFromDLPack(self, from_: int, alignment: int, contiguous: int, out: int) -> None:
        # c-abi.md, "6.8 Tensors": takes ownership on success; on failure it stays with the caller.
        source = at(abi.DLManagedTensor, from_)
        self.check_tensor(source.dl_tensor, "from")
        self._check_request(source.dl_tensor, alignment, contiguous)
        write_pointer(out, self.from_managed(from_, versioned=False))

    def TVMFFITensorFromDLPackVersioned(
        self, from_: int, alignment: int, contiguous: int, out: int
    ) -> None:
        source = at(abi.DLManagedTensorVersioned, from_)
        if source.flags & abi.DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED:
            raise Raised("RuntimeError", "Subbyte type padded is not yet supported")
        self.check_tensor(source.dl_tensor, "from")
        self._check_request(source.dl_tensor, alignment, contiguous)
        write_pointer(out, self.from_managed(from_, versioned=True))

    def _export(self, tensor: int, struct: type[ctypes.Structure], out: int) -> None:
        """Store a new managed tensor that holds a reference to `tensor`."""
        # abi-overview.rst, "Export Tensor to DLPack": the caller owns it and calls its deleter.
        objects = self.runtime.objects
        objects.require(tensor, "from", abi.kTVMFFITensor)
        address = self.runtime.heap.allocate(ctypes.sizeof(struct), "managed tensor")
        managed, source = at(struct, address), cell(abi.DLTensor, tensor)
        objects.incref(tensor)
        # c-abi.md, "6.8 Tensors": manager_ctx holds one tensor reference; shape, strides and data
        # point into the tensor; version 1.3, flags 0.
        managed.dl_tensor = source
        managed.manager_ctx = tensor
        name = "managed_deleter"
        if struct is abi.DLManagedTensorVersioned:
            managed.version = abi.DLPackVersion(*abi.DLPACK_VERSION)
            managed.flags = 0
            name = "managed_versioned_deleter"
        managed.deleter = self.runtime.trampoline.address(f"tvm_ffi_reference_{name}")
        self._owners[address] = tensor
        write_pointer(out, address)

    def on_managed_deleter(self, managed: int) -> None:
        """Release an exported managed tensor; the deleter of both versions."""
        tensor = self._owners.pop(managed, None)
        if tensor is None:
            detail = f"the managed tensor at {managed:#x} is released"
            self.runtime.checks.report("dlpack.released-too-often", "self", detail)
            return
        self.runtime.heap.release(managed)
        self.runtime.objects.decref(tensor)

    on_managed_versioned_deleter = on_managed_deleter

    def TVMFFITensorToDLPack(self, from_: int, out: int) -> None:
        self._export(from_, abi.DLManagedTensor, out)

    def TVMFFITensorToDLPackVersioned(self, from_: int, out: int) -> None:
        self._export(from_, abi.DLManagedTensorVersioned, out)

    def TVMFFITensorCreateUnsafeView(self, source: int, prototype: int, out: int) -> None:
        # c-abi.md, "6.8 Tensors": keeps `source` alive and describes `prototype`; shape and strides
        # are copied; strides must not be null.
        self.runtime.objects.require(source, "source")
        description = at(abi.DLTensor, prototype)
        if not description.strides:
            raise Raised("InternalError", "TVMFFITensorCreateUnsafeView: `strides` is null")
        address = self.new(description, copy_shape=True)
        self.runtime.objects.incref(source)
        self.runtime.objects.records[address].references.append(source)
        write_pointer(out, address)

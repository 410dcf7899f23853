# SPDX-License-Identifier: Apache-2.0
"""The current stream on which native functions launch kernels, per thread and device."""

from __future__ import annotations

from ._internal.lazy import TYPE_CHECKING, Any
from .core import (
    Device,
    _address_of_stream,
    _env_get_current_stream,
    _env_set_current_stream,
)

if TYPE_CHECKING:
    from ctypes import c_void_p

__all__ = [
    "StreamContext",
    "TorchStreamContext",
    "get_raw_stream",
    "use_raw_stream",
    "use_torch_stream",
]


class StreamContext:
    """Context manager that makes a stream current and restores the previous stream on exit.

    Parameters
    ----------
    device : Device
        The device whose current stream changes.
    stream : int or ctypes.c_void_p
        Address of the stream.
    """

    def __init__(self, device: Device, stream: int | c_void_p) -> None:
        if not isinstance(device, Device):
            raise TypeError(
                f"StreamContext: device must be a tvm_ffi.Device, got {type(device).__name__}"
            )
        self.device_type = device.dlpack_device_type()
        self.device_id = device.index
        self.stream = stream
        self.prev_stream: int = 0

    def __enter__(self) -> StreamContext:
        self.prev_stream = _env_set_current_stream(self.device_type, self.device_id, self.stream)
        return self

    def __exit__(self, *args: object) -> None:
        _env_set_current_stream(self.device_type, self.device_id, self.prev_stream)


class TorchStreamContext:
    """Context manager that enters a torch stream context and makes its stream current.

    Parameters
    ----------
    context : torch stream or graph context, optional
        The torch context to enter.  If it is None, torch's current stream is used.
    """

    def __init__(self, context: Any = None) -> None:
        self.torch_context = context
        self.ffi_context: StreamContext | None = None

    def __enter__(self) -> TorchStreamContext:
        import torch

        if self.torch_context is not None:
            self.torch_context.__enter__()
        try:
            if torch.cuda.is_available():
                current = torch.cuda.current_stream()
                self.ffi_context = StreamContext(
                    Device("cuda", current.device_index), current.cuda_stream
                )
                self.ffi_context.__enter__()
        except BaseException as error:
            if self.torch_context is not None:
                self.torch_context.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(self, *args: Any) -> Any:
        if self.ffi_context is not None:
            self.ffi_context.__exit__(*args)
        return None if self.torch_context is None else self.torch_context.__exit__(*args)


def use_raw_stream(device: Device, stream: Any) -> StreamContext:
    """Return a context manager that makes a stream current for native functions.

    Parameters
    ----------
    device : Device
        The device of the stream.
    stream : int, ctypes.c_void_p, or object with ``__cuda_stream__``
        Address of the stream, or a stream object of a CUDA Python package.

    Raises
    ------
    ValueError
        If `stream` is none of these.
    """
    if hasattr(type(stream), "__cuda_stream__"):
        stream = _address_of_stream(stream)
    if not isinstance(stream, int):
        import ctypes

        if not isinstance(stream, ctypes.c_void_p):
            kind = type(stream).__name__
            raise ValueError(
                f"use_raw_stream: stream must be an int or a ctypes.c_void_p, got {kind}"
            )
    return StreamContext(device, stream)


def use_torch_stream(context: Any = None) -> TorchStreamContext:
    """Return a context manager that makes torch's stream current for native functions.

    Parameters
    ----------
    context : optional
        A torch context to enter first, ``torch.cuda.stream(...)`` or ``torch.cuda.graph(...)``.  If
        omitted, torch's current stream is used.

    Raises
    ------
    ImportError
        If torch is not installed.
    """
    import torch  # noqa: F401  (raise ImportError here, not in `__enter__`)

    return TorchStreamContext(context)


def get_raw_stream(device: Device) -> int:
    """Return the address of the device's current stream in this thread; 0 if no stream was set."""
    return _env_get_current_stream(device.dlpack_device_type(), device.index)

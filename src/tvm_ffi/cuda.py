# SPDX-License-Identifier: Apache-2.0
"""CUDA modules: PTX, cubins and fatbins as modules whose functions launch kernels.

Creating, saving and loading such a module needs no CUDA installation; calling its functions needs
the NVIDIA driver.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Union

from ._internal.regular_file import open_regular
from ._library.tvm_cuda_module import read_tvm_cuda_module
from .module import Module
from .registry import get_global_func, register_global_func

__all__ = ["Kernel", "create_module", "register_tvm_loader"]

Image = Union[bytes, str, "os.PathLike[str]"]


class Kernel:
    """Parameters of a CUDA kernel, and the launch parameters that callers pass explicitly.

    If the launch parameters can be computed from the arguments, use a `tvm_ffi.codegen.LaunchPlan`.

    Parameters
    ----------
    parameters : sequence of str
        The type of each parameter of the kernel, optionally with a name:
        ``"x: float32*"``.  Types are ``int8`` to ``int64``, ``uint8`` to ``uint64``, ``bool``,
        ``float32``, ``float64``, and for tensors and pointers ``DTYPE*``, ``DTYPE[]`` (the tensor
        must be compact) and ``void*`` (any dtype).
    launch : sequence of str
        Launch parameters that callers pass after the kernel's arguments, one argument each:
        ``gridDim``, ``blockDim`` and ``clusterDim`` are an int or up to three ints, a single
        dimension such as ``gridDim.x`` is an int, and ``dynamicSharedMemory`` is a number of bytes.
    fixed : mapping of str to int, optional
        Constant launch parameters, one dimension each (``gridDim.x``, not ``gridDim``).  Dimensions
        in neither `launch` nor `fixed` are 1; the dynamic shared memory is 0 bytes.
    symbol : str, optional
        Name of the kernel in the device image.  By default the name of the module's function.

    Notes
    -----
    The kernel receives the address of a tensor's first element, byte offset included.  Shape and
    strides are not passed; declare integer parameters if the kernel needs them.

    If all parameters have names, callers may pass keyword arguments.  In the keyword of a launch
    parameter, ``_`` replaces the dot: ``gridDim_x``.

    Examples
    --------
    >>> from tvm_ffi import cuda
    >>> cuda.Kernel(["x: float32*", "n: int32"], ["gridDim"], fixed={"blockDim.x": 256})
    Kernel(['x: float32*', 'n: int32'], ['gridDim'], fixed={'blockDim.x': 256}, symbol=None)
    """

    __slots__ = ("fixed", "launch", "parameters", "symbol")

    def __init__(
        self,
        parameters: Sequence[str],
        launch: Sequence[str] = ("gridDim", "blockDim"),
        *,
        fixed: Mapping[str, int] | None = None,
        symbol: str | None = None,
    ) -> None:
        for name, value in (("parameters", parameters), ("launch", launch)):
            if isinstance(value, str):  # a str is also a sequence of str: its characters
                raise TypeError(f"Kernel: {name} must be a sequence of str, got the str {value!r}")
        self.parameters = list(parameters)
        self.launch = list(launch)
        self.fixed = dict(fixed or {})
        self.symbol = symbol

    def __repr__(self) -> str:
        return (
            f"Kernel({self.parameters!r}, {self.launch!r}, "
            f"fixed={self.fixed!r}, symbol={self.symbol!r})"
        )


def create_module(
    image: Image | list[Image] | tuple[Image, ...],
    kernels: Mapping[str, Kernel | Mapping[str, Any] | Sequence[str]],
    *,
    image_format: str = "",
) -> Module:
    """Create a module from a device image.

    Parameters
    ----------
    image : bytes, str or path, or a list of them
        A cubin, a fatbin or PTX, or the path of a file that contains one.  A list has one image
        per architecture; each device uses the best match.
    kernels : mapping of str to Kernel, mapping or sequence of str
        The kernel of each function of the module, by function name.  A sequence means
        ``Kernel(sequence)``.  A mapping contains keyword arguments of
        `tvm_ffi.codegen.make_launch_plan`, such as ``signature``, ``grid`` and ``block``.
    image_format : str
        ``"ptx"``, ``"cubin"`` or ``"fatbin"``.  By default the format is detected.

    Returns
    -------
    Module
        A module of kind ``"cuda_driver"``.  It can be saved to bytes, and imported by other
        modules.

    Raises
    ------
    OSError
        If a file cannot be read.
    TypeError
        If an argument has an unsupported type.
    ValueError
        If an image does not have the declared format or is truncated, if a value of `kernels` is
        invalid, or if `kernels` contains a `Kernel` and `image` is a list of several images.

    Notes
    -----
    Functions run on the device of their tensor arguments or, without tensors, on the device of the
    current CUDA context.  The first call on a device loads the image there.  Functions launch on
    the device's current stream and return without waiting.  They may be called from several threads
    and during CUDA graph capture.

    Examples
    --------
    >>> from tvm_ffi import cuda
    >>> ptx = ".version 7.0 .entry fill(.param .u64 x, .param .s32 n) { ret; }"
    >>> module = cuda.create_module(
    ...     ptx,
    ...     {
    ...         "fill": {
    ...             "signature": "fill(x: out float32[n])",
    ...             "arguments": ["x", "int32 n"],
    ...             "grid": "cdiv(n, 256)",
    ...             "block": 256,
    ...         }
    ...     },
    ... )
    >>> print(module.get_function_signature("fill"))
    fill(x: out float32*[n] on cuda)
    """
    contents = _contents(image)
    plan_arguments = {name: entry for name, entry in kernels.items() if isinstance(entry, Mapping)}
    kernel_rows = [
        _kernel_row(name, entry)
        for name, entry in kernels.items()
        if not isinstance(entry, Mapping)
    ]
    if plan_arguments:
        return _module_with_plans(contents, image_format, kernel_rows, plan_arguments)
    if len(contents) != 1:
        raise ValueError(
            "create_module: expected one device image for kernels without a signature, "
            f"got {len(contents)} images"
        )
    create = get_global_func("pytvmffi.CUDAModuleCreate")
    module: Module = create(contents[0], image_format, kernel_rows)
    return module


def _module_with_plans(
    contents: list[bytes],
    image_format: str,
    kernel_rows: list[list[object]],
    plan_arguments: Mapping[str, Mapping[str, Any]],
) -> Module:
    from .codegen import DeviceImage, described_plans, launch_module

    images = [DeviceImage(content, image_format) for content in contents]
    if kernel_rows and len(images) != 1:
        raise ValueError(
            "create_module: expected one device image for kernels without a signature, "
            f"got {len(images)} images"
        )
    return launch_module(described_plans(plan_arguments, images), kernels=kernel_rows)


def _contents(image: Image | list[Image] | tuple[Image, ...]) -> list[bytes]:
    if isinstance(image, (list, tuple)):
        return [_read(element) for element in image]
    return [_read(image)]


def _read(image: object) -> bytes:
    if isinstance(image, bytes):
        return image
    if isinstance(image, str):
        return image.encode()
    if isinstance(image, os.PathLike):
        with open_regular(image) as file:
            return file.readall()
    raise TypeError(
        f"create_module: image must be bytes, str or a path, got {type(image).__name__}"
    )


def _kernel_row(name: str, kernel: Kernel | Sequence[str]) -> list[object]:
    """Return the list that describes a kernel to ``pytvmffi.CUDAModuleCreate``."""
    if not isinstance(kernel, Kernel):
        kernel = Kernel(kernel)
    symbol = name if kernel.symbol is None else kernel.symbol
    return [name, symbol, kernel.parameters, kernel.launch, kernel.fixed]


def register_tvm_loader() -> None:
    """Enable loading of CUDA libraries that Apache TVM or TileLang has compiled.

    Such libraries embed modules of kind ``cuda`` and call functions of TVM's runtime.  Register a
    loader of these modules and the global function ``__tvm_set_device``, and load the C function
    ``TVMBackendGetFuncFromEnv``, unless they exist: importing TVM or TileLang defines them.  A
    program that uses TVM or TileLang must import it before calling this function.

    Notes
    -----
    Loading a library with kernels that take tensor maps raises an error.
    """
    _provide_backend_function()
    _register_if_missing("__tvm_set_device", get_global_func("pytvmffi.CUDASetDevice"))
    _register_if_missing("ffi.Module.load_from_bytes.cuda", _load_tvm_module)


def _provide_backend_function() -> None:
    """Load the library that defines ``TVMBackendGetFuncFromEnv``, if the symbol is missing."""
    import ctypes

    if not hasattr(ctypes.CDLL(None), "TVMBackendGetFuncFromEnv"):
        from .libinfo import load_lib_ctypes

        load_lib_ctypes("pytvmffi", "tvm_ffi_tvm_backend", "RTLD_GLOBAL")


def _register_if_missing(name: str, function: Callable[..., Any]) -> None:
    if get_global_func(name, allow_missing=True) is None:
        register_global_func(name, function)


def _load_tvm_module(content: bytes) -> Module:
    read = read_tvm_cuda_module(bytes(content))
    kernels = {
        name: Kernel(kernel.parameters, kernel.launch, symbol=kernel.symbol)
        for name, kernel in read.kernels.items()
    }
    return create_module(read.image, kernels, image_format=read.image_format)

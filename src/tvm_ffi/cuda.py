# SPDX-License-Identifier: Apache-2.0
"""Modules whose functions launch CUDA kernels: PTX, a cubin or a fatbin, and what they take.

Nothing of CUDA is needed to make a module, to save it or to load it again; its functions need the
NVIDIA driver.
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
    """What the function of one kernel takes, which callers tell also how to launch it.

    Where the arguments say that, a `tvm_ffi.codegen.LaunchPlan` is more.

    Parameters
    ----------
    parameters : sequence of str
        One for each parameter of the kernel, in order: a type, or a name and a type as in
        ``"x: float32*"``.  Types are ``int8`` to ``int64``, ``uint8`` to ``uint64``, ``bool``,
        ``float32``, ``float64``, and for tensors and pointers ``DTYPE*``, ``DTYPE[]`` (the tensor
        must be compact) and ``void*`` (any dtype).
    launch : sequence of str
        What callers pass behind those, one argument each: ``gridDim``, ``blockDim`` and
        ``clusterDim`` are an int or up to three, ``gridDim.x`` and so on an int,
        ``dynamicSharedMemory`` a number of bytes.
    fixed : mapping of str to int, optional
        The same words, without the groups of three, with values that callers do not pass.  What is
        in neither is 1, or 0 bytes.
    symbol : str, optional
        Name of the kernel in the image, if it is not that of the function.

    Notes
    -----
    The kernel gets the address of a tensor's first element, behind its byte offset.  It learns
    nothing of the shape and the strides, which are passed as integers where it needs them.

    Where all parameters have names, arguments can be given by name; the words of `launch` are
    ``gridDim`` and ``gridDim_x``.

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
        for name, words in (("parameters", parameters), ("launch", launch)):
            if isinstance(words, str):  # a sequence of letters otherwise
                raise TypeError(f"{name} must be a sequence of str, got the str {words!r}")
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
    """Make a module of compiled device code.

    Parameters
    ----------
    image : bytes, str or path, or a list of them
        The contents of a cubin or a fatbin, the text of PTX, or the path of a file with one of
        them.  Of several, one for each architecture, a device gets the one that fits best.
    kernels : mapping of str to Kernel, mapping or sequence of str
        The functions of the module, by name.  A sequence is ``Kernel(sequence)``.  A mapping has
        the arguments of `tvm_ffi.codegen.make_launch_plan`: ``signature``, which callers see,
        ``grid``, ``block``, and others.
    image_format : str
        ``"ptx"``, ``"cubin"`` or ``"fatbin"``, or nothing for what the image is.

    Returns
    -------
    Module
        Of kind ``"cuda_driver"``.  It can be saved to bytes, and imported by other modules.

    Raises
    ------
    OSError
        If the file cannot be read.
    TypeError
        If an argument has another type.
    ValueError
        If the image is of no such format or ends too early, or a description is wrong; if several
        images stand beside a `Kernel`, which has one.

    Notes
    -----
    A device gets the image when a function first runs there: the device of the tensors, or without
    any that of the current CUDA context.  Functions launch on the current stream of the device, do
    not wait, and may be called from several threads and while a CUDA graph is captured.

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
    described = {name: one for name, one in kernels.items() if isinstance(one, Mapping)}
    plain = [_parts(name, one) for name, one in kernels.items() if not isinstance(one, Mapping)]
    if described:
        return _module_with_plans(contents, image_format, plain, described)
    if len(contents) != 1:
        raise ValueError(f"a Kernel is that of one image, got {len(contents)}")
    create = get_global_func("pytvmffi.CUDAModuleCreate")
    module: Module = create(contents[0], image_format, plain)
    return module


def _module_with_plans(
    contents: list[bytes],
    image_format: str,
    plain: list[list[object]],
    described: Mapping[str, Mapping[str, Any]],
) -> Module:
    from .codegen import DeviceImage, described_plans, launch_module

    images = [DeviceImage(content, image_format) for content in contents]
    if plain and len(images) != 1:
        raise ValueError(f"a Kernel is that of one image, got {len(images)}")
    return launch_module(described_plans(described, images), kernels=plain)


def _contents(image: Image | list[Image] | tuple[Image, ...]) -> list[bytes]:
    if isinstance(image, (list, tuple)):
        return [_read(one) for one in image]
    return [_read(image)]


def _read(image: object) -> bytes:
    if isinstance(image, bytes):
        return image
    if isinstance(image, str):
        return image.encode()
    if isinstance(image, os.PathLike):
        with open_regular(image) as file:
            return file.readall()
    raise TypeError(f"image must be bytes, str or a path, got {type(image).__name__}")


def _parts(name: str, kernel: Kernel | Sequence[str]) -> list[object]:
    """Return a kernel as the native side reads it."""
    if not isinstance(kernel, Kernel):
        kernel = Kernel(kernel)
    symbol = name if kernel.symbol is None else kernel.symbol
    return [name, symbol, kernel.parameters, kernel.launch, kernel.fixed]


def register_tvm_loader() -> None:
    """Load libraries with kernels that Apache TVM and TileLang have compiled, without either.

    Such libraries embed modules of kind ``cuda`` and call functions of TVM's runtime.  This gives
    the process what of that it does not have: a loader of such modules, the global function
    ``__tvm_set_device`` and the C function ``TVMBackendGetFuncFromEnv``.  Where TVM or TileLang was
    imported it does nothing; import them before, not later.

    Notes
    -----
    Kernels that take tensor maps are refused when the library is loaded.
    """
    _provide_backend_function()
    _register_if_missing("__tvm_set_device", get_global_func("pytvmffi.CUDASetDevice"))
    _register_if_missing("ffi.Module.load_from_bytes.cuda", _load_tvm_module)


def _provide_backend_function() -> None:
    """Make TVM's own name for the look-up in imports visible to libraries, if it is not."""
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

# SPDX-License-Identifier: Apache-2.0
"""Dask adapter: libraries copied to the workers of a cluster, for tasks that call their functions.

A pickled module or function contains the path of its library, so it needs a file system that the
workers share.  `ship` copies the file itself to all workers, including those that join later.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..container import Array
from ..core import Tensor
from ..module import Module, file_of, load_module
from ..signature import Signature, TensorType
from ..signature._outputs import OutputError, TensorSpec, outputs_of
from ..signature._parameter import Parameter
from ._destination_passing import bind_inputs
from ._function_names import signature_of
from ._versions import load

__all__ = ["ShippedFunction", "ShippedModule", "ship"]

load("dask", "2026.8.0", "2026.8.0", distribution="dask[distributed]")
_distributed: Any = load("distributed", "2026.8.0", "2026.8.0", distribution="dask[distributed]")


def ship(client: Any, module: Module | str | os.PathLike[str]) -> ShippedModule:
    """Copy a library to the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        Client of the cluster.  Workers that join later get the library, too.
    module : Module or path
        A module that was loaded from a library, or the path of a library.  The workers must have
        the libraries that it depends on, including this package.

    Returns
    -------
    ShippedModule
        A module with the functions of the library as attributes, for use in the client and in
        tasks.

    Raises
    ------
    TypeError
        If the module was not loaded from a file.
    """
    path = _file_of(module)
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    _files.setdefault(digest, path)
    client.register_plugin(_Library(path.name, digest, content))
    return ShippedModule(str(path), digest)


class ShippedModule:
    """A library that `ship` copied to the workers of a cluster.

    Parameters
    ----------
    path : str
        Path of the library on the client.
    digest : str
        SHA-256 of the library in hexadecimal digits.
    """

    def __init__(self, path: str, digest: str) -> None:
        self.path, self.digest = path, digest

    def __getattr__(self, name: str) -> ShippedFunction:
        if name.startswith("__"):
            raise AttributeError(name)
        getattr(self.module(), name)  # Raises AttributeError for an unknown name.
        return ShippedFunction(self, name)

    def __reduce__(self) -> Any:
        return ShippedModule, (self.path, self.digest)

    def __dask_tokenize__(self) -> Any:
        """Return a token for Dask's task keys; libraries with equal content have equal tokens."""
        return type(self).__name__, self.digest

    def __repr__(self) -> str:
        return f"<ShippedModule {Path(self.path).name} {self.digest[:8]}>"

    def module(self) -> Module:
        """Return the library's module in this process, which is the client or a worker.

        Raises
        ------
        FileNotFoundError
            If the library was not shipped to this process.
        """
        return _loaded(self.path, self.digest)


class ShippedFunction:
    """A function of a shipped library that takes NumPy arrays.

    Parameters
    ----------
    module : ShippedModule
        The library that contains the function.
    name : str
        Name of the function.

    Notes
    -----
    For a function with a signature, callers leave out ``out`` tensors: the call allocates and
    returns them.  The call copies ``inout`` tensors and returns the copies.  It makes other tensors
    compact unless the signature accepts strides, and checks the arguments.  A function without a
    signature is called with the arguments unchanged.
    """

    def __init__(self, module: ShippedModule, name: str) -> None:
        self.shipped, self.__name__ = module, name

    def __reduce__(self) -> Any:
        return ShippedFunction, (self.shipped, self.__name__)

    def __dask_tokenize__(self) -> Any:
        """Return a token for Dask's task keys, equal for the same function of equal libraries."""
        return type(self).__name__, self.shipped.digest, self.__name__

    def __repr__(self) -> str:
        return f"<ShippedFunction {self.__name__} of {self.shipped!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in this process."""
        function = getattr(self.shipped.module(), self.__name__)
        signature = signature_of(function)
        if signature is None:
            return _joined(_results(function(*args, **kwargs)))
        return _call(function, signature, args, kwargs)


# ---- library files on workers ------------------------------------------------------------------


# Paths of shipped libraries on this machine, by digest.  On a worker, `_Library` adds the paths.
_files: dict[str, Path] = {}
# The libraries that this process has loaded, by digest; their files may have been removed since.
_modules: dict[str, Module] = {}


class _Library(_distributed.WorkerPlugin):  # type: ignore[misc]  # mypy sees the class as Any
    """A Dask worker plugin that writes a library into the worker's local directory."""

    idempotent = True

    def __init__(self, file_name: str, digest: str, content: bytes) -> None:
        self.name = f"tvm_ffi-{file_name}-{digest}"
        self.file_name, self.digest, self.content = file_name, digest, content

    def setup(self, worker: Any) -> None:
        """Write the library atomically, because another thread may load it concurrently."""
        path = Path(worker.local_directory) / f"tvm_ffi-{self.digest[:16]}" / self.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_bytes(self.content)
        temporary.replace(path)
        _files.setdefault(self.digest, path)


def _file_of(module: Module | str | os.PathLike[str]) -> Path:
    if not isinstance(module, Module):
        return Path(module)
    path = file_of(module)
    if path is None:
        raise TypeError(
            f"module: expected a module that was loaded from a file, got {module!r}; export it as "
            "a library first"
        )
    return Path(path)


def _loaded(path: str, digest: str) -> Module:
    """Return the library's module in this process; load the library on first use."""
    if digest in _modules:
        return _modules[digest]
    if digest not in _files:
        raise FileNotFoundError(
            f"the library {path} was not shipped to this process; call "
            "tvm_ffi.interop.dask.ship(client, ...) with the client of this cluster"
        )
    return _modules.setdefault(digest, load_module(_files[digest]))


# ---- calls with NumPy arrays -------------------------------------------------------------------


def _call(
    function: Any, signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Allocate the outputs, call a function, and return outputs and results in one tuple."""
    bound = bind_inputs(function.__name__, signature, args, kwargs)
    inputs: dict[str, TensorSpec] = {}
    for parameter in signature.parameters:
        value = bound.get(parameter.name)
        if isinstance(value, np.ndarray):
            bound[parameter.name] = _in_layout(value, parameter)
            inputs[parameter.name] = TensorSpec(value.shape, str(value.dtype))
    try:
        output_specs = iter(list(outputs_of(signature, inputs)))
    except OutputError as error:
        raise ValueError(f"{function.__name__}: {error}; {signature}") from None
    written: list[Any] = []
    arguments: list[Any] = []
    for parameter in signature.parameters:
        if parameter.is_written and isinstance(parameter.type, TensorType):
            shape, dtype = next(output_specs)
            array = _aligned(shape, np.dtype(dtype), parameter.type.alignment or 1)
            # The function gets a copy of an inout block, because other tasks may read the block.
            if parameter.direction == "inout":
                array[...] = bound[parameter.name]
            written.append(array)
            arguments.append(array)
        elif parameter.kind == "variadic":
            arguments += bound[parameter.name]
        else:
            arguments.append(bound[parameter.name])
    signature.check(*arguments)
    return _joined([*written, *_results(function(*arguments))])


def _in_layout(block: Any, parameter: Parameter) -> Any:
    """Return a block, or a copy of it, with the layout and alignment that the signature requires.

    Blocks of a Dask array are often views of other arrays, and a block that was received over the
    network may have any address in the message buffer.
    """
    type_ = parameter.type
    is_strided = isinstance(type_, TensorType) and type_.layout == "strided"
    array = block if is_strided else np.ascontiguousarray(block)
    alignment = (type_.alignment if isinstance(type_, TensorType) else None) or 1
    if array.flags.aligned and array.ctypes.data % alignment == 0:
        return array
    copy = _aligned(block.shape, block.dtype, alignment)
    copy[...] = block
    return copy


def _aligned(shape: tuple[int, ...], dtype: Any, alignment: int) -> Any:
    """Return an uninitialized array whose address is a multiple of `alignment` bytes."""
    array = np.empty(shape, dtype)
    if array.ctypes.data % alignment == 0:
        return array
    memory = np.empty(array.nbytes + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    return memory[start : start + array.nbytes].view(dtype).reshape(shape)


def _results(returned: Any) -> list[Any]:
    """Return the results of a function as a list, with tensors converted to arrays."""
    values = returned if isinstance(returned, (Array, list, tuple)) else [returned]
    return [
        value.numpy() if isinstance(value, Tensor) else value
        for value in values
        if value is not None
    ]


def _joined(results: list[Any]) -> Any:
    """Return None for no results, a single result unchanged, and several as a tuple."""
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)

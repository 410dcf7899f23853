# SPDX-License-Identifier: Apache-2.0
"""Libraries on the workers of a Dask cluster, and their functions over the blocks of arrays.

A module and its functions travel in pickles by the path of the file, which is enough where workers
see the same files.  `ship` sends the file itself, to workers of now and to those that join later.
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
from ._function_names import signature_of
from ._tried import load
from ._without_outputs import bind_without_outputs

__all__ = ["ShippedFunction", "ShippedModule", "ship"]

load("dask", "2026.8.0", "2026.8.0", distribution="dask[distributed]")
_distributed: Any = load("distributed", "2026.8.0", "2026.8.0", distribution="dask[distributed]")


def ship(client: Any, module: Module | str | os.PathLike[str]) -> ShippedModule:
    """Send a library to the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        Whose cluster gets it; workers that join later, too.
    module : Module or path
        A library that was loaded from a file, or the path of one.  What it needs beside this
        package has to be on the workers.

    Returns
    -------
    ShippedModule
        Has the functions of the library as attributes.  They are called here and in tasks.

    Raises
    ------
    TypeError
        If the module came from no file.
    """
    path = _file_of(module)
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    _files.setdefault(digest, path)
    client.register_plugin(_Library(path.name, digest, content))
    return ShippedModule(str(path), digest)


class ShippedModule:
    """A library that workers have; `ship` makes it.

    Parameters
    ----------
    path : str
        Where the client has the file.
    digest : str
        SHA-256 of its content, in hexadecimal digits.
    """

    def __init__(self, path: str, digest: str) -> None:
        self.path, self.digest = path, digest

    def __getattr__(self, name: str) -> ShippedFunction:
        if name.startswith("__"):
            raise AttributeError(name)
        getattr(self.module(), name)  # says which names are there
        return ShippedFunction(self, name)

    def __reduce__(self) -> Any:
        return ShippedModule, (self.path, self.digest)

    def __dask_tokenize__(self) -> Any:
        """Return what Dask names results by: equal names mean equal results."""
        return type(self).__name__, self.digest

    def __repr__(self) -> str:
        return f"<ShippedModule {Path(self.path).name} {self.digest[:8]}>"

    def module(self) -> Module:
        """Return the module of this process: a worker's, or the client's.

        Raises
        ------
        FileNotFoundError
            If the library was not shipped here.
        """
        return _loaded(self.path, self.digest)


class ShippedFunction:
    """A function of a library that workers have, over NumPy arrays.

    Parameters
    ----------
    module : ShippedModule
        The library.
    name : str
        Name of the function.

    Notes
    -----
    Where the function has a signature, its ``out`` tensors are left out in calls, and returned;
    ``inout`` tensors are copied first, and returned; others are made compact unless they may be
    strided; and the arguments are checked.  Without a signature it is called as it is.
    """

    def __init__(self, module: ShippedModule, name: str) -> None:
        self.shipped, self.__name__ = module, name

    def __reduce__(self) -> Any:
        return ShippedFunction, (self.shipped, self.__name__)

    def __dask_tokenize__(self) -> Any:
        """Return what Dask names results by."""
        return type(self).__name__, self.shipped.digest, self.__name__

    def __repr__(self) -> str:
        return f"<ShippedFunction {self.__name__} of {self.shipped!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function of this process's library."""
        function = getattr(self.shipped.module(), self.__name__)
        signature = signature_of(function)
        if signature is None:
            return _joined(_results(function(*args, **kwargs)))
        return _call(function, signature, args, kwargs)


# ---- files -------------------------------------------------------------------------------------


# The libraries of this process, by their digests; a worker's are written by `_Library`.
_files: dict[str, Path] = {}


class _Library(_distributed.WorkerPlugin):  # type: ignore[misc]  # the class is known when it runs
    """Writes the library into a worker's own folder."""

    idempotent = True

    def __init__(self, file_name: str, digest: str, content: bytes) -> None:
        self.name = f"tvm_ffi-{file_name}-{digest}"
        self.file_name, self.digest, self.content = file_name, digest, content

    def setup(self, worker: Any) -> None:
        """Write the file, at once and whole: a thread may be about to load it."""
        path = Path(worker.local_directory) / f"tvm_ffi-{self.digest[:16]}" / self.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.write_bytes(self.content)
        part.replace(path)
        _files.setdefault(self.digest, path)


def _file_of(module: Module | str | os.PathLike[str]) -> Path:
    if not isinstance(module, Module):
        return Path(module)
    path = file_of(module)
    if path is None:
        raise TypeError(f"{module!r} came from no file; export it as a library first")
    return Path(path)


def _loaded(path: str, digest: str) -> Module:
    """Return the library of this process; one that is loaded already stays as it is."""
    if digest not in _files:
        raise FileNotFoundError(
            f"the library {path} was not shipped to this process; call "
            "tvm_ffi.interop.dask.ship(client, ...) with the client of this cluster"
        )
    return load_module(_files[digest])


# ---- calls -------------------------------------------------------------------------------------


def _call(
    function: Any, signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Call with outputs of our own, and return them and what the function returned."""
    given = bind_without_outputs(function.__name__, signature, args, kwargs)
    inputs: dict[str, TensorSpec] = {}
    for parameter in signature.parameters:
        value = given.get(parameter.name)
        if isinstance(value, np.ndarray):
            given[parameter.name] = _in_layout(value, parameter)
            inputs[parameter.name] = TensorSpec(value.shape, str(value.dtype))
    try:
        described = iter(list(outputs_of(signature, inputs)))
    except OutputError as error:
        raise ValueError(f"{function.__name__}: {error}; {signature}") from None
    written: list[Any] = []
    arguments: list[Any] = []
    for parameter in signature.parameters:
        if parameter.is_written and isinstance(parameter.type, TensorType):
            shape, dtype = next(described)
            array = _aligned(shape, np.dtype(dtype), parameter.type.alignment or 1)
            if parameter.direction == "inout":  # other tasks have the block, too
                array[...] = given[parameter.name]
            written.append(array)
            arguments.append(array)
        elif parameter.kind == "variadic":
            arguments += given[parameter.name]
        else:
            arguments.append(given[parameter.name])
    signature.check(*arguments)
    return _joined([*written, *_results(function(*arguments))])


def _in_layout(block: Any, parameter: Parameter) -> Any:
    """Return a block that lies as the function wants it.

    Blocks are views of others, often, and those that come from elsewhere lie anywhere in a message.
    """
    type_ = parameter.type
    is_strided = isinstance(type_, TensorType) and type_.layout == "strided"
    laid = block if is_strided else np.ascontiguousarray(block)
    asked = (type_.alignment if isinstance(type_, TensorType) else None) or 1
    if laid.flags.aligned and laid.ctypes.data % asked == 0:
        return laid
    copy = _aligned(block.shape, block.dtype, asked)
    copy[...] = block
    return copy


def _aligned(shape: tuple[int, ...], dtype: Any, alignment: int) -> Any:
    """Return an array without contents whose address is a multiple of `alignment` bytes."""
    array = np.empty(shape, dtype)
    if array.ctypes.data % alignment == 0:
        return array
    memory = np.empty(array.nbytes + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    return memory[start : start + array.nbytes].view(dtype).reshape(shape)


def _results(answer: Any) -> list[Any]:
    """Return what a function returned, with arrays for tensors."""
    several = answer if isinstance(answer, (Array, list, tuple)) else [answer]
    return [
        value.numpy() if isinstance(value, Tensor) else value
        for value in several
        if value is not None
    ]


def _joined(results: list[Any]) -> Any:
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)

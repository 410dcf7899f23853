# SPDX-License-Identifier: Apache-2.0
"""Dispatcher kernels in C++: an operator calls the function without Python and without the GIL.

The extension module `_native` registers them through torch's stable C interface.  A kernel packs
the arguments, allocates results, calls the check functions and then the function.  For all other
arguments it calls the Python kernel: those that violate the signature, need a copy, or are no dense
tensors in CPU or CUDA memory.  Operators have Python kernels only if their signature needs more
than `plan_of` supports, if their function is not in a library or needs the GIL, or if torch's
version is not the one that `_native` knows.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple

import torch

from ..._binding import call as call_binding
from ..._binding import object as object_binding
from ..._binding.call import Function, declared_signature
from ...core import DataType
from ...signature import Parameter, Signature, TensorType
from ...signature._expression import Expression
from ...signature._types import ANY_EXTENT, is_ellipsis
from ._arguments import check_functions
from ._schema import may_write, schema_type

__all__ = ["Plan", "add_kernels", "apply_of", "by_position", "plan_of"]

_VERSION = "2.13."  # torch's stable C interface does not cover the exception class of Python errors
_KINDS = {"Tensor": 0, "SymInt": 1, "float": 2, "bool": 3}
_CONSTANT, _NAME, _ANY = range(3)
_ALL_FREE = (1 << 31) - 1  # more dimensions than a tensor has
_MAX_PARAMETERS, _MAX_NAMES, _MAX_NDIM = 24, 32, 16
_PLAIN_KEYS = (
    *("CPU", "CUDA", "AutogradCPU", "AutogradCUDA"),
    *("AutocastCPU", "AutocastCUDA", "ADInplaceOrView"),
)
# Keys of modes and transforms, whose kernels run between autograd's and the backend's.
_TRANSFORM_KEYS = (
    "Functionalize",
    "FuncTorchDynamicLayerBackMode",
    "FuncTorchDynamicLayerFrontMode",
    "FuncTorchVmapMode",
    "Python",
    "PythonTLSSnapshot",
)


class Plan(NamedTuple):
    """The parameters of the function and of the operator, as `_native.register` takes them."""

    parameters: tuple[Any, ...]
    arguments: tuple[Any, ...]
    has_symbols: bool
    """True if an argument is an integer, which is a symbol while torch traces."""
    checks: tuple[Function, ...]
    """Check functions, which the kernel calls before the function."""


# ---- plans ---------------------------------------------------------------------------------------


def plan_of(function: Function, signature: Signature, op_signature: Signature) -> Plan | None:
    """Return the plan of an operator; None if the operator needs a Python kernel.

    Parameters
    ----------
    function : Function
        The function.
    signature : Signature
        Signature of the function; may differ from the one that the function declares.
    op_signature : Signature
        Signature of the operator; different from `signature` if the operator is functional.
    """
    if _native() is None or signature.results or len(signature.parameters) > _MAX_PARAMETERS:
        return None
    if not function.release_gil:  # The binding holds the GIL during calls.
        return None
    positions = {parameter.name: i for i, parameter in enumerate(op_signature.parameters)}
    written = {result.name for result in op_signature.results}
    builder = _PlanBuilder(signature)
    try:
        parameters = tuple(
            builder.parameter(
                parameter, positions.get(parameter.name, -1), parameter.name in written
            )
            for parameter in signature.parameters
        )
        arguments = tuple(
            (*_kind_of(parameter), may_write(parameter)) for parameter in op_signature.parameters
        )
    except _UnsupportedError:
        return None
    has_symbols = any(argument[0] == _KINDS["SymInt"] for argument in arguments)
    checks = check_functions(signature, declared_signature(function))
    return Plan(parameters, arguments, has_symbols, checks)


class _UnsupportedError(Exception):
    """The kernel in C++ does not support a parameter."""


class _PlanBuilder:
    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._names: dict[str, int] = {}
        self._dtype_names: dict[str, int] = {}

    def parameter(self, parameter: Parameter, position: int, is_result: bool) -> tuple[Any, ...]:
        """Return the plan of a parameter."""
        kind, is_optional = _kind_of(parameter)
        type_ = parameter.type
        if isinstance(type_, TensorType):
            dtype_name = -1 if type_.variable is None else self._index(type_.variable, True)
            free = _ALL_FREE if type_.compact_from is None else type_.compact_from
            return (
                *(kind, position, is_optional, free, is_result, -1),
                *(_device_type(type_), dtype_name, self._dtypes(type_), self._shape(type_)),
            )
        name = self._index(parameter.name, False) if kind == _KINDS["SymInt"] else -1
        return kind, position, is_optional, _ALL_FREE, False, name, -1, -1, (), None

    def _index(self, name: str, is_dtype: bool) -> int:
        names = self._dtype_names if is_dtype else self._names
        index = names.setdefault(name, len(names))
        if index >= _MAX_NAMES:
            raise _UnsupportedError
        return index

    def _dtypes(self, type_: TensorType) -> tuple[tuple[int, ...], ...]:
        names = _all_dtypes() if type_.dtype is None else self._signature.dtypes_of(type_)
        return tuple(entry for entry in map(_dtype_entry, names) if entry is not None)

    def _shape(self, type_: TensorType) -> tuple[tuple[int, int], ...] | None:
        if type_.shape is None:
            return None
        if len(type_.shape) > _MAX_NDIM:
            raise _UnsupportedError
        return tuple(map(self._extent, type_.shape))

    def _extent(self, extent: Any) -> tuple[int, int]:
        if is_ellipsis(extent) or isinstance(extent, Expression):
            raise _UnsupportedError
        if extent == ANY_EXTENT:
            return _ANY, 0
        return (
            (_NAME, self._index(extent, False)) if isinstance(extent, str) else (_CONSTANT, extent)
        )


def _kind_of(parameter: Parameter) -> tuple[int, bool]:
    name = schema_type(parameter.type) or ""
    kind = _KINDS.get(name.rstrip("?"))
    if kind is None or parameter.kind == "variadic":
        raise _UnsupportedError
    if kind == _KINDS["Tensor"] and not isinstance(parameter.type, TensorType):
        raise _UnsupportedError  # A value of the type Tensor has no declared dtypes.
    return kind, name.endswith("?")


def _device_type(type_: TensorType) -> int:
    if type_.device is None:
        return -1
    if type_.device not in ("cpu", "cuda"):
        raise _UnsupportedError
    return int(_library()[f"aoti_torch_device_type_{type_.device}"]())


@functools.cache
def _dtype_entry(name: str) -> tuple[int, ...] | None:
    """Return torch's number and DLPack's numbers of a dtype; None if torch lacks it."""
    try:
        number = int(_library()[f"aoti_torch_dtype_{name}"]())
    except AttributeError:
        return None
    dtype = DataType(name)
    return number, dtype.type_code, dtype.bits, dtype.lanes


def _all_dtypes() -> list[str]:
    return [
        str(value).partition(".")[2]
        for value in vars(torch).values()
        if isinstance(value, torch.dtype) and not str(value).startswith("torch.q")
    ]


# ---- registration --------------------------------------------------------------------------------


def add_kernels(
    name: str,
    plan: Plan,
    function: Function,
    kernel: Callable[..., Any],
    *,
    keys: Sequence[str] = (),
    autograd: Callable[..., Any] | None = None,
    autograd_key: str = "Autograd",
    apply: Callable[..., Any] | None = None,
) -> Any:
    """Register kernels of an operator, and return their owner; None if there are no more kernels.

    Parameters
    ----------
    name : str
        The operator's name, ``ns::f``.
    plan : Plan
        Result of `plan_of`.
    function : Function
        The function that the kernels call.
    kernel : callable
        The Python kernel, which gets all arguments by position.
    keys : sequence of str
        Dispatch keys of backends.
    autograd : callable, optional
        Python kernel for `autograd_key`, called if modes, transforms or special tensors need the
        dispatcher.
    apply : callable, optional
        Result of `apply_of`, called if an argument requires a gradient.  Without it, the kernel for
        `autograd_key` increments the version counters of the tensors that the operator writes.
    """
    namespace, _, short_name = name.partition("::")
    return _native().register(
        namespace,
        short_name,
        tuple(keys),
        autograd_key,
        function,
        function.__chandle__(),
        tuple(check.__chandle__() for check in plan.checks),
        torch.Tensor.__dlpack_c_exchange_api__,
        plan.parameters,
        plan.arguments,
        kernel,
        autograd,
        apply,
    )


def apply_of(
    name: str, setup_context: Callable[..., Any] | None, backward: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the function that calls an operator's kernel and records its derivative.

    Kernels in C++ call it instead of the `apply` of a `torch.autograd.Function` with
    `setup_context`, which inspects the parameters in each call and dispatches the operator again.
    """
    function: Any = type(
        f"{name}_derivative",
        (torch.autograd.Function,),
        {
            "forward": staticmethod(_native().forward(setup_context)),
            "backward": staticmethod(backward),
        },
    )
    apply: Callable[..., Any] = super(torch.autograd.Function, function).apply
    return apply


def by_position(call: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return a callable that takes all arguments by position, as kernels in C++ pass them."""
    names = [
        parameter.name for parameter in signature.parameters if parameter.kind == "keyword-only"
    ]
    if not names:
        return call
    count = len(signature.parameters) - len(names)

    def positional(*values: Any) -> Any:
        return call(*values[:count], **dict(zip(names, values[count:])))

    return positional


# ---- set-up of the extension module --------------------------------------------------------------


@functools.cache
def _native() -> Any:
    """Return the extension module, or None if the build or this version of torch has none."""
    if not str(torch.__version__).startswith(_VERSION):
        return None
    try:
        native = importlib.import_module(f"{__package__}._native")
        native.load(
            _tensor_offset(),
            _key_set_offset(),
            _key_set(_PLAIN_KEYS).raw_repr(),
            tuple(int(getattr(torch._C.DispatchKey, key)) for key in _TRANSFORM_KEYS),
            vars(object_binding)["__pyx_capi__"]["raise_from_native"],
            vars(call_binding)["__pyx_capi__"]["releases_gil_of"],
        )
    except (ImportError, AttributeError, LookupError, ValueError):
        return None
    return native


def _tensor_offset() -> int:
    """Return the offset of the at::Tensor in a Python tensor; its value is ``_cdata``."""
    tensor = torch.empty(0)
    return _offset_of([(id(tensor), tensor._cdata)], range(16, 40, 8))


def _key_set_offset() -> int:
    """Return the offset of the dispatch keys in a tensor's implementation."""
    tensors = torch.empty(0), torch.empty(0, device="meta"), torch.empty(0).to_sparse()
    pairs = [(tensor._cdata, torch._C._dispatch_keys(tensor).raw_repr()) for tensor in tensors]
    return _offset_of(pairs, range(8, 192, 8))


def _offset_of(pairs: Iterable[tuple[int, int]], offsets: Iterable[int]) -> int:
    """Return the only offset at which each address has the number of its pair."""
    pairs = list(pairs)
    (found,) = (
        offset
        for offset in offsets
        if all(ctypes.c_uint64.from_address(at + offset).value == value for at, value in pairs)
    )
    return found


def _key_set(names: Iterable[str]) -> Any:
    keys = [torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name)) for name in names]
    return functools.reduce(lambda left, right: left | right, keys)


@functools.cache
def _library() -> Any:
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))

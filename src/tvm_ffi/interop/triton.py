# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton as functions that run where there is neither Triton nor Python.

::

    module = to_module(
        add,
        "add(x: float32[n], y: float32[n], out: out float32[n])",
        constexprs={"BLOCK": 1024},
        grid="cdiv(n, BLOCK)",
        target=[80, 90],
    )

Triton compiles ahead of time, without a GPU; what comes of it, a cubin and what a launcher needs to
know, becomes a launch plan.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Union

from .._internal.suggestion import did_you_mean
from ..codegen import DeviceImage, LaunchPlan, launch_module, make_launch_plan, make_wrapper
from ..codegen._launch import Amount, three_extents
from ..codegen._wrapper import Argument, result_names
from ..signature import Parameter, Result, ScalarType, Signature, TensorType, ValueType
from ..signature._expression import Expression, Extent, extent_text
from ._tried import load

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["to_module", "to_plan"]

_triton = load("triton", "3.9.0", "3.9.0")

Config = Any  # triton.Config
Target = Union[int, str, Any]  # or triton's GPUTarget

# Names of dtypes in Triton, where they are others than ours with "float" for "fp" and so on.
_DTYPES = {
    "bfloat16": "bf16",
    "bool": "i1",
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
}
_INTEGER = re.compile(r"(?P<sign>u?)int(?P<bits>8|16|32|64)")
_CONVERTED = re.compile(r"(u?int\d+|float32|float64)\s")
_ARCHITECTURE = re.compile(r"(?:sm_?)?(\d{2,3})[af]?")
_VECTOR = 16  # bytes of the longest loads and stores; Triton looks for multiples of as much
_LARGEST_SCRATCH = 1 << 40  # bytes of one block


def to_module(
    kernel: Any,
    signature: Signature | str,
    *,
    constexprs: Mapping[str, Any] | None = None,
    grid: Amount = 1,
    target: Target | Sequence[Target],
    options: Mapping[str, Any] | None = None,
    arguments: Mapping[str, str] | None = None,
    element_types: Mapping[str, str] | None = None,
    configs: Sequence[tuple[str, Config]] | None = None,
    when: str = "",
) -> Module:
    """Return a module with one function, which launches a kernel.

    Parameters
    ----------
    kernel, signature, constexprs, grid, target, options, arguments, element_types, configs, when
        As in `to_plan`.

    Returns
    -------
    Module
        Of kind ``"cuda_driver"``: it can be exported, and loaded without Triton and Python.

    Raises
    ------
    ValueError
        If the parts do not fit each other.

    Notes
    -----
    What Triton raises while it compiles is passed on.
    """
    return launch_module(
        to_plan(
            kernel,
            signature,
            constexprs=constexprs,
            grid=grid,
            target=target,
            options=options,
            arguments=arguments,
            element_types=element_types,
            configs=configs,
            when=when,
        )
    )


def to_plan(
    kernel: Any,
    signature: Signature | str,
    *,
    constexprs: Mapping[str, Any] | None = None,
    grid: Amount = 1,
    target: Target | Sequence[Target],
    options: Mapping[str, Any] | None = None,
    arguments: Mapping[str, str] | None = None,
    element_types: Mapping[str, str] | None = None,
    configs: Sequence[tuple[str, Config]] | None = None,
    when: str = "",
) -> LaunchPlan:
    """Compile a kernel ahead of time; return how it is launched.

    Parameters
    ----------
    kernel : triton.JITFunction
        What ``@triton.jit`` made; ``@triton.autotune`` around it does not count, see `configs`.
    signature : Signature or str
        What callers see.  Parameters of the kernel that are no constants have the names of its
        parameters, extents and results, unless `arguments` says something else.
    constexprs : mapping of str to object, optional
        Values of the kernel's ``tl.constexpr`` parameters that have no default.
    grid : int or str, or up to three
        Programs of a launch: expressions over the signature's names and the constants,
        ``"cdiv(n, BLOCK)"``.
    target : int, str or GPUTarget, or a sequence of them
        Compute capabilities to compile for: ``90``, ``"sm_90"``.
    options : mapping of str to object, optional
        Options of Triton: ``num_warps``, ``num_stages``, ``num_ctas``, ``maxnreg``,
        ``launch_pdl``, ``launch_cooperative_grid`` ...
    arguments : mapping of str to str, optional
        What parameters of the kernel get, in the words of `tvm_ffi.codegen.make_wrapper`:
        ``{"stride": "int32 x.strides[0]"}``.  By default extents, and integers of no type, are
        passed as ``int32`` after a check that they fit, and floats as ``float32``.
    element_types : mapping of str to str, optional
        Dtypes behind addresses, where they are not those of the signature: ``{"sums": "float32"}``
        for memory of a size, or for a tensor that the kernel reads as something else.
    configs : sequence of (str, triton.Config), optional
        Configurations as a choice by shape: a condition, ``"n >= 65536"``, or ``""`` for all
        others, and what holds then.
    when : str, optional
        For which arguments the launch is meant, where there are no `configs`.

    Raises
    ------
    TypeError
        If one of the parts is something else than it should be.
    ValueError
        If the parts do not fit each other, or the kernel needs what plans do not have; if Triton
        has no such option.

    Notes
    -----
    Memory that the kernel needs for itself comes from the allocator of the caller's framework.
    Kernels are compiled for addresses and integers of which nothing is known, but for tensors that
    the signature says to be ``align 16``, or more, and for extents like ``n//16*16``: only with
    these can Triton load 16 bytes at once.
    """
    function = _function_of(kernel)
    signature = Signature.of(signature)
    if signature.dtype_variables:
        raise ValueError(
            f"{signature.name}: Triton compiles for one dtype at a time; make one function for each"
        )
    plans = []
    for condition, config in _ways(signature.name, configs, when):
        values = {**_defaults(function), **(constexprs or {}), **_kwargs_of(config)}
        for one in _targets(target):
            request = _Request(
                function, signature, dict(values), dict(arguments or {}), dict(element_types or {})
            )
            compiled = request.compile(one, {**(options or {}), **_options_of(config)})
            plans.append(request.plan(compiled, grid, condition))
    return LaunchPlan.first_of(plans)


# ---- what users give -----------------------------------------------------------------------------


def _function_of(kernel: Any) -> Any:
    """Return the function inside of decorators."""
    function = kernel
    while not hasattr(function, "arg_names") or isinstance(
        function, (_triton.runtime.Autotuner, _triton.runtime.Heuristics)
    ):
        if not hasattr(function, "fn"):
            raise TypeError(
                f"expected a kernel that triton.jit has made, got {type(kernel).__name__}"
            )
        function = function.fn
    if not hasattr(function, "params"):
        raise TypeError(f"expected a kernel that triton.jit has made, got {type(kernel).__name__}")
    return function


def _defaults(function: Any) -> dict[str, Any]:
    """Return the constants that have a default."""
    return {
        parameter.name: parameter.default
        for parameter in function.params
        if parameter.is_constexpr and parameter.has_default
    }


def _ways(
    where: str, configs: Sequence[tuple[str, Config]] | None, when: str
) -> list[tuple[str, Config | None]]:
    """Return conditions and what holds then, in the order in which they are looked at."""
    if configs is None:
        return [(when, None)]
    if when:
        raise ValueError(f"{where}: each of the configs has its condition; leave out when")
    ways = list(configs)
    if not ways:
        raise ValueError(f"{where}: configs must have one, got none")
    for way in ways:
        if not (isinstance(way, (list, tuple)) and len(way) == 2 and isinstance(way[0], str)):
            raise TypeError(
                f"{where}: configs are pairs of a condition and a triton.Config, got "
                f"{type(way).__name__}"
            )
    if not all(condition.strip() for condition, _ in ways[:-1]):
        raise ValueError(f"{where}: the one of the configs that has no condition must be the last")
    return ways


def _kwargs_of(config: Config | None) -> dict[str, Any]:
    return {} if config is None else dict(config.kwargs)


def _options_of(config: Config | None) -> dict[str, Any]:
    """Return the options in a configuration; what it leaves open is left to the others."""
    if config is None:
        return {}
    names = ("num_warps", "num_stages", "num_ctas", "maxnreg")
    return {name: value for name in names if (value := getattr(config, name, None)) is not None}


def _targets(target: Target | Sequence[Target]) -> list[Any]:
    """Return the targets, the newest first: code for older ones may run on newer ones, too."""
    listed = list(target) if isinstance(target, (list, tuple)) else [target]
    if not listed:
        raise ValueError("a kernel is compiled for a target, got none")
    return sorted(map(_target, listed), key=lambda one: -int(one.arch))


def _target(target: Target) -> Any:
    make = _triton.backends.compiler.GPUTarget
    if isinstance(target, make):
        if target.backend != "cuda":
            raise ValueError(f"launch plans are for CUDA, got a target for {target.backend}")
        return target
    found = _ARCHITECTURE.fullmatch(str(target))
    if found is None:
        raise ValueError(f"a target is like 90 or 'sm_90', got {target!r}")
    return make("cuda", int(found[1]), 32)


# ---- from a kernel to a plan ---------------------------------------------------------------------


class _Request:
    """A kernel with all its constants, and the signature that callers see."""

    def __init__(
        self,
        function: Any,
        signature: Signature,
        constants: dict[str, Any],
        arguments: dict[str, str],
        element_types: dict[str, str],
    ) -> None:
        self._function, self._signature = function, signature
        self._element_types = element_types
        self._parameters: dict[str, Parameter | Result] = {
            one.name: one for one in signature.parameters
        }
        self._parameters.update(zip(result_names(signature), signature.results))
        self._constants = {
            one.name: constants.pop(one.name) for one in function.params if one.name in constants
        }
        passed = [one.name for one in function.params if one.name not in self._constants]
        self._check_names(constants, arguments, passed)
        self._arguments = {name: arguments.get(name) or self._argument(name) for name in passed}
        self._passed = make_wrapper(
            signature, "kernel", arguments=list(self._arguments.values()), device="cuda"
        ).arguments

    def _check_names(
        self, constants: dict[str, Any], arguments: dict[str, str], passed: list[str]
    ) -> None:
        where = self._signature.name
        named = {**arguments, **self._element_types}
        for kind, names in (("constant", constants), ("argument", named)):
            for name in names:
                if name not in passed:
                    listed = ", ".join(self._function.arg_names)
                    raise ValueError(
                        f"{where}: the kernel has no {kind} '{name}'; its parameters are {listed}"
                    )
        for one in self._function.params:
            if one.is_constexpr and one.name not in self._constants:
                raise ValueError(f"{where}: the kernel's constant '{one.name}' has no value")

    def _argument(self, name: str) -> str:
        """Return what a parameter of the kernel gets, where nobody says it."""
        parameter = self._parameters.get(name)
        if parameter is None:
            return f"int32 {name}"  # an extent, or an error that names it
        if not isinstance(parameter.type, ValueType):
            return name
        return {"int": f"int32 {name}", "float": f"float32 {name}"}.get(
            parameter.type.schema.origin, name
        )

    def compile(self, target: Any, options: Mapping[str, Any]) -> Any:
        """Return the compiled kernel."""
        types = {
            one.name: "constexpr"
            if one.name in self._constants
            else self._type(one.name, self._arguments[one.name])
            for one in self._function.params
        }
        source = _triton.compiler.ASTSource(
            fn=self._function,
            signature=types,
            constexprs=self._constants,
            attrs=self._attributes(),
        )
        self._check_options(target, options)
        compiled = _triton.compile(source, target=target, options=dict(options))
        self._check_metadata(compiled.metadata)
        return compiled

    def _check_options(self, target: Any, options: Mapping[str, Any]) -> None:
        """Raise ValueError for an option that Triton would pass over."""
        backend = _triton.compiler.make_backend(target)
        known = [field.name for field in fields(backend.parse_options({}))]
        for name in options:
            if name not in known:
                raise ValueError(
                    f"{self._signature.name}: Triton has no option '{name}'"
                    f"{did_you_mean(name, known)}"
                )

    def _attributes(self) -> dict[tuple[int], list[list[Any]]]:
        """Return what holds of arguments in each call, by the place of the kernel's parameter."""
        places = {name: place for place, name in enumerate(self._function.arg_names)}
        return {
            (places[name],): [["tt.divisibility", _VECTOR]]
            for name, argument in zip(self._arguments, self._passed)
            if self._is_divisible(argument)
        }

    def _is_divisible(self, argument: Argument) -> bool:
        """Whether an address or a number is a multiple of the bytes of the longest loads."""
        if argument.kind in ("extent", "constant"):
            return _is_multiple(argument.extent if argument.kind == "extent" else argument.number)
        if argument.kind == "workspace":
            return True  # aligned to 256 bytes
        type_ = self._parameters[argument.source].type if argument.kind == "address" else None
        return isinstance(type_, TensorType) and (type_.alignment or 1) % _VECTOR == 0

    def _check_metadata(self, metadata: Any) -> None:
        if getattr(metadata, "tensordesc_meta", None):
            raise ValueError(
                f"{self._signature.name}: the kernel takes tensor descriptors as arguments, which "
                "launch plans cannot make; make them in the kernel"
            )

    def _type(self, name: str, text: str) -> str:
        """Return the type of a kernel's parameter in the words of Triton."""
        if name in self._element_types:
            return f"*{self._dtype(self._element_types[name])}"
        parameter = self._parameters.get(text.strip())
        if parameter is not None and isinstance(parameter.type, TensorType):
            dtype = parameter.type.dtype
            if not isinstance(dtype, str):
                raise ValueError(f"{self._signature.name}: '{text}' must have one dtype")
            return f"*{self._dtype(dtype)}"
        if text.strip() == "null" or text.strip().startswith("workspace"):
            return "*i8"
        if parameter is not None and isinstance(parameter.type, ScalarType):
            return self._dtype(parameter.type.dtype)
        converted = _CONVERTED.match(text.strip())
        return self._dtype(converted[1] if converted else self._plain_dtype(parameter, text))

    def _plain_dtype(self, parameter: Any, text: str) -> str:
        """Return the dtype of an argument without one, which `make_wrapper` gives it."""
        if parameter is not None:
            origin = parameter.type.schema.origin
            return {"bool": "bool", "float": "float64"}.get(origin, "int64")
        is_int32 = text.rpartition(".")[2] in ("ndim", "device")
        return "int32" if is_int32 else "int64"

    def _dtype(self, name: str) -> str:
        if name in _DTYPES:
            return _DTYPES[name]
        found = _INTEGER.fullmatch(name)
        if found is None:
            raise ValueError(f"{self._signature.name}: Triton has no dtype {name}")
        return f"{'u' if found['sign'] else 'i'}{found['bits']}"

    # ---- the launch ------------------------------------------------------------------------

    def plan(self, compiled: Any, grid: Amount, when: str) -> LaunchPlan:
        """Return how a compiled kernel is launched."""
        metadata = compiled.metadata
        programs = [self._with_constants(one) for one in three_extents("grid", grid)]
        num_ctas = int(getattr(metadata, "num_ctas", 1))
        blocks: list[Extent] = [_times(programs[0], num_ctas), *programs[1:]]
        hidden = [
            self._hidden(metadata, kind, programs, num_ctas) for kind in ("global", "profile")
        ]
        return make_launch_plan(
            self._signature,
            DeviceImage(compiled.asm["cubin"], architecture=_architecture(compiled)),
            metadata.name,
            arguments=[*self._arguments.values(), *hidden],
            grid=[extent_text(one) for one in blocks],
            block=int(metadata.num_warps) * int(metadata.warp_size),
            cluster=num_ctas if num_ctas > 1 else None,
            shared_memory=int(metadata.shared),
            cooperative=bool(metadata.launch_cooperative_grid),
            programmatic=bool(metadata.launch_pdl),
            when=self._condition(when),
        )

    def _hidden(self, metadata: Any, kind: str, programs: list[Extent], num_ctas: int) -> str:
        """Return the memory behind the arguments, which kernels have whether they need it or not.

        Each block of the grid has its part.
        """
        size = int(getattr(metadata, f"{kind}_scratch_size", 0) or 0)
        if size == 0:
            return "null"
        if size > _LARGEST_SCRATCH:
            raise ValueError(
                f"{self._signature.name}: expected at most {_LARGEST_SCRATCH} bytes of scratch "
                f"memory per block, got {size}"
            )
        total: Extent = size * num_ctas
        for extent in programs:
            total = _times(extent, total)
        return f"workspace({extent_text(total)})"

    def _with_constants(self, extent: Extent) -> Extent:
        """Return an expression in which constants of the kernel are numbers."""
        if isinstance(extent, Expression):
            return replace(extent, operands=tuple(map(self._with_constants, extent.operands)))
        value = self._constants.get(extent) if isinstance(extent, str) else None
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return int(value) if is_number else extent  # type: ignore[arg-type]

    def _condition(self, when: str) -> str:
        """Return a condition in which constants of the kernel are numbers."""
        words = re.split(r"(\w+)", when)
        constants = self._constants
        return "".join(
            str(constants[word]) if isinstance(constants.get(word), int) else word for word in words
        )


def _times(one: Extent, other: Extent) -> Extent:
    if isinstance(one, int) and isinstance(other, int):
        return one * other
    if one == 1 or other == 1:
        return other if one == 1 else one
    return Expression("*", (one, other))


def _is_multiple(value: Extent | float) -> bool:
    """Whether a value is a multiple of 16 whatever its names stand for."""
    if isinstance(value, Expression) and value.operator in ("*", "+", "-"):
        some = any if value.operator == "*" else all
        return some(map(_is_multiple, value.operands))
    return isinstance(value, int) and value % _VECTOR == 0


def _architecture(compiled: Any) -> str:
    """Return what Triton has compiled for; from 90 on that is one device alone."""
    found = re.search(r"^\.target\s+(sm_\d+[af]?)", compiled.asm["ptx"], re.MULTILINE)
    return found[1] if found else f"sm_{compiled.metadata.target.arch}"

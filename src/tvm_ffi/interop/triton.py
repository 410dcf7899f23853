# SPDX-License-Identifier: Apache-2.0
"""Triton adapter: kernels compiled ahead of time to functions that need no Triton and no Python.

::

    module = to_module(
        add,
        "add(x: float32[n], y: float32[n], out: out float32[n])",
        constexprs={"BLOCK": 1024},
        grid="cdiv(n, BLOCK)",
        target=[80, 90],
    )

Triton compiles a kernel ahead of time, without a GPU.  The adapter creates a launch plan from the
cubin and from the launch settings in Triton's metadata.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Union

from .._internal.suggestion import did_you_mean
from ..builds import announce
from ..codegen import DeviceImage, LaunchPlan, launch_module, make_launch_plan, make_wrapper
from ..codegen._launch import Amount, three_extents
from ..codegen._wrapper import Argument, result_names
from ..signature import Parameter, Result, ScalarType, Signature, TensorType, ValueType
from ..signature._expression import Expression, Extent, extent_text
from ._versions import load

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["to_module", "to_plan"]

_triton = load("triton", "3.9.0", "3.9.0")

Config = Any  # triton.Config
Target = Union[int, str, Any]  # `Any`: an instance of Triton's GPUTarget

# Triton's names of dtypes, by this package's names.  `_INTEGER` matches the integer dtypes.
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
_VECTOR = 16  # bytes of the widest load or store; Triton specializes on multiples of 16
_LARGEST_SCRATCH = 1 << 40  # largest size of scratch memory per block, in bytes


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
    when: str | None = None,
) -> Module:
    """Return a module with one function that launches a Triton kernel.

    Parameters
    ----------
    kernel, signature, constexprs, grid, target, options, arguments, element_types, configs, when
        See `to_plan`.

    Returns
    -------
    Module
        A module of kind ``"cuda_driver"``.  It can be exported to a library, which is loaded
        without Triton and Python.

    Raises
    ------
    TypeError, ValueError
        See `to_plan`.

    Notes
    -----
    Exceptions that Triton raises during compilation propagate unchanged.
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
    when: str | None = None,
) -> LaunchPlan:
    """Compile a Triton kernel ahead of time and return its launch plan.

    Parameters
    ----------
    kernel : triton.JITFunction
        A function decorated with ``@triton.jit``.  An ``@triton.autotune`` decorator around it
        chooses nothing ahead of time; pass its configurations as `configs`.
    signature : Signature or str
        Signature of the function for callers.  The kernel's ``tl.constexpr`` parameters get
        constants.  Every other kernel parameter gets the parameter, extent or result of the same
        name, unless `arguments` maps it to an expression.
    constexprs : mapping of str to object, optional
        Values of the kernel's ``tl.constexpr`` parameters; required for those without a default.
    grid : int or str, or up to three of them
        Number of Triton programs (instances of the kernel) per dimension.  Expressions contain
        names of the signature and of constants, such as ``"cdiv(n, BLOCK)"``.
    target : int, str or GPUTarget, or a sequence of them
        Compute capabilities to compile for: ``90``, ``"sm_90"``.
    options : mapping of str to object, optional
        Triton options: ``num_warps``, ``num_stages``, ``num_ctas``, ``maxnreg``,
        ``launch_pdl``, ``launch_cooperative_grid`` ...
    arguments : mapping of str to str, optional
        Argument expressions by kernel parameter, as in `tvm_ffi.codegen.make_wrapper`:
        ``{"stride": "int32 x.strides[0]"}``.  By default, extents and parameters of type ``int``
        are passed as ``int32`` after a range check, and parameters of type ``float`` as
        ``float32``.
    element_types : mapping of str to str, optional
        Dtypes of the memory at pointer parameters, where they differ from the signature, such as
        ``{"sums": "float32"}`` for a workspace or for a tensor that the kernel reinterprets.
    configs : sequence of (str, triton.Config), optional
        Launch variants, which are kernels compiled with different configurations: pairs of a
        condition such as ``"n >= 65536"`` and a configuration.  A call uses the first variant whose
        condition holds.  The last condition may be ``""``, which always holds.
    when : str, optional
        Condition under which the function may be called, if there are no `configs`.

    Raises
    ------
    TypeError
        If an argument has a wrong type.
    ValueError
        If the arguments contradict each other, the kernel needs a feature that launch plans do not
        support, or Triton does not have one of the options.

    Notes
    -----
    Scratch memory of the kernel comes from the allocator of the caller's framework.

    The compiler may assume that an address is a multiple of 16 bytes only if the signature declares
    the tensor with ``align 16`` or more, and that an integer is a multiple of 16 only if its
    expression is a multiple of 16, such as ``n//16*16``.  Triton needs both for 16-byte loads.
    """
    function = _function_of(kernel)
    signature = Signature.of(signature)
    if signature.dtype_variables:
        raise ValueError(
            f"{signature.name}: expected a signature without dtype variables, because Triton "
            "compiles for one dtype; make one function per dtype"
        )
    plans = []
    for condition, config in _variants(signature.name, configs, when):
        values = {**_defaults(function), **(constexprs or {}), **_kwargs_of(config)}
        if config is None and isinstance(kernel, _triton.runtime.Autotuner):
            _check_autotuned(signature.name, function, values)
        for gpu_target in _targets(target):
            compilation = _KernelCompilation(
                function, signature, dict(values), dict(arguments or {}), dict(element_types or {})
            )
            compiled = compilation.compile(gpu_target, {**(options or {}), **_options_of(config)})
            plans.append(compilation.plan(compiled, grid, condition))
    return LaunchPlan.first_of(plans)


# ---- argument checks -----------------------------------------------------------------------------


def _function_of(kernel: Any) -> Any:
    """Return the ``@triton.jit`` function of a kernel, without autotune and heuristics."""
    function = kernel
    while not hasattr(function, "arg_names") or isinstance(
        function, (_triton.runtime.Autotuner, _triton.runtime.Heuristics)
    ):
        if not hasattr(function, "fn"):
            raise TypeError(
                f"kernel: expected a kernel made by triton.jit, got {type(kernel).__name__}"
            )
        function = function.fn
    if not hasattr(function, "params"):
        raise TypeError(
            f"kernel: expected a kernel made by triton.jit, got {type(kernel).__name__}"
        )
    return function


def _defaults(function: Any) -> dict[str, Any]:
    """Return the default values of the kernel's ``tl.constexpr`` parameters."""
    return {
        parameter.name: parameter.default
        for parameter in function.params
        if parameter.is_constexpr and parameter.has_default
    }


def _variants(
    where: str, configs: Sequence[tuple[str, Config]] | None, when: str | None
) -> list[tuple[str | None, Config | None]]:
    """Return pairs of a launch condition and a configuration, in the order of evaluation."""
    if configs is None:
        return [(when, None)]
    if when is not None:
        raise ValueError(
            f"{where}: expected either when= or configs=, got both; configs= contains conditions"
        )
    variants = list(configs)
    if not variants:
        raise ValueError(f"{where}: configs: expected at least one pair, got none")
    for pair in variants:
        if not (isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str)):
            raise TypeError(
                f"{where}: configs: expected pairs of a condition and a triton.Config, got "
                f"{type(pair).__name__}"
            )
    if not all(condition.strip() for condition, _ in variants[:-1]):
        raise ValueError(f"{where}: configs: only the last pair may have an empty condition")
    return [(condition if condition.strip() else None, config) for condition, config in variants]


def _check_autotuned(where: str, function: Any, values: Mapping[str, Any]) -> None:
    """Raise ValueError if only a configuration of ``@triton.autotune`` has a constant."""
    for parameter in function.params:
        if parameter.is_constexpr and parameter.name not in values:
            raise ValueError(
                f"{where}: the kernel's constant '{parameter.name}' has no value, because "
                "@triton.autotune chooses no configuration ahead of time; pass its configurations, "
                'with conditions on the shape: configs=[("n > 4096", kernel.configs[0]), '
                '("", kernel.configs[1])]'
            )


def _kwargs_of(config: Config | None) -> dict[str, Any]:
    return {} if config is None else dict(config.kwargs)


def _options_of(config: Config | None) -> dict[str, Any]:
    """Return the Triton options that a ``triton.Config`` sets."""
    if config is None:
        return {}
    names = ("num_warps", "num_stages", "num_ctas", "maxnreg")
    return {name: value for name in names if (value := getattr(config, name, None)) is not None}


def _targets(target: Target | Sequence[Target]) -> list[Any]:
    """Return the targets, newest first, because newer devices may also run code for older ones."""
    listed = list(target) if isinstance(target, (list, tuple)) else [target]
    if not listed:
        raise ValueError("target: expected at least one target, got none")
    return sorted(map(_target, listed), key=lambda gpu_target: -int(gpu_target.arch))


def _target(target: Target) -> Any:
    gpu_target_type = _triton.backends.compiler.GPUTarget
    if isinstance(target, gpu_target_type):
        if target.backend != "cuda":
            raise ValueError(f"target: expected a CUDA target, got a target for {target.backend}")
        return target
    match = _ARCHITECTURE.fullmatch(str(target))
    if match is None:
        raise ValueError(f"target: expected a target like 90 or 'sm_90', got {target!r}")
    return gpu_target_type("cuda", int(match[1]), 32)


# ---- compilation by Triton -----------------------------------------------------------------------


class _KernelCompilation:
    """Compilation of one kernel for given constants, argument expressions and signature."""

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
            parameter.name: parameter for parameter in signature.parameters
        }
        self._parameters.update(zip(result_names(signature), signature.results))
        self._constants = {
            parameter.name: constants.pop(parameter.name)
            for parameter in function.params
            if parameter.name in constants
        }
        dynamic = [
            parameter.name for parameter in function.params if parameter.name not in self._constants
        ]
        self._check_names(constants, arguments, dynamic)
        self._arguments = {
            name: arguments.get(name) or self._default_argument(name) for name in dynamic
        }
        self._wrapper_arguments = make_wrapper(
            signature, "kernel", arguments=list(self._arguments.values()), device="cuda"
        ).arguments

    def _check_names(
        self, unused_constants: dict[str, Any], arguments: dict[str, str], dynamic: list[str]
    ) -> None:
        where = self._signature.name
        named = {**arguments, **self._element_types}
        for kind, names in (("constant", unused_constants), ("argument", named)):
            for name in names:
                if name not in dynamic:
                    listed = ", ".join(self._function.arg_names)
                    raise ValueError(
                        f"{where}: the kernel has no {kind} '{name}'; its parameters are {listed}"
                    )
        for parameter in self._function.params:
            if parameter.is_constexpr and parameter.name not in self._constants:
                raise ValueError(
                    f"{where}: the kernel's constant '{parameter.name}' has no value; pass the "
                    "value in constexprs"
                )

    def _default_argument(self, name: str) -> str:
        """Return the argument expression of a kernel parameter that `arguments` leaves out."""
        parameter = self._parameters.get(name)
        if parameter is None:
            # `name` is the name of an extent, or make_wrapper raises an error.
            return f"int32 {name}"
        if not isinstance(parameter.type, ValueType):
            return name
        return {"int": f"int32 {name}", "float": f"float32 {name}"}.get(
            parameter.type.schema.origin, name
        )

    def compile(self, target: Any, options: Mapping[str, Any]) -> Any:
        """Return the kernel compiled by Triton for one target."""
        types = {
            parameter.name: "constexpr"
            if parameter.name in self._constants
            else self._type(parameter.name, self._arguments[parameter.name])
            for parameter in self._function.params
        }
        source = _triton.compiler.ASTSource(
            fn=self._function,
            signature=types,
            constexprs=self._constants,
            attrs=self._attributes(),
        )
        self._check_options(target, options)
        name = self._signature.name
        key = hashlib.sha256(repr((source.hash(), target, sorted(options.items()))).encode())
        reasons = ["to_plan and to_module compile in each process; export the module instead"]
        announce("Triton", name, key=key.hexdigest(), reasons=reasons)
        compiled = _triton.compile(source, target=target, options=dict(options))
        self._check_metadata(compiled.metadata)
        return compiled

    def _check_options(self, target: Any, options: Mapping[str, Any]) -> None:
        """Raise ValueError for an option that Triton would ignore."""
        backend = _triton.compiler.make_backend(target)
        known = [field.name for field in fields(backend.parse_options({}))]
        for name in options:
            if name not in known:
                raise ValueError(
                    f"{self._signature.name}: Triton has no option '{name}'"
                    f"{did_you_mean(name, known)}"
                )

    def _attributes(self) -> dict[tuple[int], list[list[Any]]]:
        """Return Triton's attributes of arguments, by the index of the kernel parameter."""
        indices = {name: index for index, name in enumerate(self._function.arg_names)}
        return {
            (indices[name],): [["tt.divisibility", _VECTOR]]
            for name, argument in zip(self._arguments, self._wrapper_arguments)
            if self._is_divisible(argument)
        }

    def _is_divisible(self, argument: Argument) -> bool:
        """Return True if an address or a number is a multiple of 16 in every call."""
        if argument.kind in ("extent", "constant"):
            return _is_multiple(argument.extent if argument.kind == "extent" else argument.number)
        if argument.kind == "workspace":
            return True  # workspaces are aligned to 256 bytes
        type_ = self._parameters[argument.source].type if argument.kind == "address" else None
        return isinstance(type_, TensorType) and (type_.alignment or 1) % _VECTOR == 0

    def _check_metadata(self, metadata: Any) -> None:
        if getattr(metadata, "tensordesc_meta", None):
            raise ValueError(
                f"{self._signature.name}: launch plans do not support tensor descriptors as "
                "arguments; create the descriptors in the kernel"
            )

    def _type(self, name: str, text: str) -> str:
        """Return Triton's name for the type of a kernel parameter."""
        if name in self._element_types:
            return f"*{self._dtype(self._element_types[name])}"
        parameter = self._parameters.get(text.strip())
        if parameter is not None and isinstance(parameter.type, TensorType):
            dtype = parameter.type.dtype
            if not isinstance(dtype, str):
                raise ValueError(
                    f"{self._signature.name}: the signature must declare exactly one dtype for "
                    f"tensor '{text}'"
                )
            return f"*{self._dtype(dtype)}"
        if text.strip() == "null" or text.strip().startswith("workspace"):
            return "*i8"
        if parameter is not None and isinstance(parameter.type, ScalarType):
            return self._dtype(parameter.type.dtype)
        converted = _CONVERTED.match(text.strip())
        return self._dtype(converted[1] if converted else self._plain_dtype(parameter, text))

    def _plain_dtype(self, parameter: Any, text: str) -> str:
        """Return the dtype that `make_wrapper` uses for an argument without an explicit dtype."""
        if parameter is not None:
            origin = parameter.type.schema.origin
            return {"bool": "bool", "float": "float64"}.get(origin, "int64")
        is_int32 = text.rpartition(".")[2] in ("ndim", "device")
        return "int32" if is_int32 else "int64"

    def _dtype(self, name: str) -> str:
        if name in _DTYPES:
            return _DTYPES[name]
        match = _INTEGER.fullmatch(name)
        if match is None:
            raise ValueError(f"{self._signature.name}: Triton has no dtype {name}")
        return f"{'u' if match['sign'] else 'i'}{match['bits']}"

    # ---- launch plan -----------------------------------------------------------------------

    def plan(self, compiled: Any, grid: Amount, when: str | None) -> LaunchPlan:
        """Return the launch plan of a compiled kernel."""
        metadata = compiled.metadata
        programs = [self._with_constants(extent) for extent in three_extents("grid", grid)]
        num_ctas = int(getattr(metadata, "num_ctas", 1))
        blocks: list[Extent] = [_product(programs[0], num_ctas), *programs[1:]]
        scratch = [
            self._scratch(metadata, kind, programs, num_ctas) for kind in ("global", "profile")
        ]
        return make_launch_plan(
            self._signature,
            DeviceImage(compiled.asm["cubin"], architecture=_architecture(compiled)),
            metadata.name,
            arguments=[*self._arguments.values(), *scratch],
            grid=[extent_text(extent) for extent in blocks],
            block=int(metadata.num_warps) * int(metadata.warp_size),
            cluster=num_ctas if num_ctas > 1 else None,
            shared_memory=int(metadata.shared),
            cooperative=bool(metadata.launch_cooperative_grid),
            programmatic=bool(metadata.launch_pdl),
            when=None if when is None else self._condition(when),
        )

    def _scratch(self, metadata: Any, kind: str, programs: list[Extent], num_ctas: int) -> str:
        """Return the argument expression for scratch memory, which has a section for each block.

        Every Triton kernel has two such parameters after its declared parameters.  They are null
        if the kernel does not use scratch memory.
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
            total = _product(extent, total)
        return f"workspace({extent_text(total)})"

    def _with_constants(self, extent: Extent) -> Extent:
        """Return an expression in which names of constants are replaced by their values."""
        if isinstance(extent, Expression):
            return replace(extent, operands=tuple(map(self._with_constants, extent.operands)))
        value = self._constants.get(extent) if isinstance(extent, str) else None
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return int(value) if is_number else extent  # type: ignore[arg-type]

    def _condition(self, when: str) -> str:
        """Return a condition in which names of constants are replaced by their values."""
        tokens = re.split(r"(\w+)", when)
        constants = self._constants
        return "".join(
            str(constants[token]) if isinstance(constants.get(token), int) else token
            for token in tokens
        )


def _product(left: Extent, right: Extent) -> Extent:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 1 or right == 1:
        return right if left == 1 else left
    return Expression("*", (left, right))


def _is_multiple(value: Extent | float) -> bool:
    """Return True if an extent or number is a multiple of 16 for all values of its variables."""
    if isinstance(value, Expression) and value.operator in ("*", "+", "-"):
        quantifier = any if value.operator == "*" else all
        return quantifier(map(_is_multiple, value.operands))
    return isinstance(value, int) and value % _VECTOR == 0


def _architecture(compiled: Any) -> str:
    """Return the architecture in the PTX text, such as sm_90a (code for sm_90 devices only)."""
    match = re.search(r"^\.target\s+(sm_\d+[af]?)", compiled.asm["ptx"], re.MULTILINE)
    return match[1] if match else f"sm_{compiled.metadata.target.arch}"

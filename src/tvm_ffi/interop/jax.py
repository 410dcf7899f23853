# SPDX-License-Identifier: Apache-2.0
"""JAX adapter: calls of functions under ``jit``, ``vmap``, ``grad`` and ``shard_map``.

All calls use one XLA custom call, which finds the function by its name.  The name is a constant of
the compiled program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Callable, cast

from ._function_names import Target, display_name, name_of, signature_of
from ._versions import load
from ._xla.attributes import attributes_of
from ._xla.custom_call import CustomCall, add_arguments_by_position, add_arguments_by_signature
from ._xla.fork_guard import check_not_forked, register_fork_hooks
from ._xla.handler import CAPTURE, TARGET, register

__all__ = ["call_tvm_ffi", "export_checks"]

_jax: Any = load("jax", "0.10.2", "0.12.0", extra="jax")
register(_jax)
register_fork_hooks(_jax)

Rule = Callable[..., Any]


def call_tvm_ffi(
    function: Target,
    *args: Any,
    out: Any = None,
    vmap_method: str = "sequential",
    vjp: Rule | None = None,
    jvp: Rule | None = None,
    has_side_effect: bool | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    command_buffer: bool = False,
    **attributes: Any,
) -> Any:
    """Call a function on JAX arrays, eagerly or in a traced program.

    Parameters
    ----------
    function : str, Function or callable
        Name of a global function, a native function, or a Python callable.
    *args : array or value
        Positional arguments, without outputs.  Arrays become operands of the traced program.  Other
        values become constants of the program: numbers, strings, None, and values that
        `tvm_ffi.serialization.to_json_graph_str` supports.
    out : ShapeDtypeStruct or sequence of them, optional
        Shapes and dtypes of the outputs; default: derived from the signature.
    vmap_method : str
        Batching under ``vmap``, as in ``jax.ffi.ffi_call``.  ``"sequential"`` calls the function
        once per batch element; ``"expand_dims"`` and ``"broadcast_all"`` call it once, with a
        leading batch dimension.
    vjp : callable, optional
        Reverse-mode derivative: ``vjp(inputs, outputs, cotangents)`` gets three tuples, and returns
        a cotangent for each array in `args`, or None for zero.
    jvp : callable, optional
        Forward-mode derivative: ``jvp(inputs, outputs, tangents)`` gets three tuples, and returns
        the tangents of the outputs.  Cannot be combined with `vjp`.
    has_side_effect : bool, optional
        True if the call must run even if its outputs are unused; default: True for a call without
        outputs.
    input_output_aliases : mapping of int to int, optional
        Index of an array in `args` -> index of the output that uses the same memory.  ``inout``
        parameters of a signature share memory with their output in any case.
    command_buffer : bool
        True if every call launches the same work, so that XLA may record it in a CUDA graph.
    **attributes : value
        Keyword arguments.  A function without a signature gets them after all other arguments, in
        the order in which they are passed.

    Returns
    -------
    array or tuple of array
        The ``out`` and ``inout`` parameters of the signature, followed by the results of the
        function.  A function without a signature gets a buffer for each output after `args`.  A
        single output is returned as an array, unless `out` is a sequence.

    Raises
    ------
    TypeError
        If an argument is missing, unknown, or has a type that a program cannot contain.
    ValueError
        If the function does not exist, or the shape of an output cannot be derived.
    RuntimeError
        If the process was forked after JAX had started.

    Notes
    -----
    Compiled programs look the function up by name.  A function without a global name is registered
    under a generated name for the life of the process.  If the function fails, the program ends
    with ``jax.errors.JaxRuntimeError``, which contains the error's kind and message.  On the CPU,
    tensors are borrowed until the function returns.
    """
    if vjp is not None and jvp is not None:
        raise TypeError("call_tvm_ffi(): expected vjp or jvp, got both")
    for parameter, rule in (("vjp", vjp), ("jvp", jvp)):
        if rule is not None and not callable(rule):
            raise TypeError(f"`{parameter}`: expected a callable, got {type(rule).__name__}")
    name = name_of(function)
    call = CustomCall(_jax, f"call_tvm_ffi({display_name(function)})")
    check_not_forked(call.where)
    signature = signature_of(function)
    if signature is None:
        add_arguments_by_position(call, args, attributes, out)
    else:
        add_arguments_by_signature(call, signature, args, attributes, out)
    options = {
        "vmap_method": vmap_method,
        "has_side_effect": not call.outputs if has_side_effect is None else has_side_effect,
        "input_output_aliases": {**call.aliases, **(input_output_aliases or {})},
    }
    target = CAPTURE if command_buffer else TARGET

    def run(*operands: Any) -> tuple[Any, ...]:
        return _run(call, name, target, options, operands)

    outputs = _differentiable(run, vjp, jvp)(*call.operands)
    return outputs if call.is_sequence or len(outputs) != 1 else outputs[0]


def export_checks() -> list[Any]:
    """Return the safety checks that ``jax.export.export(..., disabled_checks=)`` must disable.

    JAX guarantees that exported programs run on later releases, and therefore rejects third-party
    custom calls by default.  A process that runs the exported program must import this module.
    """
    check = import_module("jax.export").DisabledSafetyCheck
    return [check.custom_call(target) for target in (TARGET, CAPTURE)]


def _run(
    call: CustomCall, name: str, target: str, options: dict[str, Any], operands: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Apply the custom call to operands: arrays, or JAX's tracers for them."""
    varying = _varying_axes(operands)
    outputs = tuple(_output(call, output, varying) for output in call.outputs)
    operator = _jax.ffi.ffi_call(target, outputs, **options)
    return tuple(operator(*operands, **attributes_of(name, call.arguments)))


def _output(call: CustomCall, output: Any, varying: frozenset[str]) -> Any:
    """Return an output's shape and dtype, with the mesh axes along which it varies."""
    dtype = _jax.dtypes.canonicalize_dtype(output.dtype)
    if dtype != output.dtype:
        raise ValueError(
            f"{call.where}: an output has dtype {output.dtype}, which JAX converts to {dtype}; "
            "enable jax_enable_x64"
        )
    if not varying or getattr(output, "vma", None):
        return output
    return _jax.ShapeDtypeStruct(output.shape, output.dtype, vma=varying)


def _varying_axes(operands: Sequence[Any]) -> frozenset[str]:
    """Return the mesh axes along which the operands, and hence outputs, differ between devices."""
    return frozenset().union(
        *(getattr(_jax.typeof(x), "vma", None) or () for x in operands if hasattr(_jax, "typeof"))
    )


def _differentiable(run: Rule, vjp: Rule | None, jvp: Rule | None) -> Rule:
    """Return `run` with the caller's derivative rule, or unchanged if there is no rule."""
    if vjp is not None:
        return _with_vjp(run, vjp)
    return run if jvp is None else _with_jvp(run, jvp)


def _with_vjp(run: Rule, vjp: Rule) -> Rule:
    def forward(*inputs: Any) -> Any:
        outputs = run(*inputs)
        return outputs, (inputs, outputs)

    def backward(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
        inputs, outputs = residuals
        gradients = _as_tuple(vjp(inputs, outputs, cotangents))
        if len(gradients) != len(inputs):
            raise ValueError(
                f"vjp: expected {len(inputs)} cotangents, one per array, got {len(gradients)}"
            )
        return gradients

    operator = _jax.custom_vjp(run)
    operator.defvjp(forward, backward)
    return cast(Rule, operator)


def _with_jvp(run: Rule, jvp: Rule) -> Rule:
    operator = _jax.custom_jvp(run)

    @operator.defjvp  # type: ignore[untyped-decorator]
    def _(inputs: Any, tangents: Any) -> Any:
        outputs = run(*inputs)
        return outputs, _as_tuple(jvp(inputs, outputs, tangents))

    return cast(Rule, operator)


def _as_tuple(returned: Any) -> tuple[Any, ...]:
    """Return the result of a derivative rule as a tuple; a rule may return a single array."""
    return tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)

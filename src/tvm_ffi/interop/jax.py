# SPDX-License-Identifier: Apache-2.0
"""Functions as operators of JAX: under ``jit``, ``vmap``, ``grad``, ``shard_map``, in exports.

One custom call of XLA serves all functions: the program has the function's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Callable, cast

from ._function_names import Target, name_of, shown, signature_of
from ._tried import load
from ._xla.arrangement import Arranged, arrange_by_position, arrange_by_signature
from ._xla.call import attributes_of
from ._xla.forked import refuse_without_threads, watch
from ._xla.handler import CAPTURE, TARGET, register

__all__ = ["call_tvm_ffi", "export_checks"]

_jax: Any = load("jax", "0.10.2", "0.12.0", extra="jax")
register(_jax)
watch(_jax)

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
    """Call a function on arrays of JAX, at once or as part of a program.

    Parameters
    ----------
    function : str, Function or callable
        Name of a global function, any other function, or one that is written in Python.
    *args : array or value
        What the function takes by position, without its outputs.  Arrays are buffers of the
        program, all else is part of it: numbers, texts, None, and what has a JSON graph.
    out : ShapeDtypeStruct or sequence of them, optional
        What outputs look like.  Not needed where the signature says it.
    vmap_method : str
        What ``vmap`` does, see ``jax.ffi.ffi_call``: ``"sequential"`` calls once for each element;
        ``"expand_dims"`` and ``"broadcast_all"`` call once, with one more dimension in front.
    vjp : callable, optional
        Rule of reverse differentiation: ``vjp(inputs, outputs, cotangents)`` returns a cotangent
        for each array in `args`, None for zero.
    jvp : callable, optional
        Rule of forward differentiation: ``jvp(inputs, outputs, tangents)`` returns the tangents of
        the outputs.  Give one of the two.
    has_side_effect : bool, optional
        Whether the call has to happen though nobody uses its outputs; by default, if it has none.
    input_output_aliases : mapping of int to int, optional
        Which output has the memory of which array in `args`.  That of ``inout`` parameters is
        known.
    command_buffer : bool
        That the function always launches the same work: XLA may record it into a CUDA graph.
    **attributes : value
        What the function takes by name; without a signature, after everything else, in the order
        in which they are given.

    Returns
    -------
    array or tuple of array
        The outputs: those parameters that the signature marks ``out`` or ``inout``, then
        what the function returns.  Without a signature, the function gets a buffer for each
        output behind `args`.  One array if there is one or `out` is no sequence, else a tuple.

    Raises
    ------
    TypeError
        If arguments are missing, unknown, or cannot be part of a program.
    ValueError
        If there is no such function, or an output's shape is not known.
    RuntimeError
        If the process was forked from one in which JAX had started.

    Notes
    -----
    Programs keep the function: one without a global name gets one, for the life of the process.
    An error of the function ends the program as ``jax.errors.JaxRuntimeError``, with its kind and
    message.  On the CPU, tensors are lent for the call.
    """
    if vjp is not None and jvp is not None:
        raise TypeError("call_tvm_ffi() takes vjp or jvp, not both")
    for what, rule in (("vjp", vjp), ("jvp", jvp)):
        if rule is not None and not callable(rule):
            raise TypeError(f"`{what}` must be callable, got {type(rule).__name__}")
    name = name_of(function)
    call = Arranged(_jax, f"call_tvm_ffi({shown(function)})")
    refuse_without_threads(call.where)
    signature = signature_of(function)
    if signature is None:
        arrange_by_position(call, args, attributes, out)
    else:
        arrange_by_signature(call, signature, args, attributes, out)
    options = {
        "vmap_method": vmap_method,
        "has_side_effect": not call.outputs if has_side_effect is None else has_side_effect,
        "input_output_aliases": {**call.aliases, **(input_output_aliases or {})},
    }
    target = CAPTURE if command_buffer else TARGET

    def run(*operands: Any) -> Any:
        return _run(call, name, target, options, operands)

    return _differentiable(run, vjp, jvp)(*call.operands)


def export_checks() -> list[Any]:
    """Return what ``jax.export.export(..., disabled_checks=)`` has to be told.

    JAX promises that exported programs run on later releases, and so refuses custom calls of
    others.  Ours are called by name, and by the process that has imported this module.
    """
    check = import_module("jax.export").DisabledSafetyCheck
    return [check.custom_call(target) for target in (TARGET, CAPTURE)]


def _run(
    call: Arranged, name: str, target: str, options: dict[str, Any], operands: tuple[Any, ...]
) -> Any:
    """Make the operator; the operands may be others than those that the call was arranged with."""
    varying = _varying_axes(operands)
    outputs = tuple(_output(call, output, varying) for output in call.outputs)
    operator = _jax.ffi.ffi_call(target, outputs, **options)
    results = tuple(operator(*operands, **attributes_of(name, call.arguments)))
    return results if call.is_sequence or len(results) != 1 else results[0]


def _output(call: Arranged, output: Any, varying: frozenset[str]) -> Any:
    """Return an output's description as the program has it."""
    dtype = _jax.dtypes.canonicalize_dtype(output.dtype)
    if dtype != output.dtype:
        raise ValueError(
            f"{call.where}: an output has dtype {output.dtype}, which JAX makes {dtype} unless "
            "jax_enable_x64 is set"
        )
    if not varying or getattr(output, "vma", None):
        return output
    return _jax.ShapeDtypeStruct(output.shape, output.dtype, vma=varying)


def _varying_axes(operands: Sequence[Any]) -> frozenset[str]:
    """Return the axes of a mesh along which devices have different values: outputs do, too."""
    return frozenset().union(
        *(getattr(_jax.typeof(x), "vma", None) or () for x in operands if hasattr(_jax, "typeof"))
    )


def _differentiable(run: Rule, vjp: Rule | None, jvp: Rule | None) -> Rule:
    """Give an operator the caller's rule of differentiation."""
    if vjp is not None:
        return _with_vjp(run, vjp)
    return run if jvp is None else _with_jvp(run, jvp)


def _with_vjp(run: Rule, vjp: Rule) -> Rule:
    def forward(*inputs: Any) -> Any:
        outputs = run(*inputs)
        return outputs, (inputs, outputs)

    def backward(kept: Any, cotangents: Any) -> tuple[Any, ...]:
        inputs, outputs = kept
        answer = vjp(inputs, outputs, cotangents)
        gradients = tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)
        if len(gradients) != len(inputs):
            raise ValueError(
                f"vjp returned {len(gradients)} cotangents, the call has {len(inputs)} arrays"
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
        return outputs, jvp(inputs, outputs, tangents)

    return cast(Rule, operator)

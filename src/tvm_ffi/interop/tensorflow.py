# SPDX-License-Identifier: Apache-2.0
"""Functions as operators of TensorFlow: at once, and in the graphs of ``tf.function``.

One operator serves all functions: the graph has the function's name.  It is written in C++ and is
built for the TensorFlow that is there, once, into the cache of `tvm_ffi.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from ._function_names import Target, name_of, shown, signature_of
from ._tensorflow.call import Arranged, arrange_by_position, arrange_by_signature
from ._tensorflow.library import operators, xla_operators
from ._versions import load

__all__ = ["call_tvm_ffi", "register_operators"]

_tensorflow: Any = load("tensorflow", "2.21.0", "2.21.0")

# What an output looks like: anything with a shape and a dtype, or the two as a pair.
Output = Any
Rule = Callable[..., Any]


def register_operators(*, xla: bool = False) -> None:
    """Make the operators known to TensorFlow, which builds them where they are not in the cache.

    `call_tvm_ffi` does this when it is first called.  Programs that load a saved model with such
    calls do it before they load it.

    Parameters
    ----------
    xla : bool
        Make them known to TensorFlow's XLA, too, for ``tf.function(jit_compile=True)`` on the CPU.
        To be said before TensorFlow runs anything, as it looks only once what XLA knows.

    Raises
    ------
    RuntimeError
        If there is no compiler for C++, or it fails; with `xla`, if TensorFlow has run something.
    """
    if xla:
        xla_operators(_tensorflow)
    else:
        operators(_tensorflow)


def call_tvm_ffi(
    function: Target,
    *args: Any,
    out: Output | Sequence[Output] | None = None,
    vjp: Rule | None = None,
    has_side_effect: bool | None = None,
    **attributes: Any,
) -> Any:
    """Call a function on tensors of TensorFlow, at once or as a node of a graph.

    Parameters
    ----------
    function : str, Function or callable
        Name of a global function, any other function, or one that is written in Python.
    *args : tensor or value
        What the function takes by position, without its outputs.  Tensors, variables and NumPy
        arrays are inputs of the node; all else is part of the graph: numbers, texts, None, and what
        has a JSON graph.  A scalar tensor may stand for a number.
    out : tf.TensorSpec, (shape, dtype), or sequence of them, optional
        What outputs look like.  Not needed where the signature says it.  A shape in a pair may be a
        tensor of extents, or have scalar tensors among them.
    vjp : callable, optional
        Rule of reverse differentiation: ``vjp(inputs, outputs, gradients)`` returns a gradient for
        each tensor in `args`, None for zero.
    has_side_effect : bool, optional
        Whether the call has to happen though nobody uses its outputs, and as often as it is
        written; by default, if it has none.
    **attributes : tensor or value
        What the function takes by name; without a signature, after everything else, in the order in
        which they are given.

    Returns
    -------
    tf.Tensor or tuple of tf.Tensor or None
        The outputs: those parameters that the signature marks ``out`` or ``inout``, then what the
        function returns.  Without a signature, the function gets a buffer for each output behind
        `args`.  One tensor if there is one or `out` is no sequence, else a tuple.

    Raises
    ------
    TypeError
        If arguments are missing, unknown, or cannot be part of a graph.
    ValueError
        If there is no such function, or an output's shape is not known.

    Notes
    -----
    An error of the function is one of ``tf.errors``, with its kind and message: a ValueError or
    TypeError is an ``InvalidArgumentError``, what has no counterpart an ``InternalError``.  A
    ``tf.Variable`` in the place of an ``inout`` parameter is assigned what the function wrote.
    Functions run in CPU memory, on any thread of TensorFlow's.
    """
    name = name_of(function)
    call = Arranged(_tensorflow, f"call_tvm_ffi({shown(function)})")
    signature = signature_of(function)
    if signature is None:
        arrange_by_position(call, args, attributes, out)
    else:
        arrange_by_signature(call, signature, args, attributes, out)
    if has_side_effect is None:
        has_side_effect = not call.outputs
    node = {"function": name, **call.attributes()}
    shapes = call.shapes()

    def run(*inputs: Any) -> list[Any]:
        library = operators(_tensorflow)
        operator = library.tvm_ffi_call if has_side_effect else library.tvm_ffi_pure_call
        made = operator(inputs=inputs, shapes=shapes, **node)
        return list(made) if call.outputs else []

    outputs = run(*call.inputs) if vjp is None else _with_vjp(run, vjp)(*call.inputs)
    for place, variable in call.variables.items():
        variable.assign(outputs[place])
    if call.is_sequence or len(outputs) > 1:
        return tuple(outputs)
    return outputs[0] if outputs else None


call_tvm_ffi = _tensorflow.autograph.experimental.do_not_convert(call_tvm_ffi)


def _with_vjp(run: Rule, vjp: Rule) -> Rule:
    """Give an operator the caller's rule of differentiation."""

    def operator(*inputs: Any) -> Any:
        outputs = run(*inputs)

        def gradient(*gradients: Any) -> Any:
            answer = vjp(inputs, tuple(outputs), gradients)
            found = tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)
            if len(found) != len(inputs):
                raise ValueError(
                    f"vjp returned {len(found)} gradients, the call has {len(inputs)} tensors"
                )
            return found

        return outputs, gradient

    made: Rule = _tensorflow.custom_gradient(operator)
    return made

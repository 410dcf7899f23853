# SPDX-License-Identifier: Apache-2.0
"""TensorFlow adapter: calls of functions in eager code and in the graphs of ``tf.function``.

All calls use one TensorFlow operator; the function's name is an attribute of the graph node.  The
operator is written in C++ and compiled for the installed TensorFlow, once, into the build cache of
`tvm_ffi.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from ._function_names import Target, display_name, name_of, signature_of
from ._tensorflow.call import NodeCall, add_arguments_by_position, add_arguments_by_signature
from ._tensorflow.library import operators, xla_operators
from ._versions import load

__all__ = ["call_tvm_ffi", "register_operators"]

_tensorflow: Any = load("tensorflow", "2.21.0", "2.21.0")

# The shape and dtype of an output: an object with these attributes, or a pair (shape, dtype).
Output = Any
Rule = Callable[..., Any]


def register_operators(*, xla: bool = False) -> None:
    """Register the operators with TensorFlow; build them first if they are not in the cache.

    The first call of `call_tvm_ffi` registers the operators, too.  A program that loads a saved
    model with such calls must call this function before it loads the model.

    Parameters
    ----------
    xla : bool
        True to register the operators with TensorFlow's XLA, too, for
        ``tf.function(jit_compile=True)`` on the CPU.  Pass True before TensorFlow executes its
        first operation, because TensorFlow collects XLA's operators only once.

    Raises
    ------
    RuntimeError
        If there is no C++ compiler, or the compilation fails.  With `xla`, also if TensorFlow has
        executed an operation already.
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
    """Call a function on TensorFlow tensors, eagerly or as a node of a graph.

    Parameters
    ----------
    function : str, Function or callable
        Name of a global function, a native function, or a Python callable.
    *args : tensor or value
        Positional arguments, without outputs.  Tensors, variables and NumPy arrays are inputs of
        the node.  Other values are constants of the graph: numbers, strings, None, and values that
        `tvm_ffi.serialization.to_json_graph_str` supports.  A scalar tensor may be passed for a
        number.
    out : tf.TensorSpec, (shape, dtype), or sequence of them, optional
        Shapes and dtypes of the outputs; default: derived from the signature.  The shape in a pair
        may be a tensor of extents, or a sequence with scalar tensors among its extents.
    vjp : callable, optional
        Reverse-mode derivative: ``vjp(inputs, outputs, gradients)`` gets three tuples, and returns
        a gradient for each tensor in `args`, or None for zero.
    has_side_effect : bool, optional
        True if every call must run, even if its outputs are unused or equal those of another call;
        default: True for a call without outputs.
    **attributes : tensor or value
        Keyword arguments.  A function without a signature gets them after all other arguments, in
        the order in which they are passed.

    Returns
    -------
    tf.Tensor or tuple of tf.Tensor or None
        The ``out`` and ``inout`` parameters of the signature, followed by the results of the
        function.  A function without a signature gets a buffer for each output after `args`.  A
        single output is returned as a tensor, unless `out` is a sequence.

    Raises
    ------
    TypeError
        If an argument is missing, unknown, or has a type that a graph cannot contain.
    ValueError
        If the function does not exist, or the shape of an output cannot be derived.

    Notes
    -----
    An error in the function is raised as an exception of ``tf.errors`` that contains its kind and
    message: ValueError and TypeError as ``InvalidArgumentError``, kinds without a counterpart as
    ``InternalError``.  A ``tf.Variable`` that is passed for an ``inout`` parameter is assigned the
    new contents.  Functions run in CPU memory, on any of TensorFlow's threads.
    """
    name = name_of(function)
    call = NodeCall(_tensorflow, f"call_tvm_ffi({display_name(function)})")
    signature = signature_of(function)
    if signature is None:
        add_arguments_by_position(call, args, attributes, out)
    else:
        add_arguments_by_signature(call, signature, args, attributes, out)
    if has_side_effect is None:
        has_side_effect = not call.outputs
    node = {"function": name, **call.attributes()}
    shapes = call.shapes()

    def run(*inputs: Any) -> list[Any]:
        library = operators(_tensorflow)
        operator = library.tvm_ffi_call if has_side_effect else library.tvm_ffi_pure_call
        results = operator(inputs=inputs, shapes=shapes, **node)
        return list(results) if call.outputs else []

    outputs = run(*call.inputs) if vjp is None else _with_vjp(run, vjp)(*call.inputs)
    for index, variable in call.variables.items():
        variable.assign(outputs[index])
    if call.is_sequence or len(outputs) > 1:
        return tuple(outputs)
    return outputs[0] if outputs else None


call_tvm_ffi = _tensorflow.autograph.experimental.do_not_convert(call_tvm_ffi)


def _with_vjp(run: Rule, vjp: Rule) -> Rule:
    """Return `run` with the caller's reverse-mode derivative rule."""

    def operator(*inputs: Any) -> Any:
        outputs = run(*inputs)

        def gradient(*gradients: Any) -> Any:
            returned = vjp(inputs, tuple(outputs), gradients)
            results = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
            if len(results) != len(inputs):
                raise ValueError(
                    f"vjp: expected {len(inputs)} gradients, one per tensor, got {len(results)}"
                )
            return results

        return outputs, gradient

    differentiable: Rule = _tensorflow.custom_gradient(operator)
    return differentiable

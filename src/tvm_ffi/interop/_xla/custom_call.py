# SPDX-License-Identifier: Apache-2.0
"""The operands, attribute values and outputs of one XLA custom call in a JAX program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...signature import Parameter, Signature, TensorType
from ...signature._outputs import OutputError, TensorSpec, outputs_of
from .._destination_passing import bind_inputs, is_output, require_out
from .attributes import OPERAND, OUTPUT, Buffer
from .element_types import is_known

__all__ = ["CustomCall", "add_arguments_by_position", "add_arguments_by_signature"]


class CustomCall:
    """An XLA custom call under construction: operands, arguments in order, and output shapes.

    Parameters
    ----------
    jax : module
        The ``jax`` module.
    where : str
        Name of the call; error messages begin with it.
    """

    def __init__(self, jax: Any, where: str) -> None:
        self.jax, self.where = jax, where
        self.operands: list[Any] = []
        self.arguments: list[tuple[str, Any]] = []  # pairs (name, constant or `Buffer`)
        self.outputs: list[Any] = []  # objects with attributes `shape` and `dtype`
        self.num_outputs = 0
        # The index of the output that shares memory with an operand, by the operand's index.
        self.aliases: dict[int, int] = {}
        self.is_sequence = False

    def add(self, name: str, value: Any) -> None:
        """Add an argument that is a constant of the XLA program."""
        self.arguments.append((name, value))

    def add_operand(self, name: str, value: Any) -> None:
        """Add an array argument that the function reads."""
        self._check_dtype(f"argument {_argument_label(name)}", value.dtype)
        self.arguments.append((name, Buffer(OPERAND, len(self.operands))))
        self.operands.append(value)

    def add_output(self, name: str) -> None:
        """Add an array argument that the function writes."""
        self.arguments.append((name, Buffer(OUTPUT, self.num_outputs)))
        self.num_outputs += 1

    def add_inout(self, name: str, value: Any) -> None:
        """Add an array that the function reads and writes; XLA passes the output's memory."""
        self._check_dtype(f"argument {_argument_label(name)}", value.dtype)
        self.aliases[len(self.operands)] = self.num_outputs
        self.operands.append(value)
        self.add_output(name)

    def is_array(self, value: Any) -> bool:
        """Return True for a JAX array, including a traced array."""
        return isinstance(value, self.jax.Array)

    def set_outputs(self, out: Any) -> None:
        """Set the shapes and dtypes of the outputs to those in the caller's `out`."""
        self.is_sequence = isinstance(out, Sequence)
        self.outputs = list(out) if self.is_sequence else [out]
        for output in self.outputs:
            if not (hasattr(output, "shape") and hasattr(output, "dtype")):
                raise TypeError(
                    f"{self.where}: out=: expected jax.ShapeDtypeStruct, got "
                    f"{type(output).__name__}"
                )
        for index, output in enumerate(self.outputs):
            self._check_dtype(f"output {index}", output.dtype)

    def _check_dtype(self, label: str, dtype: Any) -> None:
        """Raise TypeError for a dtype that DLPack does not have, such as JAX's extended dtypes."""
        if is_known(dtype):
            return
        hint = ""
        if self.jax.dtypes.issubdtype(dtype, self.jax.dtypes.prng_key):
            hint = "; convert keys with jax.random.key_data"
        raise TypeError(f"{self.where}: {label}: expected a DLPack dtype, got {dtype}{hint}")


def _argument_label(name: str) -> str:
    """Return an argument's name for error messages, or its index if it was passed by position."""
    index = name.removeprefix("_")
    return f"#{index}" if index.isdigit() else f"'{name}'"


def add_arguments_by_position(
    call: CustomCall, args: tuple[Any, ...], attributes: Mapping[str, Any], out: Any
) -> None:
    """Add the arguments for a function without a signature: `args`, outputs, then `attributes`."""
    require_out(call.where, out)
    call.set_outputs(out)
    for index, value in enumerate(args):
        if call.is_array(value) or isinstance(value, np.ndarray):
            call.add_operand(f"_{index}", value)
        else:
            call.add(f"_{index}", value)
    for index in range(len(call.outputs)):
        call.add_output(f"_out{index}")
    for name, value in attributes.items():
        if call.is_array(value):
            call.add_operand(name, value)
        else:
            call.add(name, value)


def add_arguments_by_signature(
    call: CustomCall,
    signature: Signature,
    args: tuple[Any, ...],
    attributes: Mapping[str, Any],
    out: Any,
) -> None:
    """Add the arguments for a function with a signature, in the order of its parameters."""
    bound = bind_inputs(call.where, signature, args, attributes)
    inputs: dict[str, TensorSpec] = {}
    for parameter in signature.parameters:
        if is_output(parameter):
            call.add_output(parameter.name)
        elif parameter.kind == "variadic":
            for index, value in enumerate(bound[parameter.name]):
                _add(call, f"{parameter.name}_{index}", parameter, value)
        else:
            value = bound[parameter.name]
            _add(call, parameter.name, parameter, value)
            if isinstance(parameter.type, TensorType) and value is not None:
                inputs[parameter.name] = _spec_of(call, value)
    call.num_outputs += sum(isinstance(result.type, TensorType) for result in signature.results)
    if out is None:
        _derive_outputs(call, signature, inputs)
        return
    call.set_outputs(out)
    if len(call.outputs) != call.num_outputs:
        raise ValueError(
            f"{call.where}: out=: expected {call.num_outputs} outputs, got {len(call.outputs)}: "
            f"{signature}"
        )


def _add(call: CustomCall, name: str, parameter: Parameter, value: Any) -> None:
    is_array = call.is_array(value) or isinstance(value, np.ndarray)
    if isinstance(parameter.type, TensorType):
        if value is None and parameter.type.is_optional:
            call.add(name, None)
        elif not is_array:
            raise TypeError(
                f"{call.where}: argument '{name}': expected an array, got {type(value).__name__}"
            )
        elif parameter.direction == "inout":
            call.add_inout(name, value)
        else:
            call.add_operand(name, value)
    elif isinstance(value, call.jax.core.Tracer):
        raise TypeError(
            f"{call.where}: argument '{name}': expected a constant of the program, got a traced "
            "array; pass it as a static argument (static_argnames of jax.jit)"
        )
    elif call.is_array(value):
        if value.size != 1:
            raise TypeError(
                f"{call.where}: argument '{name}': expected a scalar, got an array "
                f"{value.dtype}{list(value.shape)}"
            )
        call.add(name, value.item())
    else:
        call.add(name, value)


def _spec_of(call: CustomCall, value: Any) -> TensorSpec:
    return TensorSpec(tuple(value.shape), str(call.jax.numpy.result_type(value)))


def _derive_outputs(
    call: CustomCall, signature: Signature, inputs: Mapping[str, TensorSpec]
) -> None:
    try:
        call.outputs = [
            call.jax.ShapeDtypeStruct(shape, call.jax.numpy.dtype(dtype))
            for shape, dtype in outputs_of(signature, inputs)
        ]
    except OutputError as error:
        raise ValueError(f"{call.where}: {error}; {signature}") from None

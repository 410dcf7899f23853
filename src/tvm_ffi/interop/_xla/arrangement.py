# SPDX-License-Identifier: Apache-2.0
"""One call of a function in a program of JAX: which arguments are buffers, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...signature import Parameter, Signature, TensorType
from ...signature._outputs import OutputError, TensorSpec, outputs_of
from .._without_outputs import bind_without_outputs, is_output, require_outputs
from .call import OPERAND, OUTPUT, Buffer
from .element_types import is_known

__all__ = ["Arranged", "arrange_by_position", "arrange_by_signature"]


class Arranged:
    """A call: its buffers, its values, and what its outputs look like.

    Parameters
    ----------
    jax : module
        JAX.
    where : str
        What errors begin with.
    """

    def __init__(self, jax: Any, where: str) -> None:
        self.jax, self.where = jax, where
        self.operands: list[Any] = []
        self.arguments: list[tuple[str, Any]] = []  # values, and `Buffer` for arrays
        self.outputs: list[Any] = []
        self.num_outputs = 0
        self.aliases: dict[int, int] = {}  # operand -> output with the same memory
        self.is_sequence = False

    def add(self, name: str, value: Any) -> None:
        """Add an argument that is a value."""
        self.arguments.append((name, value))

    def add_operand(self, name: str, value: Any) -> None:
        """Add an array that the function reads."""
        self._check_dtype(f"argument {_shown(name)}", value.dtype)
        self.arguments.append((name, Buffer(OPERAND, len(self.operands))))
        self.operands.append(value)

    def add_output(self, name: str) -> None:
        """Add an array that the function writes."""
        self.arguments.append((name, Buffer(OUTPUT, self.num_outputs)))
        self.num_outputs += 1

    def add_updated(self, name: str, value: Any) -> None:
        """Add an array that the function reads and writes, in the memory of an output."""
        self._check_dtype(f"argument {_shown(name)}", value.dtype)
        self.aliases[len(self.operands)] = self.num_outputs
        self.operands.append(value)
        self.add_output(name)

    def is_array(self, value: Any) -> bool:
        """Whether JAX has this as an array, or as the name of one in a program."""
        return isinstance(value, self.jax.Array)

    def set_outputs(self, out: Any) -> None:
        """Say what the outputs look like."""
        self.is_sequence = isinstance(out, Sequence)
        self.outputs = list(out) if self.is_sequence else [out]
        for output in self.outputs:
            if not (hasattr(output, "shape") and hasattr(output, "dtype")):
                raise TypeError(
                    f"{self.where}: out= describes arrays by jax.ShapeDtypeStruct, got "
                    f"{type(output).__name__}"
                )
        for place, output in enumerate(self.outputs):
            self._check_dtype(f"output {place}", output.dtype)

    def _check_dtype(self, what: str, dtype: Any) -> None:
        """Refuse what JAX would take apart, or knows no buffers of."""
        if is_known(dtype):
            return
        hint = ""
        if self.jax.dtypes.issubdtype(dtype, self.jax.dtypes.prng_key):
            hint = "; jax.random.key_data returns the numbers of a key"
        raise TypeError(f"{self.where}: {what} has dtype {dtype}, which no tensor has{hint}")


def _shown(name: str) -> str:
    """Return how errors call an argument: by name, or by its place where it has none."""
    place = name.removeprefix("_")
    return f"#{place}" if place.isdigit() else f"'{name}'"


def arrange_by_position(
    call: Arranged, args: tuple[Any, ...], attributes: Mapping[str, Any], out: Any
) -> None:
    """Arrange a call of a function that nobody has described: inputs, outputs, then the rest."""
    require_outputs(call.where, out)
    call.set_outputs(out)
    for place, value in enumerate(args):
        if call.is_array(value) or isinstance(value, np.ndarray):
            call.add_operand(f"_{place}", value)
        else:
            call.add(f"_{place}", value)
    for index in range(len(call.outputs)):
        call.add_output(f"_out{index}")
    for name, value in attributes.items():
        if call.is_array(value):
            call.add_operand(name, value)
        else:
            call.add(name, value)


def arrange_by_signature(
    call: Arranged,
    signature: Signature,
    args: tuple[Any, ...],
    attributes: Mapping[str, Any],
    out: Any,
) -> None:
    """Arrange a call of a function whose parameters are known."""
    given = bind_without_outputs(call.where, signature, args, attributes)
    inputs: dict[str, TensorSpec] = {}
    for parameter in signature.parameters:
        if is_output(parameter):
            call.add_output(parameter.name)
        elif parameter.kind == "variadic":
            for place, value in enumerate(given[parameter.name]):
                _add(call, f"{parameter.name}_{place}", parameter, value)
        else:
            value = given[parameter.name]
            _add(call, parameter.name, parameter, value)
            if isinstance(parameter.type, TensorType) and value is not None:
                inputs[parameter.name] = _described(call, value)
    call.num_outputs += sum(isinstance(result.type, TensorType) for result in signature.results)
    if out is None:
        _derive_outputs(call, signature, inputs)
        return
    call.set_outputs(out)
    if len(call.outputs) != call.num_outputs:
        raise ValueError(
            f"{call.where}: out= describes {len(call.outputs)} arrays, the function has "
            f"{call.num_outputs}: {signature}"
        )


def _add(call: Arranged, name: str, parameter: Parameter, value: Any) -> None:
    is_array = call.is_array(value) or isinstance(value, np.ndarray)
    if isinstance(parameter.type, TensorType):
        if value is None and parameter.type.is_optional:
            call.add(name, None)
        elif not is_array:
            raise TypeError(
                f"{call.where}: argument '{name}' must be an array, got {type(value).__name__}"
            )
        elif parameter.direction == "inout":
            call.add_updated(name, value)
        else:
            call.add_operand(name, value)
    elif isinstance(value, call.jax.core.Tracer):
        raise TypeError(
            f"{call.where}: '{name}' is a value of the program, not an array: it has to be known "
            "when the program is made (jax.jit has static_argnames for that)"
        )
    elif call.is_array(value):
        if value.size != 1:
            raise TypeError(
                f"{call.where}: argument '{name}' must be a value, got an array "
                f"{value.dtype}{list(value.shape)}"
            )
        call.add(name, value.item())
    else:
        call.add(name, value)


def _described(call: Arranged, value: Any) -> TensorSpec:
    return TensorSpec(tuple(value.shape), str(call.jax.numpy.result_type(value)))


def _derive_outputs(call: Arranged, signature: Signature, inputs: Mapping[str, TensorSpec]) -> None:
    try:
        call.outputs = [
            call.jax.ShapeDtypeStruct(shape, call.jax.numpy.dtype(dtype))
            for shape, dtype in outputs_of(signature, inputs)
        ]
    except OutputError as error:
        raise ValueError(f"{call.where}: {error}; {signature}") from None

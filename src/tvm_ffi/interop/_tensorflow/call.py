# SPDX-License-Identifier: Apache-2.0
"""One call of a function in a graph of TensorFlow: what goes in and what comes out.

The other half is ``op.cc``, which reads what is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...serialization import to_json_graph_str
from ...signature import Signature, TensorType
from ...signature._outputs import OutputError, TensorSpec, outputs_of
from ...signature._parameter import Parameter
from .._destination_passing import bind_without_outputs, is_output, require_outputs
from .extent import shape_of, shape_tensor

__all__ = ["Arranged", "arrange_by_position", "arrange_by_signature"]

# Where an argument comes from; a code is 4 * index + source.  ORDER tensorflow-source
_INPUT, _OUTPUT, _SCALAR, _VALUE = range(4)
_NEW_BUFFER = -1

# ORDER tensorflow-dtype: as in op.cc.
_DTYPES = frozenset([
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn",
])  # fmt: skip
_PLAIN = frozenset([type(None), bool, int, float, str])
_REMEDIES = {
    "RaggedTensor": ": pass value.to_tensor()",
    "SparseTensor": ": pass tf.sparse.to_dense(value)",
}
_SCALAR_DTYPES = frozenset(["bool", "int32", "int64", "float32", "float64"])


class _Output(NamedTuple):
    """A tensor that comes out: its dtype, and its shape unless an input decides it."""

    dtype: Any
    shape: Any  # a tensor of extents
    updated: int = _NEW_BUFFER  # the input that it takes the place of


class Arranged:
    """A call, as the operator has it.

    Parameters
    ----------
    tensorflow : module
        TensorFlow.
    where : str
        What errors begin with.
    """

    def __init__(self, tensorflow: Any, where: str) -> None:
        self.tensorflow, self.where = tensorflow, where
        self.inputs: list[Any] = []
        self.outputs: list[_Output] = []
        self.num_buffers = 0
        self.variables: dict[int, Any] = {}  # by the output that is assigned to them
        self.is_sequence = False
        self._arguments: list[int] = []
        self._values: list[Any] = []

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the node.

        Raises
        ------
        TypeError
            If a value cannot be part of a graph.
        """
        return {
            "Tout": [output.dtype for output in self.outputs],
            "arguments": self._arguments,
            "updated": [output.updated for output in self.outputs],
            "num_buffers": self.num_buffers,
            "values": to_json_graph_str(self._values),
        }

    def shapes(self) -> list[Any]:
        """Return the shapes of the outputs that take the place of no input."""
        return [output.shape for output in self.outputs if output.updated == _NEW_BUFFER]

    # ---- arguments ---------------------------------------------------------------------------

    def add_value(self, name: str, value: Any) -> None:
        """Add an argument that is part of the graph."""
        if self.is_tensor(value):
            self._add_scalar(name, value)
            return
        if isinstance(value, np.generic):
            value = value.item()
        try:
            if type(value) not in _PLAIN:
                to_json_graph_str([value])
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(
                f"{self.where}: argument '{name}': a {type(value).__name__} cannot be part of a "
                f"graph: {error}"
            ) from error
        self._add_code(_VALUE, len(self._values))
        self._values.append(value)

    def _add_scalar(self, name: str, value: Any) -> None:
        """Add a number that the graph computes."""
        tensor = self._converted(name, value)
        if tensor.dtype.name not in _SCALAR_DTYPES or tensor.shape.rank not in (0, None):
            raise TypeError(
                f"{self.where}: argument '{name}' is a value: a tensor in its place must be a "
                f"scalar of {', '.join(sorted(_SCALAR_DTYPES))}, got {tensor.dtype.name}"
                f"{tensor.shape}"
            )
        self._add_code(_SCALAR, len(self.inputs))
        self.inputs.append(tensor)

    def add_input(self, name: str, value: Any) -> Any:
        """Add a tensor that the function reads."""
        tensor = self._converted(name, value)
        self._add_code(_INPUT, len(self.inputs))
        self.inputs.append(tensor)
        return tensor

    def add_output(self, output: _Output) -> None:
        """Add a tensor that the function writes."""
        self._add_code(_OUTPUT, self.num_buffers)
        self.outputs.append(output)
        self.num_buffers += 1

    def add_updated(self, name: str, value: Any) -> Any:
        """Add a tensor that the function reads and writes: an output that begins as an input."""
        tensor = self._converted(name, value)
        if isinstance(value, self.tensorflow.Variable):
            self.variables[self.num_buffers] = value
        self.add_output(_Output(tensor.dtype, None, len(self.inputs)))
        self.inputs.append(tensor)
        return tensor

    def _add_code(self, source: int, index: int) -> None:
        self._arguments.append(4 * index + source)

    def is_tensor(self, value: Any) -> bool:
        """Whether a value is a tensor of the graph."""
        # Not `tf.is_tensor`, which takes long to see that a number is none.
        return isinstance(value, (self.tensorflow.Tensor, self.tensorflow.Variable))

    def _converted(self, name: str, value: Any) -> Any:
        if not self.is_tensor(value) and not isinstance(value, (np.ndarray, np.generic)):
            remedy = _REMEDIES.get(type(value).__name__, "")
            raise TypeError(
                f"{self.where}: argument '{name}' must be a tensor, got {type(value).__name__}"
                f"{remedy}"
            )
        tensor = self.tensorflow.convert_to_tensor(value)
        if tensor.dtype.name not in _DTYPES:
            raise TypeError(
                f"{self.where}: argument '{name}': tensors of dtype {tensor.dtype.name} have no "
                "DLPack form"
            )
        return tensor

    # ---- outputs -----------------------------------------------------------------------------

    def described(self, out: Any) -> list[_Output]:
        """Return what `out` says: a description, or several."""
        self.is_sequence = isinstance(out, (list, tuple)) and not _is_pair(out)
        return [self._output(each) for each in (out if self.is_sequence else [out])]

    def _output(self, out: Any) -> _Output:
        if _is_pair(out):
            shape, dtype = out
        elif hasattr(out, "shape") and hasattr(out, "dtype"):
            shape, dtype = out.shape, out.dtype
        else:
            raise TypeError(
                f"{self.where}: out= describes tensors by tf.TensorSpec or (shape, dtype), got "
                f"{type(out).__name__}"
            )
        dtype = self.tensorflow.as_dtype(dtype)
        if dtype.name not in _DTYPES:
            raise TypeError(f"{self.where}: tensors of dtype {dtype.name} have no DLPack form")
        if isinstance(shape, self.tensorflow.TensorShape):
            if not shape.is_fully_defined():
                raise ValueError(
                    f"{self.where}: out= has the shape {shape}; what is known when the graph runs "
                    "is given as a tensor, in a pair (shape, dtype)"
                )
            shape = shape.as_list()
        return _Output(dtype, shape_tensor(self.tensorflow, shape))


def _is_pair(out: Any) -> bool:
    """Whether it is a shape and a dtype."""
    return isinstance(out, tuple) and len(out) == 2 and not hasattr(out[1], "shape")


def arrange_by_position(
    call: Arranged, args: tuple[Any, ...], attributes: Mapping[str, Any], out: Any
) -> None:
    """Arrange a call of a function that nobody has described: inputs, outputs, then the rest."""
    require_outputs(call.where, out)
    for place, value in enumerate(args):
        if call.is_tensor(value) or isinstance(value, np.ndarray):
            call.add_input(f"#{place}", value)
        else:
            call.add_value(f"#{place}", value)
    for output in call.described(out):
        call.add_output(output)
    for name, value in attributes.items():
        if call.is_tensor(value) or isinstance(value, np.ndarray):
            call.add_input(name, value)
        else:
            call.add_value(name, value)


# ---- with a signature --------------------------------------------------------------------------


def arrange_by_signature(
    call: Arranged,
    signature: Signature,
    args: tuple[Any, ...],
    attributes: Mapping[str, Any],
    out: Any,
) -> None:
    """Arrange a call of a function whose parameters are known."""
    given = bind_without_outputs(call.where, signature, args, attributes)
    described = None if out is None else call.described(out)
    inputs: dict[str, Any] = {}
    for parameter in signature.parameters:
        if is_output(parameter):
            call.add_output(_Output(None, None))  # described below, when all inputs are known
        elif parameter.kind == "variadic":
            for place, value in enumerate(given[parameter.name]):
                _add(call, f"{parameter.name}[{place}]", parameter, value)
        else:
            tensor = _add(call, parameter.name, parameter, given[parameter.name])
            if tensor is not None:
                inputs[parameter.name] = tensor
    _add_results(call, signature)
    new = [place for place, output in enumerate(call.outputs) if output.updated == _NEW_BUFFER]
    if described is None:
        described = _derived(call, signature, inputs)
    if len(described) != len(new):
        raise ValueError(
            f"{call.where}: out= describes {len(described)} tensors, the function has {len(new)}: "
            f"{signature}"
        )
    for place, output in zip(new, described):
        call.outputs[place] = output


def _add(call: Arranged, name: str, parameter: Parameter, value: Any) -> Any:
    """Add an argument; returns the tensor that it is, if any."""
    if not isinstance(parameter.type, TensorType) or value is None:
        call.add_value(name, value)
        return None
    if parameter.direction == "inout":
        return call.add_updated(name, value)
    return call.add_input(name, value)


def _add_results(call: Arranged, signature: Signature) -> None:
    tensors = [result for result in signature.results if isinstance(result.type, TensorType)]
    if tensors and len(tensors) != len(signature.results):
        raise TypeError(
            f"{call.where}: functions that return tensors and other values have no form in a "
            f"graph: {signature}"
        )
    call.outputs += [_Output(None, None)] * len(tensors)


def _derived(call: Arranged, signature: Signature, inputs: Mapping[str, Any]) -> list[_Output]:
    """Return the outputs, without those that take the place of an input."""
    try:
        known = {name: _describe(call, name, tensor) for name, tensor in inputs.items()}
        outputs = list(outputs_of(signature, known)) if _has_new_outputs(call) else []
    except OutputError as error:
        raise ValueError(f"{call.where}: {error}; {signature}") from None
    return [
        _Output(call.tensorflow.as_dtype(each.dtype), shape_tensor(call.tensorflow, each.shape))
        for each, place in zip(outputs, call.outputs)
        if place.updated == _NEW_BUFFER
    ]


def _has_new_outputs(call: Arranged) -> bool:
    return any(output.updated == _NEW_BUFFER for output in call.outputs)


def _describe(call: Arranged, name: str, tensor: Any) -> TensorSpec:
    try:
        return TensorSpec(shape_of(call.tensorflow, tensor), tensor.dtype.name)
    except ValueError as error:
        if not _has_new_outputs(call):
            return TensorSpec((), tensor.dtype.name)  # nothing is derived from it
        raise OutputError(f"argument '{name}' {error}") from None

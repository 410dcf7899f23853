# SPDX-License-Identifier: Apache-2.0
"""The inputs, outputs and attributes of one function call in a TensorFlow graph.

The operator in ``op.cc`` reads these attributes when the graph runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...serialization import to_json_graph_str
from ...signature import Signature, TensorType
from ...signature._outputs import OutputError, TensorSpec, outputs_of
from ...signature._parameter import Parameter
from .._destination_passing import bind_inputs, is_output, require_out
from .extent import shape_of, shape_tensor

__all__ = ["NodeCall", "add_arguments_by_position", "add_arguments_by_signature"]

# Sources of arguments.  The node stores 4 * index + source per argument.  ORDER tensorflow-source
_INPUT, _OUTPUT, _SCALAR, _VALUE = range(4)
_NEW_BUFFER = -1

# Names of the supported dtypes.  ORDER tensorflow-dtype: same order as in op.cc.
_DTYPES = frozenset([
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn",
])  # fmt: skip
_JSON_TYPES = frozenset([type(None), bool, int, float, str])
_REMEDIES = {
    "RaggedTensor": ": pass value.to_tensor()",
    "SparseTensor": ": pass tf.sparse.to_dense(value)",
}
_SCALAR_DTYPES = frozenset(["bool", "int32", "int64", "float32", "float64"])


class _OutputSpec(NamedTuple):
    """The dtype of an output tensor, and the output's shape unless it updates an input."""

    dtype: Any
    shape: Any  # extents, an int64 tensor; None if the output updates an input
    updated: int = _NEW_BUFFER  # index of the input that the output updates, if any


class NodeCall:
    """A graph node under construction: its inputs, outputs and attributes.

    Parameters
    ----------
    tensorflow : module
        The ``tensorflow`` module.
    where : str
        Name of the call; error messages begin with it.
    """

    def __init__(self, tensorflow: Any, where: str) -> None:
        self.tensorflow, self.where = tensorflow, where
        self.inputs: list[Any] = []
        self.outputs: list[_OutputSpec] = []
        self.num_buffers = 0
        # The `tf.Variable` to which an output is assigned, by the index of the output.
        self.variables: dict[int, Any] = {}
        self.is_sequence = False
        self._arguments: list[int] = []
        self._values: list[Any] = []

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the node.

        Raises
        ------
        TypeError
            If a value cannot be stored in a graph as a constant.
        """
        return {
            "Tout": [output.dtype for output in self.outputs],
            "arguments": self._arguments,
            "updated": [output.updated for output in self.outputs],
            "num_buffers": self.num_buffers,
            "values": to_json_graph_str(self._values),
        }

    def shapes(self) -> list[Any]:
        """Return the shapes of the outputs that are not ``inout`` parameters."""
        return [output.shape for output in self.outputs if output.updated == _NEW_BUFFER]

    # ---- arguments of the function -----------------------------------------------------------

    def add_value(self, name: str, value: Any) -> None:
        """Add an argument that is not an array: a constant of the graph, or a scalar tensor."""
        if self.is_tensor(value):
            self._add_scalar(name, value)
            return
        if isinstance(value, np.generic):
            value = value.item()
        try:
            if type(value) not in _JSON_TYPES:
                to_json_graph_str([value])
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(
                f"{self.where}: argument '{name}': a {type(value).__name__} cannot be a constant "
                f"of a graph: {error}"
            ) from error
        self._add_code(_VALUE, len(self._values))
        self._values.append(value)

    def _add_scalar(self, name: str, value: Any) -> None:
        """Add a scalar tensor for a parameter that is a number."""
        tensor = self._converted(name, value)
        if tensor.dtype.name not in _SCALAR_DTYPES or tensor.shape.rank not in (0, None):
            raise TypeError(
                f"{self.where}: argument '{name}': expected a value or a scalar tensor of dtype "
                f"{', '.join(sorted(_SCALAR_DTYPES))}, got {tensor.dtype.name}{tensor.shape}"
            )
        self._add_code(_SCALAR, len(self.inputs))
        self.inputs.append(tensor)

    def add_input(self, name: str, value: Any) -> Any:
        """Add a tensor argument that the function reads."""
        tensor = self._converted(name, value)
        self._add_code(_INPUT, len(self.inputs))
        self.inputs.append(tensor)
        return tensor

    def add_output(self, output: _OutputSpec) -> None:
        """Add a tensor argument that the function writes."""
        self._add_code(_OUTPUT, self.num_buffers)
        self.outputs.append(output)
        self.num_buffers += 1

    def add_inout(self, name: str, value: Any) -> Any:
        """Add a tensor that the function reads and writes: an output with the input's contents."""
        tensor = self._converted(name, value)
        if isinstance(value, self.tensorflow.Variable):
            self.variables[self.num_buffers] = value
        self.add_output(_OutputSpec(tensor.dtype, None, len(self.inputs)))
        self.inputs.append(tensor)
        return tensor

    def _add_code(self, source: int, index: int) -> None:
        self._arguments.append(4 * index + source)

    def is_tensor(self, value: Any) -> bool:
        """Return True for a TensorFlow tensor or variable."""
        # Not `tf.is_tensor`, which is slow for values that are not tensors.
        return isinstance(value, (self.tensorflow.Tensor, self.tensorflow.Variable))

    def _converted(self, name: str, value: Any) -> Any:
        if not self.is_tensor(value) and not isinstance(value, (np.ndarray, np.generic)):
            remedy = _REMEDIES.get(type(value).__name__, "")
            raise TypeError(
                f"{self.where}: argument '{name}': expected a tensor, got {type(value).__name__}"
                f"{remedy}"
            )
        tensor = self.tensorflow.convert_to_tensor(value)
        if tensor.dtype.name not in _DTYPES:
            raise TypeError(
                f"{self.where}: argument '{name}': tensors of dtype {tensor.dtype.name} have no "
                "DLPack form"
            )
        return tensor

    # ---- outputs of the node -----------------------------------------------------------------

    def output_specs(self, out: Any) -> list[_OutputSpec]:
        """Return the dtypes and shapes of the outputs that the caller's `out` describes."""
        self.is_sequence = isinstance(out, (list, tuple)) and not _is_pair(out)
        return [self._output(spec) for spec in (out if self.is_sequence else [out])]

    def _output(self, out: Any) -> _OutputSpec:
        if _is_pair(out):
            shape, dtype = out
        elif hasattr(out, "shape") and hasattr(out, "dtype"):
            shape, dtype = out.shape, out.dtype
        else:
            raise TypeError(
                f"{self.where}: out=: expected tf.TensorSpec or (shape, dtype), got "
                f"{type(out).__name__}"
            )
        dtype = self.tensorflow.as_dtype(dtype)
        if dtype.name not in _DTYPES:
            raise TypeError(
                f"{self.where}: out=: tensors of dtype {dtype.name} have no DLPack form"
            )
        if isinstance(shape, self.tensorflow.TensorShape):
            if not shape.is_fully_defined():
                raise ValueError(
                    f"{self.where}: out=: expected known extents, got shape {shape}; pass a pair "
                    "(shape, dtype) with a tensor for the extents that are computed in the graph"
                )
            shape = shape.as_list()
        return _OutputSpec(dtype, shape_tensor(self.tensorflow, shape))


def _is_pair(out: Any) -> bool:
    """Return True for a pair of a shape and a dtype."""
    return isinstance(out, tuple) and len(out) == 2 and not hasattr(out[1], "shape")


def add_arguments_by_position(
    call: NodeCall, args: tuple[Any, ...], attributes: Mapping[str, Any], out: Any
) -> None:
    """Add the arguments for a function without a signature: `args`, outputs, then `attributes`."""
    require_out(call.where, out)
    for index, value in enumerate(args):
        if call.is_tensor(value) or isinstance(value, np.ndarray):
            call.add_input(f"#{index}", value)
        else:
            call.add_value(f"#{index}", value)
    for output in call.output_specs(out):
        call.add_output(output)
    for name, value in attributes.items():
        if call.is_tensor(value) or isinstance(value, np.ndarray):
            call.add_input(name, value)
        else:
            call.add_value(name, value)


# ---- functions with a signature ----------------------------------------------------------------


def add_arguments_by_signature(
    call: NodeCall,
    signature: Signature,
    args: tuple[Any, ...],
    attributes: Mapping[str, Any],
    out: Any,
) -> None:
    """Add the arguments for a function with a signature, in the order of its parameters."""
    bound = bind_inputs(call.where, signature, args, attributes)
    output_specs = None if out is None else call.output_specs(out)
    inputs: dict[str, Any] = {}
    for parameter in signature.parameters:
        if is_output(parameter):
            # This placeholder is replaced below, when all inputs are known.
            call.add_output(_OutputSpec(None, None))
        elif parameter.kind == "variadic":
            for index, value in enumerate(bound[parameter.name]):
                _add(call, f"{parameter.name}[{index}]", parameter, value)
        else:
            tensor = _add(call, parameter.name, parameter, bound[parameter.name])
            if tensor is not None:
                inputs[parameter.name] = tensor
    _add_results(call, signature)
    new = [index for index, output in enumerate(call.outputs) if output.updated == _NEW_BUFFER]
    if output_specs is None:
        output_specs = _derived_outputs(call, signature, inputs)
    if len(output_specs) != len(new):
        raise ValueError(
            f"{call.where}: out=: expected {len(new)} outputs, got {len(output_specs)}: {signature}"
        )
    for index, output in zip(new, output_specs):
        call.outputs[index] = output


def _add(call: NodeCall, name: str, parameter: Parameter, value: Any) -> Any:
    """Add one argument; return its tensor, or None for a number, string or None."""
    if not isinstance(parameter.type, TensorType) or value is None:
        call.add_value(name, value)
        return None
    if parameter.direction == "inout":
        return call.add_inout(name, value)
    return call.add_input(name, value)


def _add_results(call: NodeCall, signature: Signature) -> None:
    tensors = [result for result in signature.results if isinstance(result.type, TensorType)]
    if tensors and len(tensors) != len(signature.results):
        raise TypeError(
            f"{call.where}: expected a function whose results are all tensors, got results of "
            f"several kinds: {signature}"
        )
    call.outputs += [_OutputSpec(None, None)] * len(tensors)


def _derived_outputs(
    call: NodeCall, signature: Signature, inputs: Mapping[str, Any]
) -> list[_OutputSpec]:
    """Return the specs of new outputs, with shapes that the signature computes from inputs."""
    try:
        input_specs = {name: _spec_of(call, name, tensor) for name, tensor in inputs.items()}
        specs = list(outputs_of(signature, input_specs)) if _has_new_outputs(call) else []
    except OutputError as error:
        raise ValueError(f"{call.where}: {error}; {signature}") from None
    return [
        _OutputSpec(call.tensorflow.as_dtype(spec.dtype), shape_tensor(call.tensorflow, spec.shape))
        for spec, output in zip(specs, call.outputs)
        if output.updated == _NEW_BUFFER
    ]


def _has_new_outputs(call: NodeCall) -> bool:
    return any(output.updated == _NEW_BUFFER for output in call.outputs)


def _spec_of(call: NodeCall, name: str, tensor: Any) -> TensorSpec:
    try:
        return TensorSpec(shape_of(call.tensorflow, tensor), tensor.dtype.name)
    except ValueError as error:
        if not _has_new_outputs(call):
            return TensorSpec((), tensor.dtype.name)  # No output shape depends on this input.
        raise OutputError(f"argument '{name}' {error}") from None

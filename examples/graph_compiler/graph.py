# SPDX-License-Identifier: Apache-2.0
"""Graph whose nodes call TVM FFI functions, with an executor and a compiler to C.

A function writes its output to its last argument, a tensor that the graph allocates.  `Graph.run`
calls the functions of a module.  `Graph.wrapper` and `Graph.source` generate C code that calls the
functions by their symbols.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

import tvm_ffi
from tvm_ffi import codegen, dtype
from tvm_ffi.signature import Signature, TensorType, evaluate


@dataclass(frozen=True)
class Value:
    """A tensor of the graph: an input or the output of a call."""

    name: str
    type: TensorType


Argument = Union[Value, int, float]


@dataclass(frozen=True)
class Call:
    """A node: ``function(*arguments, output)``."""

    function: str
    arguments: tuple[Argument, ...]
    output: Value


@dataclass
class Graph:
    """Calls in the order in which they run.

    Parameters
    ----------
    name : str
        Name of the compiled function.
    inputs : list of str
        Parameters, such as ``"x: float32[n, 16]"``; extents are numbers, names or expressions.
    """

    name: str
    inputs: list[str]
    calls: list[Call] = field(default_factory=list)
    result: Value | None = None

    def __getitem__(self, name: str) -> Value:
        """Return the input with this name."""
        for parameter in Signature.parse(f"{self.name}({', '.join(self.inputs)})").parameters:
            if parameter.name == name and isinstance(parameter.type, TensorType):
                return Value(name, parameter.type)
        raise KeyError(name)

    def call_tvm_ffi(
        self, function: str, *arguments: Argument, out: str, name: str | None = None
    ) -> Value:
        """Add a call of a function; return its output, a tensor of type `out`."""
        name = name or f"v{len(self.calls)}"
        # The inputs come first, because they bind the extent names in the shape of the output.
        parameters = [*self.inputs, f"{name}: {out}"]
        parameter = Signature.parse(f"{function}({', '.join(parameters)})").parameters[-1]
        if not isinstance(parameter.type, TensorType) or parameter.type.shape is None:
            raise TypeError(f"{function}: out must be a tensor with a shape, got {out!r}")
        self.result = Value(name, parameter.type)
        self.calls.append(Call(function, arguments, self.result))
        return self.result

    @property
    def signature(self) -> Signature:
        """Signature of the compiled function: the inputs, then the output of the last call."""
        if self.result is None:
            raise ValueError(f"graph {self.name} has no calls")
        output = f"{self.result.name}: out {_text(self.result.type)}"
        return Signature.parse(f"{self.name}({', '.join([*self.inputs, output])})")

    # ---- Executor --------------------------------------------------------------------------------

    def prepare(
        self, module: Any, *inputs: np.ndarray[Any, Any]
    ) -> tuple[tvm_ffi.Sequence, np.ndarray[Any, Any]]:
        """Prepare the calls of a module's functions for these arrays; return the last output, too.

        Each run of the sequence computes the output of the current values in the arrays.
        """
        names = [parameter.name for parameter in self.signature.parameters]
        tensors: dict[str, np.ndarray[Any, Any]] = dict(zip(names, inputs))
        extents = self._extents(tensors)
        calls = []
        for call in self.calls:
            shape = [evaluate(extent, extents) for extent in call.output.type.shape or ()]
            tensors[call.output.name] = np.empty(shape, str(call.output.type.dtype))
            arguments = [
                _value_of(tensors, argument) for argument in (*call.arguments, call.output)
            ]
            calls.append(module[call.function].prepare(*arguments))
        return tvm_ffi.Sequence(calls), tensors[names[-1]]

    def run(self, module: Any, *inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Call the functions of a module in order and return the last output."""
        calls, output = self.prepare(module, *inputs)
        calls()
        return output

    def _extents(self, tensors: dict[str, np.ndarray[Any, Any]]) -> dict[str, int]:
        """Return the value of each extent name, according to the shapes of the inputs."""
        known: dict[str, int] = {}
        for parameter in self.signature.parameters[:-1]:
            if isinstance(parameter.type, TensorType):
                extents = zip(parameter.type.shape or (), tensors[parameter.name].shape)
                known.update((name, extent) for name, extent in extents if isinstance(name, str))
        return known

    # ---- Compiler to C ---------------------------------------------------------------------------

    def wrapper(self) -> codegen.Wrapper:
        """Return the exported function: it checks arguments and calls the function in `source`."""
        tensors = [f"{parameter.name}.tensor" for parameter in self.signature.parameters]
        arguments = [*tensors, *self._symbolic_extents()]
        return codegen.make_wrapper(
            self.signature, f"{self.name}_graph", arguments=arguments, returns="error"
        )

    def source(self) -> str:
        """Return the source of a C function that runs all calls of the graph."""
        owned = self._owned()
        parameters = [f"DLTensor* {parameter.name}" for parameter in self.signature.parameters]
        parameters += [f"int64_t e{i}" for i in range(len(self._symbolic_extents()))]
        lines = ['#include "graph.h"', ""]
        lines += [_PROTOTYPE.format(name) for name in dict.fromkeys(c.function for c in self.calls)]
        lines += ["", f"int {self.name}_graph({', '.join(parameters)}) {{"]
        lines += [f"  TVMFFIObjectHandle {value.name} = NULL;" for value in owned]
        lines += ["  int code = 0;"]
        for i, call in enumerate(self.calls):
            lines += [f"  {step}" for step in self._steps(i, call)]
        lines += ["done:"] if len(self.calls) > 1 else []
        lines += [f"  graph_release(&{value.name});" for value in owned]
        return "\n".join([*lines, "  return code;", "}", ""])

    def _steps(self, index: int, call: Call) -> list[str]:
        """Return the C statements of a call: allocate the output, call, release unused tensors."""
        steps = []
        if call is not self.calls[-1]:
            steps.append(f"if ((code = {self._allocation(call.output)}) != 0) goto done;")
        arguments = ", ".join(map(self._packed, (*call.arguments, call.output)))
        count = len(call.arguments) + 1
        steps.append(
            f"code = graph_call(&__tvm_ffi_{call.function}, (TVMFFIAny[]){{{arguments}}}, {count});"
        )
        if call is self.calls[-1]:
            return steps
        later = {arg for other in self.calls[index + 1 :] for arg in other.arguments}
        done = [value for value in self._owned() if value in call.arguments and value not in later]
        return [*steps, "if (code != 0) goto done;", *(f"graph_release(&{v.name});" for v in done)]

    def _owned(self) -> list[Value]:
        """Return the tensors that the graph allocates: all outputs except the last one."""
        return [call.output for call in self.calls[:-1]]

    def _allocation(self, value: Value) -> str:
        extents = [str(extent) for extent in value.type.shape or ()]
        symbolic = self._symbolic_extents()
        texts = [f"e{symbolic.index(e)}" if e in symbolic else e for e in extents]
        shape = f"(int64_t[]){{{', '.join(texts) or '0'}}}"
        kind = dtype(str(value.type.dtype))
        element = f"(DLDataType){{{kind.type_code}, {kind.bits}, {kind.lanes}}}"
        return f"graph_allocate({element}, {len(extents)}, {shape}, &{value.name})"

    def _packed(self, argument: Argument) -> str:
        if isinstance(argument, Value):
            kind = "tensor" if argument in self._owned() else "borrowed"
            return f"graph_{kind}({argument.name})"
        return f"graph_{'float' if isinstance(argument, float) else 'int'}({argument!r})"

    def _symbolic_extents(self) -> list[str]:
        """Return the extents of allocated tensors that are not constants, without duplicates."""
        shapes = [call.output.type.shape or () for call in self.calls[:-1]]
        texts = (str(extent) for shape in shapes for extent in shape)
        return [text for text in dict.fromkeys(texts) if not text.isdigit()]


_PROTOTYPE = "int __tvm_ffi_{}(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);"


def _value_of(tensors: dict[str, Any], argument: Argument) -> Any:
    return tensors[argument.name] if isinstance(argument, Value) else argument


def _text(type_: TensorType) -> str:
    return f"{type_.dtype}[{', '.join(map(str, type_.shape or ()))}]"

# SPDX-License-Identifier: Apache-2.0
"""A kernel as a module: what Numba has compiled, the wrapper, and what stands between them.

The wrapper calls a function of C with the address, the extents and the strides of each tensor.
That makes arrays of Numba of them, in the frame of the call, and raises what the kernel reports.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable

from llvmlite import ir

from ...codegen import Wrapper, make_wrapper
from ...codegen.llvm import JitModule, emit_wrapper, jit
from ...codegen.llvm._call import type_of_callee
from ...codegen.llvm._code import DOUBLE, FLOAT, I8, I32, I64, PTR, Code, Local, null
from ...codegen.llvm._target import parameter_types
from ...signature import Parameter, Result, Signature, TensorType
from ._compile import Compiled, Options, compile_kernel
from ._types import array_type, number_type, shown, types

__all__ = ["check_function", "module_of_kernel"]

_OPTIMIZATION = 3
_TYPES = {
    "double": DOUBLE,
    "float": FLOAT,
    "ptr": PTR,
    **{f"i{bits}": ir.IntType(bits) for bits in (1, 8, 16, 32, 64)},
}
_SUSPENDED = {
    "a coroutine": inspect.iscoroutinefunction,
    "a generator": inspect.isgeneratorfunction,
    "an asynchronous generator": inspect.isasyncgenfunction,
}
_ROOM_OF_RESULT = 2  # numbers of 64 bits; the largest result is a complex number


def module_of_kernel(
    function: Callable[..., Any], signature: Signature, options: Options
) -> JitModule:
    """Return the module with a function of the ABI that calls a Python function, compiled."""
    _check_parameters(function, signature)
    wrapper = _wrapper(signature)
    module = ir.Module(signature.name)
    texts = []
    for choice, callee in wrapper.callees.items():
        dtypes = dict(zip(signature.dtype_variables, choice))
        compiled = _compiled(function, wrapper, dtypes, options)
        texts.append(compiled.text)
        _Bridge(module, wrapper, callee, dtypes, compiled).write()
    emit_wrapper(module, wrapper)
    return jit(module, link=texts, optimization=_OPTIMIZATION)


# ---- function and signature ----------------------------------------------------------------------


def check_function(function: Any) -> None:
    """Raise TypeError for what Numba compiles as something else than what Python would run."""
    if not inspect.isfunction(function):
        raise TypeError(f"expected a function written in Python, got {type(function).__name__}")
    for kind, is_kind in _SUSPENDED.items():
        if is_kind(function):
            raise TypeError(
                f"kernel '{function.__name__}' is {kind}; kernels run to their end when called"
            )


def _check_parameters(function: Callable[..., Any], signature: Signature) -> None:
    """Raise TypeError unless a function has the parameters of a signature."""
    wanted = [parameter.name for parameter in signature.parameters]
    tensors = [one for one in signature.results if isinstance(one.type, TensorType)]
    written = [_with_stars(one) for one in inspect.signature(function).parameters.values()]
    names = [one.name or name for one, name in zip(tensors, written[len(wanted) :])]
    if written != wanted + names or len(names) != len(tensors):
        results = f", and {len(tensors)} for results that are tensors" if tensors else ""
        raise TypeError(
            f"kernel '{function.__name__}' has the parameters ({', '.join(written)}); its "
            f"signature has ({', '.join(wanted)}){results}"
        )


def _with_stars(parameter: inspect.Parameter) -> str:
    """Return the name of a parameter, with its stars."""
    return str(parameter.replace(annotation=parameter.empty, default=parameter.empty))


def _wrapper(signature: Signature) -> Wrapper:
    """Return the wrapper of the function between, which gets all that arrays are made of."""
    holes = "".join(f"_{{{name}}}" for name in signature.dtype_variables)
    names = [one.name or f"result{i}" for i, one in enumerate(signature.results)]
    if len(names) == 1:
        names = [signature.results[0].name or "result"]
    arguments = []
    declared: list[tuple[str, Parameter | Result]] = [(p.name, p) for p in signature.parameters]
    declared += zip(names, signature.results)
    for name, one in declared:
        arguments.append(name)
        type_ = one.type
        if isinstance(type_, TensorType):
            _check_tensor(signature, name, one)
            fields = ["shape", "strides"] if type_.layout == "strided" else ["shape"]
            arguments += [f"{name}.{field}" for field in fields]
        elif number_type(type_) is None:
            raise TypeError(
                f"{signature.name}: '{name}' is {shown(type_)}; kernels of Numba take tensors and "
                "numbers, which may not be None"
            )
    return make_wrapper(
        signature, f"kernel_of_{signature.name}{holes}", arguments=arguments, returns="error"
    )


def _check_tensor(signature: Signature, name: str, one: Parameter | Result) -> None:
    """Raise TypeError for a tensor that Numba cannot take."""
    type_ = one.type
    assert isinstance(type_, TensorType)
    where = f"{signature.name}: '{name}' is {shown(type_)}"
    if type_.is_optional:
        raise TypeError(f"{where}; kernels of Numba take no tensor that may be None")
    if type_.ndim is None:
        raise TypeError(f"{where}; kernels of Numba need the number of dimensions")
    if type_.device not in (None, "cpu", "cpu:0"):
        raise TypeError(f"{where}; kernels of Numba run on the CPU")
    if not isinstance(type_.dtype, str):
        raise TypeError(f"{where}; kernels of Numba need one dtype, or a variable for several")
    for dtype in signature.dtypes_of(type_):
        if array_type(type_, dtype, is_written=True) is None:
            raise TypeError(f"{where}; Numba has no arrays of {dtype}")


def _compiled(
    function: Callable[..., Any], wrapper: Wrapper, dtypes: dict[str, str], options: Options
) -> Compiled:
    """Compile the function for one choice of dtypes."""
    arguments = []
    for parameter in wrapper.signature.parameters:
        arguments.append(_type_of(parameter, dtypes, is_written=parameter.is_written))
    returned = types.none
    for result in wrapper.signature.results:
        if isinstance(result.type, TensorType):
            arguments.append(_type_of(result, dtypes, is_written=True))
        else:
            returned = number_type(result.type)
    return compile_kernel(function, arguments, returned, options)


def _type_of(one: Parameter | Result, dtypes: dict[str, str], *, is_written: bool) -> Any:
    if isinstance(one.type, TensorType):
        dtype = str(one.type.dtype)
        return array_type(one.type, dtypes.get(dtype, dtype), is_written=is_written)
    return number_type(one.type)


# ---- between wrapper and kernel ------------------------------------------------------------------


class _Bridge:
    """Writes the function between a wrapper and a kernel."""

    def __init__(
        self,
        module: Any,
        wrapper: Wrapper,
        callee: str,
        dtypes: dict[str, str],
        compiled: Compiled,
    ) -> None:
        self._wrapper, self._dtypes = wrapper, dtypes
        type_, _ = type_of_callee(wrapper, callee)
        self._code = Code(ir.Function(module, type_, callee))
        parameters = [_TYPES[one] for one in parameter_types(compiled.text, compiled.symbol)]
        self._kernel = ir.Function(module, ir.FunctionType(I32, parameters), compiled.symbol)

    def write(self) -> None:
        """Write the call, and what raises the exception that it reports."""
        code = self._code
        given = iter(code.function.args)
        room = Local(code, ir.ArrayType(I64, _ROOM_OF_RESULT), None)
        exception = Local(code, PTR, null())
        values = [room.address, exception.address]
        number = None
        signature = self._wrapper.signature
        passed: list[Parameter | Result] = [*signature.parameters, *signature.results]
        for one in passed:
            if isinstance(one.type, TensorType):
                values += self._array(one.type, given)
            elif isinstance(one, Result):
                number = next(given)
            else:
                values.append(next(given))
        wanted = self._kernel.function_type.args
        status = code.call(self._kernel, [self._fitted(*one) for one in zip(values, wanted)])
        with code.if_then(code.icmp_signed("!=", status, I32(0)), likely=False):
            self._raise(exception.value)
        if number is not None:
            (result,) = signature.results
            self._copy(room.address, number, result)
        code.ret(I32(0))

    def _array(self, type_: TensorType, given: Any) -> list[Any]:
        """Return the parts of an array: owners, size, address, shape, strides in bytes."""
        code, ndim = self._code, type_.ndim
        assert ndim is not None
        address, shape = next(given), next(given)
        strides = next(given) if type_.layout == "strided" else None
        dtype = str(type_.dtype)
        array: Any = array_type(type_, self._dtypes.get(dtype, dtype), is_written=True)
        size = I64(_size_of(array.dtype))
        extents = [code.element(I64, shape, axis) for axis in range(ndim)]
        count, steps = I64(1), list[Any]()
        for axis in reversed(range(ndim)):
            step = count if strides is None else code.element(I64, strides, axis)
            steps.insert(0, code.mul(step, size))
            count = code.mul(count, extents[axis])
        return [null(), null(), count, size, address, *extents, *steps]

    def _fitted(self, value: Any, type_: Any) -> Any:
        """Return a value in the width that Numba passes it with."""
        if value.type == type_ or isinstance(type_, ir.PointerType):
            return value
        return self._code.zext(value, type_)

    def _raise(self, exception: Any) -> None:
        """Raise what a kernel has reported, see `_compile`."""
        code = self._code
        with code.if_then(code.icmp_unsigned("==", exception, null())):
            kind = code.string("RuntimeError")
            message = code.string("the kernel failed without saying why")
            code.runtime("TVMFFIErrorSetRaisedFromCStr", kind, message)
            code.ret(I32(1))
        kind = code.load(exception, typ=PTR)
        text = code.element_at(I8, kind, code.element(I32, exception, 2))
        code.runtime("TVMFFIErrorSetRaisedFromCStr", kind, text)
        code.ret(I32(1))

    def _copy(self, room: Any, number: Any, result: Result) -> None:
        """Write the number that a kernel has returned to where the wrapper has room for it."""
        type_ = ir.IntType(8 * _size_of(number_type(result.type)))
        self._code.store(self._code.load(room, typ=type_), number)


def _size_of(type_: Any) -> int:
    """Return the bytes that a number of Numba has in memory."""
    return 1 if type_ is types.boolean else int(type_.bitwidth) // 8

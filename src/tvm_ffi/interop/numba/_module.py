# SPDX-License-Identifier: Apache-2.0
"""A Numba kernel as a JIT module: compiled kernel, generated wrapper, and code between the two.

The generated wrapper calls `_KernelAdapter`'s function with the address, extents and strides of
each tensor.  That function builds Numba's array structs on the stack, calls the kernel, and sets
the pending error if the kernel reports an exception.
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
from ...signature._printing import type_text
from ._compile import Argument, Compiled, Options, compile_kernel
from ._types import array_type, number_type, types

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
_RESULT_SLOTS = 2  # size of the result buffer in 64-bit words; a complex number needs two


def module_of_kernel(
    function: Callable[..., Any], signature: Signature, options: Options
) -> JitModule:
    """Compile a Python function and return a module with one native function that calls it."""
    _check_parameters(function, signature)
    wrapper = _wrapper(signature)
    module = ir.Module(signature.name)
    texts = []
    for choice, callee in wrapper.callees.items():
        dtypes = dict(zip(signature.dtype_variables, choice))
        compiled = _compiled(function, wrapper, dtypes, options)
        texts.append(compiled.text)
        _KernelAdapter(module, wrapper, callee, dtypes, compiled).write()
    emit_wrapper(module, wrapper)
    return jit(module, link=texts, optimization=_OPTIMIZATION)


# ---- checks of function and signature ------------------------------------------------------------


def check_function(function: Any) -> None:
    """Raise TypeError for generators, coroutines and callables not written in Python."""
    if not inspect.isfunction(function):
        raise TypeError(
            f"kernel: expected a function written in Python, got {type(function).__name__}"
        )
    for kind, is_kind in _SUSPENDED.items():
        if is_kind(function):
            raise TypeError(
                f"kernel '{function.__name__}' is {kind}; expected a function that runs to "
                "completion"
            )


def _check_parameters(function: Callable[..., Any], signature: Signature) -> None:
    """Raise TypeError unless a Python function has the parameters of its signature."""
    expected = [parameter.name for parameter in signature.parameters]
    tensors = [result for result in signature.results if isinstance(result.type, TensorType)]
    actual = [
        _starred_name(parameter) for parameter in inspect.signature(function).parameters.values()
    ]
    names = [result.name or name for result, name in zip(tensors, actual[len(expected) :])]
    if actual != expected + names or len(names) != len(tensors):
        results = f", and {len(tensors)} for results that are tensors" if tensors else ""
        raise TypeError(
            f"kernel '{function.__name__}' has the parameters ({', '.join(actual)}); its "
            f"signature has ({', '.join(expected)}){results}"
        )


def _starred_name(parameter: inspect.Parameter) -> str:
    """Return the name of a parameter with its stars, such as ``*args``."""
    return str(parameter.replace(annotation=parameter.empty, default=parameter.empty))


def _wrapper(signature: Signature) -> Wrapper:
    """Return the generated wrapper; it passes the address, shape and strides of each tensor."""
    dtype_suffix = "".join(f"_{{{name}}}" for name in signature.dtype_variables)
    names = [result.name or f"result{i}" for i, result in enumerate(signature.results)]
    if len(names) == 1:
        names = [signature.results[0].name or "result"]
    arguments = []
    declared: list[tuple[str, Parameter | Result]] = [(p.name, p) for p in signature.parameters]
    declared += zip(names, signature.results)
    for name, value in declared:
        arguments.append(name)
        type_ = value.type
        if isinstance(type_, TensorType):
            _check_tensor(signature, name, value)
            fields = ["shape", "strides"] if type_.has_free_strides else ["shape"]
            arguments += [f"{name}.{field}" for field in fields]
        elif number_type(type_) is None:
            raise TypeError(
                f"{signature.name}: '{name}' is {type_text(type_)}; Numba kernels take tensors and "
                "numbers, which must not be None"
            )
    return make_wrapper(
        signature, f"kernel_of_{signature.name}{dtype_suffix}", arguments=arguments, returns="error"
    )


def _check_tensor(signature: Signature, name: str, value: Parameter | Result) -> None:
    """Raise TypeError for a tensor type that Numba kernels do not support."""
    type_ = value.type
    assert isinstance(type_, TensorType)
    where = f"{signature.name}: '{name}' is {type_text(type_)}"
    if type_.is_optional:
        raise TypeError(f"{where}; Numba kernels do not support tensors that may be None")
    if type_.ndim is None:
        raise TypeError(f"{where}; Numba kernels need the number of dimensions of each tensor")
    if type_.device not in (None, "cpu", "cpu:0"):
        raise TypeError(f"{where}; Numba kernels run on the CPU and take tensors in CPU memory")
    if not isinstance(type_.dtype, str):
        raise TypeError(
            f"{where}; Numba kernels need one dtype or a dtype variable for each tensor"
        )
    for dtype in signature.dtypes_of(type_):
        if array_type(type_, dtype) is None:
            raise TypeError(f"{where}; Numba has no arrays with dtype {dtype}")


def _compiled(
    function: Callable[..., Any], wrapper: Wrapper, dtypes: dict[str, str], options: Options
) -> Compiled:
    """Return the Python function compiled for one combination of dtypes."""
    arguments = [
        Argument(parameter.name, _type_of(parameter, dtypes), parameter.is_written)
        for parameter in wrapper.signature.parameters
    ]
    returned = types.none
    for result in wrapper.signature.results:
        if isinstance(result.type, TensorType):
            arguments.append(Argument("", _type_of(result, dtypes), True))
        else:
            returned = number_type(result.type)
    return compile_kernel(function, arguments, returned, options)


def _type_of(value: Parameter | Result, dtypes: dict[str, str]) -> Any:
    if isinstance(value.type, TensorType):
        dtype = str(value.type.dtype)
        return array_type(value.type, dtypes.get(dtype, dtype))
    return number_type(value.type)


# ---- IR function that the generated wrapper calls, and that calls the kernel ---------------------


class _KernelAdapter:
    """Writer of the IR function through which the generated wrapper calls the kernel."""

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
        parameters = [_TYPES[name] for name in parameter_types(compiled.text, compiled.symbol)]
        self._kernel = ir.Function(module, ir.FunctionType(I32, parameters), compiled.symbol)

    def write(self) -> None:
        """Write the call of the kernel, the copy of its result, and the handling of exceptions."""
        code = self._code
        arguments = iter(code.function.args)
        buffer = Local(code, ir.ArrayType(I64, _RESULT_SLOTS), None)
        exception = Local(code, PTR, null())
        values = [buffer.address, exception.address]
        result_address = None
        signature = self._wrapper.signature
        declared: list[Parameter | Result] = [*signature.parameters, *signature.results]
        for value in declared:
            if isinstance(value.type, TensorType):
                values += self._array(value.type, arguments)
            elif isinstance(value, Result):
                result_address = next(arguments)
            else:
                values.append(next(arguments))
        kernel_types = self._kernel.function_type.args
        status = code.call(
            self._kernel, [self._widened(*pair) for pair in zip(values, kernel_types)]
        )
        with code.if_then(code.icmp_signed("!=", status, I32(0)), likely=False):
            self._raise(exception.value)
        if result_address is not None:
            (result,) = signature.results
            self._copy_result(buffer.address, result_address, result)
        code.ret(I32(0))

    def _array(self, type_: TensorType, arguments: Any) -> list[Any]:
        """Return the fields of Numba's array struct: owners, size, address, shape, byte strides.

        `_compile._check_inputs` depends on the index of the address.
        """
        code, ndim = self._code, type_.ndim
        assert ndim is not None
        address, shape = next(arguments), next(arguments)
        strides = next(arguments) if type_.has_free_strides else None
        dtype = str(type_.dtype)
        array: Any = array_type(type_, self._dtypes.get(dtype, dtype))
        size = I64(_size_of(array.dtype))
        extents = [code.element(I64, shape, axis) for axis in range(ndim)]
        count, strides_bytes = I64(1), list[Any]()
        for axis in reversed(range(ndim)):
            stride = count if strides is None else code.element(I64, strides, axis)
            strides_bytes.insert(0, code.mul(stride, size))
            count = code.mul(count, extents[axis])
        return [null(), null(), count, size, address, *extents, *strides_bytes]

    def _widened(self, value: Any, type_: Any) -> Any:
        """Return an argument zero-extended to the type of the kernel's parameter."""
        if value.type == type_ or isinstance(type_, ir.PointerType):
            return value
        return self._code.zext(value, type_)

    def _raise(self, exception: Any) -> None:
        """Set the pending error from the exception constant that `_compile` wrote into the IR."""
        code = self._code
        with code.if_then(code.icmp_unsigned("==", exception, null())):
            kind = code.string("RuntimeError")
            message = code.string("the Numba kernel returned a failure status without an exception")
            code.runtime("TVMFFIErrorSetRaisedFromCStr", kind, message)
            code.ret(I32(1))
        kind = code.load(exception, typ=PTR)
        message = code.element_at(I8, kind, code.element(I32, exception, 2))
        code.runtime("TVMFFIErrorSetRaisedFromCStr", kind, message)
        code.ret(I32(1))

    def _copy_result(self, buffer: Any, address: Any, result: Result) -> None:
        """Copy the number that the kernel returned to the address that the wrapper passed."""
        type_ = ir.IntType(8 * _size_of(number_type(result.type)))
        self._code.store(self._code.load(buffer, typ=type_), address)


def _size_of(type_: Any) -> int:
    """Return the size in bytes of a Numba number or bool in memory."""
    return 1 if type_ is types.boolean else int(type_.bitwidth) // 8

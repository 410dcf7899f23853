# SPDX-License-Identifier: Apache-2.0
"""Dynamic checks of one function by its signature: right and wrong arguments, requirements.

Right calls run in several layouts; the result of a layout must equal the result of compact tensors.
Each check is a case with an identifier ``call.FUNCTION.RULE``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .. import abi
from ..runtimes.case import REGISTRY, Topic, equal, expect, run_on_threads
from ..runtimes.subject import SAFE_CALL, RaisedError, Runtime, strong
from ..runtimes.values import (
    Object,
    Raw,
    bits,
    byte_array_view,
    device,
    dtype,
    raw_string,
    small,
    view,
)
from .memory import Tensor
from .signature import Parameter, Signature

KINDS = {
    "RuntimeError", "ValueError", "TypeError", "KeyError", "IndexError", "AttributeError",
    "AssertionError", "MemoryError", "OverflowError", "InternalError", "NotImplementedError",
}  # fmt: skip
RESULTS = {"int": 1, "bool": 2, "float": 3, "": 0, "None": 0}
LAYOUTS: list[tuple[str, dict[str, Any]]] = [
    ("compact_guard_after", {}), ("compact_guard_before", {"end": False}),
    ("null_strides", {"strides_null": True}), ("byte_offset", {"offset": 3}),
]  # fmt: skip
STRIDED: list[tuple[str, dict[str, Any]]] = [
    ("gap", {"gap": 3}),
    ("first_innermost", {"reverse": True}),
]


VALUES: dict[str, Callable[[], abi.TVMFFIAny]] = {
    "int": lambda: view(2), "float": lambda: view(2.0), "bool": lambda: view(True),
    "str": lambda: view(small(b"kit")), "bytes": lambda: view(small(b"kit", abi.kTVMFFISmallBytes)),
    "dtype": lambda: view(dtype(abi.kDLFloat, 32)), "Device": lambda: view(device(abi.kDLCPU)),
}  # fmt: skip
# Other forms of the same value: callers choose the form, typed functions accept each.
FORMS: dict[str, list[tuple[str, Callable[[Runtime], abi.TVMFFIAny]]]] = {
    "int": [("bool", lambda runtime: view(True))],
    "float": [("int", lambda runtime: view(2)), ("bool", lambda runtime: view(True))],
    "bool": [("int", lambda runtime: view(1))],
    "str": [
        ("raw", lambda runtime: raw_string(b"kit")),
        ("empty", lambda runtime: view(small(b""))),
        ("object", lambda runtime: runtime.string(b"text of more than seven bytes")),
    ],
    "bytes": [
        ("byte_array", lambda runtime: byte_array_view(b"kit")),
        ("object", lambda runtime: runtime.bytes(b"more than seven bytes")),
    ],
}


def extents(parameter: Parameter, size: int) -> tuple[int, ...]:
    """Return the extents of a tensor; a name is `size` plus a number that depends on the name."""
    return tuple(extent(each, size) for each in parameter.shape)


def extent(name: str, size: int) -> int:
    """Return the extent that a number or a name stands for."""
    if name.isdigit():
        return int(name)
    return size + sum(map(ord, name)) % 3 if size > 1 else size


def arguments(signature: Signature, size: int = 5, **layout: Any) -> list[Any]:
    """Return arguments: `Tensor` objects and views of plain values."""
    made: list[Any] = []
    names = {each for parameter in signature.parameters for each in parameter.shape}
    for position, parameter in enumerate(signature.parameters):
        if parameter.dtype:
            tensor = Tensor(parameter.dtype, extents(parameter, size), **layout)
            if parameter.direction != "out":
                tensor.fill(position)
            made.append(tensor)
        elif parameter.kind == "int" and parameter.name in names:
            made.append(view(extent(parameter.name, size)))
        else:
            made.append(VALUES[parameter.kind]())
    return made


def call(runtime: Runtime, name: str, given: list[Any]) -> abi.TVMFFIAny:
    """Call the exported symbol; check status, error and result by the convention."""
    values = [each.view() if isinstance(each, Tensor) else each for each in given]
    packed = (abi.TVMFFIAny * max(1, len(values)))(*values)
    before = ctypes.string_at(packed, 16 * len(values))
    result = abi.TVMFFIAny()
    function = SAFE_CALL(
        ctypes.cast(getattr(runtime.kernel, abi.SYMBOL_PREFIX + name), ctypes.c_void_p).value
    )
    status = function(None, ctypes.addressof(packed), len(values), ctypes.addressof(result))
    equal("the argument array after the call", ctypes.string_at(packed, 16 * len(values)), before)
    error = runtime.raised()
    if status == 0:
        expect(error is None, f"the call succeeded, but left an error: {error}")
        return result
    expect(error is not None, f"the call returned {status} without an error")
    raise error


def call_or_refuse(runtime: Runtime, name: str, given: list[Any]) -> bool:
    """Call; return False if the function refused the arguments with an error."""
    try:
        call(runtime, name, given)
    except RaisedError as error:
        expect(error.kind in KINDS, f"the kind {error.kind!r} is not registered")
        expect(error.message, "the message is empty")
        return False
    return True


def refused(runtime: Runtime, name: str, given: list[Any]) -> None:
    """Expect that a call fails with an error of a registered kind."""
    expect(not call_or_refuse(runtime, name, given), "wrong arguments were accepted")


def register_calls(signature: Signature) -> list[str]:  # noqa: PLR0915  # one rule a function
    """Register the checks of one function; return their identifiers."""
    topic = Topic(f"call.{signature.name}", "13.1")
    name = signature.name

    def outputs(given: list[Any]) -> list[list[bytes]]:
        return [
            tensor.elements()
            for tensor, parameter in zip(given, signature.parameters)
            if parameter.dtype and parameter.direction != "in"
        ]

    compact_only = any(each.compact for each in signature.parameters)

    @topic.each("right.{}", LAYOUTS + ([] if compact_only else STRIDED), "Right arguments in layout `{}`.",
                cites="compiler-integration.md#Kernel Language Compilers")  # fmt: skip
    def right(runtime: Runtime, layout: dict[str, Any]) -> None:
        expected = arguments(signature)
        call(runtime, name, expected)
        given = arguments(signature, **layout)
        call(runtime, name, given)
        equal("outputs, compared with compact tensors", outputs(given), outputs(expected))

    @topic.each("right.size.{}", [("0", 0), ("1", 1), ("large", 1000)], "Right arguments, extents: {}.",
                cites="compiler-integration.md#Kernel Language Compilers")  # fmt: skip
    def sizes(runtime: Runtime, size: int) -> None:
        rank = max([len(each.shape) for each in signature.parameters] or [1])
        size = min(size, int(4000 ** (1 / max(rank, 1))))  # the kit fills the tensors in Python
        # A number may be an index: an error is right then.
        numbers = any(each.kind == "int" for each in signature.parameters)
        (call_or_refuse if numbers else call)(runtime, name, arguments(signature, size))

    @topic.case("right.misaligned", "A tensor at an odd address is computed rightly, or refused.",
                cites="compiler-integration.md#Kernel Language Compilers")  # fmt: skip
    def misaligned(runtime: Runtime) -> None:
        expected, given = arguments(signature), arguments(signature, shift=1, end=False)
        for each in given:
            if isinstance(each, Tensor):
                each.move(1)
        call(runtime, name, expected)
        if call_or_refuse(runtime, name, given):
            equal("outputs, compared with aligned tensors", outputs(given), outputs(expected))

    @topic.each(
        "form.{}", form_rows(signature), "A value is accepted in another form: {}.", cites="3"
    )
    def form(runtime: Runtime, position: int, make: Callable[[Runtime], abi.TVMFFIAny]) -> None:
        given = arguments(signature)
        given[position] = make(runtime)
        call(runtime, name, given)
        if given[position].type_index >= abi.kTVMFFIStaticObjectBegin:
            equal("strong count after the call", strong(given[position].v_obj), 1)

    @topic.case("right.tensor_objects", "A Tensor object is accepted as a DLTensor pointer is.",
                cites="tensor-and-dlpack.txt#To Non-Owning Tensor")  # fmt: skip
    def tensor_objects(runtime: Runtime) -> None:
        given = arguments(signature)
        handles = []
        for position, tensor in enumerate(given):
            if isinstance(tensor, Tensor):
                managed = runtime.keep(abi.DLManagedTensor(tensor.struct))
                runtime.keep(tensor)
                out = ctypes.c_void_p()
                runtime.check(
                    runtime.TVMFFITensorFromDLPack(
                        ctypes.addressof(managed), 0, 0, ctypes.byref(out)
                    )
                )
                handles.append(out.value)
                given[position] = view(Object(out.value, abi.kTVMFFITensor))
        call(runtime, name, given)
        equal(
            "strong counts after the call", [strong(each) for each in handles], [1] * len(handles)
        )

    @topic.case("inputs_unchanged", "Inputs and gaps between elements are not written.")
    def unchanged(runtime: Runtime) -> None:
        given = arguments(signature)
        inputs = [
            (each.name, tensor)
            for each, tensor in zip(signature.parameters, given)
            if each.dtype and each.direction == "in"
        ]
        before = [tensor.content() for _, tensor in inputs]
        call(runtime, name, given)
        for (parameter, tensor), content in zip(inputs, before):
            expect(
                tensor.content() == content,
                f"argument {parameter}: the function wrote to the input",
            )

    @topic.case("result", "The result has the declared type; its padding is zero.", cites="20")
    def result(runtime: Runtime) -> None:
        out = call(runtime, name, arguments(signature))
        if signature.returns in RESULTS:
            equal("type index of the result", out.type_index, RESULTS[signature.returns])
        equal("padding", out.zero_padding if out.type_index not in (11, 12) else 0, 0)
        if out.type_index == 0:
            equal("the 16 bytes", bits(out), bytes(16))

    @topic.case("streams_kept", "The call leaves the streams of the environment.", cites="6.9")
    def streams(runtime: Runtime) -> None:
        runtime.check(runtime.TVMFFIEnvSetStream(abi.kDLCUDA, 0, 0x1230, None))
        call(runtime, name, arguments(signature))
        equal("stream", runtime.TVMFFIEnvGetStream(abi.kDLCUDA, 0), 0x1230)

    @topic.case("threads", "Four threads may call at once.", cites="6.1")
    def threads(runtime: Runtime) -> None:
        expected = arguments(signature)
        call(runtime, name, expected)
        problems: list[str] = []

        def work(_: int) -> None:
            try:
                for _ in range(20):
                    given = arguments(signature)
                    call(runtime, name, given)
                    if outputs(given) != outputs(expected):
                        problems.append("another result")
            except Exception as error:
                problems.append(str(error))

        run_on_threads(work)
        equal("problems", problems[:1], [])

    count = len(signature.parameters)
    required = sum(not each.optional for each in signature.parameters)

    @topic.each("wrong.count.{}", [(str(n), n) for n in sorted({0, required - 1, count + 1})
                                   if 0 <= n < required or n > count],
                "{} arguments are refused.")  # fmt: skip
    def wrong_count(runtime: Runtime, number: int) -> None:
        given = arguments(signature)
        refused(runtime, name, [*given, view(None)][:number])

    @topic.each("wrong.{}", wrong_rows(signature), "A wrong argument is refused: {}.")
    def wrong(runtime: Runtime, position: int, make: Callable[[Any], Any]) -> None:
        given = arguments(signature)
        given[position] = make(given[position])
        refused(runtime, name, given)

    @topic.case("wrong.then_right", "After a refused call the next call works.", cites="6.1")
    def then_right(runtime: Runtime) -> None:
        if count:
            given = arguments(signature)
            given[0] = view(Raw(abi.kTVMFFIOpaquePtr, 1))
            refused(runtime, name, given)
        call(runtime, name, arguments(signature))

    return [identifier for identifier in REGISTRY if identifier.startswith(topic.prefix + ".")]


def form_rows(signature: Signature) -> list[tuple]:
    """Return other forms of plain values: name, position, function of the runtime."""
    return [
        (f"{parameter.name}.{form}", position, make)
        for position, parameter in enumerate(signature.parameters)
        for form, make in FORMS.get(parameter.kind, ())
    ]


def wrong_rows(signature: Signature) -> list[tuple]:
    """Return wrong values of every parameter: name, position, function of the right value."""
    rows: list[tuple] = []
    used = [each for parameter in signature.parameters for each in parameter.shape]
    for position, parameter in enumerate(signature.parameters):
        bad: dict[str, Callable[[Any], Any]] = {
            "object": lambda right: view(Raw(abi.kTVMFFIOpaquePtr, 1))
        }
        if parameter.kind != "Device":
            bad["device"] = lambda right: view(device(abi.kDLCPU))
        if parameter.kind not in ("str", "dtype", "Device"):
            bad["text"] = lambda right: view(small(b"kit"))
        if parameter.dtype:
            own, shape = parameter.dtype, extents(parameter, 5)
            other = (abi.kDLInt, 64) if own != (abi.kDLInt, 64) else (abi.kDLFloat, 64)
            bad["none"] = lambda right: view(None)
            bad["integer"] = lambda right: view(1)
            bad["dtype"] = lambda right, other=other, shape=shape: Tensor(other, shape)
            code = (abi.kDLUInt if own[0] == abi.kDLInt else abi.kDLInt, own[1])
            bad["dtype_code"] = lambda right, code=code, shape=shape: Tensor(code, shape)
            bad["dimension_more"] = lambda right, own=own, shape=shape: Tensor(own, (*shape, 1))
            if shape:
                bad["dimension_less"] = lambda right, own=own, shape=shape: Tensor(own, shape[1:])
            bad["rank_64"] = lambda right, own=own: Tensor(own, (1,) * 64)
            bad["device_of_tensor"] = lambda right, own=own, shape=shape: Tensor(
                own, shape, device=abi.kDLVulkan
            )
            for axis, extent in enumerate(parameter.shape):
                if extent.isdigit() or used.count(extent) > 1:
                    longer = tuple(n + (i == axis) for i, n in enumerate(shape))
                    bad[f"extent_{axis}"] = lambda right, own=own, longer=longer: Tensor(
                        own, longer
                    )
        rows += [(f"{parameter.name}.{kind}", position, make) for kind, make in bad.items()]
    return rows

# SPDX-License-Identifier: Apache-2.0
"""Dynamic checks of one function by its signature: right and wrong arguments, requirements.

Right calls run in several layouts; the result of a layout must equal the result of compact tensors.
Each check is a case with an identifier ``call.FUNCTION.RULE``.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import abi
from ..runtimes.case import REGISTRY, Mismatch, Topic, equal, expect, run_on_threads
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
# Type indices of a declared result.
RESULTS = {
    "": [abi.kTVMFFINone], "None": [abi.kTVMFFINone], "int": [abi.kTVMFFIInt],
    "bool": [abi.kTVMFFIBool], "float": [abi.kTVMFFIFloat],
    "str": [abi.kTVMFFISmallStr, abi.kTVMFFIStr], "bytes": [abi.kTVMFFISmallBytes, abi.kTVMFFIBytes],
    "dtype": [abi.kTVMFFIDataType], "Device": [abi.kTVMFFIDevice],
}  # fmt: skip
LAYOUTS: list[tuple[str, dict[str, Any]]] = [
    ("compact_guard_after", {}), ("compact_guard_before", {"end": False}),
    ("null_strides", {"strides_null": True}), ("byte_offset", {"offset": 3}),
]  # fmt: skip
STRIDED: list[tuple[str, dict[str, Any]]] = [
    ("gap", {"gap": 3}),
    ("first_innermost", {"reverse": True}),
    # Each tensor of a call has other strides; a tuple has one value for each argument in turn.
    ("mixed_strides", {"gap": (1, 3, 2), "reverse": (False, True)}),
]
_LARGE = 512  # extent of the tensors that several threads use


VALUES: dict[str, Callable[[], abi.TVMFFIAny]] = {
    "int": lambda: view(2), "float": lambda: view(2.0), "bool": lambda: view(True),
    "str": lambda: view(small(b"kit")), "bytes": lambda: view(small(b"kit", abi.kTVMFFISmallBytes)),
    "dtype": lambda: view(dtype(abi.kDLFloat, 32)), "Device": lambda: view(device(abi.kDLCPU)),
}  # fmt: skip
DESCRIPTIONS = {
    "int": "2", "float": "2.0", "bool": "True", "str": "'kit' as a small string",
    "bytes": "b'kit' as small bytes", "dtype": "float32", "Device": "cpu:0",
}  # fmt: skip

_TEXT = b"text of more than seven bytes"
_LONG_TEXT = b"text of 320 bytes. ".ljust(320, b".")


class Form(NamedTuple):
    """Another form of a value: callers choose the form, typed functions accept each."""

    name: str
    description: str
    make: Callable[[Runtime], abi.TVMFFIAny]
    declared: Callable[[], abi.TVMFFIAny]  # the same value in another form


FORMS: dict[str, list[Form]] = {
    "int": [Form("bool", "True", lambda runtime: view(True), lambda: view(1))],
    "float": [
        Form("int", "the int 2", lambda runtime: view(2), lambda: view(2.0)),
        Form("bool", "True", lambda runtime: view(True), lambda: view(1.0)),
    ],
    "bool": [Form("int", "the int 1", lambda runtime: view(1), lambda: view(True))],
    "str": [
        Form("raw", "a C string", lambda runtime: raw_string(b"kit"), VALUES["str"]),
        Form("empty", "an empty small string", lambda runtime: view(small(b"")), lambda: raw_string(b"")),
        Form("object", "a string object", lambda runtime: runtime.string(_TEXT), lambda: raw_string(_TEXT)),
        Form("long", "a string object of 320 bytes", lambda runtime: runtime.string(_LONG_TEXT),
             lambda: raw_string(_LONG_TEXT)),
    ],
    "bytes": [
        Form("byte_array", "a TVMFFIByteArray", lambda runtime: byte_array_view(b"kit"), VALUES["bytes"]),
        Form("object", "a bytes object", lambda runtime: runtime.bytes(_TEXT),
             lambda: byte_array_view(_TEXT)),
    ],
}  # fmt: skip


def extents(parameter: Parameter, size: int) -> tuple[int, ...]:
    """Return the extents of a tensor; a name is `size` plus a number that depends on the name."""
    return tuple(extent(each, size) for each in parameter.shape)


def extent(name: str, size: int) -> int:
    """Return the extent that a number or a name stands for."""
    if name.isdigit():
        return int(name)
    return size + sum(map(ord, name)) % 3 if size > 1 else size


def arguments(
    signature: Signature, size: int = 5, *, written: int | None = None, **layout: Any
) -> list[Any]:
    """Return arguments: `Tensor` objects and views of plain values.

    Outputs contain zeros, or small numbers that begin with `written`.  A value of `layout` that is a
    tuple has one value for each argument in turn.
    """
    made: list[Any] = []
    names = {each for parameter in signature.parameters for each in parameter.shape}
    for position, parameter in enumerate(signature.parameters):
        if parameter.dtype:
            own = {
                key: each[position % len(each)] if isinstance(each, tuple) else each
                for key, each in layout.items()
            }
            tensor = Tensor(parameter.dtype, extents(parameter, size), **own)
            start = written if parameter.direction == "out" else position
            if start is not None:
                tensor.fill(start)
            made.append(tensor)
        elif parameter.kind == "int" and parameter.name in names:
            made.append(view(extent(parameter.name, size)))
        else:
            made.append(VALUES[parameter.kind]())
    return made


def describe(signature: Signature) -> str:
    """Return the right arguments of a call in words."""
    described = []
    for parameter in signature.parameters:
        text = DESCRIPTIONS.get(parameter.kind, "")
        if parameter.dtype:
            text = f"tensor {list(extents(parameter, 5))}"
        described.append(f"{parameter.name}: {text}")
    return ", ".join(described)


def call(runtime: Runtime, name: str, given: list[Any], padding: int = 0) -> abi.TVMFFIAny:
    """Call the exported symbol; check status, error and result by the convention.

    `padding` is in the bytes of the result slot that the function must clear.
    """
    values = [each.view() if isinstance(each, Tensor) else each for each in given]
    packed = (abi.TVMFFIAny * max(1, len(values)))(*values)
    before = ctypes.string_at(packed, 16 * len(values))
    result = abi.TVMFFIAny()
    result.zero_padding = padding
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


def outcome_or_refusal(runtime: Runtime, signature: Signature, given: list[Any]) -> Outcome | None:
    """Call; return None if the function refused the arguments with an error."""
    try:
        return outcome(runtime, signature, given)
    except RaisedError as error:
        expect(error.kind in KINDS, f"the kind {error.kind!r} is not registered")
        expect(error.message, "the message is empty")
        return None


def refused(runtime: Runtime, signature: Signature, given: list[Any]) -> None:
    """Expect that a call fails with an error of a registered kind."""
    accepted = outcome_or_refusal(runtime, signature, given)
    expect(accepted is None, "wrong arguments were accepted")


class Outcome(NamedTuple):
    """Effect of a call: the tensors that it may write, by name, and its result."""

    outputs: list[tuple[str, Tensor]]
    result: Any


def outcome(runtime: Runtime, signature: Signature, given: list[Any]) -> Outcome:
    """Call and return the effect.  Objects other than strings are compared by type index."""
    out = call(runtime, signature.name, given)
    is_plain = out.type_index < abi.kTVMFFIStaticObjectBegin or out.type_index in (
        abi.kTVMFFIStr, abi.kTVMFFIBytes,
    )  # fmt: skip
    result = runtime.python(out) if is_plain else f"an object of type index {out.type_index}"
    written = [
        (parameter.name, tensor)
        for tensor, parameter in zip(given, signature.parameters)
        if isinstance(tensor, Tensor) and parameter.direction != "in"
    ]
    return Outcome(written, bits(result) if isinstance(result, abi.TVMFFIAny) else result)


def same(got: Outcome, expected: Outcome, other: str) -> None:
    """Expect equal effects of two calls; `other` names the arguments of the expected one."""
    for (name, tensor), (_, right) in zip(got.outputs, expected.outputs):
        rows = zip(tensor.indices(), tensor.elements(), right.elements())
        for index, element, wanted in rows:
            if element != wanted:
                raise Mismatch(
                    f"argument {name}, element {list(index)}: expected {right.value(wanted)} as with "
                    f"{other}, got {tensor.value(element)}; {tensor.layout()}"
                )
    result, wanted = got.result, expected.result
    if isinstance(result, float) and isinstance(wanted, float):
        # The order of additions may differ between layouts.
        is_nan = math.isnan(result) and math.isnan(wanted)
        if is_nan or math.isclose(result, wanted, rel_tol=1e-5):
            return
    expect(result == wanted, f"result: expected {wanted!r} as with {other}, got {result!r}")


def register_calls(signature: Signature) -> list[str]:
    """Register the checks of one function; return their identifiers."""
    topic = Topic(f"call.{signature.name}", "13.1")
    _register_repeated(topic, signature)
    if signature.has_tensors:
        _register_layouts(topic, signature)
    _register_values(topic, signature)
    _register_requirements(topic, signature)
    _register_wrong_calls(topic, signature)
    return [identifier for identifier in REGISTRY if identifier.startswith(topic.prefix + ".")]


def _register_repeated(topic: Topic, signature: Signature) -> None:
    """Register the call that a function must pass before others make sense."""

    @topic.case("right.repeated", "Two calls with equal arguments have equal effects.")
    def repeated(runtime: Runtime) -> None:
        first = outcome(runtime, signature, arguments(signature))
        same(outcome(runtime, signature, arguments(signature)), first, "the same arguments before")

    if any(each.direction == "out" for each in signature.parameters):

        @topic.case("right.outputs", "Each element of an output is written, and not read before.")
        def outputs(runtime: Runtime) -> None:
            first = outcome(runtime, signature, arguments(signature, written=4))
            got = outcome(runtime, signature, arguments(signature))
            same(got, first, "other numbers in the output before the call")


def _register_layouts(topic: Topic, signature: Signature) -> None:
    """Register the calls with right tensors in several layouts and sizes."""
    name = signature.name
    compact_only = any(each.compact for each in signature.parameters)

    @topic.each("right.{}", LAYOUTS + ([] if compact_only else STRIDED), "Right arguments in layout `{}`.",
                cites="compiler-integration.md#Kernel Language Compilers")  # fmt: skip
    def right(runtime: Runtime, layout: dict[str, Any]) -> None:
        expected = outcome(runtime, signature, arguments(signature))
        got = outcome(runtime, signature, arguments(signature, **layout))
        same(got, expected, "compact tensors")

    @topic.each("right.size.{}", [("0", 0), ("1", 1), ("large", 1000)], "Right arguments, extents: {}.",
                cites="compiler-integration.md#Kernel Language Compilers")  # fmt: skip
    def sizes(runtime: Runtime, size: int) -> None:
        rank = max(len(each.shape) for each in signature.parameters)
        size = min(size, int(4000 ** (1 / max(rank, 1))))  # the kit fills the tensors in Python
        # A number may be an index: an error is right then.
        numbers = any(each.kind == "int" for each in signature.parameters)
        (outcome_or_refusal if numbers else outcome)(runtime, signature, arguments(signature, size))

    @topic.case("right.misaligned", "A tensor at an odd address is computed rightly, or refused.",
                cites="compiler-integration.md#Kernel Language Compilers")  # fmt: skip
    def misaligned(runtime: Runtime) -> None:
        given = arguments(signature, shift=1, end=False)
        for each in given:
            if isinstance(each, Tensor):
                each.move(1)
        expected = outcome(runtime, signature, arguments(signature))
        if got := outcome_or_refusal(runtime, signature, given):
            same(got, expected, "aligned tensors")

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


def _register_values(topic: Topic, signature: Signature) -> None:
    """Register the calls with right plain values in each form, and with None."""
    for position, parameter in enumerate(signature.parameters):
        for form in FORMS.get(parameter.kind, ()):
            _register_form(topic, signature, position, form)
        if parameter.nullable:
            _register_none(topic, signature, position)


def _register_form(topic: Topic, signature: Signature, position: int, form: Form) -> None:
    parameter = signature.parameters[position]
    key, passed = f"{parameter.name}.{form.name}", f"`{parameter.name}` is {form.description}"

    @topic.case(f"form.{key}", f"A value is accepted in another form: {passed}.", cites="3")
    def accepted(runtime: Runtime) -> None:
        given = arguments(signature)
        given[position] = form.make(runtime)
        call(runtime, signature.name, given)
        if given[position].type_index >= abi.kTVMFFIStaticObjectBegin:
            equal("strong count after the call", strong(given[position].v_obj), 1)

    @topic.case(f"right.{key}", f"The form of a value changes nothing, or is refused: {passed}.",
                cites="3")  # fmt: skip
    def equal_effect(runtime: Runtime) -> None:
        declared, given = arguments(signature), arguments(signature)
        declared[position], given[position] = form.declared(), form.make(runtime)
        expected = outcome_or_refusal(runtime, signature, declared)
        got = outcome_or_refusal(runtime, signature, given)
        if expected and got:
            same(got, expected, f"the same value of type index {declared[position].type_index}")


def _register_none(topic: Topic, signature: Signature, position: int) -> None:
    parameter = signature.parameters[position]

    @topic.case(f"right.{parameter.name}.none", f"`{parameter.name}` may be None.", cites="3")
    def none(runtime: Runtime) -> None:
        given = arguments(signature)
        given[position] = view(None)
        call(runtime, signature.name, given)


def _register_requirements(topic: Topic, signature: Signature) -> None:
    """Register the requirements of a right call: result, environment, threads."""

    @topic.case("result", "The result has the declared type; its padding is zero.", cites="20")
    def result(runtime: Runtime) -> None:
        # A function without a result leaves the slot as the caller has set it.
        padding = 0 if signature.returns in ("", "None") else 0x5A5A
        out = call(runtime, signature.name, arguments(signature), padding)
        expected = RESULTS.get(signature.returns)
        if expected and out.type_index not in expected:
            equal("type index of the result", out.type_index, expected[0])
        is_small = out.type_index in (abi.kTVMFFISmallStr, abi.kTVMFFISmallBytes)
        equal("padding", 0 if is_small else out.zero_padding, 0)
        if out.type_index == abi.kTVMFFINone:
            equal("the 16 bytes", bits(out), bytes(16))

    @topic.case("streams_kept", "The call leaves the streams of the environment.", cites="6.9")
    def streams(runtime: Runtime) -> None:
        runtime.check(runtime.TVMFFIEnvSetStream(abi.kDLCUDA, 0, 0x1230, None))
        call(runtime, signature.name, arguments(signature))
        equal("stream", runtime.TVMFFIEnvGetStream(abi.kDLCUDA, 0), 0x1230)

    @topic.case("threads", "Four threads may call at once.", cites="6.1")
    def threads(runtime: Runtime) -> None:
        rank = max([len(each.shape) for each in signature.parameters] or [1])
        size = 5 if "int" in {each.kind for each in signature.parameters} else _LARGE
        size = int(size ** (1 / max(rank, 1)))
        expected = outcome(runtime, signature, arguments(signature, size))
        problems: list[str] = []

        def work(_: int) -> None:
            try:
                given = arguments(signature, size)
                tensors = [each for each in given if isinstance(each, Tensor)]
                contents = [each.content() for each in tensors]
                for _ in range(50):
                    for tensor, content in zip(tensors, contents):
                        ctypes.memmove(tensor.data, content, tensor.size)
                    same(outcome(runtime, signature, given), expected, "one thread")
            except Exception as error:
                problems.append(str(error))

        run_on_threads(work)
        equal("problems", problems[:1], [])


def _register_wrong_calls(topic: Topic, signature: Signature) -> None:
    """Register the calls with wrong numbers of arguments and wrong arguments."""
    count = len(signature.parameters)
    required = sum(not each.optional for each in signature.parameters)

    @topic.each("wrong.count.{}", [(str(n), n) for n in sorted({0, required - 1, count + 1})
                                   if 0 <= n < required or n > count],
                "{} arguments are refused.")  # fmt: skip
    def wrong_count(runtime: Runtime, number: int) -> None:
        given = arguments(signature)
        refused(runtime, signature, [*given, view(None)][:number])

    for wrong in wrong_arguments(signature):
        _register_wrong(topic, signature, wrong)

    @topic.case("wrong.then_right", "After a refused call the next call works.", cites="6.1")
    def then_right(runtime: Runtime) -> None:
        if count:
            given = arguments(signature)
            given[0] = view(Raw(abi.kTVMFFIOpaquePtr, 1))
            refused(runtime, signature, given)
        call(runtime, signature.name, arguments(signature))


def _register_wrong(topic: Topic, signature: Signature, wrong: WrongArgument) -> None:
    name = signature.parameters[wrong.position].name

    @topic.case(
        f"wrong.{name}.{wrong.name}", f"An argument is refused: `{name}` is {wrong.description}."
    )
    def refusal(runtime: Runtime) -> None:
        given = arguments(signature)
        given[wrong.position] = wrong.make(runtime)
        refused(runtime, signature, given)


class WrongArgument(NamedTuple):
    """A wrong value of one parameter."""

    position: int
    name: str
    description: str
    make: Callable[[Runtime], Any]


def wrong_arguments(signature: Signature) -> list[WrongArgument]:
    """Return wrong values of every parameter."""
    rows = []
    used = [each for parameter in signature.parameters for each in parameter.shape if each != "_"]
    for position, parameter in enumerate(signature.parameters):
        bad: dict[str, tuple[str, Callable[[Runtime], Any]]] = {
            "pointer": ("an opaque pointer", lambda _: view(Raw(abi.kTVMFFIOpaquePtr, 1)))
        }
        if not parameter.nullable:
            bad["none"] = "None", lambda _: view(None)
        if parameter.kind != "Device":
            bad["device"] = "a value of type Device", lambda _: view(device(abi.kDLCPU))
        if parameter.kind == "str":
            bad["bytes"] = "small bytes", lambda _: VALUES["bytes"]()
        if parameter.kind not in ("str", "dtype", "Device"):
            bad["text"] = "a small string", lambda _: view(small(b"kit"))
            bad["object"] = "a string object", lambda runtime: runtime.string(_TEXT)
        if parameter.dtype or parameter.kind in ("str", "bytes"):
            bad["integer"] = "the int 1", lambda _: view(1)
        if parameter.dtype:
            bad |= _wrong_tensors(parameter, used)
        rows += [WrongArgument(position, kind, *each) for kind, each in bad.items()]
    return rows


def _wrong_tensors(
    parameter: Parameter, used: list[str]
) -> dict[str, tuple[str, Callable[[Runtime], Any]]]:
    """Return wrong tensors by name; `used` has the extents of all parameters."""
    own, shape = parameter.dtype or (0, 0), extents(parameter, 5)
    other = (abi.kDLInt, 64) if own != (abi.kDLInt, 64) else (abi.kDLFloat, 64)
    code = (abi.kDLUInt if own[0] == abi.kDLInt else abi.kDLInt, own[1])
    bad: dict[str, tuple[str, Callable[[Runtime], Any]]] = {
        "dtype": ("a tensor with elements of another size or kind", lambda _: Tensor(other, shape)),
        "dtype_code": (
            f"a tensor whose dtype has code {code[0]} instead of {own[0]} and {own[1]} bits",
            lambda _: Tensor(code, shape),
        ),
        "lanes": ("a tensor whose dtype has 2 lanes", lambda _: Tensor(own, shape, lanes=2)),
        "dimension_more": (
            f"a tensor with {len(shape) + 1} dimensions",
            lambda _: Tensor(own, (*shape, 1)),
        ),
        "rank_64": ("a tensor with 64 dimensions", lambda _: Tensor(own, (1,) * 64)),
        "device_of_tensor": (
            "a tensor on a Vulkan device",
            lambda _: Tensor(own, shape, device=abi.kDLVulkan),
        ),
    }
    if shape:
        bad["dimension_less"] = (
            f"a tensor with {len(shape) - 1} dimensions",
            lambda _: Tensor(own, shape[1:]),
        )
    for axis, each in enumerate(parameter.shape):
        if each.isdigit() or used.count(each) > 1:
            longer = tuple(n + (i == axis) for i, n in enumerate(shape))
            bad[f"extent_{axis}"] = (
                f"a tensor with {longer[axis]} elements in dimension {axis}, not {each} = {shape[axis]}",
                lambda _, longer=longer: Tensor(own, longer),
            )
    return bad

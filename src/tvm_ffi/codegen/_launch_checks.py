# SPDX-License-Identifier: Apache-2.0
"""Checks of launch plans: of members in the constructor, and of launch sizes in each call.

Limits follow the CUDA programming guide for compute capability 5.0 to 12.1. The checks of a call
are data, like the checks of a signature; C code and the check program run the same checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..signature import Parameter, ScalarType, Signature, TensorType
from ..signature._checks import Failure, accepted_type_names, literal_template
from ..signature._expression import (
    Expression,
    Extent,
    evaluate,
    extent_text,
    names_in,
)
from ..signature._printing import type_text
from ._conditions import check_conditions, check_names, with_conditions
from ._device_image import DeviceImage
from ._launch_parts import Launch, compared_with_none
from ._wrapper import (
    Argument,
    is_optional,
    product,
    result_names,
)

__all__ = [
    "Bound",
    "bounds",
    "check_plan",
    "device_mismatches",
    "device_parameter",
    "fields",
    "kernel_types",
    "no_image_failure",
    "no_variant_failure",
]

_INT32 = 2**31 - 1
_AXES = "xyz"
_MOST = {"grid": (_INT32, 65535, 65535), "block": (1024, 1024, 64), "cluster": (16, 16, 16)}
_MAX_THREADS, _MAX_CLUSTER = 1024, 16
# Largest shared memory of a block on any device, in bytes; the driver checks the device's limit.
_MAX_SHARED_MEMORY = 227 << 10
# C type of each numeric field of a tensor.
_FIELD_TYPES = {"ndim": "int32", "device": "int32", "size": "int64"}


@dataclass(frozen=True)
class Bound:
    """An expression, such as a launch size, with the limits that each call checks.

    Parameters
    ----------
    extent : int, str or Expression
        Expression to evaluate.
    least, most : int
        Smallest and largest allowed value.
    failure : Failure
        Failure for other values, with the placeholder ``got``.
    """

    extent: Extent
    least: int
    most: int
    failure: Failure


# ---- checks of launch sizes in a call ------------------------------------------------------------


def device_parameter(signature: Signature) -> Parameter | None:
    """Return the tensor whose device runs the kernel; None if the current device runs it."""
    for parameter in signature.parameters:
        if _is_on_cuda(parameter) and not is_optional(parameter):
            return parameter
    return None


def device_mismatches(signature: Signature) -> Iterator[tuple[Parameter, Failure]]:
    """Yield each other tensor parameter that must be on the launch device, and its `Failure`."""
    first = device_parameter(signature)
    for parameter in signature.parameters:
        if first is not None and parameter is not first and _is_on_cuda(parameter):
            template = (
                f"{signature.name}() argument '{parameter.name}': expected device "
                f"cuda:{{expected}} like '{first.name}', got cuda:{{got}}"
            )
            yield parameter, Failure("ValueError", template)


def _is_on_cuda(parameter: Parameter) -> bool:
    type_ = parameter.type
    return isinstance(type_, TensorType) and (type_.device or "").partition(":")[0] == "cuda"


def fields(launch: Launch) -> dict[str, Extent]:
    """Return a dict of the sizes of a launch; the keys are ``grid.x`` ... ``shared_memory``.

    The order is that of the runtime (ORDER launch-fields).
    """
    groups = {"grid": launch.grid, "block": launch.block, "cluster": launch.cluster or (1, 1, 1)}
    found = {f"{name}.{_AXES[i]}": e for name, three in groups.items() for i, e in enumerate(three)}
    return {**found, "shared_memory": launch.shared_memory}


def bounds(name: str, launch: Launch) -> list[Bound]:
    """Return the limits on the launch sizes of a launch variant, in the order of the checks."""
    found = []
    for field, extent in fields(launch).items():
        group, _, axis = field.partition(".")
        least, most = 0, _MAX_SHARED_MEMORY
        if axis:
            least, most = 1, _MOST[group][_AXES.index(axis)]
        found.append(_bound(name, field, extent, least, most))
    found.append(_bound(name, "threads of a block", product(launch.block), 1, _MAX_THREADS))
    if launch.cluster is not None:
        blocks = product(launch.cluster)
        found.append(_bound(name, "blocks of a cluster", blocks, 1, _MAX_CLUSTER))
        for axis, grid, cluster in zip(_AXES, launch.grid, launch.cluster):
            if cluster == 0:  # fails the check of its least value
                continue
            rest = Expression("%", (grid, cluster))
            template = (
                f"grid.{axis} = {extent_text(grid)} must be a multiple of cluster.{axis} = "
                f"{extent_text(cluster)}, got remainder {{got}}"
            )
            found.append(Bound(rest, 0, 0, Failure("ValueError", f"{name}(): {template}")))
    return found


def _bound(name: str, field: str, extent: Extent, least: int, most: int) -> Bound:
    shown = "" if isinstance(extent, int) else f" = {extent_text(extent)}"
    template = f"{name}(): {field}{shown} must be from {least} to {most}, got {{got}}"
    return Bound(extent, least, most, Failure("ValueError", template))


def no_variant_failure(name: str, launches: Iterable[Launch]) -> Failure | None:
    """Return the `Failure` if no variant accepts a call; None if a variant has no condition."""
    if any(not launch.when for launch in launches):
        return None
    conditions = dict.fromkeys(" and ".join(map(str, launch.when)) for launch in launches)
    template = (
        f"{name}(): no launch variant accepts these arguments; expected {', or '.join(conditions)}"
    )
    return Failure("ValueError", literal_template(template))


def no_image_failure(name: str, launches: Iterable[Launch]) -> Failure:
    """Return the `Failure` of a launch on a GPU that can run none of the device images.

    The placeholders of the message are ``device``, ``gpu`` and ``architecture``.
    """
    images = dict.fromkeys(str(image) for launch in launches for image in launch.images)
    template = (
        f"{name}(): no device image runs on cuda:{{device}}, {{gpu}} ({{architecture}}); "
        f"expected one of {', '.join(images)}"
    )
    return Failure("RuntimeError", template)


# ---- checks of the members of a launch plan ------------------------------------------------------


def check_plan(signature: Signature, launches: tuple[Launch, ...]) -> None:
    """Raise ValueError unless the members of a launch plan are consistent."""
    if not launches:
        raise ValueError(
            f"{signature.name}: a launch plan needs at least one launch variant, got none"
        )
    _check_signature(signature)
    for launch in launches:
        _check_parts(launch)
        check_conditions(signature, launch.when)
        present = with_conditions(signature, launch.when)
        for field, extent in fields(launch).items():
            check_names(present, field, extent)
        for limit in bounds(signature.name, launch):
            _check_constant(limit)
        types = kernel_types(present, launch.arguments)
        for image in launch.images:
            for kernel in dict.fromkeys(launch.kernels.values()):
                _check_image(signature.name, launch, image, kernel, types)
        _check_written(signature, launch)


def _check_parts(launch: Launch) -> None:
    """Raise ValueError if a member of a launch variant is invalid on its own."""
    if not launch.images:
        raise ValueError("a launch variant needs at least one device image, got none")
    names = [str(image) for image in launch.images]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"duplicate device image: {name}")
    if len(names) > 1 and any(image.architecture is None for image in launch.images):
        raise ValueError(
            f"each of several device images must name its architecture, got {', '.join(names)}; "
            "a fatbin must be the only image"
        )
    for kernel in launch.kernels.values():
        if not kernel or "\0" in kernel:
            raise ValueError(f"expected the name of a kernel, got {kernel!r}")


def _check_signature(signature: Signature) -> None:
    for parameter in signature.parameters:
        accepted = accepted_type_names(parameter.type) or ()
        if {"str", "bytes"} & {*accepted}:
            raise ValueError(
                f"{signature.name}: parameter '{parameter.name}' is {type_text(parameter.type)}, "
                "which a kernel cannot take"
            )
    for result in signature.results:
        type_ = result.type
        if not isinstance(type_, TensorType):
            raise ValueError(
                f"{signature.name}: a kernel cannot return {type_text(type_)}; "
                "only tensors can be results"
            )
        if type_.device not in (None, "cuda"):
            raise ValueError(
                f"{signature.name}: a result is allocated on the device of the launch, "
                f"not on {type_.device}"
            )


def _check_constant(limit: Bound) -> None:
    """Raise ValueError if a launch size is constant and exceeds its limits."""
    if any(True for _ in names_in(limit.extent)):
        return
    value = evaluate(limit.extent, {})
    if not limit.least <= value <= limit.most:
        raise ValueError(limit.failure.message(got=value))


def _check_written(signature: Signature, launch: Launch) -> None:
    """Raise ValueError unless the kernel gets the address of all memory that it must write."""
    passed = {a.source for a in launch.arguments if a.kind in ("address", "value")}
    absent = compared_with_none(launch.when, "is")
    for parameter in signature.parameters:
        if parameter.is_written and parameter.name not in passed | absent:
            raise ValueError(
                f"{signature.name}: parameter '{parameter.name}' is '{parameter.direction}', but "
                f"its address is not passed to the kernel; add '{parameter.name}' to arguments"
            )
    for name in result_names(signature):
        if name not in passed:
            raise ValueError(
                f"{signature.name}: the address of result '{name}' is not passed to the kernel, so "
                f"the result would be uninitialized; add '{name}' to arguments"
            )


def _check_image(
    function: str, launch: Launch, image: DeviceImage, kernel: str, types: tuple[str, ...]
) -> None:
    if image.kernels is None:
        return
    if kernel not in image.kernels:
        listed = ", ".join(sorted(image.kernels)) or "none"
        raise ValueError(
            f"{function}: the {image} has no kernel '{kernel}'; its kernels are: {listed}"
        )
    wanted = image.kernels[kernel]
    if wanted is None:
        return
    where = f"{function}: kernel '{kernel}' of the {image}"
    if len(wanted) != len(types):
        raise ValueError(f"{where} takes {len(wanted)} arguments, got {len(types)}")
    for index, (size, type_, argument) in enumerate(zip(wanted, types, launch.arguments)):
        if size != size_of(type_):
            raise ValueError(
                f"{where} takes {size} bytes as argument {index}, got {size_of(type_)} for "
                f"'{argument}' ({type_})"
            )


# ---- kernel arguments ----------------------------------------------------------------------------


def size_of(type_: str) -> int:
    """Return the size in bytes of a kernel argument."""
    return 8 if type_ == "pointer" else 1 if type_ == "bool" else int(type_.lstrip("uintfloa")) // 8


def kernel_types(signature: Signature, arguments: Iterable[Argument]) -> tuple[str, ...]:
    """Return the types of kernel arguments: ``pointer``, ``bool``, or a C number type.

    Raises
    ------
    ValueError
        If a kernel cannot take one of the arguments.
    """
    return tuple(_kernel_type(signature, argument) for argument in arguments)


def _kernel_type(signature: Signature, argument: Argument) -> str:
    if argument.kind != "address" and argument.source in result_names(signature):
        raise ValueError(
            f"{signature.name}: '{argument}' is unknown until the result is allocated; "
            "pass fields of a parameter"
        )
    if argument.dtype is not None:
        return argument.dtype
    if argument.kind in ("address", "workspace", "null"):
        return "pointer"
    if argument.kind == "extent" or argument.axis is not None:
        return "int64"
    if argument.kind in _FIELD_TYPES:
        return _FIELD_TYPES[argument.kind]
    if argument.kind == "value":
        (parameter,) = (p for p in signature.parameters if p.name == argument.source)
        return _value_type(signature, parameter)
    raise ValueError(
        f"{signature.name}: '{argument}' is in host memory, which a kernel cannot read; "
        "pass extents and strides one by one"
    )


def _value_type(signature: Signature, parameter: Parameter) -> str:
    accepted = accepted_type_names(parameter.type) or ("",)
    if accepted[0] == "ctypes.c_void_p":
        return "pointer"
    if is_optional(parameter):
        raise ValueError(
            f"{signature.name}: parameter '{parameter.name}' may be None, which a kernel "
            "cannot take as a number"
        )
    if isinstance(parameter.type, ScalarType):
        return parameter.type.dtype
    return {"int": "int64", "float": "float64", "bool": "bool"}[accepted[0]]

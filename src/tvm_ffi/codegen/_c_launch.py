# SPDX-License-Identifier: Apache-2.0
"""C functions that launch kernels: device images, selection of a kernel, and the launch.

`CheckPrinter` prints the checks of the arguments, as for any wrapper. The code printed here follows
the checks and uses the support code in ``launch_support.h``.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..signature import TensorType
from ..signature._expression import Extent
from ._c_call import CallPrinter
from ._c_checks import CheckPrinter
from ._c_errors import fail
from ._c_source import Lines, literal, number
from ._call_errors import operation_failures
from ._device_image import DeviceImage
from ._launch import LaunchPlan
from ._launch_checks import (
    Bound,
    bounds,
    device_mismatches,
    device_parameter,
    fields,
    no_image_failure,
    no_variant_failure,
)
from ._launch_parts import Condition, Launch

__all__ = ["Images", "LaunchPrinter"]

_BYTES_PER_WORD, _WORDS_PER_LINE = 8, 4


class Images:
    """The distinct device images of all launch plans of a C file."""

    def __init__(self, plans: Sequence[LaunchPlan]) -> None:
        # A C file may contain several texts: the arrays have the name of the first plan.
        self._owner = plans[0].name if plans else "nothing"
        all_images = (
            image for plan in plans for launch in plan.launches for image in launch.images
        )
        self._images = list(dict.fromkeys(all_images))

    def element(self, image: DeviceImage) -> str:
        """Return the C expression of an image."""
        return f"launch_images_of_{self._owner}[{self._images.index(image)}]"

    def __str__(self) -> str:
        """Return the C definitions of the images."""
        names = [f"launch_bytes_{i}_of_{self._owner}" for i in range(len(self._images))]
        text = "".join(map(_image_definition, names, self._images))
        rows = [
            f"    {{{name}, {int(image.format == 'ptx')}, {image.generation[0]}, "
            f"{_character(image.generation[1])}, {{NULL}}}},\n"
            for name, image in zip(names, self._images)
        ]
        array = f"launch_images_of_{self._owner}"
        return f"{text}static launch_image {array}[] = {{\n{''.join(rows)}}};\n"


def _image_definition(name: str, image: DeviceImage) -> str:
    """Return an image as a C array of integers; it compiles faster than a string literal."""
    # Pad with at least one NUL byte, because the driver expects PTX to end with NUL.
    content = image.content + b"\0" * (_BYTES_PER_WORD - len(image.content) % _BYTES_PER_WORD)
    numbers = [
        f"0x{int.from_bytes(content[at : at + _BYTES_PER_WORD], 'little'):x}u"
        for at in range(0, len(content), _BYTES_PER_WORD)
    ]
    lines = [
        "    " + ", ".join(numbers[at : at + _WORDS_PER_LINE]) + ",\n"
        for at in range(0, len(numbers), _WORDS_PER_LINE)
    ]
    return f"static const uint64_t {name}[] = {{\n{''.join(lines)}}};\n"


def _character(text: str) -> str:
    return f"'{text}'" if text else "0"


class LaunchPrinter:
    """Prints the code of a launch plan that follows the checks of its arguments."""

    def __init__(
        self, plan: LaunchPlan, checks: CheckPrinter, lines: Lines, images: Images
    ) -> None:
        self._plan, self._checks, self._lines, self._images = plan, checks, lines, images

    def definitions(self) -> str:
        """Return the C definitions of the kernel tables, one table for each launch variant."""
        found = []
        for index, launch in enumerate(self._plan.launches):
            rows = [
                f"    {{&{self._images.element(image)}, {literal(name)}, "
                "{NULL}, {0}, {false}},\n"
                for name in launch.kernels.values()
                for image in launch.images
            ]
            name = self._kernels(index)
            found.append(f"static launch_kernel {name}[] = {{\n{''.join(rows)}}};\n")
        return "".join(found)

    def _kernels(self, index: int) -> str:
        return f"launch_kernels_of_{self._plan.name}_{index}"

    def print(self) -> None:
        """Print code that selects a launch variant (a kernel and a condition) and launches it."""
        self._same_device()
        self._conditions()
        self._device()
        self._select_kernel()
        for index, launch in enumerate(self._plan.launches):
            with self._lines.block("" if self._is_single else f"if (selected == {index})"):
                _VariantPrinter(self._plan, launch, self._checks, self._lines).print()
        if not self._is_single:
            self._lines.add("return -1; /* unreachable: a launch variant was selected above */")

    @property
    def _is_single(self) -> bool:
        return len(self._plan.launches) == 1

    def _same_device(self) -> None:
        first = device_parameter(self._plan.signature)
        for parameter, failure in device_mismatches(self._plan.signature):
            assert first is not None
            expected = f"{self._checks.argument(first.name)}->device.device_id"
            local = self._checks.argument(parameter.name)
            got = f"{local}->device.device_id"
            guard = f"{local} != NULL && "
            failing = fail(failure, expected=expected, got=got)
            self._lines.add(f"if ({guard}{got} != {expected}) {failing}")

    # ---- selection of the launch variant -----------------------------------------------------

    def _conditions(self) -> None:
        """Print the evaluation of the condition under which each launch variant is selected."""
        names = []
        for index, launch in enumerate(self._plan.launches):
            self._lines.add(f"bool condition{index} = true;")
            names.append(f"condition{index}")
            for condition in launch.when:
                # A condition is evaluated only up to the first comparison that fails.
                with self._lines.block(f"if (condition{index})"):
                    self._lines.add(f"condition{index} = {self._condition(condition)};")
        failure = no_variant_failure(self._plan.name, self._plan.launches)
        if failure is not None:
            self._lines.add(f"if (!({' || '.join(names)})) {fail(failure)}")

    def _condition(self, condition: Condition) -> str:
        """Print the evaluation of a comparison's operands; return the C comparison."""
        if condition.right is not None:
            left, right = map(self._value, condition.operands)
            return f"{left} {condition.operator} {right}"
        presence = self._checks.presence(str(condition.left))
        return f"!{presence}" if condition.operator == "is" else presence

    def _value(self, extent: Extent) -> str:
        return self._checks.expression(extent, operation_failures(f"{self._plan.name}(): ", extent))

    def _device(self) -> None:
        """Print the lookup of the device on which the kernel runs."""
        first = device_parameter(self._plan.signature)
        if first is None:
            self._lines.add("int device_id = 0;")
            self._lines.add("if (launch_current_device(&device_id) != 0) return -1;")
        else:
            local = self._checks.argument(first.name)
            self._lines.add(f"const int device_id = {local}->device.device_id;")
        self._lines.add("const launch_device* device = launch_device_of(device_id);")
        self._lines.add("if (device == NULL) return -1;")

    def _select_kernel(self) -> None:
        """Print the selection of the first variant with a true condition and a usable image."""
        self._lines.add("launch_kernel* kernel = NULL;")
        if not self._is_single:
            self._lines.add("int selected = -1;")
        for index, launch in enumerate(self._plan.launches):
            kernels, count = self._kernels(index), len(launch.images)
            offset = self._offset(launch)
            selection = (
                f"kernel = launch_select_kernel({kernels}{offset}, {count}, device->capability);"
            )
            with self._lines.block(f"if (kernel == NULL && condition{index})"):
                self._lines.add(selection)
                if not self._is_single:
                    self._lines.add(f"if (kernel != NULL) selected = {index};")
        (first, _), (second, _), (third, _), *rest = no_image_failure(
            self._plan.name, self._plan.launches
        ).parts()
        pieces = [first, "device_id", second, third, rest[0][0] if rest else ""]
        texts = [piece if piece == "device_id" else literal(piece) for piece in pieces]
        self._lines.add(f"if (kernel == NULL) return launch_fail_image({', '.join(texts)});")

    def _offset(self, launch: Launch) -> str:
        """Return the C expression of the offset in the kernel table that the dtypes select."""
        index = ""
        for name, dtypes in self._plan.signature.dtype_variables.items():
            variable_index = self._checks.dtype_name(name)
            index = f"({index}) * {len(dtypes)} + {variable_index}" if index else variable_index
        return f" + ({index}) * {len(launch.images)}" if index else ""


class _VariantPrinter(CallPrinter):
    """Prints the launch of one variant of a plan; memory is allocated on the launch device."""

    def __init__(
        self, plan: LaunchPlan, launch: Launch, checks: CheckPrinter, lines: Lines
    ) -> None:
        super().__init__(plan.wrapper_of(launch), checks, lines, is_declared=False)
        self._launch = launch

    def print(self) -> None:
        """Print the checks of the launch configuration, the allocations and the launch."""
        values = [self._bounded(bound) for bound in bounds(self._wrapper.name, self._launch)]
        self.prepare()
        self._values_of_arguments()
        numbers = [f"(unsigned){value}" for value in values[: len(fields(self._launch))]]
        self._lines.add(f"const launch_numbers numbers = {{{', '.join(numbers)}}};")
        flags = (
            (self._launch.cluster is not None)
            + 2 * self._launch.cooperative
            + 4 * self._launch.programmatic
        )
        arguments = "arguments" if self._wrapper.arguments else "NULL"
        call = f"launch_run(kernel, device, device_id, numbers, {flags}u, {arguments})"
        if self._has_memory():
            self._lines.add(f"const int code = {call};")
            self.release_workspaces()
            with self._lines.block("if (code != 0)"):
                self._release([f"{local}_handle" for local in self._tensors.values()])
                self._lines.add("return code;")
        else:
            self._lines.add(f"if ({call} != 0) return -1;")
        self._return()

    def _has_memory(self) -> bool:
        return bool(self._tensors) or any(
            argument.kind == "workspace" for argument in self._wrapper.arguments
        )

    def _bounded(self, bound: Bound) -> str:
        """Print the evaluation and range check of a launch size; return its C expression."""
        failures = operation_failures(f"{self._wrapper.name}(): ", bound.extent)
        value = self._checks.expression(bound.extent, failures)
        if not isinstance(bound.extent, int):
            tests = f"{value} < {number(bound.least)} || {value} > {number(bound.most)}"
            self._lines.add(f"if ({tests}) {fail(bound.failure, got=value)}")
        return value

    def _values_of_arguments(self) -> None:
        """Print a variable for each kernel argument, and the array of their addresses."""
        names = []
        for position, argument in enumerate(self._wrapper.arguments):
            type_ = self._type_of(argument, {}).replace("const ", "")
            type_ = "void*" if type_.endswith("*") else type_
            value = self._value(position, argument, {})
            self._lines.add(f"{type_} argument{position} = ({type_})({value});")
            names.append(f"&argument{position}")
        if names:
            self._lines.add(f"void* arguments[] = {{{', '.join(names)}}};")

    def _device_of(self, type_: TensorType) -> str:
        return self._device_of_call()

    def _device_of_call(self) -> str:
        return "TVMFFIDLDeviceFromIntPair(kDLCUDA, device_id)"

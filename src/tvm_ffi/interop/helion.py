# SPDX-License-Identifier: Apache-2.0
"""Helion adapter: kernels compiled ahead of time to functions that need no Helion and no Python.

::

    module = to_module(matmul, (x, y), helion.Config(block_sizes=[64, 64, 32]), target=90)
    print(module.get_function_signature("matmul"))

Helion generates a Triton kernel, and host code in Python that allocates tensors and launches the
kernel.  The adapter runs the host code once, on fake tensors and without a GPU, records the launch,
and converts it to a launch plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..codegen import LaunchPlan, launch_module
from ..signature._types import checked_alignment
from ._versions import load

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["to_module", "to_plan"]

_helion = load("helion", "1.5.1", "1.5.1")

# The modules below import torch and Triton, so the check that Helion is installed comes first.
from . import triton as _triton  # noqa: E402
from ._helion.captured_launch import CapturedLaunch  # noqa: E402
from ._helion.host_call import HostCall  # noqa: E402

Config = Any  # helion.Config, or a mapping of its settings


def to_module(
    kernel: Any,
    example_args: Sequence[Any],
    config: Config | None = None,
    *,
    target: _triton.Target | Sequence[_triton.Target],
    alignment: int | None = None,
) -> Module:
    """Return a module with one function that launches a Helion kernel.

    Parameters
    ----------
    kernel, example_args, config, target, alignment
        See `to_plan`.

    Returns
    -------
    Module
        A module of kind ``"cuda_driver"``.  It can be exported to a library, which is loaded
        without Helion and Python.

    Raises
    ------
    TypeError, ValueError
        See `to_plan`.
    """
    plan = to_plan(kernel, example_args, config, target=target, alignment=alignment)
    return launch_module(plan)


def to_plan(
    kernel: Any,
    example_args: Sequence[Any],
    config: Config | None = None,
    *,
    target: _triton.Target | Sequence[_triton.Target],
    alignment: int | None = None,
) -> LaunchPlan:
    """Compile a Helion kernel ahead of time and return its launch plan.

    Parameters
    ----------
    kernel : helion.Kernel
        A function decorated with ``@helion.kernel()``.
    example_args : sequence
        Arguments of an example call, on any device including ``"meta"``.  The tensors determine
        dtypes and numbers of dimensions.  They also determine extents if the kernel has static
        shapes, which is Helion's default.  With ``static_shapes=False``, callers may pass other
        extents unless the kernel specializes on them.
    config : helion.Config or mapping, optional
        Configuration to compile; default: the kernel's only one.  The kernel is not autotuned.
    target : int, str or GPUTarget, or a sequence of them
        Compute capabilities to compile for: ``90``, ``"sm_90"``.
    alignment : int, optional
        Required alignment of all tensor arguments in bytes, a power of two.  With 16 or more, the
        kernel may use 16-byte loads, but calls with slices of tensors may be rejected.

    Returns
    -------
    LaunchPlan
        The launch plan.  Its signature has the kernel's parameters without compile-time constants,
        and returns the tensors that the kernel allocates.  Extents are named after the tensor and
        the dimension: ``x0``.

    Raises
    ------
    TypeError
        If `kernel` is not a Helion kernel, or an example argument has an unsupported type.
    ValueError
        If the host code launches several kernels, or the launch needs a feature that launch plans
        do not support.

    Notes
    -----
    Comparisons of sizes on which the host code or the compiler relied become conditions of the
    launch: a call that does not satisfy them is an error.  Tensors are compact.  Tensors that the
    kernel writes are ``inout`` parameters and are not returned, even if the kernel returns them.
    Exceptions of Helion and Triton propagate unchanged.
    """
    _check_kernel(kernel)
    if alignment is not None:
        checked_alignment(alignment)
    arguments = _arguments(kernel, example_args)
    config = _config(kernel, config)
    _check_grid(kernel, config)
    # Compile a new kernel object, because the caller's object may be bound to fixed sizes already.
    fresh = _helion.Kernel(kernel.fn, configs=[config], settings=kernel.settings)
    bound = fresh.bind(arguments)
    num_guards = len(bound.env.shape_env.guards)
    host = bound.compile_config(config, allow_print=False)
    call = HostCall(kernel.name, kernel.signature.parameters, arguments, bound.fake_args, bound.env)
    call.add_guards(bound.env.shape_env.guards[num_guards:])
    call.run(host)
    launch = CapturedLaunch(call, alignment)
    return _triton.to_plan(
        launch.kernel,
        launch.signature,
        constexprs=launch.constants,
        grid=launch.grid,
        target=target,
        options=launch.options,
        arguments=launch.arguments,
        element_types=launch.element_types,
        when=launch.when or None,
    )


def _check_kernel(kernel: Any) -> None:
    if not isinstance(kernel, _helion.Kernel):
        raise TypeError(
            f"kernel: expected a kernel made by helion.kernel, got {type(kernel).__name__}"
        )
    if kernel.settings.backend != "triton":
        raise ValueError(
            f"{kernel.name}: expected a kernel for Helion's backend 'triton', got backend "
            f"'{kernel.settings.backend}'"
        )
    if kernel.settings.ref_mode != _helion.RefMode.OFF:
        raise ValueError(
            f"{kernel.name}: expected a compiled kernel, got an interpreted one; unset "
            "HELION_INTERPRET and ref_mode"
        )


def _arguments(kernel: Any, example_args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the example arguments, followed by the defaults of the remaining parameters."""
    if not isinstance(example_args, (tuple, list)):
        kind = type(example_args).__name__
        raise TypeError(f"{kernel.name}: example_args: expected a tuple of arguments, got {kind}")
    try:
        normalized: tuple[Any, ...] = kernel.normalize_args(*example_args)
    except TypeError as error:
        raise TypeError(f"{kernel.name}: example_args: {error}") from None
    return normalized


def _config(kernel: Any, config: Config | None) -> Any:
    if config is None:
        if len(kernel.configs) != 1:
            raise ValueError(
                f"{kernel.name}: expected config= for a kernel with {len(kernel.configs)} configs; "
                "pass the result of `kernel.autotune`, or helion.Config(...)"
            )
        return kernel.configs[0]
    if isinstance(config, _helion.Config):
        return config
    if not isinstance(config, Mapping):
        kind = type(config).__name__
        raise TypeError(f"{kernel.name}: config: expected a helion.Config or a mapping, got {kind}")
    return _helion.Config(**config)


def _check_grid(kernel: Any, config: Any) -> None:
    scheme = str(config.config.get("pid_type", "flat"))
    if scheme.startswith("persistent"):
        raise ValueError(
            f"{kernel.name}: the grid of a config with pid_type '{scheme}' depends on the number "
            "of multiprocessors, which a launch plan does not know; use 'flat' or 'xyz'"
        )

# SPDX-License-Identifier: Apache-2.0
"""Kernels of Helion as functions that run where there is neither Helion, nor torch, nor Python.

::

    module = to_module(matmul, (x, y), helion.Config(block_sizes=[64, 64, 32]), target=90)
    print(module.get_function_signature("matmul"))

Helion writes a kernel of Triton and host code that allocates and launches.  The host code is run
once, without a GPU and on tensors without contents: what it launches becomes a launch plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..codegen import LaunchPlan, launch_module
from ..signature._types import checked_alignment
from ._tried import load

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["to_module", "to_plan"]

_helion = load("helion", "1.5.1", "1.5.1")

# Behind it, as these need what Helion brings.
from . import triton as _triton  # noqa: E402
from ._helion.captured import Captured  # noqa: E402
from ._helion.parameters import Call  # noqa: E402

Config = Any  # helion.Config, or a mapping of its settings


def to_module(
    kernel: Any,
    example_args: Sequence[Any],
    config: Config | None = None,
    *,
    target: _triton.Target | Sequence[_triton.Target],
    alignment: int | None = None,
) -> Module:
    """Return a module with one function, which does what a kernel does.

    Parameters
    ----------
    kernel, example_args, config, target, alignment
        As in `to_plan`.

    Returns
    -------
    Module
        Of kind ``"cuda_driver"``: it can be exported, and loaded without Helion and Python.

    Raises
    ------
    TypeError
        If it is no kernel of Helion, or arguments are of another kind.
    ValueError
        If the kernel needs more than one launch, or what plans do not have.
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
    """Compile a kernel ahead of time; return how it is launched.

    Parameters
    ----------
    kernel : helion.Kernel
        What ``@helion.kernel()`` made.
    example_args : sequence
        Arguments of a call, on any device, also on ``"meta"``.  Tensors say dtypes and dimensions,
        and for a kernel with static shapes, as Helion's default has it, extents.  With
        ``static_shapes=False`` extents may be others, where the kernel does not specialize on them.
    config : helion.Config or mapping, optional
        How the kernel is compiled; by default the only one that the kernel has.  Nothing is tuned.
    target : int, str or GPUTarget, or a sequence of them
        Compute capabilities to compile for: ``90``, ``"sm_90"``.
    alignment : int, optional
        Bytes of which the addresses of all tensors that are passed must be multiples, a power of
        two.  From 16 on the kernel may load 16 bytes at once; slices may then be refused.

    Returns
    -------
    LaunchPlan
        Its signature has the kernel's parameters, but for those that are constants of it, and
        returns the tensors that the kernel allocates.  Extents are called after tensor and
        dimension: ``x0``.

    Raises
    ------
    TypeError
        If it is no kernel of Helion, or arguments are of another kind.
    ValueError
        If the kernel needs more than one launch, or what plans do not have.

    Notes
    -----
    Sizes that the host code or the compiler relied on become conditions of the launch: a call with
    others is an error.  Tensors are compact, and those that the kernel writes to are ``inout``;
    they are not returned, also where the kernel does.  What Helion and Triton raise while they
    compile is passed on.
    """
    _check_kernel(kernel)
    if alignment is not None:
        checked_alignment(alignment)
    arguments = _arguments(kernel, example_args)
    config = _config(kernel, config)
    _check_grid(kernel, config)
    # Not the kernel itself: what it has been bound to before would have its sizes known already.
    fresh = _helion.Kernel(kernel.fn, configs=[config], settings=kernel.settings)
    bound = fresh.bind(arguments)
    before = len(bound.env.shape_env.guards)
    host = bound.compile_config(config, allow_print=False)
    call = Call(kernel.name, kernel.signature.parameters, arguments, bound.fake_args, bound.env)
    call.rely_on(bound.env.shape_env.guards[before:])
    call.run(host)
    captured = Captured(call, alignment)
    return _triton.to_plan(
        captured.kernel,
        captured.signature,
        constexprs=captured.constants,
        grid=captured.grid,
        target=target,
        options=captured.options,
        arguments=captured.arguments,
        element_types=captured.element_types,
        when=captured.when,
    )


def _check_kernel(kernel: Any) -> None:
    if not isinstance(kernel, _helion.Kernel):
        raise TypeError(
            f"expected a kernel that helion.kernel has made, got {type(kernel).__name__}"
        )
    if kernel.settings.backend != "triton":
        raise ValueError(
            f"{kernel.name}: launch plans are made of Helion's backend 'triton', and the kernel's "
            f"is '{kernel.settings.backend}'"
        )
    if kernel.settings.ref_mode != _helion.RefMode.OFF:
        raise ValueError(
            f"{kernel.name}: the kernel is interpreted, and not compiled; is HELION_INTERPRET set?"
        )


def _arguments(kernel: Any, example_args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the examples, behind them the defaults of what is left out."""
    if not isinstance(example_args, (tuple, list)):
        kind = type(example_args).__name__
        raise TypeError(f"{kernel.name}: example_args is a tuple of arguments, got {kind}")
    try:
        normalized: tuple[Any, ...] = kernel.normalize_args(*example_args)
    except TypeError as error:
        raise TypeError(f"{kernel.name}: example_args: {error}") from None
    return normalized


def _config(kernel: Any, config: Config | None) -> Any:
    if config is None:
        if len(kernel.configs) != 1:
            raise ValueError(
                f"{kernel.name}: config is needed, as the kernel has {len(kernel.configs)} of its "
                "own; the one that `kernel.autotune` returns, or helion.Config(...)"
            )
        return kernel.configs[0]
    if isinstance(config, _helion.Config):
        return config
    if not isinstance(config, Mapping):
        kind = type(config).__name__
        raise TypeError(f"{kernel.name}: config is a helion.Config or a mapping, got {kind}")
    return _helion.Config(**config)


def _check_grid(kernel: Any, config: Any) -> None:
    scheme = str(config.config.get("pid_type", "flat"))
    if scheme.startswith("persistent"):
        raise ValueError(
            f"{kernel.name}: a config with pid_type '{scheme}' launches as many programs as the "
            "GPU that is there has multiprocessors, which a launch plan does not know; use 'flat' "
            "or 'xyz'"
        )

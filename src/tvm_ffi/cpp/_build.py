# SPDX-License-Identifier: Apache-2.0
"""Builds in the cache: run the steps of a recipe in a private folder, then publish the product.

A recipe may have precompiled headers as a first step.  That step has its own recipe, cache key and
product; the same function (`_build_and_publish`) builds both recipes.

A single source is compiled and linked without ninja, because starting ninja takes a large part of
the build time.  Several sources are compiled in parallel by ninja if it is installed.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..builds import LateBuildError, announce
from ._cache_store import CacheEntry, Manifest
from ._command import PRIVATE_UMASK, build_log, command_error, log, run_command, warn_of
from ._files import content_digest, file_identity, write_if_changed
from ._freshness import Dependencies, collect_dependencies
from ._ninja import NINJA_FILE, find_ninja, ninja_text, output_of_commands, run_ninja
from ._precompiled import DamagedHeadersError, PrecompiledHeaders, wanted_headers
from ._progress import progress_line
from ._reasons import build_reasons, miss_reasons
from ._recipe import Recipe, Step, only_compiler

__all__ = ["build_in_cache"]

_MAX_REBUILDS = 5


def build_in_cache(recipe: Recipe, entry: CacheEntry, is_verbose: bool = False) -> Path:
    """Build and publish the product of a recipe, unless another process has published it.

    Parameters
    ----------
    recipe : Recipe
        The recipe to build.
    entry : CacheEntry
        The recipe's artifacts and lock in the build cache.
    is_verbose : bool
        True to print the build log to the standard error stream.

    Returns
    -------
    path
        Path of the product in the cache.
    """
    output = ""
    with build_log(is_verbose), progress_line(f"building {recipe.name}"), entry.lock():
        # Another process may have built the product while this process waited for the lock.
        product = entry.find()
        if product is None:
            headers = wanted_headers(recipe.precompiled, entry.cache)
            if headers is not None and headers.product is None:
                _build_headers(headers)
            product, output = _build_and_publish(recipe, entry, headers)
    warn_of(recipe.name, output)  # after the build, because a filter may raise the warning
    return product


def _build_headers(headers: PrecompiledHeaders) -> None:
    """Build and publish precompiled headers; if the build fails, disable them for a day."""
    try:
        with headers.entry.lock():
            if not headers.find():
                entry = headers.entry
                announce(
                    "precompiled headers",
                    headers.recipe.name,
                    key=entry.key.digest,
                    reasons=lambda: miss_reasons(entry),
                )
                _build_and_publish(headers.recipe, headers.entry, None)
                headers.find()
    except (PermissionError, LateBuildError):
        # Another user may write to the cache, or the policy forbids it: the whole build must fail.
        raise
    except (RuntimeError, OSError) as error:
        headers.disable(error)
    else:
        headers.prune()


def _build_and_publish(
    recipe: Recipe, entry: CacheEntry, headers: PrecompiledHeaders | None
) -> tuple[Path, str]:
    """Build a recipe in a staging folder and publish it; the caller must hold the entry's lock.

    Returns the path of the product, and the output of the commands.
    """
    with entry.staging() as folder:
        try:
            return _publish_from(folder, recipe, entry, headers)
        except (OSError, RuntimeError):
            if folder.is_dir():
                raise
    # Another process, or the user, has removed the folder during the build.
    with entry.staging() as folder:
        return _publish_from(folder, recipe, entry, headers)


def _publish_from(
    folder: Path, recipe: Recipe, entry: CacheEntry, headers: PrecompiledHeaders | None
) -> tuple[Path, str]:
    start = time.perf_counter()
    for name, content in recipe.files.items():
        write_if_changed(folder / name, content)
    dependencies, output = _build_consistently(recipe, folder, headers)
    _remove_intermediates(folder, {*recipe.files, recipe.product, NINJA_FILE})
    manifest = Manifest(
        name=recipe.name,
        product=recipe.product,
        size_bytes=(folder / recipe.product).stat().st_size,
        content=content_digest(folder / recipe.product),
        base=entry.key.digest,
        parts=entry.key.inputs,
        dependencies=dependencies.converted(recipe.portable.path),
        folders=dict(recipe.portable.folders),
        created=time.time(),
        build_seconds=round(time.perf_counter() - start, 3),
        reasons=[],
    )
    manifest.reasons.extend(build_reasons(manifest, entry.cache, recipe.portable.actual))
    log("built %s because: %s", recipe.name, "; ".join(manifest.reasons))
    return entry.publish(folder, manifest), output


def _build_consistently(
    recipe: Recipe, folder: Path, headers: PrecompiledHeaders | None
) -> tuple[Dependencies, str]:
    """Build again until no header changes during a build; return the dependencies and the output.

    Headers are hashed after a build, so a header that is saved during a build may be compiled in
    its old form and hashed in its new form.  The headers are known only after the first build.  The
    first build is therefore checked by the headers' change times, and each later build by their
    identities (inode, size and change time).
    """
    start = _file_system_time()
    dependencies, output = _build_once(recipe, folder, headers)
    changed = [path for path in dependencies.own if _has_changed_since(path, start)]
    for _ in range(_MAX_REBUILDS):
        if not changed:
            return dependencies, output
        log("building %s again: %s changed during the build", recipe.name, ", ".join(changed))
        before = {path: file_identity(path) for path in dependencies.own}
        dependencies, further = _build_once(recipe, folder, headers)
        output += "" if further in output else further  # ninja runs only some commands again
        changed = [path for path in dependencies.own if file_identity(path) != before.get(path)]
    raise RuntimeError(
        f"{recipe.name} was not built: expected headers that do not change during a build, got "
        f"changes of {changed[0]} during {_MAX_REBUILDS + 1} builds"
    )


def _build_once(
    recipe: Recipe, folder: Path, headers: PrecompiledHeaders | None
) -> tuple[Dependencies, str]:
    """Compile with precompiled headers if they exist; if that fails, compile without them.

    Returns the dependencies, and the output of the commands.
    """
    has_failed = False
    if headers is not None and headers.product is not None and headers.manifest is not None:
        try:
            steps = headers.use_in(folder, recipe.steps)
            output = _run_steps(steps, folder, headers.check_content)
            known = headers.manifest.dependencies.converted(headers.recipe.portable.actual)
            return collect_dependencies(recipe, folder, known), output
        except DamagedHeadersError:
            headers.remove_damaged()
        except RuntimeError:  # the build without precompiled headers reports errors in the source
            has_failed = True
    output = _run_steps(recipe.steps, folder)
    if has_failed and headers is not None:
        headers.give_up()
    return collect_dependencies(recipe, folder), output


def _file_system_time() -> float:
    """Return the current time of the kernel clock that sets the change times of files."""
    clock = getattr(time, "CLOCK_REALTIME_COARSE", None)
    return time.time() - 0.02 if clock is None else time.clock_gettime(clock)


def _has_changed_since(path: str, start: float) -> bool:
    try:
        return os.stat(path).st_ctime >= start  # noqa: PTH116
    except OSError:
        return True


def _run_steps(
    steps: Sequence[Step], folder: Path, while_compiling: Callable[[], None] | None = None
) -> str:
    """Run the steps of a build in a build folder; return their output.

    `while_compiling` is a function that is called while the compiler runs, if there is only one
    source.  For several sources it is not called.
    """
    if only_compiler(steps) is None and find_ninja() is not None:
        return _run_by_ninja(steps, folder)
    outputs = []
    for step in steps:
        line = shlex.join(step.command)
        try:
            done = run_command(step.command, folder, PRIVATE_UMASK, while_compiling)
        except BaseException:
            log("%s\nthis command was stopped", line)
            raise
        while_compiling = None
        outputs.append(done.stdout + done.stderr)
        log("%s\n%s", line, outputs[-1])
        if done.returncode != 0:
            output = done.stderr + done.stdout
            failed = f"FAILED: {step.output}\n{line}"
            raise command_error(Path(step.command[0]).name, done.returncode, failed, output)
    return "".join(outputs)


def _run_by_ninja(steps: Sequence[Step], folder: Path) -> str:
    """Run steps in parallel with ninja; return their output."""
    (folder / NINJA_FILE).write_text(ninja_text(steps), encoding="utf-8")
    return output_of_commands(run_ninja(folder, umask=PRIVATE_UMASK), steps)


def _remove_intermediates(folder: Path, kept: set[str]) -> None:
    """Remove intermediate files; keep the product, and the sources for debuggers."""
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()

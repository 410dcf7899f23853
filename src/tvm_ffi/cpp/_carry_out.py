# SPDX-License-Identifier: Apache-2.0
"""Carrying out a plan, where looking it up was not enough.

In the cache, one source is compiled and linked without ninja, whose start would be a good part of
the time; several sources are compiled at the same time by ninja, where there is one.  A folder that
the caller names always has a file for ninja, which decides there what is out of date.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ._command import ALL_OF_OTHERS, failure, log, log_as_wished, run_command
from ._dependencies import Dependencies, collect
from ._files import content_of, identity_of, lock_of, write_if_changed
from ._manifest import Manifest, differences
from ._plan import Plan, our_include_paths
from ._progress import shown_when_long
from ._source import CPP_MAIN
from ._store import Store
from ._trust import check_build_folder, users_folder

if TYPE_CHECKING:
    from ._precompiled import PrecompiledHeaders

__all__ = ["build_in_cache", "build_in_folder"]

NINJA_FILE = "build.ninja"
_NINJAS_OWN = (".ninja_log", ".ninja_deps", ".ninja_lock")
_LOCK_FILE = "lock"

_MOST_ATTEMPTS = 5
# Reading all that was ever built under a name would take longer with each build.
_MOST_COMPARED = 8


def build_in_folder(plan: Plan, folder: Path, is_verbose: bool = False) -> Path:
    """Bring a folder up to date and return the product in it; one process at a time."""
    from ._ninja import ninja_text, run_ninja

    users_folder(folder)
    check_build_folder(folder, _names_used(plan))
    with log_as_wished(is_verbose), lock_of(folder / _LOCK_FILE, 0o644):
        for name, content in plan.files.items():
            write_if_changed(folder / name, content)
        write_if_changed(folder / NINJA_FILE, ninja_text(plan.steps, plan.product))
        with shown_when_long(f"building {plan.name}"):
            run_ninja(folder, _only_compiler(plan))
    return folder / plan.product


def _names_used(plan: Plan) -> set[str]:
    """Return the names in a build folder that are read or written: by us, ninja, compilers."""
    of_steps = (name for step in plan.steps for name in (*step.inputs, step.output, step.depfile))
    return {_LOCK_FILE, NINJA_FILE, *_NINJAS_OWN, *plan.files, *of_steps}


def build_in_cache(plan: Plan, base: str, store: Store, is_verbose: bool = False) -> Path:
    """Build and publish the product of a plan, unless another process is doing that."""
    with log_as_wished(is_verbose), shown_when_long(f"building {plan.name}"):
        return _build_alone(plan, base, store)


def _build_alone(plan: Plan, base: str, store: Store) -> Path:
    with store.lock(plan.name, base):
        found = store.find(plan.name, base, plan.product)
        return found or _build_and_publish(plan, base, store)


def _build_and_publish(plan: Plan, base: str, store: Store) -> Path:
    start = time.perf_counter()
    with store.staging(plan.name, base) as folder:
        for name, content in plan.files.items():
            write_if_changed(folder / name, content)
        dependencies = _build_consistently(plan, folder, store)
        _remove_intermediates(plan, folder)
        manifest = Manifest(
            name=plan.name,
            product=plan.product,
            size_bytes=(folder / plan.product).stat().st_size,
            content=content_of(folder / plan.product),
            base=base,
            parts=dict(plan.parts),
            dependencies=dependencies,
            created=time.time(),
            build_seconds=round(time.perf_counter() - start, 3),
            reasons=[],
        )
        manifest.reasons.extend(_reasons(manifest, store))
        log("built %s: %s", plan.name, "; ".join(manifest.reasons))
        return store.publish(folder, manifest)


def _build_consistently(plan: Plan, folder: Path, store: Store) -> Dependencies:
    """Build until no file was changed meanwhile; return the files that were read.

    What the compiler has read is hashed after the build.  A header that somebody saves during the
    build could have been read before and be hashed after that.  Which headers to watch is known
    after the first attempt; for this one their time of change has to do.
    """
    start = _file_system_time()
    dependencies = _build_once(plan, folder, store)
    changed = [path for path in dependencies.own if _is_changed_since(path, start)]
    for _ in range(_MOST_ATTEMPTS):
        if not changed:
            return dependencies
        log("building %s again: %s changed meanwhile", plan.name, ", ".join(changed))
        before = {path: identity_of(path) for path in dependencies.own}
        dependencies = _build_once(plan, folder, store)
        changed = [path for path in dependencies.own if identity_of(path) != before.get(path)]
    raise RuntimeError(f"{plan.name} cannot be built: {changed[0]} changes all the time")


def _build_once(plan: Plan, folder: Path, store: Store) -> Dependencies:
    if CPP_MAIN not in plan.files:  # only text of ours has headers that are known beforehand
        _run_steps(plan, folder)
        return collect(plan, folder, our_include_paths())
    from ._precompiled import find_headers

    headers = find_headers(plan, store, _build_alone)
    if headers is not None:
        return _build_with(headers, plan, folder, store)
    _run_steps(plan, folder)
    return collect(plan, folder, our_include_paths())


def _build_with(
    headers: PrecompiledHeaders, plan: Plan, folder: Path, store: Store
) -> Dependencies:
    """Build with precompiled headers, and without them if that fails or they are damaged."""
    from ._precompiled import (
        DamagedHeadersError,
        check_content,
        give_up,
        remove_damaged,
        with_headers,
    )

    try:
        steps = with_headers(plan, folder, headers)
        _run_steps(steps, folder, lambda: check_content(headers))
        return collect(plan, folder, our_include_paths(), headers.manifest.dependencies)
    except DamagedHeadersError:
        remove_damaged(headers, store)
        has_failed = False
    except RuntimeError:  # what is wrong is said without them
        has_failed = True
    _run_steps(plan, folder)
    if has_failed:
        give_up(headers, store)
    return collect(plan, folder, our_include_paths())


def _file_system_time() -> float:
    """Return the time in the steps in which the kernel notes changes of files."""
    clock = getattr(time, "CLOCK_REALTIME_COARSE", None)
    return time.time() - 0.02 if clock is None else time.clock_gettime(clock)


def _is_changed_since(path: str, start: float) -> bool:
    try:
        return os.stat(path).st_ctime >= start  # noqa: PTH116
    except OSError:
        return True


def _only_compiler(plan: Plan) -> str | None:
    """Return what compiles the only source; None when there are several."""
    compilers = [step.command[0] for step in plan.steps if step.level == 0]
    return Path(compilers[0]).name if len(compilers) == 1 else None


def _run_steps(plan: Plan, folder: Path, meanwhile: Callable[[], None] | None = None) -> None:
    """Run the commands of a plan; `meanwhile` is called while the first of one compiler runs."""
    if _only_compiler(plan) is None and _run_by_ninja(plan, folder):
        return
    for step in plan.steps:
        line = shlex.join(step.command)
        try:
            done = run_command(step.command, folder, ALL_OF_OTHERS, meanwhile)
        except BaseException:
            log("%s\nwas stopped", line)
            raise
        meanwhile = None
        log("%s\n%s", line, done.stdout + done.stderr)
        if done.returncode != 0:
            said = done.stderr + done.stdout
            failed = f"FAILED: {step.output}\n{line}"
            raise failure(Path(step.command[0]).name, done.returncode, failed, said)


def _run_by_ninja(plan: Plan, folder: Path) -> bool:
    """Run several commands at the same time; False where there is no ninja."""
    from ._ninja import find_ninja, ninja_text, run_ninja

    if find_ninja() is None:
        return False
    (folder / NINJA_FILE).write_text(ninja_text(plan.steps, plan.product), encoding="utf-8")
    run_ninja(folder, denied=ALL_OF_OTHERS)
    return True


def _remove_intermediates(plan: Plan, folder: Path) -> None:
    """Keep the product, and the sources for debuggers."""
    kept = {*plan.files, plan.product, NINJA_FILE}
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()


def _reasons(new: Manifest, store: Store) -> list[str]:
    """Return why something had to be built, compared with the one most like it of the last ones."""
    others = list(store.newest(new.name, _MOST_COMPARED))
    if not others:
        return [f"nothing named {new.name} was built here before"]
    compared = [(len(found := differences(old, new)), -old.created, found) for old in others]
    return min(compared)[2] or ["what was built before is gone or damaged"]

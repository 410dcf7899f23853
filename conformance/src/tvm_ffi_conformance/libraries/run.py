# SPDX-License-Identifier: Apache-2.0
"""Conformance run of a library: static checks, then calls by signature."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any

from .. import abi
from ..callers.library import build
from ..elf import LibraryFile, NotLoadable, machine_name
from ..results import Entry, Results, file_hash
from ..runtimes.case import REGISTRY, Case
from ..runtimes.execution import environment, execute
from . import static
from .calls import describe, register_calls
from .checked import register_checked
from .signature import Signature, parse
from .worker import METADATA


def find_runtime() -> str | None:
    """Return the path of the runtime of an installed package `tvm_ffi`, without importing it."""
    import importlib.util

    found = importlib.util.find_spec("tvm_ffi")
    for folder in (found.submodule_search_locations or []) if found else []:
        path = Path(folder) / "lib" / abi.SONAME
        if path.exists():
            return str(path)
    return None


def run_library(
    path: str,
    *,
    runtime: str | None = None,
    signatures: list[str] | None = None,
    static_only: bool = False,
    pattern: str = "",
    limit: float = 5.0,
    until_failure: bool = False,
) -> Results:
    """Check a library of functions.

    Parameters
    ----------
    path : str
        Path of the library.
    runtime : str, optional
        Runtime for the calls; by default the one of an installed `tvm_ffi`, else the reference.
    signatures : list of str, optional
        Signatures in text; those in the library's metadata are added.
    static_only : bool
        Do not load the library.
    pattern : str
        Regular expression of identifiers.
    limit : float
        Seconds that a call may take.
    until_failure : bool
        Stop after the first call that does not pass.

    Raises
    ------
    ValueError
        If a signature is not valid or names no function of the library, the runtime cannot be
        loaded, or there is none and no C compiler for the reference.
    """
    path = str(Path(path).resolve())
    if runtime is not None:
        runtime = str(Path(runtime).resolve())
        LibraryFile(runtime).header.check_loadable()
    subject: dict[str, Any] = {"path": path}
    try:
        library = LibraryFile(path)
        subject.update(sha256=file_hash(path), machine=machine_name(library.header.machine))
        library.header.check_loadable()
        subject["needs"] = f"level {static.needed_level(library)}"
        entries = static.check(library)
    except NotLoadable as error:
        subject["load_error"] = str(error)
        return Results("library", subject)
    if static_only:
        subject["runtime"] = "none"
        return Results("library", subject, _matching(entries, pattern))
    names = static.function_names(library)
    given = [_given(text, names) for text in signatures or ()]
    repeated = [name for name, count in Counter(each.name for each in given).items() if count > 1]
    if repeated:
        raise ValueError(f"signature: expected one for each function, got several of {repeated[0]}")
    subject["signatures"] = [each.text for each in given]
    with tempfile.TemporaryDirectory() as folder:
        reference = cache(lambda: _reference(Path(folder)))
        used = runtime or find_runtime()
        subject["runtime"] = used or "reference"
        used = used or reference()
        if used is None:
            raise ValueError(
                "no runtime to call the library with: name one with --runtime, or install a C "
                "compiler for the reference; --static reads the file only"
            )
        found, problems = _embedded(path, used, library, limit)
        entries += problems
        known = {each.name: each for each in [*found, *given]}
        entries += [_not_called(path, name, known.get(name)) for name in names
                    if name not in known or known[name].problem]  # fmt: skip
        called = [each for each in known.values() if not each.problem]
        repeat = f"tvm-ffi-conform library {quote(path)}"
        repeat += f" --runtime {quote(runtime)}" if runtime else ""
        entries += _calls(path, used, reference, called, limit, pattern, until_failure, repeat)
    return Results("library", subject, _matching(entries, pattern))


def _matching(entries: list[Entry], pattern: str) -> list[Entry]:
    return [each for each in entries if re.search(pattern, each.id)]


def _given(text: str, names: list[str]) -> Signature:
    """Return the signature of a function of the library.

    Raises
    ------
    ValueError
        If the library has no such function, or the kit cannot call it.
    """
    signature = parse(text)
    if signature.name not in names:
        raise ValueError(
            f"signature: expected a function of the library ({', '.join(names) or 'none'}), "
            f"got {signature.name}"
        )
    if signature.problem:
        raise ValueError(f"signature of {signature.name}: {signature.problem}")
    return signature


def _not_called(path: str, name: str, signature: Signature | None) -> Entry:
    """Return the entry of a function that the kit cannot call."""
    detail = (
        f"not called: {signature.problem}" if signature else
        f"not called: no signature; give --signature '{name}(...)', embed one, or use --static"
    )  # fmt: skip
    # The kit knows fewer types than the language, but a misspelt type is a mistake.
    required = signature is None or signature.is_misspelt
    return Entry(f"call.{name}.signature", "not run", required, "c-abi.md",
                 "11.4 Metadata JSON and type schema", "The function has a signature.", detail,
                 where=f"function {name}", repeat=f"tvm-ffi-conform library {quote(path)}")  # fmt: skip


def _embedded(
    path: str, runtime: str, library: LibraryFile, limit: float
) -> tuple[list[Signature], list[Entry]]:
    """Return the signatures in the metadata and the results of reading it."""
    prefix = abi.METADATA_SYMBOL_PREFIX
    names = [each[len(prefix) :] for each in library.exported if each.startswith(prefix)]
    if not names:
        return [], []
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tvm_ffi_conformance.libraries.worker", METADATA, path, runtime, *names],
            capture_output=True, text=True, timeout=limit + 10, check=False, env=environment(),
        )  # fmt: skip
        line = next(each for each in done.stdout.splitlines() if each.startswith(METADATA))
        texts = json.loads(line[len(METADATA) :])
    except (subprocess.TimeoutExpired, StopIteration):
        texts = dict.fromkeys(names, "the process ended, or hung, while it read the metadata")
    found, entries = [], []
    for name, text in texts.items():
        problem = text if isinstance(text, str) else ""
        try:
            content = {} if problem else json.loads(text["text"])
            if "type_schema" in content:
                json.loads(content["type_schema"])
            if "signature" in content:
                found.append(parse(content["signature"]))
        except (TypeError, ValueError) as error:
            problem = f"expected JSON with text in type_schema and signature, got {text['text']!r}: {error}"
        entries.append(
            Entry(f"metadata.{name}", "fail" if problem else "pass", True, "c-abi.md",
                  "11.4 Metadata JSON and type schema", "Metadata is JSON with a type schema in text.",
                  problem, where=name, repeat=f"tvm-ffi-conform library {quote(path)} --only '^metadata'")
        )  # fmt: skip
    return found, entries


def _calls(
    path: str,
    runtime: str,
    reference: Callable[[], str | None],
    signatures: list[Signature],
    limit: float,
    pattern: str,
    until_failure: bool,
    repeat: str,
) -> list[Entry]:
    """Run the checks of all signatures whose identifier matches."""
    texts = [each.text for each in signatures]
    module = "tvm_ffi_conformance.libraries.worker"
    cases = _cases(signatures, register_calls, pattern)
    if until_failure:
        cases = [case for case in cases if _is_required(case.id)]
    outcome: dict[str, dict[str, Any]] = {}
    failed = False
    if cases:
        run = execute(
            path, cases, limit=limit, worker=[module, runtime, *texts], until_failure=until_failure
        )
        outcome, failed = run.results, run.failed
        if run.load_error and runtime == reference():
            raise ValueError(
                f"{path} does not load on the reference, which has the C functions of the ABI only: "
                f"{run.load_error}; name a runtime with --runtime"
            )
    checked = _cases(signatures, register_checked, pattern)
    if checked and not (until_failure and failed) and (compiled := reference()):
        run = execute(path, checked, limit=limit, worker=[module, compiled, *texts])
        # A library that needs more than the C functions does not load on the reference.
        if not run.load_error:
            outcome.update(run.results)
            cases += checked
    options = "".join(f" --signature {quote(text)}" for text in texts)
    descriptions = {each.name: describe(each) for each in signatures}
    return [
        Entry(
            id=case.id, required=_is_required(case.id), document=case.section.document, heading=case.section.heading,
            rule=case.rule, where=_where(case.id, descriptions),
            repeat=f"{repeat}{options} --only '^{re.escape(case.id)}$'",
            **outcome[case.id],
        )
        for case in cases
    ]  # fmt: skip


def _is_required(identifier: str) -> bool:
    """Return True if a library must pass a check; others are advice."""
    return ".form." not in identifier


def _cases(
    signatures: list[Signature], register: Callable[[Signature], list[str]], pattern: str
) -> list[Case]:
    """Return the checks of all signatures whose identifier matches."""
    registered = [REGISTRY.pop(each) for known in signatures for each in register(known)]
    return [case for case in registered if re.search(pattern, case.id)]


def _reference(folder: Path) -> str | None:
    """Return a runtime that runs the reference; None without a C compiler."""
    try:
        return str(build(folder))
    except RuntimeError:
        return None


def _where(identifier: str, descriptions: dict[str, str]) -> str:
    """Return the function and its right arguments, or the argument that a check changes."""
    _, name, *words = identifier.split(".")
    if (
        words[0] in ("wrong", "form", "right")
        and len(words) == 3
        and words[1] not in ("count", "size")
    ):
        return f"function {name}, argument {words[1]}"
    return (
        f"function {name}" if words[1:2] == ["size"] else f"function {name}({descriptions[name]})"
    )

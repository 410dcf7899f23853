# SPDX-License-Identifier: Apache-2.0
"""LLVM targets: triples, parsing, linking, optimization and machine code.

LLVM's tables of targets are global, so every function holds `LOCK`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable
from typing import Any, Callable

from llvmlite import binding as llvm

__all__ = [
    "LOCK",
    "assembly_of",
    "check_is_here",
    "check_machine",
    "declared_functions",
    "exported_functions",
    "has_sections",
    "linked",
    "missing_functions",
    "object_of",
    "parameter_types",
    "pointer_uses",
    "triple_of",
    "variables",
]

LOCK = threading.RLock()
_UNSET_TRIPLES = (
    "",
    "unknown-unknown-unknown",
)  # triples that llvmlite gives a module whose triple is not set
_HEADER = re.compile(r'^target (?:triple|datalayout) = "[^"\n]*"\n?', re.MULTILINE)
_TRIPLE = re.compile(r'^target triple = "([^"\n]*)"', re.MULTILINE)
_is_ready = False


def triple_of(text: str, triple: str | None = None) -> str:
    """Return the triple of a module's IR; the triple of this process if it has none."""
    if triple is None:
        found = _TRIPLE.search(text)
        triple = found[1] if found else ""
    with LOCK:
        return llvm.get_process_triple() if triple in _UNSET_TRIPLES else triple


def check_machine(triple: str) -> None:
    """Raise ValueError for a target on which the ABI's structs have another layout.

    Wrappers use field offsets for 64-bit addresses, and read a dtype as a little-endian integer.
    """
    layout = str(_machine(triple).target_data)
    has_64_bits = not re.search(r"-p:(?!64)\d+", layout)
    if not layout.startswith("e") or not has_64_bits or "windows" in triple:
        raise ValueError(
            "wrappers need little-endian machines with 64-bit addresses and Unix calling "
            f"conventions, got {triple!r}"
        )


def check_is_here(triple: str) -> None:
    """Raise ValueError for a target on which this process does not run."""
    with LOCK:
        here = llvm.get_process_triple()
        if triple.partition("-")[0] != here.partition("-")[0]:
            raise ValueError(
                f"the module is for {triple!r}, and this process runs on {here!r}; "
                "object_code compiles for other machines"
            )


def has_sections(triple: str) -> bool:
    """Return True if object files of a target are ELF: they can have sections for export rows."""
    with LOCK:
        _prepare()
        return bool(llvm.get_object_format(triple) == "ELF")


def object_of(text: str, triple: str, cpu: str, features: str, level: int) -> bytes:
    """Return the object file of a module."""
    with LOCK:
        machine = _machine(triple, cpu, features, level)
        return bytes(machine.emit_object(_optimized(text, machine, level)))


def assembly_of(text: str, triple: str, cpu: str, features: str, level: int) -> str:
    """Return the assembly text of a module."""
    with LOCK:
        machine = _machine(triple, cpu, features, level)
        return str(machine.emit_assembly(_optimized(text, machine, level)))


def _machine(triple: str, cpu: str = "", features: str = "", level: int = 2) -> Any:
    with LOCK:
        _prepare()
        try:
            target = llvm.Target.from_triple(triple)
        except RuntimeError as error:
            raise ValueError(f"LLVM has no target {triple!r}: {error}") from error
        options = {"cpu": cpu, "features": features, "opt": level, "reloc": "pic"}
        return target.create_target_machine(codemodel="default", **options)


def _prepare() -> None:
    global _is_ready  # noqa: PLW0603  (LLVM's tables of targets are global, too)
    if not _is_ready:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        _is_ready = True


def exported_functions(text: str) -> list[str]:
    """Return the names of the functions that a module exports."""
    with LOCK:
        functions = _parsed(text).functions
        return [f.name for f in functions if not f.is_declaration and _is_exported(f)]


def variables(text: str) -> set[str]:
    """Return the names of the global variables that a module defines."""
    with LOCK:
        variables = _parsed(text).global_variables
        return {variable.name for variable in variables if not variable.is_declaration}


def parameter_types(text: str, name: str) -> list[str]:
    """Return the LLVM types of a function's parameters."""
    with LOCK:
        return [str(argument.type) for argument in _parsed(text).get_function(name).arguments]


def pointer_uses(text: str, name: str) -> list[str]:
    """Return for each parameter of a function if its memory is ``"read"`` or ``"written"`` only.

    The value is ``"any"`` if LLVM's attributes state neither, and for parameters that are not
    pointers.  Memory that is not accessed counts as read.
    """
    uses = {b"readnone": "read", b"readonly": "read", b"writeonly": "written"}
    with LOCK:
        arguments = _parsed(text).get_function(name).arguments
        found = [uses.keys() & set(argument.attributes) for argument in arguments]
    return [uses[names.pop()] if names else "any" for names in found]


def linked(modules: Iterable[str], is_kept: Callable[[str], bool], triple: str) -> str:
    """Return all modules as one module; definitions that `is_kept` rejects become internal."""
    with LOCK:
        header = _header_of(_machine(triple))
        first, *others = [
            _parsed_member(header, text, f"link[{index - 1}]" if index else "the module")
            for index, text in enumerate(modules)
        ]
        for other in others:
            try:
                first.link_in(other)
            except RuntimeError as error:
                raise ValueError(f"the modules cannot be linked together: {error}") from error
        for definition in (*first.functions, *first.global_variables):
            if not is_kept(definition.name) and _can_be_internal(definition):
                definition.visibility = llvm.Visibility.default
                definition.linkage = llvm.Linkage.internal
        return str(first)


def _can_be_internal(definition: Any) -> bool:
    """Return True if a definition can become internal, so other modules cannot refer to it."""
    kinds = (llvm.Linkage.appending, llvm.Linkage.available_externally)
    if (
        definition.is_declaration
        or definition.linkage in kinds
        or definition.name.startswith("llvm.")
    ):
        return False
    # Definitions in a COMDAT group remain external, because a linker keeps one of each group.
    return " comdat" not in str(definition).partition("{")[0]


def declared_functions(text: str) -> list[str]:
    """Return the names of the functions that a module declares and does not define."""
    with LOCK:
        names = [f.name for f in _parsed(text).functions if f.is_declaration]
        return [name for name in names if not name.startswith("llvm.")]


def missing_functions(text: str, known: Collection[str]) -> list[str]:
    """Return the names of declared functions that this process does not define."""
    with LOCK:
        return [
            name
            for name in declared_functions(text)
            if not (name in known or llvm.address_of_symbol(name))
        ]


def _is_exported(function: Any) -> bool:
    hidden = (llvm.Linkage.internal, llvm.Linkage.private, llvm.Linkage.available_externally)
    return function.linkage not in hidden and function.visibility == llvm.Visibility.default


def _parsed_member(header: str, text: str, name: str) -> Any:
    try:
        return _parsed(header + _HEADER.sub("", text))
    except ValueError:
        _parsed(text, name)  # fails with the line numbers of `text`
        raise


def _parsed(text: str, name: str = "the module") -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        is_path = len(text.split()) == 1 and "." in text
        remedy = "; expected LLVM IR, not the name of a file" if is_path else ""
        raise ValueError(f"LLVM rejects {name}: {str(error).rstrip()}{remedy}") from error
    return module


def _header_of(machine: Any) -> str:
    """Return the IR lines that name the target; LLVM derives default alignments from them."""
    return f'target datalayout = "{machine.target_data}"\ntarget triple = "{machine.triple}"\n'


def _optimized(text: str, machine: Any, level: int) -> Any:
    """Return the module, optimized for a target."""
    module = _parsed(_header_of(machine) + _HEADER.sub("", text))
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = level > 1
    builder = llvm.create_pass_builder(machine, tuning)
    passes = builder.getModulePassManager()
    try:
        passes.run(module, builder)
    finally:
        _release(passes)
    return module


def _release(passes: Any) -> None:
    """Release the memory of a pass manager, 100 KB for each module.

    The method is called by its class: in llvmlite up to at least 0.50, another base class hides it.
    """
    owners: list[Any] = [cls for cls in type(passes).__mro__ if "_dispose" in vars(cls)]
    if owners[0] is llvm.ffi.ObjectRef and len(owners) > 1:
        owners[1]._dispose(passes)
        passes.detach()

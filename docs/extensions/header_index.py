# SPDX-License-Identifier: Apache-2.0
"""Declarations in the C and C++ headers, parsed by libclang: names, prototypes, members, comments.

`c_declarations` and `cpp_declarations` parse the headers once per build.  A prototype is the text
in the header without the parts that matter only to compilers.  The comment of a declaration is
directly before it, or after it on the same line.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from clang import cindex
from header_text import Source, prototype_of

INCLUDE = Path(__file__).resolve().parents[2] / "include"
C_HEADERS = (
    "tvm/ffi/c_api.h",
    "tvm/ffi/extra/c_env_api.h",
    "tvm/ffi/extra/c_host_call.h",
    "tvm/ffi/extra/c_prepared.h",
    "tvm/ffi/extra/c_observe.h",
    "dlpack/dlpack.h",
)
_CPP_FLAGS = ("-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1", "-UNDEBUG")  # include all declarations
_DETAIL = re.compile(r"_details?\.h$|/internal/")
_PRIVATE = {"detail", "details", "internal", "symbol", "cuda_api"}
_VARIANTS = {"driver_api", "runtime_api"}  # inline namespaces, which user code does not name
# Declarations of the CUDA types, so that the headers can be parsed without a CUDA toolkit.
_CUDA = (
    "typedef struct CUstream_st* cudaStream_t; typedef struct CUfunc_st* cudaFunction_t;"
    "typedef int cudaError_t; typedef struct CUlib_st* cudaLibrary_t; typedef int CUresult;"
    "typedef struct CUkern_st* cudaKernel_t; struct dim3 { unsigned x, y, z; };"
    "const int cudaSuccess = 0; typedef struct { int x; } cudaLaunchConfig_t;"
)

# A declaration that a macro expands to.
_MADE_BY = re.compile(r"(TVM_FFI_[A-Z_]+)\(")

Kind = cindex.CursorKind
_PARTIAL = Kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION
_CLASSES = (Kind.CLASS_DECL, Kind.STRUCT_DECL, Kind.CLASS_TEMPLATE, _PARTIAL)
_FUNCTIONS = (
    *(Kind.FUNCTION_DECL, Kind.FUNCTION_TEMPLATE, Kind.CXX_METHOD),
    *(Kind.CONSTRUCTOR, Kind.CONVERSION_FUNCTION),
)
_ALIASES = (Kind.TYPEDEF_DECL, Kind.TYPE_ALIAS_DECL, Kind.TYPE_ALIAS_TEMPLATE_DECL)
_DATA = (Kind.FIELD_DECL, Kind.VAR_DECL)
_VISIBLE = tuple(getattr(cindex.AccessSpecifier, name) for name in ("PUBLIC", "INVALID", "NONE"))
_NAMES = {
    **dict.fromkeys(_CLASSES, "class"),
    **dict.fromkeys(_FUNCTIONS, "function"),
    **dict.fromkeys(_ALIASES, "type"),
    **dict.fromkeys(_DATA, "member"),
    Kind.ENUM_DECL: "enum",
    Kind.ENUM_CONSTANT_DECL: "enumerator",
    Kind.MACRO_DEFINITION: "macro",
}


@dataclass
class Declaration:
    """A name that a header declares."""

    kind: str  # class, function, type, member, enum, enumerator, macro
    name: str
    header: str  # relative to the include folder
    line: int
    namespace: str  # "tvm::ffi", or "" in C
    prototype: str
    comment: str
    bases: list[str] = field(default_factory=list)  # the public ones
    members: list[Declaration] = field(default_factory=list)
    defined_by: dict[str, list[str]] = field(default_factory=dict)  # member names by macro
    is_member: bool = False
    is_partial: bool = False  # a partial specialization
    text: str = ""  # source text of a C struct


@cache
def source_of(header: str) -> Source:
    """Return the text of a header."""
    return Source((INCLUDE / header).read_text(encoding="utf-8"))


def public_headers() -> list[str]:
    """Return all public headers, relative to the include folder."""
    names = (path.relative_to(INCLUDE).as_posix() for path in sorted(INCLUDE.rglob("*.h")))
    return [name for name in names if not _DETAIL.search(name)]


@cache
def c_declarations() -> list[Declaration]:
    """Return the declarations of the C headers, parsed as C."""
    unit = _parse("reference.c", C_HEADERS, ["-x", "c", "-std=c11"], ("cc", "c"))
    found = [entry for entry in _declarations(unit) if entry.header in C_HEADERS]
    tags = {entry.name for entry in found if entry.kind in ("class", "enum")}
    return [entry for entry in found if entry.kind != "type" or entry.name not in tags]


@cache
def cpp_declarations() -> list[Declaration]:
    """Return the public declarations of the C++ headers, without the C headers."""
    headers = tuple(name for name in public_headers() if name not in C_HEADERS)
    unit = _parse("reference.cc", headers, ["-x", "c++", "-std=c++17", *_CPP_FLAGS], ("c++", "c++"))
    return [entry for entry in _declarations(unit) if entry.header not in C_HEADERS]


def _parse(name: str, headers: tuple[str, ...], flags: list[str], compiler: Any) -> Any:
    text = "".join(f"#include <{header}>\n" for header in headers)
    quiet = ["-Wno-everything", "-ferror-limit=0"]
    arguments = [*flags, *quiet, f"-I{INCLUDE}", "-I/cuda", *_system_folders(*compiler)]
    options = cindex.TranslationUnit
    unit = cindex.Index.create().parse(
        name,
        args=arguments,
        unsaved_files=[(name, text), ("/cuda/cuda_runtime.h", _CUDA), ("/cuda/cuda.h", _CUDA)],
        options=options.PARSE_DETAILED_PROCESSING_RECORD | options.PARSE_SKIP_FUNCTION_BODIES,
    )
    for problem in unit.diagnostics:
        path = str(problem.location.file)
        if problem.severity >= cindex.Diagnostic.Error and "/cuda/" not in path:
            raise RuntimeError(f"{path}:{problem.location.line}: {problem.spelling}")
    return unit


def _system_folders(command: str, language: str) -> list[str]:
    """Return flags for the include folders of the system's compiler, which libclang lacks."""
    arguments = [*shlex.split(command), "-E", "-v", "-x", language, "/dev/null"]
    output = subprocess.run(arguments, capture_output=True, text=True, check=True).stderr
    listed = output.split("search starts here:")[-1].split("End of search")[0]
    folders = [line.strip() for line in listed.splitlines() if line.startswith(" ")]
    return [flag for folder in folders for flag in ("-isystem", folder)]


# ---- From cursors to declarations ----------------------------------------------------------------


def _declarations(unit: Any) -> list[Declaration]:
    found: list[Declaration] = []
    seen: set[tuple[str, int]] = set()
    _walk(unit.cursor, (), found, seen)
    templates = {entry.name for entry in found if entry.kind == "class" and not entry.is_partial}
    # A partial specialization without a primary template is a class, as TypedFunction<R(Args...)>.
    found = [
        entry
        for entry in found
        if not entry.is_partial or (entry.namespace and entry.name not in templates)
    ]
    described = {entry.name for entry in found if entry.kind == "macro" and entry.comment}
    macros: set[str] = set()
    for entry in [entry for entry in found if entry.kind == "macro"]:
        if entry.name in macros or (not entry.comment and entry.name in described):
            found.remove(entry)  # an alternative definition for another compiler
        macros.add(entry.name)
    # A function that one header declares and a later one defines belongs to the later one.
    last = {
        (entry.namespace, entry.prototype): entry.header
        for entry in found
        if entry.kind == "function"
    }
    found = [
        entry
        for entry in found
        if last.get((entry.namespace, entry.prototype), entry.header) == entry.header
    ]
    return sorted(found, key=lambda entry: (entry.header, entry.line))


def _walk(parent: Any, namespace: tuple[str, ...], found: list[Declaration], seen: Any) -> None:
    for cursor in parent.get_children():
        if cursor.kind == Kind.NAMESPACE:
            inner = () if cursor.spelling in _VARIANTS else (cursor.spelling,)
            if cursor.spelling not in _PRIVATE:
                _walk(cursor, (*namespace, *inner), found, seen)
        elif cursor.kind == Kind.LINKAGE_SPEC:
            _walk(cursor, namespace, found, seen)
        else:
            entry = _declaration(cursor, namespace)
            # List macros with two definitions, and classes with a forward declaration, once.
            if entry is not None and (entry.header, entry.line, entry.name) not in seen:
                if entry.prototype.startswith("template <>"):
                    continue  # an explicit specialization of a listed declaration
                seen.add((entry.header, entry.line, entry.name))
                found.append(entry)


def _declaration(cursor: Any, namespace: tuple[str, ...]) -> Declaration | None:
    header = _header_of(cursor)
    kind = _NAMES.get(cursor.kind)
    if header is None or kind is None or not _is_for_users(cursor, kind):
        return None
    source = source_of(header)
    start = cursor.extent.start.offset
    if kind == "macro":
        start = source.start_of_macro(start)
    entry = Declaration(
        kind=kind,
        name=cursor.spelling,
        header=header,
        line=cursor.location.line,
        namespace="::".join(namespace),
        prototype=_macro_prototype(cursor) if kind == "macro" else "",
        comment=source.comment_at(start, cursor.extent.end.offset),
    )
    if kind == "macro":
        return entry
    entry.prototype = prototype_of(source.text, start, cursor.extent.end.offset)
    if kind == "function" and _MADE_BY.match(entry.prototype):
        entry.prototype = f"{cursor.result_type.spelling} {cursor.displayname}"
    elif kind == "member" and _MADE_BY.match(_text_at(cursor)) and cursor.kind == Kind.VAR_DECL:
        return None  # a helper variable of a macro
    if kind == "class":
        _add_members(entry, cursor)
        entry.is_partial = cursor.kind == _PARTIAL
        entry.prototype = re.sub(r" (?:final )?:(?!:) .*$", "", entry.prototype)
        entry.text = source.text[start : cursor.extent.end.offset]
    elif kind == "enum":
        members = (_declaration(child, namespace) for child in cursor.get_children())
        entry.members = [member for member in members if member is not None]
    return entry


def _header_of(cursor: Any) -> str | None:
    file = cursor.location.file
    if file is None or not Path(file.name).is_relative_to(INCLUDE):
        return None
    return Path(file.name).relative_to(INCLUDE).as_posix()


def _is_for_users(cursor: Any, kind: str) -> bool:
    name = cursor.spelling
    if "/internal/" in str(cursor.location.file) or name.startswith("_") or not name:
        return kind == "member" and name.startswith("__")  # padding
    if kind in ("class", "enum") and not cursor.is_definition():
        return False
    if kind == "function" and cursor.semantic_parent != cursor.lexical_parent:
        return False  # a definition outside of the class
    if cursor.access_specifier == cindex.AccessSpecifier.PRIVATE:
        return False  # the definition of a nested class outside of the class
    is_specialized = cursor.kind in _CLASSES and "<" in cursor.displayname
    if cursor.kind == Kind.CLASS_TEMPLATE:
        is_specialized = False
    if cursor.kind == _PARTIAL:  # it may be the only definition, see _declarations
        is_specialized = False
    return not (is_specialized or name.startswith("<") or name.endswith(("_", "_H_")))


def _macro_prototype(cursor: Any) -> str:
    text = source_of(str(_header_of(cursor))).text
    match = re.compile(r"\w+(\([^)]*\))?").match(text, cursor.extent.start.offset)
    assert match is not None
    return re.sub(r"\s*\\?\s+", " ", match[0])


def _add_members(entry: Declaration, cursor: Any) -> None:
    """Add the public members, including members of base classes in private namespaces."""
    inherited: list[Declaration] = []
    for child in cursor.get_children():
        if child.kind == Kind.CXX_BASE_SPECIFIER:
            inherited += _inherited(entry, child)
        elif child.is_anonymous() and child.kind in (Kind.UNION_DECL, Kind.STRUCT_DECL):
            _add_members(entry, child)
        elif child.access_specifier in _VISIBLE:
            _add_member(entry, child)
    declared = {member.name for member in entry.members}  # they hide inherited members
    entry.members += [member for member in inherited if member.name not in declared]


def _add_member(entry: Declaration, child: Any) -> None:
    member = _declaration(child, tuple(filter(None, entry.namespace.split("::"))))
    if member is None:
        return
    member.is_member = True
    made_by = _MADE_BY.match(_text_at(child))
    if made_by and child.kind != Kind.ENUM_CONSTANT_DECL:
        entry.defined_by.setdefault(made_by[1], []).append(member.name)
    else:
        entry.members.append(member)


def _inherited(entry: Declaration, base: Any) -> list[Declaration]:
    """Record a public base class; for a private one, return its public members."""
    if base.access_specifier != cindex.AccessSpecifier.PUBLIC:
        return []
    part = _detail_base(base)
    if part is None:
        source = source_of(str(_header_of(base))).text
        shown = source[base.extent.start.offset : base.extent.end.offset]
        entry.bases.append(re.sub(r"^public\s+", "", re.sub(r"\s+", " ", shown)))
        return []
    base_entry = replace(entry, bases=[], members=[], defined_by={})
    _add_members(base_entry, part)
    entry.bases += base_entry.bases
    return [member for member in base_entry.members if member.kind in ("function", "type")]


def _detail_base(base: Any) -> Any:
    """Return the class of a base in a private namespace; None for other bases."""
    for child in base.get_children():
        if child.kind in (Kind.TEMPLATE_REF, Kind.TYPE_REF):
            target = child.referenced
            parent = target.semantic_parent
            if parent is not None and parent.spelling in _PRIVATE:
                return target.get_definition() or target
            return None
    return None


def _text_at(cursor: Any) -> str:
    header = _header_of(cursor)
    assert header is not None
    start = cursor.extent.start.offset
    return source_of(header).text[start : start + 100]

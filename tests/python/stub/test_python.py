# SPDX-License-Identifier: Apache-2.0
"""The Python target of the stub generator: functions, classes, imports and `__all__`."""

from __future__ import annotations

import ast

import pytest

import tvm_ffi.testing  # noqa: F401  (registers types)
from tvm_ffi.core import MISSING, TypeSchema
from tvm_ffi.stub import generator, lib_state
from tvm_ffi.stub._stubgen.python.imports import FileNames
from tvm_ffi.stub.file_utils import CodeBlock
from tvm_ffi.stub.python_generator import codegen
from tvm_ffi.stub.python_generator.consts import TY_MAP_DEFAULTS
from tvm_ffi.stub.python_generator.utils import (
    ImportItem,
    render_func_signature,
    render_object_init,
)
from tvm_ffi.stub.utils import FuncInfo, InitFieldInfo, NamedTypeSchema, ObjectInfo, Options

INT, STR, ANY = TypeSchema("int"), TypeSchema("str"), TypeSchema("Any")


def function(name: str, *params: TypeSchema, result: TypeSchema = INT, member: bool = False):
    schema = TypeSchema("Callable", named_args={"return": (result,), "params": params})
    return FuncInfo.from_schema(name, schema, is_member=member)


def field(name: str, schema: TypeSchema = INT) -> NamedTypeSchema:
    return NamedTypeSchema(name, schema)


def init_field(name: str, schema: TypeSchema = INT, *, kw_only=False, default=False):
    return InitFieldInfo(name, field(name, schema), kw_only, default)


def block(kind: str, param: object = "", margin: str = "") -> CodeBlock:
    return CodeBlock(kind, param, 1, 2, [f"{margin}# begin", f"{margin}# end"])


def object_lines(info: ObjectInfo, imports: list[ImportItem], **options) -> list[str]:
    code = block("object", info.type_key)
    codegen.generate_python_object(code, dict(TY_MAP_DEFAULTS), imports, Options(), info, **options)
    assert [code.lines[i] for i in (1, -2)] == ["# fmt: off", "# fmt: on"]
    return code.lines[2:-2]


def global_lines(*funcs: FuncInfo, imports: list[ImportItem], **options) -> list[str]:
    code = block("global", ("a", ""))
    ty_map = {**TY_MAP_DEFAULTS, **options.pop("ty_map", {})}
    codegen.generate_python_global_funcs(code, list(funcs), ty_map, imports, Options(), **options)
    assert code.lines[2:4] == ['_FFI_INIT_FUNC("a", __name__)', "if TYPE_CHECKING:"]
    return [line.strip() for line in code.lines[4:-2]]


# ---- Functions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("func", "text"),
    [
        (function("a.f"), "def f() -> int: ..."),
        (function("a.b.f", INT, STR), "def f(_0: int, _1: str, /) -> int: ..."),
        (
            FuncInfo.from_schema("a.f", TypeSchema("Callable")),
            "def f(*args: Any) -> Any: ...",
        ),
        (
            FuncInfo.from_schema("f", TypeSchema("Callable", named_args={"return": (STR,)})),
            "def f(*args: Any) -> str: ...",
        ),
        (function("m", ANY, STR, member=True), "def m(self, _1: str, /) -> int: ..."),
        (function("m", member=True), "def m(self, /) -> int: ..."),
        (
            function("__ffi_init__", STR, result=TypeSchema("Object")),
            "def __ffi_init__(self, _0: str, /) -> None: ...",
        ),
        (
            function("f", TypeSchema("tuple"), result=TypeSchema("tuple", ())),
            "def f(_0: tuple[Any, ...], /) -> tuple[()]: ...",
        ),
    ],
)
def test_signatures(func, text):
    assert render_func_signature(func, str, 2) == f"  {text}"


def test_each_block_adds_new_imports_only():
    """Regression: each block added its imports again, and was compared with all: 400 took 8 s."""
    imports: list[ImportItem] = []
    schema = TypeSchema("Array", (INT,))
    for number in range(400):
        global_lines(function(f"a.f{number}", schema, result=schema), imports=imports)
    assert sorted(item.full_name for item in imports) == [
        "collections.abc.Sequence",
        "tvm_ffi.init_ffi_api",
        "typing.TYPE_CHECKING",
    ]


def test_container_parameters_are_annotated_more_generally_than_results():
    imports: list[ImportItem] = []
    kinds = {
        "Array": (INT,),
        "List": (INT,),
        "Map": (STR, INT),
        "Dict": (STR, INT),
    }
    schemas = [TypeSchema(name, args) for name, args in kinds.items()]
    lines = global_lines(
        *(function(f"a.{schema.origin}_", schema, result=schema) for schema in schemas),
        imports=imports,
    )
    assert lines == [
        "def Array_(_0: Sequence[int], /) -> Sequence[int]: ...",
        "def List_(_0: Sequence[int], /) -> MutableSequence[int]: ...",
        "def Map_(_0: Mapping[str, int], /) -> Mapping[str, int]: ...",
        "def Dict_(_0: Mapping[str, int], /) -> MutableMapping[str, int]: ...",
    ]
    assert {item.full_name for item in imports if item.type_checking_only} == {
        f"collections.abc.{name}"
        for name in ("Sequence", "MutableSequence", "Mapping", "MutableMapping")
    }


def test_types_of_the_same_name_get_different_aliases():
    imports: list[ImportItem] = []
    lines = global_lines(
        function("a.f", TypeSchema("p.q.Foo"), TypeSchema("r.s.Foo"), TypeSchema("t.Foo")),
        function("a.g", TypeSchema("r.s.Foo")),
        function("a.Bar", TypeSchema("p.Bar")),
        imports=imports,
        names=FileNames(classes={"a.Own": "Own"}),
    )
    assert lines == [
        "def f(_0: Foo, _1: _Foo, _2: _t_Foo, /) -> int: ...",
        "def g(_0: _Foo, /) -> int: ...",
        "def Bar(_0: _Bar, /) -> int: ...",
    ]
    assert {str(item) for item in imports} >= {
        "from p.q import Foo",
        "from r.s import Foo as _Foo",
        "from t import Foo as _t_Foo",
        "from p import Bar as _Bar",
    }


def test_functions_and_types_without_python_names():
    imports: list[ImportItem] = []
    lines = global_lines(
        function("a.class"),
        function("a.x-y"),
        function("a.f", TypeSchema("has space.x"), TypeSchema("x.1y"), TypeSchema("Bare")),
        imports=imports,
    )
    assert lines == [
        "# function 'class' has no Python name: use getattr",
        "# function 'x-y' has no Python name: use getattr",
        "def f(_0: Object, _1: Object, _2: Object, /) -> int: ...",
    ]


def test_a_function_named_like_a_class_of_the_file_is_hidden():
    """A class of this name is defined later in the file, so the name refers to that class."""
    lines = global_lines(
        function("a.T", result=TypeSchema("a.T")),
        function("a.f", result=TypeSchema("a.T")),
        imports=[],
        names=FileNames(classes={"a.T": "T"}, functions=frozenset({"T", "f"})),
    )
    assert lines == [
        "# function 'T' is hidden by the class: use get_global_func",
        "def f() -> T: ...",
    ]


def test_a_body_of_comments_only_is_valid_python():
    lines = global_lines(function("a.class"), imports=[])
    ast.parse("if TYPE_CHECKING:\n" + "\n".join(f"    {line}" for line in lines))


@pytest.mark.parametrize(
    ("origin", "module", "name"),
    [
        ("Tensor", "tvm_ffi", "TensorLike"),
        ("ctypes.c_void_p", "ctypes", "c_void_p"),
        ("ffi.Module", "tvm_ffi", "Module"),
        ("ffi.Enum", "tvm_ffi.dataclasses", "Enum"),
        ("ffi.IntEnum", "tvm_ffi.dataclasses", "IntEnum"),
        ("ffi.StrEnum", "tvm_ffi.dataclasses", "StrEnum"),
        ("ffi.reflection.AccessPath", "tvm_ffi.access_path", "AccessPath"),
        ("ffi.VisitErrorContext", "tvm_ffi", "Object"),
        ("testing.TestIntPair", "tvm_ffi.testing", "TestIntPair"),
        ("my.pkg.T", "my.pkg", "T"),
    ],
)
def test_imports_of_classes(origin, module, name):
    imports: list[ImportItem] = []
    lines = global_lines(function("a.f", TypeSchema(origin)), imports=imports)
    assert lines == [f"def f(_0: {name}, /) -> int: ..."]
    assert f"from {module} import {name}" in {str(item) for item in imports}


def test_ty_map_names_take_precedence():
    imports: list[ImportItem] = []
    lines = global_lines(
        function("a.f", TypeSchema("Array", (INT,)), TypeSchema("a.T")),
        imports=imports,
        ty_map={"Array": "list", "a.T": "my.pkg.Base"},
        names=FileNames(classes={"a.T": "T"}),
    )
    assert lines == ["def f(_0: list[int], _1: Base, /) -> int: ..."]


def test_a_block_without_functions_is_empty():
    code = block("global", ("a", ""))
    codegen.generate_python_global_funcs(code, [], dict(TY_MAP_DEFAULTS), [], Options())
    assert code.lines == ["# begin", "# end"]


def test_imports_of_init_ffi_api():
    imports: list[ImportItem] = []
    blocks = [block("global", ("a", module)) for module in ("", "b.c", "tvm_ffi")]
    for code in blocks:
        codegen.generate_python_global_funcs(
            code, [function("a.f")], dict(TY_MAP_DEFAULTS), imports, Options()
        )
    assert [code.lines[2] for code in blocks] == [
        '_FFI_INIT_FUNC("a", __name__)',
        '_FFI_INIT_FUNC_2("a", __name__)',
        '_FFI_INIT_FUNC("a", __name__)',
    ]
    assert {str(item) for item in imports} >= {
        "from tvm_ffi import init_ffi_api as _FFI_INIT_FUNC",
        "from b.c import init_ffi_api as _FFI_INIT_FUNC_2",
    }


# ---- Classes -----------------------------------------------------------------------------------


def test_automatic_constructor():
    info = ObjectInfo(
        fields=[field("a"), field("b", STR)],
        methods=[],
        type_key="t.T",
        parent_type_key="ffi.Object",
        has_init=True,
        init_fields=[
            init_field("d", default=True),
            init_field("a"),
            init_field("k", STR, kw_only=True, default=True),
            init_field("l", kw_only=True),
        ],
    )
    parameters = "self, a: int, d: int = ..., *, l: int, k: str = ..."
    assert object_lines(info, []) == [
        "a: int",
        "b: str",
        "if TYPE_CHECKING:",
        f"    def __init__({parameters}) -> None: ...",
        f"    def __ffi_init__({parameters}) -> None: ...",
    ]


def test_declared_constructor_that_takes_no_fields():
    """`__init__` then has the parameters that the native constructor has."""
    info = ObjectInfo(
        fields=[field("a"), field("b")],
        methods=[function("__ffi_init__", STR, result=TypeSchema("Object"))],
        has_init=True,
        init_fields=[init_field("a"), init_field("b")],
    )
    assert render_object_init(info, str, 0) == ["def __init__(self, _0: str, /) -> None: ..."]


@pytest.mark.parametrize(
    ("fields", "parameters"),
    [
        ([init_field("class"), init_field("1x")], "self, class_: int, _1x: int"),
        ([init_field("self")], "_self, self: int"),
        ([init_field("if", kw_only=True)], "self, **kwargs: Any"),
        (
            [init_field("a"), init_field("if", kw_only=True), init_field("b", kw_only=True)],
            "self, a: int, *, b: int, **kwargs: Any",
        ),
    ],
)
def test_fields_whose_names_cannot_be_parameters(fields, parameters):
    info = ObjectInfo(fields=[], methods=[], has_init=True, init_fields=fields)
    (line,) = render_object_init(info, str, 0)
    assert line == f"def __init__({parameters}) -> None: ..."
    ast.parse(line)


OVERLOADED = ObjectInfo(
    fields=[],
    methods=[
        function("m", ANY, INT, member=True),
        function("s", INT),
        function("m", ANY, STR, result=STR, member=True),
        function("s", STR),
    ],
    type_key="t.T",
)


def test_overloads_of_interface_files():
    assert OVERLOADED.has_overloaded_methods()
    imports: list[ImportItem] = []
    assert object_lines(OVERLOADED, imports, names=FileNames(is_interface=True)) == [
        "if TYPE_CHECKING:",
        "    @overload",
        "    def m(self, _1: int, /) -> int: ...",
        "    @overload",
        "    def m(self, _1: str, /) -> str: ...",
        "    @overload",
        "    @staticmethod",
        "    def s(_0: int, /) -> int: ...",
        "    @overload",
        "    @staticmethod",
        "    def s(_0: str, /) -> int: ...",
    ]
    assert "from typing import overload" in {str(item) for item in imports}


def test_overloads_of_source_files_have_an_implementation():
    lines = object_lines(OVERLOADED, [])
    assert lines[5] == "    def m(self, *args: Any) -> Any: ..."
    assert lines[-2:] == ["    @staticmethod", "    def s(*args: Any) -> Any: ..."]


def test_attributes_do_not_hide_types():
    info = ObjectInfo(
        fields=[
            field("dtype", TypeSchema("dtype")),
            field("int", INT),
            field("class", INT),
            field("next", TypeSchema("t.T")),
        ],
        methods=[function("Sequence", ANY, TypeSchema("Array", (INT,)), member=True)],
        type_key="t.T",
    )
    imports: list[ImportItem] = []
    assert object_lines(info, imports, names=FileNames(classes={"t.T": "Node"})) == [
        "dtype: _dtype",
        "int: _int",
        "# field 'class' has no Python name: use getattr",
        "next: Node",
        "if TYPE_CHECKING:",
        "    def Sequence(self, _1: _Sequence[_int], /) -> _int: ...",
    ]
    assert {str(item) for item in imports} >= {
        "from tvm_ffi import dtype as _dtype",
        "from builtins import int as _int",
        "from collections.abc import Sequence as _Sequence",
    }


def test_derived_classes_may_have_other_constructors():
    info = lib_state.object_info_from_type_key("testing.TestObjectDerived")
    line = next(line for line in object_lines(info, []) if "__ffi_init__" in line)
    assert line.endswith("-> None: ...  # type: ignore[override, unused-ignore]")


def test_blocks_keep_their_margin():
    info = ObjectInfo(fields=[field("a")], methods=[], type_key="t.T")
    code = block("object", "t.T", "\t")
    codegen.generate_python_object(code, dict(TY_MAP_DEFAULTS), [], Options(), info)
    assert code.lines == ["\t# begin", "\t# fmt: off", "\ta: int", "\t# fmt: on", "\t# end"]


# ---- Imports and exports -----------------------------------------------------------------------


def test_import_section():
    items = [
        ImportItem("a.b.c"),
        ImportItem("a.b.c", True),
        ImportItem("a.b.d", True),
        ImportItem("os"),
        ImportItem("z.k", False, "w"),
        ImportItem("ffi.Object", False, "_O"),
        ImportItem("foo.q", True),
        ImportItem("foo.Q", True),
    ]
    code = block("import-section")
    codegen.generate_python_import_section(code, items, Options(indent=2))
    assert code.lines == [
        "# begin",
        "# fmt: off",
        "# isort: off",
        "from __future__ import annotations",
        "import os",
        "from a.b import c",
        "from tvm_ffi import Object as _O",
        "from typing import TYPE_CHECKING",
        "from z import k as w",
        "if TYPE_CHECKING:",
        "  from a.b import d",
        "  from foo import Q, q",
        "# isort: on",
        "# fmt: on",
        "# end",
    ]


def test_all_has_constants_then_classes_then_the_rest():
    code = block("__all__", margin="    ")
    names = {"b", "A", "C_D", "_x", "Zed", "LIB", "a_", "Abc", "if"}
    codegen.generate_python_all(code, names, Options())
    in_order = ["A", "C_D", "LIB", "Abc", "Zed", "_x", "a_", "b"]
    assert code.lines[1:-1] == [f'    "{name}",' for name in in_order]


def test_export_of_a_submodule():
    code = block("export", "sub")
    codegen.generate_python_export(code)
    assert code.lines[3:-3] == [
        "from .sub import *  # noqa: F403",
        "from .sub import __all__ as sub__all__",
        'if "__all__" not in globals():',
        "    __all__ = []",
        "__all__.extend(sub__all__)",
    ]
    with pytest.raises(ValueError, match=r"`a-b` \(line 1\) is not a module name"):
        codegen.generate_python_export(block("export", "a-b"))


# ---- Registered types --------------------------------------------------------------------------


def test_a_registered_type():
    info = lib_state.object_info_from_type_key("testing.TestObjectDerived")
    assert info.parent_type_key == "testing.TestObjectBase"
    assert info.ancestors == ["ffi.Object", "testing.TestObjectBase"]
    assert (info.has_init, info.total_size, info.is_final) == (True, 72, True)
    assert [(f.name, f.origin, f.offset, f.size) for f in info.fields] == [
        ("v_map", "Map", 56, 8),
        ("v_array", "Array", 64, 8),
    ]
    assert [(f.name, f.has_default) for f in info.init_fields] == [
        ("v_i64", True),
        ("v_f64", True),
        ("v_str", True),
        ("v_map", False),
        ("v_array", False),
    ]
    assert info.init_fields[0].schema.default == 10
    assert info.fields[0].default is MISSING


def test_base_types_come_first():
    keys = ["a", "Child", "KwOnlyDefaults", "Parent", "Simple"]
    keys = [f"testing.TestCxxAutoInit{key}" for key in keys[1:]]
    assert [info.type_key for info in lib_state.toposort_objects(keys)] == [
        "testing.TestCxxAutoInitKwOnlyDefaults",
        "testing.TestCxxAutoInitParent",
        "testing.TestCxxAutoInitChild",
        "testing.TestCxxAutoInitSimple",
    ]


def test_a_missing_intermediate_type_does_not_change_the_order():
    """`TestCxxClassDerived` derives from one of these types and is the base of the other."""
    keys = ["testing.TestCxxClassDerivedDerived", "testing.TestCxxClassBase"]
    assert [info.type_key for info in lib_state.toposort_objects(keys)] == keys[::-1]


def test_unknown_types_and_targets():
    with pytest.raises(ValueError, match=r"Cannot find type key: no\.such"):
        lib_state.object_info_from_type_key("no.such")
    with pytest.raises(ValueError, match="Unknown stubgen generator: 'cobol'"):
        generator.get_generator("cobol")

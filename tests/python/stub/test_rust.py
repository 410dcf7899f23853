# SPDX-License-Identifier: Apache-2.0
"""The Rust target of the stub generator: output, errors, and compilation of the output."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tvm_ffi.testing  # noqa: F401  (registers types)
from tvm_ffi.core import TypeSchema
from tvm_ffi.stub import cli, consts, lib_state
from tvm_ffi.stub._stubgen.rust.rustfmt import format_blocks
from tvm_ffi.stub.file_utils import CodeBlock, FileInfo
from tvm_ffi.stub.generator import get_generator
from tvm_ffi.stub.rust_generator import RustGenerator
from tvm_ffi.stub.rust_generator.codegen import generate_rust_object
from tvm_ffi.stub.rust_generator.consts import RUST_TY_MAP_DEFAULTS
from tvm_ffi.stub.rust_generator.directives import Directives, EnumSpec
from tvm_ffi.stub.rust_generator.utils import (
    RustImports,
    RustUse,
    builtin_mirror_name,
    check_tokens,
    is_crate_type_key,
    render_rust_type,
    rust_ident,
    rust_module_path,
)
from tvm_ffi.stub.utils import NamedTypeSchema, ObjectInfo, Options

BEGIN, END = "// tvm-ffi-stubgen(begin):", "// tvm-ffi-stubgen(end)"
needs_rustfmt = pytest.mark.skipif(shutil.which("rustfmt") is None, reason="no rustfmt")
CRATE = Path(__file__).resolve().parent / "rust_crate"


@pytest.fixture
def stubgen(monkeypatch, capsys):
    """Return a function that runs the tool and returns the exit status and the printed text."""

    def run(*arguments: object) -> tuple[int, str]:
        words = ["tvm-ffi-stubgen", "--target", "rust", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        return cli.__main__(), capsys.readouterr().out

    return run


@pytest.fixture
def crate(tmp_path):
    """Return the folder of a crate's sources."""
    (tmp_path / "Cargo.toml").touch()
    (tmp_path / "src").mkdir()
    return tmp_path / "src"


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def block(kind: str) -> list[str]:
    return [f"{BEGIN} {kind}", END]


def field(name: str, origin: str, offset: int, size: int, *args: str) -> NamedTypeSchema:
    arguments = tuple(TypeSchema(arg) for arg in args)
    schema = TypeSchema(origin, arguments)
    return NamedTypeSchema(name, schema, size=size, alignment=min(size, 8), offset=offset)


def object_info(key: str, total_size: int, *fields: NamedTypeSchema, final=True) -> ObjectInfo:
    return ObjectInfo(
        fields=list(fields),
        methods=[],
        type_key=key,
        parent_type_key="ffi.Object",
        ancestors=["ffi.Object"],
        total_size=total_size,
        is_final=final,
    )


def generated(info: ObjectInfo, imports: RustImports | None = None) -> list[str]:
    code = CodeBlock("object", str(info.type_key), 1, 2, ["// begin", "// end"])
    ty_map = dict(RUST_TY_MAP_DEFAULTS)
    generate_rust_object(code, ty_map, imports or RustImports(), Options(), info, {})
    format_blocks([code], Path(__file__).parent)
    return code.body


# ---- Whole blocks ------------------------------------------------------------------------------


@needs_rustfmt
def test_a_complete_final_type():
    info = object_info("t.Pair", 40, field("a", "int", 24, 8), field("s", "str", 24 + 8, 16))
    info.total_size = 48
    assert (
        generated(info)
        == """\
/// Complete: reflected fields fill [24, 48) exactly.
#[repr(C)]
#[derive(tvm_ffi::derive::Object)]
#[type_key = "t.Pair"]
#[type_final]
pub struct PairObj {
    base: Object,
    pub a: i64,
    pub s: String,
}

const _: () = {
    assert!(::core::mem::size_of::<PairObj>() == 48);
    assert!(::core::mem::align_of::<PairObj>() == 8);
};

#[repr(C)]
#[derive(tvm_ffi::derive::ObjectRef, Clone)]
pub struct Pair {
    base: ObjectArc<PairObj>,
}

impl Deref for Pair {
    type Target = PairObj;
    fn deref(&self) -> &PairObj {
        &self.base
    }
}

impl PairObj {
    pub(crate) fn new(a: i64, s: String) -> Self {
        let base = Object::new();
        Self { base, a, s }
    }
}

impl Pair {
    /// Allocates an object with all fields.
    pub fn new(a: i64, s: impl Into<String>) -> Self {
        let obj = PairObj::new(a, s.into());
        Self {
            base: ObjectArc::new(obj),
        }
    }
}""".splitlines()
    )


@needs_rustfmt
def test_a_base_type_can_be_copied_and_dropped():
    info = object_info(
        "t.Base", 56, field("x", "Any", 24, 16), field("o", "Object", 40, 8),
        field("f", "float", 48, 4), final=False,
    )  # fmt: skip
    lines = generated(info)
    assert (
        lines[lines.index("impl ShallowCopy for BaseObj {") :]
        == """\
impl ShallowCopy for BaseObj {
    fn shallow_copy(&self) -> Self {
        Self {
            base: ShallowCopy::shallow_copy(&self.base),
            x: Clone::clone(&self.x),
            o: Clone::clone(&self.o),
            f: Clone::clone(&self.f),
        }
    }
}

unsafe impl UnsafeInit for BaseObj {
    unsafe fn drop_defined_fields(this: *mut Self) {
        unsafe {
            UnsafeInit::drop_defined_fields(addr_of_mut!((*this).base));
            drop_in_place(addr_of_mut!((*this).x));
            drop_if_defined(addr_of_mut!((*this).o));
            drop_if_defined(addr_of_mut!((*this).f));
        }
    }
}""".splitlines()
    )


def test_an_opaque_type_has_accessors():
    info = object_info("t.Hidden", 48, field("n", "int", 24, 4), field("d", "Dict", 40, 8))
    lines = generated(info)
    assert lines[0] == (
        "/// Opaque: bytes [28, 40) of [24, 48) are not accounted for by reflected fields. "
        "Fields are read through the C ABI getters."
    )
    assert lines[5:8] == ["pub struct HiddenObj {", "    base: Object,", "}"]
    assert lines[-9:] == [
        "impl HiddenObj {",
        "    pub fn n(&self) -> Result<i64> {",
        '        FieldGetter::new(Self::type_index(), "n")?.get(self)',
        "    }",
        "",
        "    pub fn d(&self) -> Result<Any> {",
        '        FieldGetter::new(Self::type_index(), "d")?.get_any(self)',
        "    }",
        "}",
    ]


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (field("x", "int", 24, 1), "i8"),
        (field("x", "int", 24, 4), "i32"),
        (field("x", "float", 24, 4), "f32"),
        (field("x", "bool", 24, 1), "bool"),
        (field("x", "Device", 24, 8), "DLDevice"),
        (field("x", "dtype", 24, 4), "DLDataType"),
        (field("x", "Callable", 24, 8), "Function"),
        (field("x", "Array", 24, 8, "int"), "Array<i64>"),
        (field("x", "Map", 24, 8, "str", "Any"), "Map<String, Any>"),
        (field("x", "Optional", 24, 16, "int"), "Optional<i64>"),
        (field("x", "Optional", 24, 16, "str"), "Optional<String>"),
        (field("x", "Optional", 24, 8, "Object"), "Option<ObjectRef>"),
        (field("x", "Optional", 24, 8, "Tensor"), "Option<Tensor>"),
        (field("x", "Optional", 24, 8, "int"), None),
        (field("x", "Optional", 24, 16, "Any"), None),
        (field("x", "int", 24, 16), None),
        (field("x", "str", 24, 8), None),
        (field("x", "Union", 24, 16, "int", "str"), None),
        (field("x", "tuple", 24, 8), None),
        (field("x", "Dict", 24, 8), None),
        (field("x", "ctypes.c_void_p", 24, 8), None),
        (field("x", "ffi.VisitInterrupt", 24, 8), None),
    ],
    ids=lambda value: None if isinstance(value, NamedTypeSchema) else str(value),
)
def test_types_of_fields(entry, text):
    """The object is opaque if a field has no Rust type of the same layout."""
    lines = generated(object_info("t.T", 24 + max(8, entry.size or 0), entry))
    if text is None:
        assert lines[0].startswith("/// Opaque: field 'x' (")
    else:
        assert f"    pub x: {text}," in lines


def test_an_integer_beyond_64_bits_is_an_object():
    schema = TypeSchema("int", type_key="ffi.BigInt")
    entry = NamedTypeSchema("x", schema, size=8, alignment=8, offset=24)
    assert "    pub x: BigInt," in generated(object_info("t.T", 32, entry))


@needs_rustfmt
def test_fields_named_like_rust_keywords():
    info = object_info(
        "t.type", 64, field("self", "int", 24, 8), field("type", "int", 32, 8),
        field("base", "int", 40, 8), field("x-y", "int", 48, 8), field("x_y", "int", 56, 8),
    )  # fmt: skip
    lines = generated(info)
    assert lines[5:12] == [
        "pub struct typeObj {",
        "    base: Object,",
        "    pub self_: i64,",
        "    pub r#type: i64,",
        "    pub base_: i64,",
        "    pub x_y: i64,",
        "    pub x_y_: i64,",
    ]
    assert "pub struct r#type {" in lines


def test_crate_types_with_the_name_of_a_generated_type():
    imports = RustImports(reserved={"String", "StringObj", "Option", "OptionObj"})
    info = object_info(
        "t.String", 48, field("s", "str", 24, 16), field("o", "Optional", 40, 8, "Object")
    )
    lines = generated(info, imports)
    assert "    pub s: tvm_ffi::String," in lines
    assert "    pub o: ::core::option::Option<ObjectRef>," in lines


@needs_rustfmt
def test_long_lines_are_broken():
    fields = [field(f"a_long_name_{i}", "int", 24 + 8 * i, 8) for i in range(5)]
    lines = generated(object_info("t.Wide", 64, *fields))
    at = lines.index("    pub(crate) fn new(")
    names = [f"a_long_name_{i}" for i in range(5)]
    assert lines[at + 1 : at + 17] == [
        *(f"        {name}: i64," for name in names),
        "    ) -> Self {",
        "        let base = Object::new();",
        "        Self {",
        "            base,",
        *(f"            {name}," for name in names),
        "        }",
        "    }",
    ]
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("final", [False, True])
def test_without_rustfmt_lines_are_indented_and_not_broken(monkeypatch, final):
    fields = [field(f"a_long_name_{i}", "int", 24 + 8 * i, 8) for i in range(5)]
    info = object_info("t.Wide", 64, *fields, final=final)
    formatted = generated(info)
    monkeypatch.setattr(shutil, "which", lambda program: None)
    lines = generated(info)
    at = lines.index("        let base = Object::new();")
    names = [f"a_long_name_{i}" for i in range(5)]
    typed = ", ".join(f"{name}: i64" for name in names)
    visible = "pub(crate)" if final else "pub"
    assert lines[at - 2 : at + 4] == [
        "impl WideObj {",
        f"    {visible} fn new({typed}) -> Self {{",
        "        let base = Object::new();",
        f"        Self {{ base, {', '.join(names)} }}",
        "    }",
        "}",
    ]
    assert check_tokens(lines) == check_tokens(formatted)


@needs_rustfmt
def test_rustfmt_follows_the_configuration_of_the_folder(stubgen, crate):
    options = "tab_spaces = 2\nnewline_style = 'Windows'\n"
    (crate.parent / "rustfmt.toml").write_text(options, encoding="utf-8")
    path = write(crate / "lib.rs", *block("object/testing.TestIntPair"))
    assert stubgen(path) == (0, "")
    assert "  pub a: i64," in lines_of(path)
    assert stubgen("--check", path) == (0, "")


def test_blocks_that_rustfmt_rejects_keep_their_layout(stubgen, crate):
    path = write(
        crate / "lib.rs",
        "// tvm-ffi-stubgen(field): testing.TestIntPair.a -> not a type",
        *block("object/testing.TestIntPair"),
    )
    assert stubgen(path) == (0, "")
    assert "    pub a: not a type," in lines_of(path)


# ---- Directives --------------------------------------------------------------------------------


def test_directives_are_read():
    directives = Directives()
    for name, payload in (
        ("field", "a.B.x -> u32"),
        ("nullable", "a.B.y"),
        ("enum", "a.B.z -> Col(i32) { A=0, B = -1 }"),
        ("opaque", "a.C"),
        ("upcast", "a.C -> x::Y"),
        ("custom-new", "a.C"),
    ):
        directives.add(name, payload, 1)
    assert directives == Directives(
        field_types={"a.B.x": "u32"},
        nullable={"a.B.y"},
        enums={"a.B.z": EnumSpec("Col", "i32", (("A", 0), ("B", -1)))},
        opaque={"a.C"},
        upcasts={"a.C": ["x::Y"]},
        custom_new={"a.C"},
    )


@pytest.mark.parametrize(
    ("name", "payload", "message"),
    [
        ("field", "a.B.x", "Invalid `field` directive at line 7"),
        ("field", "x -> u32", "Invalid `field` directive at line 7"),
        ("nullable", "a.B.x -> u32", "Invalid `nullable` directive at line 7"),
        ("enum", "a.B.x -> Col { A=1 }", "Invalid `enum` directive at line 7"),
        ("enum", "a.B.x -> Col(f32) { A=1 }", "Invalid `enum` directive at line 7"),
        ("enum", "a.B.x -> Col(i8) { A=1x }", "Invalid `enum` directive at line 7"),
        ("enum", "a.B.x -> Col(i8) { A=128 }", "at line 7: A=128 does not fit i8"),
        ("enum", "a.B.x -> Col(u8) { A=-1 }", "at line 7: A=-1 does not fit u8"),
        ("enum", "a.B.x -> Col(i8) { A=1, A=2 }", "at line 7: member A is repeated"),
        ("upcast", "a.B", "Invalid `upcast` directive at line 7"),
        ("opaque", "", "Invalid `opaque` directive at line 7"),
        ("nope", "a.B", "Unknown directive `nope` at line 7"),
    ],
)
def test_malformed_directives_are_refused(name, payload, message):
    with pytest.raises(ValueError, match=message):
        Directives().add(name, payload, 7)


def test_directives_change_a_type():
    directives = Directives()
    directives.add("field", "t.T.u -> u32", 1)
    directives.add("enum", "t.T.e -> Colour(i32) { Red=0, Blue=5 }", 2)
    directives.add("nullable", "t.T.o", 3)
    directives.add("upcast", "t.T -> other::Base", 4)
    directives.add("custom-new", "t.T", 5)
    info = object_info(
        "t.T", 40, field("u", "int", 24, 4), field("e", "int", 28, 4), field("o", "Object", 32, 8)
    )
    imports = RustImports(directives=directives)
    lines = generated(info, imports)
    assert lines[2] == "pub struct Colour(i32);"
    assert lines[6:8] == [
        "    pub const Red: Self = Self(0);",
        "    pub const Blue: Self = Self(5);",
    ]
    at = lines.index("pub struct TObj {")
    assert lines[at + 2 : at + 5] == [
        "    pub u: u32,",
        "    pub e: Colour,",
        "    pub o: Option<ObjectRef>,",
    ]
    head = "    pub fn from_fields(u: u32, e: impl Into<Colour>, o: impl Into<Option<ObjectRef>>)"
    assert f"{head} -> Self {{" in lines
    assert lines[-1] == "tvm_ffi::impl_object_upcast!(T => Base);"
    assert RustUse("other::Base") in imports.items


@pytest.mark.parametrize(
    ("name", "payload", "message"),
    [
        ("field", "t.T.x -> i64", r"`t\.T\.x`: expected a type of 4 bytes, got `i64` \(8 bytes\)"),
        (
            "enum",
            "t.T.x -> C(u8) { A=1 }",
            r"`t\.T\.x`: expected a type of 4 bytes, got `u8` \(1 bytes\)",
        ),
        ("nullable", "t.T.x", "expected a field of 8 bytes, got 4"),
        ("field", "t.T.gone -> i64", r"names `t\.T\.gone`, but the type has no such field"),
    ],
)
def test_directives_that_do_not_match_the_type_are_refused(name, payload, message):
    imports = RustImports()
    imports.directives.add(name, payload, 1)
    with pytest.raises(ValueError, match=message):
        generated(object_info("t.T", 32, field("x", "int", 24, 4)), imports)


def test_a_type_can_be_made_opaque():
    imports = RustImports(directives=Directives(opaque={"t.T"}))
    lines = generated(object_info("t.T", 32, field("x", "int", 24, 8)), imports)
    assert lines[0].startswith("/// Opaque: made opaque by a directive. ")


# ---- Names, imports, modules -------------------------------------------------------------------


def test_helpers(crate):
    assert [rust_ident(name) for name in ("a", "type", "Self", "base", "1a", "")] == [
        *("a", "r#type", "Self_", "base_", "_1a", "_"),
    ]
    assert builtin_mirror_name("ffi.IntEnum") == "FfiIntEnumObj"
    assert [is_crate_type_key(key) for key in ("ffi.Object", "ffix.A")] == [True, False]
    assert RustUse("a::b as c").leaf == "c"
    assert [RustUse(name).as_use_line() for name in ("a::b", "b")] == ["use a::b;", ""]
    assert (
        render_rust_type(TypeSchema("Array", (TypeSchema("Dict"),)), lambda name, _: name) is None
    )
    for path, module in (("lib.rs", ()), ("a/mod.rs", ("a",)), ("a/b.rs", ("a", "b"))):
        assert rust_module_path(crate / path) == ("crate", *module)
    with pytest.raises(ValueError, match="is not under"):
        rust_module_path(crate.parent / "tests" / "x.rs")
    tokens = check_tokens(["// no", "use a::b;", "fn f(", "    a: i64,", ");"])
    assert " ".join(tokens) == "fn f ( a : i64 ) ;"


def test_imports_have_one_meaning():
    imports = RustImports(reserved={"Own"})
    names = [imports.record(name) for name in ("a::C", "d::C", "i64", "x::Own", "a::C")]
    assert names == ["C", "d::C", "i64", "x::Own", "C"]
    assert imports.items == [RustUse("a::C")]
    assert imports.record_builtin_base(["ffi.Enum", "ffi.IntEnum"]) == "FfiIntEnumObj"
    assert imports.builtin_mirrors == {"ffi.Enum": "Object", "ffi.IntEnum": "FfiEnumObj"}


def test_the_generator():
    generator = get_generator("rust")
    assert isinstance(generator, RustGenerator)
    assert generator.canonical_type_name("a.b.C") == "a::b::C"
    assert generator.canonical_type_name("ffi.Array") == "tvm_ffi::Array"
    assert generator.is_builtin("ffi.Array")
    assert generator.syntax is consts.RUST_SYNTAX


# ---- Files -------------------------------------------------------------------------------------


def test_types_in_different_files(stubgen, crate):
    write(crate / "lib.rs", *block("import-section"), *block("object/testing.TestObjectBase"))
    derived = write(
        crate / "a" / "mod.rs", *block("import-section"), *block("object/testing.TestObjectDerived")
    )
    assert stubgen(crate) == (0, "")
    lines = lines_of(derived)
    assert lines[1:3] == ["use crate::TestObjectBase;", "use crate::TestObjectBaseObj;"]
    assert lines[-2] == "tvm_ffi::impl_object_upcast!(TestObjectDerived => TestObjectBase);"
    assert stubgen("--check", crate) == (0, "")


def test_directives_reach_other_files(stubgen, crate):
    """A directive in the parent's file makes the parent opaque, so the child is opaque, too."""
    write(
        crate / "z.rs",
        "// tvm-ffi-stubgen(opaque): testing.TestObjectBase",
        *block("object/testing.TestObjectBase"),
    )
    derived = write(crate / "a.rs", *block("object/testing.TestObjectDerived"))
    assert stubgen(crate) == (0, "")
    assert "parent 'testing.TestObjectBase' is opaque (by-directive)" in lines_of(derived)[1]


def test_a_parent_type_that_no_file_defines_is_an_error(stubgen, crate):
    path = write(crate / "lib.rs", *block("object/testing.TestObjectDerived"))
    status, output = stubgen(crate)
    assert status == 2
    assert output == (
        f'[Failed] File "{path}": ValueError: `testing.TestObjectDerived` (line 1) depends on '
        "`testing.TestObjectBase`, which no file of this run defines; add an `object/<key>` block "
        "or a `ty-map` directive\n"
    )
    write(
        path,
        "// tvm-ffi-stubgen(ty-map): testing.TestObjectBase -> my::Base",
        *block("object/testing.TestObjectDerived"),
    )
    assert stubgen(crate) == (0, "")


def test_check_compares_definitions_only(stubgen, tmp_path):
    path = write(tmp_path / "a.rs", *block("import-section"), *block("object/testing.TestIntPair"))
    assert stubgen(path) == (0, "")
    text = path.read_text(encoding="utf-8")
    other = text.replace("/// Complete", "/// complete").replace(
        "    pub a: i64,\n", "pub a:i64,\n"
    )
    path.write_text(other.replace("use std::ops::Deref;\n", ""), encoding="utf-8")
    assert stubgen("--check", path) == (0, "")
    path.write_text(text.replace("pub a: i64", "pub a: i32"), encoding="utf-8")
    assert stubgen("--check", path) == (1, f"[Stale] {path}\n")


INIT = ("--init-pypkg", "pytvmffi", "--init-lib", "tvm_ffi", "--init-prefix")


def test_modules_are_written_and_declared(stubgen, crate, monkeypatch):
    monkeypatch.setattr("tvm_ffi.libinfo.load_lib_module", lambda *names: None)
    write(crate / "lib.rs", "fn mine() {}")
    assert stubgen(crate, *INIT, "testing") == (0, "")
    assert lines_of(crate / "lib.rs") == ["fn mine() {}", "", "pub mod testing;"]
    lines = lines_of(crate / "testing" / "mod.rs")
    assert lines[:4] == [
        "#![allow(dead_code, unused_imports)]",
        "",
        "//! FFI bindings for `testing` (generated by tvm-ffi-stubgen).",
        "",
    ]
    assert [path.name for path in crate.rglob("*.rs")].count("mod.rs") == 1
    assert stubgen(crate, *INIT, "testing") == (0, "")
    assert lines_of(crate / "lib.rs") == ["fn mine() {}", "", "pub mod testing;"]
    assert lines_of(crate / "testing" / "mod.rs") == lines


# ---- The compiler ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rustc(tmp_path_factory):
    """Return a function that type-checks a file against a test double of the crate."""
    compiler = shutil.which("rustc")
    if compiler is None:
        pytest.skip("rustc is not installed")
    folder = tmp_path_factory.mktemp("rust")

    def run(source: Path, kind: str, *options: str) -> None:
        words = [compiler, "--edition=2021", f"--crate-type={kind}", f"--out-dir={folder}"]
        command = [*words, f"-L{folder}", *options, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")

    run(CRATE / "derive.rs", "proc-macro", "--crate-name=tvm_ffi_derive")
    derive = next(folder.glob("libtvm_ffi_derive.*"))
    metadata = "--emit=metadata"
    run(
        CRATE / "tvm_ffi.rs",
        "rlib",
        "--crate-name=tvm_ffi",
        metadata,
        f"--extern=tvm_ffi_derive={derive}",
    )
    library = folder / "libtvm_ffi.rmeta"

    def check(source: Path) -> None:
        run(source, "lib", "--crate-name=generated", metadata, f"--extern=tvm_ffi={library}")

    return check


@pytest.mark.unsanitized("rustc itself crashes under a sanitizer")
def test_rustc_accepts_all_types_and_their_layouts(rustc, stubgen, crate, monkeypatch):
    monkeypatch.setattr("tvm_ffi.libinfo.load_lib_module", lambda *names: None)
    write(crate / "lib.rs")
    assert stubgen(crate, *INIT, "testing") == (0, "")
    rustc(crate / "lib.rs")


@pytest.mark.unsanitized("rustc itself crashes under a sanitizer")
def test_rustc_accepts_unusual_names_and_directives(rustc, tmp_path):
    fields = {
        "String": field("s", "str", 24, 16),
        "Option": field("o", "Optional", 24, 8, "Object"),
        "type": field("match", "int", 24, 8),
        "Self": field("self", "Optional", 24, 16, "int"),
        "Result": field("d", "Dict", 24, 8),
        "x-y": field("x-y", "Callable", 24, 8),
        "Into": field("base", "Map", 24, 8, "str", "Any"),
        "Clone": field("e", "int", 24, 4),
    }
    generator = RustGenerator()
    markers = [line for name in fields for line in block(f"object/t.{name}")]
    path = write(tmp_path / "odd.rs", *block("import-section"), *markers)
    file = FileInfo.from_file(path)
    assert file is not None
    imports = generator.new_imports()
    generator.add_directive(imports, "enum", "t.Clone.e -> Colour(i32) { A=0, B=-1 }", 1)
    generator.add_directive(imports, "nullable", "t.x-y.x-y", 2)
    generator.begin_file(imports, file, ())
    for code in file.code_blocks[1:]:
        entry = fields[str(code.param).partition(".")[2]]
        size = 24 + max(8, entry.size or 0)
        info = object_info(str(code.param), size, entry, final="-" not in str(code.param))
        generator.generate_object_block(
            code, generator.default_ty_map(), imports, Options(), info, {}
        )
    generator.generate_import_section_block(file.code_blocks[0], imports, Options(), set())
    file.update(verbose=False, dry_run=False)
    allowed = "#![allow(non_camel_case_types)]\n"
    path.write_text(allowed + path.read_text(encoding="utf-8"), encoding="utf-8")
    rustc(path)


def test_a_hidden_field_makes_the_type_opaque():
    info = lib_state.object_info_from_type_key("testing.TestCxxClassHiddenField")
    assert generated(info)[0].startswith("/// Opaque: bytes [32, 40) of [24, 48) are not accounted")

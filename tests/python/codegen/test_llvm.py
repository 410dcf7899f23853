# SPDX-License-Identifier: Apache-2.0
"""Wrappers in LLVM modules: emission, targets, compilation in memory and into libraries."""

from __future__ import annotations

import ctypes
import gc
import io
import os
import shutil
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi._binding.object import NativeReference
from tvm_ffi._library.linking import dynamic_symbols
from tvm_ffi.codegen import make_launch_plan, make_wrapper
from tvm_ffi.inspection import inspect_library
from tvm_ffi.module import CustomModule

llvmlite = pytest.importorskip("llvmlite", reason="llvmlite is not installed")
from llvmlite import binding, ir  # noqa: E402  (behind the check that it is there)

from tvm_ffi.codegen import llvm  # noqa: E402

PTR, I32, I64, FLOAT = ir.PointerType(), ir.IntType(32), ir.IntType(64), ir.FloatType()
SCALE = "scale(x: float32*[n], y: out float32*[n], n: int32, a: float32 = 2.0)"


def module_with_scale(pointer=PTR, triple=None):
    """Return a module with a kernel, in the form that a compiler emits."""
    module = ir.Module("kernels")
    if triple is not None:
        module.triple = triple
    type_ = ir.FunctionType(ir.VoidType(), [pointer, pointer, I32, FLOAT])
    function = ir.Function(module, type_, "scale")
    x, y, n, a = function.args
    begin, head, body, end = (function.append_basic_block() for _ in range(4))
    code = ir.IRBuilder(begin)
    code.branch(head)
    code.position_at_end(head)
    i = code.phi(I32)
    i.add_incoming(I32(0), begin)
    code.cbranch(code.icmp_signed("<", i, n), body, end)
    code.position_at_end(body)
    value = code.load(code.gep(x, [i], source_etype=FLOAT), typ=FLOAT)
    code.store(code.fmul(a, value), code.gep(y, [i], source_etype=FLOAT))
    i.add_incoming(code.add(i, I32(1)), body)
    code.branch(head)
    code.position_at_end(end)
    code.ret_void()
    return module


def scaled(function, *rest):
    y = np.zeros(3, np.float32)
    function(np.array([1, 2, 3], np.float32), y, 3, *rest)
    return y.tolist()


def identity(text="double(a: int) -> int", name="double"):
    """Return a module with a function that takes an int."""
    module = ir.Module("identity")
    function = ir.Function(module, ir.FunctionType(I64, [I64]), name)
    code = ir.IRBuilder(function.append_basic_block())
    code.ret(code.add(function.args[0], function.args[0]))
    llvm.emit_wrapper(module, text, name)
    return module


# ---- emission into a module ----------------------------------------------------------------------


@pytest.mark.parametrize("pointer", [PTR, FLOAT.as_pointer()], ids=["opaque", "typed"])
def test_a_kernel_of_the_module_is_called(pointer):
    module = module_with_scale(pointer)
    made = llvm.emit_wrapper(module, SCALE, module.get_global("scale"))
    assert made.name == "__tvm_ffi_scale"
    functions = llvm.jit(module)
    assert scaled(functions.scale) == [2, 4, 6]
    assert scaled(functions.scale, 0.5) == [0.5, 1, 1.5]


def test_several_wrappers_share_a_module():
    module = module_with_scale()
    llvm.emit_wrapper(module, SCALE)
    wrapper = make_wrapper("halve(x: float32[n], y: out float32[n], a: float32 = 0.5)", "scale",
                           arguments=["x", "y", "int32 n", "a"])  # fmt: skip
    llvm.emit_wrapper(module, wrapper)
    functions = llvm.jit(module)
    assert functions.functions == ("scale", "halve")
    y = np.zeros(2, np.float32)
    functions.halve(np.array([1, 2], np.float32), y)
    assert y.tolist() == [0.5, 1]


@pytest.mark.parametrize(
    ("text", "callee", "message"),
    [
        (
            "scale(x: float32*[n], y: out float32*[n], n: int64, a: float32)",
            None,
            r"scale: the callee 'scale' has the type `void \(ptr, ptr, i32, float\)` in the LLVM ",
        ),
        (
            "scale(n: int) -> int",
            None,
            r"but the wrapper calls a function of the type `i64 \(i64\)`",
        ),
        ("f(n: int)", "data", "the callee is 'data', which is not a function"),
        ("taken(n: int)", None, "the LLVM module already contains the symbol '__tvm_ffi_taken'"),
        (
            "documented(n: int)",
            None,
            "the LLVM module already contains the symbol '__tvm_ffi__doc_documented'",
        ),
        ("f(n: int)", "TVMFFIObjectDecRef", "'TVMFFIObjectDecRef' has the type `i8 "),
        ("f(n: Array[int])", None, "cannot be passed to C"),
    ],
)
def test_errors_leave_the_module_unchanged(text, callee, message):
    module = module_with_scale()
    ir.GlobalVariable(module, I32, "data")
    ir.Function(module, ir.FunctionType(I32, []), "__tvm_ffi_taken")
    ir.Function(module, ir.FunctionType(I32, []), "__tvm_ffi__doc_documented")
    ir.Function(module, ir.FunctionType(ir.IntType(8), [PTR]), "TVMFFIObjectDecRef")
    before = str(module)
    with pytest.raises(ValueError, match=message):
        llvm.emit_wrapper(module, text, callee)
    assert str(module) == before


def test_launch_plans_are_refused():
    image = ".version 8.0 .target sm_80 .entry k(.param .u64 x) { ret; }"
    plan = make_launch_plan("f(x: float32[n])", image, "k", arguments=["x"])
    with pytest.raises(TypeError, match=r"^f: a launch plan becomes a module by .*launch_module"):
        llvm.emit_wrapper(ir.Module(), plan)


def test_other_modules_are_refused():
    with pytest.raises(TypeError, match=r"expected a module of llvmlite\.ir, got str"):
        llvm.emit_wrapper("define void @f()", "f()")


def test_names_and_strings_may_be_arbitrary():
    """Support functions must not be named like C functions; strings in LLVM are bytes."""
    doc = 'é "\\00" \\ \n %1 @x ; \u2028' + "x" * 5000
    signature = tvm_ffi.Signature(
        tvm_ffi.Signature.parse("tvm_ffi(ä: int, b: int) -> int").parameters,
        tvm_ffi.Signature.parse("f() -> int").results,
        "tvm_ffi",
        doc=doc,
    )
    module = ir.Module('a "module"')
    function = ir.Function(module, ir.FunctionType(I64, [I64, I64]), "fail_with_text")
    code = ir.IRBuilder(function.append_basic_block())
    code.ret(code.sub(*function.args))
    llvm.emit_wrapper(module, signature, "fail_with_text")
    functions = llvm.jit(module)
    assert functions.tvm_ffi(7, 3) == 4
    assert functions.get_function_doc("tvm_ffi") == doc
    with pytest.raises(TypeError, match=r"tvm_ffi\(\) argument 'ä': expected int, got str"):
        functions.tvm_ffi("x", 1)


# ---- targets -------------------------------------------------------------------------------------


def test_object_files_for_another_target(tmp_path):
    elffile = pytest.importorskip("elftools.elf.elffile")
    module = module_with_scale(triple="aarch64-unknown-linux-gnu")
    llvm.emit_wrapper(module, f"{SCALE} doc 'Multiply.'")
    file = elffile.ELFFile(io.BytesIO(llvm.object_code(module)))
    assert file.get_machine_arch() == "AArch64"
    symbols = {one.name: one for one in file.get_section_by_name(".symtab").iter_symbols()}
    kinds = ("", "_metadata_", "_doc_")
    for name in (f"__tvm_ffi_{kind}scale" for kind in kinds):
        assert symbols[name]["st_info"]["bind"] == "STB_GLOBAL"
        assert symbols[name]["st_other"]["visibility"] == "STV_DEFAULT"
    undefined = {n for n, one in symbols.items() if n and one["st_shndx"] == "SHN_UNDEF"}
    assert all(name.startswith("TVMFFI") for name in undefined)
    assert file.get_section_by_name("tvm_ffi_exports").data_size == 24 * 4


def test_the_triple_may_be_set_later():
    elffile = pytest.importorskip("elftools.elf.elffile")
    code = llvm.object_code(identity(), triple="riscv64-unknown-linux-gnu", features="+m")
    assert elffile.ELFFile(io.BytesIO(code)).get_machine_arch() == "RISC-V"


@pytest.mark.parametrize(
    "triple",
    ["s390x-linux-gnu", "armv7-linux-gnueabi", "wasm32-unknown-unknown", "x86_64-pc-windows-msvc"],
)
def test_targets_with_other_struct_layouts_are_refused(triple):
    module = module_with_scale(triple=triple)
    before = str(module)
    with pytest.raises(ValueError, match=f"little-endian machines .* got '{triple}'"):
        llvm.emit_wrapper(module, SCALE)
    assert str(module) == before


def test_unknown_targets_are_refused():
    with pytest.raises(ValueError, match="LLVM has no target 'pdp11-dec-unix'"):
        llvm.emit_wrapper(module_with_scale(triple="pdp11-dec-unix"), SCALE)
    with pytest.raises(ValueError, match="LLVM has no target 'pdp11-dec-unix'"):
        llvm.object_code(identity(), triple="pdp11-dec-unix")


def test_code_for_another_target_is_not_loaded():
    other = "aarch64" if "x86_64" in binding.get_process_triple() else "x86_64"
    module = module_with_scale(triple=f"{other}-unknown-linux-gnu")
    llvm.emit_wrapper(module, SCALE)
    with pytest.raises(ValueError, match=f"the module is for '{other}-unknown-linux-gnu', and"):
        llvm.jit(module)


# ---- code in memory ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [str, lambda module: binding.parse_assembly(str(module))])
def test_jit_accepts_several_forms_of_modules(form):
    assert llvm.jit(form(identity())).double(4) == 8


@pytest.mark.parametrize("optimization", [0, 1, 2, 3])
def test_results_are_equal_at_each_optimization_level(optimization):
    function = llvm.jit(identity(), optimization=optimization).double
    assert function(4) == 8
    with pytest.raises(TypeError, match="expected int, got str"):
        function("4")


def test_functions_keep_the_code_alive():
    module = llvm.jit(identity())
    code = weakref.ref(module._code)
    function = module.double
    del module
    gc.collect()
    assert function(21) == 42
    del function
    gc.collect()
    assert code() is None


def test_compiling_does_not_leak_memory():
    def resident():
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def compile_some(count):
        for _ in range(count):
            assert llvm.jit(text).double(1) == 2
        gc.collect()

    text = str(identity())
    compile_some(20)
    before = resident()
    compile_some(60)
    assert resident() - before < 60 * 50_000


def test_code_other_than_wrappers_is_not_unloaded():
    """The deleters of objects that the code returned may be in the code itself."""
    text = """
    define i32 @__tvm_ffi_nothing(ptr %handle, ptr %args, i32 %count, ptr %result) {
      store i32 0, ptr %result
      ret i32 0
    }
    """
    assert llvm.jit(text).nothing() is None
    code = weakref.ref(llvm.jit(text)._code)
    gc.collect()
    assert code() is not None


def test_code_that_creates_objects_is_not_unloaded():
    module = identity()
    create = ir.Function(module, ir.FunctionType(I32, [PTR] * 4), "TVMFFIFunctionCreate")
    code = ir.IRBuilder(ir.Function(module, create.function_type, "make").append_basic_block())
    code.ret(code.call(create, code.function.args))
    made = weakref.ref(llvm.jit(module)._code)
    gc.collect()
    assert made() is not None


def test_functions_may_be_called_until_the_process_ends():
    """LLVM's engine is never released, in any order of destruction at exit."""
    program = (
        "import atexit, tvm_ffi\n"
        "from llvmlite import ir\n"
        "from tvm_ffi.codegen import llvm\n"
        "module = ir.Module('m')\n"
        "i64 = ir.IntType(64)\n"
        "function = ir.Function(module, ir.FunctionType(i64, [i64]), 'same')\n"
        "ir.IRBuilder(function.append_basic_block()).ret(function.args[0])\n"
        "llvm.emit_wrapper(module, 'same(a: int) -> int')\n"
        "kept = llvm.jit(module).same\n"
        "tvm_ffi.register_global_func('test.same', kept)\n"
        "class Late:\n"
        "    def __del__(self, call=tvm_ffi.get_global_func('test.same')):\n"
        "        print('late', call(2))\n"
        "late = Late()\n"
        "late.itself = late\n"
        "atexit.register(lambda: print('exit', kept(1)))\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("exit 1\nlate 2\n", "")


def test_a_later_change_of_the_module_has_no_effect():
    module = identity()
    functions = llvm.jit(module)
    llvm.emit_wrapper(module, "again(a: int) -> int", "double")
    assert functions.functions == ("double",)
    assert llvm.jit(module).again(1) == 2


def test_external_functions_are_called_by_address():
    @ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    def triple(a):
        return 3 * a

    module = ir.Module("outside")
    llvm.emit_wrapper(module, "thrice(a: int) -> int", "triple")
    with pytest.raises(
        ValueError, match="cannot be linked: this process does not define the functions triple$"
    ):
        llvm.jit(module)
    address = ctypes.cast(triple, ctypes.c_void_p).value
    assert llvm.jit(module, symbols={"triple": address}).thrice(5) == 15
    assert llvm.jit(identity()).double(1) == 2


CALL_OF_AN_IMPORT = """
@__tvm_ffi__library_ctx = global ptr null
@name = private constant [7 x i8] c"helper\\00"
declare i32 @TVMFFIEnvModLookupFromImports(ptr, ptr, ptr)
declare i32 @TVMFFIFunctionCall(ptr, ptr, i32, ptr)
define i32 @__tvm_ffi_main(ptr %self, ptr %args, i32 %num_args, ptr %result) {
  %found = alloca ptr
  %module = load ptr, ptr @__tvm_ffi__library_ctx
  %code = call i32 @TVMFFIEnvModLookupFromImports(ptr %module, ptr @name, ptr %found)
  %is_error = icmp ne i32 %code, 0
  br i1 %is_error, label %fail, label %call
fail:
  ret i32 -1
call:
  %function = load ptr, ptr %found
  %status = call i32 @TVMFFIFunctionCall(ptr %function, ptr %args, i32 %num_args, ptr %result)
  ret i32 %status
}
"""


def test_code_finds_the_functions_of_imported_modules():
    """Regression: "the library context is NULL", as only `load_module` set the data symbol."""

    class Helper(CustomModule, kind="test.llvm.helper"):
        def find_function(self, name):
            return (lambda x: x + 1) if name == "helper" else None

    module = llvm.jit(CALL_OF_AN_IMPORT)
    assert module.function_names() == ("main",)
    other = llvm.jit(CALL_OF_AN_IMPORT)
    module.import_module(Helper())
    main, module = module.main, NativeReference(module)
    gc.collect()
    assert main(41) == 42
    with pytest.raises(RuntimeError, match="Cannot find function helper in the imported modules"):
        other.main(1)
    for kept in (module(), other):  # no code of the modules runs after this test
        tvm_ffi.get_global_func("ffi.ModuleGlobalsRemove")(kept)


def test_modules_of_other_tools_are_linked():
    kernels = "define i64 @twice(i64 %0) {\n  %2 = shl i64 %0, 1\n  ret i64 %2\n}\n"
    module = ir.Module("wrappers")
    llvm.emit_wrapper(module, "double(a: int) -> int", "twice")
    assert llvm.jit(module, link=[kernels]).double(21) == 42
    assert llvm.object_code(module, link=[kernels], triple="aarch64-linux-gnu")[:4] == b"\x7fELF"
    with pytest.raises(ValueError, match="the modules cannot be linked together: .*twice"):
        llvm.jit(module, link=[kernels, kernels])


@pytest.mark.parametrize(
    "text",
    [
        "what is this",
        "define i32 @f() {\n ret i64 0\n}",
        "define i32 @f() {\n %x = add i32 %x, 1\n ret i32 %x\n}",
    ],
)
def test_invalid_modules_are_refused(text):
    with pytest.raises(ValueError, match="LLVM rejects the module"):
        llvm.jit(text)


@pytest.mark.parametrize(
    ("link", "error", "message"),
    [
        (["", "\n\ndefine void @f( {"], ValueError, r"^LLVM rejects link\[1\]: .*\n<string>:3:"),
        (["kernels.bc"], ValueError, r"(?s)^LLVM rejects link\[0\]: .*IR, not the name of a file$"),
        (
            [b"BC"],
            TypeError,
            r"^link\[0\]: expected an llvmlite module or LLVM IR as a str, got byt",
        ),
        (
            "define void @f() {}",
            TypeError,
            r"^link: expected a sequence .*, got str; write link=\[",
        ),
        (3, TypeError, r"^link: expected a sequence of modules, got int"),
    ],
)
def test_linked_texts_that_are_no_modules_are_named(link, error, message):
    """Regression: `str` of any value was parsed, with the error of another line."""
    with pytest.raises(error, match=message):
        llvm.jit(identity(), link=link)
    with pytest.raises(TypeError, match="^module: expected an llvmlite module or .* got .*Path"):
        llvm.object_code(Path("kernels.ll"))


def test_exporting_an_uncompiled_module_names_the_compilation(tmp_path):
    text = r"got llvmlite\.ir\.module\.Module; compile it with tvm_ffi\.codegen\.llvm\.jit"
    with pytest.raises(TypeError, match=text):
        tvm_ffi.export_library(tmp_path / "scale.so", identity())
    assert list(tmp_path.iterdir()) == []


def test_invalid_optimization_levels_are_refused():
    with pytest.raises(ValueError, match="optimization must be 0, 1, 2 or 3, got 4"):
        llvm.jit(identity(), optimization=4)


def test_threads_compile_concurrently():
    results, barrier = {}, threading.Barrier(6)

    def work(number):
        barrier.wait()
        for _ in range(3):
            module = identity(f"f{number}(a: int) -> int")
            results[number] = getattr(llvm.jit(module), f"f{number}")(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: 2 * number for number in range(6)}


def test_modules_show_their_source():
    module = llvm.jit(identity())
    assert module.kind == "llvm"
    assert "i32 @__tvm_ffi_double(" in module.inspect_source()
    assert "__tvm_ffi_double:" in module.inspect_source("s")
    assert list(module.get_write_formats()) == ["o", "ll", "s"]


# ---- code in libraries ---------------------------------------------------------------------------


@pytest.fixture
def only_a_linker(tmp_path, monkeypatch):
    """Hide all programs except the linker from the search path."""
    linker = shutil.which("ld")
    if linker is None:
        pytest.skip("the linker ld is not installed")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ld").symlink_to(linker)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("LD", raising=False)


def test_libraries_are_written_without_a_compiler(tmp_path, only_a_linker):
    module = module_with_scale()
    llvm.emit_wrapper(module, f"{SCALE} doc 'Multiply.'")
    path = tvm_ffi.export_library(tmp_path / "scale.so", llvm.jit(module))
    report = inspect_library(path)
    (function,) = report.functions
    assert (function.name, function.doc) == ("scale", "Multiply.")
    program = (
        "import sys, numpy as np, tvm_ffi\n"
        "y = np.zeros(2, np.float32)\n"
        "scale = tvm_ffi.load_module(sys.argv[1]).scale\n"
        "scale(np.ones(2, np.float32), y, n=2)\n"
        "print(y.tolist(), scale.__doc__.split()[0], 'llvmlite' in sys.modules)\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[2.0, 2.0] Multiply. False\n"


def test_a_missing_linker_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LD", raising=False)
    with pytest.raises(RuntimeError, match="(?s)cannot start the linker.*Install one"):
        tvm_ffi.export_library(tmp_path / "f.so", llvm.jit(identity()))
    assert list(tmp_path.iterdir()) == []


def test_kernels_are_not_interposed(tmp_path):
    """The C library has functions with these names, and the loader searches that library first."""
    path = tvm_ffi.export_library(
        tmp_path / "abs.so", llvm.jit(identity("f(a: int) -> int", "abs"))
    )
    assert tvm_ffi.load_module(path).f(-3) == -6
    assert dynamic_symbols(path)[0] & {"abs", "__tvm_ffi_f"} == {"__tvm_ffi_f"}


def test_initializers_and_comdat_groups_are_kept(tmp_path):
    text = """
    $shared = comdat any
    @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }]
        [{ i32, ptr, ptr } { i32 65535, ptr @start, ptr null }]
    @counter = hidden global i64 0
    define linkonce_odr i64 @shared() comdat {
      %1 = load i64, ptr @counter
      ret i64 %1
    }
    define internal void @start() {
      store i64 42, ptr @counter
      ret void
    }
    """
    module = ir.Module("wrappers")
    llvm.emit_wrapper(module, "counted() -> int", "shared")
    made = llvm.jit(module, link=[text])
    assert made.counted() == 42
    path = tvm_ffi.export_library(tmp_path / "counted.so", made)
    assert tvm_ffi.load_module(path).counted() == 42


def test_object_files_are_linked_into_a_library(tmp_path):
    (tmp_path / "f.o").write_bytes(llvm.object_code(identity(), optimization=3))
    path = tvm_ffi.export_library(tmp_path / "f.so", objects=tmp_path / "f.o", functions="double")
    assert tvm_ffi.load_module(path).double(3) == 6


@pytest.mark.parametrize(("suffix", "text"), [("ll", b"define i32"), ("s", b".text")])
def test_modules_are_written_as_text(tmp_path, suffix, text):
    path = tmp_path / f"f.{suffix}"
    llvm.jit(identity()).write_to_file(str(path))
    assert text in path.read_bytes()


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(ValueError, match="is written as o, ll, s, not as 'x'"):
        llvm.jit(identity()).write_to_file(str(tmp_path / "f.x"))


def test_a_missing_llvmlite_is_reported():
    program = (
        "import sys\n"
        "sys.modules['llvmlite'] = None\n"
        "from tvm_ffi import codegen\n"
        "try:\n"
        "    from tvm_ffi.codegen import llvm\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "needs llvmlite: pip install 'pytvmffi[codegen]'" in done.stdout

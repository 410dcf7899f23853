# SPDX-License-Identifier: Apache-2.0
"""CustomModule: module kinds written in Python, their methods, imports, loaders and lifetime."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import shlex
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import libinfo
from tvm_ffi._binding.object import NativeReference
from tvm_ffi.module import CustomModule, Module, ModulePropertyMask

SOURCES = Path(__file__).resolve().parents[2] / "runtime"


class Greeter(CustomModule, kind="test.greeter"):
    """A module that stores bound methods, which refer back to the module."""

    def __init__(self, greeting: str) -> None:
        self.greeting = greeting
        self.functions = {"greet": self.hello, "refuse": self.refuse}

    def find_function(self, name):
        return self.functions.get(name)

    def find_function_doc(self, name):
        return "Greets." if name == "greet" else None

    def find_function_metadata(self, name):
        return {"cost": 3} if name == "greet" else None

    def save_to_bytes(self):
        return self.greeting.encode()

    def inspect_source(self, fmt=""):
        return f"{self.greeting} as {fmt or 'text'}"

    def get_write_formats(self):
        return ["text", "shout"]

    def write_to_file(self, file_name, fmt=""):
        text = self.greeting.upper() if fmt == "shout" else self.greeting
        Path(file_name).write_text(text, encoding="utf-8")

    def hello(self, name):
        return f"{self.greeting}, {name}!"

    def refuse(self):
        raise Refusal(self.greeting)


class Refusal(Exception):
    """An exception class that is not registered with the runtime."""


class Plain(CustomModule, kind="test.plain"):
    """A module class without overrides."""


def native(name):
    """Return a runtime function that calls the C++ methods of modules."""
    return tvm_ffi.get_global_func(name)


# ---- The methods of a module ---------------------------------------------------------------------


def test_instance_is_a_module_of_its_kind():
    greeter = Greeter("Hello")
    assert isinstance(greeter, Module)
    assert greeter.kind == "test.greeter"
    assert greeter.get_property_mask() == 3
    assert greeter.is_runnable()
    assert greeter.is_binary_serializable()
    assert not greeter.is_compilation_exportable()
    assert list(greeter.imports) == []


def test_functions_are_found_as_in_any_module():
    greeter = Greeter("Hello")
    for function in (greeter.greet, greeter["greet"], greeter.get_function("greet")):
        assert isinstance(function, tvm_ffi.Function)
        assert function("you") == "Hello, you!"
    assert greeter.implements_function("greet")
    assert not greeter.implements_function("other")
    with pytest.raises(AttributeError, match="Module has no function 'other'"):
        greeter.get_function("other")
    assert greeter.get_function_doc("greet") == "Greets."
    assert greeter.get_function_doc("other") is None
    assert greeter.get_function_metadata("greet") == {"cost": 3}
    assert greeter.get_function_metadata("other") is None


def test_native_code_reaches_every_method(tmp_path):
    greeter = Greeter("Hello")
    assert native("ffi.ModuleGetKind")(greeter) == "test.greeter"
    assert native("ffi.ModuleGetFunction")(greeter, "greet", False)("you") == "Hello, you!"
    assert native("pytvmffi.ModuleSaveToBytes")(greeter) == b"Hello"
    assert native("ffi.ModuleInspectSource")(greeter, "c") == "Hello as c"
    assert list(native("ffi.ModuleGetWriteFormats")(greeter)) == ["text", "shout"]
    native("ffi.ModuleWriteToFile")(greeter, str(tmp_path / "out"), "shout")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "HELLO"


def test_python_calls_the_methods_themselves():
    greeter = Greeter("Hello")
    assert greeter.save_to_bytes() == b"Hello"
    assert greeter.inspect_source() == "Hello as text"
    assert greeter.get_write_formats() == ["text", "shout"]


def test_methods_without_an_override_raise_or_return_nothing(tmp_path):
    plain = Plain()
    assert plain.get_property_mask() == 0
    assert plain.inspect_source() == native("ffi.ModuleInspectSource")(plain, "") == ""
    assert list(plain.get_write_formats()) == list(native("ffi.ModuleGetWriteFormats")(plain)) == []
    assert not plain.implements_function("greet")
    for save in (plain.save_to_bytes, lambda: native("pytvmffi.ModuleSaveToBytes")(plain)):
        with pytest.raises(RuntimeError, match=r"Module\[test.plain\] does not support SaveToByt"):
            save()
    path = str(tmp_path / "out")
    for write in (plain.write_to_file, lambda p: native("ffi.ModuleWriteToFile")(plain, p, "")):
        with pytest.raises(
            RuntimeError, match=r"Module\[test.plain\] does not support WriteToFile"
        ):
            write(path)


def test_the_properties_of_the_class_are_reported():
    class Exporting(Greeter, properties=ModulePropertyMask.COMPILATION_EXPORTABLE):
        pass

    exporting = Exporting("Hello")
    assert exporting.get_property_mask() == 4
    assert exporting.kind == "test.greeter"  # inherited


def test_exceptions_of_methods_are_raised_unchanged():
    greeter = Greeter("no")
    with pytest.raises(Refusal, match="no") as caught:
        greeter.get_function("refuse")()
    assert type(caught.value) is Refusal

    class Failing(CustomModule, kind="test.failing"):
        def find_function(self, name):
            raise Refusal(name)

        def save_to_bytes(self):
            raise Refusal("bytes")

    with pytest.raises(Refusal, match="anything"):
        Failing().get_function("anything")
    with pytest.raises(Refusal, match="bytes"):
        native("pytvmffi.ModuleSaveToBytes")(Failing())


@pytest.mark.parametrize(
    ("method", "call", "message"),
    [
        ("find_function", lambda m: m.get_function("f"), "find_function.'f'. must return a callab"),
        ("find_function_doc", lambda m: m.get_function_doc("f"), "must return a str or None, got"),
        ("save_to_bytes", native("pytvmffi.ModuleSaveToBytes"), "must return bytes, got int"),
        ("inspect_source", lambda m: native("ffi.ModuleInspectSource")(m, ""), "return a str, got"),
    ],
)
def test_results_of_wrong_types_are_named(method, call, message):
    cls = type("Wrong", (CustomModule,), {method: lambda self, *args: 3}, kind="test.wrong")
    with pytest.raises(TypeError, match=message):
        call(cls())


def test_an_attribute_error_in_a_lookup_is_not_a_missing_function():
    class Misspelt(CustomModule, kind="test.misspelt"):
        def find_function(self, name):
            return self.functoins[name]

    with pytest.raises(AttributeError, match="'Misspelt' object has no attribute 'functoins'"):
        Misspelt().get_function("f")
    with pytest.raises(
        AttributeError, match="'Misspelt' object has no attribute '__deepcopy_me__'"
    ):
        Misspelt().__deepcopy_me__  # noqa: B018


def test_a_forwarded_function_keeps_its_own_module(kernels):
    class Forwarding(CustomModule, kind="test.forwarding"):
        def find_function(self, name):
            return kernels.echo if name == "other" else None

    function = Forwarding()["other"]
    assert (function.__name__, function.__doc__) == ("echo", "Return the argument.")
    assert kernels.echo.__name__ == "echo"


def test_registering_another_module_class_does_not_affect_custom_modules(echo):
    class Other(Module):
        pass

    try:
        tvm_ffi.register_object("ffi.Module")(Other)
        greeter = Greeter("Hello")
        assert echo(greeter) is greeter
        assert type(tvm_ffi.system_lib("other_class_")) is Other
    finally:
        tvm_ffi.register_object("ffi.Module")(Module)
    assert type(tvm_ffi.system_lib("other_class_")) is Module
    assert echo(greeter) is greeter


def test_a_class_may_override_setattr():
    class Strict(CustomModule, kind="test.strict"):
        def __setattr__(self, name, value):
            raise Refusal(name)

    kept = tvm_ffi.Array([Strict()])
    assert type(kept[0]) is Strict
    with pytest.raises(Refusal, match="x"):
        kept[0].x = 1


def test_copies_are_the_module_itself():
    greeter = Greeter("Hello")
    assert copy.copy(greeter) is greeter
    assert copy.deepcopy(greeter) is greeter


class Sum(CustomModule, kind="test.sum"):
    """A module that can be pickled: its class is found by name."""

    def __init__(self, number):
        self.number = number

    def find_function(self, name):
        return (lambda x: x + self.number) if name == "add" else None

    def save_to_bytes(self):
        return bytes([self.number])


def load_sum(data):
    """Return a module from its bytes; a class method would register a loader for all tests."""
    return Sum(data[0])


def test_a_module_is_pickled_as_its_bytes_and_imports():
    Sum.load_from_bytes = staticmethod(load_sum)
    try:
        module, imported = Sum(3), Sum(4)
        module.import_module(imported)
        made, function = pickle.loads(pickle.dumps((module, module["add"])))
    finally:
        del Sum.load_from_bytes
    assert type(made) is Sum
    assert made is not module
    assert made["add"](10) == function(10) == 13
    assert made.imports[0].number == 4
    with pytest.raises(TypeError, match="cannot pickle a module of kind 'test.sum'"):
        pickle.dumps(module)


# ---- Identity and imports ------------------------------------------------------------------------


def test_native_code_returns_the_same_object(echo):
    greeter = Greeter("Hello")
    assert echo(greeter) is greeter
    assert next(iter(tvm_ffi.Array([greeter]))) is greeter
    seen = []
    tvm_ffi.convert(seen.append)(greeter)
    assert seen[0] is greeter


def test_a_module_owned_by_native_code_keeps_its_state():
    plain = Plain()
    plain.note = 17
    kept = tvm_ffi.Array([plain])
    gone = weakref.ref(plain)
    del plain
    assert gone() is None
    again = kept[0]
    assert type(again) is Plain
    assert again.note == 17
    again.note = 18
    del again
    assert kept[0].note == 18


def test_custom_modules_import_and_are_imported(kernel_library):
    greeter, plain = Greeter("Hello"), Plain()
    library = tvm_ffi.load_module(kernel_library, keep_module_alive=False)
    plain.import_module(library)
    library.import_module(greeter)
    assert plain.imports[0].same_as(library)
    assert library.imports[0] is greeter
    assert plain.get_function("greet", query_imports=True)("you") == "Hello, you!"
    assert plain.get_function("count", query_imports=True)(1, 2) == 2
    with pytest.raises(AttributeError):
        plain.get_function("greet")
    assert plain.get_function_doc("greet", query_imports=True) == "Greets."
    with pytest.raises(
        RuntimeError, match="a module must not import itself, directly or through other modules"
    ):
        greeter.import_module(plain)
    library.clear_imports()
    plain.clear_imports()
    assert not plain.implements_function("greet", query_imports=True)


@pytest.fixture(scope="module")
def embedding_library(tmp_path_factory):
    """Compile the library of tests/runtime that embeds modules and calls imported functions."""
    library = tmp_path_factory.mktemp("embedding") / "embedding.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include = [f"-I{path}" for path in libinfo.include_paths()]
    source = str(SOURCES / "embedding_library.c")
    command = [*compiler, "-O1", "-fPIC", "-shared", *include, source, "-o", str(library)]
    subprocess.run(command, check=True)
    return library


@pytest.fixture
def kinds_a_and_b():
    """Register loaders of kinds a and b; the bytes of a module are the name of its function."""

    def loader(name):
        class Loaded(CustomModule, kind=f"test.{name}"):
            def __init__(self, data):
                self.data = data

            def find_function(self, function):
                return (lambda: f"{name} {function}") if function == self.data.decode() else None

        return Loaded

    names = {kind: f"ffi.Module.load_from_bytes.{kind}" for kind in "ab"}
    for kind, name in names.items():
        tvm_ffi.register_global_func(name, loader(kind), override=True)
    yield
    for name in names.values():
        tvm_ffi.remove_global_func(name)


@pytest.mark.usefixtures("kinds_a_and_b")
def test_embedded_modules_are_made_in_python(embedding_library):
    top = tvm_ffi.load_module(embedding_library, keep_module_alive=False)
    library, left = top.imports
    assert [top.kind, library.kind, left.kind] == ["test.a", "library", "test.b"]
    assert left.imports[0] is library.imports[0]
    assert left.imports[0].data == b"end"
    assert top.get_function("left", query_imports=True)() == "b left"


@pytest.mark.usefixtures("kinds_a_and_b")
def test_generated_code_finds_functions_of_python_modules(embedding_library, kernels):
    top = tvm_ffi.load_module(embedding_library, keep_module_alive=False)
    library = top.imports[0]
    library.import_module(Greeter("unused"))
    call_import = library["call_import"]
    assert call_import("end") == "a end"
    # On a thread that Python has never seen:
    assert kernels.call_on_thread(call_import, "end") == "a end"
    with pytest.raises(RuntimeError, match="Cannot find function left in the imported modules"):
        call_import("left")
    with pytest.raises(Refusal, match="unused"):
        call_import("refuse")


def test_missing_loader_is_named_with_a_remedy(embedding_library):
    with pytest.raises(RuntimeError) as caught:
        tvm_ffi.load_module(embedding_library)
    message = str(caught.value)
    assert message.startswith(
        "Library binary was created using {a} but a loader of that name is not registered."
    )
    for part in (str(embedding_library), "`ffi.Module.load_from_bytes.a`", "Python package"):
        assert part in message


def test_the_error_of_a_python_loader_is_raised_unchanged(embedding_library, kinds_a_and_b):
    def refuse(data):
        raise Refusal(data)

    tvm_ffi.register_global_func("ffi.Module.load_from_bytes.b", refuse, override=True)
    with pytest.raises(Refusal, match="left"):
        tvm_ffi.load_module(embedding_library)


# ---- Classes -------------------------------------------------------------------------------------


@pytest.fixture
def forget():
    """Return a function that marks the loader of a kind for removal after the test."""
    kinds = []
    yield kinds.append
    for kind in kinds:
        tvm_ffi.remove_global_func(f"ffi.Module.load_from_bytes.{kind}")


def define_saved(kind, **attributes):
    """Return a class that is registered as the loader of its kind."""

    def load_from_bytes(cls, data):
        return cls(data.decode())

    attributes.setdefault("load_from_bytes", classmethod(load_from_bytes))
    return type("Saved", (Greeter,), attributes, kind=kind)


def test_a_class_is_registered_as_the_loader_of_its_kind(forget):
    forget("test.saved")
    cls = define_saved("test.saved")
    made = native("ffi.Module.load_from_bytes.test.saved")(cls("Good day").save_to_bytes())
    assert type(made) is cls
    assert made.greeting == "Good day"
    assert tvm_ffi.get_global_func("ffi.Module.load_from_bytes.test.greeter", True) is None


def test_a_loader_must_return_a_module(forget):
    forget("test.three")
    define_saved("test.three", load_from_bytes=lambda data: 3)
    with pytest.raises(TypeError, match="Saved.load_from_bytes must return a Module, got int"):
        native("ffi.Module.load_from_bytes.test.three")(b"")


def test_two_classes_cannot_load_the_same_kind(forget):
    forget("test.taken")
    define_saved("test.taken")
    with pytest.raises(RuntimeError, match=r"`ffi.Module.load_from_bytes.test.taken` is already"):
        define_saved("test.taken", __qualname__="Other")


def test_class_may_be_defined_again(forget):
    forget("test.again")
    define_saved("test.again")
    second = define_saved("test.again")
    assert type(native("ffi.Module.load_from_bytes.test.again")(b"")) is second


@pytest.mark.parametrize("kind", ["", "_lib", "a\0b"])
def test_invalid_kinds_are_refused(kind):
    with pytest.raises(
        ValueError, match="module kind: expected a str that is not empty, has no NUL"
    ):
        type("Bad", (CustomModule,), {}, kind=kind)
    with pytest.raises(
        ValueError, match="module kind: expected a str that is not empty, has no NUL"
    ):
        native("pytvmffi.ModuleFromMethods")(kind, 0, None, {})


def test_class_needs_a_kind_and_no_slots():
    with pytest.raises(TypeError, match="module class Base has no module kind; define it with"):
        type("Base", (CustomModule,), {})()
    with pytest.raises(TypeError, match="module kind: expected a str, got int"):
        type("Bad", (CustomModule,), {}, kind=3)
    with pytest.raises(TypeError, match="module class Bad cannot have __slots__, because"):
        type("Bad", (CustomModule,), {"__slots__": ("x",)}, kind="test.slots")


def test_the_native_constructor_checks_the_method_names():
    with pytest.raises(ValueError, match="modules have no method `run`; expected get_function, "):
        native("pytvmffi.ModuleFromMethods")("test.raw", 0, None, {"run": lambda m: m})
    raw = native("pytvmffi.ModuleFromMethods")(
        "test.raw", 2, 17, {"get_function": lambda module, name: lambda: (module.kind, name)}
    )
    assert type(raw) is Module
    assert tuple(raw["f"]()) == ("test.raw", "f")
    assert native("pytvmffi.ModuleState")(raw) == 17
    assert native("pytvmffi.ModuleState")(tvm_ffi.system_lib("none_")) is None


# ---- Lifetime ------------------------------------------------------------------------------------


def test_a_module_is_released_with_its_wrapper():
    plain = Plain()
    reference = NativeReference(plain)
    assert reference() is plain
    del plain
    assert reference() is None


def test_cycles_through_the_state_are_collected():
    greeter = Greeter("Hello")
    greeter.own_function = greeter.hello
    wrapper, module = weakref.ref(greeter), NativeReference(greeter)
    gc.collect()
    assert wrapper() is greeter  # not while it is in use
    del greeter
    gc.collect()
    assert wrapper() is None
    assert module() is None


def test_state_with_cycles_stays_while_native_code_keeps_the_module():
    kept = tvm_ffi.Array([Greeter("Hello")])
    for _ in range(3):
        gc.collect()
    assert native("ffi.ModuleGetFunction")(kept[0], "greet", False)("you") == "Hello, you!"
    importer = Plain()
    importer.import_module(kept[0])
    module = NativeReference(kept[0])
    del kept
    gc.collect()
    assert importer.get_function("greet", query_imports=True)("you") == "Hello, you!"
    del importer
    gc.collect()
    assert module() is None


def test_function_keeps_its_module():
    function = Greeter("Hello").get_function("greet")
    gc.collect()
    assert function("you") == "Hello, you!"


def test_threads_get_one_object():
    kept = tvm_ffi.Array([Plain()])
    barrier = threading.Barrier(8)
    seen = []

    def work():
        barrier.wait(30)
        seen.append(kept[0])

    for _ in range(20):
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(seen) == 8
        assert all(module is seen[0] for module in seen)
        seen.clear()


def test_an_instance_whose_init_fails_is_released():
    class Failing(CustomModule, kind="test.failing_init"):
        def __init__(self):
            references.append(NativeReference(self))
            raise Refusal

    references = []
    with pytest.raises(Refusal):
        Failing()
    gc.collect()
    assert references[0]() is None


def test_modules_may_outlive_the_interpreter(run_python):
    result = run_python(
        textwrap.dedent("""
            import sys
            import tvm_ffi
            from tvm_ffi.module import CustomModule

            class Kept(CustomModule, kind="test.kept"):
                def find_function(self, name):
                    return lambda: name

            kernels = tvm_ffi.load_module(sys.argv[1])
            module = Kept()
            tvm_ffi.get_global_func("ffi.ModuleGlobalsAdd")(module)
            kernels.keep_object(module["f"])
            kernels.call_at_exit()
        """)
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == (
        "at exit: cannot call a Python function: the interpreter has shut down\nreleased\n"
    )


def test_importing_the_package_does_not_import_custom_modules(run_python):
    code = "import sys, tvm_ffi; print('tvm_ffi.module._custom' in sys.modules)"
    assert run_python(code).stdout == "False\n"
    assert sys.modules["tvm_ffi.module._custom"].CustomModule is CustomModule

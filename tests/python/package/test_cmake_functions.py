# SPDX-License-Identifier: Apache-2.0
"""The CMake functions of ``find_package(tvm_ffi)``, used by C, C++ and CUDA projects."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import libinfo

SEARCH = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
CMAKE = shutil.which("cmake", path=SEARCH)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CMAKE is None, reason="no cmake")]

PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES {language})
find_package(tvm_ffi CONFIG REQUIRED)
"""

# Another rule makes the device image; its path contains a space and a non-ASCII letter.
KERNELS = """
set(image "${CMAKE_CURRENT_BINARY_DIR}/an image é.bin")
add_custom_command(OUTPUT "${image}" COMMAND ${CMAKE_COMMAND} -E copy
  ${CMAKE_CURRENT_SOURCE_DIR}/image.txt "${image}" DEPENDS image.txt)
tvm_ffi_add_kernels(kernels kernels.c)
tvm_ffi_embed_bin_into(kernels SYMBOL image BIN "${image}")
tvm_ffi_add_kernels(linked kernels.c LINK_SHARED ON)
tvm_ffi_embed_bin_into(linked SYMBOL image BIN image.txt)
tvm_ffi_install(kernels DESTINATION package)
tvm_ffi_install(linked)
"""

KERNELS_C = """
#include <tvm/ffi/c_api.h>
#if TVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT != 1
#error "kernels export metadata by default"
#endif

extern const char __tvm_ffi__cubin_image[], __tvm_ffi__cubin_image_end[];

int __tvm_ffi_image(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)self, (void)args, (void)num_args;
  TVMFFIByteArray bytes = {__tvm_ffi__cubin_image, 0};
  bytes.size = (size_t)(__tvm_ffi__cubin_image_end - __tvm_ffi__cubin_image);
  return TVMFFIBytesFromByteArray(&bytes, result);
}
"""

PROGRAM = """
add_executable(program main.{suffix})
tvm_ffi_add_system_library(program PREFIX model_ FUNCTIONS one two)
tvm_ffi_add_system_library(program FUNCTIONS three)
target_link_libraries(program PRIVATE tvm_ffi::minimal)
"""

# The exit status of the program is the sum of the results of its three functions.
PROGRAM_C = """
#include <string.h>
#include <tvm/ffi/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RETURN(name, value)                                                       \\
  int name(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);                         \\
  int name(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* out) { \\
    (void)self, (void)args, (void)num_args;                                       \\
    out->type_index = kTVMFFIInt;                                                 \\
    out->v_int64 = value;                                                         \\
    return 0;                                                                     \\
  }
RETURN(__tvm_ffi_model_one, 1)
RETURN(__tvm_ffi_model_two, 10)
RETURN(__tvm_ffi_three, 100)

#ifdef __cplusplus
}
#endif

static TVMFFIAny call(TVMFFIObjectHandle function, TVMFFIAny* args, int32_t num_args) {
  TVMFFIAny result;
  memset(&result, 0, sizeof(result));
  if (TVMFFIFunctionCall(function, args, num_args, &result) != 0) result.v_int64 = 1000;
  return result;
}

static TVMFFIAny call_global(const char* name, TVMFFIAny* args, int32_t num_args) {
  TVMFFIByteArray text = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  TVMFFIFunctionGetGlobal(&text, &function);
  return call(function, args, num_args);
}

static int result_of(const char* prefix, const char* name) {
  TVMFFIAny args[3];
  memset(args, 0, sizeof(args));
  args[0].type_index = args[1].type_index = kTVMFFIRawStr;
  args[2].type_index = kTVMFFIBool;
  args[0].v_c_str = prefix;
  args[0] = call_global("ffi.SystemLib", args, 1);
  args[1].v_c_str = name;
  return (int)call(call_global("ffi.ModuleGetFunction", args, 3).v_obj, NULL, 0).v_int64;
}

int main(void) {
  return result_of("model_", "one") + result_of("model_", "two") + result_of("", "three");
}
"""


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "PATH": SEARCH, "LC_ALL": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def configure(folder: Path, text: str, language: str = "C") -> tuple[int, str]:
    folder.mkdir(exist_ok=True)
    text = PROJECT.format(language=language) + text
    (folder / "CMakeLists.txt").write_text(text, encoding="utf-8")
    assert CMAKE is not None
    root = f"-Dtvm_ffi_ROOT={libinfo.find_cmake_path()}"
    done = run(CMAKE, "-S", folder, "-B", folder / "build", root)
    return done.returncode, done.stdout


def build(folder: Path) -> None:
    assert CMAKE is not None
    done = run(CMAKE, "--build", folder / "build")
    assert done.returncode == 0, done.stdout


def test_kernels_with_an_embedded_file(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "kernels.c").write_text(KERNELS_C, encoding="utf-8")
    (folder / "image.txt").write_bytes(b"\x7fELF and a \0 inside")
    assert configure(folder, KERNELS)[0] == 0
    build(folder)
    module = tvm_ffi.load_module(folder / "build" / "kernels.so")
    assert module.image() == b"\x7fELF and a \0 inside"

    # A device image is embedded again after it changes.
    (folder / "image.txt").write_bytes(b"changed")
    build(folder)
    assert b"changed" in (folder / "build" / "kernels.so").read_bytes()

    assert CMAKE is not None
    done = run(CMAKE, "--install", folder / "build", "--prefix", tmp_path / "installed")
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "installed" / "package" / "kernels.so").is_file()
    linked = tmp_path / "installed" / "linked.so"
    if shutil.which("readelf") is not None:
        needed = {
            library: "libtvm_ffi.so" in run("readelf", "--dynamic", library).stdout
            for library in (linked, folder / "build" / "kernels.so")
        }
        assert list(needed.values()) == [True, False]


@pytest.mark.skipif(shutil.which("nvcc", path=SEARCH) is None, reason="no nvcc")
def test_device_code_is_compiled_and_embedded(tmp_path):
    """A cubin is an ELF file; a fatbin starts with its magic number."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "kernels.c").write_text(KERNELS_C, encoding="utf-8")
    (folder / "k.cu").write_text('extern "C" __global__ void k() {}\n', encoding="utf-8")
    text = "set(CMAKE_CUDA_ARCHITECTURES 80)\nenable_language(CUDA)\n"
    for kind in ("cubin", "fatbin"):
        text += (
            f"add_tvm_ffi_{kind}({kind}_image CUDA k.cu)\ntvm_ffi_add_kernels({kind} kernels.c)\n"
        )
        text += (
            f'tvm_ffi_embed_bin_into({kind} SYMBOL image BIN "$<TARGET_OBJECTS:{kind}_image>")\n'
        )
    status, output = configure(folder, text)
    if status != 0 and "enable_language" in output:
        pytest.skip(f"CMake finds no working CUDA compiler: {output}")
    assert status == 0, output
    build(folder)
    starts = [
        tvm_ffi.load_module(folder / "build" / f"{kind}.so").image()[:4]
        for kind in ("cubin", "fatbin")
    ]
    assert starts == [b"\x7fELF", b"\x50\xed\x55\xba"]


CHECKED = """
tvm_ffi_add_kernels(checked first.{suffix} second.{suffix})
tvm_ffi_add_kernels(trusting first.{suffix} second.{suffix} UNCHECKED)
"""
CHECKED_C = """
#include <tvm/ffi/extra/c_signature.h>
#ifdef __cplusplus
extern "C"
#endif
TVM_FFI_DLL_EXPORT int __tvm_ffi_NAME(void* handle, const TVMFFIAny* args, int32_t num_args,
                                      TVMFFIAny* result) {
  (void)handle, (void)args, (void)num_args;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = 1;
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(NAME, "NAME(x: float64[n] compact) -> int")
"""


@pytest.mark.parametrize(("language", "suffix"), [("C", "c"), ("CXX", "cc")])
def test_kernels_with_signatures_check_the_arguments_of_native_callers(
    tmp_path, kernels, language, suffix
):
    """Only the binding checked these functions; callers in C passed any array."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name in ("first", "second"):
        text = CHECKED_C.replace("NAME", name)
        (folder / f"{name}.{suffix}").write_text(text, encoding="utf-8")
    status, output = configure(folder, CHECKED.format(suffix=suffix), language)
    assert status == 0, output
    assert "Warning" not in output

    def load(name):
        # A copy, because the loader returns a loaded library again although its file is changed.
        number = len(list(tmp_path.glob("*.so")))
        path = shutil.copy(folder / "build" / f"{name}.so", tmp_path / f"{name}{number}.so")
        return tvm_ffi.load_module(path, keep_module_alive=False)

    build(folder)
    module, trusting = load("checked"), load("trusting")
    integers = np.arange(3)
    for name in ("first", "second"):
        error = kernels.catch(module.get_function(name), integers)
        assert error.message == f"{name}() argument 'x': expected dtype float64, got int64"
        assert kernels.catch(module.get_function(name), np.arange(3.0)) == 1
        assert kernels.catch(trusting.get_function(name), integers) == 1
        assert trusting.get_function(name)(integers) == 1

    # A changed signature is generated again by the build.
    source = folder / f"first.{suffix}"
    text = source.read_text(encoding="utf-8").replace("float64", "int64")
    source.write_text(text, encoding="utf-8")
    build(folder)
    module = load("checked")
    assert kernels.catch(module.first, integers) == 1
    error = kernels.catch(module.first, np.arange(3.0))
    assert error.message == "first() argument 'x': expected dtype int64, got float64"


def test_kernels_with_an_invalid_signature_are_an_error(tmp_path):
    text = CHECKED_C.replace("NAME", "first").replace("float64", "flot64")
    (tmp_path / "first.c").write_text(text, encoding="utf-8")
    status, output = configure(tmp_path, "tvm_ffi_add_kernels(kernels first.c)\n")
    assert status != 0
    assert "'flot64' is not a dtype" in " ".join(output.split())


def test_kernels_without_python_are_built_with_a_warning(tmp_path):
    (tmp_path / "first.c").write_text(CHECKED_C.replace("NAME", "first"), encoding="utf-8")
    text = "set(Python_EXECUTABLE /no/python)\ntvm_ffi_add_kernels(kernels first.c"
    status, output = configure(tmp_path, f"{text})\n")
    assert status == 0
    message = "functions of kernels do not check their arguments if they are called from C"
    assert message in " ".join(output.split())
    build(tmp_path)
    with pytest.raises(ValueError, match="expected dtype float64, got int64"):
        tvm_ffi.load_module(tmp_path / "build" / "kernels.so").first(np.arange(3))
    assert "Warning" not in configure(tmp_path, f"{text} UNCHECKED)\n")[1]


@pytest.mark.unsanitized("programs linked with the archive would need the sanitizer's libraries")
@pytest.mark.parametrize(("language", "suffix"), [("C", "c"), ("CXX", "cc")])
def test_functions_of_the_system_library(tmp_path, language, suffix):
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / f"main.{suffix}").write_text(PROGRAM_C, encoding="utf-8")
    assert configure(folder, PROGRAM.format(suffix=suffix), language)[0] == 0
    build(folder)
    assert run(folder / "build" / "program").returncode == 111


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tvm_ffi_embed_bin_into(t SYMBOL a-b BIN x)", "SYMBOL consists of letters, .* got `a-b`"),
        ("tvm_ffi_embed_bin_into(t SYMBOL ab)", "BIN is a file, got ``"),
        ("tvm_ffi_add_system_library(t PREFIX p_)", "FUNCTIONS NAME.*got: PREFIX;p_"),
    ],
)
def test_wrong_calls_are_refused(tmp_path, call, message):
    status, output = configure(tmp_path, f"add_library(t INTERFACE)\n{call}\n")
    assert status != 0
    assert re.search(message, " ".join(output.split()))


def test_configured_targets_link_the_selected_libraries(tmp_path):
    text = ""
    for number, options in enumerate(["", "LINK_SHARED OFF", "LINK_HEADER OFF DEBUG_SYMBOL ON"]):
        text += (
            f"add_library(t{number} MODULE ${{CMAKE_CURRENT_LIST_FILE}})\n"
            f"tvm_ffi_configure_target(t{number} {options})\n"
            f"get_target_property(libraries t{number} LINK_LIBRARIES)\n"
            f'message(STATUS "t{number}: ${{libraries}}.")\n'
        )
    text += "set_target_properties(t0 t1 t2 PROPERTIES LINKER_LANGUAGE C)\n"
    status, output = configure(tmp_path, text)
    assert status == 0, output
    assert re.findall(r"-- (t\d: .*)", output) == [
        "t0: tvm_ffi::header;tvm_ffi::shared.",
        "t1: tvm_ffi::header.",
        "t2: tvm_ffi::shared.",
    ]
    assert "Warning" not in output
    _, output = configure(tmp_path, text + "tvm_ffi_configure_target(t0 STUB_DIR here)\n")
    assert "unknown arguments: STUB_DIR;here" in output

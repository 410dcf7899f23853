# SPDX-License-Identifier: Apache-2.0
"""`embed_cubin`: cubins embedded in object files, and programs that read them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_ffi.utils.embed_cubin import embed_cubin

pytestmark = pytest.mark.skipif(
    not (sys.platform == "linux" and all(map(shutil.which, ("ld", "objcopy", "nm", "cc")))),
    reason="needs Linux, binutils and a C compiler",
)

# Prints the length, the checksum, and the address modulo 64.
PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
extern const unsigned char __tvm_ffi__cubin_NAME[];
extern const unsigned char __tvm_ffi__cubin_NAME_end[];
static long sum(void) {
  long total = 0;
  for (const unsigned char* p = __tvm_ffi__cubin_NAME; p != __tvm_ffi__cubin_NAME_end; ++p) {
    total = (total * 31 + *p) % 1000003;
  }
  return total;
}
void report_NAME(void) {
  printf("%ld %ld %d\n", (long)(__tvm_ffi__cubin_NAME_end - __tvm_ffi__cubin_NAME), sum(),
         (int)((uintptr_t)__tvm_ffi__cubin_NAME % 64));
}
"""
BYTES = bytes(range(256)) * 3 + b"\0end"


def checksum(content):
    total = 0
    for byte in content:
        total = (total * 31 + byte) % 1000003
    return total


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


@pytest.fixture
def build(tmp_path):
    """Return a function that compiles the program above for a name."""

    def compile_(name, extra=""):
        source, target = tmp_path / f"{name}.c", tmp_path / f"{name}.o"
        source.write_text(PROGRAM.replace("NAME", name) + extra, encoding="utf-8")
        run("cc", "-c", "-fPIC", str(source), "-o", str(target))
        return target

    return compile_


@pytest.fixture
def cubin(tmp_path):
    path = tmp_path / "kernel with spaces.cubin"
    path.write_bytes(BYTES)
    return path


MAIN = "int main(void) { report_k(); return 0; }\n"


def test_a_linked_program_reads_the_bytes(build, cubin, tmp_path):
    output = tmp_path / "out.o"
    assert embed_cubin(cubin, build("k", MAIN), output, "k") is None
    program = tmp_path / "program"
    run("cc", str(output), "-o", str(program))
    assert run(str(program)) == f"{len(BYTES)} {checksum(BYTES)} 0\n"


def test_symbols_are_local_and_data_is_read_only(build, cubin, tmp_path):
    output = tmp_path / "out.o"
    embed_cubin(cubin, build("k", MAIN), output, "k")
    symbols = [line.split()[-2:] for line in run("nm", str(output)).splitlines()]
    ours = {name: kind for kind, name in symbols if "cubin" in name}
    assert ours == {"__tvm_ffi__cubin_k": "r", "__tvm_ffi__cubin_k_end": "r"}
    if shutil.which("readelf"):
        program = tmp_path / "program"
        run("cc", str(output), "-o", str(program))
        headers = run("readelf", "-lW", str(program)).splitlines()
        (stack,) = (line.split() for line in headers if "GNU_STACK" in line)
        assert stack[-2] == "RW"  # and not RWE


def test_several_cubins_in_one_object_and_one_name_in_two_objects(build, cubin, tmp_path):
    second = tmp_path / "second.cubin"
    second.write_bytes(b"other")
    merged = tmp_path / "merged.o"
    run("ld", "-r", "-o", str(merged), str(build("a")), str(build("b")))
    embed_cubin(cubin, merged, merged, "a")  # in place
    embed_cubin(second, merged, merged, "b")
    # A second object of the same program embeds a kernel with the same name.
    other = tmp_path / "other.o"
    text = PROGRAM.replace("report_NAME", "report_other").replace("NAME", "a")
    (tmp_path / "other.c").write_text(text, encoding="utf-8")
    run("cc", "-c", "-fPIC", str(tmp_path / "other.c"), "-o", str(other))
    embed_cubin(second, other, other, "a")
    main = tmp_path / "main.c"
    main.write_text(
        "void report_a(void); void report_b(void); void report_other(void);\n"
        "int main(void) { report_a(); report_b(); report_other(); return 0; }\n",
        encoding="utf-8",
    )
    program = tmp_path / "program"
    run("cc", str(main), str(merged), str(other), "-o", str(program))
    assert run(str(program)).splitlines() == [
        f"{len(BYTES)} {checksum(BYTES)} 0",
        f"5 {checksum(b'other')} 0",
        f"5 {checksum(b'other')} 0",
    ]


def test_a_shared_library_has_the_bytes_too(build, cubin, tmp_path):
    output = tmp_path / "out.o"
    embed_cubin(cubin, build("k"), output, "k")
    library, main = tmp_path / "libk.so", tmp_path / "main.c"
    run("cc", "-shared", str(output), "-o", str(library))
    main.write_text(f"void report_k(void);\n{MAIN}", encoding="utf-8")
    program = tmp_path / "program"
    run("cc", str(main), str(library), "-o", str(program))
    assert run(str(program)) == f"{len(BYTES)} {checksum(BYTES)} 0\n"


def test_an_empty_file(build, tmp_path):
    empty, output = tmp_path / "empty.cubin", tmp_path / "out.o"
    empty.touch()
    embed_cubin(empty, build("k", MAIN), output, "k")
    program = tmp_path / "program"
    run("cc", str(output), "-o", str(program))
    assert run(str(program)).startswith("0 0 ")


def test_missing_files(build, cubin, tmp_path):
    output, missing = tmp_path / "out.o", tmp_path / "missing"
    with pytest.raises(FileNotFoundError, match=f"^CUBIN file not found: {missing}$"):
        embed_cubin(missing, build("k"), output, "k")
    with pytest.raises(FileNotFoundError, match=f"^Input object file not found: {missing}$"):
        embed_cubin(cubin, missing, output, "k")
    assert not output.exists()


@pytest.mark.parametrize("name", ["", "a b", "a-b", "a=b", "ä", "a\n", "--help"])
def test_invalid_names_are_refused(build, cubin, tmp_path, name):
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        embed_cubin(cubin, build("k"), tmp_path / "out.o", name)


def test_a_failing_tool_is_an_error(cubin, tmp_path):
    text, output = tmp_path / "text.o", tmp_path / "out.o"
    text.write_text("no object file", encoding="utf-8")
    output.write_text("from before", encoding="utf-8")
    with pytest.raises(RuntimeError) as caught:
        embed_cubin(cubin, text, output, "k")
    message = str(caught.value)
    assert message.startswith("ld failed with status ")
    assert f"Command: ld -r -o merged.o {text} bytes.o" in message
    assert "stderr: " in message
    assert output.read_text(encoding="utf-8") == "from before"


def test_a_missing_tool_is_an_error(build, cubin, tmp_path, monkeypatch):
    obj = build("k")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="cannot find the program ld; install"):
        embed_cubin(cubin, obj, tmp_path / "out.o", "k")


# ---- the command line ------------------------------------------------------------------------


def command_line(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "tvm_ffi.utils.embed_cubin", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )


def test_command_line(build, cubin, tmp_path):
    obj = build("k", MAIN).name
    options = ["--output-obj", "out.o", "--input-obj", obj, "--cubin", cubin.name, "--name", "k"]
    done = command_line(*options, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    program = tmp_path / "program"
    run("cc", str(tmp_path / "out.o"), "-o", str(program))
    assert run(str(program)) == f"{len(BYTES)} {checksum(BYTES)} 0\n"
    verbose = command_line(*options, "-v", cwd=tmp_path)
    assert verbose.returncode == 0
    assert "\nobjcopy --localize-symbol __tvm_ffi__cubin_k " in verbose.stdout


@pytest.mark.parametrize(
    ("changed", "status", "message"),
    [
        ({"--cubin": "missing"}, 1, "Error: CUBIN file not found: missing\n"),
        ({"--input-obj": "missing"}, 1, "Error: Input object file not found: missing\n"),
        ({"--input-obj": "k.c"}, 2, "Error: ld failed with status 1\n"),
        ({"--name": "a b"}, 3, "Error: name must consist of"),
        ({"--output-obj": "."}, 3, "Error: "),
    ],
)
def test_exit_statuses(build, cubin, tmp_path, changed, status, message):
    options = {
        "--output-obj": "out.o",
        "--input-obj": build("k").name,
        "--cubin": cubin.name,
        "--name": "k",
        **changed,
    }
    done = command_line(*(part for pair in options.items() for part in pair), cwd=tmp_path)
    assert done.returncode == status
    assert done.stderr.startswith(message)
    assert not Path(tmp_path, "out.o").exists()

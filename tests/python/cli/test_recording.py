# SPDX-License-Identifier: Apache-2.0
"""Commands ``tvm-ffi record``, ``tvm-ffi replay`` and ``tvm-ffi recording``."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi.cli import main
from tvm_ffi.observe import Recording

SHAPE = "import tvm_ffi; shape = tvm_ffi.get_global_func('ffi.Shape'); "


def record(folder, *arguments, script="shape(1, 2); shape(3)"):
    return subprocess.run(
        [sys.executable, "-m", "tvm_ffi", "record", *arguments, "--", sys.executable, "-c",
         SHAPE + script],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def arguments_in(path):
    return [call.arguments for call in Recording(path).calls if call.name == "ffi.Shape"]


def test_the_calls_of_a_command_are_recorded(tmp_path):
    for _ in range(2):  # the second recording replaces the first one
        process = record(tmp_path)
        assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
        assert arguments_in(tmp_path / "run.tvmrec") == [(1, 2), (3,)]
        assert [path.name for path in tmp_path.iterdir()] == ["run.tvmrec"]


def test_the_status_of_the_command_is_that_of_record(tmp_path):
    assert record(tmp_path, script="shape(5); import os; os.abort()").returncode == -6
    assert arguments_in(tmp_path / "run.tvmrec") == [(5,)]
    process = subprocess.run(
        [sys.executable, "-m", "tvm_ffi", "record", "--", "no-such-command"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 2
    assert "No such file or directory" in process.stderr


def test_the_options_reach_the_recorder(tmp_path):
    options = "-o", "x.tvmrec", "--contents", "all", "--max-bytes", "100", "--last", "7"
    record(tmp_path, *options, "--name", "ffi.Shape", "--name", "other.*", script="shape(4)")
    recording = Recording(tmp_path / "x.tvmrec")
    assert (recording.contents, recording.max_bytes, recording.last) == ("all", 100, 7)
    assert [call.name for call in recording.calls] == ["ffi.Shape"]


def test_each_process_of_the_command_has_a_file(tmp_path):
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', "
        f'"{SHAPE} shape(8)"])\n'
        "print(child.pid)\nassert child.wait() == 0\nshape(9)"
    )
    process = record(tmp_path, script=script)
    assert process.returncode == 0, process.stderr
    assert arguments_in(tmp_path / "run.tvmrec") == [(9,)]
    assert arguments_in(tmp_path / f"run.tvmrec.{process.stdout.strip()}") == [(8,)]


def test_a_file_that_cannot_be_created_is_a_message_and_the_command_runs(tmp_path):
    process = record(tmp_path, "-o", "missing/run.tvmrec", script="print(shape(1)[0])")
    assert (process.returncode, process.stdout) == (0, "1\n")
    assert "tvm_ffi: no recording was started: cannot create the recording" in process.stderr


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.tvmrec"
    echo = tvm_ffi.convert_func(lambda *args: args[0])
    tvm_ffi.register_global_func("cli_test.echo", echo, override=True)
    with tvm_ffi.record(path, ["cli_test.echo", "ffi.Shape"], contents="all"):
        tvm_ffi.get_global_func("cli_test.echo")(np.ones((2, 3), "int8")[:, ::2], "a\nb")
        tvm_ffi.get_global_func("ffi.Shape")(2, 3)
    yield path
    tvm_ffi.remove_global_func("cli_test.echo")


def test_show_prints_a_table(path, capsys):
    assert main(["recording", "show", str(path), "--from", "2"]) == 0
    output = capsys.readouterr().out
    assert "ffi.Shape" in output
    assert "cli_test.echo" not in output
    assert main(["recording", "show", str(path), "--to", "1"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "int8[2, 2]" in output
    assert r"'a\nb'" in output


def test_show_prints_json(path, capsys):
    assert main(["recording", "show", "--json", str(path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["contents"], document["dropped"]) == (1, "all", 0)
    first, second = document["calls"]
    tensor, text = first["arguments"]
    assert (tensor["shape"], tensor["strides"], tensor["dtype"]) == ([2, 2], [3, 2], "int8")
    assert (tensor["content"], text) == ("01010101", "a\nb")
    assert (second["arguments"], second["result"]["elements"]) == ([2, 3], [2, 3])


def test_compare_prints_the_first_difference(path, tmp_path, capsys):
    other = tmp_path / "other.tvmrec"
    with tvm_ffi.record(other, ["cli_test.echo", "ffi.Shape"], contents="all"):
        tvm_ffi.get_global_func("cli_test.echo")(np.ones((2, 3), "int8")[:, ::2], "a\nb")
        tvm_ffi.get_global_func("ffi.Shape")(2, 4)
    assert main(["recording", "compare", str(path), str(path)]) == 0
    assert capsys.readouterr().out == "no difference\n"
    assert main(["recording", "compare", str(path), str(other)]) == 1
    assert capsys.readouterr().out == "call 2 of ffi.Shape: the result[1] is 3, then 4\n"


def test_export_prints_a_script(path, capsys):
    assert main(["recording", "export", str(path), "1"]) == 0
    script = capsys.readouterr().out
    compile(script, "call.py", "exec")
    assert "shape=(2, 2)" in script
    assert main(["recording", "export", str(path), "3"]) == 2
    assert "there is no call with the number 3" in capsys.readouterr().err


def test_replay_prints_a_summary(path, capsys):
    assert main(["replay", str(path)]) == 0
    assert capsys.readouterr().out == "2 replayed, 0 different, 0 skipped\n"
    tvm_ffi.register_global_func("cli_test.echo", lambda x, y: 5, override=True)
    assert main(["replay", str(path), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["replayed"], document["skipped"]) == (2, [])
    (difference,) = document["differences"]
    assert difference == {
        "call": 1,
        "function": "cli_test.echo",
        "text": "the result is int8[2, 2] strides [3, 2], then 5",
    }
    assert main(["replay", str(path), "--from", "3"]) == 1  # nothing was replayed
    assert capsys.readouterr().out == "0 replayed, 0 different, 0 skipped\n"


def test_a_damaged_file_is_one_line(tmp_path, capsys):
    path = tmp_path / "run.tvmrec"
    path.write_bytes(b"no recording")
    for command in (["replay"], ["recording", "show"]):
        assert main([*command, str(path)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line == (
            f"tvm-ffi: error: {path}: expected the header of a recording at byte 0; the file is "
            "damaged or is not a recording"
        )


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("CONTENTS", "some", "expected none, digest, all or error, got some"),
        ("LAST", "1x", "expected a number, got 1x"),
        ("MAX_BYTES", "-1", "expected a number, got -1"),
    ],
)
def test_a_wrong_variable_is_a_message_and_the_program_runs(tmp_path, variable, value, message):
    process = subprocess.run(
        [sys.executable, "-c", SHAPE + "print(shape(1)[0])"], cwd=tmp_path, check=True,
        env={**os.environ, "TVM_FFI_RECORD": "run", f"TVM_FFI_RECORD_{variable}": value},
        capture_output=True, text=True,
    )  # fmt: skip
    assert process.stdout == "1\n"
    assert f"no recording was started: TVM_FFI_RECORD_{variable}: {message}" in process.stderr
    assert list(tmp_path.iterdir()) == []


def test_export_prints_a_program_of_a_range_of_calls(path, capsys):
    assert main(["recording", "export", str(path), "2", "--to", "9", "--c"]) == 0
    output = capsys.readouterr().out
    assert "Call2();" in output
    assert "Call1" not in output
    assert main(["recording", "export", str(path), "1", "--to", "2"]) == 2
    assert "expected --c with --to; a script makes one call" in capsys.readouterr().err
    assert main(["recording", "export", str(path), "7", "--to", "9", "--c"]) == 2
    assert "there is no call with the number 7" in capsys.readouterr().err

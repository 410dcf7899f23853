# SPDX-License-Identifier: Apache-2.0
"""Command ``tvm-ffi doctor``: findings about environments that the tests create."""

from __future__ import annotations

import json
import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tvm_ffi import cpp, libinfo
from tvm_ffi._doctor import _gpus, _packages
from tvm_ffi.cli import main

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """Return an empty folder of installed distributions, the only one that the doctor sees."""
    folder = tmp_path / "site"
    folder.mkdir()
    paths = [str(folder)]
    found = metadata.distributions
    monkeypatch.setattr(_packages.metadata, "distributions", lambda: found(path=paths))
    monkeypatch.setattr(_packages, "_pip_check", lambda: iter(()))
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "cache"))
    for variable in ("TVM_FFI_CACHE_PATH", "TVM_FFI_BUILDS", "CC", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("tvm_ffi.builds._default", None)
    return folder


def install(
    site: Path, name: str, requires: str = "", files: dict[str, Path] | None = None
) -> None:
    """Write the metadata and the files of a distribution."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (info / "METADATA").write_text(text + (f"Requires-Dist: {requires}\n" if requires else ""))
    rows = [f"{info.name}/METADATA,,"]
    for target, source in (files or {}).items():
        (site / target).parent.mkdir(exist_ok=True)
        shutil.copy(source, site / target)
        rows.append(f"{target},,")
    (info / "RECORD").write_text("\n".join(rows))


def findings(capsys, *options: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """Return the exit status and the findings by level."""
    status = main(["doctor", "--json", *options])
    report = json.loads(capsys.readouterr().out)
    assert report["is_ok"] == (status == 0)
    by_level: dict[str, list[dict[str, str]]] = {}
    for finding in report["findings"]:
        by_level.setdefault(finding["level"], []).append(finding)
    return status, by_level


def test_an_environment_without_problems(site, capsys):
    status, found = findings(capsys)
    assert status == 0
    assert "problem" not in found
    assert found["ok"][0]["subject"] == libinfo.find_libtvm_ffi()


def test_libraries_of_packages_are_examined(site, capsys):
    text = (
        "TVM_FFI_DLL_EXPORT int __tvm_ffi_f(void* h, const TVMFFIAny* a, int32_t n, TVMFFIAny* r)"
    )
    good = Path(cpp.build_inline("good", c_sources=f"{text} {{ return 0; }}"))
    missing = "int TVMFFINoSuchFunction(void);\nint f(void) { return TVMFFINoSuchFunction(); }"
    bad = Path(cpp.build_inline("bad", c_sources=missing, extra_ldflags=["-Wl,-z,undefs"]))
    plain = Path(cpp.build_inline("plain", c_sources="int one;"))
    install(site, "kernels", files={"k/good.so": good, "k/bad.so": bad, "k/plain.so": plain})
    status, found = findings(capsys)
    assert status == 1
    (problem,) = found["problem"]
    assert problem["subject"] == f"kernels: {site}/k/bad.so"
    assert "missing symbols: TVMFFINoSuchFunction" in problem["message"]
    (library,) = [f for f in found["ok"] if f["area"] == "libraries"]
    assert library["subject"] == f"kernels: {site}/k/good.so"
    assert library["message"].endswith("1 functions")


def test_a_second_copy_of_the_runtime_is_a_problem(site, capsys):
    install(site, "copies", files={"copies/libtvm_ffi.so": Path(libinfo.find_libtvm_ffi())})
    status, found = findings(capsys)
    (problem,) = found["problem"]
    assert (status, problem["area"]) == (1, "runtime")
    assert problem["message"].startswith("a second copy of the runtime")
    assert problem["remedy"].endswith("pip uninstall copies")


@pytest.mark.parametrize(
    ("requirement", "provided", "expected"),
    [
        ("apache-tvm-ffi>=0.1", None, "which is not provided"),
        ("Apache_TVM.FFI", None, "which is not provided"),
        ("apache-tvm-ffi<1.0", "1.0", "1.0 is provided"),
        ("apache-tvm-ffi>=0.1", "1.0", ""),
        ("apache-tvm-ffi ; extra == 'x'", None, ""),
        ("apache-tvm", None, ""),
    ],
)
def test_requirements_on_the_incumbent(site, capsys, requirement, provided, expected):
    install(site, "kernels", requires=requirement)
    if provided is not None:
        install(site, "apache-tvm-ffi", requires="pytvmffi")
    status, found = findings(capsys)
    assert status == (1 if expected else 0)
    assert [f["message"] for f in found.get("problem", [])] == (
        [f"requires {requirement}, {expected}"] if expected else []
    )


def test_the_incumbent_itself_is_a_problem(site, capsys):
    install(site, "apache-tvm-ffi")
    _, found = findings(capsys)
    assert [f["subject"] for f in found["problem"]] == ["apache-tvm-ffi 1.0"]


@pytest.mark.parametrize(
    ("codes", "capability", "expected"),
    [
        ([("cubin", "sm_90")], 90, "cubin"),
        ([("cubin", "sm_80")], 86, "cubin"),
        ([("cubin", "sm_86")], 80, "none"),
        ([("cubin", "sm_90")], 100, "none"),
        ([("cubin", "sm_90a")], 90, "cubin"),
        ([("cubin", "sm_100a")], 103, "none"),
        ([("cubin", "sm_100f")], 103, "cubin"),
        ([("cubin", "sm_80"), ("ptx", "sm_80")], 90, "ptx"),
        ([("ptx", "compute_90")], 80, "none"),
        ([("ptx", "sm_90a")], 100, "none"),
        ([("cubin", "unknown")], 90, "none"),
    ],
)
def test_which_code_runs_on_which_gpu(codes, capability, expected):
    assert _gpus._how(codes, capability) == expected


def test_gpus_are_given_by_names(site, capsys):
    assert _gpus.architectures(["sm_90a", "8.6", "120", "sm_90"]) == (90, 86, 120)
    assert main(["doctor", "--gpu", "ninety"]) == 2
    assert "gpu: expected an architecture such as sm_90, got 'ninety'" in capsys.readouterr().err


def test_problems_of_the_cache_are_found(site, capsys, monkeypatch, tmp_path):
    path = Path(cpp.build_inline("k", c_sources="int one;"))
    path.write_bytes(b"damage")
    monkeypatch.setenv("TVM_FFI_CACHE_PATH", f":{tmp_path / 'missing'}")
    status, found = findings(capsys)
    damaged, layer = found["problem"]
    assert (status, damaged["subject"]) == (1, str(path.parent))
    assert damaged["message"].startswith("damaged: k.so is missing, or its content differs")
    assert layer["message"] == "the read-only folder does not exist"


def test_a_cache_that_others_may_write_to_is_a_problem(site, capsys, tmp_path):
    cpp.build_inline("k", c_sources="int one;")
    (tmp_path / "cache").chmod(0o777)
    _, found = findings(capsys)
    assert "is not safe to load libraries from" in found["problem"][0]["message"]


def test_serving_lists_builds_whose_files_have_changed(site, capsys, tmp_path):
    source = tmp_path / "k.c"
    source.write_text('#include "k.h"\n')
    header = tmp_path / "k.h"
    header.write_text("int one;\n")
    cpp.build("k", sources=str(source))
    status, found = findings(capsys, "--serve")
    assert (status, found.get("compile")) == (0, None)
    header.write_text("int two;\n")
    status, found = findings(capsys, "--serve")
    (build,) = found["compile"]
    assert (status, build["subject"]) == (1, "library 'k'")
    assert build["message"] == f"file {header}: content changed"
    assert findings(capsys)[0] == 0  # without --serve, a build is no problem


def test_serving_lists_another_compiler_but_not_a_missing_one(site, capsys, monkeypatch, tmp_path):
    cpp.build_inline("k", c_sources="int one;")
    monkeypatch.setenv("CC", "/nonexistent/cc")
    assert "compile" not in findings(capsys, "--serve")[1]
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!{sys.executable} -IS\nprint('fake 1.0')\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    (build,) = findings(capsys, "--serve")[1]["compile"]
    assert build["message"].startswith("compiler c: cc ")


def test_the_text_names_areas_levels_and_remedies(site, capsys):
    install(site, "kernels", requires="apache-tvm-ffi")
    assert main(["doctor", "--gpu", "sm_90"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "runtime"
    index = lines.index("requirements")
    assert lines[index + 1 : index + 3] == [
        "  PROBLEM  kernels 1.0: requires apache-tvm-ffi, which is not provided",
        "           tvm-ffi provide apache-tvm-ffi",
    ]
    assert lines[-2:] == ["", "1 problem"]


def test_pip_check_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "cache"))
    found = list(_packages._pip_check())
    assert found[0].subject == "pip check"

# SPDX-License-Identifier: Apache-2.0
"""``tvm_ffi provide``: metadata under the incumbent's name, and conflicts with the incumbent."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from installed_wheel import write_installed_wheel

import tvm_ffi
from tvm_ffi._internal import distribution_alias
from tvm_ffi._internal.conflict import REMEDY

# Checks for pip without importing it: after an import of pip, setuptools does not provide
# distutils, and later tests of this process cannot import torch's Inductor.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not [*metadata.distributions(name="pip")], reason="no pip"),
]


class Environment:
    """A fresh virtual environment; the pip of this environment manages its packages."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "bin" / "python"
        (self.packages,) = (folder / "lib").glob("python*/site-packages")

    def run(self, *arguments: str) -> tuple[int, str, str]:
        command = [str(self.python), "-I", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    def tvm_ffi(self, *arguments: str) -> tuple[int, str, str]:
        return self.run("-m", "tvm_ffi", *arguments)

    def pip(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        command += ["--python", str(self.python), *arguments]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def version(self, name: str) -> str | None:
        """Return a distribution's version that the environment's interpreter reports."""
        status, output, _ = self.run(
            "-c", f"import importlib.metadata as m; print(m.version({name!r}))"
        )
        return output.strip() if status == 0 else None


def _fill(folder: Path) -> None:
    wheel = write_installed_wheel(folder)
    venv.create(folder / "environment", symlinks=True)
    Environment(folder / "environment").pip("install", "--no-index", "--no-deps", str(wheel))


@pytest.fixture
def environment(tmp_path, build_once) -> Environment:
    """Return an environment that contains only this package."""
    made = build_once("environment_with_this_package", _fill) / "environment"
    return Environment(shutil.copytree(made, tmp_path / "environment", symlinks=True))


def write_wheel(folder: Path, name: str, version: str, requires: str = "") -> Path:
    """Write a wheel that contains no modules."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    text = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
    text += f"Requires-Dist: {requires}\n" if requires else ""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{info}/METADATA", text)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


def test_a_requirement_is_satisfied_until_it_is_removed(environment, tmp_path):
    client = write_wheel(tmp_path, "some_client", "1.0", "apache-tvm-ffi>=0.1.9,<0.2")
    environment.pip("install", "--no-index", "--no-deps", str(client))
    assert environment.version("apache-tvm-ffi") is None

    status, output, complaint = environment.tvm_ffi("provide", "apache-tvm-ffi")
    assert (status, complaint) == (0, "")
    version = tvm_ffi.__version__
    assert output == f"wrote {environment.packages / f'apache_tvm_ffi-{version}.dist-info'}\n"
    assert environment.version("apache-tvm-ffi") == version
    assert environment.pip("check") == "No broken requirements found.\n"
    # The client's requirement is satisfied, so pip needs no package index.
    assert "already satisfied: apache-tvm-ffi" in environment.pip(
        "install", "--no-index", "some-client"
    )
    assert environment.run("-c", "import tvm_ffi; print(tvm_ffi.Array([1]))") == (0, "(1,)\n", "")

    status, output, _ = environment.tvm_ffi("provide", "apache-tvm-ffi", "--remove")
    assert (status, output.startswith("removed ")) == (0, True)
    assert environment.version("apache-tvm-ffi") is None
    assert environment.tvm_ffi("provide", "apache-tvm-ffi", "--remove")[:2] == (
        *(1, "apache-tvm-ffi was not provided\n"),
    )
    assert list(environment.packages.glob("apache*")) == []


def test_providing_another_version_replaces_the_first(environment):
    environment.tvm_ffi("provide", "apache-tvm-ffi")
    assert environment.tvm_ffi("provide", "apache-tvm-ffi", "--version", "0.1.9.post1")[0] == 0
    assert environment.version("apache-tvm-ffi") == "0.1.9.post1"
    assert len(list(environment.packages.glob("apache*"))) == 1
    assert environment.pip("check") == "No broken requirements found.\n"


def test_upgrades_keep_the_provided_distribution(environment, tmp_path):
    """Regression: the provided 0.1.15 was replaced by the incumbent's release 0.1.15.post2."""
    write_wheel(tmp_path, "apache_tvm_ffi", "0.1.15.post2")
    environment.tvm_ffi("provide", "apache-tvm-ffi")
    options = ["--no-index", "--find-links", str(tmp_path), "--upgrade", "--no-deps"]
    assert "already satisfied: apache-tvm-ffi" in environment.pip(
        "install", *options, "apache-tvm-ffi<0.2"
    )
    assert environment.version("apache-tvm-ffi") == tvm_ffi.__version__


def test_a_wheel_satisfies_requirements(environment, tmp_path):
    wheels = tmp_path / "new" / "wheels"
    command = ["provide", "apache-tvm-ffi", "--wheel", str(wheels)]
    status, output, complaint = environment.tvm_ffi(*command)
    wheel = wheels / f"apache_tvm_ffi-{tvm_ffi.__version__}-py3-none-any.whl"
    assert (status, output, complaint) == (0, f"wrote {wheel}\n", "")
    content = wheel.read_bytes()
    assert environment.tvm_ffi(*command)[0] == 0
    assert wheel.read_bytes() == content
    client = write_wheel(tmp_path, "some_client", "1.0", "apache-tvm-ffi>=0.1.9,<0.2")
    assert environment.version("apache-tvm-ffi") is None
    environment.pip("install", "--no-index", "--find-links", str(wheels), str(client))
    assert environment.version("apache-tvm-ffi") == tvm_ffi.__version__
    assert environment.pip("check") == "No broken requirements found.\n"
    status, _, complaint = environment.tvm_ffi("provide", "apache-tvm-ffi")
    assert (status, "remove it by `pip uninstall apache-tvm-ffi`" in complaint) == (2, True)
    environment.pip("uninstall", "-y", "apache-tvm-ffi")
    assert environment.run("-c", "import tvm_ffi; print(tvm_ffi.Array([1]))") == (0, "(1,)\n", "")


def test_uninstalling_the_provided_distribution_leaves_the_package(environment):
    environment.tvm_ffi("provide", "apache-tvm-ffi")
    environment.pip("uninstall", "-y", "apache-tvm-ffi")
    assert environment.version("apache-tvm-ffi") is None
    assert environment.run("-c", "import tvm_ffi; print(tvm_ffi.Array([1]))") == (0, "(1,)\n", "")
    assert environment.tvm_ffi("provide", "apache-tvm-ffi")[0] == 0
    environment.pip("uninstall", "-y", "pytvmffi")


def test_uninstalling_the_package_removes_the_provided_distribution(environment):
    environment.tvm_ffi("provide", "apache-tvm-ffi")
    environment.pip("uninstall", "-y", "pytvmffi")
    assert environment.version("apache-tvm-ffi") is None
    assert environment.pip("check") == "No broken requirements found.\n"
    assert [path for path in environment.packages.glob("*") if path.suffix != ".pyc"] == []


def test_refused_if_the_incumbent_is_installed(environment, tmp_path):
    real = write_wheel(tmp_path, "apache_tvm_ffi", "0.1.14")
    environment.pip("install", "--no-index", "--no-deps", str(real))
    for option in ((), ("--remove",), ("--version", "0.1.15")):
        status, output, complaint = environment.tvm_ffi("provide", "apache-tvm-ffi", *option)
        assert (status, output) == (2, "")
        assert "the distribution apache-tvm-ffi 0.1.14 itself is installed in " in complaint
        assert "pip uninstall -y apache-tvm-ffi pytvmffi && pip install pytvmffi" in complaint
    assert environment.version("apache-tvm-ffi") == "0.1.14"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("numpy",), "only the distribution apache-tvm-ffi can be provided, not 'numpy'"),
        (("apache-tvm-ffi", "newest"), "expected a version such as 0.1.15, got 'newest'"),
        (("apache-tvm-ffi", "1.0/../x"), "expected a version"),
        (("apache-tvm-ffi", ""), "expected a version"),
        (("apache-tvm-ffi", "1.0\nx"), "expected a version"),
    ],
)
def test_other_names_and_invalid_versions_are_refused(arguments, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        distribution_alias.provide(*arguments)


def test_refused_if_the_package_was_not_installed(monkeypatch):
    monkeypatch.setattr(distribution_alias, "_DISTRIBUTION", "not-installed-at-all")
    with pytest.raises(
        FileNotFoundError, match="contains no RECORD file of not-installed-at-all; install"
    ):
        distribution_alias.provide("apache-tvm-ffi")


@pytest.mark.parametrize("file", ["core.abi3.so", "core.so"])
def test_files_of_the_incumbent_are_detected(environment, file):
    """Python would import this file instead of our package, whichever was installed last."""
    (environment.packages / "tvm_ffi" / file).write_bytes(b"anything")
    for program in ("import tvm_ffi", "import tvm_ffi.libinfo", "import tvm_ffi._binding"):
        status, _, complaint = environment.run("-c", program)
        assert status == 1
        message = complaint.strip().rpartition("\n")[2]
        assert message.startswith(
            "ImportError: apache-tvm-ffi and pytvmffi are both installed and have overwritten each "
        )
        assert file in message
        assert "`pip uninstall -y apache-tvm-ffi pytvmffi && pip install pytvmffi`" in message


def test_files_of_this_package_under_the_incumbent_are_detected(environment):
    """Python loads the incumbent's ``__init__``, but then finds our modules before its modules."""
    package = environment.packages / "tvm_ffi"
    shutil.copy(sys.modules["sysconfig"].__file__, package / "__init__.py")
    (package / "core.abi3.so").write_bytes(b"anything")
    status, _, complaint = environment.run("-c", "import tvm_ffi.module")
    assert status == 1
    assert "apache-tvm-ffi and pytvmffi are both installed" in complaint


def test_a_package_that_lost_its_files_says_so(environment, tmp_path):
    """Regression: an empty namespace package was imported, without an error."""
    wheel = write_wheel(tmp_path, "apache_tvm_ffi", "0.1.15")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("tvm_ffi/__init__.py", "")
    environment.pip("install", "--no-index", "--no-deps", str(wheel))
    environment.pip("uninstall", "-y", "apache-tvm-ffi")
    (environment.packages / "tvm_ffi" / "__init__.py").unlink(missing_ok=True)
    status, _, complaint = environment.run("-c", "import tvm_ffi")
    assert status == 1
    path = environment.packages / "tvm_ffi" / "__init__.py"
    assert f"ImportError: files of pytvmffi are missing ({path}), probably because" in complaint
    assert f"repair the environment by `{REMEDY}`" in complaint

# SPDX-License-Identifier: Apache-2.0
"""The wheel satisfies a manylinux policy without bundled libraries; `make wheel` builds it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from installed_wheel import write_installed_wheel

SEARCH = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])


def auditwheel(*arguments: str | Path) -> str:
    pytest.importorskip("auditwheel")
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", *map(str, arguments)],
        env={**os.environ, "PATH": SEARCH},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.skipif(shutil.which("patchelf", path=SEARCH) is None, reason="no patchelf")
def test_the_wheel_fits_a_manylinux_policy_as_it_is(tmp_path):
    """The wheel needs only system libraries of the policy, in versions that the policy allows."""
    wheel = write_installed_wheel(tmp_path)
    auditwheel("repair", "--wheel-dir", tmp_path / "repaired", "-z", "0", wheel)
    (repaired,) = (tmp_path / "repaired").glob("*.whl")
    assert re.search(r"-manylinux_2_\d+_\w+(\.manylinux\w+)*\.whl$", repaired.name)
    before, after = (set(zipfile.ZipFile(path).namelist()) for path in (wheel, repaired))
    added = {name for name in after - before if not name.endswith("/")}
    assert {name for name in added if ".dist-info/" not in name} == set()
    assert {name for name in after if name.startswith("tvm_ffi/lib/lib")} == {
        f"tvm_ffi/lib/libtvm_ffi{suffix}"
        for suffix in (".so", "_static.a", "_testing.so", "_tvm_backend.so", "_xla.so")
    }

# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml asks for, where one fact has to stand in two places."""

from __future__ import annotations

import sys

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="module")
def project(repository):
    return tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))


def test_make_builds_with_what_an_isolated_build_gets(project):
    """The rest of the group is what scikit-build-core adds by itself when it is missing."""
    rest = set(project["dependency-groups"]["build"]) - set(project["build-system"]["requires"])
    assert {requirement.partition(">=")[0] for requirement in rest} == {"cmake", "ninja"}


def test_installing_the_package_installs_nothing_else(project):
    """Frameworks are used when they are there; a kernel library must not force one on its users."""
    assert project["project"]["dependencies"] == []

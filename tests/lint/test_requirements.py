# SPDX-License-Identifier: Apache-2.0
"""Requirements in pyproject.toml that must equal the requirements in other files."""

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


def test_make_builds_with_the_requirements_of_an_isolated_build(project):
    """The other build requirements are those that scikit-build-core adds if they are missing."""
    rest = set(project["dependency-groups"]["build"]) - set(project["build-system"]["requires"])
    assert {requirement.partition(">=")[0] for requirement in rest} == {"cmake", "ninja"}


def test_installing_the_package_installs_nothing_else(project):
    """Frameworks are optional: a kernel library must not force a framework on its users."""
    assert project["project"]["dependencies"] == []

# SPDX-License-Identifier: Apache-2.0
"""Copies of examples for the test programs, and the commands on their pages."""

import re
import shutil
import subprocess
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def copied(name: str) -> Path:
    """Return a copy of an example."""
    ignored = shutil.ignore_patterns("build")
    return Path(shutil.copytree(EXAMPLES / name, Path.cwd() / name, ignore=ignored))


def readme_blocks(folder: Path, language: str) -> list[str]:
    """Return the code blocks of a language on an example's page."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [content for kind, content in found if kind == language]


def output(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command and return its standard output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout

# SPDX-License-Identifier: Apache-2.0
"""Build kernels in Mojo by the commands of their README; link one into a program; launch PTX."""

import re
import shutil
import subprocess
from pathlib import Path

from over_stand_in import run_over_stand_in

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def copied(name: str) -> Path:
    """Return a copy of an example."""
    ignored = shutil.ignore_patterns("build")
    return Path(shutil.copytree(EXAMPLES / name, Path.cwd() / name, ignore=ignored))


def readme_blocks(folder: Path, language: str) -> list[str]:
    text = (folder / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [content for kind, content in found if kind == language]


def output(*command: str | Path, cwd: Path) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


kernels = copied("mojo_kernel")
commands, shown = readme_blocks(kernels, "sh"), readme_blocks(kernels, "")
printed = output("sh", "-euc", commands[0], cwd=kernels)
assert printed == shown[0].replace("torch  [0.0, 1.0]", "torch  not installed, skipped"), printed
printed = output("sh", "-euc", commands[1], cwd=kernels)
signature, ran, refused = shown[1].splitlines()
assert printed.splitlines() == [signature, "PyTorch  not installed, skipped", refused], printed

languages = copied("aot_program") / "languages"
output("python", "build.py", "build", "c", "mojo", cwd=languages)
printed = output(languages / "build" / "axpy", cwd=languages)
lines = readme_blocks(languages, "")[0].splitlines()
assert printed.splitlines() == lines[:4], printed  # those of C and Mojo
symbols = output("nm", "--dynamic", "--undefined-only", languages / "build" / "axpy", cwd=languages)
assert "dlopen" not in symbols
assert "Py" not in symbols

run_over_stand_in("mojo_launches.py")

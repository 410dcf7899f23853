# SPDX-License-Identifier: Apache-2.0
"""Build Mojo kernels by the commands of their README; link one into a program; launch PTX."""

from copied_example import copied, output, readme_blocks
from over_stand_in import run_over_stand_in

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
assert printed.splitlines() == lines[:4], printed  # the results of C and Mojo
symbols = output("nm", "--dynamic", "--undefined-only", languages / "build" / "axpy", cwd=languages)
assert "dlopen" not in symbols
assert "Py" not in symbols

run_over_stand_in("mojo_launches.py")

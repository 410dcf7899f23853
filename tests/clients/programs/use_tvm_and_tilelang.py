# SPDX-License-Identifier: Apache-2.0
"""Install Apache TVM and TileLang in one environment, and use both in one process.

Each runs in its own process, because both contain a package `tvm` and a copy of the compiler.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

for program in ("use_tvm.py", "use_tilelang.py"):
    subprocess.run([sys.executable, HERE / program], check=True)
print("done")

# SPDX-License-Identifier: Apache-2.0
"""The files of a release, in one folder: changelog section, text of the tag, source distribution.

The script changes no file of the repository; it prints the commands that make the release.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION_FILE = "src/tvm_ffi/_version.py"
CRATE_FILE = "rust/Cargo.toml"
CHECKSUMS = "SHA256SUMS"


def main() -> int:
    """Write the files, or the checksums of all files; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the release")
    parser.add_argument("--checksums", action="store_true", help=f"write {CHECKSUMS} only")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    try:
        version = release_version()
        if arguments.checksums:
            write_checksums(folder)
            print_commands(version, folder)
        else:
            write_texts(version, folder)
            build_source_distribution(folder)
    except RuntimeError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


def release_version() -> str:
    """Return the version of the package; raise RuntimeError if it cannot be released."""
    version = _match(VERSION_FILE, r'^__version__ = "(\d+\.\d+\.\d+(?:\.post\d+)?)"$')
    crate = _match(CRATE_FILE, r'^version = "([^"]+)"$')
    if version.split(".post", maxsplit=1)[0] != crate:
        raise RuntimeError(
            f"expected version {version.split('.post', maxsplit=1)[0]} in {CRATE_FILE}, because "
            f"{VERSION_FILE} has {version}, got {crate}"
        )
    if run("git", "tag", "--list", f"v{version}"):
        raise RuntimeError(f"{version} is tagged already; set a new version in {VERSION_FILE}")
    return version


def write_texts(version: str, folder: Path) -> None:
    """Write the section of the changelog and the text of the tag."""
    scriv = Path(sysconfig.get_path("scripts"), "scriv")
    section = run(scriv, "print")
    for path in (*folder.glob("*.whl"), *folder.glob("*.tar.gz")):
        path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "changelog.md").write_text(f"## {version}\n\n{section}\n", encoding="utf-8")
    # Git drops lines of a tag's text that begin with `#`.
    lines = re.sub(r"^#+ (.*)$", r"\1:", section, flags=re.MULTILINE)
    (folder / "tag.txt").write_text(f"pytvmffi {version}\n\n{lines}\n", encoding="utf-8")


def build_source_distribution(folder: Path) -> None:
    """Build the source distribution; the time of its files is that of the last commit."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct")
    code = f"from scikit_build_core.build import build_sdist; build_sdist({str(folder)!r})"
    run(sys.executable, "-c", code, SOURCE_DATE_EPOCH=epoch)


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files in the format of sha256sum."""
    files = sorted(path for path in folder.iterdir() if path.name != CHECKSUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def print_commands(version: str, folder: Path) -> None:
    """Print the files of the release, and the commands that make it."""
    print(f"\n{folder}:")
    for path in sorted(folder.iterdir()):
        print(f"  {path.name}  {path.stat().st_size:,} bytes")
    print(
        "\nNothing is committed, tagged or published. To do so:\n"
        "  scriv collect\n"
        f'  git commit --all --message "release: {version}"\n'
        f"  git tag --annotate --file {folder / 'tag.txt'} v{version}"
    )


def run(*command: str | Path, **variables: str) -> str:
    """Run a command in the repository and return its output; raise RuntimeError if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def _match(name: str, pattern: str) -> str:
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"expected a line {pattern} in {name}")
    return found[1]


if __name__ == "__main__":
    sys.exit(main())
